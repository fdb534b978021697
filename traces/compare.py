"""Comparison of a trace with a related spec: the same schedule, replayed on that spec step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from checker.errors import BoundsError, Disabled, InputError, UserError
from checker.explain.differences import StateChange, changes_within
from checker.explain.guards import why_disabled
from checker.explain.lassos import WrongLassoError, check_lasso
from checker.language.fairness import NEXT, Fairness
from checker.language.interpreter import State, call_text
from checker.language.json_values import from_plain_json, to_plain_json
from checker.language.roles import STEP_ROLES, Role
from checker.language.spec import FairnessChanges, Spec
from checker.language.values import show
from checker.run.result import TraceStep, Violation

StepOutcome = Literal["same", "differs", "disabled", "missing", "error"]
"""Result of a step on the other spec: the same state, another state, not enabled, no such action, or out of bounds."""


_MOST_DIFFERENCES = 3
"""Number of differences between two states that are listed."""


@dataclass(frozen=True)
class ComparedScheduleStep:
    """A step of the schedule on the other spec: its result, the result as text, and the state after it.

    The state of a step that is not taken is the state before it. `arguments` are values of the other spec, of the
    action `action` that it takes (None: it takes none).
    """

    call: str
    outcome: StepOutcome
    details: str
    state: State
    is_property_false: bool
    action: str | None = None
    arguments: tuple[Any, ...] = ()

    @property
    def is_taken(self) -> bool:
        """Whether the other spec can take the step."""
        return self.outcome in ("same", "differs")


@dataclass(frozen=True)
class ComparedLasso:
    """Whether a spec has the same lasso as another one. `text` says it as a sentence without its subject."""

    is_same: bool
    text: str


@dataclass(frozen=True)
class ComparedSchedule:
    """A schedule replayed on another spec, which is called `name`; `lasso` is None if the schedule does not loop."""

    name: str
    spec: Spec
    steps: tuple[ComparedScheduleStep, ...]
    notes: tuple[str, ...] = ()
    lasso: ComparedLasso | None = None

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
        """One sentence that says whether the other spec has the same lasso, and where it diverges from the trace."""
        return self._divergence if self.lasso is None else f"{self.lasso.text}; {self._divergence}"

    @property
    def _divergence(self) -> str:
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
    fair: FairnessChanges | None = None,
) -> ComparedSchedule:
    """Replay the schedule of a trace of `spec` on another spec.

    By default, the other spec gets the constants that both specs have; `constants` replaces them. Its remaining
    constants have their defaults. If the trace is a lasso, the other spec also gets the changes of fairness of actions
    that both specs have; `fair` replaces these. A step that the other spec cannot take yet is postponed: it is taken
    after the first later step that enables it, and dropped once the states are equal again. Raises UserError if the
    other spec does not accept the constants.
    """
    if constants is None:
        constants = {key: value for key, value in spec.constants.items() if key in sibling.declared_constants}
    other = sibling(**constants)
    extra = [f"{key}={value}" for key, value in other.constants.items() if spec.constants.get(key) != value]
    notes = [f"runs with {', '.join(extra)}"] if extra else []
    notes += _without_counterpart(spec, other)
    lasso = None
    if violation.loop_start is not None:
        kept = _fairness_changes(spec, other) if fair is None else {}
        if kept:
            notes.append(f"keeps the fairness of the trace for {', '.join(kept)}")
        other = other.with_fairness(kept if fair is None else fair)
        lasso = _lasso(spec, violation, other)
    steps = _steps(spec, violation, other.without_normalisation())
    return ComparedSchedule(name, other, tuple(steps), tuple(notes), lasso)


def _without_counterpart(spec: Spec, other: Spec) -> list[str]:
    """Return sentences about the variables that only one of two specs has: they are not compared."""
    sentences = [
        ("has no counterpart of", [name for name in spec.variables if name not in other.variables]),
        ("the trace has no counterpart of", [name for name in other.variables if name not in spec.variables]),
    ]
    return [f"{sentence} {', '.join(names)}, not compared" for sentence, names in sentences if names]


def _fairness_changes(spec: Spec, other: Spec) -> dict[str, Fairness | None]:
    """Return the fairness that a spec does not have by declaration, for the actions that the other spec has too."""
    declared = type(spec)(**spec.constants).fairness
    return {
        name: spec.fairness.get(name)
        for name in declared | spec.fairness
        if (name == NEXT or name in other.actions) and spec.fairness.get(name) != declared.get(name)
    }


def _lasso(spec: Spec, violation: Violation, other: Spec) -> ComparedLasso:
    """Return whether the lasso of a violation of `spec` violates the same property of the other spec.

    The other spec must take every step, its own states must close the loop, and the loop must be fair there.
    """
    name = violation.property
    if other.roles.get(name) is not spec.roles[name]:
        return ComparedLasso(False, f"has no property {name} of this kind, so the lasso is not compared")
    try:
        bindings = _arguments(spec, other, name, tuple(value for _, value in violation.bindings))
        trace = [TraceStep(None, (), _initial(spec, other, violation.trace[0].state))]
        for number, step in enumerate(violation.trace[1:], 2):
            taken = _step(spec, other, name, step, trace[-1].state)
            if not taken.is_taken:
                return ComparedLasso(False, f"does not have this lasso: it cannot take step {number}")
            assert step.action is not None
            arguments = tuple(_arguments(spec, other, step.action, step.arguments))
            trace.append(TraceStep(step.action, arguments, taken.state))
        names = [parameter.name for parameter in other.parameters_of(name)]
        check_lasso(other, replace(violation, trace=tuple(trace), bindings=tuple(zip(names, bindings, strict=True))))
    except WrongLassoError as error:
        return ComparedLasso(False, f"takes the steps of this lasso, but {error}")
    except (BoundsError, UserError) as error:
        return ComparedLasso(False, f"cannot be compared with this lasso: {error}")
    return ComparedLasso(True, "has the same lasso")


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
    for waiting_step in list(waiting):
        after = _step(spec, other, name, TraceStep(waiting_step.action, waiting_step.arguments, step.state), state)
        if after.is_taken:
            waiting.remove(waiting_step)
            late.append(after.call)
            state, is_false = after.state, is_false or after.is_property_false
    if not late:
        return taken
    difference = _difference(spec, other, step.state, state)
    details = f"then the postponed {', '.join(late)}" + (f": {difference}" if difference else "")
    outcome: StepOutcome = "differs" if difference else "same"
    return replace(taken, outcome=outcome, details=details, state=state, is_property_false=is_false)


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
        arguments = tuple(_arguments(spec, other, step.action, step.arguments))
        after = other.step(before, step.action, *arguments)
    except Disabled as error:
        return ComparedScheduleStep(call, "disabled", f"not enabled here: {why_disabled(other, error)}", before, False)
    except BoundsError as error:
        return ComparedScheduleStep(call, "error", f"cannot be executed: {error}", before, False)
    except UserError as error:
        return ComparedScheduleStep(call, "missing", error.message, before, False)
    difference = _difference(spec, other, step.state, after)
    is_false = _is_false(other, name, before, after)
    outcome: StepOutcome = "differs" if difference else "same"
    return ComparedScheduleStep(call, outcome, difference, after, is_false, step.action, arguments)


def _arguments(spec: Spec, other: Spec, method: str, arguments: tuple[Any, ...]) -> list[object]:
    """Return the arguments of an action or a property as values of the other spec's types.

    Raises UserError if its parameters differ.
    """
    mine, theirs = spec.parameters_of(method), other.parameters_of(method)
    if len(mine) != len(theirs):
        raise InputError(f"{other.name}'s {method} takes {', '.join(each.name for each in theirs) or 'nothing'}")
    with other.bound():
        return [
            from_plain_json(there.type, to_plain_json(here.type, value))
            for here, there, value in zip(mine, theirs, arguments, strict=True)
        ]


def _difference(spec: Spec, other: Spec, wanted: State, reached_state: State) -> str:
    """Return the differences between two states in the variables that both specs have, as text; empty if equal."""
    parts = [
        f"{change.path} is {show(change.after)} instead of {show(change.before)}"
        for name in spec.variables
        if name in other.variables
        for change in _changes(spec, other, name, wanted, reached_state)
    ]
    more = f"; and {len(parts) - _MOST_DIFFERENCES} more" if len(parts) > _MOST_DIFFERENCES else ""
    return "; ".join(parts[:_MOST_DIFFERENCES]) + more


def _changes(spec: Spec, other: Spec, name: str, wanted: State, reached_state: State) -> list[StateChange]:
    before, after = _translate(spec, other, name, wanted), reached_state.values[name]
    try:
        return list(changes_within(name, spec.variables[name], before, after))
    except (AttributeError, KeyError, ValueError):
        # The types have different parts, such as maps over domains of different sizes.
        return [StateChange(name, before, after)]


def _translate(spec: Spec, other: Spec, name: str, state: State) -> Any:
    """Return the value of a variable as a value of the other spec's type, or unchanged if the types differ."""
    value = state.values[name]
    try:
        with spec.bound():
            plain = to_plain_json(spec.variables[name], value)
        with other.bound():
            return from_plain_json(other.variables[name], plain)
    except (BoundsError, KeyError, TypeError):
        return value


def _is_false(spec: Spec, name: str, before: State | None, after: State) -> bool:
    role = spec.roles.get(name)
    if role is Role.INVARIANT:
        return not _holds(spec, name, after, None)
    return role in STEP_ROLES and before is not None and not _holds(spec, name, after, before)


def _holds(spec: Spec, name: str, after: State, before: State | None) -> bool:
    try:
        return spec.holds(name, after, before)
    except BoundsError:
        return False
