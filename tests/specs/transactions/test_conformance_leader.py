"""Cases of Kafka's `ProducerStateManagerTest`, in our words: the producer state of a leader.

Each case names the test that it stands for. Snapshots, time stamps and batches without transactions are not modelled.
"""

import pytest

from checker.testing import play
from specs.transactions.state import Error
from tests.specs.transactions.leader_requests import LeaderRequests

SPEC = LeaderRequests(max_epoch=5, max_producer_id=1, max_coordinator_epoch=2, transactions=3, transaction_version=1)
VERSION_2 = LeaderRequests(
    max_epoch=5, max_producer_id=1, max_coordinator_epoch=2, transactions=3, transaction_version=2
)

CASES = [
    ("testBasicIdMapping, the next sequence", ["produce p1 0 0 0 yes", "produce p1 0 0 1 no"], Error.NONE, 2),
    (
        "testBasicIdMapping, a gap",
        ["produce p1 0 0 0 yes", "produce p1 0 0 2 no"],
        Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
        1,
    ),
    ("testBasicIdMapping, a new epoch", ["produce p1 0 0 0 yes", "produce p1 0 1 0 yes"], Error.NONE, 2),
    (
        "testBasicIdMapping, an old epoch",
        ["produce p1 0 1 0 yes", "produce p1 0 0 1 no"],
        Error.INVALID_PRODUCER_EPOCH,
        1,
    ),
    ("testAppendTxnMarkerWithNoProducerState", ["mark p1 0 3 commit 0"], Error.NONE, 1),
    (
        "testAppendTxnMarkerWithNoProducerState, an old epoch afterwards",
        ["mark p1 0 3 commit 0", "produce p1 0 2 0 yes"],
        Error.INVALID_PRODUCER_EPOCH,
        1,
    ),
    (
        "testControlRecordBumpsProducerEpoch",
        ["produce p1 0 0 0 yes", "mark p1 0 1 abort 0", "produce p1 0 1 0 yes"],
        Error.NONE,
        3,
    ),
    (
        "testOutOfSequenceAfterControlRecordEpochBump",
        ["produce p1 0 0 0 yes", "produce p1 0 0 1 no", "mark p1 0 1 abort 0", "produce p1 0 1 2 yes"],
        Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
        3,
    ),
    (
        "testProducerStateAfterFencingAbortMarker",
        ["produce p1 0 0 0 yes", "mark p1 0 1 abort 0", "produce p1 0 0 1 yes"],
        Error.INVALID_PRODUCER_EPOCH,
        2,
    ),
    ("testOldEpochForControlRecord", ["produce p1 0 1 0 yes", "mark p1 0 0 commit 0"], Error.INVALID_PRODUCER_EPOCH, 1),
    (
        "testCoordinatorFencing",
        ["produce p1 0 0 0 yes", "mark p1 0 0 commit 1", "mark p1 0 0 commit 0"],
        Error.TRANSACTION_COORDINATOR_FENCED,
        2,
    ),
    (
        "testCoordinatorFencing, the same and a higher one",
        ["produce p1 0 0 0 yes", "mark p1 0 0 commit 0", "mark p1 0 0 commit 0", "mark p1 0 0 commit 1"],
        Error.NONE,
        4,
    ),
    (
        "testEntryForVerification, the guard is gone",
        ["produce p1 0 0 0 no"],
        Error.INVALID_TXN_STATE,
        0,
    ),
]


@pytest.mark.parametrize(("test", "requests", "answer", "length"), CASES, ids=[case[0] for case in CASES])
def test_the_leader_answers_as_kafka_does(test, requests, answer, length):
    state = play(SPEC, *requests)
    assert state.answer == answer
    (log,) = state.log.items_in_order()
    assert len(log) == length


def first_offsets(spec, *requests):
    """Return the first offset of the open transaction of each producer."""
    state = play(spec, *requests)
    (entries,) = state.producers.items_in_order()
    return [entry and entry.first_offset for entry in entries.items_in_order()]


def test_the_first_unstable_offset_is_that_of_the_oldest_open_transaction():
    """`testFirstUnstableOffset` and `testLastStableOffsetCompletedTxn`."""
    begun = ["produce p1 0 0 0 yes", "produce p1 1 0 0 yes"]
    assert first_offsets(SPEC, *begun) == [0, 1]
    assert first_offsets(SPEC, *begun, "mark p1 0 0 commit 0") == [None, 1]
    assert first_offsets(SPEC, *begun, "mark p1 0 0 commit 0", "mark p1 1 0 abort 0") == [None, None]


def test_a_marker_without_records_opens_nothing():
    """`testSkipEmptyTransactions`."""
    assert first_offsets(SPEC, "mark p1 0 0 commit 0") == [None, None]


def test_a_second_marker_of_version_2():
    """KAFKA-19999: the same epoch again, with and without an open transaction."""
    ended = ["produce p1 0 0 0 yes", "mark p1 0 1 commit 0"]
    assert play(VERSION_2, *ended, "mark p1 0 1 commit 0").answer == Error.NONE
    assert play(VERSION_2, *ended, "produce p1 0 1 0 yes", "mark p1 0 1 abort 0").answer == Error.INVALID_PRODUCER_EPOCH


def test_a_marker_of_the_largest_epoch_ends_an_open_transaction():
    """KAFKA-20090: an abort of the coordinator has no higher epoch left; up to 4.2 the marker was refused forever."""
    opened = ["produce p1 0 5 0 yes", "mark p1 0 5 abort 0"]
    assert play(VERSION_2, *opened).answer == Error.NONE
    before = LeaderRequests(**VERSION_2.constants | dict(markers="retry_accepted"))
    assert play(before, *opened).answer == Error.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize(("verification", "answer"), [(True, Error.OUT_OF_ORDER_SEQUENCE_NUMBER), (False, Error.NONE)])
def test_a_first_sequence_is_checked_by_the_entry_of_its_verification(verification, answer):
    """KAFKA-18202, `checkSequence`: without verification there is no entry, and any first sequence is taken."""
    spec = LeaderRequests(**VERSION_2.constants | dict(verification=verification))
    assert play(spec, "produce p1 0 0 1 yes").answer == answer
