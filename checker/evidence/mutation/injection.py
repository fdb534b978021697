"""A method with another body, for a while: everything that finds the method finds the mutated one.

The code object of the function is replaced in place, so overriding, `super()` and plain functions that other modules
have imported need no care. The mutated text stands in `linecache` under a name of its own, for the engines read source.
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
    """While this holds, `function` runs the body of `tree`; yields the file name that its text has.

    Not safe where other threads run the function: a mutant is explored in a process of its own.
    """
    original = function.__code__
    file = f"<mutant {next(_numbers)} of {function.__qualname__}>"
    text, code = _compiled(tree, file, original)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    function.__code__ = code
    try:
        yield file
    finally:
        function.__code__ = original
        del linecache.cache[file]


def _compiled(tree: ast.FunctionDef, file: str, original: CodeType) -> tuple[str, CodeType]:
    """Return the text of a definition and its code object, which has the free variables of the original one."""
    body = list(tree.body)
    if original.co_freevars:
        # A function keeps its closure: what the mutation no longer names is named where it is never run.
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
