"""The parts of a node: the nodes in its fields."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from checker.ir import nodes

Node = nodes.Expr | nodes.Stmt | nodes.ForClause | nodes.IfClause | nodes.IntRange

NODES = (nodes.Expr, nodes.Stmt, nodes.ForClause, nodes.IfClause, nodes.IntRange)

_LEAVES = frozenset({"str", "int", "bool", "OneOf", "Type", "IntType", "Site", "Local", "Function"})
"""The first words of the annotations of fields that contain no node. The body of a called helper is not a part."""


def parts_of(node: Node) -> list[Node]:
    """Return the nodes in the fields of a node, not those in these nodes."""
    parts: list[Node] = []
    kind: Any = type(node)
    _collect(_values(kind)(node), parts)
    return parts


def _collect(values: Iterable[object], parts: list[Node]) -> None:
    for value in values:
        if isinstance(value, NODES):
            parts.append(value)
        elif isinstance(value, tuple):
            _collect(value, parts)


@functools.cache
def _values(kind: type[Any]) -> Any:
    """Return a function from a node of a class to the values of the fields that may contain nodes."""
    names = [field.name for field in dataclasses.fields(kind) if re.split(r"\W", str(field.type))[0] not in _LEAVES]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda node: [getattr(node, name) for name in names]
