"""Conversion of state values to plain JSON and back.

Integers and truth values are JSON numbers and booleans. A member of a domain or enum is its displayed text. An empty
`Option` is null. Structs are objects. Maps are objects with the text of each key. Sequences, sets and bags are arrays.
"""

from __future__ import annotations

from typing import Any

from checker.errors import BoundsError
from checker.language.types import (
    BagType,
    BoolType,
    DomainType,
    EnumType,
    IntType,
    MapType,
    OptionType,
    SeqType,
    SetType,
    StructType,
    TupleType,
    Type,
    UnionType,
)
from checker.language.values import show

Plain = None | bool | int | str | list[Any] | dict[str, Any]


def to_plain_json(kind: Type, value: Any) -> Plain:
    """Return a value of a type as plain JSON."""
    match kind:
        case OptionType():
            return None if value is None else to_plain_json(kind.item, value)
        case UnionType():
            alternative = kind.alternative_of(value)
            return {str(alternative): to_plain_json(alternative, value)}
        case TupleType():
            return [to_plain_json(part, item) for part, item in zip(kind.items, value, strict=True)]
        case StructType():
            return {name: to_plain_json(part, value.field(name)) for name, part in kind.fields}
        case MapType():
            pairs = zip(kind.key.values(), value.items_in_order(), strict=True)
            return {show(key): to_plain_json(kind.value, item) for key, item in pairs}
        case SetType() | SeqType() | BagType():
            return [to_plain_json(kind.item, item) for item in value]
        case DomainType() | EnumType():
            return show(value)
    return value  # type: ignore[no-any-return]


def from_plain_json(kind: Type, plain: Any) -> Any:
    """Return the value of a type that plain JSON describes; raise BoundsError if it describes none."""
    match kind:
        case OptionType():
            return None if plain is None else from_plain_json(kind.item, plain)
        case UnionType():
            named = {str(alternative): alternative for alternative in kind.alternatives}
            if not isinstance(plain, dict) or len(plain) != 1 or next(iter(plain)) not in named:
                raise BoundsError(f"{plain!r} is not a value of {kind}")
            ((name, fields),) = plain.items()
            return from_plain_json(named[name], fields)
        case TupleType():
            items = _array(kind, plain)
            if len(items) != len(kind.items):
                raise BoundsError(f"{plain!r} is not a value of {kind}")
            return kind.coerce(tuple(map(from_plain_json, kind.items, items)))
        case StructType():
            parts = _object(kind, plain, [name for name, _ in kind.fields])
            return kind.coerce(
                kind.declared(**{name: from_plain_json(part, parts[name]) for name, part in kind.fields})
            )
        case MapType():
            keys = list(kind.key.values())
            parts = _object(kind, plain, [show(key) for key in keys])
            return kind.made(tuple(from_plain_json(kind.value, parts[show(key)]) for key in keys))
        case SetType():
            return kind.coerce({from_plain_json(kind.item, item) for item in _array(kind, plain)})
        case SeqType() | BagType():
            return kind.coerce([from_plain_json(kind.item, item) for item in _array(kind, plain)])
        case DomainType() | EnumType():
            return _member(kind, plain)
        case BoolType() | IntType():
            return kind.coerce(plain)
    raise AssertionError(f"a {kind} cannot be part of a state")


def _object(kind: Type, plain: Any, keys: list[str]) -> dict[str, Any]:
    if not isinstance(plain, dict) or plain.keys() != set(keys):
        raise BoundsError(f"{plain!r} is not a value of {kind}: it needs {', '.join(keys)}")
    return plain


def _array(kind: Type, plain: Any) -> list[Any]:
    if not isinstance(plain, list):
        raise BoundsError(f"{plain!r} is not a value of {kind}")
    return plain


def _member(kind: DomainType | EnumType, plain: Any) -> Any:
    for value in kind.values():
        if show(value) == plain:
            return value
    raise BoundsError(f"{plain} is not a value of {kind}")
