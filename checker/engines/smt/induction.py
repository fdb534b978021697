"""Proof by induction: a property that holds initially and is preserved by every action holds in every reachable state.

The induction hypothesis says that a state is well formed, satisfies the constraints, and satisfies all invariants and
lemmas that are proved together. Each pair of a conjunct and an action is one query. A failed proof therefore reports
which action breaks which conjunct, with a step that does (a counterexample to induction).

`prove` here, in `k_induction` and in `unbounded.unbounded_induction` is the same operation by three methods.
"""

from __future__ import annotations

from collections.abc import Mapping

import z3

from checker.engines.smt.bounded import BOUNDS
from checker.engines.smt.lowering.logic import Term, Truth, both, negate, truth_term
from checker.engines.smt.proof_cells import (
    INIT,
    CellPlace,
    CounterexampleToInduction,
    InductionProof,
    OnQuery,
    ProofAids,
    ProofCell,
    prove_cells,
)
from checker.engines.smt.small_models import smallest_model
from checker.engines.smt.solving import AnsweredQuery, QueryLimits, Solver, ask, guarded, new_solver, satisfiable
from checker.engines.smt.transition_system import SymbolicProperty, Transition, TransitionSystem
from checker.engines.smt.unrolling import confirm
from checker.engines.smt.vacuity import (
    conditions_before_a_step,
    plain_solver,
    refuse_contradictions,
    refuse_no_initial_state,
)
from checker.ir import nodes
from checker.language.roles import Role
from checker.run.result import TraceStep

_MARKER = "hypothesis "
"""Prefix of the names of the literals that imply the hypotheses."""


def prove(
    system: TransitionSystem,
    targets: list[str],
    lemmas: list[str],
    limits: QueryLimits,
    on_query: OnQuery = lambda conjunct, action: None,
    aids: ProofAids | None = None,
) -> InductionProof:
    """Prove invariants and step invariants, with lemmas, by induction.

    Raises SpecError if the proof would be vacuous: no initial state, or no state that satisfies the hypothesis.
    """
    aids = aids or ProofAids()
    cells = FiniteCells(system, targets, lemmas, limits, aids.known)
    cells.refuse_vacuous_proof()
    never_taken = cells.never_taken()
    by_place = {cell.place: cell for cell in prove_cells(cells, aids, on_query)}
    ordered = sorted(by_place.values(), key=lambda cell: cells.conjuncts.index(cell.conjunct))
    return InductionProof(targets, lemmas, ordered, never_taken)


