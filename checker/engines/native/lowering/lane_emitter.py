"""LLVM building blocks on vectors: a lane for each of several states."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from checker.engines.native.llvm import ir
from checker.engines.native.lowering.emitter import I1, I32, I64, Emitter, Number, Truth

LANES = 8
"""The states that are evaluated at once: the 64-bit words of a vector register of AVX-512."""

_WORDS, _TRUTHS = ir.VectorType(I64, LANES), ir.VectorType(I1, LANES)


@functools.lru_cache(maxsize=4096)
def _splat(vector: ir.IrType, number: int) -> ir.Value:
    """Return a constant with a number in every lane. It keeps its text, which is long and occurs often."""
    return ir.ConstantValue(vector, [number] * LANES)


_REFERENCE = re.compile(r"%\.\w+")
"""The name of a value in LLVM's text."""

_WORD = 0xFFFF_FFFF_FFFF_FFFF
"""The bits of a word."""

Operation = TypeVar("Operation", bound=Callable[..., Any])


def _once(operation: Operation) -> Operation:
    """Return an operation that emits no second instruction for the same operands: all code is in one block."""

    @functools.wraps(operation)
    def emitted(emit: LaneEmitter, *operands: Any) -> Any:
        key = (operation, *(id(operand) if isinstance(operand, ir.Value) else operand for operand in operands))
        if key not in emit.known:
            # The operands are kept as well: their ids must not be those of other values later.
            emit.known[key] = (operation(emit, *operands), operands)
        return emit.known[key][0]

    return cast(Operation, emitted)


_SWAPPED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

_MOST_COMPARED = 2**62
"""The absolute value of a constant up to which comparisons with it are rewritten: its neighbours fit into a word."""


@dataclass(frozen=True)
class _Field:
    """Bits of a word: `word` shifted right by `shift`, and of that the bits in `mask`."""

    word: ir.Value
    shift: int
    mask: int


