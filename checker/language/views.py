"""The view of a spec: the variables that distinguish its states."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from checker.language.interpreter import Interpreter
from checker.language.roles import Role, is_unchecked
from checker.language.source import source_of


@dataclass(frozen=True)
class View:
    """A view. States that differ only in the variables `left_out` count as one; `kept` has the others.

    `is_checked`: nothing may depend on a variable that is left out.
    """

    name: str
    kept: tuple[str, ...]
    left_out: tuple[str, ...]
    is_checked: bool

    @property
    def sentence(self) -> str:
        """What the view hides."""
        left_out = ", ".join(self.left_out)
        risk = "" if self.is_checked else "; successors and violations that depend on it may be missing"
        return f"view {self.name}: states that differ only in {left_out} count as one{risk}"


def view_of(spec: Interpreter) -> View | None:
    """Return the view of a spec, or None; raise SpecError if it is not a tuple of state variables."""
    names = spec.names_of(Role.VIEW)
    if not names:
        return None
    function = getattr(type(spec), names[0])
    source = source_of(function)
    if len(names) > 1:
        message = f"{names[0]} is a view already: a spec has one view, remove the other with {names[0]} = None"
        raise source_of(getattr(type(spec), names[1])).error(None, message)
    kept = _variables(function, source.tree)
    wrong = next((name for name in kept or () if name not in spec.variables), "")
    if not kept or wrong:
        what = f"{wrong} is not a state variable" if wrong else "a view names the state variables that it keeps"
        raise source.error(source.tree.body[-1], f"{what}: return self.one, self.other")
    left_out = tuple(name for name in spec.variables if name not in kept)
    return View(names[0], kept, left_out, not is_unchecked(function))


def _variables(function: Callable[..., object], tree: ast.FunctionDef) -> tuple[str, ...] | None:
    """Return the attributes of `self` that a method returns; None if it does anything else."""
    is_text = isinstance(tree.body[0], ast.Expr) and isinstance(tree.body[0].value, ast.Constant)
    body = tree.body[1:] if is_text else tree.body
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None or len(tree.args.args) != 1:
        return None
    parts = body[0].value.elts if isinstance(body[0].value, ast.Tuple) else [body[0].value]
    own_name, found = function.__code__.co_varnames[0], []
    for part in parts:
        if not (isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == own_name):
            return None
        found.append(part.attr)
    return tuple(found)
