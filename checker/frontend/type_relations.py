"""Relations between types: conversions, and the ranges of arithmetic results.

All ranges are safe over-approximations: an expression's type contains every value that the expression can have.
"""

from __future__ import annotations

from checker.language.symbols import upper_bound
from checker.language.type_joins import is_bounded, join, join_sets, without_option
from checker.language.types import (
    LARGEST,
    BagType,
    IntType,
    MapType,
    NeverType,
    OptionType,
    SeqType,
    SetType,
    TupleType,
    Type,
    UnionType,
)


def widen_towards(kind: Type, wanted: Type | None) -> Type:
    """Return the join of `kind` and `wanted` if it can be stored, else `kind`.

    A display is built before a variable stores it. Its type must contain all of its values, also those that the
    variable's type does not have: the store is where they become bounds errors.
    """
    joined = None if wanted is None else join(kind, wanted)
    return kind if joined is None or not is_bounded(joined) else joined


def union_type(left: SetType, right: SetType) -> SetType | None:
    """Return the type of the union of two sets, or None if their items have no common type."""
    return join_sets(left, right, lambda one, other: one + other)


def can_become(actual: Type, wanted: Type) -> bool:
    """Return whether some value of `found` may be a value of `wanted`; the conversion itself is checked at run time."""
    if actual == wanted or isinstance(actual, NeverType):
        return True
    if isinstance(wanted, OptionType):
        return can_become(without_option(actual), wanted.item)
    if isinstance(actual, OptionType):
        return can_become(actual.item, wanted)
    for one, other in ((actual, wanted), (wanted, actual)):
        if isinstance(one, UnionType) and other in one.alternatives:
            return True
    # Also for ranges without a common value: whether this is an error depends on whether the code runs.
    if isinstance(actual, IntType) and isinstance(wanted, IntType):
        return True
    if isinstance(actual, (SetType, SeqType, BagType)) and type(actual) is type(wanted):
        return can_become(actual.item, wanted.item)
    if isinstance(actual, MapType) and isinstance(wanted, MapType):
        # Keys are not converted: a map has exactly one value for each key of its type.
        return type(actual) is type(wanted) and actual.key == wanted.key and can_become(actual.value, wanted.value)
    if isinstance(actual, TupleType) and isinstance(wanted, TupleType) and len(actual.fields) == len(wanted.fields):
        return all(can_become(one, other) for one, other in zip(actual.items, wanted.items, strict=True))
    return False


def arithmetic_range(operator: str, left: IntType, right: IntType) -> IntType | None:
    """Return the range of a sum, difference, product, quotient or remainder; None if it cannot be bounded.

    The range is exact for `+`, `-` and `*`, and an over-approximation for `//` and `%`, which round as Python does: the
    remainder has the sign of the divisor.
    """
    if operator in "+-":
        return _sum(left, right) if operator == "+" else _sum(left, _negate(right))
    if None in (left.low, left.high, right.low, right.high):
        # A remainder is bounded by its divisor alone.
        is_remainder = operator == "%" and _is_positive(right) and right.high is not None
        return IntType(0, (right.high or 1) - 1, "int") if is_remainder else None
    assert left.low is not None and left.high is not None and right.low is not None and right.high is not None
    if operator == "*":
        # The product of two ranges takes its extremes at their corners.
        corners = [one * other for one in (left.low, left.high) for other in (right.low, right.high)]
        return _within_word(min(corners), upper_bound(*corners))
    # A divisor is at least 1 in magnitude (0 is an error), so a quotient is at most as large as its dividend.
    size = max(abs(left.low), abs(left.high))
    if operator == "//":
        if left.low >= 0 and right.low >= 1:
            return IntType(left.low // right.high, left.high // right.low, "int")
        return IntType(-size, size, "int")
    largest = max(abs(right.low), abs(right.high)) - 1
    low = 0 if right.low >= 0 else -largest
    high = min(largest, left.high) if left.low >= 0 and right.low >= 0 else largest
    return IntType(low, max(high, low), "int")


def _is_positive(kind: IntType) -> bool:
    return kind.low is not None and kind.low >= 1 and kind.high is not None


def _negate(kind: IntType) -> IntType:
    return IntType(None if kind.high is None else -kind.high, None if kind.low is None else -kind.low, "int")


def _sum(left: IntType, right: IntType) -> IntType | None:
    low = None if left.low is None or right.low is None else left.low + right.low
    high = None if left.high is None or right.high is None else left.high + right.high
    return _within_word(low, high)


def _within_word(low: int | None, high: int | None) -> IntType | None:
    """Return the range, or None if the engines' 64-bit arithmetic could overflow in it."""
    if (low is not None and low < -LARGEST) or (high is not None and high > LARGEST):
        return None
    return IntType(low, high, "int")
