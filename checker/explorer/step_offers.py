"""The enabled steps of a place as the page offers them: by action, with their arguments and what they lead to."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from checker.explain.lane_owners import lane_owners
from checker.explain.step_events import lane_title
from checker.explain.step_sentences import describe_steps, first_sentence
from checker.explorer.session import ExplorerSession, PanePath, Place
from checker.explorer.steps import EnabledStep
from checker.language.default_drawing import drawing_of
from checker.language.roles import Role
from checker.language.values import show
from checker.run.result import TraceStep

PAGE_OF_STEPS = 50
"""The steps of an action that are shown at once; the rest is loaded page by page."""

MOST_OPEN = 60
"""If a state has more enabled steps, each action is folded, and its steps are loaded when it is opened."""


@dataclass(frozen=True)
class StepOffer:
    """An enabled step that the page offers: its link, its arguments by name, and what it leads to.

    `violates` are the properties that are false after it, `failure` is why it has no successor. `is_idle`: it does not
    change the state. `only_in`: the name of the pane if the other pane cannot take the step. `lane` is the title of the
    lane where it happens, and `others` are the arguments that the lane does not say. `sentence` describes the step.
    """

    action: str
    code: str
    href: str
    arguments: tuple[tuple[str, str], ...]
    violates: tuple[str, ...]
    failure: str
    is_idle: bool
    only_in: str
    lane: str
    others: str
    sentence: str


@dataclass(frozen=True)
class ActionOffers:
    """An action with its enabled steps: some of them, and the number of all. `more` loads the next ones."""

    action: str
    summary: str
    count: int
    offers: tuple[StepOffer, ...]
    is_open: bool
    more: str


def pane_names(place: Place) -> tuple[str, ...]:
    """Return the names of the panes; specs of the same name get their numbers."""
    names = [pane.variant.name for pane in place.panes]
    return tuple(f"{name} ({number})" if names.count(name) > 1 else name for number, name in enumerate(names, 1))


def action_offers(session: ExplorerSession, place: Place, is_whole: bool = False) -> tuple[ActionOffers, ...]:
    """Return the enabled steps by action. If there are many, only their numbers, unless `is_whole`."""
    offers = list(_merge(session, place))
    is_long = len(offers) > MOST_OPEN and not is_whole
    groups = []
    for action, items in itertools.groupby(sorted(offers, key=lambda item: item[2]), key=lambda item: item[0].action):
        steps = list(items)
        most = len(steps) if is_whole else 0 if is_long else PAGE_OF_STEPS
        shown = tuple(_offer(session, place, *item) for item in steps[:most])
        more = "" if len(shown) == len(steps) else f"enabled{place.address.query(action=action, first=len(shown))}"
        method = getattr(type(place.panes[0].spec), action, None) or getattr(type(place.panes[-1].spec), action)
        summary = first_sentence(method.__doc__ or "")
        groups.append(ActionOffers(action, summary, len(steps), shown, not is_long, more))
    return tuple(groups)


def _merge(session: ExplorerSession, place: Place) -> Iterator[tuple[EnabledStep, int, tuple[int, int]]]:
    """Iterate over the steps that some pane can take: the step, the pane that takes it alone (-1: all), its order."""
    codes = [{step.code for step in session.enabled(place, number)} for number in range(len(place.panes))]
    known: set[str] = set()
    for number, pane in enumerate(place.panes):
        order = {action: position for position, action in enumerate(place.panes[0].spec.actions)}
        for position, step in enumerate(session.enabled(place, number)):
            if step.code not in known:
                known.add(step.code)
                alone = -1 if all(step.code in among for among in codes) else number
                action = order.get(step.action, len(order) + pane.spec.actions.index(step.action))
                yield step, alone, (action, position)


def _offer(session: ExplorerSession, place: Place, step: EnabledStep, alone: int, _: tuple[int, int]) -> StepOffer:
    pane = place.panes[max(alone, 0)]
    parameters = [parameter.name for parameter in pane.spec.parameters_of(step.action)]
    shown = tuple((name, show(value)) for name, value in zip(parameters, step.arguments, strict=True))
    lane, others, sentence = _described(pane, step)
    return StepOffer(
        action=step.action,
        code=step.code,
        href=place.address.then(step.code).query() if step.state is not None else "",
        arguments=shown,
        violates=tuple(_violations_after(session, place, step, alone)),
        failure=step.failure,
        is_idle=step.state == pane.state,
        only_in=pane_names(place)[alone] if alone >= 0 else "",
        lane=lane,
        others=others,
        sentence=sentence,
    )


def _violations_after(session: ExplorerSession, place: Place, step: EnabledStep, alone: int) -> Iterator[str]:
    """Iterate over the properties that a step violates; with the name of the pane if the other one is not violated."""
    if alone >= 0 or len(place.panes) == 1:
        yield from _violations_by(session, place, max(alone, 0), step)
        return
    violated = []
    for number in range(len(place.panes)):
        same = next(enabled_step for enabled_step in session.enabled(place, number) if enabled_step.code == step.code)
        violated.append(list(_violations_by(session, place, number, same)))
    for name in dict.fromkeys([*violated[0], *violated[1]]):
        where = [pane for pane, names in zip(pane_names(place), violated, strict=True) if name in names]
        yield name if len(where) == 2 else f"{name} in {where[0]}"


def _violations_by(session: ExplorerSession, place: Place, number: int, step: EnabledStep) -> Iterator[str]:
    """Iterate over the properties of states and steps that are false after a step and were not false before."""
    pane = place.panes[number]
    if step.state is None:
        return
    for name in pane.spec.safety_properties:
        role = pane.spec.roles[name]
        if role is Role.REACHABLE or session.property_value(place, number, name, step.state, pane.state) is True:
            continue
        if role is not Role.INVARIANT or session.property_value(place, number, name, pane.state, None) is True:
            yield name


def _described(pane: PanePath, step: EnabledStep) -> tuple[str, str, str]:
    """Return the lane where a step happens ("": none), the arguments that the lane does not say, and the sentence.

    A step that leaves the bounds of a type has none of them.
    """
    if step.state is None:
        return "", "", ""
    trace = (TraceStep(None, (), pane.state), TraceStep(step.action, step.arguments, step.state))
    sentence, event = describe_steps(pane.spec, trace, start="-")[-1]
    drawing = drawing_of(pane.spec)
    if drawing is None or event is None:
        return "", "", sentence.text
    lane = event.lane
    owners = lane_owners(pane.spec, drawing)
    parameters = pane.spec.parameters_of(step.action)
    given = zip(parameters, step.arguments, strict=True)
    others = ", ".join(
        f"{parameter.name}={show(value)}" for parameter, value in given if not lane or lane_title(value, owners) != lane
    )
    return lane, others, sentence.text


def further_offers(
    session: ExplorerSession, place: Place, action: str, first: int, wanted: str
) -> tuple[list[StepOffer], int]:
    """Return the enabled steps of an action from position `first` on, at most `PAGE_OF_STEPS`, and how many follow.

    `wanted` is a text that all of them contain.
    """
    matching = [item for item in _merge(session, place) if item[0].action == action]
    if wanted:
        matching = [item for item in matching if wanted.lower() in item[0].call.lower()]
    shown = [_offer(session, place, *item) for item in matching[first : first + PAGE_OF_STEPS]]
    return shown, len(matching) - first - len(shown)
