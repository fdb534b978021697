"""Proof by induction: a property that holds initially and is preserved by every action holds in every reachable state.

The induction hypothesis says that a state is well formed, satisfies the constraints, and satisfies all invariants and
lemmas that are proved together. Each pair of a conjunct and an action is one query. A failed proof therefore reports
which action breaks which conjunct, with a step that does (a counterexample to induction).

`prove` here, in `k_induction` and in `unbounded.unbounded_induction` is the same operation by three methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from checker.engines.smt.bounded import BOUNDS
from checker.engines.smt.lowering.logic import Truth, both, negate, truth_term
from checker.engines.smt.small_models import smallest_model
from checker.engines.smt.solving import AnsweredQuery, QueryLimits, ask, ask_condition, guarded, new_solver
from checker.engines.smt.transition_system import SymbolicProperty, Transition, TransitionSystem
from checker.engines.smt.unrolling import confirm
from checker.engines.smt.vacuity import (
    conditions_before_a_step,
    plain_solver,
    refuse_contradictions,
    refuse_no_initial_state,
)
from checker.language.interpreter import State as PlainState
from checker.language.roles import Role
from checker.run.result import TraceStep

INIT = "init"
"""Name of the table row of the initial states."""

Outcome = Literal["proved", "fails", "unknown"]

OnQuery = Callable[[str, str], None]
"""Callback before each query: the conjunct and the action."""


@dataclass(frozen=True)
class CounterexampleToInduction:
    """A step from a state that satisfies the hypothesis to one that violates a conjunct.

    `before` is None if `after` is an initial state; `after` is None if the action leaves the bounds of a type.
    """

    before: PlainState | None
    action: str
    arguments: tuple[Any, ...]
    after: PlainState | None


@dataclass(frozen=True)
class ProofCell:
    """One query: whether an action (or `init`) preserves a conjunct."""

    conjunct: str
    action: str
    outcome: Outcome
    seconds: float
    reason: str = ""
    counterexample: CounterexampleToInduction | None = None


@dataclass
class InductionProof:
    """The queries of a proof. `never_taken`: actions that are disabled in every state of the hypothesis."""

    targets: list[str]
    lemmas: list[str]
    cells: list[ProofCell] = field(default_factory=list)
    never_taken: list[str] = field(default_factory=list)

    @property
    def conjuncts(self) -> list[str]:
        """The names of the conjuncts, in order."""
        return list(dict.fromkeys(cell.conjunct for cell in self.cells))

    def outcome(self, conjunct: str) -> Outcome:
        """Return the outcome of one conjunct's queries."""
        outcomes = {cell.outcome for cell in self.cells if cell.conjunct == conjunct}
        return "fails" if "fails" in outcomes else "unknown" if "unknown" in outcomes else "proved"

    @property
    def verdict(self) -> Outcome:
        """The outcome of all queries: if one fails, the others rest on a hypothesis that is not proved."""
        outcomes = {cell.outcome for cell in self.cells}
        return "fails" if "fails" in outcomes else "unknown" if "unknown" in outcomes else "proved"

    @property
    def seconds(self) -> float:
        """The time of all queries."""
        return sum(cell.seconds for cell in self.cells)


def prove(
    system: TransitionSystem,
    targets: list[str],
    lemmas: list[str],
    limits: QueryLimits,
    on_query: OnQuery = lambda conjunct, action: None,
) -> InductionProof:
    """Prove invariants and step invariants, with lemmas, by induction.

    Raises SpecError if the proof would be vacuous: no initial state, or no state that satisfies the hypothesis.
    """
    return _InductionProof(system, targets, lemmas, limits, on_query).run()


class _InductionProof:
    def __init__(
        self, system: TransitionSystem, targets: list[str], lemmas: list[str], limits: QueryLimits, on_query: OnQuery
    ):
        self.system, self.limits, self.on_query = system, limits, on_query
        self.proof = InductionProof(targets, lemmas)
        names = [*targets, *(name for name in lemmas if name not in targets)]
        self.properties = [system.properties[name] for name in names]
        self.invariants = [found for found in self.properties if found.role is not Role.STEP_INVARIANT]

    def run(self) -> InductionProof:
        """Ask all queries."""
        refuse_no_initial_state(self.system, self.limits)
        refuse_contradictions(self._hypothesis(), plain_solver(self.system), self.limits)
        for property_ in self.invariants:
            self._initially(property_.name, negate(self._after(property_, self.system.initial)))
        self._initially(BOUNDS, self.system.initial.failed)
        for transition in self.system.transitions:
            self._preserved_by(transition)
        order = {name: index for index, name in enumerate([p.name for p in self.properties] + [BOUNDS])}
        self.proof.cells.sort(key=lambda cell: order[cell.conjunct])
        return self.proof

    def _hypothesis(self) -> Iterator[tuple[str, Truth]]:
        """Iterate over the induction hypothesis: named conditions on the state before a step."""
        yield from conditions_before_a_step(self.system)
        for property_ in self.invariants:
            yield property_.name, property_.holds

    def _after(self, property_: SymbolicProperty, transition: Transition) -> Truth:
        """Return a property as a term about a transition's successor."""
        system = self.system
        old = system.state if property_.role is Role.STEP_INVARIANT else None
        return system.over(property_.holds, transition.successor, old)

    def _initially(self, conjunct: str, violated: Truth) -> None:
        initial = self.system.initial
        # A failing action is not enabled, so `taken` would exclude the case in question.
        reached = initial.assumed if conjunct == BOUNDS else initial.taken
        self.on_query(conjunct, INIT)
        self._ask(new_solver(is_finite=self.system.is_finite), conjunct, initial, both(reached, violated))

    def _preserved_by(self, transition: Transition) -> None:
        solver = new_solver(is_finite=self.system.is_finite)
        for _, truth in self._hypothesis():
            solver.add(truth_term(truth))
        if ask_condition(solver, self.limits, transition.taken).answer == "no":
            self.proof.never_taken.append(transition.name)
        for property_ in self.properties:
            self.on_query(property_.name, transition.name)
            violated = both(transition.taken, negate(self._after(property_, transition)))
            self._ask(solver, property_.name, transition, violated)
        self.on_query(BOUNDS, transition.name)
        self._ask(solver, BOUNDS, transition, both(transition.assumed, transition.failed))

    def _ask(self, solver: Any, conjunct: str, transition: Transition, violated: Truth) -> None:
        """Ask whether a transition violates a conjunct, and note the answer, with a small counterexample."""
        asked = guarded(solver, violated)
        query = ask(solver, self.limits, asked)
        if query.answer == "yes":
            values = [*self.system.state.values(), *(parameter.value for parameter in transition.parameters)]
            small = smallest_model(solver, query, [asked], values, self.limits)
            query = replace(small, seconds=query.seconds)
        outcomes: dict[str, Outcome] = {"no": "proved", "yes": "fails", "unknown": "unknown"}
        found = self._counterexample(conjunct, transition, query) if query.answer == "yes" else None
        cell = ProofCell(conjunct, transition.name, outcomes[query.answer], query.seconds, query.reason, found)
        self.proof.cells.append(cell)

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
