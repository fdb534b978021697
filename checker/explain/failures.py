"""Why a property is false, in a sentence: the bindings and the part of it that fail, with the values in it."""

from __future__ import annotations

import ast
from typing import Any

from checker.explain.frames import EvaluationScope, watched_call
from checker.explain.reasons import FailureReason, reason_of_call
from checker.language.interpreter import State
from checker.language.roles import message_of
from checker.language.spec import Spec
from checker.language.values import show

_SHOW = "__show__"
"""The name under which a property's words see `show`."""


def explain(spec: Spec, name: str, state: State, old: State | None = None) -> str:
    """Return why the property `name` is false in `state`, or of the step from `old` to it.

    The property's own words (`says=...`) are used where it has them, filled in with the bindings that fail. An
    explanation never fails: of what cannot be explained it says so.
    """
    function = getattr(type(spec), name)
    with spec.bound():
        arguments = [spec.in_state(part) for part in (state, old) if part is not None]
        try:
            returned = watched_call(function, tuple(arguments))
            reason = reason_of_call(returned, wanted=False)
        except Exception as error:
            # The walk is a convenience: what it cannot follow must not hide the counterexample.
            return f"{name} is false (no explanation: {type(error).__name__}: {error})"
        generic = _sentence(reason)
        words = message_of(function)
        return _says(words, returned.scope, reason, generic) if words else generic


def failure_bindings(spec: Spec, name: str, state: State, old: State | None = None) -> dict[str, Any]:
    """Return the variables that a false property bound on the way to the part that fails, with their values.

    Nothing where the way cannot be followed.
    """
    with spec.bound():
        arguments = [spec.in_state(part) for part in (state, old) if part is not None]
        try:
            returned = watched_call(getattr(type(spec), name), tuple(arguments))
            return reason_of_call(returned, wanted=False).bindings
        except Exception:
            # As in `explain`: a convenience that must not hide the counterexample.
            return {}


def _sentence(reason: FailureReason) -> str:
    bound = ", ".join(f"{name} = {show(value)}" for name, value in reason.bindings.items())
    return f"{bound}: {reason.text}" if bound else reason.text


def _says(words: str, scope: EvaluationScope, reason: FailureReason, generic: str) -> str:
    """Return the property's own words and then, on a line of its own, the generic ones; those alone where they fail."""
    try:
        own = scope.binding(reason.bindings | {_SHOW: show}).evaluate(_format_expression(words))
    except Exception as error:
        return f"{generic} (says= cannot be evaluated: {type(error).__name__}: {error})"
    return f"{own}\n{generic}"


class _ShowValues(ast.NodeTransformer):
    """Makes an f-string print values as traces do: members by their names, truth values as yes and no."""

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.FormattedValue:
        if node.conversion == -1 and node.format_spec is None:
            call = ast.Call(ast.Name(_SHOW, ast.Load()), [node.value], [])
            return ast.copy_location(ast.FormattedValue(call, -1, None), node)
        return node


def _format_expression(words: str) -> Any:
    quotes = next(quotes for quotes in ('"""', "'''") if quotes not in words and not words.endswith(quotes[0]))
    tree = ast.parse(f"fr{quotes}{words}{quotes}", mode="eval")
    return _ShowValues().visit(tree.body)
