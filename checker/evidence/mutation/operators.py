"""Mutation operators: small changes of a method's syntax tree, each with its line and its description."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

from checker.frontend.statement_typing import unread_locals

STRICTNESS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


@dataclass(frozen=True)
class Mutation:
    """One change of a function: `tree` is the changed definition, `before` and `after` are the changed source texts."""

    operator: str
    line: int
    before: str
    after: str
    tree: ast.FunctionDef

    def __str__(self) -> str:
        return f"{self.operator}: {self.before}" + (f"  ->  {self.after}" if self.after else "")


def mutations(tree: ast.FunctionDef) -> Iterator[Mutation]:
    """Iterate over the mutations of a function, from the top down. Some mutants do not have the right types.

    A local that only the removed code reads gets a name that begins with an underscore: the language allows that a
    function does not read it. Its value is still computed.
    """
    for path, node in _nodes(tree):
        if isinstance(node, ast.stmt):
            yield from _of_statement(tree, path, node)
        elif isinstance(node, ast.expr):
            yield from _of_expression(tree, path, node)


Path = tuple[tuple[str, int | None], ...]
"""The path from a function to a node in it: pairs of a field, and a position if the field is a list."""


def _nodes(tree: ast.FunctionDef) -> Iterator[tuple[Path, ast.AST]]:
    """Iterate over the nodes of a body, outer nodes first, without annotations, decorators and docstrings."""

    def below(node: ast.AST, path: Path) -> Iterator[tuple[Path, ast.AST]]:
        yield path, node
        for field, value in ast.iter_fields(node):
            if field == "annotation":
                continue
            children = enumerate(value) if isinstance(value, list) else [(None, value)]
            for position, child in children:
                if isinstance(child, ast.AST):
                    yield from below(child, (*path, (field, position)))

    for position, statement in enumerate(tree.body):
        if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            yield from below(statement, (("body", position),))


def _change(tree: ast.FunctionDef, path: Path, new: ast.AST) -> ast.FunctionDef:
    result = copy.deepcopy(tree)
    node: ast.AST = result
    for field, position in path[:-1]:
        value = getattr(node, field)
        node = value if position is None else value[position]
    field, position = path[-1]
    if position is None:
        setattr(node, field, new)
    else:
        getattr(node, field)[position] = new
    return result


def _mutation(
    operator: str, tree: ast.FunctionDef, path: Path, node: ast.stmt | ast.expr, new: ast.AST, after: str = ""
) -> Mutation:
    before = ast.unparse(node).split("\n")[0]
    changed = ast.fix_missing_locations(_change(tree, path, ast.copy_location(new, node)))
    _rename_unread(changed)
    return Mutation(operator, node.lineno, before, after or _text(new), changed)


def _rename_unread(tree: ast.FunctionDef) -> None:
    """Put underscores in front of the names of the locals that a function assigns and never reads."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for name in {target.id for target in unread_locals(tree)}:
        new = f"_{name}"
        while new in used:
            new = f"_{new}"
        used.add(new)
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id == name:
                node.id = new


def _text(node: ast.AST) -> str:
    return "" if isinstance(node, ast.Pass) else ast.unparse(node).split("\n")[0]


# Statements.


def _of_statement(tree: ast.FunctionDef, path: Path, node: ast.stmt) -> Iterator[Mutation]:
    if _is_require(node):
        yield _mutation("drop require", tree, path, node, ast.Pass())
    elif _is_state_assignment(node):
        yield _mutation("drop assignment", tree, path, node, ast.Pass())
    elif isinstance(node, ast.Delete):
        yield _mutation("drop deletion", tree, path, node, ast.Pass())
    elif _is_call_statement(node):
        yield _mutation("drop call", tree, path, node, ast.Pass())


def _is_require(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == "require"
    )


def _is_call_statement(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def _is_state_assignment(node: ast.stmt) -> bool:
    """Return whether a statement assigns to a part of the state.

    Assignments to locals are not dropped: a local without a value would only make the mutant invalid.
    """
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
    return any(isinstance(target, (ast.Attribute, ast.Subscript)) for target in targets)


# Expressions.


def _of_expression(tree: ast.FunctionDef, path: Path, node: ast.expr) -> Iterator[Mutation]:
    if isinstance(node, ast.Compare):
        yield from _of_comparison(tree, path, node)
    elif isinstance(node, ast.BoolOp):
        yield from _of_connective(tree, path, node)
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        for shifted in (node.value + 1, node.value - 1):
            if shifted >= 0:
                yield _mutation("shift a literal", tree, path, node, ast.Constant(shifted))
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield _mutation("flip a literal", tree, path, node, ast.Constant(not node.value))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield _mutation("drop a negation", tree, path, node, node.operand)
    elif _is_condition(tree, path) and not isinstance(node, ast.Constant):
        yield _mutation("negate a condition", tree, path, node, ast.UnaryOp(ast.Not(), node))


def _of_comparison(tree: ast.FunctionDef, path: Path, node: ast.Compare) -> Iterator[Mutation]:
    for position, operator in enumerate(node.ops):
        if type(operator) in OPPOSITES:
            opposite = _with_operator(node, position, OPPOSITES[type(operator)]())
            yield _mutation("negate a condition", tree, path, node, opposite)
            continue
        swapped = _with_operator(node, position, STRICTNESS[type(operator)]())
        yield _mutation("swap < and <=", tree, path, node, swapped)
        if len(node.ops) == 1:
            yield _mutation("negate a condition", tree, path, node, ast.UnaryOp(ast.Not(), node))
        if not isinstance(node.comparators[position], ast.Constant):
            yield _mutation("shift a bound", tree, path, node, _shift(node, position))


def _with_operator(node: ast.Compare, position: int, operator: ast.cmpop) -> ast.Compare:
    new = copy.deepcopy(node)
    new.ops[position] = operator
    return new


def _shift(node: ast.Compare, position: int) -> ast.Compare:
    """Return `a < b` as `a < b - 1`, and `a <= b` as `a <= b + 1`.

    The shift in the other direction would be equivalent to swapping < and <=.
    """
    new = copy.deepcopy(node)
    step: ast.operator = ast.Sub() if isinstance(node.ops[position], (ast.Lt, ast.GtE)) else ast.Add()
    new.comparators[position] = ast.BinOp(new.comparators[position], step, ast.Constant(1))
    return new


def _of_connective(tree: ast.FunctionDef, path: Path, node: ast.BoolOp) -> Iterator[Mutation]:
    other: ast.boolop = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield _mutation("swap and and or", tree, path, node, ast.BoolOp(other, node.values))
    for position in range(len(node.values)):
        rest = [value for index, value in enumerate(node.values) if index != position]
        new = rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        yield _mutation("drop an operand", tree, path, node, new)


def _is_condition(tree: ast.FunctionDef, path: Path) -> bool:
    """Return whether the node at a path is the condition of an `if`, a `require` or a conditional expression."""
    field, position = path[-1]
    parent = _node_at(tree, path[:-1])
    if field == "test":
        return isinstance(parent, (ast.If, ast.IfExp))
    is_require = isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id == "require"
    return is_require and field == "args" and position == 0


def _node_at(tree: ast.FunctionDef, path: Path) -> ast.AST:
    node: ast.AST = tree
    for field, position in path:
        value = getattr(node, field)
        node = value if position is None else value[position]
    return node
