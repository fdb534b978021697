"""Values of the expressions that a drawing declares, over the parameters of an action and the state before its step."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any

from checker.errors import BoundsError, InputError
from checker.language.drawing import Drawing
from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.language.values import show

_FUNCTIONS = {"len": len, "min": min, "max": max, "sum": sum, "any": any, "all": all, "str": show}


class _Helpers(Mapping[str, Any]):
    """The helpers of a spec in a state, by name."""

    def __init__(self, working: Any) -> None:
        self._working = working

    def __getitem__(self, name: str) -> Any:
        if name.startswith("_") or not callable(getattr(self._working, name, None)):
            raise KeyError(name)
        return getattr(self._working, name)

    def __iter__(self) -> Iterator[str]:
        return (name for name in dir(self._working) if not name.startswith("_"))

    def __len__(self) -> int:
        return len(list(iter(self)))


def evaluate(spec: Spec, expression: str, state: State, given: Mapping[str, Any]) -> Any:
    """Return the value of an expression in a state; call it inside `with spec.bound():`.

    `given` are further names, such as the parameters of an action. Raise BoundsError if a value leaves the bounds of
    its type or is None where it has a field, and InputError if the expression cannot be evaluated in any state.
    """
    working = spec.in_state(state)
    try:
        code, names = _compiled(expression)
        values = {name: getattr(working, name) for name in names if name in spec.variables or name in spec.constants}
        return eval(code, {"__builtins__": {}, **_FUNCTIONS, **values, **given}, _Helpers(working))
    except (NameError, SyntaxError, AttributeError, TypeError) as error:
        if isinstance(error, AttributeError) and error.obj is None:
            # As in a method of a spec: the expression does not fit the state.
            raise BoundsError(str(error)) from None
        raise InputError(f"{spec.name}.draws: {expression} cannot be evaluated: {error}") from None


@functools.lru_cache(maxsize=4096)
def _compiled(expression: str) -> tuple[CodeType, tuple[str, ...]]:
    """Return the code of an expression and the names in it; raise SyntaxError."""
    code = compile(expression, "<drawing>", "eval")
    return code, tuple(dict.fromkeys(_names(code)))


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def evaluate_text(spec: Spec, template: str, state: State, given: Mapping[str, Any]) -> str:
    """Return the text of an f-string of a drawing in a state; call it inside `with spec.bound():`.

    Returns "" if a value of it leaves the bounds of its type: the text does not fit the state.
    """
    try:
        return str(evaluate(spec, f"f{template!r}", state, given))
    except BoundsError:
        return ""


def evaluate_or_none(spec: Spec, expression: str, state: State, given: Mapping[str, Any]) -> Any:
    """Return the value of an expression; None if a value in it leaves the bounds of its type."""
    try:
        return evaluate(spec, expression, state, given)
    except BoundsError:
        return None


def item_text(drawing: Drawing, name: str, item: Any) -> str:
    """Return an item of the collection `name` as the drawing labels it; raise InputError if the label is wrong."""
    label = drawing.item_labels.get(name, "{}")
    if "{}" in label:
        return label.replace("{}", show(item))
    try:
        return label.format(item=item)
    except (AttributeError, KeyError, IndexError, ValueError) as error:
        raise InputError(f"the label {label} of items of {name} cannot be evaluated: {error}") from None
