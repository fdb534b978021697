"""What is known to go wrong, under which settings, in which releases and after which event: facts of `catalogue.toml`.

`advise`, the tables and the pages read these facts, so that none of them can deny what another one shows. Plain Python
without imports from the checker, so that every tool can import it.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

from specs.kafka_releases import RELEASES, release_number
from specs.kafka_versions import entry_exists_in

OUTCOMES = {"loss": "a record that counts as written is lost", "duplicates": "a record is written twice",
    "reorder": "records are written out of order",
    "stuck": "a record is left out while a later one is written, or nothing is written any more",
    "vanishing-reads": "a record is read and later missing", "gaps": "a consumer skips a record",
    "reprocessing": "a consumer processes a record twice",
    "transactions": "a transaction is torn, hangs, or is committed although it was aborted",
    "divergence": "replicas hold different records", "no-progress": "an operation never ends, or fails without a cause",
    "control": "the controller or a partition does not work any more"}  # fmt: skip
"""What can go wrong. The first seven are the questions of `advise`."""

EVENTS = {"none": "a slow follower at most", "leader-change": "a planned leader change",
    "leader-changes": "several planned leader changes, as in a rolling restart",
    "follower-reads": "a consumer that reads from a follower (client.rack)",
    "crash": "a crash or a restart of one broker", "two-crashes": "crashes of two brokers",
    "cut-off": "a leader cut off from the other brokers", "unclean-election": "an unclean election",
    "crash-and-leader-change": "a crash and planned leader changes",
    "power-loss": "power loss of one broker", "crash-and-power-loss": "a crash and a power loss",
    "blackout": "power loss of all brokers", "empty-disk": "a broker that returns with an empty disk",
    "disk-lost": "the loss of one disk", "lost-response": "a lost or late response",
    "refused-request": "a request that the broker refuses", "delivery-timeout": "a delivery timeout",
    "retries-exhausted": "retries that are exhausted", "producer-restart": "a restart of the producer",
    "consumer-crash": "a crash of the consumer", "compaction": "compaction removes superseded records: not modelled",
    "application-exception": "an exception of the application that closes the consumer",
    "rebalance": "a rebalance while a record is processed", "eviction": "a consumer that is evicted while it works",
    "offsets-expire": "a group that is away longer than offsets.retention.minutes",
    "records-expire": "a consumer that is behind by more than the retention",
    "new-partition": "a new partition, or a group without a committed offset",
    "reassignment": "a reassignment of replicas", "disk-removed": "a disk taken out of log.dirs",
    "settings-change": "changed settings or feature levels while the cluster runs",
    "state-expiry": "producer state that expires (producer.id.expiration.ms, retention)",
    "network-delay": "a request or an answer that arrives late", "coordinator-change": "a move of the coordinator",
    "transaction-timeout": "transaction.timeout.ms passes", "abort": "an aborted transaction",
    "split": "a batch that is too large and is split", "share-group": "records of a share group (KIP-932)"}  # fmt: skip
"""The events after which something can go wrong. The slugs of the failures of `advise` are among them."""

LEADER_LOST = ("leader-change", "crash", "two-crashes", "cut-off", "unclean-election",
    "crash-and-leader-change", "power-loss", "crash-and-power-loss", "blackout", "empty-disk", "disk-lost",
    "reassignment", "disk-removed")  # fmt: skip
"""The events in which another broker may become the leader, or none: what `leader-lost` stands for in `after`."""

_INCLUDED = {"power-loss": "crash", "crash-and-power-loss": "two-crashes"}
"""By event, one that it includes: a machine that loses power may keep all that its broker wrote."""


STORY_FIELDS = frozenset({"area", "tickets", "story", "remedied_by"})
"""The fields of an entry that only its story has."""


@dataclass(frozen=True)
class Condition:
    """A condition on one effective setting: its value is one of `values`, or a number within a limit.

    The limits are a number (`above`), and the value of another setting (`up_to`: not above it).
    `without`: the constants of the scenario with which the harm does not happen, in contrast to this condition. `why`
    says why the condition is needed if no constant of the scenario has it. `remedy` is the value that advice offers,
    "" if the opposite of the condition is no remedy. `only_after`: the events of the entry for which the condition is
    needed; empty: for all. `only_for`: the same for its outcomes. `only_with`: the condition is needed only where this
    other one holds; `beyond` are then the constants with which the harm happens although both fail.
    """

    setting: str
    values: tuple[str, ...] = ()
    above: int | None = None
    up_to: str = ""
    without: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    remedy: str = ""
    only_after: tuple[str, ...] = ()
    only_for: tuple[str, ...] = ()
    only_with: Condition | None = None
    beyond: Mapping[str, Any] = field(default_factory=dict)

    def allows(self, event: str, config: Mapping[str, str], outcome: str = "") -> bool:
        """Return whether an outcome ("": any) can follow an event: the condition holds, or it is not needed there."""
        is_needed = (not self.only_after or event in self.only_after) and (
            not self.only_for or outcome in self.only_for
        )
        if self.only_with is not None:
            is_needed &= self.only_with.setting in config and self.only_with.holds(config)
        return not is_needed or self.holds(config)

    def holds(self, config: Mapping[str, str]) -> bool:
        """Return whether a configuration meets the condition. A setting that is not known counts as one that does."""
        value = config.get(self.setting)
        if value is None:
            return True
        if self.values:
            return value in self.values
        number = float(value)
        is_within = self.up_to not in config or number <= float(config[self.up_to])
        return is_within and (self.above is None or number > self.above)

    def __str__(self) -> str:
        if self.values:
            return f"{self.setting}={' or '.join(self.values)}"
        return f"{self.setting} up to {self.up_to}" if self.up_to else f"{self.setting} above {self.above}"


@dataclass(frozen=True)
class BrokerSighting:
    """What was seen on real brokers of a release, and no experiment file repeats.

    `what` is the end of a sentence. `page` and `script` are files in docs/ that describe and repeat the runs.
    """

    kafka: str
    what: str
    page: str = ""
    script: str = ""


@dataclass(frozen=True)
class Hazard:
    """The facts of an entry of the catalogue.

    `outcomes` and `after` are keys of `OUTCOMES` and `EVENTS`: any of the events suffices. `also` are outcomes that it
    has under further conditions, which an exploration decides: there the entry names a cause. `coincidence`, or else
    `needs`, says what has to coincide. `follows`: an outcome; the entry may follow each one that has it. `is_rare`: it
    needs more than the event. `takes`: a number and what has to happen as often, if one event of `after` is too few.
    `conditions` all have to hold. One of `reopened_by` that is known to hold undoes the rules that removed the entry
    from later releases. `first` and `last` are the first and the last release that have it if no change in
    `specs.kafka_versions` says so, `gap` the first and the last one in between that have it not. `remedy` is for
    people; the settings that help are in `conditions`. `shown_by` is the scenario of which the constants in
    `Condition.without` are; "" if no spec has the entry yet. `classes`: it was shown by calling Kafka's own classes.
    `page` is a page of docs/.
    """

    name: str
    title: str
    outcomes: tuple[str, ...]
    after: tuple[str, ...]
    needs: str
    remedy: str
    coincidence: str = ""
    also: tuple[str, ...] = ()
    follows: str = ""
    conditions: tuple[Condition, ...] = ()
    reopened_by: tuple[Condition, ...] = ()
    is_rare: bool = False
    takes: str = ""
    first: str = ""
    last: str = ""
    gap: tuple[str, ...] = ()
    shown_by: str = ""
    sightings: tuple[BrokerSighting, ...] = ()
    classes: str = ""
    elsewhere: str = ""
    page: str = ""

    def exists_in(self, version: str, controller: str = "", client: str = "") -> bool:
        """Return whether a release of Apache Kafka has it; a release that nobody examined has it.

        `controller`: the controller mode; "": any. `client`: the release of the clients; "": that of the brokers. An
        entry about another client has a condition on the client, of which the version is not known.
        """
        if self.elsewhere:
            return not self.elsewhere.startswith("no release")
        examined = client if client and any(each.setting == "client" for each in self.conditions) else version
        is_before = self.first and release_number(examined) < release_number(self.first)
        is_after = self.last and release_number(examined) > release_number(self.last)
        first_without, last_without = self.gap or ("", "")
        if self.gap and release_number(first_without) <= release_number(examined) <= release_number(last_without):
            return False
        return not is_before and not is_after and entry_exists_in(self.name, version, controller, client)

    def events(self, version: str, config: Mapping[str, str], outcome: str = "") -> tuple[str, ...]:
        """Return the events after which an outcome ("": any) can happen in a release with effective settings.

        A setting that is absent is unknown, and excludes nothing.
        """
        if not (self.exists_in(version, config.get("controller", "")) or self.is_reopened(version, config)):
            return ()
        events = self.events_with(config, outcome)
        # What another entry does needs none of the conditions on single events.
        if self.follows and all(each.allows("", config, outcome) for each in self.conditions):
            others = [each for each in hazards().values() if self.follows in each.outcomes]
            events += tuple(event for each in others for event in each.events(version, config))
        return tuple(dict.fromkeys(events))

    def is_reopened(self, version: str, config: Mapping[str, str]) -> bool:
        """Return whether a setting undoes the rule by which a release lost it."""
        is_undone = any(each.setting in config and each.holds(config) for each in self.reopened_by)
        return is_undone and release_number(version) > release_number(self.releases[-1])

    def events_with(self, config: Mapping[str, str], outcome: str = "") -> tuple[str, ...]:
        """Return the events of its own that an outcome can follow with effective settings, where the entry exists."""
        own = [each for each in self.after if all(one.allows(each, config, outcome) for one in self.conditions)]
        return tuple(dict.fromkeys([*own, *(wider for wider, event in _INCLUDED.items() if event in own)]))

    def can_happen(
        self, version: str, config: Mapping[str, str], events: frozenset[str] | None = None, outcome: str = ""
    ) -> bool:
        """Return whether it can happen after one of some events (None: any).

        "none" is always among the events, since an event may fail to happen.
        """
        possible = self.events(version, config, outcome)
        return bool(possible if events is None else {*events, "none"}.intersection(possible))

    @property
    def releases(self) -> tuple[str, ...]:
        """The releases of Apache Kafka that have it."""
        return tuple(release for release in RELEASES if self.exists_in(release))

    @property
    def remedies(self) -> Iterator[tuple[str, str]]:
        """The settings that prevent it, with their values."""
        return ((each.setting, each.remedy) for each in (*self.conditions, *self.reopened_by) if each.remedy)


@functools.cache
def hazards() -> Mapping[str, Hazard]:
    """Return the facts of every entry by name, in the order of `catalogue.toml`.

    Raises:
        ValueError: an entry has an unknown field, outcome, event or release.
    """
    text = resources.files("specs").joinpath("catalogue.toml").read_text(encoding="utf-8")
    return {name: _hazard(name, given) for name, given in tomllib.loads(text).items()}


def known_hazards(
    version: str, config: Mapping[str, str], outcome: str, events: frozenset[str] | None = None
) -> list[Hazard]:
    """Return the entries that say yes: with this outcome, in a release, with effective settings, after some events."""
    # An entry that can only follow others after these events is a rare one.
    own = None if events is None else events | {"none"}
    return [
        hazard
        if own is None or own.intersection(hazard.events_with(config, outcome))
        else replace(hazard, is_rare=True)
        for hazard in hazards().values()
        if outcome in hazard.outcomes and hazard.can_happen(version, config, events, outcome)
    ]


def _hazard(name: str, given: Mapping[str, Any]) -> Hazard:
    try:
        hazard = Hazard(name, **{key: _value(key, value) for key, value in given.items() if key not in STORY_FIELDS})
    except TypeError as error:
        raise ValueError(f"catalogue.toml: {name}: {error}") from None
    for kind, known, names in (
        ("outcome", OUTCOMES, (*hazard.outcomes, *hazard.also)),
        ("event", EVENTS, hazard.after),
    ):
        if unknown := [each for each in names if each not in known]:
            raise ValueError(f"catalogue.toml: {name}: unknown {kind} {unknown}: choose from {', '.join(known)}")
    for condition in hazard.conditions:
        if others := {*condition.only_after} - {*hazard.after}:
            raise ValueError(f"catalogue.toml: {name}: only_after has {sorted(others)}, which `after` has not")
    for release in filter(None, (hazard.first, hazard.last, *hazard.gap)):
        if release not in RELEASES:
            raise ValueError(f"catalogue.toml: {name}: {release} is not a release")
    return hazard


def _value(key: str, value: Any) -> Any:
    if key in ("conditions", "reopened_by"):
        return tuple(map(_condition, value))
    if key == "sightings":
        return tuple(BrokerSighting(**each) for each in value)
    if key == "after":
        return tuple(event for each in value for event in (LEADER_LOST if each == "leader-lost" else (each,)))
    if isinstance(value, list):
        return tuple(value)
    return " ".join(value.split()) if isinstance(value, str) else value


def _condition(given: Mapping[str, Any]) -> Condition:
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    if "only_with" in fields:
        fields["only_with"] = _condition(fields["only_with"])
    return Condition(**fields)
