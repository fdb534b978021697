"""The loop of a lasso on a page: where it begins and returns, and why the fair actions do not help."""

from __future__ import annotations

import re
from dataclasses import dataclass

from checker.output.lasso_text import loop_text
from checker.run.result import Violation


@dataclass(frozen=True)
class SentencePart:
    """A part of a sentence; `step` is the number of the step that it links to, or None."""

    text: str
    step: int | None = None


@dataclass(frozen=True)
class LassoView:
    """The loop of a lasso. `first` and `last` are the numbers of the step that begins it and of the one that closes it.

    They are equal if the system stays in the state. `fairness` has a sentence for each fair action.
    """

    first: int
    last: int
    text: str
    fairness: tuple[tuple[SentencePart, ...], ...]

    @property
    def stays(self) -> bool:
        """Whether no step closes the loop, because the system stays in its last state."""
        return self.first == self.last

    def has(self, number: int) -> bool:
        """Return whether a step belongs to the loop."""
        return self.first <= number <= self.last


def lasso_view(violation: Violation) -> LassoView | None:
    """Return the loop of a counterexample to a liveness property; None for another violation."""
    if violation.loop_start is None:
        return None
    count = len(violation.trace)
    fairness = tuple(_link(sentence, count) for sentence in violation.fairness)
    return LassoView(violation.loop_start + 1, count, loop_text(violation), fairness)


def _link(sentence: str, count: int) -> tuple[SentencePart, ...]:
    """Return a sentence with a link for each `state 9` that is one of `count` states."""
    parts = []
    for text in filter(None, re.split(r"(\bstate \d+)", sentence)):
        number = re.fullmatch(r"state (\d+)", text)
        is_step = number is not None and 1 <= int(number[1]) <= count
        parts.append(SentencePart(text, int(number[1]) if number is not None and is_step else None))
    return tuple(parts)
