"""Shrinking of a failing schedule: removal of steps, then a bounded search for the shortest schedule.

The removal is delta debugging by complements (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing
Input", 2002): chunks are removed, at first half of the schedule and at last single steps, until every step is needed.
The result need not be a shortest schedule. Therefore the native explorer then searches all shorter schedules.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from checker.language.roles import STEP_ROLES, Role
from checker.language.spec import Spec
from checker.run.plan import DEADLOCK, Plan
from checker.run.result import ActionCall, Violation
from traces.replay import replay
from traces.schedule import Calls, Executor, Target, calls_of

MOST_STATES = 5_000_000
"""Default limit for the number of states that the search for the shortest schedule visits."""


NOT_SEARCHED = "no search was requested"
"""Limit of a violation from which steps were only removed."""


@dataclass(frozen=True)
class ShorteningSearch:
    """Result of a search for a shorter schedule: a shorter violation or None.

    `limit` says what stopped the search; it is empty if the search covered all shorter schedules.
    """

    found: Violation | None
    limit: str = ""


@dataclass(frozen=True)
class ShrunkViolation:
    """A shrunk violation.

    Lengths count states: `found_length` is that of the given trace, `reduced_length` that after the removal of steps.
    `limit` says why a shorter trace may exist; it is empty if the trace is known to be a shortest one.
    """

    violation: Violation
    found_length: int
    reduced_length: int
    limit: str = ""

    @property
    def is_shortest(self) -> bool:
        """Whether the trace is known to be a shortest violation of the property."""
        return not self.limit

    @property
    def sentence(self) -> str:
        """One sentence that describes the shrinking."""
        removal = f"shrunk from {self.found_length} states to {self.reduced_length} by removing steps"
        if self.limit == NOT_SEARCHED:
            return f"{removal}; every step left is necessary"
        shortest = "no trace is shorter" if self.is_shortest else f"a shorter one may exist: {self.limit}"
        return f"{removal}, then to {self.violation.length}; {shortest}"


def shrink(spec: Spec, violation: Violation, max_states: int = MOST_STATES) -> ShrunkViolation:
    """Return a violation of the same property with a trace that is as short as possible.

    `max_states` bounds the search for the shortest trace; 0 disables the search, so that steps are only removed. Raises
    InputError if the trace is not one of the spec.
    """
    replay(spec, violation)
    reduced = reduce(spec, violation)
    search = search_shorter(spec, reduced, max_states) if max_states else ShorteningSearch(None, NOT_SEARCHED)
    return ShrunkViolation(search.found or reduced, violation.length, reduced.length, search.limit)


def reduce(spec: Spec, violation: Violation, executor: Executor | None = None) -> Violation:
    """Return a violation by a part of the schedule; no step of this part can be removed.

    `executor` is one for the same target and initial state, with the steps of other violations in its cache.
    """
    executor = executor or Executor(spec, Target.of(violation), violation.trace[0].state)
    calls = executor.violating(_without_detours(spec, violation)) or calls_of(violation)
    size = len(calls) // 2
    while size:
        shorter = _without_a_chunk(executor, calls, size)
        if shorter is not None:
            calls = shorter
        else:
            size //= 2
        size = min(size, len(calls))
    return executor.violated_by(calls) or violation


def _without_a_chunk(executor: Executor, calls: Calls, size: int) -> Calls | None:
    """Return a shorter violating schedule without `size` consecutive steps, or None; the last steps are tried first."""
    for end in range(len(calls), 0, -size):
        shorter = executor.violating(calls[: max(0, end - size)] + calls[end:])
        if shorter is not None and len(shorter) < len(calls):
            return shorter
    return None


def _without_detours(spec: Spec, violation: Violation) -> Calls:
    """Return the schedule without the steps that lead from a state back to the same state.

    The last step of a violated step invariant is the violation itself, so it stays.
    """
    calls, trace = calls_of(violation), violation.trace
    body = len(trace) - 1 if spec.roles.get(violation.property) in STEP_ROLES else len(trace)
    last_seen = {trace[number].state: number for number in range(body)}
    kept: list[ActionCall] = []
    number = 0
    while number < len(calls):
        number = last_seen.get(trace[number].state, number) if number < body else number
        kept += calls[number : number + 1]
        number += 1
    return tuple(kept)


def search_shorter(
    spec: Spec,
    violation: Violation,
    max_states: int,
    actions: Collection[str] | None = None,
    *,
    or_as_short: bool = False,
) -> ShorteningSearch:
    """Search for a shortest trace that violates the same property and is shorter than the given violation.

    `actions` limits the search to schedules of these actions. `or_as_short` also accepts a trace of the same length.
    Raises UserError if the native engine does not support the spec.
    """
    from checker.engines.native.engine import explore

    expands_last_state = violation.property == DEADLOCK or violation.failed_action is not None
    most = violation.length if or_as_short else violation.length - 1
    levels = most + 1 if expands_last_state else most
    if levels < 1:
        return ShorteningSearch(None)
    searched = spec if actions is None or violation.property == DEADLOCK else spec.restrict_to(actions)
    is_property = spec.roles.get(violation.property) in (Role.INVARIANT, *STEP_ROLES)
    names = (violation.property,) if is_property else ()
    plan = Plan(names, max_states=max_states, max_depth=levels, deadlock=violation.property == DEADLOCK)
    result = explore(searched, plan)
    target = Target.of(violation)
    for shorter in result.violations:
        if Target.of(shorter) == target and shorter.length <= most:
            replay(spec, shorter)
            return ShorteningSearch(shorter)
    if result.violations:
        other = result.violations[0]
        return ShorteningSearch(None, f"{other.property} leaves its bounds after {other.length} states")
    if result.ended == "max_states":
        return ShorteningSearch(
            None, f"the search reached its limit of {max_states:,} states, {result.depth} steps deep"
        )
    if result.ended == "interrupted":
        raise KeyboardInterrupt
    return ShorteningSearch(None)
