"""The cause of a shrunk violation: the property, the part of it that is false, and the actions of the trace."""

from __future__ import annotations

from typing import NamedTuple

from checker.language.spec import Spec
from checker.run.result import Violation
from spark_analysis.report.walk_counts import WalkFailure
from traces.failed_conjunct import false_conjunct
from traces.schedule import calls_of

BOUNDS_ERROR = "bounds_error"


class ViolationCause(NamedTuple):
    """The cause of a violation; `kind` distinguishes a false property from one that cannot be evaluated."""

    property: str
    kind: str
    conjunct: int | None
    actions: tuple[str, ...]


def failure_of(cause: ViolationCause) -> WalkFailure:
    """Return the failure of the walks that have a cause."""
    return WalkFailure(cause.property, cause.kind == BOUNDS_ERROR)


def cause_of(spec: Spec, violation: Violation) -> ViolationCause:
    """Return the cause of a shrunk violation."""
    conjunct = None
    if violation.kind in ("invariant", "step_invariant"):
        old = violation.trace[-2].state if violation.kind == "step_invariant" else None
        conjunct = false_conjunct(spec, violation.property, violation.trace[-1].state, old)
    actions = {call.action for call in calls_of(violation)}
    return ViolationCause(violation.property, violation.kind, conjunct, tuple(sorted(actions)))


def breaker(violation: Violation) -> str:
    """Return the action that violates the property; an empty string for the initial state."""
    calls = calls_of(violation)
    return calls[-1].action if calls else ""
