"""k-induction: a property holds always if it holds in the first k states, and after any k states that satisfy it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import z3

from checker.engines.smt.bounded import BOUNDS, BoundedSearch, UnansweredQuery, search
from checker.engines.smt.lowering.logic import Truth, any_of, both, negate, truth_term
from checker.engines.smt.proof_cells import Outcome
from checker.engines.smt.solving import AnsweredQuery, QueryLimits, ask_condition
from checker.engines.smt.transition_system import TransitionSystem
from checker.engines.smt.unrolling import Unrolling
from checker.engines.smt.vacuity import refuse_false_constraints
from checker.language.roles import Role
from checker.run.result import ActionCall, TraceStep

OnDepth = Callable[[int, str], None]
"""Callback before each query: k and the conjunct."""


@dataclass
class KInductionProof:
    """The result of k-induction.

    - `k`: the number of states in the hypothesis of the last induction step.
    - `base`: the bounded search of the first k states.
    - `failing`: for each conjunct that is not preserved, a path that satisfies the hypothesis except in its last state.
    - `failed_actions`: for `bounds`, the action that leaves the bounds of a type after that path.
    """

    k: int
    base: BoundedSearch
    failing: dict[str, tuple[TraceStep, ...]] = field(default_factory=dict)
    failed_actions: dict[str, ActionCall] = field(default_factory=dict)
    unknown: list[UnansweredQuery] = field(default_factory=list)

    @property
    def verdict(self) -> Outcome:
        """The outcome of all conjuncts together."""
        if self.base.violations:
            return "fails"
        if self.unknown or self.base.unknown:
            return "unknown"
        return "fails" if self.failing else "proved"


def prove(
    system: TransitionSystem,
    names: list[str],
    depth: int,
    limits: QueryLimits,
    on_depth: OnDepth = lambda k, conjunct: None,
) -> KInductionProof:
    """Prove properties and lemmas together by k-induction, for k from 1 to `depth`.

    Raises SpecError if the proof would be vacuous: no initial state, or constraints that are false in every state.
    """
    refuse_false_constraints(system, limits)
    proof = KInductionProof(0, BoundedSearch())
    for k in range(1, depth + 1):
        proof = KInductionProof(k, proof.base)
        _step(system, names, limits, proof, on_depth)
        if not proof.failing or proof.unknown:
            break
    on_depth(proof.k, "the first states")
    proof.base = search(system, names, proof.k, limits)
    return proof


def _step(
    system: TransitionSystem, names: list[str], limits: QueryLimits, proof: KInductionProof, on_depth: OnDepth
) -> None:
    """Ask which conjuncts the state after k states that satisfy all of them may violate."""
    unrolling = Unrolling(system)
    unrolling.start_anywhere()
    properties = [system.properties[name] for name in names]
    for index in range(proof.k):
        for predicate in properties:
            if predicate.role is not Role.STEP_INVARIANT or index:
                unrolling.add(predicate.holds, index)
        if index + 1 == proof.k:
            on_depth(proof.k, BOUNDS)
            # A failing action has no successor, so this is asked before the path is extended.
            failing = both(system.within_constraints, _fails(system))
            query = _ask(unrolling, failing, index, limits)
            _note(proof, BOUNDS, unrolling, query)
            if query.answer == "yes":
                proof.failed_actions[BOUNDS] = _failing_action(system, unrolling, query, index)
        unrolling.extend()
    for predicate in properties:
        on_depth(proof.k, predicate.name)
        _note(proof, predicate.name, unrolling, _ask(unrolling, negate(predicate.holds), proof.k, limits))


def _fails(system: TransitionSystem) -> Truth:
    """Return whether some action leaves the bounds of a type."""
    return any_of(both(transition.assumed, transition.failed) for transition in system.transitions)


def _failing_action(system: TransitionSystem, unrolling: Unrolling, query: AnsweredQuery, index: int) -> ActionCall:
    """Return the action instance that leaves the bounds of a type in state `index` of the model."""
    for transition in system.transitions:
        if z3.is_true(query.evaluate(truth_term(unrolling.at(both(transition.assumed, transition.failed), index)))):
            return ActionCall(transition.name, unrolling.arguments(query, transition, index))
    raise AssertionError("no action leaves the bounds of a type in the model")


def _ask(unrolling: Unrolling, truth: Truth, index: int, limits: QueryLimits) -> AnsweredQuery:
    return ask_condition(unrolling.solver, limits, unrolling.at(truth, index))


def _note(proof: KInductionProof, conjunct: str, unrolling: Unrolling, query: AnsweredQuery) -> None:
    if query.answer == "unknown":
        proof.unknown.append(UnansweredQuery(conjunct, proof.k, query.reason))
    elif query.answer == "yes":
        proof.failing[conjunct] = unrolling.trace(query)
