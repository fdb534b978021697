"""The shortest continuation of a state that violates a property, or that reaches a `@reachable`.

The native engine searches from the state, level by level. The interpreter searches if the native engine cannot: for a
`@reachable`, of which the native engine keeps no trace; for a refinement, which the native engine would also check as
that of an initial state; and for a spec that the native engine refuses.
"""

from __future__ import annotations

import collections
import threading
import time
from dataclasses import dataclass
from typing import Literal

from checker.errors import BoundsError, SpecError
from checker.explain import violations
from checker.language.interpreter import State, Step
from checker.language.roles import LIVENESS_ROLES, STEP_ROLES, Role
from checker.language.spec import Spec
from checker.run.plan import DEADLOCK, Plan
from checker.run.result import End, TraceStep, Violation
from checker.run.workers import default_workers

_CUTS: dict[End, str] = {
    "max_states": "it reached the limit of states",
    "max_memory": "memory is short",
    "max_disk": "the disk is full",
    "interrupted": "it was interrupted",
}
_LATE = "it took {:g} seconds"


@dataclass(frozen=True)
class SearchLimits:
    """The limits of a search: distinct states and seconds."""

    states: int = 1_000_000
    seconds: float = 10.0


@dataclass(frozen=True)
class ViolationSearch:
    """The result of a search.

    - "found": `trace` is a shortest continuation, which begins with the state itself. `explanation` explains its end.
      `found` is the property, or the action or property that leaves the bounds of a type: the search ends there.
    - "never": every state that is reachable from the state was explored, and none of them violates the property.
    - "cut": the search ended before that, for the reason `why_cut`. It decides nothing.
    """

    outcome: Literal["found", "never", "cut"]
    states: int
    levels: int
    seconds: float
    engine: Literal["native", "python"]
    found: str = ""
    trace: tuple[TraceStep, ...] = ()
    explanation: str = ""
    is_bounds_error: bool = False
    why_cut: str = ""


def searchable_properties(spec: Spec) -> list[str]:
    """Return the properties that a search can look for: all but those of whole behaviours, and `deadlock`."""
    return [*(name for name in spec.properties if spec.roles[name] not in LIVENESS_ROLES), DEADLOCK]


def search_violation(
    spec: Spec, state: State, name: str, limits: SearchLimits, cancelled: threading.Event | None = None
) -> ViolationSearch:
    """Search a shortest continuation of a state that violates a property, breadth-first."""
    cancelled = cancelled or threading.Event()
    role = spec.roles.get(name)
    if role not in (Role.REACHABLE, Role.REFINEMENT):
        try:
            return _search_natively(spec, state, name, limits, cancelled)
        except (SpecError, ModuleNotFoundError):
            # A spec outside the language of the native engine still runs in the interpreter.
            pass
    return search_with_interpreter(spec, state, name, limits, cancelled)


def _search_natively(
    spec: Spec, state: State, name: str, limits: SearchLimits, cancelled: threading.Event
) -> ViolationSearch:
    # Imported here: the engine loads LLVM.
    from checker.engines.native.engine import compile_native, explore_compiled

    started = time.perf_counter()
    names = [] if name == DEADLOCK else [name]
    with _Deadline(limits.seconds, cancelled) as deadline:
        plan = Plan(
            properties=tuple(names),
            workers=default_workers(),
            max_states=limits.states,
            deadlock=name == DEADLOCK,
            quick=True,
            cancelled=cancelled,
        )
        result, _ = explore_compiled(compile_native(spec, names, quick=True), plan, [state], 0.0)
    seconds = time.perf_counter() - started
    if result.violations:
        return _search_result(result.violations[0], result.distinct_states, result.depth, seconds, "native")
    if result.ended == "complete":
        return ViolationSearch("never", result.distinct_states, result.depth, seconds, "native")
    why = _LATE.format(limits.seconds) if deadline.is_over else _CUTS.get(result.ended, result.ended)
    return ViolationSearch("cut", result.distinct_states, result.depth, seconds, "native", why_cut=why)


