"""Every behaviour of the message-level partition is one of the pipeline's partition, as far as the pipeline has it.

The message-level spec is the concrete one: its delayed messages have to look like steps of the pipeline. Epochs have
no counterpart here; the truncations that they cause have.
"""

import pytest

from checker.language import action, require
from checker.testing import refine
from specs.pipeline.pipeline import Pipeline
from specs.replication.partition import Partition
from specs.replication.state import Replica
from tests.specs.test_partition_refines import BETWEEN, ONE_RECORD, true_leader


class SendsOnce(Pipeline):
    """The pipeline with a producer that sends each record once, and a consumer that only reads."""

    application_process = None
    consumer_commit = None
    consumer_crash = None

    @action
    def consumer_poll(self):
        require(self.leader is not None and len(self.consumed) < self.high_watermark)
        self.consumed.append(self.log[self.leader][len(self.consumed)])


def position(broker):
    """Return the position of a broker of the pipeline among the replicas."""
    return int(str(broker).removeprefix("n")) - 1


def shared(one, other):
    """Return the common start of two lists."""
    length = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:length]


def is_same_partition(one, other):
    """Return whether clients see the same, and the replicas hold the same.

    Clients see the acknowledged and the consumed records and the leader with its log. Until a former leader that lives
    has learnt of its successor, either of them may be the leader of the pipeline. After that the pipeline's high
    watermark is at least as high, and each live member of its ISR has the part of its log that the leader shares.
    """
    logs = [[entry.record for entry in log] for log in other.log.items_in_order()]
    replicas = {number: [record.id + 1 for record in one.log[replica]] for number, replica in enumerate(Replica)}
    if {record + 1 for record in one.acked} != set(other.acked):
        return False
    if [record + 1 for record in one.consumed] != [entry.record for entry in other.consumed]:
        return False
    leader = true_leader(one)
    if leader is None:
        return True
    believers = [n for n, replica in enumerate(Replica) if replica in one.alive and one.leader[replica] == replica]
    if other.leader is None or position(other.leader) not in believers:
        return False
    if replicas[position(other.leader)] != logs[position(other.leader)]:
        return False
    if len(believers) > 1:
        return True
    (number,) = believers
    in_sync = {position(broker) for broker in other.isr}
    return other.high_watermark >= one.high_watermark[leader] and all(
        shared(replicas[follower], replicas[number]) == logs[follower]
        for follower, replica in enumerate(Replica)
        if follower in in_sync and replica in one.alive
    )


def refinement(events, failures, settings, pipeline=SendsOnce, **rules):
    settings = dict(acks="all", min_insync_replicas=1, unclean_elections=False) | settings
    concrete = Partition(**ONE_RECORD | settings | dict(crashes=0) | events | rules, consumers=True)
    abstract = pipeline(
        **settings | failures,
        records=1,
        replication_factor=2,
        slow_followers=2,
        idempotent=False,
        retries=False,
        consumer="commits_last",
    )
    return refine(concrete, abstract, is_same_partition, between=BETWEEN)


CRASH = (dict(crashes=1), dict(broker_crashes=1))
POWER = (dict(power_failures=1), dict(power_failures=1))
CHANGE = (dict(preferred_elections=True), dict(leader_moves=1))


@pytest.mark.parametrize(
    ("events", "failures", "settings"),
    [
        pytest.param(*CHANGE, {}),
        pytest.param(*CHANGE, dict(acks="1")),
        pytest.param(*CRASH, {}, marks=pytest.mark.slow),
        pytest.param(*CRASH, dict(min_insync_replicas=2), marks=pytest.mark.slow),
        pytest.param(*CRASH, dict(acks="1"), marks=pytest.mark.slow),
        pytest.param(*CRASH, dict(unclean_elections=True), marks=pytest.mark.slow),
        pytest.param(*POWER, {}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_the_pipeline_does_what_the_message_level_partition_does(events, failures, settings):
    found = refinement(events, failures, settings)
    assert found.holds, [str(step) for step in found.trace]
    assert found.concrete_states > 400 and found.abstract_states > 30


class WaitsForEveryReplica(SendsOnce):
    """A leader that raises the high watermark only with a complete ISR."""

    def advance_high_watermark(self):
        if len(self.isr) == self.replication_factor:
            super().advance_high_watermark()


class TruncatesNothing(SendsOnce):
    """Followers that keep what a new leader does not have."""

    def truncate(self, broker, leader_log):
        pass


@pytest.mark.parametrize(
    ("case", "settings", "pipeline", "rules", "last"),
    [
        (CRASH, {}, WaitsForEveryReplica, {}, "leader_append(b2)"),
        (CHANGE, dict(acks="1"), TruncatesNothing, {}, "become_follower(b1, 1)"),
        # Before KAFKA-15583 a leader commits below min.insync.replicas.
        (CRASH, dict(acks="1", min_insync_replicas=2), SendsOnce, dict(strict_min_isr=False), "leader_append(b2)"),
    ],
    ids=["high_watermark", "truncation", "strict_min_isr"],
)
def test_a_wrong_rule_separates_the_partitions(case, settings, pipeline, rules, last):
    found = refinement(*case, settings, pipeline, **rules)
    assert not found.holds
    assert last in [str(step) for step in found.trace[-2:]]
