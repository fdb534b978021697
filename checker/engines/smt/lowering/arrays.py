"""Operations on symbolic arrays: sequences, sorted sets and bags with a length and as many items as the capacity.

No operation checks the capacity: items over it are dropped, and the caller records a failure for that case.
`unbounded.lowering.sequences` has the same operations, under the same names, on sequences of unbounded length.
"""

from __future__ import annotations

from collections.abc import Iterator

from checker.engines.smt.lowering import arithmetic, integers
from checker.engines.smt.lowering.encoding import blank
from checker.engines.smt.lowering.integers import SymbolicInteger, compare, concrete
from checker.engines.smt.lowering.logic import Truth, all_of, any_of, both, implies
from checker.engines.smt.lowering.symbolic_values import SymbolicArray, Value, equal, less, merged
from checker.language.types import BagType, SeqType, SetType, Type


def capacity_of(kind: Type) -> int:
    """Return the capacity of an array type."""
    assert isinstance(kind, (SeqType, SetType, BagType)) and kind.capacity is not None
    return kind.capacity


def empty(kind: Type) -> SymbolicArray:
    """Return the empty array of a type."""
    return SymbolicArray(concrete(0), (blank(kind.item),) * capacity_of(kind))  # type: ignore[attr-defined]


def used(array: SymbolicArray) -> Iterator[tuple[Truth, Value]]:
    """Iterate over the items, each with the condition that its index is less than the length."""
    for position, item in enumerate(array.items):
        is_used = compare("<", concrete(position), array.length)
        # The used items are a prefix: all later ones are unused too.
        if is_used is False:
            return
        yield is_used, item


def item_at(array: SymbolicArray, index: SymbolicInteger) -> Value:
    """Return the item at an index; outside the array the result may be any item."""
    return value_at(list(array.items), index)


def value_at(values: list[Value], index: SymbolicInteger) -> Value:
    """Return the value at a position, which must be inside the list."""
    low, high = max(0, index.low), min(len(values) - 1, index.high)
    # No position is possible, so the evaluation is not alive: any value is correct.
    if low > high:
        return values[0] if values else None
    # The position is inside the list, so the last possible one needs no test.
    result = values[int(high)]
    for position in range(int(high) - 1, int(low) - 1, -1):
        result = merged(compare("==", index, concrete(position)), values[position], result)
    return result


def appended(array: SymbolicArray, item: Value, test: Truth = True) -> SymbolicArray:
    """Return an array with an item added at the end where `test` is true, else unchanged."""
    if test is False:
        return array
    items = tuple(
        merged(both(test, compare("==", array.length, concrete(position))), item, present)
        for position, present in enumerate(array.items)
    )
    longer = _bound_number(arithmetic.add(array.length, concrete(1)), len(items))
    return SymbolicArray(integers.choose(test, longer, array.length), items)


def _bound_number(length: SymbolicInteger, capacity: int) -> SymbolicInteger:
    return integers.narrowed(length, 0, capacity)


def inserted(array: SymbolicArray, index: SymbolicInteger, item: Value) -> SymbolicArray:
    """Return an array with an item inserted before an index."""
    # Each result item is one of three: the same position (before the index), the new item, or the position before.
    items = []
    for position, present in enumerate(array.items):
        is_before = compare("<", concrete(position), index)
        # An index is never negative, so position 0 never takes the shifted item.
        shifted = array.items[position - 1] if position else item
        is_at = compare("==", concrete(position), index)
        items.append(merged(is_before, present, merged(is_at, item, shifted)))
    return SymbolicArray(_bound_number(arithmetic.add(array.length, concrete(1)), len(items)), tuple(items))


def deleted(array: SymbolicArray, index: SymbolicInteger, unused: Value) -> SymbolicArray:
    """Return an array without the item at an index, which must be inside the array."""
    items = []
    for position, present in enumerate(array.items):
        after = array.items[position + 1] if position + 1 < len(array.items) else unused
        items.append(merged(compare("<", concrete(position), index), present, after))
    return SymbolicArray(_bound_number(arithmetic.subtract(array.length, concrete(1)), len(items)), tuple(items))


def without_span(array: SymbolicArray, start: SymbolicInteger, size: SymbolicInteger, unused: Value) -> SymbolicArray:
    """Return an array without the `size` items from index `start`, which must be inside the array."""
    items = []
    for position, present in enumerate(array.items):
        moved = _shift(array, position, size, unused)
        items.append(merged(compare("<", concrete(position), start), present, moved))
    return SymbolicArray(_bound_number(arithmetic.subtract(array.length, size), len(items)), tuple(items))


