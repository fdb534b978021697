"""Refutation by exploration: the properties and lemmas that are false in a reachable state, with shortest traces.

A property that is false in a reachable state has no proof, so the explorer evaluates all of them before Z3 is asked.
"""

from __future__ import annotations

import copy
import threading

from checker.errors import UserError
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.records import dataclass
from checker.run.plan import Plan
from checker.run.result import Violation

MAX_STATES = 500_000
"""Limit of the exploration: a second for most specs."""

MAX_SECONDS = 10.0
"""Time limit of the exploration, for specs with many action instances in each state."""


@dataclass(frozen=True)
class Refutation:
    """The violations among the first `explored` states; `is_complete`: these are all reachable states."""

    violations: tuple[Violation, ...] = ()
    explored: int = 0
    is_complete: bool = False
    seconds: float = 0.0


def refuted(spec: Spec, names: list[str], workers: int) -> Refutation:
    """Evaluate properties and lemmas in the reachable states, up to a limit, and return those that are false.

    The result is empty if the explorer cannot take the spec with these constants.
    """
    from checker.engines.native.engine import explore

    watched = copy.copy(spec)
    watched.roles = {name: Role.INVARIANT if role is Role.LEMMA else role for name, role in spec.roles.items()}
    plan = Plan(tuple(names), stop="all", workers=workers, max_states=MAX_STATES, quick=True)
    timer = threading.Timer(MAX_SECONDS, plan.cancelled.set)
    timer.daemon = True
    timer.start()
    try:
        found = explore(watched, plan)
    except UserError:
        return Refutation()
    finally:
        timer.cancel()
    return Refutation(
        tuple(found.violations), found.distinct_states, found.ended == "complete", found.seconds + found.compile_seconds
    )