class LaneEmitter(Emitter):
    """Emits instructions on vectors: a `Number` is an int or a vector of words, a `Truth` a bool or one of bits.

    Guards and properties that are evaluated one after the other repeat their conditions, and the conditions under which
    an expression is evaluated. An instruction that would not change the result is not emitted.

    - `known`: the results of the operations that were emitted.
    - `_fields`: the vectors that are bits of a word.
    - `_compared`: comparisons for equality and order, and whether the vector is the comparison or its negation.
    - `_conjuncts`: the truths of which a conjunction consists; `_conjunctions`: the reverse. `_negations`: in both
      directions.
    """

    def __init__(self, function: ir.IrFunction):
        super().__init__(function)
        self.known: dict[tuple[Any, ...], tuple[Any, tuple[Any, ...]]] = {}
        self._fields: dict[ir.Value, _Field] = {}
        self._compared: dict[tuple[str, ir.Value, Number], tuple[ir.Value, bool]] = {}
        self._conjuncts: dict[ir.Value, frozenset[ir.Value]] = {}
        self._conjunctions: dict[frozenset[ir.Value], ir.Value] = {}
        self._negations: dict[ir.Value, ir.Value] = {}

    add = _once(Emitter.add)
    subtract = _once(Emitter.subtract)
    multiply = _once(Emitter.multiply)
    bit_or = _once(Emitter.bit_or)
    bit_xor = _once(Emitter.bit_xor)
    same_truth = _once(Emitter.same_truth)
    select = _once(Emitter.select)

    def value(self, number: Number) -> ir.Value:
        return _splat(_WORDS, number & _WORD) if isinstance(number, int) else number

    def truth(self, truth: Truth) -> ir.Value:
        return _splat(_TRUTHS, int(truth)) if isinstance(truth, bool) else truth

    @_once
    def widened(self, truth: Truth) -> Number:
        return int(truth) if isinstance(truth, bool) else self.builder.zext(truth, _WORDS)

    # Truths.

    def negate(self, truth: Truth) -> Truth:
        if isinstance(truth, bool):
            return not truth
        if truth not in self._negations:
            self._are_opposite(truth, self.builder.xor(truth, self.truth(True)))
        return self._negations[truth]

    def finish(self) -> None:
        """Emit the jump to the body, of which the instructions without a use are removed."""
        body = self.builder.block
        used = set(_REFERENCE.findall(str(body.terminator)))
        kept = []
        for line in reversed(body.lines):
            name, _, operation = line.rpartition(" = ")
            if not name or name in used:
                used.update(_REFERENCE.findall(operation))
                kept.append(line)
        body.lines = kept[::-1]
        super().finish()

    def _are_opposite(self, truth: ir.Value, negation: ir.Value) -> None:
        self._negations[truth], self._negations[negation] = negation, truth

    def both(self, left: Truth, right: Truth) -> Truth:
        if isinstance(left, bool) or isinstance(right, bool):
            return super().both(left, right)
        of_left, of_right = self._parts(left), self._parts(right)
        parts = of_left | of_right
        if len(parts) in (len(of_left), len(of_right)):
            # The longer conjunction contains the other one.
            return left if len(parts) == len(of_left) else right
        if any(self._negations.get(part) in of_left for part in of_right):
            return False
        if parts not in self._conjunctions:
            conjunction = self._conjunctions[parts] = self.builder.and_(left, right)
            self._conjuncts[conjunction] = parts
        return self._conjunctions[parts]

    def _parts(self, truth: ir.Value) -> frozenset[ir.Value]:
        return self._conjuncts.get(truth) or frozenset([truth])

    @_once
    def either(self, left: Truth, right: Truth) -> Truth:
        if isinstance(left, bool) or isinstance(right, bool):
            return super().either(left, right)
        of_left, of_right = self._parts(left), self._parts(right)
        if of_left <= of_right or of_right <= of_left:
            # The longer conjunction implies the other one.
            return left if len(of_left) <= len(of_right) else right
        return True if self._negations.get(left) is right else self.builder.or_(left, right)

    def compare(self, operator: str, left: Number, right: Number) -> Truth:
        if isinstance(left, int):
            if isinstance(right, int):
                return super().compare(operator, left, right)
            operator, left, right = _SWAPPED[operator], right, left
        if left is right:
            return operator in ("==", "<=", ">=")
        if operator in (">", "<="):
            # Only `==`, `<` and their opposites are left.
            if isinstance(right, ir.Value):
                operator, left, right = _SWAPPED[operator], right, left
            elif right < _MOST_COMPARED:
                operator, right = (">=" if operator == ">" else "<"), right + 1
        known = self._comparison_by_bits(operator, left, right)
        return self._comparison(operator, left, right) if known is None else known

    def _comparison_by_bits(self, operator: str, left: ir.Value, right: Number) -> bool | None:
        """Return the result of a comparison that the possible bits of `left` decide, or None."""
        field = self._fields.get(left)
        if field is None or not isinstance(right, int) or field.mask > _MOST_COMPARED:
            return None
        if operator in ("==", "!="):
            return None if 0 <= right <= field.mask else operator == "!="
        if operator in ("<", ">=") and (right <= 0 or right > field.mask):
            return operator == ("<" if right > field.mask else ">=")
        return None

    def _comparison(self, operator: str, left: ir.Value, right: Number) -> Truth:
        is_negated = operator in ("!=", ">=")
        key = (_OPPOSITE[operator] if is_negated else operator, left, right)
        if key[0] == "==" and isinstance(right, ir.Value) and ("==", right, left) in self._compared:
            key = ("==", right, left)
        if key not in self._compared:
            tested, expected = self._operands_without_shift(operator, left, right)
            emitted = self.builder.icmp_signed(operator, self.value(tested), self.value(expected))
            self._compared[key] = emitted, is_negated
        comparison, is_negation = self._compared[key]
        return comparison if is_negation == is_negated else self.negate(comparison)

    def _operands_without_shift(self, operator: str, left: ir.Value, right: Number) -> tuple[Number, Number]:
        """Return the operands of a comparison, without a shift if bits of a word are compared with 0."""
        field = self._fields.get(left)
        if field is None or field.shift == 0 or right != 0 or operator not in ("==", "!="):
            return left, right
        return self._and(field.word, field.mask << field.shift), 0

    # Bits.

    def bit_and(self, left: Number, right: Number) -> Number:
        if isinstance(left, int):
            left, right = right, left
        if isinstance(left, int) or not isinstance(right, int):
            return self._and(left, right)
        right &= _WORD
        field = self._fields.get(left)
        if field is None:
            return self._field(left, 0, right)
        return left if field.mask & right == field.mask else self._field(field.word, field.shift, field.mask & right)

    def _field(self, word: ir.Value, shift: int, mask: int) -> Number:
        """Return bits of a word."""
        mask &= _WORD >> shift
        if mask == 0:
            return 0
        shifted = self._shift(word, shift)
        field = shifted if mask == _WORD >> shift else self._and(shifted, mask)
        if isinstance(field, ir.Value) and field is not word:
            self._fields[field] = _Field(word, shift, mask)
        return field

    @_once
    def _and(self, left: Number, right: Number) -> Number:
        return super().bit_and(left, right)

    @_once
    def _shift(self, number: Number, by: Number) -> Number:
        return super().shift_right(number, by)

    @_once
    def shift_left(self, number: Number, by: Number) -> Number:
        return super().shift_left(number, self._possible_shift(by))

    def shift_right(self, number: Number, by: Number) -> Number:
        if not isinstance(by, int) or isinstance(number, int):
            return self._shift(number, self._possible_shift(by))
        field = self._fields.get(number)
        if field is None:
            return self._field(number, by, _WORD)
        return self._field(field.word, field.shift + by, field.mask >> by)

    def _possible_shift(self, by: Number) -> Number:
        # Only a lane in which the expression is not evaluated shifts by more. LLVM leaves such a shift undefined.
        return by if isinstance(by, int) else self.bit_and(by, 63)

    def count_ones(self, number: Number) -> Number:
        if isinstance(number, int):
            return number.bit_count()
        return self.builder.call(self.builder.module.declared(f"llvm.ctpop.v{LANES}i64", _WORDS, [_WORDS]), [number])

    def any_lane(self, number: Number) -> ir.Value:
        """Return the bits (i64) that are set in some lane."""
        function = self.builder.module.declared(f"llvm.vector.reduce.or.v{LANES}i64", I64, [_WORDS])
        return self.builder.call(function, [self.value(number)])

    def lanes_of(self, states: ir.Value, word: int, words: int) -> ir.Value:
        """Return a word of LANES states that follow one another from an address on, each of some words."""
        vector: ir.Value = ir.ConstantValue(_WORDS, ir.Undefined)
        for lane in range(LANES):
            loaded = self.builder.load(
                self.builder.gep(states, [ir.ConstantValue(I64, lane * words + word)], inbounds=True)
            )
            vector = self.builder.insert_element(vector, loaded, ir.ConstantValue(I64, lane))
        return vector

    def in_every_lane(self, number: ir.Value) -> ir.Value:
        """Return a vector with a number (i64) in every lane."""
        undefined = ir.ConstantValue(_WORDS, ir.Undefined)
        vector = self.builder.insert_element(undefined, number, ir.ConstantValue(I64, 0))
        return self.builder.shuffle_vector(vector, undefined, ir.ConstantValue(ir.VectorType(I32, LANES), None))
