"""Proof by induction for every value of some constants; each query is split into its conjuncts."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

from checker.engines.smt.bounded import BOUNDS
from checker.engines.smt.induction import InductionProof, OnQuery, Outcome, ProofCell
from checker.engines.smt.lowering.logic import Truth, any_of, both, either, negate
from checker.engines.smt.solving import AnsweredQuery, QueryLimits, ask
from checker.engines.smt.transition_system import Transition
from checker.engines.smt.unbounded.attempts import LONGER, SHORT, Attempts, Hypothesis, solver_for, split
from checker.engines.smt.unbounded.unbounded_system import UnboundedSystem
from checker.engines.smt.vacuity import TYPES, no_initial_state, refuse_contradictions
from checker.language.roles import Role


def prove(
    system: UnboundedSystem,
    targets: list[str],
    lemmas: list[str],
    limits: QueryLimits,
    on_query: OnQuery = lambda conjunct, action: None,
) -> InductionProof:
    """Prove invariants and step invariants, with lemmas, by induction for every value of the open constants.

    A cell that is not proved is `unknown`, even if Z3 has a model: a model of formulas with quantifiers need not be a
    counterexample. Raises SpecError if the hypothesis is contradictory or the spec has no initial state.
    """
    return _UnboundedInduction(system, targets, lemmas, limits, on_query).run()


class _UnboundedInduction:
    def __init__(
        self, system: UnboundedSystem, targets: list[str], lemmas: list[str], limits: QueryLimits, on_query: OnQuery
    ):
        self.system, self.limits, self.on_query = system, limits, on_query
        self.proof = InductionProof(targets, lemmas)
        self.names = [*targets, *(name for name in lemmas if name not in targets)]
        roles = system.spec.roles
        self.invariants = [name for name in self.names if roles[name] is not Role.STEP_INVARIANT]

    def run(self) -> InductionProof:
        """Ask all queries."""
        hypotheses = list(self._hypotheses())
        self._refuse_vacuous_proof(hypotheses)
        initials = self.system.initials
        for name in self.invariants:
            self._ask_cell(name, initials, [])
        self._ask_cell(BOUNDS, initials, [])
        for _, group in itertools.groupby(self.system.transitions, lambda found: found.name):
            transitions = list(group)
            for name in [*self.names, BOUNDS]:
                self._ask_cell(name, transitions, hypotheses)
            self._note_never_taken(transitions, hypotheses)
        order = {name: index for index, name in enumerate([*self.names, BOUNDS])}
        self.proof.cells.sort(key=lambda cell: order[cell.conjunct])
        return self.proof

    def _hypotheses(self) -> Iterator[Hypothesis]:
        yield Hypothesis(TYPES, self.system.well_formed)
        for name in [*self.system.constraints, *self.invariants]:
            yield Hypothesis(name, self.system.claim(name, self.system.state).holds)

    def _goal(self, conjunct: str, transition: Transition) -> Truth:
        """Return the condition under which a transition preserves a conjunct."""
        if conjunct == BOUNDS:
            return negate(transition.failed)
        is_step = self.system.spec.roles[conjunct] is Role.STEP_INVARIANT
        return self.system.claim(conjunct, transition.successor, self.system.state if is_step else None).holds

    def _refuse_vacuous_proof(self, hypotheses: list[Hypothesis]) -> None:
        """Raise SpecError if no state satisfies the hypothesis, or if `init` is always disabled."""
        facts = [*self.system.axioms, *self.system.definitions]
        limits = QueryLimits(LONGER, self.limits.cancelled)
        refuse_contradictions(((found.name, found.truth) for found in hypotheses), solver_for(facts), limits)
        # An `init` that leaves the bounds is not vacuous: the query of `bounds` reports it.
        begins = any_of(both(found.assumed, either(found.failed, found.enabled)) for found in self.system.initials)
        if ask(solver_for([*facts, begins]), limits).answer == "no":
            raise no_initial_state(self.system.spec)

    def _note_never_taken(self, transitions: list[Transition], hypotheses: list[Hypothesis]) -> None:
        taken = any_of(found.taken for found in transitions)
        solver = solver_for([*self.system.axioms, *self.system.definitions, taken, *[h.truth for h in hypotheses]])
        if ask(solver, QueryLimits(SHORT, self.limits.cancelled)).answer == "no":
            self.proof.never_taken.append(transitions[0].name)

    def _ask_cell(self, conjunct: str, transitions: list[Transition], hypotheses: list[Hypothesis]) -> None:
        self.on_query(conjunct, transitions[0].name)
        started, reason = time.perf_counter(), ""
        outcome: Outcome = "proved"
        for transition in transitions:
            query = self._first_open(conjunct, transition, hypotheses, self.limits)
            if query is not None:
                outcome, reason = "unknown", self._reason(query)
                break
        seconds = time.perf_counter() - started
        self.proof.cells.append(ProofCell(conjunct, transitions[0].name, outcome, seconds, reason))

    def _first_open(
        self, conjunct: str, transition: Transition, hypotheses: list[Hypothesis], limits: QueryLimits
    ) -> AnsweredQuery | None:
        """Return the first query about a transition that Z3 does not refute; None if it refutes all of them."""
        goal = self._goal(conjunct, transition)
        # A failing action is not enabled, so `taken` would exclude the case in question.
        taken = transition.assumed if conjunct == BOUNDS else transition.taken
        if taken is False or goal is True:
            return None
        # Read after `_goal`, which adds definitions of the auxiliary constants in the goal.
        facts = [*self.system.axioms, *self.system.definitions, taken]
        attempts = Attempts(facts, hypotheses, conjunct, self.system.cases_of(transition), limits)
        for part in split(goal):
            query = attempts.refute(negate(part))
            if query.answer != "no":
                return query
        return None

    def _reason(self, query: AnsweredQuery) -> str:
        if query.reason.startswith("timeout"):
            return f"timeout: no answer within {self.limits.seconds:g} s"
        return query.reason.strip("()") or "Z3 has a model, which need not satisfy all instances of the quantifiers"
