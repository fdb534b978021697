"""Syntax trees of functions, and locations of declarations, with the line numbers of their files."""

from __future__ import annotations

import ast
import functools
import linecache
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any

from checker.errors import SpecError


@dataclass(frozen=True)
class Source:
    """The syntax tree of a function, and its file."""

    file: str
    tree: ast.FunctionDef

    def error(self, node: ast.AST | None, message: str) -> SpecError:
        """Return a SpecError that points at `node` in this function's file."""
        line = getattr(node, "lineno", self.tree.lineno)
        return SpecError(message, file=self.file, line=line, text=linecache.getline(self.file, line))


@functools.lru_cache(maxsize=256)
def _definitions(file: str, text: str) -> dict[int, ast.FunctionDef]:
    """Map the first line of each function of a file, decorators included, to its tree."""
    found = {}
    for node in ast.walk(ast.parse(text, file)):
        if isinstance(node, ast.FunctionDef):
            # Python counts a function from its first decorator on (`co_firstlineno`), and the tree from `def`.
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found[first] = node
    return found


@functools.lru_cache(maxsize=256)
def _lambdas(file: str, text: str) -> list[ast.Lambda]:
    """Return the lambdas of a file."""
    return [node for node in ast.walk(ast.parse(text, file)) if isinstance(node, ast.Lambda)]


def _lambda_definition(code: CodeType, text: str) -> ast.FunctionDef | None:
    """Return the tree of a lambda as a function that returns its body; None if it is not found in the file's text."""
    # The instructions of a lambda have the positions of its body; those without a column are Python's own.
    spans = [((line, column), (end_line, end)) for line, end_line, column, end in code.co_positions() if end]
    found = [
        node
        for node in _lambdas(code.co_filename, text)
        if node.lineno == code.co_firstlineno
        and all(_start(node.body) <= start and end <= _end(node.body) for start, end in spans)
    ]
    if not found:
        return None
    # A lambda inside another one has the smaller body.
    node = max(found, key=lambda node: _start(node.body))
    body = ast.copy_location(ast.Return(node.body), node.body)
    return ast.copy_location(ast.FunctionDef("lambda", node.args, [body], []), node)


def _start(node: ast.expr) -> tuple[Any, Any]:
    return node.lineno, node.col_offset


def _end(node: ast.expr) -> tuple[Any, Any]:
    return node.end_lineno, node.end_col_offset


def source_of(function: Callable[..., Any]) -> Source:
    """Return the source of a function; raise SpecError if its file cannot be read."""
    code = function.__code__
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    tree = None
    if text and code.co_name == "<lambda>":
        tree = _lambda_definition(code, text)
    elif text:
        tree = _definitions(code.co_filename, text).get(code.co_firstlineno)
    if tree is None:
        raise SpecError(f"the source of {function.__qualname__} cannot be read: write the spec in a file")
    return Source(code.co_filename, tree)


def false_require(error: BaseException) -> str:
    """Return the source of the `require` that raised an error, and its line: `require(self.open) is false (line 7)`."""
    traceback, place = error.__traceback__, None
    while traceback is not None:
        # The innermost frame is `require` itself, and the one before it is the method that calls it.
        if traceback.tb_next is not None:
            place = traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
        traceback = traceback.tb_next
    if place is None:
        return "a require is false"
    file, line = place
    for node in _requires(file, "".join(linecache.getlines(file))):
        if node.lineno <= line <= (node.end_lineno or line):
            return f"{ast.unparse(node)} is false (line {line})"
    return f"a require is false (line {line})"


@functools.lru_cache(maxsize=256)
def _requires(file: str, text: str) -> list[ast.Call]:
    """Return the calls of `require` in a file."""
    calls = [node for node in ast.walk(ast.parse(text, file)) if isinstance(node, ast.Call)]
    return [node for node in calls if isinstance(node.func, ast.Name) and node.func.id == "require"]


def declaration_error(owner: type, name: str, message: str) -> SpecError:
    """Return a SpecError that points at the declaration of an attribute in a class or in one of its bases."""
    for base in owner.__mro__:
        module = sys.modules.get(base.__module__)
        file = getattr(module, "__file__", None)
        if name not in vars(base) or file is None:
            continue
        for node in _class_bodies(file, "".join(linecache.getlines(file))).get(base.__qualname__, ()):
            targets = getattr(node, "targets", ())
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                return SpecError(message, file=file, line=node.lineno, text=linecache.getline(file, node.lineno))
    return SpecError(message)


@functools.lru_cache(maxsize=256)
def _class_bodies(file: str, text: str) -> dict[str, list[ast.stmt]]:
    """Map the name of each class at the top of a file to the statements of its body."""
    return {node.name: node.body for node in ast.parse(text, file).body if isinstance(node, ast.ClassDef)}
