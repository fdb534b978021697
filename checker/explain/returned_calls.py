"""Traced calls: the value that a method returned, the `return` statement, and the local variables at that point."""

from __future__ import annotations

import ast
import builtins
import copy
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, TypeVar

from checker.language.source import source_of

Node = TypeVar("Node", bound=ast.AST)


@dataclass
class EvaluationScope:
    """The names that an expression of a method can use, with their values."""

    function: Callable[..., Any]
    names: dict[str, Any]
    bindings: dict[str, Any] = field(default_factory=dict)
    """Variables of the comprehensions and loops around the expression, the outermost first."""
    aliases: dict[str, ast.expr] = field(default_factory=dict)
    """Expressions of the outermost caller for the parameters of a helper: explanations use the caller's names."""

    def binding(self, bindings: dict[str, Any]) -> EvaluationScope:
        """Return the scope inside a comprehension or a loop that binds these variables."""
        return EvaluationScope(self.function, self.names, self.bindings | bindings, self.aliases)

    def text(self, node: ast.AST) -> str:
        """Return the source text of a part of the method, with the names of the outermost caller."""
        return ast.unparse(self.in_caller_names(node))

    def in_caller_names(self, node: Node) -> Node:
        """Return a copy of a part of the method in which the aliases replace the parameters."""
        renamed: Node = _AliasReplacer(self.aliases).visit(copy.deepcopy(node))
        return renamed

    def evaluate(self, node: ast.expr) -> Any:
        """Return the value of an expression of the method."""
        # All names are passed as globals, because a comprehension inside `eval` cannot see the locals of `eval`.
        names = {**self.function.__globals__, "super": self._super, **self.names, **self.bindings}
        code = compile(ast.Expression(ast.fix_missing_locations(node)), "<explanation>", "eval")
        return eval(code, names)

    def _super(self) -> Any:
        """Replace `super()`, which without arguments works only inside a method."""
        index = self.function.__code__.co_freevars.index("__class__")
        assert self.function.__closure__ is not None
        return builtins.super(self.function.__closure__[index].cell_contents, self.names["self"])


class _AliasReplacer(ast.NodeTransformer):
    def __init__(self, aliases: dict[str, ast.expr]):
        self._aliases = aliases

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._aliases.get(node.id, node)


@dataclass(frozen=True)
class ReturnedCall:
    """The end of a call: the value, the scope, and the `return` statement (None: the end of the body)."""

    value: Any
    scope: EvaluationScope
    statement: ast.Return | None
    tree: ast.FunctionDef


@contextmanager
def calls_traced(on_call: Callable[[FrameType, str, Any], Any]) -> Iterator[None]:
    """Call `on_call` for every function call inside the `with` block (see `sys.settrace`)."""
    previous = sys.gettrace()
    sys.settrace(on_call)
    try:
        yield
    finally:
        sys.settrace(previous)


def trace_call(
    function: Callable[..., Any], arguments: tuple[Any, ...], aliases: dict[str, ast.expr] | None = None
) -> ReturnedCall:
    """Call a function and return the end of the call; exceptions of the function are passed on.

    `arguments` include the `self` of a method. `aliases` are the caller's expressions for parameters.
    """
    ends: list[tuple[dict[str, Any], int]] = []

    def trace_lines(frame: FrameType, event: str, _: Any) -> Any:
        if event == "return":
            ends.append((dict(frame.f_locals), frame.f_lineno))
        return trace_lines

    def trace_calls(frame: FrameType, event: str, _: Any) -> Any:
        return trace_lines if event == "call" and frame.f_code is function.__code__ else None

    with calls_traced(trace_calls):
        value = function(*arguments)
    names, line = ends[-1]
    tree = source_of(function).tree
    return ReturnedCall(value, EvaluationScope(function, names, aliases=aliases or {}), _return_at(tree, line), tree)


def _return_at(tree: ast.FunctionDef, line: int) -> ast.Return | None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Return) and node.lineno <= line <= (node.end_lineno or node.lineno):
            return node
    return None
