"""Types of Python values: of constants, and of names of a module that a spec reads."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from checker.language.declared_types import Domain, Struct
from checker.language.symbols import OpenNumber
from checker.language.type_joins import NONE, NOTHING, join, set_of
from checker.language.types import (
    BoolType,
    EnumType,
    IntType,
    MapType,
    NameType,
    SeqType,
    SetType,
    TupleType,
    Type,
    tuple_type,
)
from checker.language.values import CollectionValue

Resolve = Callable[[Any], Type]
"""Returns the resolved type of a declaration, such as a Domain."""


def value_type(value: Any, resolve: Resolve) -> Type | None:
    """Return the smallest type that has a Python value, or None if the language does not have such values.

    A tuple, a set, a frozenset and a dict have a type if their items have one. A dict must have a value for every key
    of a type: of a Domain, an Enum or bool, or for each integer from its least to its greatest key.
    """
    if value is None:
        return NONE
    # Before the test for int, because a bool is an int in Python.
    if isinstance(value, bool):
        return BoolType()
    if isinstance(value, OpenNumber):
        return IntType(value.least, value, "int")
    if isinstance(value, int):
        return IntType(value, value, "int")
    if isinstance(value, enum.Enum):
        return EnumType(type(value))
    if isinstance(value, str):
        return NameType((value,))
    if isinstance(value, CollectionValue):
        return value.type  # type: ignore[no-any-return]
    if isinstance(value, (Domain, Struct)):
        return resolve(type(value))
    if isinstance(value, tuple):
        return _tuple(value, resolve)
    if isinstance(value, (set, frozenset)):
        item = join_types(value, resolve)
        return None if item is None else set_of(item, len(value)) if value else SetType(NOTHING, 0)
    return _map(value, resolve) if isinstance(value, Mapping) else None


def join_types(values: Iterable[Any], resolve: Resolve) -> Type | None:
    """Return the smallest type that has all values, or None if there is no such type."""
    joined: Type | None = NOTHING
    for value in values:
        kind = value_type(value, resolve)
        joined = None if joined is None or kind is None or isinstance(kind, NameType) else join(joined, kind)
    return joined


def _tuple(value: tuple[Any, ...], resolve: Resolve) -> TupleType | None:
    kinds = [value_type(item, resolve) for item in value]
    return tuple_type([kind for kind in kinds if kind is not None]) if None not in kinds else None


def _map(value: Mapping[Any, Any], resolve: Resolve) -> MapType | None:
    key, item = join_types(value, resolve), join_types(value.values(), resolve)
    is_key = isinstance(key, Type) and not isinstance(key, (SetType, SeqType, MapType, TupleType))
    if not value or key is None or item is None or not is_key or set(value) != set(key.values()):
        return None
    return MapType(key, item)


def sequence_type(kind: TupleType) -> SeqType | None:
    """Return the type of the sequence of a tuple's items, or None if they have no common type."""
    item: Type | None = NOTHING
    for part in kind.items:
        item = None if item is None else join(item, part)
    return None if item is None else SeqType(item, len(kind.items))
