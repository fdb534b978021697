"""Proof by induction for every value of some constants; each query is split into its conjuncts."""

from __future__ import annotations

import itertools
import time
from typing import Any

from checker.engines.smt.bounded import BOUNDS
from checker.engines.smt.instantiation.prepared import Preparation
from checker.engines.smt.instantiation.refuter import InstanceRefuter
from checker.engines.smt.lowering.logic import Term, Truth, any_of, both, either, negate
from checker.engines.smt.proof_cells import (
    INIT,
    CellPlace,
    InductionProof,
    OnQuery,
    ProofAids,
    ProofCell,
    prove_cells,
)
from checker.engines.smt.solving import AnsweredQuery, QueryLimits, ask
from checker.engines.smt.transition_system import Transition
from checker.engines.smt.unbounded.attempts import LONGER, SHORT, Attempts, Hypothesis, solver_for, split
from checker.engines.smt.unbounded.definitions import definitions_for
from checker.engines.smt.unbounded.unbounded_system import UnboundedSystem
from checker.engines.smt.vacuity import TYPES, no_initial_state, refuse_contradictions
from checker.ir import nodes
from checker.language.roles import Role


def prove(
    system: UnboundedSystem,
    targets: list[str],
    lemmas: list[str],
    limits: QueryLimits,
    on_query: OnQuery = lambda conjunct, action: None,
    aids: ProofAids | None = None,
) -> InductionProof:
    """Prove invariants and step invariants, with lemmas, by induction for every value of the open constants.

    A cell that is not proved is `unknown`, even if Z3 has a model: a model of formulas with quantifiers need not be a
    counterexample. Raises SpecError if the hypothesis is contradictory or the spec has no initial state.
    """
    aids = aids or ProofAids()
    cells = UnboundedCells(system, targets, lemmas, limits, aids)
    cells.refuse_vacuous_proof()
    by_place = {cell.place: cell for cell in prove_cells(cells, aids, on_query)}
    ordered = sorted(by_place.values(), key=lambda cell: cells.conjuncts.index(cell.conjunct))
    return InductionProof(targets, lemmas, ordered, cells.never_taken())


