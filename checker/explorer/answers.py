"""The answers of the explorer to requests, without a server: the interface over HTTP and the playground share them.

A request is a name and a query. The query of a page is an address (see `address`), to which parameters are added:

| name | answer | parameters |
| --- | --- | --- |
| "" | the page of the address | |
| `enabled` | a fragment: enabled steps of an action | `action`, `first` (position), `with` (a text in them) |
| `disabled` | a fragment: disabled steps of an action with the `require` that is false | `action`, `first` |
| `search` | a fragment: a shortest continuation to a violation | `property`, `pane`, `states`, `seconds` |
| `random` | a redirection to the page after random steps | `n` or `depth`, `seed` |
| `export` | the path as a file | `format` (json, test, itf, html, text), `pane` |

A step of the address that does not apply is refused with status 400: the page has the reason, and shows the state
before the step.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from checker.errors import InputError, UserError
from checker.explorer import page
from checker.explorer.address import Address, number_in
from checker.explorer.exports import EXPORTS, exported
from checker.explorer.random_walk import MOST_DEPTH, random_walk
from checker.explorer.session import ExplorerSession, Place
from checker.explorer.steps import codes_of
from checker.explorer.violation_search import SearchLimits, search_violation, searchable_properties

NAMES = ("", "enabled", "disabled", "search", "random", "export")
"""The names of the requests."""

_MOST_STATES, _MOST_SECONDS = 20_000_000, 600
"""The most that a search may ask for."""


@dataclass(frozen=True)
class Answer:
    """A text with its status. A redirection has a `location`, a query; an export has the name of its `file`."""

    text: str
    status: int = 200
    media_type: str = "text/html"
    location: str = ""
    file: str = ""


class _Query:
    """The pairs of a query: the address, and the parameters."""

    def __init__(self, pairs: Sequence[tuple[str, str]]):
        self.pairs = pairs
        self._parameters = dict(pairs)

    def __contains__(self, name: str) -> bool:
        return name in self._parameters

    def get(self, name: str, default: str = "") -> str:
        """Return a parameter."""
        return self._parameters.get(name, default)

    def first(self) -> int:
        """Return the position from which on steps are shown."""
        return number_in(self.get("first", "0"), "first", 0, 10_000_000)

    def pane(self, place: Place) -> int:
        """Return the number of a pane, from 0 on."""
        return number_in(self.get("pane", "1"), "pane", 1, len(place.panes)) - 1


class ExplorerAnswers:
    """The answers of a session."""

    def __init__(self, session: ExplorerSession):
        self.session = session

    def answer(self, name: str, pairs: Sequence[tuple[str, str]], cancelled: threading.Event | None = None) -> Answer:
        """Return the answer to a request; a wrong one gets a page with the reason. `cancelled` ends a search."""
        query = _Query(pairs)
        try:
            if name == "":
                return self._page(Address.of(pairs), query)
            place = self._place(Address.of(pairs))
            if name == "enabled":
                wanted = query.get("with")
                return Answer(page.more_offers(self.session, place, query.get("action"), query.first(), wanted))
            if name == "disabled":
                return Answer(page.fragment_of_disabled_steps(place, query.get("action"), query.first()))
            if name == "search":
                return self._search(place, query, cancelled)
            return self._random(place, query) if name == "random" else self._export(place, query)
        except UserError as error:
            return Answer(page.problem_page("This address does not apply", _sentences(error)), 400)

    def _place(self, address: Address) -> Place:
        return self.session.place(self.session.without_base_constants(address))

    def _page(self, address: Address, query: _Query) -> Answer:
        problem = ""
        try:
            place = self._place(address)
        except UserError as error:
            # Wrong constants: the page keeps them in its form, and shows the initial state of the base.
            problem = _sentences(error)
            place = self.session.place(Address())
        given = address if problem else None
        text = page.explorer_page(self.session, place, problem=problem, walk=query.get("walk"), given=given)
        return Answer(text, 400 if problem or place.refused is not None else 200)

    def _search(self, place: Place, query: _Query, cancelled: threading.Event | None) -> Answer:
        name, wanted = query.get("property"), SearchLimits()
        states = number_in(query.get("states", str(wanted.states)), "states", 1, _MOST_STATES)
        seconds = number_in(query.get("seconds", f"{wanted.seconds:.0f}"), "seconds", 1, _MOST_SECONDS)
        number = query.pane(place)
        pane = place.panes[number]
        if name not in searchable_properties(pane.spec):
            raise InputError(f"{pane.spec.name} has no property {name[:80]} of states or steps")
        result = search_violation(pane.spec, pane.state, name, SearchLimits(states, seconds), cancelled)
        codes = codes_of(pane.spec, result.trace)
        longer = place.address.query(
            property=name,
            pane=number + 1,
            states=min(states * 10, _MOST_STATES),
            seconds=min(seconds * 6, _MOST_SECONDS),
        )
        return Answer(page.search_fragment(place, number, name, result, codes, f"search{longer}"))

    def _random(self, place: Place, query: _Query) -> Answer:
        depth = 1 if "n" in query else number_in(query.get("depth", "20"), "depth", 1, MOST_DEPTH)
        generator = random.Random(query.get("seed")) if "seed" in query else random.SystemRandom()
        walk = random_walk(self.session, place, depth, generator)
        more = {} if depth == 1 and walk.end == "depth" else {"walk": walk.end}
        return Answer("", 303, location=walk.address.query(**more))

    def _export(self, place: Place, query: _Query) -> Answer:
        format = query.get("format")
        if format not in EXPORTS:
            raise InputError(f"unknown format {format[:40]!r}: choose from {', '.join(EXPORTS)}")
        file = exported(place.panes[query.pane(place)], format)
        return Answer(file.text, media_type=file.media_type, file=file.name)


def _sentences(error: UserError) -> str:
    return " ".join(part.message for part in error.parts)
