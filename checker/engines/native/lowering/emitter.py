"""LLVM building blocks: integers that are folded where they are known, control flow, and packed values in memory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from checker.engines.native.llvm import ir
from checker.engines.native.lowering.state_layout import ArrayItems, ValueLayout, ValuePart, encode, layout_of
from checker.language.types import BoolType, IntType, StructType, Type

I1, I32, I64 = ir.IntegerType(1), ir.IntegerType(32), ir.IntegerType(64)
WORD_POINTER = I64.as_pointer()

Number: TypeAlias = int | ir.Value
"""A 64-bit number: known now, or computed by the emitted code."""

Truth: TypeAlias = bool | ir.Value
"""A bool: known now, or a computed i1."""

Fail: TypeAlias = Callable[[], None]
"""Emits the end of an evaluation that left a type's bounds."""


@dataclass(frozen=True)
class PackedValue:
    """A packed value. `number`: for a bool a Truth, for an integer the integer itself, else the value's bits."""

    type: Type
    number: Any


@dataclass(frozen=True)
class WideValue:
    """A wide value: words in memory that nothing writes while the value lives."""

    type: Type
    place: MemoryPlace


Value: TypeAlias = PackedValue | WideValue


@dataclass(frozen=True)
class MemoryPlace:
    """The location of a value: a pointer to words, a word index and a bit shift, each known now or computed."""

    layout: ValueLayout
    pointer: ir.Value
    word: Number
    shift: Number


@functools.lru_cache(4096)
def _word(number: int) -> ir.Value:
    """Return a number that is known now as an LLVM value; a negative one becomes two's complement."""
    return ir.ConstantValue(I64, number & 0xFFFF_FFFF_FFFF_FFFF)


_TRUTHS = (ir.ConstantValue(I1, 0), ir.ConstantValue(I1, 1))


