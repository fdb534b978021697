"""Verdicts on mutants: killed, by which properties, or survived, and the likely cause."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from checker.printable import quantity
from checker.run.result import Result

Status = Literal["killed", "survived", "equivalent", "undecided", "invalid"]

BOUNDS = "bounds"
"""Name in place of a property if a mutant is killed because a value leaves the bounds of its type."""


@dataclass(frozen=True)
class MutantRun:
    """Summary of an exploration, as far as mutants are compared by it.

    `coverage` maps actions to (generated, distinct), `violated` maps properties to the states of their counterexample.
    """

    distinct_states: int
    generated_states: int
    levels: tuple[int, ...]
    coverage: dict[str, tuple[int, int | None]]
    violated: dict[str, int]
    is_complete: bool


def mutant_run_of(result: Result) -> MutantRun:
    """Return the summary of a mutant's result."""
    violated = {
        BOUNDS if violation.kind == "bounds_error" else violation.property: violation.length
        for violation in result.violations
    }
    coverage = {name: (counts.generated, counts.distinct) for name, counts in result.coverage.items()}
    is_complete = result.ended in ("complete", "violation") and not result.undecided
    return MutantRun(result.distinct_states, result.generated_states, result.levels, coverage, violated, is_complete)


@dataclass(frozen=True)
class MutantVerdict:
    """The verdict on a mutant. `why` is one sentence about a mutant that was not killed."""

    status: Status
    killed_by: tuple[str, ...] = ()
    why: str = ""
    found: MutantRun | None = None
    seconds: float = field(default=0.0, compare=False)


def verdict_of(original: MutantRun, mutant_run: MutantRun, has_same_graph: Callable[[], bool | None]) -> MutantVerdict:
    """Return the verdict on a mutant: a property kills it if its verdict or counterexample length differs.

    `has_same_graph` compares the graphs of both: the initial states, the states, and the steps with their actions and
    arguments. It is called only if the counts are the same, and returns None if a graph is not known completely.
    """
    names = dict.fromkeys([*mutant_run.violated, *original.violated])
    killed_by = tuple(
        name
        for name in names
        if mutant_run.violated.get(name) != original.violated.get(name)
        # If the mutant was not explored completely, a missing violation proves nothing.
        and (name in mutant_run.violated or mutant_run.is_complete)
    )
    if killed_by:
        return MutantVerdict("killed", killed_by, "", mutant_run)
    if not mutant_run.is_complete:
        why = (
            f"no property is violated in the {quantity(mutant_run.distinct_states, 'explored state')} "
            f"(the original has {original.distinct_states:,})"
        )
        return MutantVerdict("undecided", (), why, mutant_run)
    if not _has_same_counts(original, mutant_run):
        return MutantVerdict("survived", (), _difference(original, mutant_run), mutant_run)
    status, why = _GRAPHS[has_same_graph()]
    return MutantVerdict(status, (), why, mutant_run)


_GRAPHS: dict[bool | None, tuple[Status, str]] = {
    True: ("equivalent", "the same initial states, states and steps, with the same actions and arguments"),
    False: ("survived", "the same numbers of states and steps, but other states or steps"),
    None: ("undecided", "the same numbers of states and steps; the graphs were not compared completely"),
}
"""The status of a mutant with the counts of the original, and the reason, by whether the graphs are the same."""


def _has_same_counts(original: MutantRun, mutant_run: MutantRun) -> bool:
    return (mutant_run.levels, mutant_run.generated_states, mutant_run.coverage) == (
        original.levels,
        original.generated_states,
        original.coverage,
    )


def _difference(original: MutantRun, mutant_run: MutantRun) -> str:
    states = f"{quantity(mutant_run.distinct_states, 'state')} instead of {original.distinct_states:,}"
    steps = f"{quantity(mutant_run.generated_states, 'step')} instead of {original.generated_states:,}"
    if mutant_run.distinct_states < original.distinct_states:
        return f"{states}: no invariant can detect missing behaviour, but a @reachable could"
    if mutant_run.distinct_states > original.distinct_states:
        return f"{states}: no property forbids the additional behaviour"
    if mutant_run.generated_states != original.generated_states:
        return f"the same number of states, {steps}"
    return "the same numbers of states and steps, but by other actions or at other depths"
