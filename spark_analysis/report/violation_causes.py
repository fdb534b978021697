"""The cause of a violation: the false parts of the property, and the last steps of the walk's own shrunk trace."""

from __future__ import annotations

from typing import NamedTuple

from checker.explain.failures import false_parts
from checker.language.spec import Spec
from checker.run.result import Violation
from spark_analysis.report.walk_counts import WalkFailure
from traces.schedule import Executor, Target, calls_of

BOUNDS_ERROR = "bounds_error"


class ViolationCause(NamedTuple):
    """The cause of a violation; `kind` distinguishes a false property from one that cannot be evaluated.

    `false_parts` are the source texts of the comparisons that decide the property, without values. `breaker` is the
    action that violates it. `last_steps` are the actions that can come directly before that step: the order of steps
    that do not depend on each other makes no other cause.
    """

    property: str
    kind: str
    false_parts: tuple[str, ...]
    last_steps: tuple[str, ...]
    breaker: str


def failure_of(cause: ViolationCause) -> WalkFailure:
    """Return the failure of the walks that have a cause."""
    return WalkFailure(cause.property, cause.kind == BOUNDS_ERROR)


def cause_of(spec: Spec, violation: Violation, executor: Executor | None = None) -> ViolationCause:
    """Return the cause of a shrunk violation; `executor` is one for the same target and initial state."""
    parts: tuple[str, ...] = ()
    if violation.kind in ("invariant", "step_invariant"):
        old = violation.trace[-2].state if violation.kind == "step_invariant" else None
        parts = false_parts(spec, violation.property, violation.trace[-1].state, old)
    executor = executor or Executor(spec, Target.of(violation), violation.trace[0].state)
    calls = calls_of(violation)
    last_steps = set()
    for at, call in enumerate(calls[:-1]):
        moved = (*calls[:at], *calls[at + 1 : -1], call, calls[-1])
        if moved == calls or executor.violating(moved) == moved:
            last_steps.add(call.action)
    breaker = calls[-1].action if calls else ""
    return ViolationCause(violation.property, violation.kind, parts, tuple(sorted(last_steps)), breaker)
