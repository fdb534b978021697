"""The names and sentences of the traces that are no violations: random walks, and behaviours that explain a log."""

from __future__ import annotations

import re

from checker.printable import quantity

WALK = "walk"
"""The property name of a walk that violates no property."""

BEHAVIOUR = "one behaviour"
"""The property name of a behaviour that explains a log."""

_ENDINGS = {
    "depth": "{steps} violate no property; the walk reached its depth",
    "deadlock": "after {steps} no action is enabled; no property is violated",
    "constraint": "after {steps} a constraint is false; no property is violated",
}

_WHOLE = "the whole trace"


def walk_sentence(ending: str, steps: int) -> str:
    """Return how a walk without a violation ended, from the column `ending` of its row."""
    return _ENDINGS.get(ending, "").format(steps=quantity(steps, "step"))


def walk_sentences(steps: int) -> list[str]:
    """Return the sentences that a walk of some steps may have."""
    return [walk_sentence(ending, steps) for ending in _ENDINGS]


def behaviour_sentence(last_line: int | None) -> str:
    """Return which part of a log a behaviour explains: up to a line, or the whole log if `last_line` is None."""
    what = _WHOLE if last_line is None else f"the trace up to line {last_line}; no step explains the next event"
    return f"This behaviour explains {what}."


def is_behaviour_sentence(text: str) -> bool:
    """Return whether a text is a sentence of `behaviour_sentence`."""
    match = re.search(r"up to line (\d{1,18});", text)
    return text == behaviour_sentence(int(match[1]) if match else None)