class FiniteCells:
    """The cells of a proof by induction over a transition system.

    `hypotheses` are the named conditions on the state before a step.
    """

    def __init__(
        self,
        system: TransitionSystem,
        targets: list[str],
        lemmas: list[str],
        limits: QueryLimits,
        known: Mapping[CellPlace, frozenset[str]],
    ):
        self.system, self.limits, self._known = system, limits, known
        names = [*targets, *(name for name in lemmas if name not in targets)]
        self._properties = {name: system.properties[name] for name in names}
        self.conjuncts = [*names, BOUNDS]
        invariants = [name for name in names if self._properties[name].role is not Role.STEP_INVARIANT]
        self.hypotheses: dict[str, Truth] = dict(conditions_before_a_step(system))
        self.hypotheses |= {name: self._properties[name].holds for name in invariants}
        self._transitions = {INIT: system.initial, **{transition.name: transition for transition in system.transitions}}
        self.places: list[CellPlace] = [(name, INIT) for name in [*invariants, BOUNDS]]
        self.places += [(name, transition.name) for transition in system.transitions for name in self.conjuncts]
        self._solvers: dict[str, Solver] = {}

    @property
    def program(self) -> nodes.Program:
        """The typed program of the spec."""
        return self.system.program

    @property
    def hypothesis_names(self) -> list[str]:
        """The names of the hypotheses."""
        return list(self.hypotheses)

    def refuse_vacuous_proof(self) -> None:
        """Raise SpecError if the spec has no initial state, or if no state satisfies the hypothesis."""
        refuse_no_initial_state(self.system, self.limits)
        refuse_contradictions(self.hypotheses.items(), plain_solver(self.system), self.limits)

    def new_solver(self) -> Solver:
        """Return a solver for these cells."""
        return new_solver(is_finite=self.system.is_finite)

    def never_taken(self) -> list[str]:
        """Return the actions that are disabled in every state of the hypothesis."""
        return [
            transition.name
            for transition in self.system.transitions
            if ask(self._solver(transition.name), self.limits, *self._takes(transition)).answer == "no"
        ]

    def _takes(self, transition: Transition) -> list[Truth]:
        solver = self._solver(transition.name)
        return [guarded(solver, transition.taken), *map(_marker, self.hypotheses)]

    def cell(self, place: CellPlace) -> ProofCell:
        """Prove one cell: with the hypotheses that an earlier proof needed, or else with all."""
        conjunct, action = place
        violated = self.violated(place)
        if place in self._known and action != INIT:
            needed = [name for name in self.hypotheses if name in self._known[place]]
            query = satisfiable(
                [*(self.hypotheses[name] for name in needed), violated], self.limits, is_finite=self.system.is_finite
            )
            if query.answer == "no":
                return ProofCell(conjunct, action, "proved", query.seconds, needed=tuple(needed))
        return self._ask(place, violated)

    def conditions(self, place: CellPlace, needed: frozenset[str]) -> list[list[Truth]]:
        """Return the conjunctions that are unsatisfiable if the cell is proved with some of the hypotheses."""
        hypotheses = [truth for name, truth in self.hypotheses.items() if name in needed and place[1] != INIT]
        return [[*hypotheses, self.violated(place)]]

    def instances(self, conditions: list[Truth], seconds: float) -> list[Term] | None:
        """Return None: a finite query has no quantifiers."""
        return None

    def violated(self, place: CellPlace) -> Truth:
        """Return the condition under which a step of a cell's action violates its conjunct."""
        conjunct, transition = place[0], self._transitions[place[1]]
        if conjunct == BOUNDS:
            # A failing action is not enabled, so `taken` would exclude the case in question.
            return both(transition.assumed, transition.failed)
        return both(transition.taken, negate(self._after(self._properties[conjunct], transition)))

    def _after(self, property_: SymbolicProperty, transition: Transition) -> Truth:
        """Return a property as a term about a transition's successor."""
        system = self.system
        old = system.state if property_.role is Role.STEP_INVARIANT else None
        return system.over(property_.holds, transition.successor, old)

    def _solver(self, action: str) -> Solver:
        """Return the solver of an action, which has each hypothesis behind a marker, and keeps what it has learned."""
        if action not in self._solvers:
            solver = self._solvers[action] = self.new_solver()
            for name, truth in self.hypotheses.items() if action != INIT else ():
                solver.add(z3.Implies(_marker(name), truth_term(truth)))
        return self._solvers[action]

    def _ask(self, place: CellPlace, violated: Truth) -> ProofCell:
        """Ask a cell with all hypotheses; a counterexample has small values."""
        conjunct, action = place
        solver, transition = self._solver(action), self._transitions[action]
        markers = list(map(_marker, self.hypotheses)) if action != INIT else []
        asked = [guarded(solver, violated), *markers]
        query = ask(solver, self.limits, *asked)
        if query.answer == "unknown":
            return ProofCell(conjunct, action, "unknown", query.seconds, query.reason)
        if query.answer == "no":
            used = {marker.decl().name() for marker in solver.unsat_core()} if violated is not False else set()
            needed = tuple(name for name in self.hypotheses if _MARKER + name in used)
            return ProofCell(conjunct, action, "proved", query.seconds, needed=needed)
        values = [*self.system.state.values(), *(parameter.value for parameter in transition.parameters)]
        small = smallest_model(solver, query, asked, values, self.limits)
        counterexample = self._counterexample(conjunct, transition, small)
        return ProofCell(conjunct, action, "fails", query.seconds, counterexample=counterexample)

    def _counterexample(self, conjunct: str, transition: Transition, query: AnsweredQuery) -> CounterexampleToInduction:
        system = self.system
        with system.spec.bound():
            arguments = system.spec.as_called(transition.name, transition.arguments(query.evaluate))
        # A step that leaves the bounds has no successor: its `successor` term has no meaning.
        after = None if conjunct == BOUNDS else system.decoded(transition.successor, query.evaluate)
        if transition.name == INIT:
            return CounterexampleToInduction(None, INIT, arguments, after)
        before = system.decoded(system.state, query.evaluate)
        if after is not None:
            confirm(system, (TraceStep(None, (), before), TraceStep(transition.name, arguments, after)))
        return CounterexampleToInduction(before, transition.name, arguments, after)


def _marker(name: str) -> Term:
    return z3.Bool(_MARKER + name)
