"""The page of a place: lanes, enabled steps, properties and the visited paths, as plain data for the template."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

from checker.errors import BoundsError
from checker.explain.differences import StateChange, changes
from checker.explain.lane_owners import FailureBindings, lane_owners
from checker.explain.step_events import lane_title, step_event
from checker.explain.step_sentences import first_sentence, step_sentences
from checker.explain.violations import false_property
from checker.explorer.address import Address, parts_of_code
from checker.explorer.exports import violation_of
from checker.explorer.session import ExplorerSession, PanePath, Place
from checker.explorer.steps import EnabledStep, disabled_steps
from checker.explorer.variant import differing_variables
from checker.explorer.violation_search import ViolationSearch, searchable_properties
from checker.explorer.visited_tree import VisitedNode
from checker.language.declarations import Constant
from checker.language.default_drawing import drawing_of
from checker.language.roles import LIVENESS_ROLES, Role
from checker.language.values import show
from checker.output.counterexample_text import constants_text, non_default_constants
from checker.output.page.chart import SequenceChart, chart
from checker.output.page.lanes import StateRenderer, StateView
from checker.output.page.render import render
from checker.output.page.state_tables import StateTable, tables
from checker.output.page.story import bindings_of, drawn_variables, legend_of, property_value
from checker.output.page.view_differences import PartKey, differing_parts
from checker.run.plan import DEADLOCK
from checker.run.result import TraceStep, Violation
from traces.recorded_kinds import WALK

PAGE_OF_STEPS = 50
"""The steps of an action that are shown at once; the rest is loaded page by page."""

_MOST_OPEN = 60
"""If a state has more enabled steps, each action is folded, and its steps are loaded when it is opened."""

_MOST_CHARTED = 100
"""The most states of a path that are drawn as a chart."""

_MOST_ON_LANE = 6
"""The most enabled steps that a lane shows; the list has all of them."""

_WALK_ENDS = {
    "depth": "The random walk has reached its depth.",
    "violation": "The random walk ended at its first violation.",
    "deadlock": "The random walk ended because no action is enabled.",
    "constraint": "The random walk ended because a constraint is false: the checker explores no step from here.",
    "seconds": "The random walk ended after its time limit.",
    "steps": "The random walk ended because the address has as many steps as it may have.",
}


@dataclass(frozen=True)
class StepOffer:
    """An enabled step that the page offers: its link, its arguments by name, and what it leads to.

    `violates` are the properties that are false after it, `failure` is why it has no successor. `is_idle`: it does not
    change the state. `only_in`: the name of the pane if the other pane cannot take the step.
    """

    action: str
    href: str
    arguments: tuple[tuple[str, str], ...]
    violates: tuple[str, ...]
    failure: str
    is_idle: bool
    only_in: str
    lane: str
    others: str


@dataclass(frozen=True)
class ActionOffers:
    """An action with its enabled steps: some of them, and the number of all. `more` loads the next ones."""

    action: str
    summary: str
    count: int
    offers: tuple[StepOffer, ...]
    is_open: bool
    more: str


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
    chart: SequenceChart | None
    positions: str
    unlike: frozenset[PartKey] = frozenset()


@dataclass(frozen=True)
class BranchLink:
    """A branch that leaves the shown path: its first call, the number of its steps, and its codes as JSON."""

    call: str
    steps: int
    codes: str


@dataclass(frozen=True)
class PathRow:
    """A state of the path, or of the steps that were undone: its call and the branches that leave it.

    `skipped_by` are the panes that cannot take the step.
    """

    number: int
    call: str
    is_current: bool
    is_undone: bool
    is_parting: bool
    skipped_by: tuple[str, ...]
    branches: tuple[BranchLink, ...]


@dataclass(frozen=True)
class ConstantField:
    """A constant in the form: its value, its default, and the names that it may have."""

    name: str
    value: str
    default: str
    kind: str
    choices: tuple[str, ...]


def explorer_page(
    session: ExplorerSession,
    place: Place,
    *,
    problem: str = "",
    walk: str = "",
    given: Address | None = None,
    inlined: bool = False,
) -> str:
    """Return the page of a place. `problem` is a sentence about a wrong address, of which `given` has the constants.

    With `inlined` the page is a document without a server: it has its style sheet, and its links lead nowhere.
    """
    nodes = session.tree(place.address).visit(place.address.codes)
    groups = action_offers(session, place)
    shown = [offer for group in groups for offer in group.offers]
    count = sum(group.count for group in groups)
    panes = _with_differences(
        [_pane(session, place, number, shown if count <= _MOST_OPEN else []) for number in range(len(place.panes))]
    )
    problems = [text for text in (problem, place.refused.text if place.refused else "") if text]
    address = place.address
    last = nodes[-1]
    first = place.panes[0]
    drawing = drawing_of(first.spec)
    return render(
        "explorer.html.j2",
        package="checker.explorer",
        inlined=inlined,
        explorer_style=asset("explorer.css") if inlined else "",
        title=f"{first.variant.name}: step {len(address.codes) + 1}",
        name=first.variant.name,
        description=first.variant.description,
        summary=first.variant.spec.summary(),
        panes=panes,
        groups=groups,
        step_count=count,
        is_long=count > _MOST_OPEN,
        problems=problems,
        walk=_WALK_ENDS.get(walk, ""),
        rows=tuple(_rows(place, nodes)),
        address=address,
        initial_states=place.initial_states,
        constants=tuple(_constant_fields(session, place, given or address)),
        trunk=json.dumps([*address.codes, *last.end]),
        base=address.until(0).query(),
        undo=address.until(len(address.codes) - 1).query() if address.codes else "",
        redo=address.then(last.last).query() if last.last else "",
        start=session.start.query() if session.start.codes else "",
        announcement=_announcement(place, panes, count),
        disabled_actions=tuple(_disabled_actions(place)),
        legend=legend_of(drawing) if drawing is not None else None,
        parted=place.parted,
    )


def pane_names(place: Place) -> tuple[str, ...]:
    """Return the names of the panes; specs of the same name get their numbers."""
    names = [pane.variant.name for pane in place.panes]
    return tuple(f"{name} ({number})" if names.count(name) > 1 else name for number, name in enumerate(names, 1))


def action_offers(session: ExplorerSession, place: Place) -> tuple[ActionOffers, ...]:
    """Return the enabled steps by action. If there are many, only their numbers."""
    found = list(_merged(session, place))
    is_long = len(found) > _MOST_OPEN
    groups = []
    for action, items in itertools.groupby(sorted(found, key=lambda item: item[2]), key=lambda item: item[0].action):
        steps = list(items)
        shown = () if is_long else tuple(_offer(session, place, *item) for item in steps[:PAGE_OF_STEPS])
        more = "" if len(shown) == len(steps) else f"enabled{place.address.query(action=action, first=len(shown))}"
        method = getattr(type(place.panes[0].spec), action, None) or getattr(type(place.panes[-1].spec), action)
        summary = first_sentence(method.__doc__ or "")
        groups.append(ActionOffers(action, summary, len(steps), shown, not is_long, more))
    return tuple(groups)


def more_offers(session: ExplorerSession, place: Place, action: str, first: int, wanted: str) -> str:
    """Return the next enabled steps of an action as a fragment of the page; `wanted` is a text that they contain."""
    found = [item for item in _merged(session, place) if item[0].action == action]
    if wanted:
        found = [item for item in found if wanted.lower() in item[0].call.lower()]
    shown = [_offer(session, place, *item) for item in found[first : first + PAGE_OF_STEPS]]
    after = first + len(shown)
    more = ""
    if after < len(found):
        more = f"enabled{place.address.query(action=action, first=after, **({'with': wanted} if wanted else {}))}"
    return _fragment("offers", offers=shown, more=more, left=len(found) - after)


def disabled_fragment(place: Place, action: str, first: int) -> str:
    """Return disabled steps of an action, with the `require` that is false, as a fragment of the page."""
    panes = []
    for pane, name in zip(place.panes, pane_names(place), strict=True):
        if action in pane.spec.actions:
            steps, count = disabled_steps(pane.spec, pane.state, action, first, PAGE_OF_STEPS // 2)
            panes.append((name if len(place.panes) > 1 else "", steps, count - first - len(steps)))
    if not panes:
        disabled_steps(place.panes[0].spec, place.panes[0].state, action, first, 0)
    more = f"disabled{place.address.query(action=action, first=first + PAGE_OF_STEPS // 2)}"
    return _fragment("disabled", panes=panes, more=more)


def search_fragment(
    place: Place, number: int, name: str, found: ViolationSearch, codes: tuple[str, ...], retry: str
) -> str:
    """Return the result of a search in a pane as a fragment; `codes` are the steps of the continuation."""
    spec = place.panes[number].spec
    is_reachable = spec.roles.get(name) is Role.REACHABLE
    calls = [str(step) for step in found.trace[1:]]
    return _fragment(
        "search",
        name=name,
        found=found,
        is_reachable=is_reachable,
        has_constraints=bool(spec.names_of(Role.CONSTRAINT)),
        steps=[(call, place.address.then(*codes[: index + 1]).query()) for index, call in enumerate(calls)],
        end=place.address.then(*codes).query(),
        retry=retry,
    )


def problem_page(title: str, problem: str) -> str:
    """Return a page that has only a sentence."""
    return render("problem.html.j2", package="checker.explorer", title=title, problem=problem)


def asset(name: str) -> str:
    """Return a script or style sheet; the style sheet of all pages is `page.css`."""
    package, folder = ("checker.output", "page") if name == "page.css" else ("checker.explorer", "static")
    return resources.files(package).joinpath(folder, name).read_text(encoding="utf-8")


def _fragment(kind: str, **content: Any) -> str:
    return render("fragment.html.j2", package="checker.explorer", kind=kind, inlined=False, **content)


def _merged(session: ExplorerSession, place: Place) -> Iterator[tuple[EnabledStep, int, tuple[int, int]]]:
    """Iterate over the steps that some pane can take: the step, the pane that takes it alone (-1: all), its order."""
    codes = [{step.code for step in session.enabled(place, number)} for number in range(len(place.panes))]
    known: set[str] = set()
    for number, pane in enumerate(place.panes):
        order = {action: position for position, action in enumerate(place.panes[0].spec.actions)}
        for position, step in enumerate(session.enabled(place, number)):
            if step.code not in known:
                known.add(step.code)
                alone = -1 if all(step.code in found for found in codes) else number
                action = order.get(step.action, len(order) + pane.spec.actions.index(step.action))
                yield step, alone, (action, position)


def _offer(session: ExplorerSession, place: Place, step: EnabledStep, alone: int, _: tuple[int, int]) -> StepOffer:
    pane = place.panes[max(alone, 0)]
    parameters = [parameter.name for parameter in pane.spec.parameters_of(step.action)]
    shown = tuple((name, show(value)) for name, value in zip(parameters, step.arguments, strict=True))
    lane, others = _on_lane(pane, step)
    return StepOffer(
        action=step.action,
        href=place.address.then(step.code).query() if step.state is not None else "",
        arguments=shown,
        violates=tuple(_violated_after(session, place, step, alone)),
        failure=step.failure,
        is_idle=step.state == pane.state,
        only_in=pane_names(place)[alone] if alone >= 0 else "",
        lane=lane,
        others=others,
    )


def _violated_after(session: ExplorerSession, place: Place, step: EnabledStep, alone: int) -> Iterator[str]:
    """Iterate over the properties that a step violates; with the name of the pane if the other one is not violated."""
    if alone >= 0 or len(place.panes) == 1:
        yield from _violated_by(place.panes[max(alone, 0)], step)
        return
    violated = []
    for number, pane in enumerate(place.panes):
        same = next(found for found in session.enabled(place, number) if found.code == step.code)
        violated.append(list(_violated_by(pane, same)))
    for name in dict.fromkeys([*violated[0], *violated[1]]):
        where = [pane for pane, names in zip(pane_names(place), violated, strict=True) if name in names]
        yield name if len(where) == 2 else f"{name} in {where[0]}"


def _violated_by(pane: PanePath, step: EnabledStep) -> Iterator[str]:
    """Iterate over the properties of states and steps that are false after a step and were not false before."""
    if step.state is None:
        return
    for name in pane.spec.safety_properties:
        if pane.spec.roles[name] is Role.REACHABLE or property_value(pane.spec, name, step.state, pane.state) is True:
            continue
        was_false = (
            pane.spec.roles[name] is Role.INVARIANT and property_value(pane.spec, name, pane.state, None) is not True
        )
        if not was_false:
            yield name


def _on_lane(pane: PanePath, step: EnabledStep) -> tuple[str, str]:
    """Return the title of the lane where a step happens ("": none), and the arguments that the lane does not say."""
    drawing = drawing_of(pane.spec)
    if drawing is None or step.state is None:
        return "", ""
    lane = step_event(pane.spec, drawing, pane.state, TraceStep(step.action, step.arguments, step.state)).lane
    owners = lane_owners(pane.spec, drawing)
    parameters = pane.spec.parameters_of(step.action)
    given = zip(parameters, step.arguments, strict=True)
    return lane, ", ".join(
        f"{parameter.name}={show(value)}" for parameter, value in given if not lane or lane_title(value, owners) != lane
    )


def _pane(session: ExplorerSession, place: Place, number: int, offers: Sequence[StepOffer]) -> PaneView:
    pane = place.panes[number]
    spec, step = pane.spec, pane.steps[-1]
    before = pane.steps[-2].state if len(pane.steps) > 1 else None
    if step.outcome != "taken":
        before = step.state
    drawing = drawing_of(spec)
    properties = tuple(_properties(session, place, number))
    # A deadlock is about the state as a whole: it marks no part of it.
    false = next(
        (found for found in properties if found.is_false and found.is_checked and found.name in spec.roles), None
    )
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
        sentence=_sentence(pane),
        changes=tuple(changes(spec, before, pane.state)) if before is not None else (),
        view=view,
        tables=tables(spec, before, pane.state, drawn_variables(drawing) if drawing is not None else frozenset()),
        properties=properties,
        offered={lane: found[:_MOST_ON_LANE] for lane, found in offered.items()},
        chart=_chart(pane),
        positions=json.dumps([number for number, found in enumerate(pane.steps) if found.outcome == "taken"]),
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
    return false_property(pane.spec, name, _checked_trace(pane))


def _checked_trace(pane: PanePath) -> tuple[Any, ...]:
    """Return the trace of a path; if its last choice was not taken, no step leads to the last state."""
    return pane.trace if pane.steps[-1].outcome == "taken" else pane.trace[-1:]


def _properties(session: ExplorerSession, place: Place, number: int) -> Iterator[PropertyView]:
    pane = place.panes[number]
    spec, trace = pane.spec, _checked_trace(pane)
    before = trace[-2].state if len(trace) > 1 else None
    searchable = searchable_properties(spec)
    for name in spec.properties:
        role = spec.roles[name]
        is_decided = role not in LIVENESS_ROLES
        value = property_value(spec, name, pane.state, before) if is_decided else None
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


def _rows(place: Place, nodes: list[VisitedNode]) -> Iterator[PathRow]:
    """Iterate over the states of the path, and of the steps that were undone at its end."""
    codes = [*place.address.codes, *nodes[-1].end]
    node = nodes[0]
    names = pane_names(place)
    for position in range(len(codes) + 1):
        following = codes[position] if position < len(codes) else ""
        branches = [(code, branch) for code, branch in node.branches.items() if code != following]
        here = [pane.steps[position] for pane in place.panes if position < len(pane.steps)]
        yield PathRow(
            number=position,
            call="initial state" if position == 0 else call_of_code(codes[position - 1]),
            is_current=position == len(place.address.codes),
            is_undone=position > len(place.address.codes),
            is_parting=position == place.parted,
            skipped_by=tuple(name for name, step in zip(names, here, strict=False) if step.outcome != "taken"),
            branches=tuple(
                BranchLink(call_of_code(code), 1 + len(branch.end), json.dumps([code, *branch.end]))
                for code, branch in branches
            ),
        )
        if following:
            node = node.branches[following]


def call_of_code(code: str) -> str:
    """Return the step of a code as text."""
    action, *texts = parts_of_code(code)
    return f"{action}({', '.join(texts)})"


def _disabled_actions(place: Place) -> Iterator[tuple[str, str]]:
    """Iterate over the actions, each with the address of its disabled steps."""
    names = dict.fromkeys(name for pane in place.panes for name in pane.spec.actions)
    for name in names:
        yield name, f"disabled{place.address.query(action=name, first=0)}"


def _constant_fields(session: ExplorerSession, place: Place, address: Address) -> Iterator[ConstantField]:
    texts = dict(address.settings)
    seen: set[str] = set()
    for pane in place.panes:
        for name, declared in pane.spec.declared_constants.items():
            if name not in seen:
                seen.add(name)
                value = texts.get(name, _text(pane.spec.constants[name]))
                base = _text(pane.variant.constants.get(name, declared.default))
                yield ConstantField(name, value, base, _kind(declared), _choices(declared))


def _text(value: int | bool | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _kind(constant: Constant) -> str:
    return "number" if type(constant.default) is int and constant.one_of is None else "text"


def _choices(constant: Constant) -> tuple[str, ...]:
    if constant.one_of is not None:
        return tuple(_text(value) for value in constant.one_of)
    return ("true", "false") if isinstance(constant.default, bool) else ()


def _announcement(place: Place, panes: tuple[PaneView, ...], count: int) -> str:
    """Return the sentence that screen readers speak after a step."""
    codes = place.address.codes
    where = f"Step {len(codes) + 1}, {call_of_code(codes[-1])}." if codes else "Step 1, initial state."
    false = [
        f"{found.name} is false." for pane in panes for found in pane.properties if found.is_false and found.is_checked
    ]
    return " ".join([where, *dict.fromkeys(false), f"{count} enabled step{'' if count == 1 else 's'}."])
