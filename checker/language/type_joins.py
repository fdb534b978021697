"""Joins of types.

Types form a partial order by inclusion of their values, and `join` is the least upper bound in it.
"""

from __future__ import annotations

from collections.abc import Callable

from checker.language.symbols import upper_bound
from checker.language.types import (
    SMALL_UNIVERSE,
    BagType,
    IntType,
    MapType,
    NeverType,
    OpenDomainType,
    OptionType,
    SeqType,
    SetType,
    TupleType,
    Type,
    UnionType,
    count_codes,
    tuple_type,
)

NOTHING = NeverType()
NONE = OptionType(NOTHING)
"""The type of `None` alone."""


def set_of(item: Type, size: int) -> SetType:
    """Return the type of a set of up to `size` values of `item`: a bit set if `item` has few values."""
    return SetType(item) if has_small_universe(item) else SetType(item, size)


def has_small_universe(kind: Type) -> bool:
    """Return whether a set of items of this type can be a bit set."""
    # The prover has a set of members of an open domain as a predicate.
    return isinstance(kind, OpenDomainType) or (
        is_bounded(kind) and kind.cardinality() <= SMALL_UNIVERSE and count_codes(kind) <= SMALL_UNIVERSE
    )


def is_bounded(kind: Type) -> bool:
    """Return whether every integer in a type has known bounds, so that a variable can store it."""
    if isinstance(kind, IntType):
        return kind.low is not None and kind.high is not None
    if isinstance(kind, (OptionType, SetType, SeqType, BagType)):
        return is_bounded(kind.item)
    if isinstance(kind, MapType):
        return is_bounded(kind.value)
    if isinstance(kind, TupleType):
        return all(is_bounded(item) for item in kind.items)
    return True


def join(left: Type, right: Type) -> Type | None:
    """Return the smallest type that has the values of both, or None if they have nothing in common."""
    if left == right or isinstance(right, NeverType):
        return left
    if isinstance(left, NeverType):
        return right
    # Options do not nest, so the join of an option and a plain type is one option.
    if isinstance(left, OptionType) or isinstance(right, OptionType):
        item = join(without_option(left), without_option(right))
        return None if item is None else OptionType(item)
    for one, other in ((left, right), (right, left)):
        if isinstance(one, UnionType) and other in one.alternatives:
            return one
    if isinstance(left, IntType) and isinstance(right, IntType):
        return join_integers(left, right)
    if isinstance(left, SetType) and isinstance(right, SetType):
        # A value has either type, so the larger capacity is enough. A union has the items of both, and needs the sum.
        return join_sets(left, right, max)
    if isinstance(left, (SeqType, BagType)) and type(left) is type(right):
        item = join(left.item, right.item)
        return None if item is None else type(left)(item, upper_bound(left.capacity, right.capacity))
    if isinstance(left, MapType) and type(left) is type(right) and left.key == right.key:
        value = join(left.value, right.value)
        return None if value is None else type(left)(left.key, value)
    if isinstance(left, TupleType) and isinstance(right, TupleType) and len(left.fields) == len(right.fields):
        items = [join(one, other) for one, other in zip(left.items, right.items, strict=True)]
        return None if None in items else tuple_type([item for item in items if item is not None])
    return None


def join_sets(left: SetType, right: SetType, combine: Callable[[int, int], int]) -> SetType | None:
    """Return the type of sets with items of both types; `combine` computes the size from both sizes."""
    item = join(left.item, right.item)
    if item is None:
        return None
    if has_small_universe(item):
        return SetType(item)
    sizes = [kind.item.cardinality() if kind.capacity is None else kind.capacity for kind in (left, right)]
    return SetType(item, combine(*sizes))


def without_option(kind: Type) -> Type:
    """Return the item type of an option, or any other type itself."""
    return kind.item if isinstance(kind, OptionType) else kind


def join_integers(left: IntType, right: IntType) -> IntType:
    """Return the smallest range that contains both."""
    low = None if left.low is None or right.low is None else min(left.low, right.low)
    high = None if left.high is None or right.high is None else upper_bound(left.high, right.high)
    return IntType(low, high, left.name if left.name == right.name else "int")
