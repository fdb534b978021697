"""Cases of Kafka's `TransactionManagerTest`, in our words: what a transactional producer may do in each state.

Each test names the test that it stands for. Authorization, the lookup of the coordinator and offsets are not modelled.
"""

import pytest

from checker.testing import is_enabled, play
from specs.transactions.state import ClientState
from specs.transactions.transactional_producer import Transactions

SPECS = {version: Transactions(transaction_version=version, max_epoch=5) for version in (1, 2)}
READY = ("start i1", "init_producer_id i1")
BEGUN = {1: (*READY, "begin i1", "add_partition i1 p1"), 2: (*READY, "begin i1")}
BOTH = pytest.mark.parametrize("version", [1, 2])


def client(version, *steps):
    """Return the client after some steps."""
    (found,) = play(SPECS[version], *steps).client.items_in_order()
    return found


def may(version, step, *before):
    """Return whether a step is enabled after others."""
    return is_enabled(SPECS[version], play(SPECS[version], *before), step)


@BOTH
def test_a_transaction_begins_after_init_transactions(version):
    """`testNotReadyForSendBeforeInitTransactions`."""
    assert not may(version, "begin i1", "start i1") and may(version, "begin i1", *READY)


@BOTH
def test_a_record_is_sent_only_in_a_transaction(version):
    """`testNotReadyForSendBeforeBeginTransaction`, `testFailIfNotReadyForSendNoOngoingTransaction`."""
    assert not may(version, "send i1 p1", *READY) and may(version, "send i1 p1", *BEGUN[version])


def test_version_1_adds_a_partition_before_it_sends():
    """`testMaybeAddPartitionToTransaction`."""
    assert not may(1, "send i1 p1", *READY, "begin i1")
    assert not may(1, "add_partition i1 p1", *BEGUN[1])


def test_version_2_adds_no_partition():
    """`testTransactionManagerEnablesV2`."""
    assert may(2, "send i1 p1", *READY, "begin i1") and not may(2, "add_partition i1 p1", *READY, "begin i1")


@BOTH
def test_no_end_is_sent_while_a_batch_waits_for_its_answer(version):
    """`testEndTxnNotSentIfIncompleteBatches`."""
    sent = (*BEGUN[version], "send i1 p1")
    assert not may(version, "commit i1", *sent)
    assert not may(version, "end i1", *sent, "abort i1")


@BOTH
def test_a_failed_batch_allows_only_the_abort(version):
    """`testDisallowCommitOnProduceFailure`, `testAllowAbortOnProduceFailure`."""
    failed = (*BEGUN[version], "send i1 p1", "give_up i1")
    assert client(version, *failed).state == ClientState.ABORTABLE_ERROR
    assert not may(version, "commit i1", *failed) and not may(version, "send i1 p1", *failed)
    assert may(version, "abort i1", *failed)


def test_version_1_raises_its_epoch_after_a_failure():
    """`testBumpTransactionalEpochOnTimeout`, `testBumpTransactionalEpochOnAbortableError`."""
    aborted = (*BEGUN[1], "send i1 p1", "give_up i1", "abort i1", "end i1")
    assert client(1, *aborted).state == ClientState.INITIALIZING
    raised = client(1, *aborted, "mark p1 yes", "complete_transaction", "init_producer_id i1")
    assert (raised.state, raised.identity.epoch) == (ClientState.READY, 1)


def test_version_2_gets_its_epoch_with_the_answer_to_the_end():
    """`testTransactionManagerEnablesV2`, the epoch."""
    ended = client(2, *BEGUN[2], "send i1 p1", "give_up i1", "abort i1", "end i1")
    assert (ended.state, ended.identity.epoch) == (ClientState.READY, 1)


def test_an_abort_without_a_failure_keeps_the_epoch_of_version_1():
    """`testHasOngoingTransactionSuccessfulAbort`."""
    ended = client(1, *BEGUN[1], "abort i1", "end i1")
    assert (ended.state, ended.identity.epoch) == (ClientState.READY, 0)


def test_a_fenced_producer_is_in_a_fatal_state():
    """`testInvalidProducerEpochConvertToProducerFencedInEndTxn`."""
    spec = Transactions(transaction_version=1, max_epoch=5, times_out=True)
    state = play(spec, *BEGUN[1], "time_out", "mark p1 yes", "complete_transaction", "abort i1", "end i1")
    (found,) = state.client.items_in_order()
    assert found.state == ClientState.FATAL_ERROR
