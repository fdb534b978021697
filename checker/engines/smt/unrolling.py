"""Unrolling of a transition system: a path of states as assertions of one solver."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import z3

from checker.engines.smt.lowering.evaluation import State
from checker.engines.smt.lowering.logic import (
    CONTEXT,
    CONTEXT_REF,
    Term,
    Truth,
    all_of,
    any_of,
    asts,
    equal_terms,
    implies,
    negate,
    truth_term,
)
from checker.engines.smt.lowering.symbolic_values import merged, z3_constants
from checker.engines.smt.solving import AnsweredQuery, new_solver
from checker.engines.smt.transition_system import Transition, TransitionSystem
from checker.errors import BoundsError, Disabled
from checker.run.result import TraceStep


class Unrolling:
    """States 0 to n with the steps between them.

    The step relation is built once; `at` instantiates it for a state by renaming constant `x` to `x@index`.
    `following` is the state after a step, in terms for `at`.
    """

    def __init__(self, system: TransitionSystem):
        self.system = system
        self.solver: Any = new_solver(is_finite=system.is_finite)
        self.following = system.new_state("next ")
        self._takes = [z3.Bool(f"takes {transition.name}") for transition in system.transitions]
        self._parameters = [
            term for transition in system.transitions for p in transition.parameters for term in z3_constants(p.value)
        ]
        self._initial_parameters = [term for p in system.initial.parameters for term in z3_constants(p.value)]
        self._step = truth_term(self._step_relation())
        self._states: list[list[Term]] = [self._copies(system.constants, 0)]
        self._renamings: dict[tuple[int, bool], tuple[list[tuple[Term, Term]], Any, Any]] = {}

    def _step_relation(self) -> Truth:
        """Return the step relation, with the successor as an if-then-else over the action taken.

        The disjunction of one relation per action is equivalent, but the search takes longer. Exactly one of the
        `takes` literals is true.
        """
        system, takes = self.system, self._takes
        if not takes:
            return False
        # One `takes` literal is true, so the last action needs no test.
        successor: State = system.transitions[-1].successor
        for take, transition in zip(takes[-2::-1], system.transitions[-2::-1], strict=True):
            successor = {name: merged(take, transition.successor[name], value) for name, value in successor.items()}
        only_one = [negate(all_of((one, other))) for index, one in enumerate(takes) for other in takes[:index]]
        # Not an equivalence: several actions can be enabled, but a step takes one.
        enabled = [implies(take, each.taken) for take, each in zip(takes, system.transitions, strict=True)]
        return all_of((any_of(takes), *only_one, *enabled, system.is_state(self.following, successor)))

    @property
    def length(self) -> int:
        """The number of states."""
        return len(self._states)

    def start_anywhere(self) -> None:
        """Constrain the first state to be well formed."""
        self.add(self.system.well_formed, 0)

    def start_initially(self) -> None:
        """Constrain the first state to be initial."""
        system, initial = self.system, self.system.initial
        relation = all_of((initial.taken, system.is_state(system.state, initial.successor)))
        self.add(relation, 0)

    def extend(self) -> None:
        """Add a state one step after the last one; the last one must satisfy the spec's constraints."""
        last = self.length - 1
        self.add(self.system.within_constraints, last)
        self._states.append(self._copies(self.system.constants, last + 1))
        self.solver.add(self.at(self._step, last))

    def add(self, truth: Truth, index: int) -> None:
        """Assert a condition on state `index` and, for a step invariant, the state before it."""
        self.solver.add(truth_term(self.at(truth, index)))

    def at(self, truth: Truth, index: int) -> Truth:
        """Return a term over the system's state as a term over state `index`; `old` becomes the state before it."""
        if isinstance(truth, bool):
            return truth
        olds, news = self._renaming(index, has_next=index + 1 < self.length)
        # Constants become constants, so the class of the term remains the same.
        return type(truth)(z3.Z3_substitute(CONTEXT_REF, truth.as_ast(), len(olds), olds, news), CONTEXT)

    def _renaming(self, index: int, *, has_next: bool) -> tuple[Any, Any]:
        """Return the constants of a state and of its step, and their copies, as arrays for Z3's C interface."""
        key = (index, has_next)
        if key not in self._renamings:
            system = self.system
            pairs = list(zip(system.constants, self._states[index], strict=True))
            for terms in (self._parameters, self._takes, self._initial_parameters):
                pairs += zip(terms, self._copies(terms, index), strict=True)
            if has_next:
                pairs += zip(system.z3_constants(self.following), self._states[index + 1], strict=True)
            if index:
                pairs += zip(system.z3_constants(system.old), self._states[index - 1], strict=True)
            # Z3 frees a term without references: the pairs keep theirs as long as the arrays exist.
            self._renamings[key] = (pairs, asts([one for one, _ in pairs]), asts([other for _, other in pairs]))
        return self._renamings[key][1:]

    def is_same(self, index: int, other: int) -> Truth:
        """Return whether two states of the path are equal."""
        pairs = zip(self._states[index], self._states[other], strict=True)
        return all_of(equal_terms(one, another) for one, another in pairs)

    def _copies(self, terms: list[Term], index: int) -> list[Term]:
        return [z3.Const(f"{term.decl().name()}@{index}", term.sort()) for term in terms]

    # Conversion of models to traces.

    def trace(self, query: AnsweredQuery) -> tuple[TraceStep, ...]:
        """Return the path of a model as a trace; the interpreter confirms each step."""
        steps = []
        for index in range(self.length):
            state = self.system.decoded(self.system.state, lambda term, at=index: query.evaluate(self.at(term, at)))  # type: ignore[misc]
            if index == 0:
                steps.append(TraceStep(None, (), state))
            else:
                transition = self._transition_at(query, index - 1)
                arguments = self.arguments(query, transition, index - 1)
                steps.append(TraceStep(transition.name, arguments, state))
        confirm(self.system, tuple(steps))
        return tuple(steps)

    def _transition_at(self, query: AnsweredQuery, index: int) -> Transition:
        for take, transition in zip(self._takes, self.system.transitions, strict=True):
            if z3.is_true(query.evaluate(self.at(take, index))):
                return transition
        raise AssertionError("no action is taken in a step of the model")

    def arguments(self, query: AnsweredQuery, transition: Transition, index: int) -> tuple[Any, ...]:
        """Return the arguments of a transition in the step from state `index`."""
        with self.system.spec.bound():
            values = transition.arguments(lambda term: query.evaluate(self.at(term, index)))
        return self.system.spec.as_called(transition.name, values)


def confirm(system: TransitionSystem, trace: tuple[TraceStep, ...]) -> None:
    """Execute every step of a trace with the interpreter; raise AssertionError if a result differs."""
    for before, step in pairwise(trace):
        assert step.action is not None
        with system.spec.bound():
            try:
                successor = system.spec.step(before.state, step.action, *step.arguments)
            except (Disabled, BoundsError) as error:
                raise AssertionError(f"the engines disagree: {step} in {before.state}: {error!r}") from error
        if successor != step.state:
            raise AssertionError(f"the engines disagree: {step} in {before.state}: {successor} against {step.state}")
