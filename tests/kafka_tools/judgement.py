"""What two validations of a trace must agree on: one that forgets finished records, and one that keeps them all."""

from typing import Any

from traces.validate.controls import controls_of
from traces.validate.events import RecordedTrace
from traces.validate.task import RunningValidation
from traces.validate.verdict import TraceVerdict


def judgement(outcome: TraceVerdict, unchecked: tuple[str, ...] = ()) -> tuple[Any, ...]:
    """Return the verdict, its line, the violations of checked invariants with their lines, the counts, the limits."""
    line = None if outcome.rejection is None else outcome.rejection.line
    violated = {name: first for name, first in outcome.violated.items() if name not in unchecked}
    return outcome.verdict, line, violated, outcome.steps, outcome.seen, outcome.skipped, outcome.limits


def rejected_after_forgetting(
    windowed: RunningValidation, whole: RunningValidation, recorded: RecordedTrace, tried: int
) -> int:
    """Check that altered copies of a trace are judged alike; return how many are rejected after records are forgotten.

    `tried` is the number of copies.
    """
    rejected = 0
    for control in controls_of(windowed.mapping, recorded, tried, seed=1):
        here = windowed.outcome(control.recorded)
        rejected += here.verdict == "rejected" and here.forgotten > 0
        assert judgement(here) == judgement(whole.outcome(control.recorded), here.unchecked), control.change
    return rejected
