"""Calls that are watched: what a method returned, from which `return`, and with which locals."""

from __future__ import annotations

import ast
import builtins
import copy
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, TypeVar

from checker.language.source import source_of

Node = TypeVar("Node", bound=ast.AST)


@dataclass
class EvaluationScope:
    """The names that an expression of a method may use, with their values."""

    function: Callable[..., Any]
    names: dict[str, Any]
    bindings: dict[str, Any] = field(default_factory=dict)
    """The variables of the comprehensions around the expression, the outermost first."""
    aliases: dict[str, ast.expr] = field(default_factory=dict)
    """What the first caller calls the parameters of a helper: a reader knows its words, and not the helper's."""

    def binding(self, found: dict[str, Any]) -> EvaluationScope:
        """Return the scope inside a comprehension or a loop that has these variables."""
        return EvaluationScope(self.function, self.names, self.bindings | found, self.aliases)

    def text(self, node: ast.AST) -> str:
        """Return the text of a part of the method, in the words of the first caller."""
        return ast.unparse(self.in_callers_words(node))

    def in_callers_words(self, node: Node) -> Node:
        """Return a copy of a part of the method with the aliases in it."""
        renamed: Node = _Renamer(self.aliases).visit(copy.deepcopy(node))
        return renamed

    def evaluate(self, node: ast.expr) -> Any:
        """Return the value of an expression of the method."""
        # Everything is passed as globals: a comprehension inside `eval` cannot see its locals.
        names = {**self.function.__globals__, "super": self._super, **self.names, **self.bindings}
        code = compile(ast.Expression(ast.fix_missing_locations(node)), "<explanation>", "eval")
        return eval(code, names)

    def _super(self) -> Any:
        """Stand in for `super()`, which finds its class only inside a method."""
        index = self.function.__code__.co_freevars.index("__class__")
        assert self.function.__closure__ is not None
        return builtins.super(self.function.__closure__[index].cell_contents, self.names["self"])


class _Renamer(ast.NodeTransformer):
    def __init__(self, aliases: dict[str, ast.expr]):
        self._aliases = aliases

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._aliases.get(node.id, node)


@dataclass(frozen=True)
class ReturnedCall:
    """How a call ended: its value, the scope at its end, and the statement that returned, if one did."""

    value: Any
    scope: EvaluationScope
    statement: ast.Return | None
    tree: ast.FunctionDef


def watched_call(
    function: Callable[..., Any], arguments: tuple[Any, ...], aliases: dict[str, ast.expr] | None = None
) -> ReturnedCall:
    """Call a plain function (a method with its `self`) and return how the call ended; raise what it raises."""
    ends: list[tuple[dict[str, Any], int]] = []

    def trace_lines(frame: FrameType, event: str, _: Any) -> Any:
        if event == "return":
            ends.append((dict(frame.f_locals), frame.f_lineno))
        return trace_lines

    def trace_calls(frame: FrameType, event: str, _: Any) -> Any:
        return trace_lines if event == "call" and frame.f_code is function.__code__ else None

    previous = sys.gettrace()
    sys.settrace(trace_calls)
    try:
        value = function(*arguments)
    finally:
        sys.settrace(previous)
    names, line = ends[-1]
    tree = source_of(function).tree
    return ReturnedCall(value, EvaluationScope(function, names, aliases=aliases or {}), _return_at(tree, line), tree)


def _return_at(tree: ast.FunctionDef, line: int) -> ast.Return | None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Return) and node.lineno <= line <= (node.end_lineno or node.lineno):
            return node
    return None
