"""The event of each step: its kind, the lane where it happens, and its name on the chart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checker.explain.drawn_expressions import evaluate_or_none, evaluate_text
from checker.explain.lane_owners import LaneOwner, is_of, lane_owners
from checker.explain.step_effects import StepEffect, step_effects
from checker.language.drawing import Drawing, EventKind
from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.run.result import TraceStep


@dataclass(frozen=True)
class StepEvent:
    """A step of a trace: its kind, the title of its lane ("" if it has none), its label, and what it changes.

    `is_named`: the drawing declares the label, and it is not empty in this step.
    """

    action: str
    kind: EventKind
    lane: str
    label: str
    effects: tuple[StepEffect, ...]
    is_named: bool = False


def step_event(spec: Spec, drawing: Drawing, before: State, step: TraceStep) -> StepEvent:
    """Return the event of a step from a state."""
    assert step.action is not None
    declared = drawing.event_of(step.action)
    given = arguments_by_name(spec, step.action, step.arguments)
    effects = step_effects(spec, drawing, before, step.state, declared.leaves_out)
    with spec.bound():
        owners = lane_owners(spec, drawing)
        lane = _lane_by_declaration(spec, drawing, owners, before, step.action, given)
        label = evaluate_text(spec, declared.label, before, given) if declared.label else ""
        named = declared.event_kind(evaluate_text(spec, declared.kind, before, given))
    lane = lane or _lane_by_inference(owners, step.action, given, effects)
    kind = named or _kind(effects)
    ends = [effect.truncated_to for effect in effects if effect.truncated_to is not None and effect.lane == lane]
    # A queue of a default drawing is not a log.
    if kind == "truncation" and ends and spec.draws is not None:
        # A label that names the truncation itself says no more than the offset.
        start = f"{label}, " if label and "truncat" not in label else ""
        label = f"{start}truncate to {ends[0]}"
    name = label or _action_label(step.action, owners, given)
    return StepEvent(step.action, kind, lane, name, tuple(effects), bool(label))


def arguments_by_name(spec: Spec, action: str, arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Return the arguments of an action by the names of its parameters."""
    shape = next(shape for shape in spec.shapes() if shape.name == action)
    return dict(zip((parameter.name for parameter in shape.parameters), arguments, strict=True))


def lane_title(value: Any, owners: list[LaneOwner]) -> str:
    """Return the title of the lane that the value of an expression refers to; "" if no lane is meant."""
    if isinstance(value, str):
        return value if any(owner.title == value for owner in owners) else ""
    return next((owner.title for owner in owners if is_of(owner, value)), "")


def _kind(effects: list[StepEffect]) -> EventKind:
    kinds = {effect.kind for effect in effects}
    stopped = {effect.lane for effect in effects if effect.kind == "stopped"}
    if stopped:
        is_losing = any(effect.kind == "lost" and effect.lane in stopped for effect in effects)
        return "power loss" if is_losing else "crash"
    if "started" in kinds:
        return "restart"
    if "lost" in kinds:
        return "truncation"
    return "election" if "leader" in kinds else ""


def _lane_by_declaration(
    spec: Spec, drawing: Drawing, owners: list[LaneOwner], before: State, action: str, given: Mapping[str, Any]
) -> str:
    """Return the lane that the drawing declares for an action: of its event, or the target of its arrow."""
    at = drawing.event_of(action).at
    expressions = [at] if at else [arrow.target for arrow in drawing.arrows if arrow.action == action][:1]
    return next(
        (lane_title(evaluate_or_none(spec, expression, before, given), owners) for expression in expressions), ""
    )


def _lane_by_inference(
    owners: list[LaneOwner], action: str, given: Mapping[str, Any], effects: list[StepEffect]
) -> str:
    """Return a single lane that the action is named after, the lane of an argument, or the first lane that changes."""
    words = action.split("_")
    named = [owner.title for owner in owners if owner.member is None and owner.title in words[:1]]
    of_arguments = [lane_title(value, owners) for value in given.values() if not isinstance(value, (int, str))]
    changed = [effect.lane for effect in effects]
    candidates = [lane for lane in of_arguments if lane in changed] + of_arguments
    return next((lane for lane in (*named, *candidates, *changed) if lane), "")


def _action_label(action: str, owners: list[LaneOwner], given: Mapping[str, Any]) -> str:
    """Return the name of an action as words, without a first word that names its lane or a parameter."""
    words = action.split("_")
    known = {*given, *(owner.lane.title for owner in owners)}
    return " ".join(words[1:] if len(words) > 1 and words[0] in known else words)
