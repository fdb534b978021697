"""Analysis of the typed program: properties of expressions and functions that decide how they are lowered."""

from __future__ import annotations

from checker.engines.native.lowering.state_layout import layout_of
from checker.ir import nodes
from checker.language.types import BoolType, IntType, MapType, OptionType, Type

MOST_CHEAP = 8
"""`and` and `or` of operands that cost at most this are evaluated without branches. Unit: about one instruction."""

TOO_MUCH = 100
"""The cost of an expression that is never cheap."""


def is_state_place(node: nodes.Expr) -> bool:
    """Return whether an expression names a part of the state, which has an address, and not a computed value."""
    while isinstance(node, (nodes.FieldRead, nodes.IndexRead)) or is_unwrapping(node):
        node = node.base  # type: ignore[attr-defined]
    return isinstance(node, nodes.StateRead)


def is_unwrapping(node: nodes.Expr) -> bool:
    """Return whether an expression is the item of an option: a conversion from `Option(T)` to `T`."""
    return (
        isinstance(node, nodes.Convert) and isinstance(node.base.type, OptionType) and node.base.type.item == node.type
    )


def returns_only_at_end(function: nodes.Function) -> bool:
    """Return whether a function's only `return` is its last statement, with a value."""
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
    """Return the locals that are assigned more than once, and therefore need memory."""
    counts: dict[nodes.Local, int] = dict.fromkeys(parameters, 1)
    _count_assignments(body, counts)
    return frozenset(local for local, count in counts.items() if count > 1)


def _count_assignments(statements: tuple[nodes.Stmt, ...], counts: dict[nodes.Local, int]) -> None:
    """Add the assignments in some statements to the counts of their locals."""
    for statement in statements:
        if isinstance(statement, nodes.AssignLocal):
            counts[statement.local] = counts.get(statement.local, 0) + 1
        elif isinstance(statement, nodes.If):
            _count_assignments(statement.then, counts)
            _count_assignments(statement.otherwise, counts)
        elif isinstance(statement, nodes.For):
            # A loop counts as one assignment: its locals get their values at the start of each iteration only.
            for local in (statement.clause.local, statement.clause.counter):
                if local is not None:
                    counts[local] = counts.get(local, 0) + 1
            _count_assignments(statement.body, counts)


def is_cheap(node: nodes.Expr) -> bool:
    """Return whether an expression is cheaper to evaluate completely than by branches, and cannot leave any bounds."""
    return _cost(node) <= MOST_CHEAP


def _cost(node: nodes.Expr) -> int:
    """Return about how many instructions an expression takes; TOO_MUCH if it may be wide, branch, loop or fail."""
    if isinstance(node, nodes.Literal):
        return 0
    if isinstance(node, (nodes.LocalRead, nodes.StateRead, nodes.ConstantRead)):
        return TOO_MUCH if layout_is_wide(node.type) else 1
    if isinstance(node, nodes.FieldRead):
        return 1 + _cost(node.base) if isinstance(node.base, (nodes.StateRead, nodes.IndexRead)) else TOO_MUCH
    # Only maps: they have an item for every key. The index of a sequence may be outside, which needs a branch.
    if isinstance(node, nodes.IndexRead) and isinstance(node.base.type, MapType):
        if isinstance(node.index, (nodes.LocalRead, nodes.Literal)):
            return 2 if isinstance(node.base, nodes.StateRead) else 2 + _cost(node.base)
        return TOO_MUCH
    if isinstance(node, nodes.Comparison):
        return 1 + _cost(node.left) + _cost(node.right)
    if isinstance(node, nodes.Not):
        return 1 + _cost(node.operand)
    if isinstance(node, nodes.Logical):
        return 1 + sum(_cost(operand) for operand in node.operands)
    if isinstance(node, nodes.Convert):
        # A value of T always fits into Option(T). The conversion back, or between ranges, may fail.
        can_fail = not isinstance(node.type, OptionType) or isinstance(node.base.type, OptionType)
        return TOO_MUCH if can_fail and not isinstance(node.base, nodes.Literal) else 1 + _cost(node.base)
    return TOO_MUCH


def layout_is_wide(kind: Type) -> bool:
    """Return whether values of a type take whole words."""
    return not isinstance(kind, (IntType, BoolType)) and layout_of(kind).is_wide
