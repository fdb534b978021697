"""Operations on symbolic sequences, sorted sets and bags: a length and as many items as the capacity.

No operation checks the capacity: what is over it is cut off, and whoever asks for the operation makes that an error.
"""

from __future__ import annotations

from collections.abc import Iterator

from checker.ir.types import BagType, SeqType, SetType, Type
from checker.prove import integers
from checker.prove.integers import Num, compare, known
from checker.prove.logic import Truth, all_of, any_of, both, negate
from checker.prove.values import Arr, Value, blank, equal, less, merged


def capacity_of(kind: Type) -> int:
    """Return how many items an array of a type can have."""
    assert isinstance(kind, (SeqType, SetType, BagType)) and kind.capacity is not None
    return kind.capacity


def empty(kind: Type) -> Arr:
    """Return the array without items."""
    return Arr(known(0), (blank(kind.item),) * capacity_of(kind))  # type: ignore[attr-defined]


def used(array: Arr) -> Iterator[tuple[Truth, Value]]:
    """Iterate over the items, each with whether it is there."""
    for position, item in enumerate(array.items):
        is_used = compare("<", known(position), array.length)
        if is_used is False:
            return
        yield is_used, item


def item_at(array: Arr, index: Num) -> Value:
    """Return the item at an index; outside the array any item may result."""
    return select(list(array.items), index)


def select(values: list[Value], index: Num) -> Value:
    """Return one of some values by its position, which must be one of theirs."""
    low, high = max(0, index.low), min(len(values) - 1, index.high)
    if low > high:
        return values[0] if values else None
    result = values[int(high)]
    for position in range(int(high) - 1, int(low) - 1, -1):
        result = merged(compare("==", index, known(position)), values[position], result)
    return result


def appended(array: Arr, item: Value, test: Truth = True) -> Arr:
    """Return an array with an item more at the end, where `test` is true."""
    if test is False:
        return array
    items = tuple(
        merged(both(test, compare("==", array.length, known(position))), item, present)
        for position, present in enumerate(array.items)
    )
    longer = _bounded(integers.add(array.length, known(1)), len(items))
    return Arr(integers.chosen(test, longer, array.length), items)


def _bounded(length: Num, capacity: int) -> Num:
    return integers.narrowed(length, 0, capacity)


def inserted(array: Arr, index: Num, item: Value) -> Arr:
    """Return an array with an item before the one at an index."""
    items = []
    for position, present in enumerate(array.items):
        is_before = compare("<", known(position), index)
        shifted = array.items[position - 1] if position else item
        is_at = compare("==", known(position), index)
        items.append(merged(is_before, present, merged(is_at, item, shifted)))
    return Arr(_bounded(integers.add(array.length, known(1)), len(items)), tuple(items))


def deleted(array: Arr, index: Num, unused: Value) -> Arr:
    """Return an array without the item at an index, which there must be."""
    items = []
    for position, present in enumerate(array.items):
        after = array.items[position + 1] if position + 1 < len(array.items) else unused
        items.append(merged(compare("<", known(position), index), present, after))
    return Arr(_bounded(integers.subtract(array.length, known(1)), len(items)), tuple(items))


def without_span(array: Arr, start: Num, size: Num, unused: Value) -> Arr:
    """Return an array without `size` items from `start` on, all of which there must be."""
    items = []
    for position, present in enumerate(array.items):
        moved = _shifted(array, position, size, unused)
        items.append(merged(compare("<", known(position), start), present, moved))
    return Arr(_bounded(integers.subtract(array.length, size), len(items)), tuple(items))


def _shifted(array: Arr, position: int, size: Num, unused: Value) -> Value:
    """Return what is `size` places after a position."""
    rest = [*array.items[position:], unused]
    return select(rest, integers.extreme("min", size, known(len(rest) - 1)))


def cut(array: Arr, low: Num, high: Num, unused: Value, *, inverted: bool) -> Arr:
    """Return the items low to high - 1, or (inverted) the others; bounds past the end are clipped, none is negative."""
    high = integers.extreme("min", high, array.length)
    low = integers.extreme("min", low, high)
    if inverted:
        return without_span(array, low, integers.subtract(high, low), unused)
    kept = integers.narrowed(integers.subtract(high, low), 0, len(array.items))
    items = tuple(
        merged(compare("<", known(position), kept), _shifted(array, position, low, unused), unused)
        for position in range(len(array.items))
    )
    return Arr(kept, items)


def joined(left: Arr, right: Arr, unused: Value, capacity: int) -> Arr:
    """Return one array after the other."""
    items = []
    for position in range(capacity):
        here = left.items[position] if position < len(left.items) else unused
        offset = integers.subtract(known(position), left.length)
        there = select([*right.items, unused], integers.narrowed(offset, 0, len(right.items)))
        items.append(merged(compare("<", known(position), left.length), here, there))
    return Arr(_bounded(integers.add(left.length, right.length), capacity), tuple(items))


def resized(array: Arr, capacity: int, unused: Value) -> Arr:
    """Return an array with room for more items."""
    return Arr(array.length, (*array.items, *[unused] * (capacity - len(array.items)))[:capacity])


# Questions.


def contains(array: Arr, item: Value) -> Truth:
    """Return whether an item is in an array."""
    return any_of(both(is_used, equal(present, item)) for is_used, present in used(array))


def count(array: Arr, item: Value) -> Num:
    """Return how many items are equal to one."""
    return total(both(is_used, equal(present, item)) for is_used, present in used(array))


def total(truths: Iterator[Truth]) -> Num:
    """Return how many of some conditions are true."""
    numbers = [known(int(t)) if isinstance(t, bool) else integers.chosen(t, known(1), known(0)) for t in truths]
    while len(numbers) > 1:
        # In pairs: the sums stay as narrow as they can be.
        pairs = [integers.add(a, b) for a, b in zip(numbers[::2], numbers[1::2], strict=False)]
        numbers = pairs + (numbers[-1:] if len(numbers) % 2 else [])
    return numbers[0] if numbers else known(0)


def position_of(array: Arr, item: Value) -> Num:
    """Return the position of the first equal item, or the length if there is none."""
    result = array.length
    for position in reversed(range(len(array.items))):
        is_used = compare("<", known(position), array.length)
        result = integers.chosen(both(is_used, equal(array.items[position], item)), known(position), result)
    return result


# Sorted arrays.


def with_item(array: Arr, item: Value, *, is_set: bool) -> Arr:
    """Return a sorted array with an item more; a set has no item twice."""
    rank = total(both(is_used, less(present, item)) for is_used, present in used(array))
    result = inserted(array, rank, item)
    return merged(contains(array, item), array, result) if is_set else result


def filtered(array: Arr, tests: list[Truth], kind: Type) -> Arr:
    """Return the items whose test is true, in an array of a type."""
    result = empty(kind)
    for (is_used, item), test in zip(used(array), tests, strict=False):
        result = appended(result, item, both(is_used, test))
    return result


def is_subset(left: Arr, right: Arr) -> Truth:
    """Return whether every item of a sorted set is in another one."""
    return all_of(either_absent(is_used, contains(right, item)) for is_used, item in used(left))


def either_absent(is_used: Truth, test: Truth) -> Truth:
    """Return whether an item is not there, or passes a test."""
    return any_of((negate(is_used), test))
