"""A counterexample told step by step: what each action did and why, what else could have happened, what still holds."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from checker.errors import BoundsError, Disabled
from checker.explain.differences import StateChange, changes
from checker.explain.executed_lines import ExecutedFunction, executed
from checker.explain.failures import witness
from checker.language.drawing import Drawing
from checker.language.interpreter import State, call_text
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.language.values import show
from checker.output.page.lane_owners import Witness, places_of
from checker.output.page.lanes import Artist, StateView
from checker.output.page.messages import MessageFlight, flights
from checker.output.page.state_tables import StateTable, tables
from checker.run.plan import DEADLOCK
from checker.run.result import ActionCall, TraceStep, Violation


@dataclass(frozen=True)
class EnabledAction:
    """An action that is enabled in a state: its enabled instances, and whether the trace takes one of them."""

    action: str
    calls: tuple[str, ...]
    is_taken: bool


@dataclass(frozen=True)
class PropertyValue:
    """What a property says of a step: its value (None: it cannot be evaluated), and whether it was true before."""

    name: str
    value: bool | None
    role: Role
    is_first_false: bool
    is_violated: bool


@dataclass(frozen=True)
class StoryStep:
    """A step of the story. `number` counts from 1, the initial state; the step before the state has an action."""

    number: int
    action: str | None
    call: str
    arguments: tuple[tuple[str, str], ...]
    words: str
    changes: tuple[StateChange, ...]
    listings: tuple[ExecutedFunction, ...]
    choices: tuple[EnabledAction, ...]
    properties: tuple[PropertyValue, ...]
    flights: tuple[MessageFlight, ...]
    view: StateView | None
    tables: tuple[StateTable, ...]
    is_failed: bool = False


@dataclass(frozen=True)
class Legend:
    """What of a drawing needs explaining: the labels on the ruler in words, what colours stand for, and other marks."""

    has_logs: bool
    marks: tuple[tuple[str, str], ...]
    colours: tuple[str, ...]
    has_markers: bool
    has_crowns: bool
    has_members: bool


@dataclass(frozen=True)
class Story:
    """All moments of a trace, and the lanes of the spec, from top to bottom, that have a place in its overview."""

    moments: tuple[StoryStep, ...]
    lanes: tuple[str, ...]
    flights: tuple[MessageFlight, ...] = ()

    def with_listings(self, most: int) -> Story:
        """Return the story with the source of so many functions in each step at most."""
        moments = tuple(replace(moment, listings=moment.listings[:most]) for moment in self.moments)
        return replace(self, moments=moments)


def tell(spec: Spec, violation: Violation, *, lemmas: bool = False, choices: bool = True) -> Story:
    """Return the story of a violation with a trace.

    `lemmas`: what they say of each state is told too. `choices`: what else could have happened is told, for which
    the spec's parameters have to be few enough to be enumerated.
    """
    teller = _StoryBuilder(spec, violation, [*spec.properties, *(spec.names_of(Role.LEMMA) if lemmas else [])], choices)
    return Story(tuple(teller.moments()), _lane_titles(spec), tuple(teller.flights))


def first_sentence(text: str) -> str:
    """Return the first sentence of a docstring, on one line."""
    line = " ".join((inspect.cleandoc(text)).split("\n\n")[0].split())
    found = re.match(r".*?[.!?](?=\s|$)(?!\s[a-z])", line)
    return found.group() if found else line


def witness_of(spec: Spec, violation: Violation) -> Witness:
    """Return what the violated property bound where it fails; nothing for a deadlock or an error."""
    if violation.property not in spec.roles or violation.kind not in ("invariant", "step_invariant"):
        return Witness()
    old = violation.trace[-2].state if violation.kind == "step_invariant" else None
    return Witness(witness(spec, violation.property, violation.trace[-1].state, old))


def property_value(spec: Spec, name: str, state: State, old: State | None) -> bool | None:
    """Return what a property says of a state, or of the step from `old` to it; None where it cannot be evaluated."""
    if spec.roles[name] is Role.STEP_INVARIANT and old is None:
        return True
    try:
        return spec.holds(name, state, old if spec.roles[name] is Role.STEP_INVARIANT else None)
    except (BoundsError, Disabled):
        return None


def drawn_variables(drawing: Drawing) -> frozenset[str]:
    """Return the variables that the lanes of a drawing show in full."""
    names = {name for lane in drawing.lanes for name in lane.names()}
    # Of a path only a part is shown: `quorum.leader` is not all of `quorum`.
    return frozenset(name for name in names if "." not in name)


def legend_of(drawing: Drawing) -> Legend:
    """Return what there is to explain in the pictures of a drawing."""
    logs = [log for lane in drawing.lanes for log in lane.logs]
    marks = {label: name.replace("_", " ") for log in logs for name, label in log.markers.items()}
    marks |= {log.end: "log end offset" for log in logs if log.end == "LEO"}
    colours = dict.fromkeys(log.colour.replace("_", " ") for log in logs if log.colour not in ("", "."))
    return Legend(
        has_logs=bool(logs),
        marks=tuple(marks.items()),
        colours=tuple(colours),
        has_markers=any(log.markers for log in logs),
        has_crowns=any(lane.crowned for lane in drawing.lanes),
        has_members=any(lane.members for lane in drawing.lanes),
    )


def _lane_titles(spec: Spec) -> tuple[str, ...]:
    return tuple(place.title for place in places_of(spec, spec.draws)) if spec.draws is not None else ()


class _StoryBuilder:
    def __init__(self, spec: Spec, violation: Violation, names: list[str], choices: bool):
        self._spec, self._violation, self._trace = spec, violation, violation.trace
        self._names, self._has_choices = names, choices
        drawing = spec.draws
        self._artist: Artist | None = None
        if drawing is not None and self._trace:
            self._artist = Artist(spec, drawing, witness_of(spec, violation), self._trace[-1].state)
        self.flights = flights(spec, self._trace)
        self._drawn = drawn_variables(drawing) if drawing is not None else frozenset()
        self._seen_false: set[str] = set()

    def moments(self) -> Iterator[StoryStep]:
        for index, step in enumerate(self._trace):
            yield self._moment(index, step)
        failed = self._violation.failed_action
        if failed is not None and self._trace:
            yield self._failed(failed)

    def _moment(self, index: int, step: TraceStep) -> StoryStep:
        before = self._trace[index - 1].state if index else None
        is_last = index == len(self._trace) - 1
        return StoryStep(
            number=index + 1,
            action=step.action,
            call=str(step),
            arguments=self._arguments(step.action, step.arguments),
            words=self._words(step.action),
            changes=tuple(changes(self._spec, before, step.state)) if before is not None else (),
            listings=executed(self._spec, before, step.action, step.arguments)
            if before is not None and step.action
            else (),
            choices=self._choices(before, str(step)) if before is not None else (),
            properties=tuple(self._properties(step.state, before)),
            flights=tuple(flight for flight in self.flights if flight.arrived == index + 1),
            view=self._artist.draw(before, step.state, is_last=is_last) if self._artist is not None else None,
            tables=tables(self._spec, before, step.state, self._drawn),
        )

    def _failed(self, call: ActionCall) -> StoryStep:
        """Return the moment of an action that has no state after it: it left a type's bounds."""
        last = self._trace[-1].state
        return StoryStep(
            number=len(self._trace) + 1,
            action=call.action,
            call=str(call),
            arguments=self._arguments(call.action, call.arguments),
            words=self._words(call.action),
            changes=(),
            listings=executed(self._spec, last, call.action, call.arguments),
            choices=self._choices(last, str(call)),
            properties=(),
            flights=(),
            view=self._artist.draw(last, last, is_last=True) if self._artist is not None else None,
            tables=tables(self._spec, last, last, self._drawn),
            is_failed=True,
        )

    def _arguments(self, action: str | None, arguments: tuple[Any, ...]) -> tuple[tuple[str, str], ...]:
        if action is None or not arguments:
            return ()
        parameters = self._spec.parameters_of(action)
        return tuple((parameter.name, show(value)) for parameter, value in zip(parameters, arguments, strict=True))

    def _words(self, action: str | None) -> str:
        method = getattr(type(self._spec), action or "init", None)
        return first_sentence(method.__doc__ or "") if action is not None and method is not None else ""

    def _choices(self, before: State, taken: str) -> tuple[EnabledAction, ...]:
        if not self._has_choices:
            return ()
        steps, failures = self._spec.expand(before)
        calls: dict[str, list[str]] = {}
        found = [*((s.action, s.arguments) for s in steps), *((f.action, f.arguments) for f in failures)]
        for action, arguments in found:
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
