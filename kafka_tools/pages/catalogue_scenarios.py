"""The scenarios that show the entries of the catalogue of bugs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checker.language import Scenario
from checker.run import registry

SHOWN_BY = {
    "C4": "consumer/worker_pool/c4_auto_commit_with_workers",
    "KAFKA-15510": "replication/partition/r16_forgets_last_epoch",
    "R19": "replication/partition/r19_answers_across_epochs",
}
"""Scenarios that show an entry best, but not the conditions in its facts: those of other entries are `shown_by`."""

ENTRY = re.compile(r"([a-z]+\d+)_")
"""The beginning of the name of a scenario that is named after an entry."""

_TICKET = re.compile(r"\b(?:KAFKA|KIP)-\d+\b")


@dataclass(frozen=True)
class EntryScenario:
    """A scenario and its name on the command line."""

    target: str
    scenario: Scenario

    @property
    def violates(self) -> bool:
        """Whether the scenario is expected to violate a property."""
        return isinstance(self.scenario.expect, dict)

    @property
    def verdict(self) -> str:
        """The expected verdict as text: each violated property with the states of its shortest counterexample."""
        expect = self.scenario.expect
        if not isinstance(expect, dict):
            return str(expect)
        return ", ".join(f"`{name}`" + (f" {length}" if length else "") for name, length in expect.items())


def all_scenarios() -> Iterator[EntryScenario]:
    """Yield every scenario of every family."""
    for family in registry.families():
        for entry in family.entries:
            for scenario in entry.scenarios:
                yield EntryScenario(f"{entry.name}/{scenario.name}", scenario)


def entry_of(scenario: str) -> str:
    """Return the entry that a scenario (FAMILY/SPEC/SCENARIO) shows or is named after, or "".

    A package `specs` of the working directory may hide the catalogue: its scenarios show no entry.
    """
    try:
        from specs.hazards import hazards
    except ModuleNotFoundError:
        return ""
    shown = {hazard.shown_by: hazard.name for hazard in hazards().values()}
    named = ENTRY.match(scenario.rpartition("/")[2])
    return shown.get(scenario) or (named[1].upper() if named is not None else "")


def scenarios_by_entry() -> dict[str, EntryScenario]:
    """Return for each entry of the catalogue the scenario that shows it, in the order of the registry.

    A ticket without facts has the first scenario that violates a property and names the ticket in its description.
    """
    # A package `specs` of the working directory may hide the catalogue (`real_brokers.note_on`).
    from specs.hazards import hazards

    known = {given.target: given for given in all_scenarios()}
    shown: dict[str, EntryScenario] = {}
    for given in filter(lambda each: each.violates, known.values()):
        for ticket in _TICKET.findall(given.scenario.description):
            shown.setdefault(ticket, given)
    targets = {name: hazard.shown_by for name, hazard in hazards().items() if hazard.shown_by} | SHOWN_BY
    order = list(known)
    ranked = shown | {entry: known[target] for entry, target in targets.items()}
    return dict(sorted(ranked.items(), key=lambda each: order.index(each[1].target)))