class _Deadline:
    """Sets an event after some seconds, unless the block ends before."""

    def __init__(self, seconds: float, event: threading.Event):
        self.is_over = False
        self._event = event
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def _end(self) -> None:
        self.is_over = True
        self._event.set()

    def __enter__(self) -> _Deadline:
        self._timer.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._timer.cancel()


def _search_result(
    violation: Violation, states: int, levels: int, seconds: float, engine: Literal["native", "python"]
) -> ViolationSearch:
    return ViolationSearch(
        "found",
        states,
        levels,
        seconds,
        engine,
        found=violation.property,
        trace=violation.trace,
        explanation=violation.explanation,
        is_bounds_error=violation.kind == "bounds_error",
    )


def search_with_interpreter(
    spec: Spec, state: State, name: str, limits: SearchLimits, cancelled: threading.Event
) -> ViolationSearch:
    """Search with the interpreter, as `search_violation` does."""
    search = _InterpretedSearch(spec, state, name)
    started = time.perf_counter()

    def result(outcome: Literal["never", "cut"], why: str = "") -> ViolationSearch:
        seconds = time.perf_counter() - started
        return ViolationSearch(outcome, len(search.origins), search.levels, seconds, "python", why_cut=why)

    while search.queue:
        if cancelled.is_set():
            return result("cut", _CUTS["interrupted"])
        if time.perf_counter() - started > limits.seconds:
            return result("cut", _LATE.format(limits.seconds))
        if len(search.origins) >= limits.states:
            return result("cut", _CUTS["max_states"])
        violation = search.expand()
        if violation is not None:
            seconds = time.perf_counter() - started
            return _search_result(violation, len(search.origins), search.levels, seconds, "python")
    return result("never")


class _InterpretedSearch:
    """A breadth-first search: `origins` has each state with the state before it and the step between them."""

    def __init__(self, spec: Spec, state: State, name: str):
        self._spec, self._name, self._role = spec, name, spec.roles.get(name)
        self.origins: dict[State, tuple[State, Step] | None] = {state: None}
        self.queue = collections.deque([(state, 1)])
        self.levels = 1

    def expand(self) -> Violation | None:
        """Check the next state and the steps from it; return what the search looks for, if it is found."""
        state, level = self.queue.popleft()
        violation = self._violation_in(state)
        if violation is not None:
            return violation
        for constraint in self._spec.names_of(Role.CONSTRAINT):
            try:
                if not self._spec.holds(constraint, state):
                    return None
            except BoundsError:
                return violations.bounds_in_property(self._spec, constraint, self._trace(state))
        steps, failures = self._spec.expand(state)
        for failure in failures:
            return violations.bounds_in_action(self._spec, failure.action, failure.arguments, self._trace(state))
        if self._name == DEADLOCK and not steps:
            return violations.deadlock(self._trace(state))
        for step in steps:
            violation = self._violation_in_step(state, step)
            if violation is not None:
                return violation
            if step.state not in self.origins:
                self.origins[step.state] = (state, step)
                self.queue.append((step.state, level + 1))
                self.levels = level + 1
        return None

    def _violation_in(self, state: State) -> Violation | None:
        if self._role not in (Role.INVARIANT, Role.REACHABLE):
            return None
        try:
            is_true = self._spec.holds(self._name, state)
        except BoundsError:
            return violations.bounds_in_property(self._spec, self._name, self._trace(state))
        if self._role is Role.REACHABLE:
            return (
                Violation(self._name, "reachable", self._trace(state), "it is true in this state") if is_true else None
            )
        return None if is_true else violations.false_property(self._spec, self._name, self._trace(state))

    def _violation_in_step(self, state: State, step: Step) -> Violation | None:
        if self._role not in STEP_ROLES:
            return None
        trace = (*self._trace(state), TraceStep(step.action, step.arguments, step.state))
        try:
            is_true = self._spec.holds(self._name, step.state, state)
        except BoundsError:
            return violations.bounds_in_property(self._spec, self._name, trace)
        return None if is_true else violations.false_property(self._spec, self._name, trace)

    def _trace(self, state: State) -> tuple[TraceStep, ...]:
        steps = []
        while (origin := self.origins[state]) is not None:
            before, step = origin
            steps.append(TraceStep(step.action, step.arguments, state))
            state = before
        return (TraceStep(None, (), state), *reversed(steps))
