"""Operations on symbolic sequences, sorted sets and bags: a length and as many items as the capacity.

No operation checks the capacity: what is over it is cut off, and whoever asks for the operation makes that an error.
"""

from __future__ import annotations

from collections.abc import Iterator

from checker.engines.smt.lowering import integers
from checker.engines.smt.lowering.integers import SymbolicInteger, compare, concrete
from checker.engines.smt.lowering.logic import Truth, all_of, any_of, both, negate
from checker.engines.smt.lowering.symbolic_values import SymbolicArray, Value, blank, equal, less, merged
from checker.language.types import BagType, SeqType, SetType, Type


def capacity_of(kind: Type) -> int:
    """Return how many items an array of a type can have."""
    assert isinstance(kind, (SeqType, SetType, BagType)) and kind.capacity is not None
    return kind.capacity


def empty(kind: Type) -> SymbolicArray:
    """Return the array without items."""
    return SymbolicArray(concrete(0), (blank(kind.item),) * capacity_of(kind))  # type: ignore[attr-defined]


def used(array: SymbolicArray) -> Iterator[tuple[Truth, Value]]:
    """Iterate over the items, each with whether it is there."""
    for position, item in enumerate(array.items):
        is_used = compare("<", concrete(position), array.length)
        if is_used is False:
            return
        yield is_used, item


def item_at(array: SymbolicArray, index: SymbolicInteger) -> Value:
    """Return the item at an index; outside the array any item may result."""
    return value_at(list(array.items), index)


def value_at(values: list[Value], index: SymbolicInteger) -> Value:
    """Return one of some values by its position, which must be one of theirs."""
    low, high = max(0, index.low), min(len(values) - 1, index.high)
    if low > high:
        return values[0] if values else None
    result = values[int(high)]
    for position in range(int(high) - 1, int(low) - 1, -1):
        result = merged(compare("==", index, concrete(position)), values[position], result)
    return result


def appended(array: SymbolicArray, item: Value, test: Truth = True) -> SymbolicArray:
    """Return an array with an item more at the end, where `test` is true."""
    if test is False:
        return array
    items = tuple(
        merged(both(test, compare("==", array.length, concrete(position))), item, present)
        for position, present in enumerate(array.items)
    )
    longer = _bounded(integers.add(array.length, concrete(1)), len(items))
    return SymbolicArray(integers.chosen(test, longer, array.length), items)


def _bounded(length: SymbolicInteger, capacity: int) -> SymbolicInteger:
    return integers.narrowed(length, 0, capacity)


def inserted(array: SymbolicArray, index: SymbolicInteger, item: Value) -> SymbolicArray:
    """Return an array with an item before the one at an index."""
    items = []
    for position, present in enumerate(array.items):
        is_before = compare("<", concrete(position), index)
        shifted = array.items[position - 1] if position else item
        is_at = compare("==", concrete(position), index)
        items.append(merged(is_before, present, merged(is_at, item, shifted)))
    return SymbolicArray(_bounded(integers.add(array.length, concrete(1)), len(items)), tuple(items))


def deleted(array: SymbolicArray, index: SymbolicInteger, unused: Value) -> SymbolicArray:
    """Return an array without the item at an index, which there must be."""
    items = []
    for position, present in enumerate(array.items):
        after = array.items[position + 1] if position + 1 < len(array.items) else unused
        items.append(merged(compare("<", concrete(position), index), present, after))
    return SymbolicArray(_bounded(integers.subtract(array.length, concrete(1)), len(items)), tuple(items))


def without_span(array: SymbolicArray, start: SymbolicInteger, size: SymbolicInteger, unused: Value) -> SymbolicArray:
    """Return an array without `size` items from `start` on, all of which there must be."""
    items = []
    for position, present in enumerate(array.items):
        moved = _shifted(array, position, size, unused)
        items.append(merged(compare("<", concrete(position), start), present, moved))
    return SymbolicArray(_bounded(integers.subtract(array.length, size), len(items)), tuple(items))


