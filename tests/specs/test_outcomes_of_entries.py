"""What an entry of the catalogue does to a consumer: an exploration shows each outcome, and none with its remedy."""

import tomllib
from importlib import resources

import pytest

from checker.engines.native.engine import explore
from checker.language import invariant
from checker.run.plan import Plan
from kafka_tools.pages.catalogue_scenarios import all_scenarios
from specs.consumer.truncation import TruncatedLog
from specs.hazards import hazards
from specs.replication.failed_writes import FailedWrites
from specs.replication.failed_writes import Replica as Writer
from specs.replication.old_formats import OldFormats
from specs.replication.partition import Partition
from specs.replication.replica_set import ReplicaSet
from specs.replication.state import Replica
from specs.replication.torn_reads import TornReads

SCENARIOS = {each.target: each.scenario for each in all_scenarios()}
STORIES = tomllib.loads(resources.files("specs").joinpath("catalogue.toml").read_text(encoding="utf-8"))


class ReadPartition(Partition):
    """A consumer that reads on from its position."""

    @invariant(says="{leader} has {self.log[leader]}, and the consumer read {self.consumed}")
    def no_gap(self):
        """No committed record of the newest leader takes the offset of another one that was read."""
        return all(
            self.log[leader][offset].id in self.consumed
            for leader in Replica
            if self.is_true_leader(leader)
            for offset in range(min(len(self.consumed), self.high_watermark[leader]))
        )


class ReadOldFormats(OldFormats):
    """A consumer that reads on from its position."""

    no_gap = ReadPartition.no_gap


class ReadTorn(TornReads):
    """A consumer that reads on from its position."""

    no_gap = ReadPartition.no_gap


class ReadFailedWrites(FailedWrites):
    """A consumer that reads every acknowledged record."""

    consumers = True

    @invariant(says="the file of the leader is {self.file[self.leader]}")
    def reads_are_stable(self):
        """The leader has every acknowledged record."""
        return all(any(batch.id == record for batch in self.file[self.leader]) for record in self.acked)

    @invariant(says="the file of the leader is {self.file[self.leader]}")
    def no_gap(self):
        """No record of the leader takes the offset of an acknowledged one that was read."""
        return self.leader == Writer[0] or all(
            batch.id in self.acked for batch in self.file[self.leader] if batch.offset < len(self.acked)
        )


class ReadReplicaSet(ReplicaSet):
    """A consumer that reads every acknowledged record."""

    @invariant(says="{self.leader} leads without a record that was read")
    def reads_are_stable(self):
        """The leader has every acknowledged record."""
        return self.leader is None or self.leader in self.complete

    @invariant(says="{self.leader} appends records at the offsets of others that were read")
    def no_gap(self):
        """No leader without an acknowledged record accepts other ones."""
        accepts = len(self.isr) >= min(self.min_isr, len(self.replicas))
        return self.leader is None or self.leader in self.complete or not accepts


READ = {Partition: ReadPartition, OldFormats: ReadOldFormats, TornReads: ReadTorn, FailedWrites: ReadFailedWrites,
    ReplicaSet: ReadReplicaSet}  # fmt: skip

PROPERTIES = {"loss": "no_acked_loss", "vanishing-reads": "reads_are_stable", "gaps": "no_gap"}

CLEAN = dict(crashes=0, preferred_elections=True)
"""Planned leader changes, without a crash."""

SHOWN = {
    "C-1": {},
    "C-2": {},
    "controller H-4": {},
    "controller H-8": {},
    "controller H-9": {},
    "controller H-10": {},
    "R1": dict(log_size=2, max_records=3, max_leader_epoch=2, max_partition_epoch=4),
    "R4": dict(max_records=3, max_leader_epoch=4, max_partition_epoch=4),
    "R5": dict(max_records=2, max_leader_epoch=3, max_partition_epoch=4),
    "R6": dict(max_leader_epoch=3, max_partition_epoch=3),
    "R7": dict(max_records=2),
    "R8": dict(max_records=3),
    "R9": dict(max_records=2),
    "R10": dict(max_records=2),
    "R14": dict(max_leader_epoch=2, max_partition_epoch=2),
    "R15": dict(max_records=2),
    "R16": dict(max_records=2, max_leader_epoch=2, max_partition_epoch=4),
    "R17": {},
    "R18": dict(max_records=2),
    "R20": dict(max_records=2),
    "KAFKA-7897": dict(max_records=2),
}
"""The sizes with which the scenario of an entry shows all that it does to records that a consumer reads."""

SIZES = ("replicas", "log_size", "max_records", "max_leader_epoch", "max_partition_epoch")

OTHER_CAUSES = {"KAFKA-7897"}
"""Entries of which the remedy leaves another cause: followers of old formats truncate to their high watermark (R1)."""


def spec_of(name, target, **events):
    """Return the spec of a scenario with a consumer, and with the sizes that show all outcomes of an entry."""
    scenario, shown = SCENARIOS[target], SCENARIOS[hazards()[name].shown_by].constants
    sizes = {size: shown[size] for size in SIZES if size in shown} | SHOWN[name]
    consumers = {} if scenario.spec in (FailedWrites, ReplicaSet) else {"consumers": True}
    return READ[scenario.spec](**{**scenario.constants, **sizes, **consumers, **events})


OUTCOMES = [(name, outcome) for name in SHOWN for outcome in PROPERTIES if outcome in hazards()[name].outcomes]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "outcome"), OUTCOMES)
def test_an_exploration_shows_each_outcome(name, outcome):
    result = explore(spec_of(name, hazards()[name].shown_by), Plan((PROPERTIES[outcome],)))
    assert result.violations


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SHOWN.keys() - OTHER_CAUSES))
def test_the_remedy_prevents_a_gap(name):
    result = explore(spec_of(name, STORIES[name]["remedied_by"]), Plan(("no_gap",)))
    assert result.ended == "complete"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["R9", "R15"])
@pytest.mark.parametrize("events", [dict(crashes=1), CLEAN], ids=str)
def test_any_election_removes_what_was_read_too_early(name, events):
    spec = spec_of(name, hazards()[name].shown_by, **events)
    assert explore(spec, Plan(("reads_are_stable",))).violations
    nothing = spec_of(name, hazards()[name].shown_by, crashes=0)
    assert explore(nothing, Plan(("reads_are_stable",))).ended == "complete"


def test_a_record_that_vanishes_may_be_skipped():
    """Each entry that removes records that were read has both outcomes, and an exploration shows them.

    `test_the_record_of_a_forgotten_request_was_read` does so for R26, which no setting prevents.
    """
    for name, hazard in hazards().items():
        outcomes = {*hazard.outcomes, *hazard.also}
        assert "vanishing-reads" not in outcomes or "gaps" in outcomes, name
        if "vanishing-reads" in hazard.outcomes and hazard.shown_by:
            assert name in SHOWN or name in ("R13", "R26"), name


@pytest.mark.parametrize("constants", [dict(validates=False), dict(seeks_to_end=1)], ids=["C6", "C16"])
@pytest.mark.parametrize(("reset", "repeats"), [("earliest", True), ("latest", False), ("none", False)])
def test_a_position_past_the_end_of_the_log_is_processed_again(constants, reset, repeats):
    result = explore(TruncatedLog(auto_offset_reset=reset, **constants), Plan(("no_duplicate",)))
    assert bool(result.violations) is repeats and (repeats or result.ended == "complete")
