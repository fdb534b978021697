"""Syntax trees of functions, with the line numbers of their files."""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

from checker.errors import SpecError

MOST_NESTED = 1_500
"""The most levels of a function's syntax tree. The front end, the engines and the explanations recurse over it."""


@dataclass(frozen=True)
class Source:
    """The syntax tree of a function, and its file."""

    file: str
    tree: ast.FunctionDef

    def error(self, node: ast.AST | None, message: str) -> SpecError:
        """Return a SpecError that points at `node` in this function's file."""
        return node_error(self.file, node if hasattr(node, "lineno") else self.tree, message)


def node_error(file: str, node: ast.AST | None, message: str) -> SpecError:
    """Return a SpecError that points at a node of a file's syntax tree."""
    line = getattr(node, "lineno", 1)
    text = linecache.getline(file, line)
    first = _column(text, getattr(node, "col_offset", 0))
    # Of a part of several lines, such as a function, the first line is shown.
    is_one_line = getattr(node, "end_lineno", None) == line
    last = _column(text, getattr(node, "end_col_offset", 0)) if is_one_line else len(text.rstrip()) + 1
    return SpecError(message, file=file, line=line, text=text, columns=(first, last))


def segment(file: str, node: ast.expr) -> str:
    """Return the text of a file between the start and the end of an expression."""
    last = node.end_lineno or node.lineno
    lines = [line.encode() for line in linecache.getlines(file)[node.lineno - 1 : last]]
    if lines:
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
    return b"".join(lines).decode(errors="replace")


def _column(text: str, offset: int) -> int:
    """Return the column, from 1, of an offset in bytes, as syntax trees have it."""
    return len(text.encode()[:offset].decode(errors="replace")) + 1


def line_error(file: str, line: int, message: str) -> SpecError:
    """Return a SpecError that points at a whole line of a file."""
    text = linecache.getline(file, line)
    indent = len(text) - len(text.lstrip())
    return SpecError(message, file=file, line=line, text=text, columns=(indent + 1, len(text.rstrip()) + 1))


def name_error(file: str, line: int, name: str, message: str) -> SpecError:
    """Return a SpecError that points at a name in a line of a file, or at the whole line if it is not in it."""
    text = linecache.getline(file, line)
    match = re.search(rf"\b{re.escape(name)}\b", text)
    if match is None:
        return line_error(file, line, message)
    return SpecError(message, file=file, line=line, text=text, columns=(match.start() + 1, match.end() + 1))


