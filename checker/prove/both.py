"""The explorer and Z3 on one configuration: they must agree on what is violated, and by how many states."""

from __future__ import annotations

import dataclasses
import time

from checker.check.plan import DEADLOCK, Plan
from checker.check.result import Result
from checker.language.errors import SpecError
from checker.language.spec import Role, Spec
from checker.prove.bounded import Search, search
from checker.prove.solving import Limits
from checker.prove.system import System

MOST_STATES = 50_000
"""A configuration with more states is left to the explorer alone."""

QUERY_SECONDS = 10.0
"""A query that takes longer ends the comparison: what is shorter has been compared."""

TOTAL_SECONDS = 60.0
"""No longer traces are searched after this time."""


class EngineDisagreementError(Exception):
    """Two engines gave a spec different meanings: one of them is wrong."""


def explore(spec: Spec, plan: Plan) -> Result:
    """Explore a spec as the native engine does, and search it with Z3 as deep as its violations or levels are.

    The result is the explorer's; its engine says how long the traces are that Z3 has searched. Raises
    EngineDisagreementError where the two do not find the same.
    """
    from checker.native.engine import explore as explore_natively

    result = explore_natively(spec, plan)
    lengths = [violation.length for violation in result.violations if violation.length]
    depth = max(lengths, default=result.depth)
    if result.distinct_states > MOST_STATES:
        return dataclasses.replace(result, engine="native (too large for z3)")
    provable = (Role.INVARIANT, Role.STEP_INVARIANT)
    names = [name for name in plan.properties if name != DEADLOCK and spec.roles[name] in provable]
    try:
        found = _searched(spec, names, depth)
    except SpecError as error:
        raise EngineDisagreementError(
            f"internal error: the explorer takes {spec.name}, Z3 does not: {error}"
        ) from error
    except AssertionError as error:
        raise EngineDisagreementError(f"internal error: on {spec.name} {error}") from error
    compare(spec, result, found)
    return dataclasses.replace(result, engine=f"native + z3 to depth {found.depth}")


def _searched(spec: Spec, names: list[str], depth: int) -> Search:
    started = time.monotonic()
    limits = Limits(QUERY_SECONDS)

    def give_up(length: int, seconds: float) -> bool:
        return time.monotonic() - started > TOTAL_SECONDS

    return search(System(spec, names), names, depth, limits, stop="all", is_over=give_up)


def compare(spec: Spec, result: Result, found: Search) -> None:
    """Raise EngineDisagreementError where a result and a search differ, as far as the search went."""
    explored = {v.property: v.length for v in result.violations if v.kind in ("invariant", "step_invariant")}
    searched = {v.property: v.length for v in found.violations if v.kind in ("invariant", "step_invariant")}
    failures = _shortest_failure(result), _shortest_failure(found)
    # An explorer that stops at a violation has not seen the whole of the level after it.
    last = found.depth if result.ended == "complete" else min(found.depth, result.depth - 1)
    for name in sorted(explored.keys() | searched.keys()):
        one, other = explored.get(name), searched.get(name)
        if one != other and min(length for length in (one, other) if length is not None) <= last:
            raise _disagreement(spec, name, one, other)
        if one is not None and one <= found.depth and other != one:
            raise _disagreement(spec, name, one, other)
    if failures[0] != failures[1] and min(length for length in failures if length is not None) <= last:
        raise _disagreement(spec, "bounds", *failures)


def _shortest_failure(found: Result | Search) -> int | None:
    return min((v.length for v in found.violations if v.kind == "bounds_error"), default=None)


def _disagreement(spec: Spec, name: str, explored: int | None, searched: int | None) -> EngineDisagreementError:
    texts = [
        f"a counterexample of {length} states" if length is not None else "none" for length in (explored, searched)
    ]
    return EngineDisagreementError(
        f"internal error: the engines disagree on {name} of {spec.name} {spec.constants}: "
        f"the explorer finds {texts[0]}, Z3 {texts[1]}"
    )
