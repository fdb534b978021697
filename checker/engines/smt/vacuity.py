"""Rejection of specs about which every proof would be vacuous: no initial state, or a contradictory hypothesis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import z3

from checker.engines.smt.lowering.logic import Truth, any_of, truth_term
from checker.engines.smt.solving import QueryLimits, ask, satisfiable
from checker.engines.smt.transition_system import TransitionSystem
from checker.errors import SpecError
from checker.language.spec import Spec

TYPES = "the types"
"""Name of the hypothesis that every variable has a well-formed value of its type."""


def no_initial_state(spec: Spec) -> SpecError:
    """Return the error for a spec without initial state."""
    return SpecError(f"{spec.name} has no initial state: `init` is disabled for every choice of its parameters")


def refuse_no_initial_state(system: TransitionSystem, limits: QueryLimits) -> None:
    """Raise SpecError if the spec has no initial state: every property would hold vacuously."""
    initial = system.initial
    conditions = [initial.assumed, any_of((initial.enabled, initial.failed))]
    if satisfiable(conditions, limits, is_finite=system.is_finite).answer == "no":
        raise no_initial_state(system.spec)


def conditions_before_a_step(system: TransitionSystem) -> Iterator[tuple[str, Truth]]:
    """Iterate over the named conditions that hold in every state before a step: the types and the constraints."""
    yield TYPES, system.well_formed
    for constraint in system.constraints:
        yield constraint.name, constraint.holds


def refuse_false_constraints(system: TransitionSystem, limits: QueryLimits) -> None:
    """Raise SpecError if the constraints are false in every state: no step would exist."""
    if system.constraints:
        refuse_contradictions(conditions_before_a_step(system), plain_solver(system), limits)


def plain_solver(system: TransitionSystem) -> Any:
    """Return a Z3 solver that reports unsatisfiable cores over assumptions."""
    return z3.SolverFor("QF_BV") if system.is_finite else z3.Solver()


def refuse_contradictions(hypothesis: Iterable[tuple[str, Truth]], solver: Any, limits: QueryLimits) -> None:
    """Raise SpecError if a solver refutes the hypothesis, which is a conjunction of named conditions.

    The message names the conditions of the unsatisfiable core.
    """
    markers = {}
    for number, (name, truth) in enumerate(hypothesis):
        marker = z3.Bool(f"hypothesis {number}")
        markers[marker.decl().name()] = name
        solver.add(z3.Implies(marker, truth_term(truth)))
    if ask(solver, limits, *[z3.Bool(name) for name in markers]).answer != "no":
        return
    core = [markers[literal.decl().name()] for literal in solver.unsat_core()]
    named = " and ".join(name for name in core if name != TYPES) or TYPES
    verb = "contradict each other" if " and " in named else "is false in every state"
    raise SpecError(
        f"{named} {verb}: no state satisfies the induction hypothesis, so every property would follow from it"
    )