class UnboundedCells:
    """The cells of a proof by induction for every value of some constants. Each consists of many queries."""

    def __init__(
        self, system: UnboundedSystem, targets: list[str], lemmas: list[str], limits: QueryLimits, aids: ProofAids
    ):
        self.system, self.limits, self._aids = system, limits, aids
        names = [*targets, *(name for name in lemmas if name not in targets)]
        roles = system.spec.roles
        invariants = [name for name in names if roles[name] is not Role.STEP_INVARIANT]
        self.conjuncts = [*names, BOUNDS]
        self._preparation = Preparation()
        self.hypotheses = [Hypothesis(TYPES, system.well_formed)]
        for name in [*system.constraints, *invariants]:
            self.hypotheses.append(Hypothesis(name, system.claim(name, system.state).holds))
        self._common_definitions = len(system.definitions)
        self._transitions = {INIT: system.initials}
        for action, group in itertools.groupby(system.transitions, lambda found: found.name):
            self._transitions[action] = list(group)
        self.places: list[CellPlace] = [(name, INIT) for name in [*invariants, BOUNDS]]
        self.places += [(name, action) for action in self._transitions if action != INIT for name in self.conjuncts]

    @property
    def program(self) -> nodes.Program:
        """The typed program of the spec."""
        return self.system.program

    @property
    def hypothesis_names(self) -> list[str]:
        """The names of the hypotheses."""
        return [hypothesis.name for hypothesis in self.hypotheses]

    def new_solver(self) -> Any:
        """Return a solver for these cells."""
        return solver_for([])

    def _goal(self, conjunct: str, transition: Transition) -> Truth:
        """Return the condition under which a transition preserves a conjunct."""
        if conjunct == BOUNDS:
            return negate(transition.failed)
        is_step = self.system.spec.roles[conjunct] is Role.STEP_INVARIANT
        return self.system.claim(conjunct, transition.successor, self.system.state if is_step else None).holds

    def refuse_vacuous_proof(self) -> None:
        """Raise SpecError if no state satisfies the hypothesis, or if `init` is always disabled."""
        facts = [*self.system.axioms, *self.system.definitions]
        limits = QueryLimits(LONGER, self.limits.cancelled)
        refuse_contradictions(((each.name, each.truth) for each in self.hypotheses), solver_for(facts), limits)
        # An `init` that leaves the bounds is not vacuous: the query of `bounds` reports it.
        begins = any_of(both(each.assumed, either(each.failed, each.enabled)) for each in self.system.initials)
        if ask(solver_for([*facts, begins]), limits).answer == "no":
            raise no_initial_state(self.system.spec)

    def never_taken(self) -> list[str]:
        """Return the actions that are disabled in every state of the hypothesis, as far as a short query shows it."""
        return [action for action in self._transitions if action != INIT and self._is_never_taken(action)]

    def _is_never_taken(self, action: str) -> bool:
        taken = any_of(each.taken for each in self._transitions[action])
        truths = [*self.system.axioms, *self.system.definitions, taken, *[each.truth for each in self.hypotheses]]
        return ask(solver_for(truths), QueryLimits(SHORT, self.limits.cancelled)).answer == "no"

    def cell(self, place: CellPlace) -> ProofCell:
        """Prove one cell: every part of its goal, for every choice of the action's parameters of few values."""
        conjunct, action = place
        started, needed = time.perf_counter(), set[str]()
        for transition in self._transitions[action]:
            attempts, parts = self._obligation(place, transition)
            for part in parts:
                query = attempts.refute(negate(part))
                if query.answer != "no":
                    seconds = time.perf_counter() - started
                    return ProofCell(conjunct, action, "unknown", seconds, self._reason(query))
            needed |= attempts.needed
        seconds = time.perf_counter() - started
        ordered = tuple(hypothesis.name for hypothesis in self.hypotheses if hypothesis.name in needed)
        return ProofCell(conjunct, action, "proved", seconds, needed=ordered)

    def conditions(self, place: CellPlace, needed: frozenset[str]) -> list[list[Truth]]:
        """Return the conjunctions that are unsatisfiable if the cell is proved with some of the hypotheses."""
        action = place[1]
        hypotheses = [
            hypothesis.truth for hypothesis in self.hypotheses if hypothesis.name in needed and action != INIT
        ]
        listed = []
        for transition in self._transitions[action]:
            attempts, parts = self._obligation(place, transition)
            listed += [[*attempts.facts, *hypotheses, negate(part)] for part in parts]
        return listed

    def instances(self, conditions: list[Truth], seconds: float) -> list[Term] | None:
        """Return instances of some conditions that are unsatisfiable, without quantifiers; None if none are found."""
        refuter = InstanceRefuter(self._preparation, QueryLimits(seconds, self.limits.cancelled))
        for truth in conditions:
            refuter.add(truth)
        return refuter.asserted if refuter.refute().answer == "no" else None

    def _obligation(self, place: CellPlace, transition: Transition) -> tuple[Attempts, list[Truth]]:
        """Return the parts of a cell's goal for one transition, and the attempts to refute their negations."""
        conjunct, action = place
        # Lowering a goal adds definitions of its auxiliary constants; those of other goals only burden the query.
        del self.system.definitions[self._common_definitions :]
        goal = self._goal(conjunct, transition)
        # A failing action is not enabled, so `taken` would exclude the case in question.
        taken = transition.assumed if conjunct == BOUNDS else transition.taken
        hypotheses = self.hypotheses if action != INIT else []
        query = [goal, taken, *(hypothesis.truth for hypothesis in hypotheses)]
        attempts = Attempts(
            [*self.system.axioms, *definitions_for(self.system.definitions, query), taken],
            hypotheses,
            conjunct,
            self.system.cases_of(transition),
            self.limits,
            self._preparation,
            known=self._aids.known.get(place),
            is_minimal=self._aids.minimal,
        )
        return attempts, [] if taken is False or goal is True else split(goal)

    def _reason(self, query: AnsweredQuery) -> str:
        if query.reason.startswith("timeout"):
            return f"timeout: no answer within {self.limits.seconds:g} s"
        return query.reason.strip("()") or "Z3 has a model, which need not satisfy all instances of the quantifiers"
