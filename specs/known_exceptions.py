"""What the catalogue knows beyond the explorations of a table of guarantees: the "but" of a "no", and what is left out.

Every table of guarantees reads the entries that exist, their releases and their conditions here.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

from checker.language.tables import GuaranteeNote, GuaranteeRow, Table
from specs.hazards import EVENTS, LEADER_LOST, Hazard, hazards
from specs.kafka_releases import RELEASES

LATEST = ((RELEASES[-1], RELEASES[-1]),)
"""Brokers and clients of the latest release."""


def exceptions(
    outcome: str,
    explored: Iterable[str],
    config: Mapping[str, str],
    releases: tuple[tuple[str, str], ...] = LATEST,
    beyond: Iterable[str] = (),
) -> tuple[str, ...]:
    """Return the names of the entries that say yes for a cell, whatever its checks say.

    `explored` are the events that the checks of the cell have. After an event of `beyond`, which they lack, outcomes
    under further conditions count too. `releases` are pairs of brokers and clients, of which one suffices.
    """
    beyond = frozenset(beyond)
    events = beyond.union(explored, ["none"])
    return tuple(
        hazard.name
        for hazard in hazards().values()
        if (outcome in hazard.outcomes and not events.isdisjoint(hazard.events_with(config, outcome)))
        or (outcome in hazard.also and not beyond.isdisjoint(hazard.events_with(config)))
        if _exists(hazard.name, releases, config.get("controller", ""))
        or any(hazard.is_reopened(broker, config) for broker, _ in releases)
    )


@functools.cache
def _exists(name: str, releases: tuple[tuple[str, str], ...], controller: str) -> bool:
    """Return whether brokers and clients of one of some pairs of releases have an entry."""
    return any(hazards()[name].exists_in(broker, controller, client) for broker, client in releases)


def unexplored(
    outcomes: Iterable[str],
    answered: Iterable[str],
    config: Mapping[str, str],
    releases: tuple[tuple[str, str], ...] = LATEST,
    shown: Iterable[str] = (),
) -> str:
    """Return the paragraph of a legend that names the events without an answer, with the entries that they may cause.

    `answered` are the events of the cells, `shown` the entries that columns show. Only entries with one of the outcomes
    of the table count.
    """
    outcomes, answered = {*outcomes}, {*answered, "none"}
    known = [
        hazard
        for hazard in hazards().values()
        if hazard.name not in shown
        and not outcomes.isdisjoint(hazard.outcomes)
        and _exists(hazard.name, releases, config.get("controller", ""))
    ]
    names = {event: [hazard.name for hazard in known if event in hazard.events_with(config)] for event in EVENTS}
    parts = _parts({event: each for event, each in names.items() if each and event not in answered})
    return f"Not explored here, and not safe: {'; '.join(parts)}."


def _parts(names: Mapping[str, list[str]]) -> list[str]:
    """Return a text for each event with its entries. What every loss of the leader may cause is said once."""
    lost = [event for event in names if event in LEADER_LOST]
    common = [name for name in names[lost[0]] if all(name in names[event] for event in lost)] if lost[1:] else []
    texts = {event: _with_names(EVENTS[event], each) for event, each in names.items()}
    if not common:
        return list(texts.values())
    further = {event: [name for name in names[event] if name not in common] for event in lost}
    losses = ", ".join(_with_names(EVENTS[event], each) for event, each in further.items())
    others = [text for event, text in texts.items() if event not in lost]
    return [f"whatever may take the leader away ({', '.join(common)}): {losses}", *others]


def _with_names(text: str, names: Iterable[str]) -> str:
    listed = ", ".join(names)
    return f"{text} ({listed})" if listed else text


def noted_table(
    name: str,
    columns: Mapping[str, str],
    rows: Iterable[GuaranteeRow],
    notes: Mapping[str, GuaranteeNote],
    legend: Iterable[str],
) -> Table:
    """Return a table with a note on each exception that `notes` lacks."""
    rows = tuple(rows)
    named = {name for row in rows for cell in row.cells.values() for name in cell.exceptions}
    further = {name: note_on(hazards()[name]) for name in sorted(named - notes.keys())}
    return Table(name, columns, rows, notes={**notes, **further}, legend=tuple(legend))


def note_on(hazard: Hazard) -> GuaranteeNote:
    """Return the note on an entry that no check of its table has."""
    seen = "".join(f" Seen on Kafka {each.kafka}: {each.what}." for each in hazard.sightings)
    shown = f" Shown by Kafka's classes: {hazard.classes}." if hazard.classes and not seen else ""
    command = f" `python -m checker run {hazard.shown_by}` shows it." if hazard.shown_by else ""
    needs = hazard.coincidence or hazard.needs
    return GuaranteeNote(f"{hazard.title} ({hazard.name}): {needs}{seen}{shown}{command}", takes=hazard.takes)