@functools.lru_cache(maxsize=256)
def _definitions(file: str, text: str) -> dict[int, ast.FunctionDef | ast.AsyncFunctionDef]:
    """Map the first line of each function of a file, decorators included, to its tree."""
    definitions = {}
    for node in _statements(ast.parse(text, file)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            # Python counts a function from its first decorator on (`co_firstlineno`), and the tree from `def`.
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            definitions[first] = node
    return definitions


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Iterate over the statements of a file, nested ones included.

    Most nodes of a tree are expressions: `ast.walk` takes several times as long.
    """
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        yield node
        # `except` and `case` are no statements, but have a body.
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, part, ())


@functools.lru_cache(maxsize=256)
def _lambdas(file: str, text: str) -> list[ast.Lambda]:
    """Return the lambdas of a file."""
    return [node for node in ast.walk(ast.parse(text, file)) if isinstance(node, ast.Lambda)]


def _lambda_definition(code: CodeType, text: str) -> ast.FunctionDef | None:
    """Return the tree of a lambda as a function that returns its body; None if it is not found in the file's text."""
    # The instructions of a lambda have the positions of its body; those without a column are Python's own.
    spans = [((line, column), (end_line, end)) for line, end_line, column, end in code.co_positions() if end]
    lambdas = [
        node
        for node in _lambdas(code.co_filename, text)
        if node.lineno == code.co_firstlineno
        and all(_start(node.body) <= start and end <= _end(node.body) for start, end in spans)
    ]
    if not lambdas:
        return None
    # A lambda inside another one has the smaller body.
    node = max(lambdas, key=lambda node: _start(node.body))
    body = ast.copy_location(ast.Return(node.body), node.body)
    return ast.copy_location(ast.FunctionDef("lambda", node.args, [body], []), node)


def _start(node: ast.expr) -> tuple[Any, Any]:
    return node.lineno, node.col_offset


def _end(node: ast.expr) -> tuple[Any, Any]:
    return node.end_lineno, node.end_col_offset


_texts: dict[str, tuple[list[str], str]] = {}
"""The lines of files, as `linecache` returned them, with their text."""


def _text_of(file: str, lines: list[str]) -> str:
    """Return the lines of a file as one text: for the same list the same object, of which the hash is computed once."""
    known = _texts.get(file)
    if known is None or known[0] is not lines:
        known = _texts[file] = lines, "".join(lines)
    return known[1]


def source_of(function: Callable[..., Any]) -> Source:
    """Return the source of a function; raise SpecError if its file cannot be read, or if it is no plain function."""
    code = function.__code__
    file = code.co_filename
    text = _text_of(file, linecache.getlines(file, function.__globals__))
    tree: ast.AST | None = None
    if text and code.co_name == "<lambda>":
        tree = _lambda_definition(code, text)
    elif text:
        tree = _definitions(file, text).get(code.co_firstlineno)
    if isinstance(tree, ast.AsyncFunctionDef):
        raise node_error(file, tree, f"`async def {tree.name}` is not part of the language: write `def {tree.name}`")
    if not isinstance(tree, ast.FunctionDef):
        raise SpecError(f"the source of {function.__qualname__} cannot be read: write the spec in a file")
    deepest = _node_below(tree, MOST_NESTED)
    if deepest is not None:
        raise node_error(
            file,
            deepest,
            f"{function.__qualname__} is nested more than {MOST_NESTED:,} levels deep: split it into helpers",
        )
    return Source(file, tree)


def child_nodes(node: ast.AST) -> list[ast.AST]:
    """Return the nodes that `ast.iter_child_nodes` yields, in less than half of its time."""
    children: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            children.append(value)
        elif isinstance(value, list):
            children += [part for part in value if isinstance(part, ast.AST)]
    return children


def walked(node: ast.AST) -> Iterator[ast.AST]:
    """Iterate over a node and all nodes below it, in the order of `ast.walk`."""
    return itertools.chain.from_iterable(_levels(node))


def _levels(node: ast.AST) -> Iterator[list[ast.AST]]:
    """Iterate over the nodes at each distance from a node, from 0 on."""
    level = [node]
    while level:
        yield level
        level = [child for parent in level for child in child_nodes(parent)]


@functools.lru_cache(maxsize=1 << 12)
def _node_below(tree: ast.FunctionDef, depth: int) -> ast.AST | None:
    """Return a node of a function that is more than `depth` nodes below it, or None."""
    level = next(itertools.islice(_levels(tree), depth + 1, None), None)
    if level is None:
        return None
    return next((node for node in level if hasattr(node, "lineno")), level[0])


def false_require(error: BaseException) -> str:
    """Return the source of the `require` or `choose` that raised an error, and its line.

    Examples: `require(self.open) is false (line 7)`, `self.queue does not have the chosen value (line 7)`.
    """
    traceback, place = error.__traceback__, None
    while traceback is not None:
        # The innermost frame is that of `require` or `choose`, and the one before it is the method that calls it.
        if traceback.tb_next is not None:
            place = traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
        traceback = traceback.tb_next
    if place is None:
        return "a require is false"
    file, line = place
    call = require_at(file, line)
    if call is None and (choice := _call_at(file, line, "choose")) is not None:
        return f"{ast.unparse(choice.args[0])} does not have the chosen value (line {line})"
    return f"{ast.unparse(call) if call is not None else 'a require'} is false (line {line})"


def require_at(file: str, line: int) -> ast.Call | None:
    """Return the call of `require` with an argument at a line of a file, or None."""
    return _call_at(file, line, "require")


def _call_at(file: str, line: int, function: str) -> ast.Call | None:
    for node in _calls(file, "".join(linecache.getlines(file)), function):
        if node.args and node.lineno <= line <= (node.end_lineno or line):
            return node
    return None


@functools.lru_cache(maxsize=256)
def _calls(file: str, text: str, function: str) -> list[ast.Call]:
    """Return the calls of a function in a file."""
    calls = [node for node in ast.walk(ast.parse(text, file)) if isinstance(node, ast.Call)]
    return [node for node in calls if isinstance(node.func, ast.Name) and node.func.id == function]
