"""What the lowering asks about the typed program before it emits code."""

from __future__ import annotations

from checker.engines.native.lowering.state_layout import layout_of
from checker.ir import nodes
from checker.language.types import BoolType, IntType, MapType, OptionType, Type


def stands_in_state(node: nodes.Expr) -> bool:
    """Say whether an expression names a part of the state, rather than a value that is computed."""
    while isinstance(node, (nodes.FieldRead, nodes.IndexRead)) or is_unwrapping(node):
        node = node.base  # type: ignore[attr-defined]
    return isinstance(node, nodes.StateRead)


def is_unwrapping(node: nodes.Expr) -> bool:
    """Say whether an expression is the value inside an option."""
    return (
        isinstance(node, nodes.Convert) and isinstance(node.base.type, OptionType) and node.base.type.item == node.type
    )


def is_direct(function: nodes.Function) -> bool:
    """Say whether a function's only `return` is its last statement."""
    if not function.body or not isinstance(function.body[-1], nodes.Return) or function.body[-1].value is None:
        return False
    return not any(_returns(statement) for statement in function.body[:-1])


def _returns(statement: nodes.Stmt) -> bool:
    if isinstance(statement, nodes.Return):
        return True
    if isinstance(statement, nodes.If):
        return any(_returns(inner) for inner in (*statement.then, *statement.otherwise))
    return isinstance(statement, nodes.For) and any(_returns(inner) for inner in statement.body)


def reassigned_locals(body: tuple[nodes.Stmt, ...], parameters: tuple[nodes.Local, ...]) -> frozenset[nodes.Local]:
    """Return the locals that more than one statement gives a value, and so need memory."""
    counts: dict[nodes.Local, int] = dict.fromkeys(parameters, 1)

    def visit(statements: tuple[nodes.Stmt, ...]) -> None:
        for statement in statements:
            if isinstance(statement, nodes.AssignLocal):
                counts[statement.local] = counts.get(statement.local, 0) + 1
            elif isinstance(statement, nodes.If):
                visit(statement.then)
                visit(statement.otherwise)
            elif isinstance(statement, nodes.For):
                for local in (statement.clause.local, statement.clause.counter):
                    if local is not None:
                        counts[local] = counts.get(local, 0) + 1
                visit(statement.body)

    visit(body)
    return frozenset(local for local, count in counts.items() if count > 1)


def is_cheap(node: nodes.Expr) -> bool:
    """Say whether evaluating all of an expression costs less than branching, and cannot leave any type's bounds."""
    return _cost(node) <= 8


def _cost(node: nodes.Expr) -> int:
    if isinstance(node, nodes.Literal):
        return 0
    if isinstance(node, (nodes.LocalRead, nodes.StateRead)):
        return 100 if layout_is_wide(node.type) else 1
    if isinstance(node, nodes.FieldRead):
        return 1 + _cost(node.base) if isinstance(node.base, (nodes.StateRead, nodes.IndexRead)) else 100
    if isinstance(node, nodes.IndexRead) and isinstance(node.base.type, MapType):
        if isinstance(node.index, (nodes.LocalRead, nodes.Literal)):
            return 2 if isinstance(node.base, nodes.StateRead) else 2 + _cost(node.base)
        return 100
    if isinstance(node, nodes.Comparison):
        return 1 + _cost(node.left) + _cost(node.right)
    if isinstance(node, nodes.Not):
        return 1 + _cost(node.operand)
    if isinstance(node, nodes.Logical):
        return 1 + sum(_cost(operand) for operand in node.operands)
    if isinstance(node, nodes.Convert):
        can_fail = not isinstance(node.type, OptionType) or isinstance(node.base.type, OptionType)
        return 100 if can_fail and not isinstance(node.base, nodes.Literal) else 1 + _cost(node.base)
    return 100


def layout_is_wide(kind: Type) -> bool:
    """Say whether values of a type take whole words."""
    return not isinstance(kind, (IntType, BoolType)) and layout_of(kind).is_wide
