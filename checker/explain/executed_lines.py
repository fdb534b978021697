"""Which lines of a spec's source an action instance executes, as source text with the executed lines marked."""

from __future__ import annotations

import ast
import contextlib
import functools
import linecache
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from checker.errors import BoundsError, Disabled, SpecError
from checker.language.error_location import source_files
from checker.language.interpreter import State
from checker.language.spec import Spec

_MOST_FUNCTIONS = 12
"""How many functions of one step are shown: the action and the helpers that it calls first."""


@dataclass(frozen=True)
class SourceLine:
    """A line of a function and whether it was executed."""

    number: int
    text: str
    is_executed: bool


@dataclass(frozen=True)
class ExecutedFunction:
    """A function of the spec that was called: where it stands, and its lines without decorators and docstring."""

    file: str
    title: str
    lines: tuple[SourceLine, ...]


def executed(spec: Spec, state: State, action: str, arguments: tuple[Any, ...]) -> tuple[ExecutedFunction, ...]:
    """Return the functions that an action instance calls in a state, in the order of their first call.

    An instance that is disabled or leaves its bounds is listed up to the line where that happens.
    """
    watch = _LineWatcher(_roots(type(spec)))
    with watch, contextlib.suppress(Disabled, BoundsError, SpecError):
        spec.step(state, action, *arguments)
    return tuple(watch.listings())


class _LineWatcher:
    """Notes the lines that run in files below some folders, and the functions that are called there."""

    def __init__(self, roots: tuple[str, ...]) -> None:
        self._roots = roots
        self._lines: dict[str, set[int]] = {}
        self._called: dict[CodeType, None] = {}

    def __enter__(self) -> _LineWatcher:
        self._previous = sys.gettrace()
        sys.settrace(self._on_call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._previous)

    def listings(self) -> Iterator[ExecutedFunction]:
        """Iterate over the functions that were called."""
        shown = 0
        for code in self._called:
            tree = _functions(code.co_filename).get(code.co_firstlineno)
            if tree is not None and shown < _MOST_FUNCTIONS:
                shown += 1
                yield _listing(code.co_filename, code.co_qualname, tree, self._lines.get(code.co_filename, set()))

    def _is_of_spec(self, file: str) -> bool:
        # Below a lone file's folder there may be an environment with other people's packages.
        return any(file.startswith(root) and "site-packages" not in file[len(root) :] for root in self._roots)

    def _on_call(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        # Not all that runs is the spec's: the garbage collector may call finalizers of whatever is loaded.
        if not self._is_of_spec(frame.f_code.co_filename):
            return None
        self._called[frame.f_code] = None
        return self._on_line

    def _on_line(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        if event == "line":
            self._lines.setdefault(frame.f_code.co_filename, set()).add(frame.f_lineno)
        return self._on_line


def _roots(kind: type[Spec]) -> tuple[str, ...]:
    """Return the folders of the packages, or of the lone files, of a spec and its bases, each with its slash."""
    roots = set()
    for file in source_files(kind):
        folder = Path(file).parent
        while (folder.parent / "__init__.py").is_file():
            folder = folder.parent
        roots.add(f"{folder}{os.sep}")
    return tuple(sorted(roots))


@functools.lru_cache(maxsize=64)
def _functions(file: str) -> dict[int, ast.FunctionDef]:
    """Map the first line of each function of a file, decorators included, to its tree."""
    text = "".join(linecache.getlines(file))
    functions = [node for node in ast.walk(ast.parse(text, file)) if isinstance(node, ast.FunctionDef)]
    return {min([node.lineno, *(found.lineno for found in node.decorator_list)]): node for node in functions}


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
    """Iterate over the first and last line of every statement; of an `if` or `for` only those of its head."""
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