def _shift(array: SymbolicArray, position: int, size: SymbolicInteger, unused: Value) -> Value:
    """Return the item `size` places after a position; `unused` past the end."""
    # A symbolic shift reads from any later position: an array of capacity n becomes n nested if-then-else per item.
    rest = [*array.items[position:], unused]
    return value_at(rest, arithmetic.extremum("min", size, concrete(len(rest) - 1)))


def sliced(
    array: SymbolicArray, low: SymbolicInteger, high: SymbolicInteger, unused: Value, *, inverted: bool
) -> SymbolicArray:
    """Return the items low to high - 1, or (inverted) the others. Bounds past the end are clipped; none is negative."""
    low, high = clip_bounds(low, high, array.length)
    if inverted:
        return without_span(array, low, arithmetic.subtract(high, low), unused)
    kept = integers.narrowed(arithmetic.subtract(high, low), 0, len(array.items))
    items = tuple(
        merged(compare("<", concrete(position), kept), _shift(array, position, low, unused), unused)
        for position in range(len(array.items))
    )
    return SymbolicArray(kept, items)


def clip_bounds(
    low: SymbolicInteger, high: SymbolicInteger, length: SymbolicInteger
) -> tuple[SymbolicInteger, SymbolicInteger]:
    """Return the bounds of a slice clipped to a sequence of some length, with low <= high."""
    high = arithmetic.extremum("min", high, length)
    # As in Python, a slice with low > high is empty.
    return arithmetic.extremum("min", low, high), high


def concatenated(left: SymbolicArray, right: SymbolicArray, unused: Value, capacity: int) -> SymbolicArray:
    """Return the concatenation of two arrays."""
    items = []
    for position in range(capacity):
        here = left.items[position] if position < len(left.items) else unused
        # The offset passes the end of `right.items` if `left` is short: the position is then unused and must be blank.
        offset = arithmetic.extremum(
            "min", arithmetic.subtract(concrete(position), left.length), concrete(len(right.items))
        )
        there = value_at([*right.items, unused], integers.narrowed(offset, 0, len(right.items)))
        items.append(merged(compare("<", concrete(position), left.length), here, there))
    return SymbolicArray(_bound_number(arithmetic.add(left.length, right.length), capacity), tuple(items))


def resized(array: SymbolicArray, capacity: int, unused: Value) -> SymbolicArray:
    """Return an array with another capacity; items over it are dropped."""
    return SymbolicArray(array.length, (*array.items, *[unused] * (capacity - len(array.items)))[:capacity])


# Queries.


def contains(array: SymbolicArray, item: Value) -> Truth:
    """Return whether an item is in an array."""
    return any_of(both(is_used, equal(present, item)) for is_used, present in used(array))


def count(array: SymbolicArray, item: Value) -> SymbolicInteger:
    """Return the number of items equal to `item`."""
    return count_true(both(is_used, equal(present, item)) for is_used, present in used(array))


def count_true(truths: Iterator[Truth]) -> SymbolicInteger:
    """Return the number of true values."""
    numbers = [
        concrete(int(t)) if isinstance(t, bool) else integers.choose(t, concrete(1), concrete(0)) for t in truths
    ]
    while len(numbers) > 1:
        # A balanced tree of additions: most sums have narrow bit-vectors.
        pairs = [arithmetic.add(a, b) for a, b in zip(numbers[::2], numbers[1::2], strict=False)]
        numbers = pairs + (numbers[-1:] if len(numbers) % 2 else [])
    return numbers[0] if numbers else concrete(0)


def position_of(array: SymbolicArray, item: Value) -> SymbolicInteger:
    """Return the position of the first item equal to `item`, or the length if no item is."""
    result = array.length
    for position in reversed(range(len(array.items))):
        is_used = compare("<", concrete(position), array.length)
        result = integers.choose(both(is_used, equal(array.items[position], item)), concrete(position), result)
    return result


# Sorted arrays.


def with_item(array: SymbolicArray, item: Value, *, is_set: bool) -> SymbolicArray:
    """Return a sorted array with an item added; a set that has the item is unchanged."""
    # The rank of the item, the number of smaller items, is the index at which it keeps the order.
    rank = count_true(both(is_used, less(present, item)) for is_used, present in used(array))
    result = inserted(array, rank, item)
    return merged(contains(array, item), array, result) if is_set else result


def filtered(array: SymbolicArray, tests: list[Truth], kind: Type) -> SymbolicArray:
    """Return the items with a true test, as an array of a type."""
    result = empty(kind)
    for (is_used, item), test in zip(used(array), tests, strict=False):
        result = appended(result, item, both(is_used, test))
    return result


def is_subset(left: SymbolicArray, right: SymbolicArray) -> Truth:
    """Return whether every item of a sorted set is in another sorted set."""
    return all_of(implies(is_used, contains(right, item)) for is_used, item in used(left))
