"""Whether an expression always has a value."""

from __future__ import annotations

import dataclasses
from typing import Any

from checker.ir import nodes
from checker.language.type_joins import join
from checker.language.types import IntType, SeqType

_MAY_FAIL = (nodes.IndexOf, nodes.SetRemove, nodes.BagAdd, nodes.SeqInsert, nodes.SeqDelete)


def failing_part(node: Any) -> nodes.Expr | None:
    """Return a part of an expression that may leave a type's bounds, or may have no value; None if it has none.

    The answer errs on the safe side: the part that is returned may have a value in every reachable state.
    """
    waiting, seen = [node], set()
    while waiting:
        expression = waiting.pop()
        if id(expression) in seen:
            continue
        seen.add(id(expression))
        if isinstance(expression, nodes.Expr) and _fails_itself(expression):
            return expression
        if isinstance(expression, (list, tuple)):
            waiting.extend(expression)
        elif dataclasses.is_dataclass(expression) and type(expression).__module__ == nodes.__name__:
            waiting.extend(getattr(expression, field.name) for field in dataclasses.fields(expression))
    return None


def _fails_itself(node: nodes.Expr) -> bool:
    if isinstance(node, nodes.Convert):
        return join(node.base.type, node.type) != node.type
    if isinstance(node, nodes.IndexRead):
        return isinstance(node.base.type, SeqType)
    if isinstance(node, nodes.Arithmetic):
        return node.operator in ("//", "%")
    if isinstance(node, nodes.Fold):
        return node.kind in ("min", "max") and node.default is None
    if isinstance(node, nodes.SeqSlice):
        return any(bound is not None and _may_be_negative(bound) for bound in (node.low, node.high))
    if isinstance(node, nodes.HelperCall):
        return node.function.writes or node.function.requires
    return isinstance(node, _MAY_FAIL)


def _may_be_negative(node: nodes.Expr) -> bool:
    return not isinstance(node.type, IntType) or node.type.low is None or node.type.low < 0
