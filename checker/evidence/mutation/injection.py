"""Temporary replacement of a method's body by a mutated one.

The code object of the function is replaced in place. So overriding methods, `super()` and functions that other modules
have imported all reach the mutated body. The mutated source is in `linecache` under its own file name, because the
engines read the source of methods.
"""

from __future__ import annotations

import ast
import copy
import itertools
import linecache
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType

_numbers = itertools.count(1)


@contextmanager
def mutated(function: FunctionType, tree: ast.FunctionDef) -> Iterator[str]:
    """Let `function` run the body of `tree` inside the `with` block; yield the file name of the mutated source.

    Not safe if other threads run the function: every mutant is explored in its own process.
    """
    original = function.__code__
    file = f"<mutant {next(_numbers)} of {function.__qualname__}>"
    text, code = _compile(tree, file, original)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    function.__code__ = code
    try:
        yield file
    finally:
        function.__code__ = original
        del linecache.cache[file]


def _compile(tree: ast.FunctionDef, file: str, original: CodeType) -> tuple[str, CodeType]:
    """Return the text of a definition and its code object, which has the free variables of the original code."""
    body = list(tree.body)
    if original.co_freevars:
        # The number of free variables must match the closure of the function. An unreachable statement names all of
        # them, because the mutation may have removed the last use of one.
        names = ast.Tuple([ast.Name(name, ast.Load()) for name in original.co_freevars], ast.Load())
        body.append(ast.If(ast.Constant(False), [ast.Expr(names)], []))
    definition = copy.copy(tree)
    definition.body, definition.decorator_list = body, []
    text = ast.unparse(ast.fix_missing_locations(definition)) + "\n"
    parsed = ast.parse(text, file)
    inner = parsed.body[0]
    assert isinstance(inner, ast.FunctionDef)
    if not original.co_freevars:
        return text, _first_function(compile(parsed, file, "exec"))
    outer = ast.parse(f"def outer({', '.join(original.co_freevars)}):\n    pass", file)
    assert isinstance(outer.body[0], ast.FunctionDef)
    outer.body[0].body = [inner]
    return text, _first_function(_first_function(compile(outer, file, "exec")))


def _first_function(code: CodeType) -> CodeType:
    return next(constant for constant in code.co_consts if isinstance(constant, CodeType))
