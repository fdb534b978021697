"""Bounded search for lassos: the counterexamples to liveness properties among the paths of an unrolling.

A lasso of n states is a path s[0] ... s[n-1] with a loop that starts at some s[l]:

    l < n - 1    s[n-1] = s[l], so the steps from s[l] to s[n-1] are a loop
    l = n - 1    the behaviour stays in s[n-1] for ever

The loop must be fair: for each fair class

    weak         a state of the loop disables it, or a step of the loop takes it
    strong       every state of the loop disables it, or a step of the loop takes it

Source: A. Biere, A. Cimatti, E. Clarke, Y. Zhu, Symbolic Model Checking without BDDs, TACAS 1999.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import z3

from checker.engines.smt.fair_steps import SymbolicFairClass, fair_classes
from checker.engines.smt.lowering.logic import Term, Truth, all_of, any_of, both, either, implies, negate, truth_term
from checker.engines.smt.solving import AnsweredQuery, QueryLimits, ask_condition
from checker.engines.smt.transition_system import SymbolicProperty, TransitionSystem
from checker.engines.smt.unrolling import Unrolling
from checker.explain import violations
from checker.explain.lassos import WrongLassoError, lasso_violation
from checker.frontend.liveness_typing import type_liveness
from checker.language.roles import Role
from checker.run.result import Violation


@dataclass(frozen=True)
class LassoAnswer:
    """The answer of a search: the violation, or why there is no answer; both None if there is no violation."""

    violation: Violation | None = None
    unknown: str | None = None


@dataclass(frozen=True)
class _Call:
    """A goal or premise with its arguments, as a term over the state."""

    number: int
    method: str
    arguments: tuple[Any, ...]
    property: SymbolicProperty


@dataclass(frozen=True)
class _Obligation:
    """A liveness property for a choice of its parameters. The premise is that of a `@leads_to`."""

    role: Role
    arguments: tuple[Any, ...]
    goal: _Call
    premise: _Call | None

    @property
    def calls(self) -> list[_Call]:
        """The goal and the premise."""
        return [self.goal] if self.premise is None else [self.goal, self.premise]


class LassoSearch:
    """Searches the paths of an unrolling, of its current length, for lassos that violate some liveness properties.

    Raises SpecError if a property is wrong or outside the language, or if the parameters cannot be enumerated.
    """

    def __init__(self, system: TransitionSystem, unrolling: Unrolling, names: list[str], limits: QueryLimits):
        self._system, self._unrolling, self._limits = system, unrolling, limits
        # The interpreter checks the lassos, so it must enumerate the parameters.
        self._spec = system.spec.with_enumerated_parameters()
        self._classes = fair_classes(system, self._spec, unrolling.following)
        self._obligations = self._type_obligations(names)
        self._labels: dict[tuple[Any, ...], Truth] = {}
        self._paths: dict[int, _LassoPath] = {}

    def _type_obligations(self, names: list[str]) -> dict[str, list[_Obligation]]:
        typed = type_liveness(self._spec, names)
        with self._spec.bound():
            calls = [
                _Call(number, call.method, call.arguments, self._system.lowered(predicate))
                for number, (call, predicate) in enumerate(zip(typed.calls, typed.predicates, strict=True))
            ]
        obligations: dict[str, list[_Obligation]] = {name: [] for name in names}
        for name, declared in typed.properties.items():
            for arguments in declared.choices(self._spec):
                goal = calls[typed.number(name, arguments)]
                given = declared.premise_arguments(arguments)
                premise = calls[typed.number(declared.premise, given)] if declared.premise else None
                obligations[name].append(_Obligation(declared.role, arguments, goal, premise))
        return obligations

    # Questions about the current length.

    def search(self, name: str, before: int | None = None) -> LassoAnswer:
        """Search for a lasso that violates a property and fills the whole path.

        The result has the earliest start of a loop among the lassos of this length. With `before`, only loops that
        start at an index below it count.
        """
        best = LassoAnswer()
        while before is None or before > 0:
            query = self._ask(name, before)
            if query.answer == "unknown":
                return LassoAnswer(best.violation, query.reason)
            if query.answer == "no":
                break
            violation = self._violation(name, query)
            best, before = LassoAnswer(violation), violation.loop_start
        return best

    def search_failure(self, name: str) -> LassoAnswer:
        """Search for a last state in which a goal or premise of a property leaves its bounds."""
        last = self._unrolling.length - 1
        calls = [call for obligation in self._obligations[name] for call in obligation.calls]
        failed = any_of(self._unrolling.at(call.property.failed, last) for call in calls)
        query = ask_condition(self._unrolling.solver, self._limits, failed)
        if query.answer == "unknown":
            return LassoAnswer(unknown=query.reason)
        if query.answer == "no":
            return LassoAnswer()
        call = next(call for call in calls if self._is_true(query, self._unrolling.at(call.property.failed, last)))
        trace = self._unrolling.trace(query)
        return LassoAnswer(violations.bounds_in_liveness(self._spec, name, call.method, call.arguments, trace))

    def _ask(self, name: str, before: int | None) -> AnsweredQuery:
        path = self._path()
        starts_before = True if before is None else path.is_in_loop(before - 1)
        violated = any_of(self._violates(path, obligation) for obligation in self._obligations[name])
        return ask_condition(self._unrolling.solver, self._limits, all_of((path.is_fair, starts_before, violated)))

    def _violation(self, name: str, query: AnsweredQuery) -> Violation:
        path = self._path()
        start = next(i for i in range(path.length) if self._is_true(query, path.is_in_loop(i)))
        violated = next(
            obligation
            for obligation in self._obligations[name]
            if self._is_true(query, self._violates(path, obligation))
        )
        try:
            return lasso_violation(self._spec, name, violated.arguments, self._unrolling.trace(query), start)
        except WrongLassoError as error:
            raise AssertionError(f"the engines disagree: {error}") from error

    @staticmethod
    def _is_true(query: AnsweredQuery, truth: Truth) -> bool:
        return truth if isinstance(truth, bool) else z3.is_true(query.evaluate(truth))

    # Conditions on states and steps. Each has a literal, so that Z3 translates it once.

    def _label(self, key: tuple[Any, ...], truth: Callable[[], Truth]) -> Truth:
        """Return a literal that is equivalent to a condition; `key` identifies the condition."""
        if key not in self._labels:
            answer = truth()
            if not isinstance(answer, bool):
                literal = z3.Bool(" ".join(map(str, key)))
                self._unrolling.solver.add(literal == answer)
                answer = literal
            self._labels[key] = answer
        return self._labels[key]

    def _goal(self, obligation: _Obligation, index: int) -> Truth:
        return self._call(obligation.goal, index)

    def _call(self, call: _Call, index: int) -> Truth:
        return self._label(("call", call.number, index), lambda: self._unrolling.at(call.property.holds, index))

    def _owes(self, obligation: _Obligation, index: int) -> Truth:
        """Return whether the premise was true in a state up to `index`, and the goal has been false from there on."""
        premise = obligation.premise
        assert premise is not None
        key = ("owed", obligation.goal.number, premise.number, index)
        before = index > 0 and self._owes(obligation, index - 1)
        return self._label(
            key, lambda: both(negate(self._goal(obligation, index)), either(self._call(premise, index), before))
        )

    def _enables(self, number: int, chosen: _Item, index: int) -> Truth:
        """Return whether state `index` enables a class; `chosen` is an item for the placeholders."""
        fair_class = self._classes[number]
        return self._label(
            ("enabled", number, *chosen, index), lambda: self._of_item(fair_class, fair_class.enabled, chosen, index)
        )

    def _takes(self, number: int, chosen: _Item, index: int) -> Truth:
        """Return whether the step from state `index` takes a class."""
        fair_class = self._classes[number]
        return self._label(
            ("takes", number, *chosen, index), lambda: self._of_item(fair_class, fair_class.taken, chosen, index)
        )

    def _of_item(self, fair_class: SymbolicFairClass, truth: Truth, chosen: _Item, index: int) -> Truth:
        truth = self._unrolling.at(truth, index)
        if not chosen or isinstance(truth, bool):
            return truth
        state, item = chosen
        terms = [self._unrolling.at(term, state) for term in fair_class.items[item]]
        return z3.substitute(truth, *zip(fair_class.placeholders, terms, strict=True))

    # Conditions on a lasso of the current length.

    def _path(self) -> _LassoPath:
        """Return the constraints on the lassos of the current length; they are asserted under a literal."""
        length = self._unrolling.length
        if length not in self._paths:
            path = _LassoPath(length)
            closed = all_of((*path.shape(self._unrolling.is_same), *self._inside(path), *self._fair(path)))
            self._unrolling.solver.add(z3.Implies(path.is_fair, truth_term(closed)))
            self._paths[length] = path
        return self._paths[length]

    def _inside(self, path: _LassoPath) -> list[Truth]:
        """Return that the last state is within the constraints: the other ones are, because they have a step."""
        return [self._unrolling.at(self._system.within_constraints, path.last)]

    def _fair(self, path: _LassoPath) -> list[Truth]:
        """Return that the loop is fair to every class."""
        conditions = []
        for number, fair_class in enumerate(self._classes):
            if fair_class.strength == "weak":
                conditions += [self._weakly_fair(path, number, item) for item in _items(fair_class, path.last)]
            elif fair_class.placeholders:
                for index in range(path.length):
                    is_fair = (self._strongly_fair(path, number, item, [index]) for item in _items(fair_class, index))
                    conditions.append(all_of(is_fair))
            else:
                conditions.append(self._strongly_fair(path, number, (), list(range(path.length))))
        return conditions

    def _weakly_fair(self, path: _LassoPath, number: int, item: _Item) -> Truth:
        """Return whether the loop is weakly fair to a class.

        The last state is the first state of the loop, or the only one. An item that it does not have is disabled there.
        """
        disabled = path.some_in_loop(lambda index: negate(self._enables(number, item, index)))
        return either(disabled, self._takes_class(path, number, item))

    def _strongly_fair(self, path: _LassoPath, number: int, item: _Item, indices: list[int]) -> Truth:
        """Return whether the loop is strongly fair to a class that only the states `indices` may enable."""
        disabled = all_of(
            implies(path.is_in_loop(index), negate(self._enables(number, item, index))) for index in indices
        )
        return either(disabled, self._takes_class(path, number, item))

    def _takes_class(self, path: _LassoPath, number: int, item: _Item) -> Truth:
        """Return whether a step of the loop takes a class. A path that stays in its last state has no such step."""
        return any_of(both(path.is_in_loop(index), self._takes(number, item, index)) for index in range(path.last))

    def _violates(self, path: _LassoPath, obligation: _Obligation) -> Truth:
        """Return whether the lasso violates a property for a choice of its parameters."""
        false_in_loop = path.all_in_loop(lambda index: negate(self._goal(obligation, index)))
        match obligation.role:
            case Role.EVENTUALLY:
                return all_of(negate(self._goal(obligation, index)) for index in range(path.length))
            case Role.ALWAYS_EVENTUALLY:
                return false_in_loop
            case Role.EVENTUALLY_ALWAYS:
                return path.some_in_loop(lambda index: negate(self._goal(obligation, index)))
            case _:
                owed = [implies(path.starts_at(index), self._owes(obligation, index)) for index in range(path.length)]
                return all_of((false_in_loop, *owed))


_Item = tuple[int, int] | tuple[()]
"""An item of a collection: the index of the state that has it, and its number there. () for a class without items."""


def _items(fair_class: SymbolicFairClass, index: int) -> list[_Item]:
    """Return the items for the placeholders of a class in a state."""
    return [(index, number) for number in range(len(fair_class.items))] if fair_class.placeholders else [()]


class _LassoPath:
    """The literals of the lassos of one length: where the loop starts, and that the lasso is fair."""

    def __init__(self, length: int):
        self.length, self.last = length, length - 1
        self.is_fair: Term = z3.Bool(f"lasso of {length}")
        self._in_loop = [z3.Bool(f"lasso of {length} in loop at {index}") for index in range(self.last)]

    def is_in_loop(self, index: int) -> Truth:
        """Return whether a state belongs to the loop. The last state does: it is equal to the first one of the loop."""
        if index < 0:
            return False
        return self._in_loop[index] if index < self.last else True

    def starts_at(self, index: int) -> Truth:
        """Return whether the loop starts at a state."""
        return both(self.is_in_loop(index), negate(self.is_in_loop(index - 1)))

    def shape(self, is_same: Callable[[int, int], Truth]) -> list[Truth]:
        """Return that the loop goes from one state to the last one, and that these two are the same."""
        onwards = [implies(self.is_in_loop(index - 1), self.is_in_loop(index)) for index in range(1, self.length)]
        return onwards + [implies(self.starts_at(index), is_same(index, self.last)) for index in range(self.last)]

    def all_in_loop(self, condition: Callable[[int], Truth]) -> Truth:
        """Return whether a condition is true in every state of the loop."""
        return all_of(implies(self.is_in_loop(index), condition(index)) for index in range(self.length))

    def some_in_loop(self, condition: Callable[[int], Truth]) -> Truth:
        """Return whether a condition is true in a state of the loop."""
        return any_of(both(self.is_in_loop(index), condition(index)) for index in range(self.length))
