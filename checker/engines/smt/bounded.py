"""Bounded model checking: the shortest violations within a number of states, by unrolling from the initial states."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import z3

from checker.engines.smt.lassos import LassoAnswer, LassoSearch
from checker.engines.smt.lowering.logic import Truth, any_of, both, negate, truth_term
from checker.engines.smt.solving import AnsweredQuery, QueryLimits, ask, ask_condition, satisfiable
from checker.engines.smt.transition_system import TransitionSystem
from checker.engines.smt.unrolling import Unrolling
from checker.engines.smt.vacuity import refuse_no_initial_state
from checker.errors import BoundsError
from checker.explain import violations
from checker.language.interpreter import State
from checker.language.liveness import liveness_names
from checker.language.roles import Role
from checker.run.plan import Stop
from checker.run.result import Violation

BOUNDS = "bounds"
"""Name of the implicit property that no action leaves the bounds of a type."""

OnLength = Callable[[int, float], None]
"""Callback before each length: the number of states in the traces, and the seconds so far."""


@dataclass(frozen=True)
class UnansweredQuery:
    """A query that Z3 did not answer: the property, the number of states, the reason."""

    property: str
    length: int
    reason: str


@dataclass
class BoundedSearch:
    """The result of a bounded search.

    - `depth`: the number of states up to which all traces are covered. Up to that length only the properties in
      `violations` are violated. The trace of a lasso ends with the first state of its loop.
    - `stem_depth`: the number of states of the traces among which no lasso to a violated liveness property has a
      shorter stem than the one in `violations`.
    - `longest`: the number of states of the longest traces, if the constraints exclude longer ones than that.
    - `seen`: for each watched condition that can be true, the number of states of the shortest trace to it.
    - `seconds`: the time of each length; index 0 is the traces of one state.
    """

    depth: int = 0
    stem_depth: int = 0
    longest: int | None = None
    violations: list[Violation] = field(default_factory=list)
    unknown: list[UnansweredQuery] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)


def search(
    system: TransitionSystem,
    names: list[str],
    depth: int,
    limits: QueryLimits,
    stop: Stop = "first",
    on_length: OnLength = lambda length, seconds: None,
    is_over: Callable[[int, float], bool] = lambda length, seconds: False,
    watched: Mapping[str, Truth] | None = None,
) -> BoundedSearch:
    """Search for violations by traces of up to `depth` states, the shortest first.

    An invariant, step invariant or lemma is violated where it is false or cannot be evaluated; an action is faulty
    where it leaves the bounds of a type. A liveness property is violated by a lasso: after one is found, the search
    continues up to `depth`, because a longer trace may have a shorter stem. `is_over(length, seconds)` may end the
    search before a length. The result also has the length at which each of the `watched` conditions on a state can
    first be true. `system` needs the properties except those of liveness. Raises SpecError if the spec has no initial
    state.
    """
    return _BoundedSearch(system, names, limits, stop, on_length, dict(watched or {})).run(depth, is_over)


class _BoundedSearch:
    def __init__(
        self,
        system: TransitionSystem,
        names: list[str],
        limits: QueryLimits,
        stop: Stop,
        on_length: OnLength,
        watched: dict[str, Truth],
    ):
        self.watched = watched
        self.system, self.limits, self.stop, self.on_length = system, limits, stop, on_length
        self.unrolling = Unrolling(system)
        liveness = liveness_names(system.spec, names)
        self.open = [name for name in names if name not in liveness]
        self.lassos = LassoSearch(system, self.unrolling, liveness, limits) if liveness else None
        self.open_liveness = liveness
        self.is_stopped = False
        self.found = BoundedSearch()
        self.started = time.perf_counter()

    def run(self, depth: int, is_over: Callable[[int, float], bool]) -> BoundedSearch:
        """Search length by length."""
        refuse_no_initial_state(self.system, self.limits)
        if self._init_fails():
            return self.found
        self.unrolling.start_initially()
        for length in range(1, depth + 1):
            seconds = time.perf_counter() - self.started
            if is_over(length, seconds):
                break
            self.on_length(length, seconds)
            began = time.perf_counter()
            if length > 1:
                self.unrolling.extend()
                if self._has_no_trace():
                    self.found.longest = length - 1
                    break
            is_finished = self._search_length(length)
            self.found.seconds.append(time.perf_counter() - began)
            if is_finished:
                break
        return self.found

    def _has_no_trace(self) -> bool:
        """Return whether the constraints exclude all traces of the current length."""
        return bool(self.system.constraints) and ask(self.unrolling.solver, self.limits).answer == "no"

    def _init_fails(self) -> bool:
        initial = self.system.initial
        query = satisfiable([initial.assumed, initial.failed], self.limits, is_finite=self.system.is_finite)
        if query.answer == "yes":
            self.found.violations.append(violations.bounds_in_init(self.system.spec))
        return query.answer == "yes"

    def _search_length(self, length: int) -> bool:
        """Search the traces of a length; return whether the search is over."""
        for name in list(self.open):
            self._search_property(name, length)
        self._watch(length)
        if not self.is_stopped:
            self._search_bounds(length)
        self._search_lassos(length)
        if self.found.unknown:
            return True
        if not self.is_stopped:
            self.found.depth = length
        self.found.stem_depth = length
        if any(violation.kind == "bounds_error" for violation in self.found.violations):
            return True
        if self._is_satisfied():
            # Only the stems of the lassos remain open.
            self.is_stopped, self.open, self.open_liveness, self.watched = True, [], [], {}
        return not (self.open or self.watched or self.open_liveness or self._with_a_stem())

    def _is_satisfied(self) -> bool:
        violated = {violation.property for violation in self.found.violations}
        if self.stop == "first":
            return bool(violated)
        return self.stop != "all" and self.stop <= violated

    def _with_a_stem(self) -> list[Violation]:
        """Return the lassos found so far that another lasso with a shorter stem may replace."""
        return [violation for violation in self.found.violations if violation.loop_start]

    def _search_lassos(self, length: int) -> None:
        if self.lassos is None:
            return
        for name in list(self.open_liveness):
            if self._search_lasso(name, length, None) is not None:
                self.open_liveness.remove(name)
        for violation in self._with_a_stem():
            shorter = self._search_lasso(violation.property, length, violation.loop_start)
            if shorter is not None:
                self.found.violations.remove(violation)

    def _search_lasso(self, name: str, length: int, before: int | None) -> Violation | None:
        """Search for a lasso of which the loop starts before an index; add it to the violations.

        A goal that leaves the bounds of a type is a violation, too.
        """
        assert self.lassos is not None
        answer = self.lassos.search_failure(name)
        if answer == LassoAnswer():
            answer = self.lassos.search(name, before)
        if answer.unknown is not None:
            self.found.unknown.append(UnansweredQuery(name, length, answer.unknown))
        if answer.violation is not None:
            self.found.violations.append(answer.violation)
        return answer.violation

    def _watch(self, length: int) -> None:
        for name, truth in list(self.watched.items()):
            query = self._ask(truth, length)
            if query.answer == "unknown":
                self.found.unknown.append(UnansweredQuery(name, length, query.reason))
            elif query.answer == "yes":
                self.found.seen[name] = length
                del self.watched[name]

    def _search_property(self, name: str, length: int) -> None:
        property_ = self.system.properties[name]
        if property_.role is Role.STEP_INVARIANT and length == 1:
            return
        query = self._ask(negate(property_.holds), length)
        if query.answer == "unknown":
            self.found.unknown.append(UnansweredQuery(name, length, query.reason))
        elif query.answer == "yes":
            trace = self.unrolling.trace(query)
            old = trace[-2].state if property_.role is Role.STEP_INVARIANT else None
            if self._is_evaluated(name, trace[-1].state, old):
                self.found.violations.append(violations.false_property(self.system.spec, name, trace))
            else:
                self.found.violations.append(violations.bounds_in_property(self.system.spec, name, trace))
            self.open.remove(name)
        else:
            # The property holds in the last state of every trace of this length: as a learned fact it shortens the
            # search for longer traces.
            self.unrolling.add(property_.holds, length - 1)

    def _is_evaluated(self, name: str, state: State, old: State | None) -> bool:
        try:
            is_true = self.system.spec.holds(name, state, old)
        except BoundsError:
            return False
        assert not is_true, f"the engines disagree: {name} is true in {state}"
        return True

    def _search_bounds(self, length: int) -> None:
        """Search for an action that leaves a type's bounds in the last state."""
        failing = [both(candidate.assumed, candidate.failed) for candidate in self.system.transitions]
        if any_of(failing) is False:
            return
        query = self._ask(both(self.system.within_constraints, any_of(failing)), length)
        if query.answer == "unknown":
            self.found.unknown.append(UnansweredQuery(BOUNDS, length, query.reason))
        if query.answer != "yes":
            return
        trace = self.unrolling.trace(query)
        last = length - 1
        for transition, condition in zip(self.system.transitions, failing, strict=True):
            if z3.is_true(query.evaluate(truth_term(self.unrolling.at(condition, last)))):
                arguments = self.unrolling.arguments(query, transition, last)
                violation = violations.bounds_in_action(self.system.spec, transition.name, arguments, trace)
                self.found.violations.append(violation)
                return

    def _ask(self, truth: Truth, length: int) -> AnsweredQuery:
        """Return whether a condition can be true in the last state."""
        return ask_condition(self.unrolling.solver, self.limits, self.unrolling.at(truth, length - 1))
