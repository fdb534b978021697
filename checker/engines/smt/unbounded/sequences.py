"""Operations on sequences of any length: what they change is a new function from the index to the item."""

from __future__ import annotations

from checker.engines.smt.lowering import arrays, integers
from checker.engines.smt.lowering.integers import SymbolicInteger, compare, concrete
from checker.engines.smt.lowering.logic import Truth, both, exists, negate
from checker.engines.smt.lowering.symbolic_values import (
    SymbolicArray,
    UnboundedSequence,
    Value,
    equal,
    merged,
    new_index,
)


def as_unbounded(value: SymbolicArray | UnboundedSequence) -> UnboundedSequence:
    """Return a sequence as one of any length."""
    if isinstance(value, UnboundedSequence):
        return value
    items = list(value.items)
    return UnboundedSequence(value.length, lambda index: arrays.value_at(items, index))


def inserted(base: UnboundedSequence, index: SymbolicInteger, item: Value) -> UnboundedSequence:
    """Return a sequence with an item before the one at an index, or at the end."""

    def at(position: SymbolicInteger) -> Value:
        later = base.at(integers.subtract(position, concrete(1)))
        here = merged(compare("==", position, index), item, later)
        return merged(compare("<", position, index), base.at(position), here)

    return UnboundedSequence(_length(integers.add(base.length, concrete(1))), at)


def appended(base: UnboundedSequence, item: Value) -> UnboundedSequence:
    """Return a sequence with an item more at the end."""
    end = base.length
    return UnboundedSequence(
        _length(integers.add(end, concrete(1))),
        lambda position: merged(compare("==", position, end), item, base.at(position)),
    )


def replaced(base: UnboundedSequence, index: SymbolicInteger, item: Value) -> UnboundedSequence:
    """Return a sequence with another item at an index."""
    return UnboundedSequence(
        base.length, lambda position: merged(compare("==", position, index), item, base.at(position))
    )


def without_span(base: UnboundedSequence, start: SymbolicInteger, size: SymbolicInteger) -> UnboundedSequence:
    """Return a sequence without `size` items from `start` on, all of which there must be."""

    def at(position: SymbolicInteger) -> Value:
        later = base.at(integers.add(position, size))
        return merged(compare("<", position, start), base.at(position), later)

    return UnboundedSequence(_length(integers.subtract(base.length, size)), at)


def sliced(
    base: UnboundedSequence, low: SymbolicInteger, high: SymbolicInteger, *, inverted: bool
) -> UnboundedSequence:
    """Return the items low to high - 1, or (inverted) the others; bounds past the end are clipped, none is negative."""
    high = integers.extremum("min", high, base.length)
    low = integers.extremum("min", low, high)
    size = _length(integers.subtract(high, low))
    if not inverted:
        return UnboundedSequence(size, lambda position: base.at(integers.add(position, low)))
    if high is base.length:
        return UnboundedSequence(low, base.at)
    return without_span(base, low, size)


def concatenated(left: UnboundedSequence, right: UnboundedSequence) -> UnboundedSequence:
    """Return one sequence after the other."""

    def at(position: SymbolicInteger) -> Value:
        there = right.at(integers.subtract(position, left.length))
        return merged(compare("<", position, left.length), left.at(position), there)

    return UnboundedSequence(integers.add(left.length, right.length), at)


def contains(base: UnboundedSequence, item: Value) -> Truth:
    """Return whether an item is in a sequence."""
    index = new_index()
    inside = both(compare("<=", concrete(0), index), compare("<", index, base.length))
    return exists([index.term], both(inside, equal(base.at(index), item)))


def is_inside(base: UnboundedSequence, index: SymbolicInteger) -> Truth:
    """Return whether an index is one of a sequence's items."""
    return both(compare("<=", concrete(0), index), compare("<", index, base.length))


def is_outside(base: UnboundedSequence, index: SymbolicInteger) -> Truth:
    """Return whether an index is none of a sequence's items."""
    return negate(is_inside(base, index))


def _length(number: SymbolicInteger) -> SymbolicInteger:
    return integers.narrowed(number, 0, number.high)
