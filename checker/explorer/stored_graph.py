"""A small state graph as a page without a server: what the explorer shows in each state and after each step, stored.

The data of a page are JSON, compressed and in base 64. `pieces` are parts of pages: HTML, or a list of the numbers of
other pieces. A place is what a path shows at its end: its numbers are the pieces of `parts`, in this order. `initial`
has the place of each initial state; these are the first of `states`. A step of a state has the pieces of its code and
its call, the number of the next state, and the place there. The script `stored.js` puts a page together.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from checker.explorer.address import Address
from checker.explorer.page import explorer_page
from checker.explorer.pane_view import pane_view
from checker.explorer.session import ExplorerSession, Place
from checker.explorer.step_offers import action_offers
from checker.explorer.steps import ChosenStep, EnabledStep
from checker.language.interpreter import State
from checker.language.roles import Role
from checker.output.page.lanes import StateView
from checker.output.page.render import macros

_PARTS = ("last", "state", "changes", "properties", "tables")
"""The parts of a page that depend on the last step; the steps that are enabled depend on the state alone."""


@dataclass(frozen=True)
class StoredPage:
    """A page with the numbers of states and steps that it holds."""

    text: str
    states: int
    steps: int


def stored_page(session: ExplorerSession, links: Sequence[tuple[str, str]] = ()) -> StoredPage | None:
    """Return the page of a session's first spec, of which all states are explored; it opens at the session's start.

    Returns None if the spec has constraints: the states outside of them may be without end. `links` are addresses with
    their texts.
    """
    graph = _Graph(session)
    if graph.spec.names_of(Role.CONSTRAINT):
        return None
    graph.explore()
    packed = base64.b64encode(gzip.compress(json.dumps(graph.data()).encode(), mtime=0)).decode()
    text = explorer_page(session, session.place(session.start), stored=packed, links=links)
    return StoredPage(text, len(graph.order), graph.steps)


class _Pieces:
    """Parts of pages, each once; its number is its place."""

    def __init__(self) -> None:
        self._numbers: dict[str | tuple[int, ...], int] = {}

    def number(self, piece: str | tuple[int, ...]) -> int:
        """Return the number of a part."""
        return self._numbers.setdefault(piece, len(self._numbers))

    def all(self) -> list[str | tuple[int, ...]]:
        """Return the parts in the order of their numbers."""
        return list(self._numbers)


class _Graph:
    """The graph of a session's first spec, explored breadth-first, with the parts of its pages."""

    def __init__(self, session: ExplorerSession):
        self._session = session
        self._first = session.place(Address())
        self.spec = self._first.panes[0].spec
        self.order: list[State] = []
        self.steps = 0
        self._numbers: dict[State, int] = {}
        self._pieces, self._places = _Pieces(), _Pieces()
        self._states: list[dict[str, Any]] = []
        self._rendered: dict[Any, int] = {}
        self._steps = macros("offers.html.j2", "checker.explorer", inlined=False)
        self._parts = macros("parts.html.j2", "checker.explorer")

    def explore(self) -> None:
        """Explore all states."""
        for number in range(self._first.initial_states):
            place = self._session.place(Address(initial=number + 1))
            self._number(place.panes[0].state)
        for state in self.order:
            steps = self._session.enabled(self._at(ChosenStep("", None, (), state)))
            # One object for each state in the session's memory: to compare states takes longer than to look them up.
            steps[:] = [step if step.state is None else replace(step, state=self._known(step.state)) for step in steps]

    def _known(self, state: State) -> State:
        return self.order[self._number(state)]

    def _number(self, state: State) -> int:
        if state not in self._numbers:
            self._numbers[state] = len(self.order)
            self.order.append(state)
        return self._numbers[state]

    def _at(self, *steps: ChosenStep) -> Place:
        """Return the place at the end of a path that may begin anywhere."""
        return replace(self._first, panes=(replace(self._first.panes[0], steps=steps),))

    def data(self) -> dict[str, Any]:
        """Return the data of the page."""
        states = [self._state(state) for state in self.order]
        starts = self.order[: self._first.initial_states]
        initial = [self._place("", ChosenStep("", None, (), state)) for state in starts]
        return {
            "parts": [*_PARTS, "enabled"],
            "pieces": self._pieces.all(),
            "places": self._places.all(),
            "initial": initial,
            "states": states,
        }

    def _state(self, state: State) -> dict[str, Any]:
        first = ChosenStep("", None, (), state)
        groups = action_offers(self._session, self._at(first), is_whole=True)
        offered = [self._once(each, self._steps.action, each) for each in groups]
        count = sum(group.count for group in groups)
        head = self._once(("enabled", count), self._steps.enabled, (), count)
        sentences = {offer.code: offer.sentence for group in groups for offer in group.offers}
        steps = self._session.enabled(self._at(first))
        return {
            "enabled": self._pieces.number((head, *offered)),
            "steps": [self._step(first, step, sentences[step.code]) for step in steps if step.state is not None],
        }

    def _step(self, first: ChosenStep, step: EnabledStep, sentence: str) -> list[int]:
        self.steps += 1
        assert step.state is not None
        place = self._place(sentence, first, ChosenStep(step.code, step.action, step.arguments, step.state))
        call = self._pieces.number(step.call)
        return [self._pieces.number(step.code), call, self._number(step.state), place]

    def _place(self, sentence: str, *steps: ChosenStep) -> int:
        pane = pane_view(self._session, self._at(*steps), 0, (), sentence)
        properties = tuple(replace(each, search="") for each in pane.properties)
        said = (pane.sentence, pane.notes, tuple(each for each in properties if each.is_false and each.is_checked))
        tables = self._once(("tables", pane.tables), self._parts.tables, pane.tables)
        codes = [step.code for step in steps[1:]]
        changed = ("changes", len(codes), pane.changes)
        return self._places.number(
            (
                self._once(("last", said), self._steps.last_step, pane, len(codes) + 1),
                self._view(pane.view) if pane.view is not None else tables,
                self._once(changed, self._steps.changes, pane.changes, codes),
                self._once(properties, self._steps.all_properties, properties),
                tables,
            )
        )

    def _view(self, view: StateView) -> int:
        """Return the piece of the lanes, as the macro `state` draws them."""
        pieces = [self._pieces.number('<div class="state">')]
        for group in view.groups:
            if group[0].is_single:
                pieces += [self._once(lane, self._parts.single_lane, lane) for lane in group]
                continue
            columns = view.columns_of(group)
            pieces.append(self._once(("head", columns), self._parts.lanes_head, columns))
            for lane in group:
                inside = tuple((lane.title in each.members, lane.title in each.before) for each in columns)
                pieces.append(self._once((lane, inside), self._parts.lane_row, lane, columns))
            pieces.append(self._pieces.number("</tbody></table>"))
        return self._pieces.number((*pieces, self._pieces.number("</div>")))

    def _once(self, key: Any, macro: Callable[..., Any], *given: Any) -> int:
        """Return the number of the piece for a key, which a macro renders at its first use."""
        if key not in self._rendered:
            self._rendered[key] = self._pieces.number(str(macro(*given)).strip())
        return self._rendered[key]
