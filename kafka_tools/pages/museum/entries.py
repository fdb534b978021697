"""The entries of the catalogue with their stories, releases, scenarios and remedies, as plain data.

The stories are in `specs/catalogue.toml`. Everything else is computed: the releases from `specs/kafka_versions.py`, the
scenarios and their verdicts from the registry of specs.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from kafka_tools.pages.catalogue_scenarios import ENTRY, EntryScenario, all_scenarios, scenarios_by_entry
from kafka_tools.pages.museum.real_brokers import BrokerEvidence, evidence_by_entry
from specs.hazards import hazards
from specs.kafka_releases import RELEASES, describe_releases
from specs.kafka_versions import CatalogueEntry, catalogue_entry

AREAS: Mapping[str, tuple[str, str]] = {
    "producer": ("The producer", "producer.md"),
    "idempotence": ("The idempotent producer", "idempotence.md"),
    "network": ("The broker's network layer", "producer.md"),
    "replication": ("Replication and elections", "replication.md"),
    "consumer": ("The consumer", "consumer.md"),
    "transactions": ("Transactions", "transactions.md"),
}
"""The areas in the order of the museum, each with its title and its page in docs/."""

_NAME = re.compile(r"(?:[a-z]+ )?([A-Z]+)-?(\d+)")


@dataclass(frozen=True)
class BugStory:
    """The part of an entry that is written by hand; `specs/catalogue.toml` describes the fields."""

    title: str
    area: str
    story: str
    needs: str
    remedy: str
    remedied_by: str = ""
    tickets: tuple[str, ...] = ()
    elsewhere: str = ""
    page: str = ""


@dataclass(frozen=True)
class Exhibit:
    """An entry of the catalogue.

    `shown_by` is the scenario that shows it best, None if it is not modelled. `further` are the other scenarios of the
    entry that violate a property. `remedied_by` is the scenario with the remedy, None if there is none.
    """

    name: str
    story: BugStory
    history: CatalogueEntry
    shown_by: EntryScenario | None
    further: tuple[EntryScenario, ...]
    remedied_by: EntryScenario | None

    @property
    def outcomes(self) -> tuple[str, ...]:
        """What goes wrong: keys of `specs.hazards.OUTCOMES`."""
        return hazards()[self.name].outcomes

    @property
    def has_history(self) -> bool:
        """Whether a change of Kafka opened or closed the entry."""
        return bool(self.history.opened_by or self.history.closed_by)

    @property
    def releases(self) -> tuple[str, ...]:
        """The releases of Apache Kafka that have the bug; empty if it is in other software or was not examined."""
        if self.story.elsewhere or (self.shown_by is None and not self.has_history):
            return ()
        return hazards()[self.name].releases

    @property
    def affected(self) -> str:
        """The releases that have the bug as text."""
        if self.story.elsewhere:
            return self.story.elsewhere
        if self.shown_by is None and not self.has_history:
            return "not examined"
        if not self.has_history:
            text = describe_releases(list(self.releases))
            return text if "," in text else f"every release from {text}"
        return self.history.description_of_releases or f"no release since {RELEASES[0]}"

    @property
    def fixed(self) -> str:
        """The first releases without the bug as text; "" if the question makes no sense."""
        if self.story.elsewhere or not self.releases:
            return ""
        return self.history.description_of_fixes or "no release so far"

    @property
    def evidence(self) -> tuple[BrokerEvidence, ...]:
        """The experiments that show the entry on real brokers."""
        return evidence_by_entry().get(self.name, ())

    @property
    def page(self) -> str:
        """The page of docs/ with more detail, "" if there is none."""
        return self.story.page or AREAS[self.story.area][1]

    @property
    def command(self) -> str:
        """The command that shows the bug and writes its counterexample as a page, "" if it is not modelled."""
        return f"python -m checker run {self.shown_by.target} --out DIR" if self.shown_by is not None else ""


@functools.cache
def exhibits() -> tuple[Exhibit, ...]:
    """Return every entry, sorted by area and name.

    Raises:
        KeyError: an entry names a scenario that does not exist.
    """
    scenarios = {given.target: given for given in all_scenarios()}
    shown = scenarios_by_entry()
    displayed = [
        Exhibit(
            name,
            story,
            catalogue_entry(name),
            shown.get(name),
            tuple(given for given in scenarios.values() if _belongs_to(given, name) and given != shown.get(name)),
            scenarios[story.remedied_by] if story.remedied_by else None,
        )
        for name, story in read_stories().items()
    ]
    areas = list(AREAS)
    return tuple(sorted(displayed, key=lambda exhibit: (areas.index(exhibit.story.area), sort_key(exhibit.name))))


def read_stories() -> dict[str, BugStory]:
    """Return the stories by the names of the entries."""
    text = resources.files("specs").joinpath("catalogue.toml").read_text(encoding="utf-8")
    return {name: BugStory(**_fields(given)) for name, given in tomllib.loads(text).items() if "story" in given}


def sort_key(name: str) -> tuple[bool, str, int]:
    """Sort P2 before P10, and tickets after the entries."""
    match = _NAME.fullmatch(name)
    assert match is not None, name
    return "-" in name, match[1], int(match[2])


def _fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a story with texts on one line and tuples instead of lists."""
    names = {field.name for field in dataclasses.fields(BugStory)}
    return {
        key: tuple(value) if isinstance(value, list) else " ".join(value.split())
        for key, value in given.items()
        if key in names
    }


def _belongs_to(given: EntryScenario, name: str) -> bool:
    """Return whether a scenario violates a property and is named after an entry, such as `i7_restart` after I7."""
    match = ENTRY.match(given.scenario.name)
    return given.violates and match is not None and match[1].upper() == name
