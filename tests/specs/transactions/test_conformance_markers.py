"""Cases of Kafka's `TransactionMarkerChannelManagerTest`, in our words: markers are sent until each one is answered.

Each test names the test that it stands for. Metrics and unknown leaders are not modelled.
"""

import pytest

from checker.testing import is_enabled, play
from specs.transactions.coordinator import Coordinator
from specs.transactions.state import TransactionState

SPEC = Coordinator(partitions=2, max_epoch=4, max_coordinator_epoch=1)
BEGIN = ("initialize none", "write", "add 0 0 p1", "write", "add 0 0 p2", "write")
COMMIT = (*BEGIN, "end 0 0 commit", "write")
ANSWERS = ("marker_answered p1 0 no", "marker_answered p2 0 no")


def sent(state):
    return {str(request) for request in state.requests}


def test_without_a_decision_no_marker_is_sent():
    """`shouldGenerateEmptyMapWhenNoRequestsOutstanding`."""
    state = play(SPEC, *BEGIN)
    assert sent(state) == set() and state.waiting is None


def test_the_decision_is_written_before_a_marker_is_sent():
    """`shouldGenerateRequestPerPartitionPerBroker`, the order of the decision and the markers."""
    state = play(SPEC, *COMMIT[:-1])
    assert state.pending is not None and sent(state) == set()


def test_each_partition_gets_a_request():
    """`shouldGenerateRequestPerPartitionPerBroker`."""
    assert sent(play(SPEC, *COMMIT)) == {"p1 c0", "p2 c0"}


@pytest.mark.parametrize("answers", [ANSWERS, ANSWERS[::-1]], ids=["in order", "in the reverse order"])
def test_the_last_answer_completes_the_transaction(answers):
    """`shouldCompleteAppendToLogOnEndTxnWhenSendMarkersSucceed`."""
    state = play(SPEC, *COMMIT, answers[0])
    assert state.pending is None
    state = play(SPEC, answers[1], "write", state=state)
    assert state.metadata.state == TransactionState.COMPLETE_COMMIT


def test_the_completion_is_written_once():
    """`shouldOnlyWriteTxnCompletionOnce`."""
    state = play(SPEC, *COMMIT, *ANSWERS)
    assert state.pending is not None and state.waiting is None
    assert not any(is_enabled(SPEC, state, answer) for answer in ANSWERS)


def test_a_new_coordinator_sends_the_markers_again():
    """`shouldNotLoseTxnCompletionAfterLoad`."""
    state = play(SPEC, *COMMIT, ANSWERS[0], "elect no")
    assert sent(state) == {"p2 c0", "p1 c1", "p2 c1"}
    state = play(SPEC, "marker_answered p1 1 no", "marker_answered p2 1 no", "write", state=state)
    assert state.metadata.state == TransactionState.COMPLETE_COMMIT


def test_an_answer_to_a_former_coordinator_completes_nothing():
    """`shouldRemoveMarkersForTxnPartitionWhenPartitionEmigrated`."""
    state = play(SPEC, *COMMIT, "elect no", *ANSWERS)
    assert state.pending is None and state.waiting == 1 and len(state.unmarked) == 2


def test_a_completion_that_is_not_written_is_left_to_the_new_coordinator():
    """`shouldAbortAppendToLogOnEndTxnWhenNotCoordinatorError`."""
    state = play(SPEC, *COMMIT, *ANSWERS, "elect no")
    assert state.pending is None and state.metadata.state == TransactionState.PREPARE_COMMIT
    assert sent(state) == {"p1 c1", "p2 c1"}


def test_a_completion_that_is_written_is_not_repeated():
    """`shouldAbortAppendToLogOnEndTxnWhenNotCoordinatorError`, if the log has the completion after all."""
    state = play(SPEC, *COMMIT, *ANSWERS, "elect yes")
    assert state.metadata.state == TransactionState.COMPLETE_COMMIT and sent(state) == set()


def test_no_timeout_while_a_change_is_written():
    """`TransactionCoordinatorTest.shouldNotAbortExpiredTransactionsThatHaveAPendingStateTransition`."""
    assert is_enabled(SPEC, play(SPEC, *BEGIN), "time_out")
    assert not is_enabled(SPEC, play(SPEC, *BEGIN[:-1]), "time_out")
    assert not is_enabled(SPEC, play(SPEC, *COMMIT[:-1]), "time_out")


def test_a_fence_is_not_written_twice():
    """`TransactionCoordinatorTest.shouldNotBumpEpochWithPendingTransaction`."""
    state = play(SPEC, *BEGIN, "time_out")
    assert state.pending.following.epoch == 1
    assert not is_enabled(SPEC, state, "time_out")
    if is_enabled(SPEC, state, "initialize none"):
        assert play(SPEC, "initialize none", state=state).pending.following == state.pending.following
