"""Operations on collections in memory: sequences, bags and sorted sets as a length and an array, and bit sets."""

from __future__ import annotations

from collections.abc import Callable

from checker.engines.native.lowering.emitter import Emitter, Fail, MemoryPlace, Number, PackedValue, Truth, Value
from checker.language.types import BagType, SeqType, SetType, Type

UNROLLED = 2
"""Loops over at most this many items are unrolled, so that places are known when the code is emitted."""


class ArrayEmitter:
    """Emits operations on the collection at a place.

    A collection with a capacity is a length, followed by an array of `capacity` items. Items of bags and sorted sets
    are in ascending order of their bits. Items past the length are zero: equal collections have equal bits.
    """

    def __init__(self, emitter: Emitter):
        self.emit = emitter

    def length_place(self, place: MemoryPlace) -> MemoryPlace:
        """Return the place of the length of a sequence, bag or sorted set."""
        return self.emit.part(place, place.layout.parts[0])

    def length(self, place: MemoryPlace) -> Number:
        """Return the number of items in the collection at a place."""
        if is_bit_set(place.layout.type):
            return self.emit.count_ones(self.emit.load_bits(place))
        return self.emit.load_bits(self.length_place(place))

    def capacity(self, place: MemoryPlace) -> int:
        """Return the greatest number of items that the collection at a place can have."""
        kind = place.layout.type
        assert isinstance(kind, (SeqType, SetType, BagType)) and kind.capacity is not None
        return kind.capacity

    def each(self, count: Number, most: int, body: Callable[[Number], None]) -> None:
        """Emit `body` for the positions 0 to count - 1; there are at most `most`."""
        if isinstance(count, int):
            most = min(most, count)
        if most > UNROLLED:
            with self.emit.loop(0, count) as (position, _, _):
                body(position)
            return
        for position in range(most):
            self.emit.when(self.emit.compare("<", position, count), lambda at=position: body(at))  # type: ignore[misc]

    def copy_item(self, source: MemoryPlace, target: MemoryPlace) -> None:
        """Copy an item between arrays of one item type."""
        self.emit.store(target, self.emit.load(source, copy=False))

    def append(self, place: MemoryPlace, item: Value, fail: Fail) -> None:
        """Add an item at the end of the sequence at a place."""
        count = self.length(place)
        self.emit.check(self.emit.compare("<", count, self.capacity(place)), fail)
        # The check above always fails, and the array has no item that could be addressed. The same holds below.
        if self.capacity(place) == 0:
            return
        self.emit.store(self.emit.item(place, count), item)
        self.emit.store_bits(self.length_place(place), self.emit.add(count, 1))

    def insert(self, place: MemoryPlace, index: Number, item: Value, fail: Fail) -> None:
        """Insert an item before position `index` of the array at a place."""
        count = self.length(place)
        inside = self.emit.both(self.emit.compare(">=", index, 0), self.emit.compare("<=", index, count))
        self.emit.check(self.emit.both(inside, self.emit.compare("<", count, self.capacity(place))), fail)
        if self.capacity(place) == 0:
            return
        # From the end: each item moves up by one before the next lower one takes its place.
        with self.emit.loop(0, self.emit.subtract(count, index)) as (step, _, _):
            to = self.emit.subtract(count, step)
            self.copy_item(self.emit.item(place, self.emit.subtract(to, 1)), self.emit.item(place, to))
        self.emit.store(self.emit.item(place, index), item)
        self.emit.store_bits(self.length_place(place), self.emit.add(count, 1))

    def delete(self, place: MemoryPlace, index: Number | None, fail: Fail) -> None:
        """Remove the item at `index` (None: the last) from the array at a place."""
        count = self.length(place)
        last = self.emit.subtract(count, 1)
        at = last if index is None else index
        self.emit.check(self.emit.both(self.emit.compare(">=", at, 0), self.emit.compare("<", at, count)), fail)
        if self.capacity(place) == 0:
            return
        with self.emit.loop(at, last) as (position, _, _):
            after = self.emit.item(place, self.emit.add(position, 1))
            self.copy_item(after, self.emit.item(place, position))
        # Restores the invariant that items past the length are zero; otherwise equal collections could have different
        # bits.
        self.emit.clear(self.emit.item(place, last))
        self.emit.store_bits(self.length_place(place), last)

    def cut(self, place: MemoryPlace, low: Number, high: Number, *, inverted: bool) -> None:
        """Keep the items low to high - 1 of the sequence at a place, or (inverted) the others; no bound is negative."""
        count = self.length(place)
        # As in Python, bounds beyond the length are cut off, and a low bound above the high one selects nothing.
        high = self.emit.select(self.emit.compare("<", high, count), high, count)
        low = self.emit.select(self.emit.compare("<", low, high), low, high)
        if inverted:
            self._remove_span(place, count, low, self.emit.subtract(high, low))
            return
        kept = self.emit.subtract(high, low)
        if not (isinstance(low, int) and low == 0):
            self._remove_span(place, count, 0, low)
        remaining = self.emit.subtract(count, low)
        self._remove_span(place, remaining, kept, self.emit.subtract(remaining, kept))

    def _remove_span(self, place: MemoryPlace, count: Number, start: Number, size: Number) -> None:
        """Remove `size` items from `start` of an array of `count`."""
        rest = self.emit.subtract(count, size)
        with self.emit.loop(start, rest) as (position, _, _):
            self.copy_item(self.emit.item(place, self.emit.add(position, size)), self.emit.item(place, position))
        with self.emit.loop(rest, count) as (position, _, _):
            self.emit.clear(self.emit.item(place, position))
        self.emit.store_bits(self.length_place(place), rest)

    def position_of(self, place: MemoryPlace, item: Value) -> Number:
        """Return the position of the first equal item of an array, or its length."""
        slot = self.emit.slot()
        count = self.length(place)
        # The length means "not found": callers compare the position with it.
        self.emit.builder.store(self.emit.value(count), slot)
        with self.emit.loop(0, count) as (position, _, end):
            is_it = self.emit.equal(self.emit.load(self.emit.item(place, position), copy=False), item)
            hit, miss = self.emit.block("hit"), self.emit.block("miss")
            self.emit.branch(is_it, hit, miss)
            self.emit.position(hit)
            self.emit.builder.store(self.emit.value(position), slot)
            self.emit.jump(end)
            self.emit.position(miss)
        return self.emit.builder.load(slot)

    def rank_of(self, place: MemoryPlace, bits: Number) -> Number:
        """Return the number of items of a sorted array that have smaller bits: the position at which to insert."""
        rank = self.emit.slot()
        self.emit.builder.store(self.emit.value(0), rank)

        def count_smaller(position: Number) -> None:
            other = self.emit.value(self.emit.load_bits(self.emit.item(place, position)))
            # Unsigned, unlike `compare`: bits may fill the word, and their unsigned order is the order of the values.
            smaller = self.emit.builder.icmp_unsigned("<", other, self.emit.value(bits))
            total = self.emit.add(self.emit.builder.load(rank), self.emit.widened(smaller))
            self.emit.builder.store(self.emit.value(total), rank)

        self.each(self.length(place), self.capacity(place), count_smaller)
        return self.emit.builder.load(rank)

    def add_sorted(self, place: MemoryPlace, item: PackedValue, fail: Fail) -> None:
        """Add an item to the bag or sorted set at a place; a set keeps one copy."""

        def add() -> None:
            self.insert(place, self.rank_of(place, self.emit.bits_of(item)), item, fail)

        # The membership test comes first: adding an item that is present must not fail for lack of room.
        if isinstance(place.layout.type, SetType):
            self.emit.when(self.emit.negate(self.contains(place, item)), add)
        else:
            add()

    def add(self, place: MemoryPlace, item: Value, fail: Fail) -> None:
        """Add an item to the collection at a place: at the end of a sequence, in order to a bag or sorted set."""
        kind = place.layout.type
        if isinstance(kind, SeqType):
            self.append(place, item, fail)
        elif is_bit_set(kind):
            assert isinstance(item, PackedValue)
            bit = self.emit.shift_left(1, self.emit.bits_of(item))
            self.emit.store_bits(place, self.emit.bit_or(self.emit.load_bits(place), bit))
        else:
            assert isinstance(item, PackedValue)
            self.add_sorted(place, item, fail)

    def contains(self, place: MemoryPlace, item: Value) -> Truth:
        """Return whether an item, of the item type, is in the collection at a place."""
        if is_bit_set(place.layout.type):
            assert isinstance(item, PackedValue)
            return self.has_bit(self.emit.load_bits(place), self.emit.bits_of(item))
        return self.emit.compare("<", self.position_of(place, item), self.length(place))

    def has_bit(self, bits: Number, index: Number) -> Truth:
        """Return whether bit `index` is set."""
        if isinstance(index, int):
            masked = self.emit.bit_and(bits, 1 << index)
            return masked != 0 if isinstance(masked, int) else self.emit.compare("!=", masked, 0)
        return self.emit.compare("!=", self.emit.bit_and(self.emit.shift_right(bits, index), 1), 0)

    def count(self, place: MemoryPlace, item: Value) -> Number:
        """Return the number of items of the array at a place that are equal to `item`."""
        total = self.emit.slot()
        self.emit.builder.store(self.emit.value(0), total)

        def add_equal(position: Number) -> None:
            is_it = self.emit.equal(self.emit.load(self.emit.item(place, position), copy=False), item)
            self.emit.builder.store(
                self.emit.value(self.emit.add(self.emit.builder.load(total), self.emit.widened(is_it))), total
            )

        self.each(self.length(place), self.capacity(place), add_equal)
        return self.emit.builder.load(total)


def is_bit_set(kind: Type) -> bool:
    """Return whether values of a type are bit sets: sets without a capacity."""
    return isinstance(kind, SetType) and kind.capacity is None
