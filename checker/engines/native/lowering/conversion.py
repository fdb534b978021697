"""Lowering of conversions: the same value as one of another type, or a failure if that type does not have it."""

from __future__ import annotations

from collections.abc import Callable

from checker.engines.native.lowering.arrays import ArrayEmitter, is_bit_set
from checker.engines.native.lowering.emitter import Emitter, Fail, MemoryPlace, Number, PackedValue, Value
from checker.engines.native.lowering.state_layout import bit_items, bits_as_number, layout_of
from checker.errors import BoundsError
from checker.language.types import (
    BagType,
    IntType,
    MapType,
    NeverType,
    OptionType,
    SeqType,
    SetType,
    StructType,
    TupleType,
    Type,
    UnionType,
)


def _within(number: int, kind: IntType) -> int:
    """Return a number, clamped to the bounds of its type: a number outside failed a check, and is never used."""
    low, high = kind.low, kind.high
    return number if low is None or high is None else min(max(number, low), high)


class ConversionLowering:
    """Emits conversions. `fail` emits the end of the evaluation for a value that the target type does not have."""

    def __init__(self, emit: Emitter, arrays: ArrayEmitter):
        self.emit = emit
        self.arrays = arrays

    def convert(self, value: Value, target: Type, fail: Fail, source: Type | None = None) -> Value:
        """Return a value as one of type `target`, or emit `fail`. `source`: its static type (default: its own type)."""
        source = value.type if source is None else source
        if isinstance(source, IntType) and isinstance(target, IntType):
            return self._integer(value, source, target, fail)
        if source == target:
            return value
        if isinstance(source, NeverType):
            # A type without values: this code never runs.
            return PackedValue(target, target.low or 0) if isinstance(target, IntType) else self._zero(target)
        if isinstance(target, OptionType):
            return self._option(value, source, target, fail)
        if isinstance(source, OptionType):
            return self._unwrap(value, source, target, fail)
        if isinstance(target, UnionType):
            return self._alternative(value, source, target)
        if isinstance(source, UnionType):
            return self._narrow(value, source, target, fail)
        if isinstance(target, SetType) and isinstance(source, SetType) and is_bit_set(source):
            return self._from_bit_set(value, source, target, fail)
        if isinstance(target, MapType):
            return self._map(value, target, fail)
        if isinstance(target, TupleType):
            return self._tuple(value, target, fail)
        return self._items(value, target, fail)

    def if_convertible(self, value: Value, target: Type, use: Callable[[Value], None]) -> None:
        """Emit `use(converted)` for the case that a value is one of type `target`."""
        otherwise = self.emit.block("otherwise")
        use(self.convert(value, target, lambda: self.emit.jump(otherwise)))
        self.emit.jump(otherwise)
        self.emit.position(otherwise)

    def _integer(self, value: Value, source: IntType, target: IntType, fail: Fail) -> Value:
        assert isinstance(value, PackedValue)
        number: Number = value.number
        if target.low is not None and (source.low is None or source.low < target.low):
            self.emit.check(self.emit.compare(">=", number, target.low), fail)
        if target.high is not None and (source.high is None or source.high > target.high):
            self.emit.check(self.emit.compare("<=", number, target.high), fail)
        return PackedValue(target, _within(number, target) if isinstance(number, int) else number)

    def _zero(self, kind: Type) -> Value:
        return self.emit.load(self.emit.temporary(kind), copy=False)

    def _present(self, value: Value, source: OptionType) -> tuple[Number, MemoryPlace | None]:
        """Return a number that is 0 for None, and the place of the item unless options of its type are scalars."""
        if not layout_of(source).parts:
            assert isinstance(value, PackedValue)
            return value.number, None
        place = self.emit.spill(value)
        present = self.emit.load_bits(self.emit.part(place, place.layout.parts[0]))
        return present, self.emit.part(place, place.layout.parts[1])

    def _item(self, source: OptionType, present: Number, place: MemoryPlace | None) -> Value:
        if place is not None:
            return self.emit.load(place, copy=False)
        return self.emit.from_bits(source.item, self.emit.subtract(present, 1))

    def _unwrap(self, value: Value, source: OptionType, target: Type, fail: Fail) -> Value:
        if isinstance(source.item, NeverType):
            self.emit.check(False, fail)
            return self._zero(target)
        present, place = self._present(value, source)
        self.emit.check(self.emit.compare("!=", present, 0), fail)
        return self.convert(self._item(source, present, place), target, fail)

    def _option(self, value: Value, source: Type, target: OptionType, fail: Fail) -> Value:
        if not isinstance(source, OptionType):
            return self._wrap(self.convert(value, target.item, fail), target)
        if isinstance(source.item, NeverType):
            return self._zero(target)
        present, place = self._present(value, source)
        # All zero, which is None.
        result = self.emit.temporary(target)

        def store() -> None:
            item = self.convert(self._item(source, present, place), target.item, fail)
            self.emit.store(result, self._wrap(item, target))

        self.emit.when(self.emit.compare("!=", present, 0), store)
        return self.emit.load(result, copy=False)

    def _wrap(self, item: Value, target: OptionType) -> Value:
        layout = layout_of(target)
        if not layout.parts:
            assert isinstance(item, PackedValue)
            return PackedValue(target, self.emit.add(self.emit.bits_of(item), 1))
        if isinstance(item, PackedValue) and not layout.is_wide:
            bits = self.emit.shift_left(self.emit.bits_of(item), layout.parts[1].shift)
            return PackedValue(target, self.emit.bit_or(1 << layout.parts[0].shift, bits))
        place = self.emit.temporary(target)
        self.emit.store_bits(self.emit.part(place, layout.parts[0]), 1)
        self.emit.store(self.emit.part(place, layout.parts[1]), item)
        return self.emit.load(place, copy=False)

    def _from_bit_set(self, value: Value, source: SetType, target: SetType, fail: Fail) -> Value:
        assert isinstance(value, PackedValue)
        result = self.emit.temporary(target)
        for position, item in bit_items(source):
            # The possible items are known now, so each is converted now. Only their presence is tested by the emitted
            # code.
            is_in = self.arrays.has_bit(value.number, position)
            try:
                converted = target.item.coerce(item)
            except BoundsError:
                self.emit.check(self.emit.negate(is_in), fail)
                continue
            if is_bit_set(target):
                bit = self.emit.shift_left(self.emit.widened(is_in), bits_as_number(target.item, converted))
                self.emit.store_bits(result, self.emit.bit_or(self.emit.load_bits(result), bit))
            else:
                constant = self.emit.constant(target.item, converted)
                assert isinstance(constant, PackedValue)
                self.emit.when(is_in, lambda item=constant: self.arrays.add_sorted(result, item, fail))  # type: ignore[misc]
        return self.emit.load(result, copy=False)

    def _map(self, value: Value, target: MapType, fail: Fail) -> Value:
        source, result = self.emit.spill(value), self.emit.temporary(target)
        for index in range(target.key.cardinality()):
            item = self.emit.load(self.emit.item(source, index), copy=False)
            self.emit.store(self.emit.item(result, index), self.convert(item, target.value, fail))
        return self.emit.load(result, copy=False)

    def _alternative(self, value: Value, source: Type, target: UnionType) -> Value:
        """Return a struct as a value of a union."""
        assert isinstance(source, StructType)
        position, place = target.alternatives.index(source), self.emit.temporary(target)
        tag, *parts = place.layout.parts
        self.emit.store_bits(self.emit.part(place, tag), position)
        self.emit.store(self.emit.part(place, parts[position]), value)
        return self.emit.load(place, copy=False)

    def _narrow(self, value: Value, source: UnionType, target: Type, fail: Fail) -> Value:
        """Return a value of a union as a struct, or emit `fail` if it is another alternative."""
        assert isinstance(target, StructType)
        position, place = source.alternatives.index(target), self.emit.spill(value)
        tag, *parts = place.layout.parts
        self.emit.check(self.emit.compare("==", self.emit.load_bits(self.emit.part(place, tag)), position), fail)
        return self.emit.load(self.emit.part(place, parts[position]), copy=False)

    def _tuple(self, value: Value, target: TupleType, fail: Fail) -> Value:
        source, result = self.emit.spill(value), self.emit.temporary(target)
        for name, kind in target.fields:
            item = self.emit.load(self.emit.field(source, name), copy=False)
            self.emit.store(self.emit.field(result, name), self.convert(item, kind, fail))
        return self.emit.load(result, copy=False)

    def _items(self, value: Value, target: Type, fail: Fail) -> Value:
        """Convert a sequence, bag or sorted set item by item."""
        assert isinstance(target, (SeqType, BagType, SetType))
        result = self.emit.temporary(target)
        source = self.emit.spill(value)
        capacity = self.arrays.capacity(source)
        if capacity == 0:
            return self.emit.load(result, copy=False)

        def add(position: Number) -> None:
            item = self.convert(self.emit.load(self.emit.item(source, position), copy=False), target.item, fail)
            # Not a copy by position: a set or bag is sorted by the bits of the target type, and the target may have
            # less room.
            self.arrays.add(result, item, fail)

        self.arrays.each(self.arrays.length(source), capacity, add)
        return self.emit.load(result, copy=False)