class Emitter:
    """Emits the instructions of one LLVM function, at the current position of its builder.

    Operations on numbers that are known now are computed now. `entry` holds all stack slots, so that LLVM can keep them
    in registers; the code starts in `body`.
    """

    def __init__(self, function: ir.IrFunction):
        self.function = function
        self.entry = function.append_basic_block("entry")
        body = function.append_basic_block("body")
        self.builder = ir.IRBuilder(body)
        self._entry_builder = ir.IRBuilder(self.entry)
        self._body = body

    def finish(self) -> None:
        """Emit the jump from the entry block to the body; call it once, at the end."""
        self._entry_builder.branch(self._body)

    # Numbers.

    def value(self, number: Number) -> ir.Value:
        """Return a number as an LLVM value."""
        return _word(number) if isinstance(number, int) else number

    def truth(self, truth: Truth) -> ir.Value:
        """Return a bool as an LLVM i1."""
        return _TRUTHS[truth] if isinstance(truth, bool) else truth

    def add(self, left: Number, right: Number) -> Number:
        """Return left + right."""
        if isinstance(left, int) and isinstance(right, int):
            return left + right
        if left == 0 and isinstance(left, int):
            return right
        if right == 0 and isinstance(right, int):
            return left
        return self.builder.add(self.value(left), self.value(right))

    def subtract(self, left: Number, right: Number) -> Number:
        """Return left - right."""
        if isinstance(left, int) and isinstance(right, int):
            return left - right
        return left if isinstance(right, int) and right == 0 else self.builder.sub(self.value(left), self.value(right))

    def multiply(self, left: Number, right: Number) -> Number:
        """Return left * right."""
        if isinstance(left, int) and isinstance(right, int):
            return left * right
        if isinstance(right, int):
            left, right = right, left
        if isinstance(left, int) and left in (0, 1):
            return 0 if left == 0 else right
        return self.builder.mul(self.value(left), self.value(right))

    def shift_left(self, number: Number, by: Number) -> Number:
        """Return number << by."""
        if isinstance(number, int) and isinstance(by, int):
            return number << by & 0xFFFF_FFFF_FFFF_FFFF
        return number if isinstance(by, int) and by == 0 else self.builder.shl(self.value(number), self.value(by))

    def shift_right(self, number: Number, by: Number) -> Number:
        """Return number >> by, of an unsigned number."""
        if isinstance(number, int) and isinstance(by, int):
            return number >> by
        return number if isinstance(by, int) and by == 0 else self.builder.lshr(self.value(number), self.value(by))

    def bit_and(self, left: Number, right: Number) -> Number:
        """Return the bits set in both."""
        if isinstance(left, int) and isinstance(right, int):
            return left & right
        return self.builder.and_(self.value(left), self.value(right))

    def bit_or(self, left: Number, right: Number) -> Number:
        """Return the bits set in either."""
        if isinstance(left, int) and isinstance(right, int):
            return left | right
        if isinstance(left, int) and left == 0:
            return right
        return left if isinstance(right, int) and right == 0 else self.builder.or_(self.value(left), self.value(right))

    def bit_xor(self, left: Number, right: Number) -> Number:
        """Return the bits set in one of the two only."""
        if isinstance(left, int) and isinstance(right, int):
            return left ^ right
        return self.builder.xor(self.value(left), self.value(right))

    def checked(self, operator: str, left: Number, right: Number, fail: Fail) -> Number:
        """Return a sum (`+`) or difference (`-`); emit `fail` for the case that it does not fit into 64 bits."""
        # Signed: integers of the spec may be negative, and a local without known bounds may use all 64 bits.
        sides = self.value(left), self.value(right)
        pair = self.builder.sadd_with_overflow(*sides) if operator == "+" else self.builder.ssub_with_overflow(*sides)
        self.check(self.negate(self.builder.extract_value(pair, 1)), fail)
        return self.builder.extract_value(pair, 0)

    def count_ones(self, number: Number) -> Number:
        """Return the number of bits that are set."""
        if isinstance(number, int):
            return number.bit_count()
        return self.builder.ctpop(number)

    def compare(self, operator: str, left: Number, right: Number) -> Truth:
        """Return a signed comparison."""
        if isinstance(left, int) and isinstance(right, int):
            results = {"==": left == right, "!=": left != right, "<": left < right}
            results |= {"<=": left <= right, ">": left > right, ">=": left >= right}
            return results[operator]
        return self.builder.icmp_signed(operator, self.value(left), self.value(right))

    # Truths.

    def negate(self, truth: Truth) -> Truth:
        """Return not truth."""
        return not truth if isinstance(truth, bool) else self.builder.not_(truth)

    def both(self, left: Truth, right: Truth) -> Truth:
        """Return left and right; both have been evaluated."""
        if isinstance(left, bool):
            return right if left else False
        if isinstance(right, bool):
            return left if right else False
        return self.builder.and_(left, right)

    def either(self, left: Truth, right: Truth) -> Truth:
        """Return left or right; both have been evaluated."""
        if isinstance(left, bool):
            return True if left else right
        if isinstance(right, bool):
            return True if right else left
        return self.builder.or_(left, right)

    def same_truth(self, left: Truth, right: Truth) -> Truth:
        """Return whether two bools are equal."""
        if isinstance(left, bool):
            return right if left else self.negate(right)
        if isinstance(right, bool):
            return left if right else self.negate(left)
        return self.builder.icmp_unsigned("==", left, right)

    def widened(self, truth: Truth) -> Number:
        """Return a bool as 0 or 1."""
        return int(truth) if isinstance(truth, bool) else self.builder.zext(truth, I64)

    def select(self, test: Truth, then: Number, otherwise: Number) -> Number:
        """Return one of two numbers; both have been evaluated."""
        # No branch: where only the chosen side may be evaluated, `when` is needed.
        if isinstance(test, bool):
            return then if test else otherwise
        return self.builder.select(test, self.value(then), self.value(otherwise))

    # Control flow.

    def block(self, name: str) -> ir.Block:
        """Return a new block of the function."""
        return self.function.append_basic_block(name)

    def position(self, block: ir.Block) -> None:
        """Continue emitting at the end of a block."""
        self.builder.position_at_end(block)

    @property
    def is_open(self) -> bool:
        """Whether the current block has no terminator yet."""
        return not self.builder.block.is_terminated

    def jump(self, block: ir.Block) -> None:
        """End the current block with a jump, if it has not ended."""
        if self.is_open:
            self.builder.branch(block)

    def branch(self, test: Truth, then: ir.Block, otherwise: ir.Block) -> None:
        """End the current block with a two-way branch."""
        if isinstance(test, bool):
            self.jump(then if test else otherwise)
        else:
            self.builder.cbranch(test, then, otherwise)

    def when(self, test: Truth, then: Callable[[], None], otherwise: Callable[[], None] | None = None) -> None:
        """Emit `if test: then() else: otherwise()`."""
        if isinstance(test, bool):
            if test:
                then()
            elif otherwise is not None:
                otherwise()
            return
        yes, end = self.block("then"), self.block("end")
        no = self.block("else") if otherwise is not None else end
        self.builder.cbranch(test, yes, no)
        self.position(yes)
        then()
        self.jump(end)
        if otherwise is not None:
            self.position(no)
            otherwise()
            self.jump(end)
        self.position(end)

    def check(self, test: Truth, fail: Fail) -> None:
        """Emit `fail` for the case that `test` is false, and continue for the case that it is true."""
        if isinstance(test, bool) and test:
            return
        # For a test that is known to be false, `ok` has no predecessor. Later code is still emitted there, and LLVM
        # removes it.
        ok, out = self.block("ok"), self.block("out")
        self.branch(test, ok, out)
        self.position(out)
        fail()
        self.position(ok)

    @contextmanager
    def loop(self, low: Number, high: Number) -> Iterator[tuple[Number, ir.Block, ir.Block]]:
        """Emit a loop of a counter from `low` to `high` - 1 around the body of the `with` block.

        Yields the counter, the block that starts the next iteration, and the block after the loop.
        """
        # In memory and not in a phi node: the body may add blocks, and LLVM turns the slot into a register.
        counter = self.slot()
        self.builder.store(self.value(low), counter)
        head, body, step, end = (self.block(name) for name in ("loop", "loop.body", "loop.step", "loop.end"))
        self.builder.branch(head)
        self.position(head)
        current = self.builder.load(counter)
        self.branch(self.compare("<", current, high), body, end)
        self.position(body)
        yield current, step, end
        self.jump(step)
        self.position(step)
        self.builder.store(self.builder.add(self.builder.load(counter), ir.ConstantValue(I64, 1)), counter)
        self.builder.branch(head)
        self.position(end)

    # Memory.

    def slot(self, words: int = 1) -> ir.Value:
        """Return a pointer to stack memory of some words, not initialised."""
        # In the entry block: an alloca inside a loop would take new stack memory in every iteration.
        if words == 1:
            return self._entry_builder.alloca(I64)
        array = self._entry_builder.alloca(ir.ArrayType(I64, words))
        return self._entry_builder.bitcast(array, WORD_POINTER)

    def temporary(self, kind: Type) -> MemoryPlace:
        """Return new stack memory for a value of a type, all zero."""
        layout = layout_of(kind)
        pointer = self.slot(layout.storage)
        # Emitted at the current position: code in a loop finds the memory zero in every iteration.
        for word in range(layout.storage):
            self.builder.store(ir.ConstantValue(I64, 0), self.word_pointer(pointer, word))
        return MemoryPlace(layout, pointer, 0, 0)

    def word_pointer(self, pointer: ir.Value, word: Number) -> ir.Value:
        """Return the address of a word."""
        if isinstance(word, int) and word == 0:
            return pointer
        return self.builder.gep(pointer, [self.value(word)], inbounds=True)

    def load_bits(self, place: MemoryPlace) -> Number:
        """Return the bits of the packed value at a place."""
        if place.layout.bits == 0:
            return 0
        loaded = self.builder.load(self.word_pointer(place.pointer, place.word))
        # A value of 64 bits has its word for itself, with shift 0: no mask is needed.
        if place.layout.bits == 64:
            return loaded
        return self.bit_and(self.shift_right(loaded, place.shift), place.layout.mask)

    def store_bits(self, place: MemoryPlace, bits: Number) -> None:
        """Replace the bits of the packed value at a place."""
        if place.layout.bits == 0:
            return
        address = self.word_pointer(place.pointer, place.word)
        if place.layout.bits == 64:
            self.builder.store(self.value(bits), address)
            return
        # The other values in the same word keep their bits.
        kept = self.bit_and(
            self.builder.load(address), self.bit_xor(self.shift_left(place.layout.mask, place.shift), -1)
        )
        self.builder.store(self.value(self.bit_or(kept, self.shift_left(bits, place.shift))), address)

    def copy_words(self, source: MemoryPlace, target: MemoryPlace) -> None:
        """Copy a wide value from place to place."""
        for word in range(source.layout.words):
            loaded = self.builder.load(self.word_pointer(source.pointer, self.add(source.word, word)))
            self.builder.store(loaded, self.word_pointer(target.pointer, self.add(target.word, word)))

    def clear(self, place: MemoryPlace) -> None:
        """Make every bit of the value at a place zero."""
        if not place.layout.is_wide:
            self.store_bits(place, 0)
            return
        for word in range(place.layout.words):
            self.builder.store(ir.ConstantValue(I64, 0), self.word_pointer(place.pointer, self.add(place.word, word)))

    # Values.

    def bits_of(self, value: PackedValue) -> Number:
        """Return the bits of a packed value in memory: an integer is stored as its distance from the low bound."""
        if isinstance(value.type, BoolType):
            return self.widened(value.number)
        # An integer type without a low bound occurs in locals only; it is not stored as a distance.
        if isinstance(value.type, IntType) and value.type.low is not None:
            return self.subtract(value.number, value.type.low)
        bits: Number = value.number
        return bits

    def from_bits(self, kind: Type, bits: Number) -> PackedValue:
        """Return the packed value with some bits: the inverse of `bits_of`."""
        if isinstance(kind, BoolType):
            return PackedValue(kind, bool(bits) if isinstance(bits, int) else self.compare("!=", bits, 0))
        if isinstance(kind, IntType) and kind.low is not None:
            return PackedValue(kind, self.add(bits, kind.low))
        return PackedValue(kind, bits)

    def load(self, place: MemoryPlace, *, copy: bool = True) -> Value:
        """Return the value at a place. `copy=False`: the place is not written while the value lives."""
        if not place.layout.is_wide:
            return self.from_bits(place.layout.type, self.load_bits(place))
        if not copy:
            return WideValue(place.layout.type, place)
        # A copy: the state may be written while the value lives, and a value must not change.
        own = MemoryPlace(place.layout, self.slot(place.layout.words), 0, 0)
        self.copy_words(place, own)
        return WideValue(place.layout.type, own)

    def store(self, place: MemoryPlace, value: Value) -> None:
        """Write a value, which has the place's type, to a place."""
        if isinstance(value, WideValue):
            self.copy_words(value.place, place)
        else:
            self.store_bits(place, self.bits_of(value))

    def constant(self, kind: Type, value: Any) -> Value:
        """Return a value known now."""
        if isinstance(kind, (BoolType, IntType)):
            return PackedValue(kind, value)
        layout = layout_of(kind)
        words = [0] * layout.storage
        encode(layout, value, words)
        if not layout.is_wide:
            return PackedValue(kind, words[0])
        place = MemoryPlace(layout, self.slot(layout.words), 0, 0)
        for word, bits in enumerate(words):
            self.builder.store(self.value(bits), self.word_pointer(place.pointer, word))
        return WideValue(kind, place)

    def spill(self, value: Value) -> MemoryPlace:
        """Return a place that holds a value: its own if it is wide, else new stack memory."""
        if isinstance(value, WideValue):
            return value.place
        place = MemoryPlace(layout_of(value.type), self.slot(), 0, 0)
        self.builder.store(self.value(self.bits_of(value)), place.pointer)
        return place

    def part(self, place: MemoryPlace, part: ValuePart) -> MemoryPlace:
        """Return the place of a part of the composite at a place."""
        return MemoryPlace(
            part.layout, place.pointer, self.add(place.word, part.word), self.add(place.shift, part.shift)
        )

    def field(self, place: MemoryPlace, name: str) -> MemoryPlace:
        """Return the place of a field of the struct at a place."""
        kind = place.layout.type
        assert isinstance(kind, StructType)
        index = [field_name for field_name, _ in kind.fields].index(name)
        return self.part(place, place.layout.parts[index])

    def item(self, place: MemoryPlace, index: Number) -> MemoryPlace:
        """Return the place of an item of the composite at a place; the caller has checked the index."""
        items = place.layout.items
        assert items is not None
        if isinstance(index, int) and not 0 <= index < items.count:
            # The check of the index always fails: this place is never used.
            index = 0
        word, shift = self._item_offset(items, index)
        return MemoryPlace(items.layout, place.pointer, self.add(place.word, word), self.add(place.shift, shift))

    def _item_offset(self, items: ArrayItems, index: Number) -> tuple[Number, Number]:
        if items.layout.is_wide:
            return self.add(self.multiply(index, items.step), items.word), 0
        # All items are in one word, so the division below is not needed. A packed value has a negative step: item 0 is
        # highest.
        if items.count <= items.per_word:
            return items.word, self.add(self.multiply(index, items.step), items.shift)
        if isinstance(index, int):
            word, rest = divmod(index, items.per_word)
            return items.word + word, items.shift + rest * items.step
        per_word = ir.ConstantValue(I64, items.per_word)
        # Unsigned is right, because the caller has checked that the index is not negative.
        number, position = self.builder.udiv(index, per_word), self.builder.urem(index, per_word)
        return self.add(number, items.word), self.add(self.multiply(position, items.step), items.shift)

    def equal(self, left: Value, right: Value) -> Truth:
        """Return whether two values of one type are equal."""
        if isinstance(left, PackedValue) and isinstance(right, PackedValue):
            if isinstance(left.type, BoolType):
                return self.same_truth(left.number, right.number)
            return self.compare("==", left.number, right.number)
        # Comparing whole words is exact: bits that a value does not use are zero (see `state_layout`).
        assert isinstance(left, WideValue) and isinstance(right, WideValue)
        differing: Number = 0
        for word in range(left.place.layout.words):
            sides = [
                self.builder.load(self.word_pointer(side.place.pointer, self.add(side.place.word, word)))
                for side in (left, right)
            ]
            differing = self.bit_or(differing, self.bit_xor(*sides))
        return self.compare("==", differing, 0)
