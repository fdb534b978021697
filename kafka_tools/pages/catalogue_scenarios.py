"""The scenarios that show the entries of the catalogue of bugs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checker.language import Scenario
from checker.run import registry

SHOWN_BY = {
    "C4": "consumer/worker_pool/c4_auto_commit_with_workers",
    "I1": "producer/idempotent_producer/i1_cache_of_one",
    "I4": "producer/legacy_reset/i4_retention_forgets",
    "I7": "producer/idempotent_producer/i7_restart",
    "I8": "producer/librdkafka/i8_possibly_persisted",
    "I12": "producer/idempotent_producer/i12_wrap_around",
    "I13": "producer/idempotent_producer/i13_expiry",
    "I16": "producer/sender_poll/i16_metadata_in_flight",
    "KAFKA-9449": "producer/close_leaves_waiters/closed_while_brokers_are_down",
    "KAFKA-12983": "consumer/cooperative_group/c5_stale_owner_commits",
    "KAFKA-15510": "replication/partition/r16_forgets_last_epoch",
    "P9": "producer/plain_producer/p9_duplicate_by_restart",
    "P13": "producer/buffer_freed_at_expiry/wrong_partition",
    "T4": "transactions/coordinator/t4_stale_answer",
    "T6": "transactions/coordinator/t6_fence_raises_epoch_twice",
    "T10": "transactions/verified_order/t10_verification_reorders",
    "R19": "replication/partition/r19_answers_across_epochs",
}
"""Scenarios of entries that the names and descriptions of scenarios do not find, or that show an entry best."""

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


def scenarios_by_entry() -> dict[str, EntryScenario]:
    """Return for each entry of the catalogue the scenario that shows it, in the order of the registry.

    It is the first one that violates a property and is named after the entry (`r8_...` for R8). For an entry that is a
    ticket it is the first one of which the description names the ticket. `SHOWN_BY` has precedence.
    """
    found: dict[str, EntryScenario] = {}
    known = {given.target: given for given in all_scenarios()}
    for given in filter(lambda each: each.violates, known.values()):
        named = ENTRY.match(given.scenario.name)
        entries = _TICKET.findall(given.scenario.description)
        for entry in [named.group(1).upper(), *entries] if named else entries:
            found.setdefault(entry, given)
    return found | {entry: known[target] for entry, target in SHOWN_BY.items()}
