"""Conversion of values to another type, with the condition under which that type has the value."""

from __future__ import annotations

from checker.engines.smt.lowering import arrays, integers
from checker.engines.smt.lowering.encoding import alternative, blank, constant, size_of
from checker.engines.smt.lowering.integers import SymbolicInteger, compare, concrete
from checker.engines.smt.lowering.logic import Truth, all_of, any_of, both, implies, negate
from checker.engines.smt.lowering.open_bounds import bounds_of, fits, within_open_bound
from checker.engines.smt.lowering.symbolic_values import (
    SymbolicArray,
    SymbolicOption,
    SymbolicSet,
    SymbolicTuple,
    UnboundedMap,
    UnboundedSequence,
    UnboundedSet,
    Value,
    each_index,
    equal,
    is_bit_set,
    is_unbounded_sequence,
    is_unbounded_set,
    merged,
)
from checker.errors import BoundsError
from checker.language.types import (
    BagType,
    IntType,
    MapType,
    NeverType,
    OpenDomainType,
    OptionType,
    SeqType,
    SetType,
    StructType,
    TupleType,
    Type,
    UnionType,
)


def converted(value: Value, source: Type, target: Type) -> tuple[Value, Truth]:
    """Return a value as one of type `target`, and whether that type has it; if not, the result may be any value.

    The caller either records a failure where it has not (`SymbolicContext.check`), or knows that it always has.
    """
    if source == target and not isinstance(source, IntType):
        return value, True
    if isinstance(source, NeverType):
        return blank(target), True
    if isinstance(target, OptionType):
        return _to_option(value, source, target)
    if isinstance(source, OptionType):
        if isinstance(source.item, NeverType):
            return blank(target), False
        inner, has_it = converted(value.item, source.item, target)
        return inner, both(value.present, has_it)
    if isinstance(source, IntType) and isinstance(target, IntType):
        low, high = bounds_of(target)
        has_it = both(integers.is_inside(value, low, high), within_open_bound(value, target))
        return integers.narrowed(value, low, high), has_it
    if isinstance(value, UnboundedMap):
        assert isinstance(source, MapType) and isinstance(target, MapType)
        at, kinds = value.at, (source.value, target.value)
        has_each = each_index(value.size, lambda key: converted(at(key), *kinds)[1])
        return UnboundedMap(value.size, lambda key: converted(at(key), *kinds)[0]), has_each
    if is_unbounded_set(target):
        assert isinstance(source, SetType) and isinstance(target, SetType)
        return _to_unbounded_set(value, source, target)
    if isinstance(source, MapType) and isinstance(target, MapType):
        parts = [converted(part, source.value, target.value) for part in value.parts]
        return SymbolicTuple(tuple(part for part, _ in parts)), all_of(has_it for _, has_it in parts)
    if isinstance(target, UnionType):
        assert isinstance(source, StructType)
        return alternative(target, target.alternatives.index(source), value), True
    if isinstance(source, UnionType):
        assert isinstance(target, StructType)
        position = source.alternatives.index(target)
        return value.parts[1 + position], compare("==", value.parts[0], concrete(position))
    if isinstance(source, TupleType) and isinstance(target, TupleType):
        zipped = zip(value.parts, source.items, target.items, strict=True)
        parts = [converted(part, item, wanted) for part, item, wanted in zipped]
        return SymbolicTuple(tuple(part for part, _ in parts)), all_of(has_it for _, has_it in parts)
    if is_bit_set(source) or is_bit_set(target):
        assert isinstance(source, SetType) and isinstance(target, SetType)
        return _set_converted(value, source, target)
    assert isinstance(source, (SeqType, SetType, BagType)) and type(source) is type(target)
    if is_unbounded_sequence(source) or is_unbounded_sequence(target):
        assert isinstance(source, SeqType) and isinstance(target, SeqType)
        return _convert_unbounded(value, source, target)
    return _array_converted(value, source, target)


def _to_option(value: Value, source: Type, target: OptionType) -> tuple[Value, Truth]:
    if not isinstance(source, OptionType):
        inner, has_it = converted(value, source, target.item)
        return SymbolicOption(True, inner), has_it
    if isinstance(source.item, NeverType):
        return blank(target), True
    # The blank item of None may convert to an item that is not blank: `merged` restores the canonical form.
    inner, has_it = converted(value.item, source.item, target.item)
    return SymbolicOption(value.present, merged(value.present, inner, blank(target.item))), implies(
        value.present, has_it
    )


def _convert_unbounded(
    value: SymbolicArray | UnboundedSequence, source: SeqType, target: SeqType
) -> tuple[Value, Truth]:
    """Convert between sequences of unbounded length and arrays, in either direction."""
    if isinstance(value, SymbolicArray):
        values = list(value.items)
        value = UnboundedSequence(
            value.length, lambda index: arrays.value_at(values, index) if values else blank(source.item)
        )
    at = value.at
    items_fit = source.item == target.item or each_index(
        value.length, lambda index: converted(at(index), source.item, target.item)[1]
    )
    is_convertible = both(items_fit, fits(value.length, target))
    if is_unbounded_sequence(target):
        items = UnboundedSequence(value.length, lambda index: converted(at(index), source.item, target.item)[0])
        return items, is_convertible
    list_items = [
        merged(
            compare("<", concrete(position), value.length),
            converted(at(concrete(position)), source.item, target.item)[0],
            blank(target.item),
        )
        for position in range(target.capacity)
    ]
    return SymbolicArray(integers.narrowed(value.length, 0, target.capacity), tuple(list_items)), is_convertible


