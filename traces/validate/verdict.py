"""What validation says of a trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from checker.language.interpreter import State

Verdict = Literal["conforms", "rejected", "undecided", "unreadable"]
"""`undecided`: no candidate is left, but some were given up because of a limit. `unreadable`: the input is wrong."""

Limit = Literal["candidates", "silent", "bounds"]
"""What keeps a trace from being decided: too many candidates or silent steps in a row, a step beyond a bound."""


@dataclass(frozen=True)
class RejectionReason:
    """Why a step was not possible, and in how many of the candidates that were looked at.

    `kind`: the state differs from what was `seen`, a value left its `bounds`, a `guard` is false, or there is no
    instance with these `arguments`. `part` is the expression or the guard alone, without values.
    """

    step: str
    kind: Literal["seen", "bounds", "guard", "arguments"]
    part: str
    text: str
    count: int


@dataclass(frozen=True)
class Rejection:
    """The first event that no candidate explains; `candidates` are all there were before it, `shown` the first few."""

    line: int
    event: str
    found: Mapping[str, Any]
    candidates: int
    shown: tuple[State, ...]
    reasons: tuple[RejectionReason, ...]

    @property
    def cause(self) -> str:
        """What traces are clustered by: the event and the part that failed most tellingly."""
        if not self.reasons:
            return self.event
        first = self.reasons[0]
        return f"{self.event}: {first.step.partition('(')[0]}: {first.part}"


@dataclass
class TraceVerdict:
    """What was found out about one trace.

    `total` counts the events, `steps` and `seen` those explained, as steps or observations, `skipped` others by name,
    `widest` the most candidates at a time. `violated`: invariants that are false in every candidate, with the line
    after which they first are. `message` says what is wrong with an unreadable one.
    """

    name: str
    file: str
    total: int = 0
    verdict: Verdict = "conforms"
    constants: Mapping[str, int | bool | str] = field(default_factory=dict)
    steps: int = 0
    seen: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    blank: int = 0
    widest: int = 0
    limits: frozenset[Limit] = frozenset()
    rejection: Rejection | None = None
    violated: dict[str, int] = field(default_factory=dict)
    message: str = ""
