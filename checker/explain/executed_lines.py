"""Source of the functions that an action instance calls, with the executed lines marked."""

from __future__ import annotations

import ast
import contextlib
import functools
import linecache
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from checker.errors import BoundsError, Disabled, SpecError
from checker.explain.returned_calls import calls_traced
from checker.language.error_location import source_files
from checker.language.interpreter import State
from checker.language.spec import Spec

_MOST_FUNCTIONS = 12
"""Limit on the functions of one step: the action and the helpers that it calls first."""


@dataclass(frozen=True)
class SourceLine:
    """A line of a function and whether it was executed."""

    number: int
    text: str
    is_executed: bool


@dataclass(frozen=True)
class ExecutedFunction:
    """A called function of the spec: file name, qualified name, and lines without decorators and docstring."""

    file: str
    title: str
    lines: tuple[SourceLine, ...]


def executed(spec: Spec, state: State, action: str, arguments: tuple[Any, ...]) -> tuple[ExecutedFunction, ...]:
    """Return the functions that an action instance calls in a state, in the order of their first call.

    If the instance is disabled or leaves the bounds of a type, the lines after that point are not marked.
    """
    tracer = _LineTracer(_roots(type(spec)))
    with calls_traced(tracer.on_call), contextlib.suppress(Disabled, BoundsError, SpecError):
        spec.step(state, action, *arguments)
    return tuple(tracer.listings())


def evaluated(spec: Spec, name: str, state: State, old: State | None) -> tuple[ExecutedFunction, ...]:
    """Return the functions that a property calls in a state or, if `old` is given, for the step from `old` to it."""
    tracer = _LineTracer(_roots(type(spec)))
    with calls_traced(tracer.on_call), contextlib.suppress(Disabled, BoundsError, SpecError):
        spec.holds(name, state, old)
    return tuple(tracer.listings())


class _LineTracer:
    """Records the executed lines and the called functions in files below the folders `roots`."""

    def __init__(self, roots: tuple[str, ...]) -> None:
        self._roots = roots
        self._lines: dict[str, set[int]] = {}
        self._called: dict[CodeType, None] = {}

    def listings(self) -> Iterator[ExecutedFunction]:
        """Iterate over the called functions, in the order of their first call."""
        shown = 0
        for code in self._called:
            tree = _functions(code.co_filename).get(code.co_firstlineno)
            if tree is not None and shown < _MOST_FUNCTIONS:
                shown += 1
                yield _listing(code.co_filename, code.co_qualname, tree, self._lines.get(code.co_filename, set()))

    def _is_of_spec(self, file: str) -> bool:
        # The folder of a single spec file may contain a virtual environment; its packages are not part of the spec.
        return any(file.startswith(root) and "site-packages" not in file[len(root) :] for root in self._roots)

    def on_call(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        """Record the call of a function of the spec, and trace its lines (see `sys.settrace`)."""
        # Other functions run as well: the garbage collector may call the finalizers of any loaded module.
        if not self._is_of_spec(frame.f_code.co_filename):
            return None
        self._called[frame.f_code] = None
        return self._on_line

    def _on_line(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        if event == "line":
            self._lines.setdefault(frame.f_code.co_filename, set()).add(frame.f_lineno)
        return self._on_line


def _roots(kind: type[Spec]) -> tuple[str, ...]:
    """Return the folders of the top-level packages, or of the single files, of a spec and its bases, with a slash."""
    roots = set()
    for file in source_files(kind):
        folder = Path(file).parent
        while (folder.parent / "__init__.py").is_file():
            folder = folder.parent
        roots.add(f"{folder}{os.sep}")
    return tuple(sorted(roots))


@functools.lru_cache(maxsize=64)
def _functions(file: str) -> dict[int, ast.FunctionDef]:
    """Map the first line of each function of a file, including decorators, to its syntax tree."""
    text = "".join(linecache.getlines(file))
    functions = [node for node in ast.walk(ast.parse(text, file)) if isinstance(node, ast.FunctionDef)]
    return {min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]): node for node in functions}


def _listing(file: str, qualified: str, tree: ast.FunctionDef, ran: set[int]) -> ExecutedFunction:
    body = [node for node in tree.body if not _is_docstring(node)]
    first = body[0].lineno if body else tree.lineno
    spans = list(_spans(body))
    is_run = {line for start, end in spans if ran & set(range(start, end + 1)) for line in range(start, end + 1)}
    numbers = [*range(tree.lineno, _end_of_signature(tree) + 1), *range(first, (tree.end_lineno or first) + 1)]
    texts = {number: linecache.getline(file, number).rstrip("\n") for number in dict.fromkeys(numbers)}
    margin = min((len(text) - len(text.lstrip()) for text in texts.values() if text.strip()), default=0)
    lines = tuple(
        SourceLine(number, text[margin:], number in is_run or number == tree.lineno) for number, text in texts.items()
    )
    return ExecutedFunction(Path(file).name, qualified, lines)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _end_of_signature(tree: ast.FunctionDef) -> int:
    last = max((node.end_lineno or 0 for node in ast.walk(tree.args) if isinstance(node, ast.arg)), default=tree.lineno)
    return max(last, tree.lineno)


def _spans(statements: list[ast.stmt]) -> Iterator[tuple[int, int]]:
    """Iterate over the first and last lines of statements; for `if` and `for`, of the head and of the body apart."""
    for statement in statements:
        match statement:
            case ast.If():
                yield statement.lineno, statement.test.end_lineno or statement.lineno
                yield from _spans([*statement.body, *statement.orelse])
            case ast.For():
                yield statement.lineno, statement.iter.end_lineno or statement.lineno
                yield from _spans([*statement.body, *statement.orelse])
            case _:
                yield statement.lineno, statement.end_lineno or statement.lineno
