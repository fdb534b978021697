"""Symbolic values: what a value of each type is, made of truth values and integers.

| type | symbolic value |
| --- | --- |
| `bool` | a truth value |
| a Range | a `SymbolicInteger` |
| an Enum, a Domain | a `SymbolicInteger`: the member's position |
| Option | `SymbolicOption` |
| a Struct, a Map | `SymbolicTuple`: the fields, the values in the order of the keys |
| SetOf without a capacity | `SymbolicSet`: a truth value for each value of the item type |
| Seq | `SymbolicArray`; `UnboundedSequence` where its capacity is unbounded |
| SetOf with a capacity, Bag | `SymbolicArray` in ascending order |

Every value except an `UnboundedSequence` has one form: unused parts (the inside of None, the places after the last item
of a sequence) hold the first value of the item type. So two values are equal if all their parts are equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import z3

from checker.engines.smt.lowering import integers
from checker.engines.smt.lowering.integers import SymbolicInteger, bounds_of, compare, concrete
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
    truth_term,
)
from checker.language.symbols import is_open
from checker.language.types import (
    BagType,
    BoolType,
    DomainType,
    EnumType,
    IntType,
    MapType,
    NameType,
    NeverType,
    OptionType,
    SeqType,
    SetType,
    StructType,
    Type,
)

Value = Any
"""A truth value, Num, Opt, Tup, Bits, Arr, Long, the name of a constant (str), or None: what a NeverType has."""


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicOption:
    """An option: whether there is a value, and the value."""

    present: Truth
    item: Value


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicTuple:
    """The fields of a struct, or the values of a map."""

    parts: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicSet:
    """A set as the membership of every value of its item type."""

    members: tuple[Truth, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicArray:
    """A length and the items; those from the length on are blank."""

    length: SymbolicInteger
    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class UnboundedSequence:
    """A sequence of any length: the length, and the item at each index; outside the sequence it may be any one."""

    length: SymbolicInteger
    at: Callable[[SymbolicInteger], Value]


def is_unbounded_sequence(kind: Type) -> bool:
    """Say whether values of a type are `UnboundedSequence`."""
    return isinstance(kind, SeqType) and is_open(kind.capacity)


def is_bit_set(kind: Type) -> bool:
    """Say whether values of a type are `SymbolicSet`."""
    return isinstance(kind, SetType) and kind.capacity is None


def constant(kind: Type, value: Any) -> Value:
    """Return a value in the interpreter's form as a symbolic one."""
    if isinstance(kind, BoolType):
        return bool(value)
    if isinstance(kind, IntType):
        return concrete(value)
    if isinstance(kind, DomainType):
        return concrete(value.index)
    if isinstance(kind, EnumType):
        return concrete(list(kind.declared).index(value))
    if isinstance(kind, NameType):
        return value
    if isinstance(kind, OptionType):
        return (
            SymbolicOption(False, blank(kind.item))
            if value is None
            else SymbolicOption(True, constant(kind.item, value))
        )
    if isinstance(kind, StructType):
        return SymbolicTuple(tuple(constant(field, value.field(name)) for name, field in kind.fields))
    if isinstance(kind, MapType):
        return SymbolicTuple(tuple(constant(kind.value, item) for item in value.items_in_order()))
    if is_bit_set(kind):
        assert isinstance(kind, SetType)
        present = set(value)
        return SymbolicSet(tuple(item in present for item in kind.item.values()))
    assert isinstance(kind, (SetType, SeqType, BagType)) and kind.capacity is not None
    items = [constant(kind.item, item) for item in value]
    if is_unbounded_sequence(kind):
        return UnboundedSequence(concrete(len(items)), lambda index: _picked(items, index, kind.item))
    blanks = [blank(kind.item)] * (kind.capacity - len(items))
    return SymbolicArray(concrete(len(items)), (*items, *blanks))


def _picked(items: list[Value], index: SymbolicInteger, kind: Type) -> Value:
    result = blank(kind)
    for position, item in enumerate(items):
        result = merged(compare("==", index, concrete(position)), item, result)
    return result


