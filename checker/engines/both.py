"""Engine `both`: runs the native explorer and Z3 on one configuration and compares verdicts and trace lengths.

The interpreter checks each lasso. On small configurations it also decides the liveness properties again. Z3 searches
for lassos of a few states, which does not depend on the size of the configuration.

`explore` has the signature of `engines.native.engine.explore`.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import time
from collections.abc import Callable

import z3

from checker.engines.python import explorer
from checker.engines.smt.bounded import BoundedSearch, search
from checker.engines.smt.lowering.encoding import constant
from checker.engines.smt.lowering.logic import Truth, all_of, any_of, negate
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import Transition, TransitionSystem, assignments
from checker.errors import InternalError, SpecError, UserError
from checker.explain.lassos import WrongLassoError, check_lasso
from checker.frontend import compile_view
from checker.language.liveness import liveness_names
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.run.plan import DEADLOCK, Plan
from checker.run.result import Result, Violation

MAX_STATES = 50_000
"""Limit of the comparison: larger configurations are explored natively only."""

MAX_INSTANCES = 300
"""Limit for deadlocks: with more action instances only the explorer checks them. Z3 gets a formula for each."""

MAX_LIVENESS_STATES = 5_000
"""Limit of the comparison of liveness with the interpreter, which keeps every step of every state."""

LASSO_STATES = 10
"""The longest lassos that Z3 searches for: within `LASSO_SECONDS`, it completes 8 to 10 states of most specs."""

LASSO_SECONDS = 20.0
"""Time after which Z3 does not go on to longer lassos."""

QUERY_SECONDS = 10.0
"""Time limit of one query; a longer one ends the comparison at the lengths completed so far."""

Explore = Callable[[Spec, Plan], Result]

TOTAL_SECONDS = 60.0
"""Time after which the search does not go on to longer traces."""


class EngineDisagreementError(InternalError):
    """Two engines disagree about a spec: one of them has a bug."""


def explore(spec: Spec, plan: Plan, explore_natively: Explore | None = None) -> Result:
    """Explore a spec natively, then search it with Z3 up to the longest violation, or else the number of levels.

    Return the explorer's result; its `engine` says up to which length Z3 has searched. Raises EngineDisagreementError
    if the findings differ, and SpecError for an unchecked view. `explore_natively`: the native exploration (default:
    `engine.explore`).
    """
    from checker.engines.native import engine

    view = compile_view(spec)
    if view is not None and not view.is_checked:
        message = f"the view {view.name} is unchecked and may hide what Z3 finds: use --engine native"
        raise SpecError(f"{spec.name}: {message}")
    result = (explore_natively or engine.explore)(spec, plan)
    compared = _compare_liveness(spec, plan, result)
    lengths = [bounded.length for bounded in result.violations if bounded.length and bounded.kind != "liveness"]
    depth = max(lengths, default=result.depth)
    if result.distinct_states > MAX_STATES:
        return dataclasses.replace(result, engine=f"native (too large for z3){compared}")
    provable = (Role.INVARIANT, Role.STEP_INVARIANT)
    names = [name for name in plan.properties if name != DEADLOCK and spec.roles[name] in provable]
    reachables = [name for name in plan.properties if name != DEADLOCK and spec.roles[name] is Role.REACHABLE]
    if not (names or reachables or plan.deadlock) and compared:
        return dataclasses.replace(result, engine=f"native{compared}")
    try:
        bounded = _bounded_search(spec, names, reachables, plan.deadlock, depth)
    except UserError as error:
        raise EngineDisagreementError(f"the explorer takes {spec.name}, Z3 does not: {error}") from error
    except AssertionError as error:
        raise EngineDisagreementError(f"on {spec.name} {error}") from error
    check_agreement(spec, result, bounded)
    return dataclasses.replace(result, engine=f"native + z3 to depth {bounded.depth}{compared}")


def _compare_liveness(spec: Spec, plan: Plan, result: Result) -> str:
    """Compare the decisions on liveness properties; return a note on what was compared, or "" without any decision.

    Raises EngineDisagreementError if a lasso is wrong, or if a decision or the length of a stem differs.
    """
    for violation in result.violations:
        if violation.kind == "liveness":
            _check_lasso(spec, violation)
    # A run may stop before it has decided every property.
    decided = {decision.property for decision in result.liveness} - result.undecided.keys()
    names = [name for name in liveness_names(spec, plan.properties) if name in decided]
    if not names or result.verdict == "error":
        return ""
    if result.ended != "complete":
        return "; lassos checked with the interpreter"
    compared, omitted = [], []
    if result.distinct_states > MAX_LIVENESS_STATES:
        omitted.append(f"the interpreter (over {MAX_LIVENESS_STATES:,} states)")
    else:
        _compare_liveness_with_interpreter(spec, names, result)
        compared.append("the interpreter")
    try:
        depth = _compare_lassos_with_z3(spec, names, result)
        compared.append(f"z3's lassos of up to {depth} states")
    except UserError as error:
        omitted.append(f"z3 ({error.message})")
    notes = [f"compared with {' and '.join(compared)}"] if compared else []
    notes += [f"not compared with {' and '.join(omitted)}"] if omitted else []
    return f"; liveness {', '.join(notes)}"


def _check_lasso(spec: Spec, violation: Violation) -> None:
    try:
        check_lasso(spec, violation)
    except WrongLassoError as error:
        message = f"the lasso of {violation.property} of {spec.name} {spec.constants} is wrong: {error}"
        raise EngineDisagreementError(message) from error


def _compare_liveness_with_interpreter(spec: Spec, names: list[str], result: Result) -> None:
    again = explorer.explore(spec, Plan(tuple(names), stop="all"))
    for name in names:
        one, other = _length_of(result, name), _length_of(again, name)
        if one != other or name in again.undecided:
            raise _disagreement(spec, name, one, other, "the interpreter")


def _compare_lassos_with_z3(spec: Spec, names: list[str], result: Result) -> int:
    """Search for lassos with Z3; return up to which number of states. Raises UserError if Z3 cannot take the spec."""
    started = time.monotonic()
    limits = QueryLimits(min(QUERY_SECONDS, LASSO_SECONDS))

    def give_up(length: int, seconds: float) -> bool:
        return time.monotonic() - started > LASSO_SECONDS

    try:
        bounded = search(TransitionSystem(spec, []), names, LASSO_STATES, limits, stop="all", is_over=give_up)
    except AssertionError as error:
        raise EngineDisagreementError(f"on {spec.name} {error}") from error
    check_lassos(spec, names, result, bounded)
    return bounded.depth


def check_lassos(spec: Spec, names: list[str], result: Result, bounded: BoundedSearch) -> None:
    """Raise EngineDisagreementError if a search for lassos differs from decisions on liveness properties.

    No lasso has a shorter stem than the explorer's. Z3 finds the length of that stem if the lasso fits into its bound.
    """
    searched = {violation.property: violation.length for violation in bounded.violations}
    explored = {violation.property: violation for violation in result.violations}
    for name in names:
        one = explored.get(name)
        other = searched.get(name)
        is_within = one is not None and len(one.trace) <= bounded.depth
        is_wrong = other is not None and (one is None or other < one.length)
        if is_wrong or (one is not None and is_within and other != one.length):
            raise _disagreement(spec, name, None if one is None else one.length, other)


def _length_of(result: Result, name: str) -> int | None:
    """Return the length of the counterexample to a liveness property; None if there is none."""
    return next((violation.length for violation in result.violations if violation.property == name), None)


def _bounded_search(spec: Spec, names: list[str], reachables: list[str], deadlock: bool, depth: int) -> BoundedSearch:
    started = time.monotonic()
    limits = QueryLimits(QUERY_SECONDS)
    system = TransitionSystem(spec, [*names, *reachables])
    watched = {name: system.properties[name].holds for name in reachables}
    if deadlock and _instances(system) <= MAX_INSTANCES:
        with spec.bound():
            watched[DEADLOCK] = _is_stuck(system)

    def give_up(length: int, seconds: float) -> bool:
        return time.monotonic() - started > TOTAL_SECONDS

    return search(system, names, depth, limits, stop="all", is_over=give_up, watched=watched)


def _instances(system: TransitionSystem) -> int:
    return sum(math.prod(p.type.cardinality() for p in transition.parameters) for transition in system.transitions)


def _is_stuck(system: TransitionSystem) -> Truth:
    """Return whether the constraints hold and no action instance is enabled or leaves the bounds of a type."""
    return all_of(
        (system.within_constraints, *(negate(_can_be_taken(transition)) for transition in system.transitions))
    )


def _can_be_taken(transition: Transition) -> Truth:
    parameters = {parameter.name: parameter.value for parameter in transition.parameters}
    truth = any_of((transition.enabled, transition.failed))
    truths: list[Truth] = []
    for values in itertools.product(*(parameter.type.values() for parameter in transition.parameters)):
        given = {p.name: constant(p.type, value) for p, value in zip(transition.parameters, values, strict=True)}
        truths.append(truth if isinstance(truth, bool) else z3.substitute(truth, *assignments(parameters, given)))
    return any_of(truths)


def check_agreement(spec: Spec, result: Result, bounded: BoundedSearch) -> None:
    """Raise EngineDisagreementError if a result and a search differ, up to the length that the search completed.

    It compares the lengths of violations, of the shortest traces to reachables, and of the shortest deadlock.
    """
    kinds = ("invariant", "step_invariant", "deadlock")
    explored = {v.property: v.length for v in result.violations if v.kind in kinds} | result.reached
    searched = {v.property: v.length for v in bounded.violations if v.kind in ("invariant", "step_invariant")}
    searched |= bounded.seen
    failures = _shortest_failure(result), _shortest_failure(bounded)
    # An explorer that stops at a violation has not completed the level after it.
    last = bounded.depth if result.ended == "complete" else min(bounded.depth, result.depth - 1)
    for name in sorted(explored.keys() | searched.keys()):
        one, other = explored.get(name), searched.get(name)
        if one != other and min(length for length in (one, other) if length is not None) <= last:
            raise _disagreement(spec, name, one, other)
        if one is not None and one <= bounded.depth and other != one:
            raise _disagreement(spec, name, one, other)
    if failures[0] != failures[1] and min(length for length in failures if length is not None) <= last:
        raise _disagreement(spec, "bounds", *failures)


def _shortest_failure(result: Result | BoundedSearch) -> int | None:
    return min((v.length for v in result.violations if v.kind == "bounds_error"), default=None)


def _disagreement(
    spec: Spec, name: str, explored: int | None, searched: int | None, other: str = "Z3"
) -> EngineDisagreementError:
    findings = [
        f"a counterexample of {length} states" if length is not None else "none" for length in (explored, searched)
    ]
    return EngineDisagreementError(
        f"the engines disagree on {name} of {spec.name} {spec.constants}: "
        f"the explorer finds {findings[0]}, {other} {findings[1]}"
    )
