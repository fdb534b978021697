"""The broker's producer state against Apache Kafka's own unit tests, re-expressed as driven requests.

Each test names its Kafka test (`ProducerStateManagerTest`, `UnifiedLogTest`; commit 1eb7644349).
Sequences are small: `MAX` stands for Integer.MAX_VALUE.
"""

import pytest

from checker.language import Disabled
from specs.broker.leader_state import FollowerState, LeaderState
from specs.broker.producer_state import Error, Partition
from specs.broker.transactional_state import TransactionalState

MAX = 15
PARTITION = Partition(0)
KAFKA = dict(log_size=10, cache_size=5, max_sequence=MAX, max_batch_records=4, max_epoch=2)


class Leader:
    """A log under test, which takes requests and stores the last answer."""

    def __init__(self, spec=LeaderState, **constants):
        self.spec = spec(**(KAFKA | dict(no_state="any") | constants))
        self.state = self.spec.initial_states()[0]

    def do(self, action, *arguments):
        self.state = self.spec.step(self.state, action, "p1", *arguments)

    def produce(self, sequence, *, records=1, epoch=0):
        """Return the answer to a request: its offset, or its error."""
        self.do("produce", epoch, sequence, records)
        answer = self.state.answer
        return answer.offset if answer.error == Error.NONE else answer.error

    def replicate(self, sequence, *, records=1, epoch=0):
        """Append a batch as a follower does."""
        follower = FollowerState(**self.spec.constants)
        self.state = follower.step(self.state, "produce", "p1", epoch, sequence, records)

    @property
    def cached(self):
        """The sequence ranges of the cached batches."""
        return [(c.sequence, (c.sequence + c.records - 1) % (MAX + 1)) for c in self.state.cached[PARTITION]]

    @property
    def epoch(self):
        return self.state.producer_epoch[PARTITION]

    @property
    def end(self):
        return len(self.state.log[PARTITION])

    @property
    def snapshots(self):
        return set(self.state.snapshots[PARTITION])


# ProducerStateManagerTest


def test_basic_id_mapping():
    """testBasicIdMapping: in sequence, a gap, a new epoch at 0, an old epoch."""
    leader = Leader()
    assert leader.produce(0) == 0
    assert leader.produce(1) == 1
    assert leader.produce(5) == Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert leader.produce(0, epoch=1) == 2
    assert leader.produce(0, epoch=0) == Error.INVALID_PRODUCER_EPOCH


def test_duplicates_are_found_before_the_sequence_check():
    """testBasicIdMapping: the sequence check would call a duplicate out of order; it is recognised before."""
    leader = Leader()
    leader.produce(0)
    leader.produce(1)
    assert leader.produce(1) == 1
    assert leader.end == 2


def test_sequence_wraps_around():
    """testProducerSequenceWrapAround: 0 follows the last sequence."""
    leader = Leader()
    leader.replicate(MAX, epoch=1)
    assert leader.produce(0, epoch=1) == 1
    assert leader.cached == [(MAX, MAX), (0, 0)]
    assert leader.epoch == 1


def test_sequence_wraps_around_inside_a_batch():
    """testProducerSequenceWithWrapAroundBatchRecord: one batch holds the last sequence and the first."""
    leader = Leader()
    leader.replicate(MAX - 1, records=4)
    assert leader.cached == [(MAX - 1, 1)]
    assert leader.produce(2) == 1


def test_wrap_around_must_not_skip_zero():
    """testProducerSequenceInvalidWrapAround: 1 does not follow the last sequence."""
    leader = Leader()
    leader.replicate(MAX)
    assert leader.produce(1) == Error.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_first_entry_of_a_loaded_log_is_not_validated():
    """testNoValidationOnFirstEntryWhenLoadingLog: a replay accepts any first sequence."""
    leader = Leader()
    leader.replicate(9, epoch=2)
    assert leader.cached == [(9, 9)]
    assert leader.epoch == 2


def test_control_record_bumps_the_epoch():
    """testControlRecordBumpsProducerEpoch: a marker of a new epoch clears the cache; 0 is next."""
    leader = Leader(markers=True)
    leader.produce(0)
    leader.do("write_marker", 1)
    assert leader.epoch == 1
    assert leader.cached == []
    assert leader.produce(0, epoch=1) == 1


