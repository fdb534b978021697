"""Explanations of false properties: the false part of the property, its bound variables and their values."""

from __future__ import annotations

import ast
from typing import Any

from checker.explain.reasons import FailureReason, reason_of_call
from checker.explain.returned_calls import EvaluationScope, trace_call
from checker.language.interpreter import State
from checker.language.messages import message_tree
from checker.language.roles import message_of
from checker.language.spec import Spec
from checker.language.values import show

_SHOW = "__show__"
"""The name of `show` in the evaluation of a property's `says=` text."""


def explain(spec: Spec, name: str, state: State, old: State | None = None) -> str:
    """Return why the property `name` is false in `state`, or for the step from `old` to `state`.

    If the property has a message (`says=...`), that message with its values is the first line. This function
    never raises: if the search for a reason fails, the text reports that.
    """
    function = getattr(type(spec), name)
    with spec.bound():
        arguments = [spec.in_state(part) for part in (state, old) if part is not None]
        try:
            returned = trace_call(function, tuple(arguments))
            reason = reason_of_call(returned, truth=False)
        except Exception as error:
            # An explanation is a convenience: an error in it must not hide the counterexample.
            return f"{name} is false (no explanation: {type(error).__name__}: {error})"
        generic = _sentence(reason)
        words = message_of(function)
        return _says(words, returned.scope, reason.bindings, generic) if words else generic


def explain_with_message(spec: Spec, name: str, state: State, bindings: dict[str, Any], generic: str) -> str:
    """Return the `says=...` text of a property with the values in a state, then the generic explanation.

    `bindings` are the values of the property's parameters. Without a text, returns the generic explanation.
    """
    function = getattr(type(spec), name)
    words = message_of(function)
    if not words:
        return generic
    with spec.bound():
        scope = EvaluationScope(function, {"self": spec.in_state(state)})
        return _says(words, scope, bindings, generic)


def failure_bindings(spec: Spec, name: str, state: State, old: State | None = None) -> dict[str, Any]:
    """Return the variables that a false property bound around its false part, with their values.

    Returns an empty dict if the search for the false part fails.
    """
    with spec.bound():
        arguments = [spec.in_state(part) for part in (state, old) if part is not None]
        try:
            returned = trace_call(getattr(type(spec), name), tuple(arguments))
            return reason_of_call(returned, truth=False).bindings
        except Exception:
            # As in `explain`: an error here must not hide the counterexample.
            return {}


def false_parts(spec: Spec, name: str, state: State, old: State | None = None) -> tuple[str, ...]:
    """Return the source texts of the parts that make a property false, without values.

    Returns an empty tuple if the search for them fails.
    """
    with spec.bound():
        arguments = [spec.in_state(part) for part in (state, old) if part is not None]
        try:
            return reason_of_call(trace_call(getattr(type(spec), name), tuple(arguments)), truth=False).parts
        except Exception:
            # As in `explain`: an error here must not hide the counterexample.
            return ()


def _sentence(reason: FailureReason) -> str:
    bound = ", ".join(f"{name} = {show(value)}" for name, value in reason.bindings.items())
    return f"{bound}: {reason.text}" if bound else reason.text


def _says(words: str, scope: EvaluationScope, bindings: dict[str, Any], generic: str) -> str:
    """Return the `says=` text with its values, then the generic explanation on the next line.

    If the text cannot be evaluated, returns the generic explanation with a note.
    """
    try:
        own = scope.binding(bindings | {_SHOW: show}).evaluate(_format_expression(words))
    except Exception as error:
        return f"{generic} (says= cannot be evaluated: {type(error).__name__}: {error})"
    return f"{own}\n{generic}"


class _ShowValues(ast.NodeTransformer):
    """Makes an f-string print values as traces do: members as their names, booleans as yes and no."""

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.FormattedValue:
        if node.conversion == -1 and node.format_spec is None:
            call = ast.Call(ast.Name(_SHOW, ast.Load()), [node.value], [])
            return ast.copy_location(ast.FormattedValue(call, -1, None), node)
        return node


def _format_expression(words: str) -> Any:
    return _ShowValues().visit(message_tree(words))
