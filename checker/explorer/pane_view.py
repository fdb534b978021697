"""A pane of a place: the state in its lanes, the last step, the chart of the path, and the properties."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from checker.errors import BoundsError
from checker.explain.differences import StateChange, changes
from checker.explain.lane_owners import FailureBindings
from checker.explain.step_sentences import step_sentences
from checker.explain.violations import false_property
from checker.explorer.exports import violation_of
from checker.explorer.session import ExplorerSession, PanePath, Place
from checker.explorer.step_offers import StepOffer, pane_names
from checker.explorer.variant import differing_variables
from checker.explorer.violation_search import searchable_properties
from checker.language.default_drawing import drawing_of
from checker.language.roles import LIVENESS_ROLES, Role
from checker.output.counterexample_text import constants_text, non_default_constants
from checker.output.page.chart import chart
from checker.output.page.chart_parts import SequenceChart
from checker.output.page.lanes import StateRenderer, StateView
from checker.output.page.state_tables import StateTable, tables
from checker.output.page.story import bindings_of, variables_of_lanes
from checker.output.page.view_differences import PartKey, differing_parts
from checker.run.plan import DEADLOCK
from checker.run.result import Violation
from traces.recorded_kinds import WALK

_MOST_CHARTED = 100
"""The most states of a path that are drawn as a chart."""

_MOST_ON_LANE = 6
"""The most enabled steps that a lane shows; the list has all of them."""


@dataclass(frozen=True)
class PropertyView:
    """A property with its value in the state (None: it cannot be evaluated, or only whole behaviours decide it).

    `is_checked`: it belongs to the scenario. `search` is the address of the search for a violation.
    """

    name: str
    role: str
    value: bool | None
    is_decided: bool
    is_checked: bool
    explanation: str
    search: str

    @property
    def is_false(self) -> bool:
        """Whether the state or the step violates the property."""
        return self.is_decided and self.value is not True and self.role != "reachable"

    @property
    def is_listed(self) -> bool:
        """Whether the list shows the property; others are folded."""
        return self.is_checked or self.role in ("reachable", "deadlock")

    @property
    def is_here(self) -> bool:
        """Whether the state already is what a search would look for."""
        return self.value is True if self.role == "reachable" else self.is_decided and self.value is False


@dataclass(frozen=True)
class PaneView:
    """A spec on the page: its state as lanes or tables, the changes of the last step, and the properties.

    `sentence` describes the last step; `problem` is why it was not taken. `differs` are the variables with other values
    in the other pane, and `unlike` the parts of the drawing or the tables. `chart` is the sequence chart of the steps
    that were taken, and `positions` the positions of its rows on the path, as JSON.
    """

    title: str
    constants: str
    problem: str
    notes: tuple[str, ...]
    sentence: str
    changes: tuple[StateChange, ...]
    view: StateView | None
    tables: tuple[StateTable, ...]
    properties: tuple[PropertyView, ...]
    offered: dict[str, tuple[StepOffer, ...]]
    differs: tuple[str, ...]
    positions: str
    chart: SequenceChart | None = None
    unlike: frozenset[PartKey] = frozenset()


def pane_views(session: ExplorerSession, place: Place, offers: Sequence[StepOffer]) -> tuple[PaneView, ...]:
    """Return the panes of a place; `offers` are the steps that their lanes show."""
    panes = [pane_view(session, place, number, offers) for number in range(len(place.panes))]
    charts = [_chart(pane) for pane in place.panes]
    return _with_differences([replace(pane, chart=each) for pane, each in zip(panes, charts, strict=True)])


def pane_view(
    session: ExplorerSession, place: Place, number: int, offers: Sequence[StepOffer], sentence: str | None = None
) -> PaneView:
    """Return a pane of a place without its chart; `offers` are the steps that its lanes show.

    `sentence` describes the last step, if it is known.
    """
    pane = place.panes[number]
    spec, step = pane.spec, pane.steps[-1]
    before = pane.steps[-2].state if len(pane.steps) > 1 else None
    if step.outcome != "taken":
        before = step.state
    drawing = drawing_of(spec)
    properties = tuple(_properties(session, place, number))
    # A deadlock is about the state as a whole: it marks no part of it.
    false = next((each for each in properties if each.is_false and each.is_checked and each.name in spec.roles), None)
    view = None
    if drawing is not None:
        bindings = bindings_of(spec, _violation(pane, false.name)) if false is not None else FailureBindings()
        view = StateRenderer(spec, drawing, bindings, pane.state).draw(
            before, pane.state, is_violated=false is not None
        )
    offered: dict[str, tuple[StepOffer, ...]] = {}
    name = pane_names(place)[number]
    for offer in offers:
        if offer.lane and offer.only_in in ("", name):
            offered[offer.lane] = (*offered.get(offer.lane, ()), offer)
    other = place.panes[1 - number] if len(place.panes) == 2 else None
    return PaneView(
        title=name,
        constants=constants_text(non_default_constants(spec)),
        problem="" if step.outcome == "taken" else f"{step.call} is not taken: {step.details}",
        notes=tuple(_notes(pane)),
        sentence=_sentence(pane) if sentence is None else sentence,
        changes=tuple(changes(spec, before, pane.state)) if before is not None else (),
        view=view,
        tables=tables(spec, before, pane.state, variables_of_lanes(drawing) if drawing is not None else frozenset()),
        properties=properties,
        offered={lane: each[:_MOST_ON_LANE] for lane, each in offered.items()},
        positions=json.dumps([number for number, each in enumerate(pane.steps) if each.outcome == "taken"]),
        differs=tuple(differing_variables(spec, pane.state, other.spec, other.state)) if other is not None else (),
    )


def _chart(pane: PanePath) -> SequenceChart | None:
    """Return the sequence chart of the steps that were taken; None without lanes, for no step, and for too many."""
    if drawing_of(pane.spec) is None or not 1 < len(pane.trace) <= _MOST_CHARTED:
        return None
    violation = violation_of(pane)
    return chart(pane.spec, pane.trace, violation if violation.kind != "walk" else None)


def _sentence(pane: PanePath) -> str:
    """Return the sentence that describes the last step; "" for the initial state and for a step that was not taken."""
    if len(pane.steps) < 2 or pane.steps[-1].outcome != "taken":
        return ""
    last = Violation(WALK, "walk", pane.trace[-2:], "")
    return step_sentences(pane.spec, last)[-1].text


def _with_differences(panes: Sequence[PaneView]) -> tuple[PaneView, ...]:
    """Mark the parts that two panes show differently."""
    if len(panes) < 2:
        return tuple(panes)
    one, other = panes
    unlike = differing_parts(one.view or one.tables, other.view or other.tables)
    return tuple(replace(pane, unlike=unlike) for pane in panes)


def _notes(pane: PanePath) -> Iterator[str]:
    for name in pane.spec.names_of(Role.CONSTRAINT):
        try:
            if not pane.spec.holds(name, pane.state):
                yield f"The constraint {name} is false here: the checker explores no step from this state."
        except BoundsError as error:
            yield f"The constraint {name} cannot be evaluated here: {error}."


def _violation(pane: PanePath, name: str) -> Violation:
    """Return the violation of a property at the end of a path."""
    return false_property(pane.spec, name, _trace_to_check(pane))


def _trace_to_check(pane: PanePath) -> tuple[Any, ...]:
    """Return the trace of a path; if its last choice was not taken, no step leads to the last state."""
    return pane.trace if pane.steps[-1].outcome == "taken" else pane.trace[-1:]


def _properties(session: ExplorerSession, place: Place, number: int) -> Iterator[PropertyView]:
    pane = place.panes[number]
    spec, trace = pane.spec, _trace_to_check(pane)
    before = trace[-2].state if len(trace) > 1 else None
    searchable = searchable_properties(spec)
    for name in spec.properties:
        role = spec.roles[name]
        is_decided = role not in LIVENESS_ROLES
        value = session.property_value(place, number, name, pane.state, before) if is_decided else None
        explanation = ""
        if is_decided and value is None:
            explanation = "It cannot be evaluated: a value leaves the bounds of its type."
        elif value is False and role is not Role.REACHABLE:
            explanation = false_property(spec, name, trace).explanation
        search = place.address.query(property=name, pane=number + 1) if name in searchable else ""
        yield PropertyView(
            name,
            role.value,
            value,
            is_decided,
            pane.variant.checks(name),
            explanation,
            f"search{search}" if search else "",
        )
    is_dead = not session.enabled(place, number)
    search = f"search{place.address.query(property=DEADLOCK, pane=number + 1)}"
    text = "No action is enabled in this state." if is_dead else ""
    yield PropertyView(DEADLOCK, "deadlock", not is_dead, True, pane.variant.checks(DEADLOCK), text, search)
