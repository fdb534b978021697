"""The verdict of validation on a trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from checker.language.interpreter import State

Verdict = Literal["conforms", "rejected", "undecided", "unreadable"]
"""`undecided`: no candidate is left, but a limit removed some. `unreadable`: the input is wrong."""

Limit = Literal["candidates", "silent", "bounds", "window"]
"""What prevents a decision: numbers of candidates and silent steps, bounds of a type or guard, records in a model."""


@dataclass(frozen=True)
class RejectionReason:
    """The reason why a step was not possible, and the number of examined candidates with this reason.

    `kind`: the state differs from the observation (`seen`), a value left its `bounds`, a `guard` is false, or no
    instance has these `arguments`. `part` is the expression or the guard alone, without values.
    """

    step: str
    kind: Literal["seen", "bounds", "guard", "arguments"]
    part: str
    text: str
    count: int


@dataclass(frozen=True)
class Rejection:
    """The first event that no candidate explains; `candidates` is their number before it, `shown` are the first few."""

    line: int
    event: str
    found: Mapping[str, Any]
    candidates: int
    shown: tuple[State, ...]
    reasons: tuple[RejectionReason, ...]

    @property
    def cause(self) -> str:
        """The key of clusters: the event, and the failed part of the attempt that got furthest."""
        if not self.reasons:
            return self.event
        first = self.reasons[0]
        return f"{self.event}: {first.step.partition('(')[0]}: {first.part}"


@dataclass
class TraceVerdict:
    """The verdict on one trace.

    `total` counts all events, `steps` and `seen` those explained as steps and as observations, `skipped` the skipped
    ones by name. `widest` is the largest number of candidates at a time. `violated` are the invariants that are false
    in every candidate, with the line after which they first are. `unchecked` are the invariants that cannot be checked
    without finished records; `forgotten` is the number of these, and `first_offset` the offset that is 0 in the states.
    `message` describes the error in an unreadable trace, or the verdict on an undecided one with larger constants.
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
    unchecked: tuple[str, ...] = ()
    forgotten: int = 0
    first_offset: int = 0
    message: str = ""