@pytest.mark.parametrize("epoch", [1, 2])
def test_out_of_sequence_after_a_control_record(epoch):
    """testOutOfSequenceAfterControlRecordEpochBump.

    The old sequence does not continue in the new epoch or a later one.
    """
    leader = Leader(markers=True)
    leader.produce(0)
    leader.produce(1)
    leader.do("write_marker", 1)
    assert leader.produce(2, epoch=epoch) == Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert leader.produce(0, epoch=1) == 2


def test_marker_of_the_same_epoch_keeps_the_cache():
    """updateProducerTransactionState: a marker of the current epoch keeps the cached batches."""
    leader = Leader(markers=True)
    leader.produce(0)
    leader.do("write_marker", 0)
    assert leader.cached == [(0, 0)]


def test_old_marker_is_refused():
    """testOldEpochForControlRecord: a marker of a fenced epoch does not enter the log."""
    leader = Leader(markers=True)
    leader.produce(0, epoch=1)
    with pytest.raises(Disabled):
        leader.do("write_marker", 0)


def test_a_refused_batch_changes_nothing():
    """testPrepareUpdateDoesNotMutate: a checked batch is not yet cached."""
    leader = Leader()
    leader.produce(0, records=2)
    before = (leader.cached, leader.epoch, leader.end)
    leader.produce(7)
    leader.produce(7, epoch=1)
    assert (leader.cached, leader.epoch, leader.end) == before


def test_expired_producer_is_forgotten_on_reload():
    """testRemoveExpiredPidsOnReload: the snapshot does not restore the state; the next sequence is accepted."""
    leader = Leader(expiry=True, restarts=True)
    leader.produce(0)
    leader.produce(1)
    leader.do("expire_producer")
    leader.do("restart")
    assert leader.cached == []
    assert leader.produce(2) == 2
    assert leader.cached == [(2, 2)]


def test_replica_takes_a_batch_without_state():
    """testAcceptAppendWithoutProducerStateOnReplica: replication is not checked, and builds the state."""
    leader = Leader(expiry=True, no_state="full")
    leader.produce(0)
    leader.do("expire_producer")
    leader.replicate(2)
    assert leader.cached == [(2, 2)]


def test_replica_takes_a_gap():
    """testAcceptAppendWithSequenceGapsOnReplica: the leader refuses a batch that the replica accepts."""
    leader = Leader()
    leader.produce(0)
    assert leader.produce(3) == Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert leader.cached == [(0, 0)]
    leader.replicate(3)
    assert leader.cached[-1] == (3, 3)


def test_reload_keeps_unexpired_state():
    """testLoadFromSnapshotRetainsNonExpiredProducers: a reload restores last sequence and offset."""
    leader = Leader(restarts=True)
    leader.produce(0)
    leader.do("restart")
    assert leader.cached == [(0, 0)]
    assert leader.state.cached[PARTITION][0].offset == 0


def test_no_second_snapshot_at_the_same_offset():
    """testSkipSnapshotIfOffsetUnchanged: a snapshot is identified by its offset."""
    leader = Leader(truncations=True)
    leader.produce(0)
    leader.do("roll_segment")
    leader.do("roll_segment")
    assert leader.snapshots == {1}


def test_next_sequence_is_accepted_after_expiry():
    """testPidExpirationTimeout: after the expiry any sequence is accepted, and only that batch is cached."""
    leader = Leader(expiry=True)
    leader.produce(0)
    leader.do("expire_producer")
    assert leader.produce(1) == 1
    assert leader.cached == [(1, 1)]


def test_snapshot_holds_the_last_batch_only():
    """testReadWriteSnapshot: only last sequence, last offset and offset delta of each producer."""
    leader = Leader(restarts=True)
    for sequence in range(5):
        leader.produce(sequence)
    assert len(leader.cached) == 5
    leader.do("restart")
    assert leader.cached == [(4, 4)]


def test_clean_shutdown_snapshot_is_kept_and_loaded():
    """testRemoveStraySnapshotsKeepCleanShutdownSnapshot: the newest one, above the last segment's base, is used."""
    leader = Leader(restarts=True, truncations=True)
    leader.produce(0)
    leader.do("roll_segment")
    leader.produce(1)
    leader.produce(2)
    leader.do("restart")
    assert leader.snapshots == {1, 3}
    assert leader.cached == [(2, 2)]


def test_truncation_removes_snapshots_above_it():
    """testTruncateAndReloadRemovesOutOfRangeSnapshots.

    Those above the new end are removed, and one is taken at the end.
    """
    leader = Leader(truncations=True)
    for sequence in range(5):
        leader.produce(sequence)
        leader.do("roll_segment")
    leader.do("truncate_to", 3)
    assert leader.snapshots == {1, 2, 3}


