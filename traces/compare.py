"""Comparison of a trace with a related spec: the same schedule, replayed on that spec step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from checker.errors import BoundsError, Disabled, InputError, UserError
from checker.explain.differences import changes_within
from checker.explain.guards import why_disabled
from checker.language.interpreter import State, call_text
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.language.values import show
from checker.run.result import TraceStep, Violation
from traces.json_values import from_plain_json, to_plain_json

StepOutcome = Literal["same", "differs", "disabled", "missing", "error"]
"""Result of a step on the other spec: the same state, another state, not enabled, no such action, or out of bounds."""


_MOST_DIFFERENCES = 3
"""Number of differences between two states that are listed."""


@dataclass(frozen=True)
class ComparedScheduleStep:
    """A step of the schedule on the other spec: its result, the result as text, and the state after it.

    The state of a step that is not taken is the state before it.
    """

    call: str
    outcome: StepOutcome
    details: str
    state: State
    is_property_false: bool

    @property
    def is_taken(self) -> bool:
        """Whether the other spec can take the step."""
        return self.outcome in ("same", "differs")


@dataclass(frozen=True)
class ComparedSchedule:
    """A schedule replayed on another spec, which is called `name`."""

    name: str
    spec: Spec
    steps: tuple[ComparedScheduleStep, ...]
    notes: tuple[str, ...] = ()

    @property
    def first_divergence(self) -> int | None:
        """The number of the first step with a different result; None if there is none."""
        return next((number for number, step in enumerate(self.steps, 1) if step.outcome != "same"), None)

    @property
    def final_divergence(self) -> int | None:
        """The number of the first step from which on all states differ; None if the last states are equal."""
        same = [number for number, step in enumerate(self.steps, 1) if step.outcome == "same"]
        last_same = same[-1] if same else 0
        return last_same + 1 if last_same < len(self.steps) else None

    @property
    def conclusion(self) -> str:
        """One sentence that says where the other spec diverges from the trace."""
        first, final = self.first_divergence, self.final_divergence
        if first is None:
            return "takes every step and reaches the same states"
        step = self.steps[first - 1]
        text = f"diverges at step {first}, {step.call}: {step.details}"
        if final is None:
            return f"{text}; at the end the states are equal again"
        if final == first:
            return text
        step = self.steps[final - 1]
        return f"{text}; diverges permanently at step {final}, {step.call}: {step.details}"


def replay_against(
    spec: Spec,
    violation: Violation,
    name: str,
    sibling: type[Spec],
    constants: Mapping[str, int | bool | str] | None = None,
) -> ComparedSchedule:
    """Replay the schedule of a trace of `spec` on another spec.

    By default, the other spec gets the constants that both specs have; `constants` replaces them. Its remaining
    constants have their defaults. A step that the other spec cannot take yet is postponed: it is taken after the first
    later step that enables it, and dropped once the states are equal again. Raises UserError if the other spec does not
    accept the constants.
    """
    if constants is None:
        constants = {key: value for key, value in spec.constants.items() if key in sibling.declared_constants}
    other = sibling(**constants)
    extra = [f"{key}={value}" for key, value in other.constants.items() if spec.constants.get(key) != value]
    notes = (f"runs with {', '.join(extra)}",) if extra else ()
    return ComparedSchedule(name, other, tuple(_steps(spec, violation, other)), notes)


def _steps(spec: Spec, violation: Violation, other: Spec) -> list[ComparedScheduleStep]:
    trace = violation.trace
    first = _initial(spec, other, trace[0].state)
    difference = _difference(spec, other, trace[0].state, first)
    is_false = _is_false(other, violation.property, None, first)
    steps = [ComparedScheduleStep("initial state", "differs" if difference else "same", difference, first, is_false)]
    schedule = list(trace[1:])
    if violation.failed_action is not None:
        failed = violation.failed_action
        schedule.append(TraceStep(failed.action, failed.arguments, trace[-1].state))
    waiting: list[TraceStep] = []
    for step in schedule:
        taken = _step(spec, other, violation.property, step, steps[-1].state)
        if taken.is_taken and taken.outcome != "same":
            taken = _with_waiting(spec, other, violation.property, step, taken, waiting)
        if taken.outcome == "disabled":
            waiting.append(step)
        elif taken.outcome == "same":
            waiting.clear()
        steps.append(taken)
    return steps


def _with_waiting(
    spec: Spec, other: Spec, name: str, step: TraceStep, taken: ComparedScheduleStep, waiting: list[TraceStep]
) -> ComparedScheduleStep:
    """Return a step followed by the postponed steps that it enables, in their order."""
    late = []
    state, is_false = taken.state, taken.is_property_false
    for found in list(waiting):
        after = _step(spec, other, name, TraceStep(found.action, found.arguments, step.state), state)
        if after.is_taken:
            waiting.remove(found)
            late.append(after.call)
            state, is_false = after.state, is_false or after.is_property_false
    if not late:
        return taken
    difference = _difference(spec, other, step.state, state)
    details = f"then the postponed {', '.join(late)}" + (f": {difference}" if difference else "")
    return ComparedScheduleStep(taken.call, "differs" if difference else "same", details, state, is_false)


def _initial(spec: Spec, other: Spec, wanted: State) -> State:
    states = other.initial_states()
    if not states:
        raise InputError(f"{other.name} has no initial state with these constants")
    return next((state for state in states if not _difference(spec, other, wanted, state)), states[0])


def _step(spec: Spec, other: Spec, name: str, step: TraceStep, before: State) -> ComparedScheduleStep:
    assert step.action is not None
    call = call_text(step.action, step.arguments)
    if step.action not in other.actions:
        return ComparedScheduleStep(call, "missing", f"{other.name} has no action {step.action}", before, False)
    try:
        after = other.step(before, step.action, *_arguments(spec, other, step))
    except Disabled as error:
        return ComparedScheduleStep(call, "disabled", f"not enabled here: {why_disabled(other, error)}", before, False)
    except BoundsError as error:
        return ComparedScheduleStep(call, "error", f"cannot be executed: {error}", before, False)
    except UserError as error:
        return ComparedScheduleStep(call, "missing", error.message, before, False)
    difference = _difference(spec, other, step.state, after)
    is_false = _is_false(other, name, before, after)
    return ComparedScheduleStep(call, "differs" if difference else "same", difference, after, is_false)


def _arguments(spec: Spec, other: Spec, step: TraceStep) -> list[object]:
    """Return a step's arguments as values of the other spec's types; raise UserError if its parameters differ."""
    assert step.action is not None
    mine, theirs = spec.parameters_of(step.action), other.parameters_of(step.action)
    if len(mine) != len(theirs):
        raise InputError(f"{other.name}'s {step.action} takes {', '.join(found.name for found in theirs) or 'nothing'}")
    with other.bound():
        return [
            from_plain_json(there.type, to_plain_json(here.type, value))
            for here, there, value in zip(mine, theirs, step.arguments, strict=True)
        ]


def _difference(spec: Spec, other: Spec, wanted: State, found: State) -> str:
    """Return the differences between two states in the variables that both specs have, as text; empty if equal."""
    parts = [
        f"{change.path} is {show(change.after)} instead of {show(change.before)}"
        for name, kind in spec.variables.items()
        if name in other.variables
        for change in changes_within(name, kind, wanted.values[name], found.values[name])
    ]
    more = f"; and {len(parts) - _MOST_DIFFERENCES} more" if len(parts) > _MOST_DIFFERENCES else ""
    return "; ".join(parts[:_MOST_DIFFERENCES]) + more


def _is_false(spec: Spec, name: str, before: State | None, after: State) -> bool:
    role = spec.roles.get(name)
    if role is Role.INVARIANT:
        return not _holds(spec, name, after, None)
    return role is Role.STEP_INVARIANT and before is not None and not _holds(spec, name, after, before)


def _holds(spec: Spec, name: str, after: State, before: State | None) -> bool:
    try:
        return spec.holds(name, after, before)
    except BoundsError:
        return False
