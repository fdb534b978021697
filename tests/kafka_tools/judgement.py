"""What two validations of a trace must agree on."""

from typing import Any

from traces.validate.verdict import TraceVerdict


def judgement(outcome: TraceVerdict, unchecked: tuple[str, ...] = ()) -> tuple[Any, ...]:
    """Return the verdict, its line, the violations of checked invariants with their lines, the counts, the limits."""
    line = None if outcome.rejection is None else outcome.rejection.line
    violated = {name: first for name, first in outcome.violated.items() if name not in unchecked}
    return outcome.verdict, line, violated, outcome.steps, outcome.seen, outcome.skipped, outcome.limits
