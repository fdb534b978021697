"""Operations on sequences of unbounded length: each returns a new function from the index to the item.

`smt.lowering.arrays` has the same operations, under the same names, on arrays.
"""

from __future__ import annotations

from checker.engines.smt.lowering import arithmetic, arrays, integers
from checker.engines.smt.lowering.integers import SymbolicInteger, compare, concrete, is_index
from checker.engines.smt.lowering.logic import Truth, both, exists
from checker.engines.smt.lowering.symbolic_values import (
    SymbolicArray,
    UnboundedSequence,
    Value,
    equal,
    merged,
    new_index,
)


def as_unbounded(value: SymbolicArray | UnboundedSequence) -> UnboundedSequence:
    """Return a sequence as one of unbounded length."""
    if isinstance(value, UnboundedSequence):
        return value
    items = list(value.items)
    return UnboundedSequence(value.length, lambda index: arrays.value_at(items, index))


def inserted(base: UnboundedSequence, index: SymbolicInteger, item: Value) -> UnboundedSequence:
    """Return a sequence with an item inserted before an index, or at the end."""

    # Operations compose Python functions: a read at an index becomes an if-then-else term over reads of the base.
    # Neither arrays of Z3 nor axioms with quantifiers are needed.
    def at(position: SymbolicInteger) -> Value:
        later = base.at(arithmetic.subtract(position, concrete(1)))
        here = merged(compare("==", position, index), item, later)
        return merged(compare("<", position, index), base.at(position), here)

    return UnboundedSequence(_length(arithmetic.add(base.length, concrete(1))), at)


def appended(base: UnboundedSequence, item: Value) -> UnboundedSequence:
    """Return a sequence with an item added at the end."""
    end = base.length
    return UnboundedSequence(
        _length(arithmetic.add(end, concrete(1))),
        lambda position: merged(compare("==", position, end), item, base.at(position)),
    )


def with_replaced(base: UnboundedSequence, index: SymbolicInteger, item: Value) -> UnboundedSequence:
    """Return a sequence with the item at an index replaced."""
    return UnboundedSequence(
        base.length, lambda position: merged(compare("==", position, index), item, base.at(position))
    )


def without_span(base: UnboundedSequence, start: SymbolicInteger, size: SymbolicInteger) -> UnboundedSequence:
    """Return a sequence without the `size` items from index `start`, which must be inside the sequence."""

    def at(position: SymbolicInteger) -> Value:
        later = base.at(arithmetic.add(position, size))
        return merged(compare("<", position, start), base.at(position), later)

    return UnboundedSequence(_length(arithmetic.subtract(base.length, size)), at)


def sliced(
    base: UnboundedSequence, low: SymbolicInteger, high: SymbolicInteger, *, inverted: bool
) -> UnboundedSequence:
    """Return the items low to high - 1, or (inverted) the others. Bounds past the end are clipped; none is negative."""
    low, high = arrays.clip_bounds(low, high, base.length)
    size = _length(arithmetic.subtract(high, low))
    if not inverted:
        return UnboundedSequence(size, lambda position: base.at(arithmetic.add(position, low)))
    # Items outside a sequence are arbitrary: deletion up to the end only shortens it.
    if high is base.length:
        return UnboundedSequence(low, base.at)
    return without_span(base, low, size)


def concatenated(left: UnboundedSequence, right: UnboundedSequence) -> UnboundedSequence:
    """Return the concatenation of two sequences."""

    def at(position: SymbolicInteger) -> Value:
        there = right.at(arithmetic.subtract(position, left.length))
        return merged(compare("<", position, left.length), left.at(position), there)

    return UnboundedSequence(arithmetic.add(left.length, right.length), at)


def contains(base: UnboundedSequence, item: Value) -> Truth:
    """Return whether an item is in a sequence."""
    index = new_index()
    return exists([index.term], both(is_index(index, base.length), equal(base.at(index), item)))


def _length(number: SymbolicInteger) -> SymbolicInteger:
    return integers.narrowed(number, 0, number.high)
