"""Locations in a spec's source at which exceptions were raised."""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
import sys
from collections.abc import Iterable
from types import ModuleType, TracebackType

from checker.errors import Disabled, SpecError, exception_text
from checker.language.source import node_error
from checker.language.spec import Spec


def source_files(spec: type[Spec]) -> list[str]:
    """Return the files that define a spec and its bases, the oldest base first."""
    files: dict[str, None] = {}
    for base in reversed(spec.__mro__):
        if issubclass(base, Spec) and base is not Spec:
            files[inspect.getfile(base)] = None
    return list(files)


def line_in(files: Iterable[str], traceback: TracebackType | None) -> tuple[str, int] | None:
    """Return the file and line of the innermost frame of a traceback that is in one of the files, or None."""
    innermost = _innermost(files, traceback)
    return None if innermost is None else (innermost.tb_frame.f_code.co_filename, innermost.tb_lineno)


def _innermost(files: Iterable[str], traceback: TracebackType | None) -> TracebackType | None:
    wanted, innermost = set(files), None
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename in wanted:
            # The traceback goes from the outermost frame inwards, so the last match is the innermost one.
            innermost = traceback
        traceback = traceback.tb_next
    return innermost


def with_location(error: BaseException, files: Iterable[str]) -> SpecError:
    """Return an exception of a spec's code as a SpecError with the file and line where it was raised."""
    place = _innermost(files, error.__traceback__)
    if isinstance(error, SpecError):
        if error.file is not None or place is None:
            return error
        message = error.message
    elif isinstance(error, Disabled):
        message = "require(...) is for actions: a property or constraint returns a bool"
    else:
        message = f"{exception_text(error)}{_missing_import(error)}"
    if place is None:
        return SpecError(message)
    return node_error(place.tb_frame.f_code.co_filename, _node_at(place), message)


def _missing_import(error: BaseException) -> str:
    """Return what to write where a name of the language is not imported; "" for every other exception."""
    language = sys.modules["checker.language"]
    if isinstance(error, NameError) and error.name in language.__all__:
        return f": write `from checker.language import {error.name}` at the top of the file"
    return ""


def _node_at(traceback: TracebackType) -> ast.AST:
    """Return a node with the position of the instruction that a frame of a traceback executes."""
    positions = itertools.islice(traceback.tb_frame.f_code.co_positions(), traceback.tb_lasti // 2, None)
    line, end_line, column, end_column = next(positions, (None, None, None, None))
    if line is None or column is None:
        # The code was compiled without columns.
        return ast.Pass(lineno=traceback.tb_lineno)
    return ast.Pass(lineno=line, end_lineno=end_line, col_offset=column, end_col_offset=end_column)


def assignment_error(module: ModuleType, name: str, message: str) -> SpecError:
    """Return a SpecError that points at the last assignment to a name at the top of a module."""
    file = module.__file__ or ""
    body = ast.parse("".join(linecache.getlines(file))).body
    assignments = [node for node in body if isinstance(node, ast.Assign) and name in map(ast.unparse, node.targets)]
    return node_error(file, assignments[-1].targets[0], message) if assignments else SpecError(message, file=file)
