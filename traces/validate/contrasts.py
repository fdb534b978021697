"""Contrasts: values of a spec and of a log that no state could make equal, so that not the log is at fault.

A number that a mapping compares with a text differs from it in every state. To reject the log for it would accuse the
implementation of a mistake of the mapping.
"""

from __future__ import annotations

import ast
import enum
import functools
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

from checker.errors import InputError, nearest_names
from checker.language.declared_types import Domain, Struct
from checker.language.types import OptionType, UnionType
from checker.language.values import CollectionValue, ItemType, MapValue, TupleValue, show

_LISTS = (CollectionValue, list, tuple, set, frozenset)


def contrasts(value: Any, observed: Any, fields: frozenset[str]) -> Iterator[str]:
    """Iterate over the reasons why no value like this one can equal an observed one, from plain JSON.

    `fields` are those of all structs of the spec: a variable may have one of several structs. None contrasts with
    nothing: an `Option` may be empty, and a log may not know.
    """
    if value is None or observed is None:
        return
    kind, observed_kind = _kind(value), _kind_of_json(observed)
    if kind != observed_kind and not (kind == "a member" and observed_kind == "a text"):
        yield f"{show(value)} is {kind}, and the event's {json.dumps(observed)} is {observed_kind}"
    elif isinstance(value, enum.Enum):
        names = [show(member) for member in type(value)]
        if observed not in names:
            yield f"{json.dumps(observed)} is no {type(value).__name__}: {_nearest(observed, names)}"
    elif isinstance(value, Domain):
        prefix = value.prefix or type(value).__name__.lower()
        if re.fullmatch(re.escape(prefix) + r"[1-9][0-9]*", observed) is None:
            yield f"{json.dumps(observed)} is no {type(value).__name__}: the names are {prefix}1, {prefix}2 and so on"
    elif isinstance(value, Struct):
        own = type(value)._fields
        for name, part in observed.items():
            if name in own:
                yield from contrasts(value.field(name), part, fields)
            elif name not in fields:
                yield f"{type(value).__name__} has no field {name}: {_nearest(name, list(own))}"
    elif isinstance(value, MapValue):
        keys = [*map(show, value.type.key.values())]
        for key, part in observed.items():
            if key in keys:
                yield from contrasts_with(value.type.value, part, fields)
                continue
            first = next(value.type.key.values(), None)
            if first is None or _kind(first) == "a member":
                yield from contrasts(first, key, fields)
            elif isinstance(first, bool) or re.fullmatch("-?[0-9]+", key) is None:
                yield f"{json.dumps(key)} is no key: {_nearest(key, keys)}"
    elif isinstance(value, TupleValue) and len(value) != len(observed):
        yield f"{show(value)} has {len(value)} items, and the event's {json.dumps(observed)} has {len(observed)}"
    elif isinstance(value, (list, tuple)):
        for item, part in zip(value, observed, strict=False):
            yield from contrasts(item, part, fields)
    elif isinstance(value, CollectionValue):
        for part in observed:
            yield from contrasts_with(value.type.item, part, fields)
    elif kind == "a list":
        # All items of a collection are of one type.
        for item in itertools.islice(value, 1):
            for part in observed:
                yield from contrasts(item, part, fields)


def contrasts_with(kind: ItemType, observed: Any, fields: frozenset[str]) -> Iterator[str]:
    """Iterate over the reasons why no value of a type can equal an observed one."""
    kind = kind.item if isinstance(kind, OptionType) else kind
    if not isinstance(kind, UnionType) or not isinstance(observed, dict):
        yield from contrasts(next(kind.values(), None), observed, fields)
        return
    firsts = [each.first() for each in kind.alternatives]
    named = [first for first in firsts if observed.keys() <= set(type(first)._fields)]
    reasons = [[*contrasts(first, observed, fields)] for first in named]
    if not named:
        yield f"no struct of {kind} has the fields {', '.join(observed)}"
    elif all(reasons):
        yield from reasons[0]


def require_comparable(expression: str, value: Any, observed: Any, fields: frozenset[str]) -> None:
    """Raise InputError if a mapping compares an expression with an observed value that it can never have."""
    if callable(value):
        raise InputError(f"the mapping compares {expression}, which is a helper: write {expression}()")
    for contrast in () if _has_several_kinds(expression) else contrasts(value, observed, fields):
        raise InputError(f"the mapping compares {expression} with a value that it never has: {contrast}")


@functools.cache
def _has_several_kinds(expression: str) -> bool:
    """Return whether the values of an expression may be of different kinds in different states."""
    return any(
        isinstance(node, (ast.IfExp, ast.BoolOp))
        or (isinstance(node, ast.Subscript) and isinstance(node.value, (ast.List, ast.Tuple, ast.Dict)))
        or (isinstance(node, ast.Attribute) and node.attr == "get")
        for node in ast.walk(ast.parse(expression.strip(), mode="eval"))
    )


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "a truth value"
        case enum.Enum() | Domain():
            return "a member"
        case int():
            return "an integer"
        case str():
            return "a text"
        case Struct() | MapValue():
            return "an object"
    return "a list" if isinstance(value, _LISTS) else f"a Python {type(value).__name__}"


def _kind_of_json(observed: Any) -> str:
    match observed:
        case bool():
            return "a truth value"
        case int():
            return "an integer"
        case float():
            return "a fraction"
        case str():
            return "a text"
        case dict():
            return "an object"
    return "a list"


def _nearest(name: Any, known: list[str]) -> str:
    near = nearest_names(str(name), known)
    return f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