def blank(kind: Type) -> Value:
    """Return the value of what is not used."""
    if isinstance(kind, NeverType):
        return None
    if isinstance(kind, IntType):
        return concrete(0 if kind.low is None or is_open(kind.low) else kind.low)
    if isinstance(kind, (EnumType, DomainType)):
        return concrete(0)
    if isinstance(kind, OptionType):
        return SymbolicOption(False, blank(kind.item))
    if isinstance(kind, StructType):
        return SymbolicTuple(tuple(blank(field) for _, field in kind.fields))
    if isinstance(kind, MapType):
        return SymbolicTuple((blank(kind.value),) * kind.key.cardinality())
    if isinstance(kind, BoolType):
        return False
    if is_bit_set(kind):
        assert isinstance(kind, SetType)
        return SymbolicSet((False,) * kind.item.cardinality())
    assert isinstance(kind, (SetType, SeqType, BagType)) and kind.capacity is not None
    if is_unbounded_sequence(kind):
        return UnboundedSequence(concrete(0), lambda index: blank(kind.item))
    return SymbolicArray(concrete(0), (blank(kind.item),) * kind.capacity)


def new_value(kind: Type, name: str) -> Value:
    """Return a value of new constants; those that stand for a value of the type are `well_formed`."""
    if isinstance(kind, NeverType):
        return None
    if isinstance(kind, BoolType):
        return z3.Bool(name)
    if isinstance(kind, IntType):
        return integers.new_integer(name, *bounds_of(kind))
    if isinstance(kind, (EnumType, DomainType)):
        return integers.new_integer(name, 0, kind.cardinality() - 1)
    if isinstance(kind, OptionType):
        return SymbolicOption(z3.Bool(f"{name}?"), new_value(kind.item, f"{name}!"))
    if isinstance(kind, StructType):
        return SymbolicTuple(tuple(new_value(field, f"{name}.{part}") for part, field in kind.fields))
    if isinstance(kind, MapType):
        return SymbolicTuple(tuple(new_value(kind.value, f"{name}[{i}]") for i in range(kind.key.cardinality())))
    if is_bit_set(kind):
        assert isinstance(kind, SetType)
        return SymbolicSet(tuple(z3.Bool(f"{name}{{{i}}}") for i in range(kind.item.cardinality())))
    assert isinstance(kind, (SetType, SeqType, BagType)) and kind.capacity is not None
    if is_unbounded_sequence(kind):
        template = new_value(kind.item, f"{name}[]")
        return UnboundedSequence(integers.new_integer(f"{name}#", 0, math.inf), lambda index: _indexed(template, index))
    length = integers.new_integer(f"{name}#", 0, kind.capacity)
    return SymbolicArray(length, tuple(new_value(kind.item, f"{name}[{i}]") for i in range(kind.capacity)))


def _indexed(template: Value, index: SymbolicInteger) -> Value:
    """Return an item of fresh constants with each of them as a function of the index."""
    if isinstance(template, SymbolicOption):
        return SymbolicOption(_indexed(template.present, index), _indexed(template.item, index))
    if isinstance(template, SymbolicTuple):
        return SymbolicTuple(tuple(_indexed(part, index) for part in template.parts))
    if isinstance(template, SymbolicSet):
        return SymbolicSet(tuple(_indexed(member, index) for member in template.members))
    if isinstance(template, SymbolicArray):
        return SymbolicArray(_indexed(template.length, index), tuple(_indexed(item, index) for item in template.items))
    if isinstance(template, SymbolicInteger):
        return (
            template
            if template.is_concrete
            else SymbolicInteger(_applied(template.term, index), template.low, template.high)
        )
    assert not isinstance(template, UnboundedSequence)
    return _applied(template, index) if isinstance(template, z3.ExprRef) else template


def _applied(constant: Term, index: SymbolicInteger) -> Term:
    function = z3.Function(constant.decl().name(), z3.IntSort(), constant.sort())
    return function(integers.as_integer(index))


