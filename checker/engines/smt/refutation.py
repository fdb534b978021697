"""Refutation by exploration: the properties and lemmas that are false in a reachable state, with shortest traces.

A property that is false in a reachable state has no proof, so the explorer evaluates all of them before Z3 is asked.
"""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass

from checker.errors import UserError
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.run.plan import ExplorationProgress, Plan
from checker.run.result import Violation

MAX_STATES = 500_000
"""Limit of the exploration: a second for most specs."""

MAX_SECONDS = 10.0
"""Limit of the exploration in seconds of a processor, for specs with many action instances in each state."""


@dataclass(frozen=True)
class Refutation:
    """The violations among the first `explored` states; `is_complete`: these are all reachable states.

    `reason` is why the explorer cannot take the spec; then no state was explored.
    """

    violations: tuple[Violation, ...] = ()
    explored: int = 0
    is_complete: bool = False
    seconds: float = 0.0
    reason: str = ""


class ProcessorTime:
    """Cancels an exploration after some seconds of processor time, those of compilation not counted.

    A busy machine makes an exploration longer, but does not cut it off.
    """

    def __init__(self, plan: Plan, seconds: float):
        self._plan, self._seconds = plan, seconds
        self._started: float | None = None

    def look(self, progress: ExplorationProgress) -> None:
        """Count the time since the first look; an engine looks a few times a second."""
        if self._started is None:
            self._started = time.process_time()
        if time.process_time() - self._started > self._seconds:
            self._plan.cancelled.set()


def spec_with_lemmas_watched(spec: Spec) -> Spec:
    """Return a spec of which the lemmas are invariants, so that an exploration evaluates them too."""
    watched = copy.copy(spec)
    watched.roles = {name: Role.INVARIANT if role is Role.LEMMA else role for name, role in spec.roles.items()}
    return watched


def refuted(spec: Spec, names: list[str], workers: int) -> Refutation:
    """Evaluate properties and lemmas in the reachable states, up to a limit, and return those that are false.

    Nothing is explored if the explorer cannot take the spec with these constants.
    """
    from checker.engines.native.engine import explore

    plan = Plan(tuple(names), stop="all", workers=workers, max_states=MAX_STATES, quick=True)
    plan.on_progress = ProcessorTime(plan, MAX_SECONDS * workers).look
    try:
        result = explore(spec_with_lemmas_watched(spec), plan)
    except UserError as error:
        return Refutation(reason=error.message)
    return Refutation(
        tuple(result.violations),
        result.distinct_states,
        result.ended == "complete",
        result.seconds + result.compile_seconds,
    )