def test_full_truncation_forgets_everything():
    """testTruncateFullyAndStartAt: no state, no snapshot; the producer starts again."""
    leader = Leader(truncations=True)
    leader.produce(0)
    leader.produce(1)
    leader.do("roll_segment")
    leader.do("truncate_to", 0)
    assert (leader.cached, leader.epoch, leader.snapshots) == ([], None, set())
    assert leader.produce(0) == 0


def test_verification_refuses_a_higher_sequence():
    """testThrowOutOfOrderSequenceWithVerificationSequenceCheck: no sequence above the lowest one in verification."""
    leader = Leader(verification=True)
    leader.do("begin_verification", 0, 0)
    assert leader.produce(4) == Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert leader.produce(0) == 0
    assert leader.state.verified[PARTITION] is None


def test_verification_keeps_the_lowest_sequence_of_the_highest_epoch():
    """testSequenceAndEpochInVerificationEntry: lower sequences and higher epochs replace, lower epochs do not."""
    leader = Leader(verification=True)
    seen = []
    for epoch, sequence in [(0, 1), (0, 0), (1, 2), (0, 0)]:
        leader.do("begin_verification", epoch, sequence)
        entry = leader.state.verified[PARTITION]
        seen.append((entry.epoch, entry.sequence))
    assert seen == [(0, 1), (0, 0), (1, 2), (1, 2)]


def transactional(**constants):
    """A log under test whose client is transactional; a first batch of sequence 1 is verified."""
    leader = Leader(TransactionalState, **constants)
    leader.do("begin_verification", 0, 1)
    return leader


def test_transaction_version_2_refuses_a_first_sequence_above_0():
    """testRejectNonZeroSequenceForTransactionsV2WithEmptyState (4.1): without state only sequence 0 is accepted."""
    leader = transactional()
    assert leader.produce(1) == Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    leader.do("begin_verification", 0, 0)
    assert leader.produce(0) == 0
    assert leader.produce(1) == 1


@pytest.mark.parametrize("constants", [dict(transaction_version=1), dict(needs_sequence_0=False)])
def test_transaction_version_1_accepts_any_first_sequence(constants):
    """testAllowNonZeroSequenceForTransactionsV1WithEmptyState (4.1), and transaction version 2 of 4.0."""
    assert transactional(**constants).produce(1) == 0


def test_transactional_batch_needs_verification():
    """UnifiedLog.batchMissingRequiredVerification: a batch outside a transaction is refused if it is not verified."""
    leader = Leader(TransactionalState)
    with pytest.raises(Disabled):
        leader.do("produce", 0, 0, 1)
    leader.do("begin_verification", 0, 0)
    leader.produce(0)
    leader.do("write_marker", 1)
    with pytest.raises(Disabled):
        leader.do("produce", 1, 0, 1)


def test_verification_of_the_next_transaction_outlives_the_marker():
    """UnifiedLog.updateProducers: with version 2, the marker of the epoch that is verified keeps the verification."""
    leader = Leader(TransactionalState)
    leader.do("begin_verification", 0, 0)
    leader.produce(0)
    leader.do("begin_verification", 1, 0)
    leader.do("write_marker", 1)
    assert leader.produce(0, epoch=1) == 1


# UnifiedLogTest


def padded():
    """The log of testDuplicateAppends: six batches of one record, then one of three."""
    leader = Leader()
    for sequence in range(6):
        leader.produce(sequence)
    leader.produce(6, records=3)
    return leader


def test_duplicate_of_a_tail_with_many_records():
    """testDuplicateAppends: the retry gets the offset of the original."""
    leader = padded()
    assert leader.produce(6, records=3) == 6
    assert leader.end == 7


def test_part_of_the_tail_is_no_duplicate():
    """testDuplicateAppends: two of its three records are out of order."""
    assert padded().produce(7, records=2) == Error.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_duplicate_of_the_fifth_batch_from_the_tail():
    """testDuplicateAppends: the oldest of the five cached batches."""
    leader = padded()
    assert leader.produce(2) == 2
    assert leader.end == 7


