"""Proof by induction for every value of some constants: the queries, each split into as small parts as it has."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator
from typing import Any

import z3

from checker.language.errors import SpecError
from checker.language.spec import Role
from checker.prove.bounded import BOUNDS
from checker.prove.induction import Cell, OnQuery, Outcome, Proof
from checker.prove.logic import Truth, all_of, any_of, implies, negate, truth_term
from checker.prove.solving import Limits, Query, ask
from checker.prove.system import Transition
from checker.prove.unbounded.system import UnboundedSystem, conjuncts


def prove(
    system: UnboundedSystem,
    targets: list[str],
    lemmas: list[str],
    limits: Limits,
    on_query: OnQuery = lambda conjunct, action: None,
) -> Proof:
    """Prove invariants and step invariants, with lemmas, by induction for every value of the open constants.

    A cell that is not proved is `unknown`, also where Z3 has a model: with quantifiers a model is no counterexample
    before it is confirmed. Raises SpecError where the hypothesis contradicts itself, or `init` leads nowhere.
    """
    return _Induction(system, targets, lemmas, limits, on_query).run()


FEW_SECONDS = 0.5
"""The time of an attempt with few hypotheses, before that with all."""


class _Induction:
    def __init__(
        self, system: UnboundedSystem, targets: list[str], lemmas: list[str], limits: Limits, on_query: OnQuery
    ):
        self.system, self.limits, self.on_query = system, limits, on_query
        self.proof = Proof(targets, lemmas)
        self.names = [*targets, *(name for name in lemmas if name not in targets)]
        roles = system.spec.roles
        self.invariants = [name for name in self.names if roles[name] is not Role.STEP_INVARIANT]

    def run(self) -> Proof:
        """Ask all queries."""
        hypothesis = list(self._hypothesis())
        self._refuse_contradictions(hypothesis)
        initials = self.system.initials
        for name in self.invariants:
            self._ask_cell(name, initials, [])
        self._ask_cell(BOUNDS, initials, [])
        for _, group in itertools.groupby(self.system.transitions, lambda found: found.name):
            transitions = list(group)
            for name in [*self.names, BOUNDS]:
                self._ask_cell(name, transitions, hypothesis)
            self._note_never_taken(transitions, hypothesis)
        order = {name: index for index, name in enumerate([*self.names, BOUNDS])}
        self.proof.cells.sort(key=lambda cell: order[cell.conjunct])
        return self.proof

    def _hypothesis(self) -> Iterator[tuple[str, Truth]]:
        yield "the types", self.system.well_formed
        for name in [*self.system.constraints, *self.invariants]:
            yield name, self.system.claim(name, self.system.state).holds

    def _goal(self, conjunct: str, transition: Transition) -> Truth:
        """Return what must be true of a transition for a conjunct to be preserved by it."""
        if conjunct == BOUNDS:
            return negate(transition.failed)
        is_step = self.system.spec.roles[conjunct] is Role.STEP_INVARIANT
        return self.system.claim(conjunct, transition.successor, self.system.state if is_step else None).holds

    def _refuse_contradictions(self, hypothesis: list[tuple[str, Truth]]) -> None:
        """Raise SpecError if no state satisfies the hypothesis, or if `init` is never enabled."""
        solver = self._solver()
        markers = {f"hypothesis {number}": name for number, (name, _) in enumerate(hypothesis)}
        for marker, (_, truth) in zip(markers, hypothesis, strict=True):
            solver.add(z3.Implies(z3.Bool(marker), truth_term(truth)))
        if ask(solver, self._short(), *[z3.Bool(marker) for marker in markers]).answer == "no":
            core = [markers[found.decl().name()] for found in solver.unsat_core()]
            named = " and ".join(name for name in core if name != "the types") or "the types"
            verb = "contradict each other" if " and " in named else "is false in every state"
            words = f"{named} {verb}: no state satisfies the induction hypothesis, so everything would follow from it"
            raise SpecError(words)
        begins = any_of(
            all_of((found.assumed, any_of((found.failed, found.enabled)))) for found in self.system.initials
        )
        if ask(self._solver([begins]), self._short()).answer == "no":
            raise SpecError(
                f"{self.system.spec.name} has no initial state: `init` is disabled for every choice of its parameters"
            )

    def _short(self) -> Limits:
        return Limits(min(self.limits.seconds or 5.0, 5.0), self.limits.cancelled)

    def _solver(self, truths: Iterable[Truth] = ()) -> Any:
        solver = z3.SimpleSolver()
        # Quantifiers are instantiated by the terms that are there; looking for models instead would take all the time.
        solver.set("smt.mbqi", False)
        solver.set("smt.auto_config", False)
        for truth in [*self.system.axioms, *self.system.definitions, *truths]:
            solver.add(truth_term(truth))
        return solver

    def _note_never_taken(self, transitions: list[Transition], hypothesis: list[tuple[str, Truth]]) -> None:
        taken = any_of(found.taken for found in transitions)
        solver = self._solver([taken, *[truth for _, truth in hypothesis]])
        if ask(solver, Limits(FEW_SECONDS, self.limits.cancelled)).answer == "no":
            self.proof.never_taken.append(transitions[0].name)

    def _ask_cell(self, conjunct: str, transitions: list[Transition], hypothesis: list[tuple[str, Truth]]) -> None:
        self.on_query(conjunct, transitions[0].name)
        started = time.perf_counter()
        open_query = next(
            (
                query
                for transition in transitions
                if (query := self._first_open(conjunct, transition, hypothesis, started)) is not None
            ),
            None,
        )
        outcome: Outcome = "proved" if open_query is None else "unknown"
        reason = "" if open_query is None else self._reason(open_query)
        seconds = time.perf_counter() - started
        self.proof.cells.append(Cell(conjunct, transitions[0].name, outcome, seconds, reason))

    def _first_open(
        self, conjunct: str, transition: Transition, hypothesis: list[tuple[str, Truth]], started: float
    ) -> Query | None:
        """Return the first query about a transition that Z3 does not refute; None if it refutes them all."""
        goal = self._goal(conjunct, transition)
        taken = transition.assumed if conjunct == BOUNDS else transition.taken
        if taken is False or goal is True:
            return None
        # What an action leaves alone follows from itself: more would only be in the way.
        own = [truth for name, truth in hypothesis[1:] if name == conjunct]
        few, all_ = (self._solver([taken, *truths]) for truths in (own, [truth for _, truth in hypothesis]))
        for part in split(goal):
            if self._asked(few, part, Limits(FEW_SECONDS, self.limits.cancelled)).answer == "no":
                continue
            query = self._asked(all_, part, self._left(started))
            if query.answer != "no":
                return query
        return None

    def _reason(self, query: Query) -> str:
        if query.reason.startswith("timeout"):
            return f"timeout: no answer within {self.limits.seconds:g} s"
        return query.reason.strip("()") or "Z3 has a model, which may leave out instances of quantifiers"

    def _asked(self, solver: Any, part: Truth, limits: Limits) -> Query:
        solver.push()
        solver.add(truth_term(negate(part)))
        query = ask(solver, limits)
        solver.pop()
        return query

    def _left(self, started: float) -> Limits:
        if self.limits.seconds is None:
            return self.limits
        return Limits(max(0.001, self.limits.seconds - (time.perf_counter() - started)), self.limits.cancelled)


def split(goal: Truth) -> list[Truth]:
    """Return the parts of a goal, each to be proved by itself."""
    parts: list[Truth] = []
    for part in conjuncts(goal):
        if z3.is_expr(part) and z3.is_not(part) and z3.is_or(part.arg(0)):
            inner = part.arg(0)
            for index in range(inner.num_args()):
                parts += split(negate(inner.arg(index)))
        elif z3.is_expr(part) and z3.is_implies(part):
            parts += [implies(part.arg(0), found) for found in split(part.arg(1))]
        else:
            parts.append(part)
    return [part for part in parts if part is not True]
