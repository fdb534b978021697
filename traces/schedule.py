"""Schedules: the actions of a trace with their arguments, and their execution by the interpreter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from checker.errors import BoundsError, Disabled
from checker.explain import violations
from checker.language.interpreter import State
from checker.language.roles import STEP_ROLES, Role
from checker.language.spec import Spec
from checker.run.plan import DEADLOCK
from checker.run.result import ActionCall, Kind, TraceStep, Violation


@dataclass(frozen=True)
class Target:
    """The violation that a schedule must reach: a property and its kind; for a `bounds_error`, the name that fails."""

    property: str
    kind: Kind

    @classmethod
    def of(cls, violation: Violation) -> Target:
        """Return the target that a violation reaches."""
        return cls(violation.property, violation.kind)


Calls = tuple[ActionCall, ...]


def calls_of(violation: Violation) -> Calls:
    """Return the schedule of a violation; if a call left its bounds, it is the last one."""
    calls = _calls_in(violation.trace)
    return calls if violation.failed_action is None else (*calls, violation.failed_action)


def _calls_in(trace: Iterable[TraceStep]) -> Calls:
    return tuple(ActionCall(step.action, step.arguments) for step in trace if step.action is not None)


@dataclass
class Executor:
    """Executes schedules of a spec from one initial state and looks for one violation.

    Results of steps are cached: candidates for a shorter schedule share most of their steps, and so do walks.
    """

    spec: Spec
    target: Target
    initial: State
    _after: dict[tuple[State, ActionCall], State | BoundsError | None] = field(default_factory=dict)
    _within: dict[State, bool] = field(default_factory=dict)
    _false: dict[tuple[State | None, State], bool] = field(default_factory=dict)

    def violated_by(self, calls: Iterable[ActionCall]) -> Violation | None:
        """Return the violation that a schedule reaches, or None; steps that are not enabled are skipped.

        Execution ends at the first violation of the target, or in a state outside the constraints.
        """
        end = self._execute(calls)
        if end is None:
            return None
        trace, failed = end
        if failed is not None:
            return violations.bounds_in_action(self.spec, failed.action, failed.arguments, trace)
        if self.target.property == DEADLOCK:
            return violations.deadlock(trace)
        make = violations.bounds_in_property if self.target.kind == "bounds_error" else violations.false_property
        return make(self.spec, self.target.property, trace)

    def violating(self, calls: Iterable[ActionCall]) -> Calls | None:
        """Return the steps of a schedule that lead to the violation, or None: `violated_by` without explaining it."""
        end = self._execute(calls)
        if end is None:
            return None
        trace, failed = end
        executed = _calls_in(trace)
        return executed if failed is None else (*executed, failed)

    def enabled_steps(self, calls: Iterable[ActionCall]) -> int:
        """Return how many steps of a schedule can be taken; steps that are not enabled are skipped."""
        state, taken = self.initial, 0
        for call in calls:
            after = self._step(state, call)
            if after is not None and not isinstance(after, BoundsError):
                state, taken = after, taken + 1
        return taken

    def _execute(self, calls: Iterable[ActionCall]) -> tuple[tuple[TraceStep, ...], ActionCall | None] | None:
        """Return the trace to the violation, and the call that left its bounds after it if the target is a call."""
        trace = [TraceStep(None, (), self.initial)]
        if self._is_violated(trace):
            return tuple(trace), None
        for call in calls:
            before = trace[-1].state
            if not self._is_within(before):
                return None
            after = self._step(before, call)
            if isinstance(after, BoundsError):
                if self.target.kind == "bounds_error" and self.target.property == call.action:
                    return tuple(trace), call
                continue
            if after is None:
                continue
            trace.append(TraceStep(call.action, call.arguments, after))
            if self._is_violated(trace):
                return tuple(trace), None
        return (tuple(trace), None) if self._is_deadlock(trace[-1].state) else None

    def _step(self, state: State, call: ActionCall) -> State | BoundsError | None:
        key = (state, call)
        if key not in self._after:
            try:
                self._after[key] = self.spec.step(state, call.action, *call.arguments)
            except Disabled:
                self._after[key] = None
            except BoundsError as error:
                self._after[key] = error
        return self._after[key]

    def _is_within(self, state: State) -> bool:
        if state not in self._within:
            try:
                self._within[state] = self.spec.within_constraints(state)
            except BoundsError:
                self._within[state] = False
        return self._within[state]

    def _is_violated(self, trace: Sequence[TraceStep]) -> bool:
        """Return whether the target is a property of the spec that is violated at the end of a trace."""
        role = self.spec.roles.get(self.target.property)
        if role in STEP_ROLES:
            if len(trace) < 2:
                return False
            key: tuple[State | None, State] = (trace[-2].state, trace[-1].state)
        elif role in (Role.INVARIANT, Role.CONSTRAINT):
            key = (None, trace[-1].state)
        else:
            return False
        if key not in self._false:
            self._false[key] = self._is_false(*key)
        return self._false[key]

    def _is_false(self, old: State | None, state: State) -> bool:
        wants_error = self.target.kind == "bounds_error"
        try:
            return not self.spec.holds(self.target.property, state, old) and not wants_error
        except BoundsError:
            return wants_error

    def _is_deadlock(self, state: State) -> bool:
        """Return whether the target is a deadlock and the state is one."""
        if self.target.property != DEADLOCK or not self._is_within(state):
            return False
        steps, failures = self.spec.expand(state)
        return not steps and not failures
