"""The content of a counterexample page, step by step: changes, executed source, enabled actions and properties."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from checker.errors import BoundsError, Disabled
from checker.explain.differences import StateChange, changes
from checker.explain.executed_lines import ExecutedFunction, executed
from checker.explain.failures import failure_bindings
from checker.explain.lane_owners import FailureBindings, lane_owners
from checker.explain.message_transfers import MessageTransfer, transfers
from checker.explain.refinements import AbstractStep, abstract_spec, abstract_steps, refinements_of
from checker.explain.step_sentences import summary_of
from checker.language.default_drawing import drawing_of
from checker.language.drawing import Drawing
from checker.language.interpreter import State, call_text
from checker.language.roles import STEP_ROLES, Role
from checker.language.spec import Spec
from checker.language.values import show
from checker.output.lasso_text import obligation_text
from checker.output.page.lanes import StateRenderer, StateView
from checker.output.page.lasso import LassoView, lasso_view
from checker.output.page.state_tables import StateTable, tables
from checker.run.plan import DEADLOCK
from checker.run.result import ActionCall, TraceStep, Violation


@dataclass(frozen=True)
class EnabledAction:
    """An action that is enabled in a state: its enabled instances, and whether the trace takes one of these."""

    action: str
    calls: tuple[str, ...]
    is_taken: bool


@dataclass(frozen=True)
class PropertyValue:
    """The value of a property at a step (None: it cannot be evaluated).

    `is_first_false`: it is not true here, and was true at all steps before. `is_violated`: it is the violated property
    of the trace, and not true here.
    """

    name: str
    value: bool | None
    role: Role
    is_first_false: bool
    is_violated: bool


@dataclass(frozen=True)
class RefinedStep:
    """A step as a refinement maps it: the name of the abstract spec, the abstract step, and the state as tables."""

    spec: str
    step: AbstractStep
    tables: tuple[StateTable, ...]


@dataclass(frozen=True)
class StoryStep:
    """A step of the trace with the state after it. Step 1 is the initial state and has no action.

    `summary` is the first sentence of the action's docstring, `transfers` are the messages that arrive in this step.
    `refined` has the step as each refinement maps it. `is_failed`: the action cannot be executed, and the state is the
    one before it. `owed` is a sentence about the obligation of a liveness property that is open in the state.
    """

    number: int
    action: str | None
    call: str
    arguments: tuple[tuple[str, str], ...]
    summary: str
    changes: tuple[StateChange, ...]
    listings: tuple[ExecutedFunction, ...]
    enabled: tuple[EnabledAction, ...]
    properties: tuple[PropertyValue, ...]
    transfers: tuple[MessageTransfer, ...]
    view: StateView | None
    tables: tuple[StateTable, ...]
    is_failed: bool = False
    owed: str = ""
    refined: tuple[RefinedStep, ...] = ()


@dataclass(frozen=True)
class Legend:
    """The parts of a drawing that the legend explains.

    `marks` are the labels of offsets with their meaning, `colours` the names of the parts that logs are coloured by.
    """

    has_logs: bool
    marks: tuple[tuple[str, str], ...]
    colours: tuple[str, ...]
    has_markers: bool
    has_leader_marks: bool
    has_members: bool


@dataclass(frozen=True)
class Story:
    """All steps of a trace, the titles of the lanes from top to bottom, and the messages between the lanes.

    `lasso` is the loop of a counterexample to a liveness property.
    """

    steps: tuple[StoryStep, ...]
    lanes: tuple[str, ...]
    transfers: tuple[MessageTransfer, ...] = ()
    lasso: LassoView | None = None

    def with_listings(self, most: int) -> Story:
        """Return the story with the source of at most `most` functions in each step."""
        steps = tuple(replace(step, listings=step.listings[:most]) for step in self.steps)
        return replace(self, steps=steps)


def story_of(spec: Spec, violation: Violation, *, lemmas: bool = False, enabled_steps: bool = True) -> Story:
    """Return the story of a violation with a trace.

    `lemmas`: include the values of lemmas. `enabled_steps`: include the enabled steps of each state, for which the
    interpreter must be able to enumerate the parameters of actions.
    """
    names = [*spec.safety_properties, *(spec.names_of(Role.LEMMA) if lemmas else [])]
    builder = _StoryBuilder(spec, violation, names, enabled_steps)
    return Story(tuple(builder.steps()), _lane_titles(spec), tuple(builder.transfers), lasso_view(violation))


def bindings_of(spec: Spec, violation: Violation) -> FailureBindings:
    """Return the variables that the violated property bound at its violation; empty for a deadlock or an error.

    A liveness property binds its parameters.
    """
    if violation.kind == "liveness":
        return FailureBindings(dict(violation.bindings))
    if violation.property not in spec.roles or violation.kind not in ("invariant", "step_invariant"):
        return FailureBindings()
    old = violation.trace[-2].state if violation.kind == "step_invariant" else None
    return FailureBindings(failure_bindings(spec, violation.property, violation.trace[-1].state, old))


def property_value(spec: Spec, name: str, state: State, old: State | None) -> bool | None:
    """Return the value of a property in a state, or for the step from `old` to it; None if it cannot be evaluated."""
    # An initial state is no step, but a refinement concerns it too.
    if spec.roles[name] is Role.STEP_INVARIANT and old is None:
        return True
    try:
        return spec.holds(name, state, old if spec.roles[name] in STEP_ROLES else None)
    except (BoundsError, Disabled):
        return None


def variables_of_lanes(drawing: Drawing) -> frozenset[str]:
    """Return the variables that the lanes of a drawing show in full."""
    names = {name for lane in drawing.lanes for name in lane.names()}
    # A path shows only a part of its variable: `quorum.leader` leaves out the rest of `quorum`.
    return frozenset(name for name in names if "." not in name)


def legend_of(drawing: Drawing) -> Legend:
    """Return the legend of a drawing."""
    logs = [log for lane in drawing.lanes for log in lane.logs]
    marks = {label: name.replace("_", " ") for log in logs for name, label in log.markers.items()}
    marks |= {log.end: "log end offset" for log in logs if log.end == "LEO"}
    colours = dict.fromkeys(log.colour.replace("_", " ") for log in logs if log.colour not in ("", "."))
    return Legend(
        has_logs=bool(logs),
        marks=tuple(marks.items()),
        colours=tuple(colours),
        has_markers=any(log.markers for log in logs),
        has_leader_marks=any(lane.crowned for lane in drawing.lanes),
        has_members=any(lane.members for lane in drawing.lanes),
    )


def _lane_titles(spec: Spec) -> tuple[str, ...]:
    drawing = drawing_of(spec)
    return tuple(owner.title for owner in lane_owners(spec, drawing)) if drawing is not None else ()


class _StoryBuilder:
    def __init__(self, spec: Spec, violation: Violation, names: list[str], has_enabled: bool):
        self._spec, self._violation, self._trace = spec, violation, violation.trace
        self._names, self._has_enabled = names, has_enabled
        drawing = drawing_of(spec)
        self._renderer: StateRenderer | None = None
        if drawing is not None and self._trace:
            self._renderer = StateRenderer(spec, drawing, bindings_of(spec, violation), self._trace[-1].state)
        self.transfers = transfers(spec, self._trace)
        self._drawn = variables_of_lanes(drawing) if drawing is not None else frozenset()
        self._seen_false: set[str] = set()
        self._refined = {name: abstract_steps(spec, name, self._trace) for name in refinements_of(spec)}

    def steps(self) -> Iterator[StoryStep]:
        for index, step in enumerate(self._trace):
            yield self._step(index, step)
        failed = self._violation.failed_action
        if failed is not None and self._trace:
            yield self._failing_step(failed)

    def _step(self, index: int, step: TraceStep) -> StoryStep:
        before = self._trace[index - 1].state if index else None
        start = self._violation.loop_start
        is_violated = index == len(self._trace) - 1 if start is None else index >= start
        return StoryStep(
            number=index + 1,
            action=step.action,
            call=str(step),
            arguments=self._arguments(step.action, step.arguments),
            summary=summary_of(self._spec, step.action or ""),
            changes=tuple(changes(self._spec, before, step.state)) if before is not None else (),
            listings=executed(self._spec, before, step.action, step.arguments)
            if before is not None and step.action
            else (),
            enabled=self._enabled_actions(before, str(step)) if before is not None else (),
            properties=tuple(self._properties(step.state, before)),
            transfers=tuple(transfer for transfer in self.transfers if transfer.arrived == index + 1),
            view=self._renderer.draw(before, step.state, is_violated=is_violated)
            if self._renderer is not None
            else None,
            tables=tables(self._spec, before, step.state, self._drawn),
            owed=obligation_text(self._spec, self._violation, index),
            refined=tuple(self._steps_of_refinements(index)),
        )

    def _steps_of_refinements(self, index: int) -> Iterator[RefinedStep]:
        for name, steps in self._refined.items():
            if steps is not None:
                abstract = abstract_spec(self._spec, name)
                before = steps[index - 1].state if index else None
                yield RefinedStep(abstract.name, steps[index], tables(abstract, before, steps[index].state))

    def _failing_step(self, call: ActionCall) -> StoryStep:
        """Return the step of an action that leaves the bounds of a type, so that it has no successor state."""
        last = self._trace[-1].state
        return StoryStep(
            number=len(self._trace) + 1,
            action=call.action,
            call=str(call),
            arguments=self._arguments(call.action, call.arguments),
            summary=summary_of(self._spec, call.action or ""),
            changes=(),
            listings=executed(self._spec, last, call.action, call.arguments),
            enabled=self._enabled_actions(last, str(call)),
            properties=(),
            transfers=(),
            view=self._renderer.draw(last, last, is_violated=True) if self._renderer is not None else None,
            tables=tables(self._spec, last, last, self._drawn),
            is_failed=True,
        )

    def _arguments(self, action: str | None, arguments: tuple[Any, ...]) -> tuple[tuple[str, str], ...]:
        if action is None or not arguments:
            return ()
        parameters = self._spec.parameters_of(action)
        return tuple((parameter.name, show(value)) for parameter, value in zip(parameters, arguments, strict=True))

    def _enabled_actions(self, before: State, taken: str) -> tuple[EnabledAction, ...]:
        if not self._has_enabled:
            return ()
        steps, failures = self._spec.expand(before)
        calls: dict[str, list[str]] = {}
        ways = [*((s.action, s.arguments) for s in steps), *((f.action, f.arguments) for f in failures)]
        for action, arguments in ways:
            calls.setdefault(action, []).append(call_text(action, arguments))
        return tuple(EnabledAction(action, tuple(texts), taken in texts) for action, texts in calls.items())

    def _properties(self, state: State, before: State | None) -> Iterator[PropertyValue]:
        for name in self._names:
            role = self._spec.roles[name]
            value = property_value(self._spec, name, state, before)
            is_false = value is not True and role is not Role.REACHABLE
            is_first = is_false and name not in self._seen_false
            if is_false:
                self._seen_false.add(name)
            yield PropertyValue(name, value, role, is_first, is_false and name == self._violation.property != DEADLOCK)