def test_duplicate_older_than_five_batches_is_out_of_order():
    """testDuplicateAppends: a batch that has left the cache is out of order, since KAFKA-6683."""
    assert padded().produce(1) == Error.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_duplicate_older_than_five_batches_was_a_duplicate_before():
    """testDuplicateAppends before KAFKA-6683: the same request was answered with DUPLICATE_SEQUENCE_NUMBER."""
    leader = Leader(old_sequence="duplicate")
    for sequence in range(6):
        leader.produce(sequence)
    assert leader.produce(0) == Error.DUPLICATE_SEQUENCE_NUMBER


def test_duplicate_of_a_tail_with_one_record():
    """testDuplicateAppends: once more with a single record."""
    leader = padded()
    first = leader.produce(9)
    assert leader.produce(9) == first
    assert leader.end == 8


def test_follower_does_not_check_for_duplicates():
    """testDuplicateAppendToFollower: the same range twice, both are appended."""
    follower = Leader(FollowerState)
    follower.do("produce", 0, 0, 2)
    follower.do("produce", 0, 0, 2)
    assert follower.end == 2


def test_old_producer_epoch():
    """testOldProducerEpoch: a fenced epoch is refused, even at sequence 0."""
    leader = Leader()
    leader.produce(0, epoch=1)
    assert leader.produce(0, epoch=0) == Error.INVALID_PRODUCER_EPOCH


def test_truncation_follows_the_snapshots():
    """testProducerIdMapTruncateTo: the newest snapshot is at the new end, down to none at 0."""
    leader = Leader(truncations=True)
    for sequence in range(3):
        leader.produce(sequence)
        leader.do("roll_segment")
    for end in (2, 1):
        leader.do("truncate_to", end)
        assert max(leader.snapshots) == end
        assert leader.cached[-1] == (end - 1, end - 1)
    leader.do("truncate_to", 0)
    assert leader.snapshots == set()


def test_truncation_without_snapshots_replays_the_log():
    """testProducerIdMapTruncateToWithNoSnapshots: the state of the remaining log is rebuilt from the first segment."""
    leader = Leader(truncations=True)
    leader.produce(0)
    leader.produce(1)
    leader.do("truncate_to", 1)
    assert leader.cached == [(0, 0)]


def test_first_sequence_of_an_unknown_producer():
    """testAllowNonZeroSequenceOnFirstAppendNonZeroEpoch: without state any sequence is accepted, in any epoch."""
    assert Leader().produce(3, epoch=1) == 0


@pytest.mark.parametrize(
    ("rule", "on_empty_log", "after_expiry"),
    [
        ("any", 0, 1),
        ("never_held", Error.OUT_OF_ORDER_SEQUENCE_NUMBER, 1),
        ("full", Error.OUT_OF_ORDER_SEQUENCE_NUMBER, Error.OUT_OF_ORDER_SEQUENCE_NUMBER),
        ("unknown_producer_id", Error.UNKNOWN_PRODUCER_ID, Error.UNKNOWN_PRODUCER_ID),
    ],
)
def test_rules_without_state(rule, on_empty_log, after_expiry):
    """ProducerAppendInfo of 2.5 to 4.4, of 4.5 (KAFKA-15591), none, and of 0.11 to 2.4, for a first sequence of 1."""
    assert Leader(no_state=rule).produce(1) == on_empty_log
    leader = Leader(no_state=rule, expiry=True)
    leader.produce(0)
    leader.do("expire_producer")
    assert leader.produce(1) == after_expiry


def test_periodic_expiry():
    """testPeriodicProducerIdExpiration: the producer has state, then none."""
    leader = Leader(expiry=True)
    leader.produce(0)
    assert leader.epoch == 0
    leader.do("expire_producer")
    assert leader.epoch is None


def test_snapshot_on_roll():
    """testTakeSnapshotOnRollAndDeleteSnapshotOnRecoveryPointCheckpoint: a roll leaves a snapshot at the new segment."""
    leader = Leader(truncations=True)
    leader.produce(0)
    leader.do("roll_segment")
    leader.produce(1)
    assert leader.snapshots == {1}


def test_cache_holds_five_batches():
    """ProducerStateEntry.NUM_BATCHES_TO_RETAIN: the sixth batch evicts the first."""
    leader = Leader()
    for sequence in range(6):
        leader.produce(sequence)
    assert leader.cached == [(s, s) for s in range(1, 6)]


def test_new_epoch_clears_the_cache():
    """ProducerStateEntry.maybeUpdateProducerEpoch: no duplicates across epochs."""
    leader = Leader()
    leader.produce(0)
    assert leader.produce(0, epoch=1) == 1
    assert leader.cached == [(0, 0)]
    assert leader.state.cached[PARTITION][0].offset == 1
