"""Symbolic values of all types, and the operations that they have in common.

| type | symbolic value |
| --- | --- |
| `bool` | a truth value |
| a Range | a `SymbolicInteger` |
| an Enum, a Domain | a `SymbolicInteger`: the member's position |
| Option | `SymbolicOption` |
| a Struct, a Map | `SymbolicTuple`: the fields; the values in the order of the keys |
| OneOf | `SymbolicTuple`: the position of the alternative, then the alternatives, of which all but one are blank |
| SetOf without a capacity | `SymbolicSet`: a truth value per value of the item type |
| Map with the keys of a Domain of open size | `UnboundedMap` |
| SetOf of a Domain of open size | `UnboundedSet` |
| Seq | `SymbolicArray`, or `UnboundedSequence` if the capacity is unbounded |
| SetOf with a capacity, Bag | `SymbolicArray` in ascending order |

Canonical form: every value except the unbounded ones has one encoding. Unused parts (the item of None, the items
after the end of a sequence) are blank: the first value of their type. So two values are equal if and only if all their
parts are equal. Unbounded values have no canonical form; they are compared with a quantifier over the indices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import z3

from checker.engines.smt.lowering import integers
from checker.engines.smt.lowering.integers import SymbolicInteger, compare, is_index
from checker.engines.smt.lowering.logic import (
    Term,
    Truth,
    all_of,
    both,
    choose,
    either,
    equivalent,
    for_all,
    implies,
    negate,
)
from checker.errors import SpecError
from checker.language.symbols import is_open
from checker.language.types import MapType, OpenDomainType, SeqType, SetType, Type

Value = Any
"""One of the classes below, a truth value, a `SymbolicInteger`, a name (str), or None (the value of a NeverType)."""


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicOption:
    """An option: whether it has a value, and the value (blank if it has none)."""

    present: Truth
    item: Value


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicTuple:
    """The fields of a struct, or the values of a map."""

    parts: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicSet:
    """A bit set: the membership of every value of the item type, in order."""

    members: tuple[Truth, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicArray:
    """A length and as many items as the capacity; the items from index `length` on are blank."""

    length: SymbolicInteger
    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class UnboundedSequence:
    """A sequence of unbounded length: the length, and a function from the index to the item.

    Outside the sequence the function may return any item.
    """

    length: SymbolicInteger
    at: Callable[[SymbolicInteger], Value]


@dataclass(frozen=True, slots=True, eq=False)
class UnboundedMap:
    """A map from the members of a Domain of open size: their number, and a function from a member to its value."""

    size: SymbolicInteger
    at: Callable[[SymbolicInteger], Value]


@dataclass(frozen=True, slots=True, eq=False)
class UnboundedSet:
    """A set of members of a Domain of open size: their number, and a function from a member to whether the set has it.

    For a number that is no member the function may return anything.
    """

    size: SymbolicInteger
    has: Callable[[SymbolicInteger], Truth]

    def has_member(self, member: SymbolicInteger) -> Truth:
        """Return whether a number is a member and in the set."""
        return both(is_index(member, self.size), self.has(member))


def is_unbounded_map(kind: Type) -> bool:
    """Return whether values of a type are `UnboundedMap`."""
    return isinstance(kind, MapType) and isinstance(kind.key, OpenDomainType)


def is_unbounded_set(kind: Type) -> bool:
    """Return whether values of a type are `UnboundedSet`."""
    return isinstance(kind, SetType) and isinstance(kind.item, OpenDomainType)


def is_unbounded_sequence(kind: Type) -> bool:
    """Return whether values of a type are `UnboundedSequence`."""
    return isinstance(kind, SeqType) and is_open(kind.capacity)


def is_bit_set(kind: Type) -> bool:
    """Return whether values of a type are `SymbolicSet`."""
    return isinstance(kind, SetType) and kind.capacity is None and not isinstance(kind.item, OpenDomainType)


# Operations on values of one type.


def merged(test: Truth, then: Value, otherwise: Value) -> Value:
    """Return `then if test else otherwise`.

    None is the value of a NeverType, or of a local that is not assigned: the other value is taken.
    """
    if isinstance(test, bool):
        return then if test else otherwise
    if then is otherwise or otherwise is None:
        return then
    if then is None:
        return otherwise
    if isinstance(then, SymbolicInteger):
        return integers.choose(test, then, otherwise)
    if isinstance(then, SymbolicOption):
        return SymbolicOption(choose(test, then.present, otherwise.present), merged(test, then.item, otherwise.item))
    if isinstance(then, SymbolicTuple):
        return SymbolicTuple(tuple(merged(test, a, b) for a, b in zip(then.parts, otherwise.parts, strict=True)))
    if isinstance(then, SymbolicSet):
        return SymbolicSet(tuple(choose(test, a, b) for a, b in zip(then.members, otherwise.members, strict=True)))
    if isinstance(then, UnboundedSequence):
        length = integers.choose(test, then.length, otherwise.length)
        return UnboundedSequence(length, lambda index: merged(test, then.at(index), otherwise.at(index)))
    if isinstance(then, UnboundedMap):
        return UnboundedMap(then.size, lambda key: merged(test, then.at(key), otherwise.at(key)))
    if isinstance(then, UnboundedSet):
        return UnboundedSet(then.size, lambda member: choose(test, then.has(member), otherwise.has(member)))
    if isinstance(then, SymbolicArray):
        assert len(then.items) == len(otherwise.items)
        items = tuple(merged(test, a, b) for a, b in zip(then.items, otherwise.items, strict=True))
        return SymbolicArray(integers.choose(test, then.length, otherwise.length), items)
    return choose(test, then, otherwise)


def equal(one: Value, other: Value) -> Truth:
    """Return whether two values of one type are equal."""
    if one is other:
        return True
    if one is None or other is None:
        return True  # A NeverType's value: an option's `present` or a length decides.
    if isinstance(one, SymbolicInteger):
        return compare("==", one, other)
    if isinstance(one, str):
        return bool(one == other)
    if isinstance(one, SymbolicOption):
        return both(equivalent(one.present, other.present), equal(one.item, other.item))
    if isinstance(one, SymbolicTuple):
        return all_of(equal(a, b) for a, b in zip(one.parts, other.parts, strict=True))
    if isinstance(one, SymbolicSet):
        return all_of(equivalent(a, b) for a, b in zip(one.members, other.members, strict=True))
    if isinstance(one, UnboundedSequence):
        same_items = each_index(one.length, lambda index: equal(one.at(index), other.at(index)))
        return both(compare("==", one.length, other.length), same_items)
    if isinstance(one, UnboundedMap):
        return each_index(one.size, lambda key: equal(one.at(key), other.at(key)))
    if isinstance(one, UnboundedSet):
        return each_index(one.size, lambda member: equivalent(one.has(member), other.has(member)))
    if isinstance(one, SymbolicArray):
        # Unused items are blank on both sides, so the items need no premise about the length.
        same_length = compare("==", one.length, other.length)
        return all_of((same_length, *(equal(a, b) for a, b in zip(one.items, other.items, strict=False))))
    return equivalent(one, other)


def less(one: Value, other: Value) -> Truth:
    """Return whether a value comes before another one in the order of their type.

    Raise SpecError for unbounded values: they have no order here.
    """
    if one is None or other is None:
        return False
    if isinstance(one, (UnboundedSequence, UnboundedMap, UnboundedSet)):
        raise SpecError(
            "a SetOf or Bag with a capacity cannot have items with a sequence, map or set of unbounded size"
        )
    if isinstance(one, SymbolicInteger):
        return compare("<", one, other)
    if isinstance(one, SymbolicOption):
        return _lexicographically_less([one.present, one.item], [other.present, other.item])
    if isinstance(one, SymbolicTuple):
        return _lexicographically_less(list(one.parts), list(other.parts))
    if isinstance(one, SymbolicSet):
        # Bit sets are ordered as binary numbers: the last value of the item type is the highest bit.
        return _lexicographically_less(list(one.members[::-1]), list(other.members[::-1]))
    if isinstance(one, SymbolicArray):
        return _lexicographically_less([one.length, *one.items], [other.length, *other.items])
    return both(negate(one), other)


def _lexicographically_less(ones: list[Value], others: list[Value]) -> Truth:
    result: Truth = False
    for one, other in zip(reversed(ones), reversed(others), strict=False):
        result = either(less(one, other), both(equal(one, other), result))
    return result


# The order of the parts is fixed: substitutions and comparisons pair the parts of two values by position.
def parts_of(value: Value) -> Iterator[Value]:
    """Iterate over the truth values and integers of a value."""
    if value is None:
        return
    if isinstance(value, SymbolicOption):
        yield value.present
        yield from parts_of(value.item)
    elif isinstance(value, SymbolicTuple):
        for part in value.parts:
            yield from parts_of(part)
    elif isinstance(value, SymbolicSet):
        yield from value.members
    elif isinstance(value, SymbolicArray):
        yield value.length
        for item in value.items:
            yield from parts_of(item)
    else:
        yield value


def z3_constants(value: Value) -> list[Term]:
    """Return the Z3 constants of a value made by `new_value`."""
    terms = [part.term if isinstance(part, SymbolicInteger) else part for part in parts_of(value)]
    return [term for term in terms if isinstance(term, z3.ExprRef)]


def same_part(one: Value, other: Value) -> Truth:
    """Return whether two corresponding parts (see `parts_of`) are equal."""
    return compare("==", one, other) if isinstance(one, SymbolicInteger) else equivalent(one, other)


# Quantified indices.


def new_index() -> SymbolicInteger:
    """Return a new variable for an index, to be bound by a quantifier."""
    # A new name per quantifier, so that a nested quantifier does not capture the index of the outer one. The interval
    # is infinite: a finite one would decide comparisons that the quantifier must state.
    return SymbolicInteger(z3.FreshInt("i"), -math.inf, math.inf)


def each_index(length: SymbolicInteger, test: Callable[[SymbolicInteger], Truth]) -> Truth:
    """Return whether a test is true for every index of a sequence of some length."""
    index = new_index()
    return for_all([index.term], implies(is_index(index, length), test(index)))
