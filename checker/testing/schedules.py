"""Schedules of specs in tests: steps written as text, and states with chosen values."""

from __future__ import annotations

import re
from typing import Any

from checker.errors import Disabled
from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.language.values import MapValue

_WORD = re.compile(r"(?:[^\s({\[<]|\([^)]*\)|\{[^}]*\}|\[[^]]*\]|<[^>]*>)+")
"""A word of a call: spaces in brackets belong to it."""

_NAMED = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)")


def play(spec: Spec, *calls: str, state: State | None = None) -> State:
    """Take steps and return the last state.

    A call such as `become_follower b2 0` consists of an action and its arguments, separated by spaces; an argument of
    digits is a number. An argument may be named, as in `accept b1 quorum={a1, a2}`. The first step starts in `state`
    (default: the initial state; the spec must have exactly one).

    Raises Disabled if a step is not enabled, BoundsError if it leaves the bounds of a type, SpecError for an unknown
    action or argument.
    """
    if state is None:
        (state,) = spec.initial_states()
    for call in calls:
        action, *words = _WORD.findall(call)
        parts = [_NAMED.fullmatch(word) for word in words]
        positional = [_argument(word) for word, part in zip(words, parts, strict=True) if part is None]
        named = {part["name"]: _argument(part["value"]) for part in parts if part is not None}
        state = spec.step(state, action, *positional, **named)
    return state


def _argument(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def is_enabled(spec: Spec, state: State, call: str) -> bool:
    """Return whether a step, written as in `play`, is enabled in a state."""
    try:
        play(spec, call, state=state)
    except Disabled:
        return False
    return True


def state_with(spec: Spec, **variables: Any) -> State:
    """Return the initial state with other values for some variables; the state need not be reachable.

    For a map, a dict replaces only the values of its keys.

    Raises BoundsError if a value is not of its variable's type.
    """
    (state,) = spec.initial_states()
    values = dict(state.values)
    with spec.bound():
        for name, value in variables.items():
            value_before = values[name]
            if isinstance(value_before, MapValue) and isinstance(value, dict):
                value = dict(zip(value_before.type.key.values(), value_before.items_in_order(), strict=True)) | value
            values[name] = value
    return spec.state_of(values)
