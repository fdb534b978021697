"""Lemmas that a file gives as text, for example a certificate: the text is translated, and none of it is executed."""

from __future__ import annotations

import ast
from collections.abc import Collection

from checker.engines.smt.lemmas.lemma_source import types_of, with_methods
from checker.errors import InputError
from checker.language.spec import Spec

FUNCTIONS = frozenset({"all", "any", "len", "max", "min", "range", "set"})
"""The functions that a lemma of a text may call, beside the methods of its spec."""

_EXPRESSIONS = (
    ast.BoolOp,
    ast.UnaryOp,
    ast.BinOp,
    ast.Compare,
    ast.Call,
    ast.Attribute,
    ast.Subscript,
    ast.Name,
    ast.Constant,
    ast.Tuple,
    ast.Set,
    ast.GeneratorExp,
    ast.comprehension,
    ast.boolop,
    ast.unaryop,
    ast.operator,
    ast.cmpop,
    ast.expr_context,
)


def with_lemma_text(spec: Spec, text: str) -> Spec:
    """Return a spec with the lemmas of a text, as `with_methods` does for a text that is trusted.

    A lemma is a method `self` alone with the decorator `@lemma`, a new name and one `return` of an expression over
    `self`, the spec's types and `FUNCTIONS`. So defining it executes nothing of the text, and it replaces nothing of
    the spec. Raises InputError for any other text.
    """
    try:
        module = ast.parse(text)
        _require_lemmas(module, {*dir(type(spec))}, {"self", *FUNCTIONS, *types_of(spec)})
        # Written again from the tree, so that what is defined is what was examined.
        return with_methods(spec, ast.unparse(module))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"the text of the found lemmas is not Python: {error}") from None


def _require_lemmas(module: ast.Module, taken: set[str], known: Collection[str]) -> None:
    """Raise InputError if a text has more than lemmas with new names, over known names."""
    for method in module.body:
        if not isinstance(method, ast.FunctionDef) or not _is_lemma(method):
            raise InputError(
                f"line {method.lineno} of the found lemmas is no lemma: @lemma, def name(self), one return"
            )
        if method.name in taken or method.name.startswith("_"):
            raise InputError(f"the found lemma {method.name} has a name that the spec already has, or a hidden one")
        taken.add(method.name)
        _refuse_other_names(method, known)


def _is_lemma(method: ast.FunctionDef) -> bool:
    """Return whether a function has only the parts of a lemma: nothing is evaluated where it is defined."""
    decorators = [getattr(decorator, "id", None) for decorator in method.decorator_list]
    given = method.args
    others = (given.posonlyargs, given.vararg, given.kwonlyargs, given.kw_defaults, given.kwarg, given.defaults)
    is_plain = [(one.arg, one.annotation) for one in given.args] == [("self", None)] and not any(others)
    has_return = len(method.body) == 1 and isinstance(method.body[0], ast.Return) and method.body[0].value is not None
    is_typed = method.returns is not None or bool(getattr(method, "type_params", ()))
    return decorators == ["lemma"] and is_plain and has_return and not is_typed


def _refuse_other_names(method: ast.FunctionDef, known: Collection[str]) -> None:
    """Raise InputError if the expression of a lemma has a name or a form of expression that no lemma needs."""
    (statement,) = method.body
    parts = list(ast.walk(statement))[1:]
    bound = {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    for part in parts:
        if not isinstance(part, (*_EXPRESSIONS, ast.keyword)):
            raise InputError(f"the found lemma {method.name} has a {type(part).__name__}, which no found lemma has")
        name = part.id if isinstance(part, ast.Name) else part.attr if isinstance(part, ast.Attribute) else ""
        is_unknown = isinstance(part, ast.Name) and name not in known and name not in bound
        if is_unknown or name.startswith("_"):
            raise InputError(f"the found lemma {method.name} uses {name}, which is not of the spec")
