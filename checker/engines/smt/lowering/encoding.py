"""Encoding of values: constants, new Z3 constants, their well-formedness, and decoding of models."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import z3

from checker.engines.smt.lowering import integers
from checker.engines.smt.lowering.integers import Bound, SymbolicInteger, compare, concrete
from checker.engines.smt.lowering.logic import Term, Truth, all_of, any_of, both, either, for_all, implies, negate
from checker.engines.smt.lowering.open_bounds import bounds_of, fits, open_number, within_open_bound
from checker.engines.smt.lowering.symbolic_values import (
    SymbolicArray,
    SymbolicOption,
    SymbolicSet,
    SymbolicTuple,
    UnboundedMap,
    UnboundedSequence,
    UnboundedSet,
    Value,
    equal,
    is_bit_set,
    is_unbounded_map,
    is_unbounded_sequence,
    is_unbounded_set,
    less,
    merged,
    new_index,
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
    OpenDomainType,
    OptionType,
    SeqType,
    SetType,
    StructType,
    Type,
    UnionType,
)


def constant(kind: Type, value: Any) -> Value:
    """Return a value of the interpreter as a symbolic one."""
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
    if isinstance(kind, UnionType):
        position = kind.position_of(value)
        assert position is not None
        return alternative(kind, position, constant(kind.alternatives[position], value))
    if isinstance(kind, MapType):
        return SymbolicTuple(tuple(constant(kind.value, item) for item in value.items_in_order()))
    if is_unbounded_set(kind):
        assert isinstance(kind, SetType)
        members = [constant(kind.item, item) for item in value]
        return UnboundedSet(size_of(kind.item), lambda one: any_of(compare("==", one, other) for other in members))
    if is_bit_set(kind):
        assert isinstance(kind, SetType)
        present = set(value)
        return SymbolicSet(tuple(item in present for item in kind.item.values()))
    assert isinstance(kind, (SetType, SeqType, BagType)) and kind.capacity is not None
    items = [constant(kind.item, item) for item in value]
    if is_unbounded_sequence(kind):
        return UnboundedSequence(concrete(len(items)), lambda index: _pick(items, index, kind.item))
    blanks = [blank(kind.item)] * (kind.capacity - len(items))
    return SymbolicArray(concrete(len(items)), (*items, *blanks))


def alternative(kind: UnionType, position: int, value: Value) -> SymbolicTuple:
    """Return the value of the alternative at a position as a value of the union."""
    others = [blank(other) for other in kind.alternatives]
    return SymbolicTuple((concrete(position), *others[:position], value, *others[position + 1 :]))


def _pick(items: list[Value], index: SymbolicInteger, kind: Type) -> Value:
    result = blank(kind)
    for position, item in enumerate(items):
        result = merged(compare("==", index, concrete(position)), item, result)
    return result


def blank(kind: Type) -> Value:
    """Return the value of unused parts: the first value of a type."""
    if isinstance(kind, NeverType):
        return None
    if isinstance(kind, IntType):
        # Blank values obey the intervals too, so an integer is blank at its lower bound.
        return concrete(0 if kind.low is None or is_open(kind.low) else kind.low)
    if isinstance(kind, (EnumType, DomainType)):
        return concrete(0)
    if isinstance(kind, OptionType):
        return SymbolicOption(False, blank(kind.item))
    if isinstance(kind, StructType):
        return SymbolicTuple(tuple(blank(field) for _, field in kind.fields))
    if isinstance(kind, UnionType):
        return alternative(kind, 0, blank(kind.alternatives[0]))
    if is_unbounded_map(kind):
        assert isinstance(kind, MapType)
        value = blank(kind.value)
        return UnboundedMap(size_of(kind.key), lambda key: value)
    if isinstance(kind, MapType):
        return SymbolicTuple((blank(kind.value),) * kind.key.cardinality())
    if isinstance(kind, BoolType):
        return False
    if is_unbounded_set(kind):
        assert isinstance(kind, SetType)
        return UnboundedSet(size_of(kind.item), lambda member: False)
    if is_bit_set(kind):
        assert isinstance(kind, SetType)
        return SymbolicSet((False,) * kind.item.cardinality())
    assert isinstance(kind, (SetType, SeqType, BagType)) and kind.capacity is not None
    if is_unbounded_sequence(kind):
        return UnboundedSequence(concrete(0), lambda index: blank(kind.item))
    return SymbolicArray(concrete(0), (blank(kind.item),) * kind.capacity)


def size_of(kind: Type) -> SymbolicInteger:
    """Return the number of members of a Domain of open size."""
    size = open_number(kind.cardinality())
    assert size is not None
    return size


Indices = tuple[SymbolicInteger, ...]
"""The keys of unbounded maps and the positions in unbounded sequences around a part of a value, outermost first."""


def new_value(kind: Type, name: str, indices: Indices = ()) -> Value:
    """Return a value of new Z3 constants with names that begin with `name`.

    For a variable `x` the names are: `x.field` of a struct, `x[i]` of a map or sequence, `x?` and `x!` for the presence
    and the item of an option, `x#` for a length, `x@` for the position of the alternative of a union, `x{i}` for
    membership of value i. The parts of the items of an unbounded value are functions of their index instead: `x[]` of a
    map or sequence, `x{}` of a set.

    The constants can have more values than the type: `well_formed` restricts them.
    """
    if isinstance(kind, NeverType):
        return None
    if isinstance(kind, BoolType):
        return _new_truth(name, indices)
    if isinstance(kind, IntType):
        return _new_integer(name, *bounds_of(kind), indices)
    if isinstance(kind, (EnumType, DomainType)):
        return _new_integer(name, 0, math.inf if isinstance(kind, OpenDomainType) else kind.cardinality() - 1, indices)
    if isinstance(kind, OptionType):
        return SymbolicOption(_new_truth(f"{name}?", indices), new_value(kind.item, f"{name}!", indices))
    if isinstance(kind, StructType):
        return SymbolicTuple(tuple(new_value(field, f"{name}.{part}", indices) for part, field in kind.fields))
    if isinstance(kind, UnionType):
        tag = _new_integer(f"{name}@", 0, len(kind.alternatives) - 1, indices)
        return SymbolicTuple((tag, *(new_value(part, f"{name}.{part}", indices) for part in kind.alternatives)))
    if is_unbounded_map(kind):
        assert isinstance(kind, MapType)
        return UnboundedMap(size_of(kind.key), lambda key: new_value(kind.value, f"{name}[]", (*indices, key)))
    if isinstance(kind, MapType):
        keys = range(kind.key.cardinality())
        return SymbolicTuple(tuple(new_value(kind.value, f"{name}[{i}]", indices) for i in keys))
    if is_unbounded_set(kind):
        assert isinstance(kind, SetType)
        return UnboundedSet(size_of(kind.item), lambda member: _new_truth(f"{name}{{}}", (*indices, member)))
    if is_bit_set(kind):
        assert isinstance(kind, SetType)
        members = range(kind.item.cardinality())
        return SymbolicSet(tuple(_new_truth(f"{name}{{{i}}}", indices) for i in members))
    assert isinstance(kind, (SetType, SeqType, BagType)) and kind.capacity is not None
    if is_unbounded_sequence(kind):
        length = _new_integer(f"{name}#", 0, math.inf, indices)
        return UnboundedSequence(length, lambda index: new_value(kind.item, f"{name}[]", (*indices, index)))
    length = _new_integer(f"{name}#", 0, kind.capacity, indices)
    return SymbolicArray(length, tuple(new_value(kind.item, f"{name}[{i}]", indices) for i in range(kind.capacity)))


def _new_truth(name: str, indices: Indices) -> Truth:
    return _apply(z3.Bool(name), indices)


def _new_integer(name: str, low: Bound, high: Bound, indices: Indices) -> SymbolicInteger:
    made = integers.new_integer(name, low, high)
    return made if made.is_concrete else SymbolicInteger(_apply(made.term, indices), low, high)


def _apply(constant: Term, indices: Indices) -> Term:
    """Return a constant, or the uninterpreted function with its name and sort applied to indices."""
    if not indices:
        return constant
    function = z3.Function(constant.decl().name(), *[z3.IntSort()] * len(indices), constant.sort())
    return function(*map(integers.as_integer, indices))


def well_formed(kind: Type, value: Value) -> Truth:
    """Return whether a value made by `new_value` is the canonical form of a value of the type."""
    if isinstance(value, SymbolicInteger):
        below = within_open_bound(value, kind) if isinstance(kind, IntType) else True
        if isinstance(kind, OpenDomainType):
            below = compare("<", value, size_of(kind))
        return both(integers.is_well_formed(value), below)
    if isinstance(value, UnboundedSequence):
        return _well_formed_unbounded(kind, value)
    if isinstance(value, UnboundedMap):
        assert isinstance(kind, MapType)
        key = new_index()
        # Values of numbers that are no members are unconstrained, so they may be assumed to be well formed, too.
        return for_all([key.term], well_formed(kind.value, value.at(key)))
    if isinstance(value, UnboundedSet):
        return True
    if isinstance(kind, OptionType):
        if isinstance(kind.item, NeverType):
            return negate(value.present)
        # None has one encoding: otherwise two absent options with different items would not be equal.
        rest = either(value.present, equal(value.item, blank(kind.item)))
        return both(well_formed(kind.item, value.item), rest)
    if isinstance(kind, StructType):
        return all_of(well_formed(field, part) for (_, field), part in zip(kind.fields, value.parts, strict=True))
    if isinstance(kind, UnionType):
        tag, *parts = value.parts
        conditions = [integers.is_well_formed(tag)]
        for position, (part, part_kind) in enumerate(zip(parts, kind.alternatives, strict=True)):
            is_this = compare("==", tag, concrete(position))
            conditions += [well_formed(part_kind, part), either(is_this, equal(part, blank(part_kind)))]
        return all_of(conditions)
    if isinstance(kind, MapType):
        return all_of(well_formed(kind.value, part) for part in value.parts)
    if isinstance(kind, (SetType, SeqType, BagType)) and not is_bit_set(kind):
        return _well_formed_array(kind, value)
    return True


def _well_formed_array(kind: SetType | SeqType | BagType, value: SymbolicArray) -> Truth:
    """Return whether used items are well formed, unused items blank, and those of sets and bags in ascending order.

    The items of a set ascend strictly, so no item occurs twice.
    """
    unused, conditions = blank(kind.item), [integers.is_well_formed(value.length)]
    for position, item in enumerate(value.items):
        is_used = compare("<", concrete(position), value.length)
        conditions += [well_formed(kind.item, item), either(is_used, equal(item, unused))]
        if position and not isinstance(kind, SeqType):
            before = value.items[position - 1]
            # The item before a used item is used, so one premise covers both.
            in_order = less(before, item)
            if isinstance(kind, BagType):
                in_order = negate(less(item, before))
            conditions.append(implies(is_used, in_order))
    return all_of(conditions)


def _well_formed_unbounded(kind: Type, value: UnboundedSequence) -> Truth:
    assert isinstance(kind, SeqType)
    index = new_index()
    # Items outside the sequence are unconstrained, so they may be assumed to be well formed: the quantifier needs no
    # premise about the index.
    items = for_all([index.term], well_formed(kind.item, value.at(index)))
    return all_of((integers.is_well_formed(value.length), fits(value.length, kind), items))


# Decoding.


def decoded(kind: Type, value: Value, evaluate: Callable[[Term], Term]) -> Any:
    """Return a symbolic value as a value of the interpreter; `evaluate` maps a Z3 expression to its value."""
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
    if isinstance(kind, UnionType):
        position = number_in(value.parts[0], evaluate)
        return decoded(kind.alternatives[position], value.parts[1 + position], evaluate)
    if isinstance(kind, MapType):
        return kind.made(tuple(decoded(kind.value, part, evaluate) for part in value.parts))
    if is_bit_set(kind):
        assert isinstance(kind, SetType)
        items = zip(kind.item.values(), value.members, strict=True)
        return kind.coerce({item for item, member in items if _truth(member, evaluate)})
    assert isinstance(kind, (SetType, SeqType, BagType))
    used = value.items[: number_in(value.length, evaluate)]
    members = [decoded(kind.item, item, evaluate) for item in used]
    return kind.coerce(set(members) if isinstance(kind, SetType) else members)


def _truth(truth: Truth, evaluate: Callable[[Term], Term]) -> bool:
    return truth if isinstance(truth, bool) else z3.is_true(evaluate(truth))


def number_in(number: SymbolicInteger, evaluate: Callable[[Term], Term]) -> int:
    """Return the value of an integer."""
    if isinstance(number.term, int):
        return number.term
    value = evaluate(number.term)
    if isinstance(value, z3.BitVecNumRef):
        # The sort of a bit-vector has no sign: the interval decides how the bits are read.
        return int(value.as_signed_long() if number.low < 0 else value.as_long())
    return int(value.as_long())
