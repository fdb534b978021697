"""LLVM building blocks on vectors: a lane for each of several states."""

from __future__ import annotations

import functools
from collections.abc import Callable
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


class LaneEmitter(Emitter):
    """Emits instructions on vectors: a `Number` is an int or a vector of words, a `Truth` a bool or one of bits.

    `known`: the results of the operations that were emitted.
    """

    def __init__(self, function: ir.IrFunction):
        super().__init__(function)
        self.known: dict[tuple[Any, ...], tuple[Any, tuple[Any, ...]]] = {}

    add = _once(Emitter.add)
    subtract = _once(Emitter.subtract)
    multiply = _once(Emitter.multiply)
    bit_and = _once(Emitter.bit_and)
    bit_or = _once(Emitter.bit_or)
    bit_xor = _once(Emitter.bit_xor)
    compare = _once(Emitter.compare)
    both = _once(Emitter.both)
    either = _once(Emitter.either)
    same_truth = _once(Emitter.same_truth)
    select = _once(Emitter.select)

    def value(self, number: Number) -> ir.Value:
        return _splat(_WORDS, number & 0xFFFF_FFFF_FFFF_FFFF) if isinstance(number, int) else number

    def truth(self, truth: Truth) -> ir.Value:
        return _splat(_TRUTHS, int(truth)) if isinstance(truth, bool) else truth

    @_once
    def widened(self, truth: Truth) -> Number:
        return int(truth) if isinstance(truth, bool) else self.builder.zext(truth, _WORDS)

    @_once
    def negate(self, truth: Truth) -> Truth:
        return not truth if isinstance(truth, bool) else self.builder.xor(truth, self.truth(True))

    @_once
    def shift_left(self, number: Number, by: Number) -> Number:
        return super().shift_left(number, self._possible_shift(by))

    @_once
    def shift_right(self, number: Number, by: Number) -> Number:
        return super().shift_right(number, self._possible_shift(by))

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