def well_formed(kind: Type, value: Value) -> Truth:
    """Return whether a value made by `fresh` is one of the type, in its one form."""
    if isinstance(value, SymbolicInteger):
        below = integers.within_open_bound(value, kind) if isinstance(kind, IntType) else True
        return both(integers.is_within(value), below)
    if isinstance(value, UnboundedSequence):
        return _well_formed_long(kind, value)
    if isinstance(kind, OptionType):
        if isinstance(kind.item, NeverType):
            return negate(value.present)
        rest = either(value.present, equal(value.item, blank(kind.item)))
        return both(well_formed(kind.item, value.item), rest)
    if isinstance(kind, StructType):
        return all_of(well_formed(field, part) for (_, field), part in zip(kind.fields, value.parts, strict=True))
    if isinstance(kind, MapType):
        return all_of(well_formed(kind.value, part) for part in value.parts)
    if isinstance(kind, (SetType, SeqType, BagType)) and not is_bit_set(kind):
        return _well_formed_array(kind, value)
    return True


def _well_formed_array(kind: SetType | SeqType | BagType, value: SymbolicArray) -> Truth:
    unused, found = blank(kind.item), [integers.is_within(value.length)]
    for position, item in enumerate(value.items):
        is_used = compare("<", concrete(position), value.length)
        found += [well_formed(kind.item, item), either(is_used, equal(item, unused))]
        if position and not isinstance(kind, SeqType):
            before = value.items[position - 1]
            in_order = less(before, item)
            if isinstance(kind, BagType):
                in_order = negate(less(item, before))
            found.append(implies(is_used, in_order))
    return all_of(found)


def _well_formed_long(kind: Type, value: UnboundedSequence) -> Truth:
    assert isinstance(kind, SeqType)
    index = new_index()
    # What is outside the sequence is nobody's, so it may be taken for well formed too.
    items = for_all([index.term], well_formed(kind.item, value.at(index)))
    return all_of((integers.is_within(value.length), _fits(value.length, kind), items))


def _fits(length: SymbolicInteger, kind: SeqType) -> Truth:
    most = integers.open_number(kind.capacity)
    return True if most is None else compare("<=", length, most)


def new_index() -> SymbolicInteger:
    """Return a new variable for an index."""
    return SymbolicInteger(z3.FreshInt("i"), -math.inf, math.inf)


def each_index(length: SymbolicInteger, test: Callable[[SymbolicInteger], Truth]) -> Truth:
    """Return whether a test is true of every index of a sequence."""
    index = new_index()
    inside = both(compare("<=", concrete(0), index), compare("<", index, length))
    return for_all([index.term], implies(inside, test(index)))


# What values have in common.


def merged(test: Truth, then: Value, otherwise: Value) -> Value:
    """Return `then if test else otherwise`; arrays may be of different capacity."""
    if isinstance(test, bool):
        return then if test else otherwise
    if then is otherwise or otherwise is None:
        return then
    if then is None:
        return otherwise
    if isinstance(then, SymbolicInteger):
        return integers.chosen(test, then, otherwise)
    if isinstance(then, SymbolicOption):
        return SymbolicOption(choose(test, then.present, otherwise.present), merged(test, then.item, otherwise.item))
    if isinstance(then, SymbolicTuple):
        return SymbolicTuple(tuple(merged(test, a, b) for a, b in zip(then.parts, otherwise.parts, strict=True)))
    if isinstance(then, SymbolicSet):
        return SymbolicSet(tuple(choose(test, a, b) for a, b in zip(then.members, otherwise.members, strict=True)))
    if isinstance(then, UnboundedSequence):
        length = integers.chosen(test, then.length, otherwise.length)
        return UnboundedSequence(length, lambda index: merged(test, then.at(index), otherwise.at(index)))
    if isinstance(then, SymbolicArray):
        assert len(then.items) == len(otherwise.items)
        items = tuple(merged(test, a, b) for a, b in zip(then.items, otherwise.items, strict=True))
        return SymbolicArray(integers.chosen(test, then.length, otherwise.length), items)
    return choose(test, then, otherwise)