def _shifted(array: SymbolicArray, position: int, size: SymbolicInteger, unused: Value) -> Value:
    """Return what is `size` places after a position."""
    rest = [*array.items[position:], unused]
    return value_at(rest, integers.extremum("min", size, concrete(len(rest) - 1)))


def sliced(
    array: SymbolicArray, low: SymbolicInteger, high: SymbolicInteger, unused: Value, *, inverted: bool
) -> SymbolicArray:
    """Return the items low to high - 1, or (inverted) the others; bounds past the end are clipped, none is negative."""
    high = integers.extremum("min", high, array.length)
    low = integers.extremum("min", low, high)
    if inverted:
        return without_span(array, low, integers.subtract(high, low), unused)
    kept = integers.narrowed(integers.subtract(high, low), 0, len(array.items))
    items = tuple(
        merged(compare("<", concrete(position), kept), _shifted(array, position, low, unused), unused)
        for position in range(len(array.items))
    )
    return SymbolicArray(kept, items)


def concatenated(left: SymbolicArray, right: SymbolicArray, unused: Value, capacity: int) -> SymbolicArray:
    """Return one array after the other."""
    items = []
    for position in range(capacity):
        here = left.items[position] if position < len(left.items) else unused
        offset = integers.subtract(concrete(position), left.length)
        there = value_at([*right.items, unused], integers.narrowed(offset, 0, len(right.items)))
        items.append(merged(compare("<", concrete(position), left.length), here, there))
    return SymbolicArray(_bounded(integers.add(left.length, right.length), capacity), tuple(items))


def resized(array: SymbolicArray, capacity: int, unused: Value) -> SymbolicArray:
    """Return an array with room for more items."""
    return SymbolicArray(array.length, (*array.items, *[unused] * (capacity - len(array.items)))[:capacity])


# Questions.


def contains(array: SymbolicArray, item: Value) -> Truth:
    """Return whether an item is in an array."""
    return any_of(both(is_used, equal(present, item)) for is_used, present in used(array))


def count(array: SymbolicArray, item: Value) -> SymbolicInteger:
    """Return how many items are equal to one."""
    return count_true(both(is_used, equal(present, item)) for is_used, present in used(array))


def count_true(truths: Iterator[Truth]) -> SymbolicInteger:
    """Return how many of some conditions are true."""
    numbers = [
        concrete(int(t)) if isinstance(t, bool) else integers.chosen(t, concrete(1), concrete(0)) for t in truths
    ]
    while len(numbers) > 1:
        # In pairs: the sums stay as narrow as they can be.
        pairs = [integers.add(a, b) for a, b in zip(numbers[::2], numbers[1::2], strict=False)]
        numbers = pairs + (numbers[-1:] if len(numbers) % 2 else [])
    return numbers[0] if numbers else concrete(0)


def position_of(array: SymbolicArray, item: Value) -> SymbolicInteger:
    """Return the position of the first equal item, or the length if there is none."""
    result = array.length
    for position in reversed(range(len(array.items))):
        is_used = compare("<", concrete(position), array.length)
        result = integers.chosen(both(is_used, equal(array.items[position], item)), concrete(position), result)
    return result


# Sorted arrays.


def with_item(array: SymbolicArray, item: Value, *, is_set: bool) -> SymbolicArray:
    """Return a sorted array with an item more; a set has no item twice."""
    rank = count_true(both(is_used, less(present, item)) for is_used, present in used(array))
    result = inserted(array, rank, item)
    return merged(contains(array, item), array, result) if is_set else result


def filtered(array: SymbolicArray, tests: list[Truth], kind: Type) -> SymbolicArray:
    """Return the items whose test is true, in an array of a type."""
    result = empty(kind)
    for (is_used, item), test in zip(used(array), tests, strict=False):
        result = appended(result, item, both(is_used, test))
    return result


def is_subset(left: SymbolicArray, right: SymbolicArray) -> Truth:
    """Return whether every item of a sorted set is in another one."""
    return all_of(either_absent(is_used, contains(right, item)) for is_used, item in used(left))


def either_absent(is_used: Truth, test: Truth) -> Truth:
    """Return whether an item is not there, or passes a test."""
    return any_of((negate(is_used), test))