def _array_converted(
    value: SymbolicArray, source: SeqType | SetType | BagType, target: SeqType | SetType | BagType
) -> tuple[Value, Truth]:
    assert target.capacity is not None
    conditions: list[Truth] = [compare("<=", value.length, concrete(target.capacity))]
    items, unused = [], blank(target.item)
    for position, item in enumerate(value.items):
        is_used = compare("<", concrete(position), value.length)
        if is_used is False:
            break
        inner, has_it = converted(item, source.item, target.item)
        conditions.append(implies(is_used, has_it))
        if position < target.capacity:
            # The blank values of the two item types can differ, so unused items are blanked again.
            items.append(merged(is_used, inner, unused))
    items += [unused] * (target.capacity - len(items))
    return SymbolicArray(integers.narrowed(value.length, 0, target.capacity), tuple(items)), all_of(conditions)


def _set_converted(value: Value, source: SetType, target: SetType) -> tuple[Value, Truth]:
    if isinstance(value, SymbolicArray):
        return _array_to_bits(value, source, target)
    if not is_bit_set(target):
        return _bits_to_array(value, source, target)
    # Items are matched by value: one value can have different positions in two item types.
    positions = {item: index for index, item in enumerate(target.item.values())}
    members: list[Truth] = [False] * len(positions)
    outside = []
    for item, member in zip(source.item.values(), value.members, strict=True):
        try:
            members[positions[target.item.coerce(item)]] = member
        except BoundsError:
            outside.append(member)
    return SymbolicSet(tuple(members)), negate(any_of(outside))


def _to_unbounded_set(value: SymbolicArray | UnboundedSet, source: SetType, target: SetType) -> tuple[Value, Truth]:
    """Return a set as one of members of a Domain of open size: the item types of both are this Domain, or nothing."""
    if isinstance(value, UnboundedSet):
        return value, True
    items = [] if isinstance(source.item, NeverType) else list(arrays.used(value))
    return UnboundedSet(
        size_of(target.item),
        lambda member: any_of(both(is_used, compare("==", member, item)) for is_used, item in items),
    ), True


def _array_to_bits(value: SymbolicArray, source: SetType, target: SetType) -> tuple[Value, Truth]:
    conditions: list[Truth] = []
    items = []
    for position, item in enumerate(value.items):
        is_used = compare("<", concrete(position), value.length)
        inner, has_it = converted(item, source.item, target.item)
        conditions.append(implies(is_used, has_it))
        items.append((is_used, inner))
    members = [
        any_of(both(is_used, equal(inner, constant(target.item, item))) for is_used, inner in items)
        for item in target.item.values()
    ]
    return SymbolicSet(tuple(members)), all_of(conditions)


def _bits_to_array(value: SymbolicSet, source: SetType, target: SetType) -> tuple[Value, Truth]:
    result = arrays.empty(target)
    conditions: list[Truth] = []
    for item, member in zip(source.item.values(), value.members, strict=True):
        inner, has_it = converted(constant(source.item, item), source.item, target.item)
        has_room = compare("<", result.length, concrete(len(result.items)))
        conditions.append(implies(member, both(has_it, has_room)))
        result = arrays.appended(result, inner, member)
    return result, all_of(conditions)


def value_with_shape(kind: Type, value: Value) -> Value:
    """Return a value of a type with its integers represented as `new_value` represents them."""
    if isinstance(value, SymbolicInteger):
        if isinstance(kind, OpenDomainType):
            return value
        low, high = bounds_of(kind) if isinstance(kind, IntType) else (0, kind.cardinality() - 1)
        return integers.fit_number(value, low, high)
    if isinstance(kind, OptionType):
        return SymbolicOption(value.present, value_with_shape(kind.item, value.item))
    if isinstance(kind, UnionType):
        tag = integers.fit_number(value.parts[0], 0, len(kind.alternatives) - 1)
        zipped = zip(kind.alternatives, value.parts[1:], strict=True)
        return SymbolicTuple((tag, *(value_with_shape(part_kind, part) for part_kind, part in zipped)))
    if isinstance(value, SymbolicTuple):
        kinds = [kind.value] * len(value.parts) if isinstance(kind, MapType) else [k for _, k in kind.fields]  # type: ignore[attr-defined]
        return SymbolicTuple(
            tuple(value_with_shape(part_kind, part) for part_kind, part in zip(kinds, value.parts, strict=True))
        )
    if isinstance(value, SymbolicArray):
        assert isinstance(kind, (SeqType, SetType, BagType)) and kind.capacity == len(value.items)
        length = integers.fit_number(value.length, 0, kind.capacity)
        return SymbolicArray(length, tuple(value_with_shape(kind.item, item) for item in value.items))
    return value
