"""A failing schedule made short: what is not needed is left out, then a bounded search looks for the shortest.

Leaving out is delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002) by
complements: chunks are removed, of half the schedule first and of single steps at last, until none can go. Its result
is a schedule from which no step can be missed, which need not be a shortest one: for that the native explorer searches
all schedules that are shorter.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from checker.language.roles import Role
from checker.language.spec import Spec
from checker.run.plan import DEADLOCK, Plan
from checker.run.result import ActionCall, Violation
from traces.replay import replay
from traces.schedule import Calls, Executor, Target, calls_of

MOST_STATES = 5_000_000
"""How many states the search for the shortest schedule visits unless said."""


@dataclass(frozen=True)
class ShorteningSearch:
    """What a search for a shorter schedule found: a shorter violation or None, and why it cannot say more.

    `limit` is empty where all shorter schedules were looked at, or else says what stopped the search.
    """

    found: Violation | None
    limit: str = ""


@dataclass(frozen=True)
class ShrunkViolation:
    """A violation made short.

    The lengths are in states: `found_length` of the trace that was given, `reduced_length` of what was left of it.
    `limit` says why it is not known to be a shortest one; it is empty where it is known.
    """

    violation: Violation
    found_length: int
    reduced_length: int
    limit: str = ""

    @property
    def is_shortest(self) -> bool:
        """Whether no shorter trace violates the property."""
        return not self.limit

    @property
    def sentence(self) -> str:
        """What was done, in a sentence."""
        lengths = [self.found_length, self.reduced_length, self.violation.length]
        shortest = "no trace is shorter" if self.is_shortest else f"a shorter one may exist: {self.limit}"
        return f"shrunk from {lengths[0]} states to {lengths[1]} by leaving steps out, to {lengths[2]}; {shortest}"


def shrink(spec: Spec, violation: Violation, max_states: int = MOST_STATES) -> ShrunkViolation:
    """Return a violation of the same property with a trace that is as short as can be.

    `max_states` bounds the search for the shortest; without one (0) steps are only left out. Raises UserError where the
    trace is none of the spec's.
    """
    replay(spec, violation)
    reduced = reduce(spec, violation)
    search = (
        search_shorter(spec, reduced, max_states) if max_states else ShorteningSearch(None, "nothing else was tried")
    )
    return ShrunkViolation(search.found or reduced, violation.length, reduced.length, search.limit)


def reduce(spec: Spec, violation: Violation) -> Violation:
    """Return a violation by a part of the schedule from which no step can be left out."""
    executor = Executor(spec, Target.of(violation), violation.trace[0].state)
    best = _without_detours(executor, violation)
    size = len(calls_of(best)) // 2
    while size:
        shorter = _without_a_chunk(executor, calls_of(best), size)
        if shorter is not None:
            best = shorter
        else:
            size //= 2
        size = min(size, len(calls_of(best)))
    return best


def _without_a_chunk(executor: Executor, calls: Calls, size: int) -> Violation | None:
    """Return a shorter violation with some `size` steps in a row left out, the last ones first."""
    for end in range(len(calls), 0, -size):
        shorter = executor.violated_by(calls[: max(0, end - size)] + calls[end:])
        if shorter is not None and len(calls_of(shorter)) < len(calls):
            return shorter
    return None


def _without_detours(executor: Executor, violation: Violation) -> Violation:
    """Return the violation without the steps that lead from a state back to the same one.

    A step invariant is violated by its last step, which stays.
    """
    calls, trace = calls_of(violation), violation.trace
    body = len(trace) - 1 if executor.spec.roles.get(violation.property) is Role.STEP_INVARIANT else len(trace)
    last_seen = {trace[number].state: number for number in range(body)}
    kept: list[ActionCall] = []
    number = 0
    while number < len(calls):
        number = last_seen.get(trace[number].state, number) if number < body else number
        kept += calls[number : number + 1]
        number += 1
    return executor.violated_by(kept) or violation


def search_shorter(
    spec: Spec,
    violation: Violation,
    max_states: int,
    actions: Collection[str] | None = None,
    *,
    or_as_short: bool = False,
) -> ShorteningSearch:
    """Search for a shortest trace that violates the same property and is shorter than a violation's.

    `actions` limits the search to schedules of these actions; `or_as_short`: a trace of the same length will do. Raises
    UserError where the spec is outside what the native engine takes.
    """
    from checker.engines.native.engine import explore

    expands_the_last = violation.property == DEADLOCK or violation.failed_action is not None
    most = violation.length if or_as_short else violation.length - 1
    levels = most + 1 if expands_the_last else most
    if levels < 1:
        return ShorteningSearch(None)
    searched = spec if actions is None or violation.property == DEADLOCK else spec.restricted_to(actions)
    is_property = spec.roles.get(violation.property) in (Role.INVARIANT, Role.STEP_INVARIANT)
    names = (violation.property,) if is_property else ()
    plan = Plan(names, max_states=max_states, max_depth=levels, deadlock=violation.property == DEADLOCK)
    result = explore(searched, plan)
    target = Target.of(violation)
    for found in result.violations:
        if Target.of(found) == target and found.length <= most:
            replay(spec, found)
            return ShorteningSearch(found)
    if result.violations:
        other = result.violations[0]
        return ShorteningSearch(None, f"{other.property} leaves its bounds after {other.length} states")
    if result.ended == "max_states":
        return ShorteningSearch(
            None, f"the search ended at its limit of {max_states:,} states, {result.depth} steps deep"
        )
    if result.ended == "interrupted":
        raise KeyboardInterrupt
    return ShorteningSearch(None)