def equal(one: Value, other: Value) -> Truth:
    """Return whether two values of one type are equal."""
    if one is other:
        return True
    if one is None or other is None:
        return True  # beside it stands an option without a value, or a length of 0
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
    if isinstance(one, SymbolicArray):
        same = compare("==", one.length, other.length)
        return all_of((same, *(equal(a, b) for a, b in zip(one.items, other.items, strict=False))))
    return equivalent(one, other)


def less(one: Value, other: Value) -> Truth:
    """Return whether a value comes before another one of its type."""
    if one is None or other is None:
        return False
    if isinstance(one, SymbolicInteger):
        return compare("<", one, other)
    if isinstance(one, SymbolicOption):
        return _less_in_turn([one.present, one.item], [other.present, other.item])
    if isinstance(one, SymbolicTuple):
        return _less_in_turn(list(one.parts), list(other.parts))
    if isinstance(one, SymbolicSet):
        return _less_in_turn(list(one.members[::-1]), list(other.members[::-1]))
    if isinstance(one, SymbolicArray):
        return _less_in_turn([one.length, *one.items], [other.length, *other.items])
    return both(negate(one), other)


def _less_in_turn(ones: list[Value], others: list[Value]) -> Truth:
    result: Truth = False
    for one, other in zip(reversed(ones), reversed(others), strict=False):
        result = either(less(one, other), both(equal(one, other), result))
    return result


def parts_of(value: Value) -> Iterator[Value]:
    """Iterate over the truth values and numbers that a value is made of."""
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


def term_of(part: Value) -> Term:
    """Return a truth value or number as a Z3 expression; a known number as a Z3 Int."""
    if isinstance(part, SymbolicInteger):
        return z3.IntVal(part.term) if isinstance(part.term, int) else part.term
    return truth_term(part)


def z3_constants(value: Value) -> list[Term]:
    """Return the Z3 constants of a value made by `fresh`."""
    found = [part.term if isinstance(part, SymbolicInteger) else part for part in parts_of(value)]
    return [term for term in found if isinstance(term, z3.ExprRef)]


def same_part(one: Value, other: Value) -> Truth:
    """Return whether two corresponding parts of values of one type are equal."""
    return compare("==", one, other) if isinstance(one, SymbolicInteger) else equivalent(one, other)


# Back to the interpreter's form.


def decoded(kind: Type, value: Value, evaluate: Callable[[Term], Term]) -> Any:
    """Return a value in the interpreter's form; `evaluate` gives each Z3 expression its value."""
    if isinstance(kind, BoolType):
        return _truth(value, evaluate)
    if isinstance(kind, IntType):
        return number_in(value, evaluate)
    if isinstance(kind, (EnumType, DomainType)):
        return list(kind.values())[number_in(value, evaluate)]
    if isinstance(kind, OptionType):
        return decoded(kind.item, value.item, evaluate) if _truth(value.present, evaluate) else None
    if isinstance(kind, StructType):
        parts = zip(kind.fields, value.parts, strict=True)
        return kind.declared.of({name: decoded(field, part, evaluate) for (name, field), part in parts})
    if isinstance(kind, MapType):
        keys = kind.key.values()
        return kind.coerce(
            {key: decoded(kind.value, part, evaluate) for key, part in zip(keys, value.parts, strict=True)}
        )
    if is_bit_set(kind):
        assert isinstance(kind, SetType)
        items = zip(kind.item.values(), value.members, strict=True)
        return kind.coerce({item for item, member in items if _truth(member, evaluate)})
    assert isinstance(kind, (SetType, SeqType, BagType))
    used = value.items[: number_in(value.length, evaluate)]
    found = [decoded(kind.item, item, evaluate) for item in used]
    return kind.coerce(set(found) if isinstance(kind, SetType) else found)


def _truth(truth: Truth, evaluate: Callable[[Term], Term]) -> bool:
    return truth if isinstance(truth, bool) else z3.is_true(evaluate(truth))


def number_in(number: SymbolicInteger, evaluate: Callable[[Term], Term]) -> int:
    """Return the value of a number."""
    if isinstance(number.term, int):
        return number.term
    found = evaluate(number.term)
    if isinstance(found, z3.BitVecNumRef):
        return int(found.as_signed_long() if number.low < 0 else found.as_long())
    return int(found.as_long())
