"""What became of a mutant: killed, by which properties, or survived, and what speaks for which reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from checker.run.result import Result

Status = Literal["killed", "survived", "undecided", "invalid"]

BOUNDS = "bounds"
"""What stands for a property where a mutant is killed by a value that leaves its type's bounds."""


@dataclass(frozen=True)
class MutantRun:
    """What is kept of a result: counts, and for each violated property the states of its counterexample."""

    distinct_states: int
    generated_states: int
    levels: tuple[int, ...]
    coverage: dict[str, tuple[int, int]]
    violated: dict[str, int]
    is_complete: bool


def summary_of(result: Result) -> MutantRun:
    """Return the summary of a result."""
    violated = {
        BOUNDS if violation.kind == "bounds_error" else violation.property: violation.length
        for violation in result.violations
    }
    coverage = {name: (found.generated, found.distinct) for name, found in result.coverage.items()}
    is_complete = result.ended in ("complete", "violation")
    return MutantRun(result.distinct_states, result.generated_states, result.levels, coverage, violated, is_complete)


@dataclass(frozen=True)
class MutantVerdict:
    """A mutant's fate. `why` is one sentence for a survivor, an undecided or an invalid one."""

    status: Status
    killed_by: tuple[str, ...] = ()
    why: str = ""
    found: MutantRun | None = None
    seconds: float = field(default=0.0, compare=False)


def judge(original: MutantRun, found: MutantRun, seconds: float) -> MutantVerdict:
    """Hold a mutant against the original: whatever a property says of one and not of the other kills it."""
    names = dict.fromkeys([*found.violated, *original.violated])
    killed_by = tuple(
        name
        for name in names
        if found.violated.get(name) != original.violated.get(name)
        # What the original violates is missing only where the mutant was explored to its end.
        and (name in found.violated or found.is_complete)
    )
    if killed_by:
        return MutantVerdict("killed", killed_by, "", found, seconds)
    if not found.is_complete:
        why = (
            f"no property is violated in the {found.distinct_states:,} explored states "
            f"(the original has {original.distinct_states:,})"
        )
        return MutantVerdict("undecided", (), why, found, seconds)
    return MutantVerdict("survived", (), _reason(original, found), found, seconds)


def _reason(original: MutantRun, found: MutantRun) -> str:
    if (found.levels, found.coverage) == (original.levels, original.coverage):
        return "the same states and steps: equivalent in this configuration, a larger one may show a difference"
    states = f"{found.distinct_states:,} states instead of {original.distinct_states:,}"
    steps = f"{found.generated_states:,} steps instead of {original.generated_states:,}"
    if found.distinct_states < original.distinct_states:
        return f"{states}: no invariant can detect missing behaviour, but a @reachable could"
    if found.distinct_states > original.distinct_states:
        return f"{states}: no property forbids the additional behaviour"
    if found.generated_states != original.generated_states:
        return f"the same number of states, {steps}"
    return "the same numbers of states and steps, but by other actions or at other depths"
