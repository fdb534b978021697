"""The entries of the catalogue by name, for the command line: I7, i7, KAFKA-7128, `producer H-1` or H-1, KIP-101.

The entry points `tidemark.names` and `tidemark.stories` of the checker are the functions of this module.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from checker.errors import InputError, nearest_names
from kafka_tools.pages.catalogue_scenarios import entry_of
from kafka_tools.pages.museum.entries import Exhibit, exhibits
from specs.hazards import Hazard, hazards
from specs.kafka_releases import describe_releases

_ENTRY_NAME = re.compile(r"(\w+ )?([a-z]+-|[a-z])\d+", re.IGNORECASE)
"""What looks like a name of the catalogue, such as R18, C-1, `controller H-10` or KAFKA-7128."""


def scenarios_of(name: str) -> list[str]:
    """Return the scenarios that show an entry, or every entry of a ticket; none if no entry could have such a name.

    Raises:
        InputError: no spec models the entry, it is one of several, or the catalogue has none of a name like this.
    """
    _require_one_entry(name)
    shown = [exhibit.shown_by.target for exhibit in exhibits_of(name) if exhibit.shown_by is not None]
    known = _hazards_of(name)
    shown += [hazard.shown_by for hazard in known if hazard.shown_by]
    unmodelled = [hazard for hazard in known if not hazard.shown_by]
    if not shown and unmodelled:
        raise InputError(
            f"no spec models {unmodelled[0].name} ({unmodelled[0].title}): "
            f"python -m checker show '{unmodelled[0].name}' has what is known"
        )
    if not shown and _ENTRY_NAME.fullmatch(name):
        raise InputError(f"the catalogue has no entry {name}{_nearest_names(name)}")
    return list(dict.fromkeys(shown))


def _require_one_entry(name: str) -> None:
    """Raise InputError if a name, such as H-4, is that of entries of several subjects; of a ticket all are meant."""
    meant = {known: hazard.title for known, hazard in hazards().items() if _is_named(name, known)}
    if len(meant) > 1:
        raise InputError(
            f"{name} is the name of {len(meant)} entries; write "
            + " or ".join(f"{shlex.quote(known)} ({title})" for known, title in meant.items())
        )


def _nearest_names(name: str) -> str:
    """Return the end of a sentence about an unknown name: the most similar names of entries and tickets, if any."""
    names = [*hazards(), *(known for each in exhibits() for known in (each.name, *each.story.tickets))]
    spelt = {known.casefold(): known for known in names}
    close = nearest_names(name.casefold(), spelt, 3)
    return f": did you mean {' or '.join(spelt[each] for each in close)}?" if close else ""


def story_of(name: str) -> list[str]:
    """Return the text about an entry, a scenario or every entry of a ticket; nothing if the catalogue has none.

    Raises:
        InputError: the name is that of several entries.
    """
    if name.count("/") == 2:
        return _story_of_scenario(name)
    _require_one_entry(name)
    displayed = exhibits_of(name)
    known = {exhibit.name for exhibit in displayed}
    blocks = [*map(_of_exhibit, displayed), *(_of_hazard(each) for each in _hazards_of(name) if each.name not in known)]
    return [line for block in blocks for line in ("", *block)][1:]


def _story_of_scenario(target: str) -> list[str]:
    """Return the text about the entry that a scenario FAMILY/SPEC/SCENARIO shows."""
    entry = entry_of(target)
    shown = next((each for each in exhibits() if each.name == entry), None) if entry else None
    if shown is None or target not in (each.target for each in (shown.shown_by, *shown.further) if each is not None):
        return []
    return [line for line in _of_exhibit(shown) if not line.startswith("  check it")]


def exhibits_of(name: str) -> list[Exhibit]:
    """Return the entry of a name, or every entry of a ticket, whatever the case of its letters."""
    return [each for each in exhibits() if _is_named(name, each.name, *each.story.tickets)]


def _hazards_of(name: str) -> list[Hazard]:
    return [each for each in hazards().values() if _is_named(name, each.name)]


def _is_named(name: str, *names: str) -> bool:
    return name.casefold() in (known.casefold() for each in names for known in (each, each.rpartition(" ")[2]))


def _of_exhibit(exhibit: Exhibit) -> Iterator[str]:
    yield f"{exhibit.name}: {exhibit.story.title}"
    yield exhibit.story.story
    yield f"  needs     {exhibit.story.needs}"
    yield f"  remedy    {exhibit.story.remedy}"
    yield f"  releases  {exhibit.affected}"
    if exhibit.fixed:
        yield f"  fixed     {exhibit.fixed}"
    for evidence in exhibit.evidence:
        yield f"  seen      {evidence.sentence}"
    if classes := hazards()[exhibit.name].classes:
        yield f"  seen      {classes}"
    if exhibit.story.tickets:
        yield f"  tickets   {', '.join(exhibit.story.tickets)}"
    yield f"  page      docs/{exhibit.page}"
    if exhibit.shown_by is not None:
        yield f"  check it  python -m checker run {shlex.quote(exhibit.name)}"


def _of_hazard(hazard: Hazard) -> Iterator[str]:
    yield f"{hazard.name}: {hazard.title}"
    yield f"  needs     {hazard.needs}"
    yield f"  remedy    {hazard.remedy}"
    yield f"  releases  {describe_releases(list(hazard.releases))}"
    for sighting in hazard.sightings:
        yield f"  seen      brokers of {sighting.kafka}: {sighting.what}"
    if hazard.classes:
        yield f"  seen      {hazard.classes}"
    if hazard.page:
        yield f"  page      docs/{hazard.page}"
    if hazard.shown_by:
        yield f"  check it  python -m checker run {hazard.shown_by}"
    else:
        yield "  model     none: no scenario shows it"
