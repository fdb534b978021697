"""The pipeline's shortcuts: producer state that follows from the log, and states that are made equal."""

import pytest

from checker.engines.native.engine import explore
from checker.language import Constant, Range, action, require
from checker.run.plan import Plan
from checker.testing import refine
from specs.broker import producer_state
from specs.broker.leader_state import LeaderState
from specs.broker.producer_state import Offset, Partition, RecordCount
from specs.broker.sequence_rules import Error
from specs.pipeline.failures import Entry, ProducerEpoch, Sequence
from specs.pipeline.partition import Broker
from specs.pipeline.pipeline import Pipeline
from specs.pipeline.producer_state import RememberingPartition

# The producer state of a leader, derived from its log here and stored as in Kafka there.


class Stored(LeaderState):
    """A leader that stores its producer state."""

    max_batch_records = Constant(1)
    max_sequence = Constant(7)
    no_state = Constant("any", one_of=("any", "never_held", "full", "unknown_producer_id"))
    asked_epoch = producer_state.ProducerEpoch
    asked_sequence = producer_state.Sequence
    was_truncated = bool
    was_restarted = bool
    roll_segment = None

    @action
    def restart(self, partition: Partition):
        """The broker restarts."""
        super().restart(partition)
        self.was_restarted = True

    @action
    def truncate_to(self, partition: Partition, end: Offset):
        """The log is truncated, once: a second truncation may load a snapshot that the first one took."""
        require(not self.was_truncated)
        super().truncate_to(partition, end)
        self.was_truncated = True

    @action
    def produce(
        self,
        partition: Partition,
        epoch: producer_state.ProducerEpoch,
        sequence: producer_state.Sequence,
        records: RecordCount,
    ):
        """A client sends any batch, with a sequence that does not wrap around."""
        require(sequence < 3)
        super().produce(partition, epoch, sequence, records)
        self.asked_epoch = epoch
        self.asked_sequence = sequence


class Derived(RememberingPartition):
    """The pipeline's leader alone, under any request, restart and truncation."""

    records = Constant(4)
    replication_factor = Constant(1)
    broker_crashes = Constant(1)
    log_size = Constant(3)
    cache_size = Constant(2)
    answer = Error
    asked_epoch = ProducerEpoch
    asked_sequence = Sequence
    was_restarted = bool
    leader_shrink_isr = leader_expand_isr = follower_fetch = controller_elect = None
    broker_crash = broker_lose_power = all_brokers_lose_power = broker_restart = None

    @action
    def produce(self, epoch: ProducerEpoch, sequence: Sequence):
        """A client sends any batch."""
        require(len(self.log[self.leader]) < self.log_size)
        batch = Entry(record=1, session=0, epoch=epoch, sequence=sequence, resend=0)
        self.answer = self.error_of(batch)
        self.asked_epoch = epoch
        self.asked_sequence = sequence
        if self.answer == Error.NONE and not self.is_known(batch):
            self.log[self.leader].append(batch)

    @action
    def restart(self):
        """The leader restarts and loads the snapshot at the end of its log."""
        self.loaded[self.leader] = len(self.log[self.leader])
        self.was_restarted = True

    @action
    def truncate_to(self, end: Range(0, 2)):
        """The log is truncated to an offset."""
        require(end < len(self.log[self.leader]))
        del self.log[self.leader][end:]
        self.drop_later_snapshot(self.leader)

    def may_send_again(self, batch):
        """Return whether a batch may be sent again: here any may."""
        return True


class KeepsSnapshot(Derived):
    """A leader whose snapshot survives the truncation of the batches that it holds."""

    def drop_later_snapshot(self, broker):
        """Keep the snapshot."""


class WholeCache(Derived):
    """A leader that forgets nothing when it restarts."""

    restart = None

    @action
    def restart_with_the_cache(self):
        """The leader restarts, and its snapshot has the whole cache."""
        self.was_restarted = True


def same_log_and_answer(one, other):
    """Return whether both leaders have the same log, and gave the same answer to the same last request."""
    stored, derived = one.log[Partition(0)], other.log[Broker(0)]
    return (
        [(batch.epoch, batch.sequence) for batch in stored] == [(batch.epoch, batch.sequence) for batch in derived]
        and (one.asked_epoch, one.asked_sequence) == (other.asked_epoch, other.asked_sequence)
        and one.was_restarted == other.was_restarted
        and one.answer.error == other.answer
    )


@pytest.mark.parametrize(
    ("no_state", "max_epoch"),
    [
        ("any", 0),
        ("never_held", 0),
        pytest.param("full", 1, marks=pytest.mark.slow),
        ("unknown_producer_id", 0),
    ],
)
def test_the_derived_producer_state_answers_as_the_stored_one(no_state, max_epoch):
    stored = Stored(no_state=no_state, max_epoch=max_epoch, restarts=True, truncations=True)
    found = refine(stored, Derived(no_state=no_state), same_log_and_answer)
    assert found.holds, [str(step) for step in found.trace]
    assert found.concrete_states > 50


@pytest.mark.parametrize("wrong", [WholeCache, KeepsSnapshot])
def test_a_wrong_rule_for_snapshots_gives_other_answers(wrong):
    found = refine(
        Stored(no_state="full", restarts=True, truncations=True), wrong(no_state="full"), same_log_and_answer
    )
    assert not found.holds


# States that have the same effect are made equal: the answers are those without it.


class Distinct(Pipeline):
    """The pipeline in which every broker keeps its log, every restart counts, and followers fetch in any order."""

    def may_be_elected_outside_isr(self, broker):
        return True

    def forgets_at_restart(self, broker):
        return self.idempotent

    def brokers_cannot_fail(self):
        return False


LOG = ("no_acked_loss", "no_duplicate", "no_reorder", "no_missing_earlier", "no_endless_retry", "reads_are_stable")


def answers(kind, **constants):
    result = explore(kind(records=2, consumer="auto_commit", **constants), Plan(LOG, stop="all", quick=True))
    assert result.ended == "complete"
    return {violation.property for violation in result.violations}, result.distinct_states


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        dict(acks="all"),
        dict(acks="all", min_insync_replicas=1),
        dict(acks="all", idempotent=False),
        dict(acks="1", idempotent=False),
        dict(acks="all", unclean_elections=True),
        dict(acks="all", eligible_leader_replicas=True),
        dict(acks="all", no_state="never_held", snapshot_batches=5),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "failures",
    [dict(broker_crashes=1), dict(power_failures=1), dict(blackouts=1, slow_followers=1)],
    ids=str,
)
def test_states_that_are_made_equal_change_no_answer(settings, failures):
    found, states = answers(Pipeline, **settings, **failures)
    expected, all_states = answers(Distinct, **settings, **failures)
    assert found == expected
    assert states < all_states
