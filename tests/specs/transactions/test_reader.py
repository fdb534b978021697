"""The reader of transactional partitions: what a leader answers to a fetch, and what the client drops."""

import pytest

from checker.testing import is_enabled, play, state_with
from specs.transactions.reader import Batch, Partition, Response, TransactionalReader
from specs.transactions.state import Decision, Marker

OVERLAPPING = TransactionalReader(transactions=3, max_epoch=3, max_producer_id=2, batches=2, max_fetch=9)


def batch(transaction):
    """Return a batch of a transaction of the producer with the same number."""
    return Batch(producer_id=transaction, epoch=transaction, transaction=transaction)


def commit(transaction):
    """Return a commit marker."""
    return marker(transaction, Decision.COMMIT)


def abort(transaction):
    """Return an abort marker."""
    return marker(transaction, Decision.ABORT)


def marker(transaction, decision):
    """Return the marker of a transaction."""
    return Marker(producer_id=transaction, epoch=transaction + 1, decision=decision, coordinator_epoch=0)


def with_log(log, replicated=None, **variables):
    """Return a spec with a log in the partition, and the state in which the follower has a part of it."""
    spec = OVERLAPPING
    with spec.bound():
        partition = Partition[0]
        end = len(log) if replicated is None else replicated
        values = {name: {partition: value} for name, value in variables.items()}
        return state_with(spec, log={partition: log}, follower_end={partition: end}, **values)


def ask(state, name, *arguments):
    """Return the value of a helper about the partition."""
    with OVERLAPPING.bound():
        return getattr(OVERLAPPING.in_state(state), name)(Partition[0], *arguments)


# The last stable offset: UnifiedLog.lastStableOffset.


@pytest.mark.parametrize(
    ("log", "replicated", "stable"),
    [
        ([], 0, 0),
        ([batch(0)], 1, 0),
        ([batch(0), commit(0)], 2, 2),
        ([batch(0), batch(1), commit(1)], 3, 0),
        ([batch(0), batch(1), commit(0)], 3, 1),
        ([batch(0), commit(0)], 1, 0),  # the marker is not replicated
        ([batch(0), abort(0), batch(1), abort(1)], 3, 2),
    ],
)
def test_last_stable_offset(log, replicated, stable):
    assert ask(with_log(log, replicated), "last_stable_offset") == stable


# The aborted transactions of a fetch: TransactionIndexTest.testCollectAbortedTransactions.


@pytest.mark.parametrize(
    ("log", "first", "end", "aborted"),
    [
        ([batch(0), abort(0)], 0, 2, {"id0 from 0"}),
        ([batch(0), commit(0)], 0, 2, set()),
        ([batch(0), abort(0), batch(1), abort(1)], 2, 4, {"id1 from 2"}),
        ([batch(0), abort(0), batch(1), abort(1)], 0, 2, {"id0 from 0"}),
        ([batch(0), batch(1), abort(1), abort(0)], 2, 4, {"id0 from 0", "id1 from 1"}),
        ([batch(0), batch(1), abort(1), abort(0)], 3, 4, {"id0 from 0"}),
        ([abort(0), batch(1), abort(1)], 0, 3, {"id1 from 1"}),  # a marker without batches aborts nothing
    ],
)
def test_aborted_transactions(log, first, end, aborted):
    found = ask(with_log(log), "aborted_transactions", first, end)
    assert {str(item) for item in found} == aborted


def test_index_stores_the_stable_offset_after_the_marker():
    """ProducerStateManager.lastStableOffset: the first open transaction of another producer, or the next offset."""
    state = with_log([batch(0), batch(1), abort(1), abort(0)])
    assert [ask(state, "stable_offset_at", offset) for offset in (2, 3)] == [0, 4]


# What the client drops: CompletedFetchTest.


def read(log, aborted, first=0):
    """Return the transactions of the batches that the client returns from a response."""
    state = with_log(log)
    with OVERLAPPING.bound():
        items = {item for item in ask(state, "aborted_transactions", 0, len(log)) if str(item) in aborted}
        response = Response(first=first, entries=log[first:], aborted=items)
        state = with_log(log, response=response)
    return list(play(OVERLAPPING, "receive p1", state=state).read.items_in_order()[0])


def test_aborted_batches_are_dropped():
    """CompletedFetchTest.testAbortedTransactionRecordsRemoved."""
    assert read([batch(0), abort(0)], {"id0 from 0"}) == []


def test_committed_batches_are_returned():
    """CompletedFetchTest.testCommittedTransactionRecordsIncluded."""
    assert read([batch(0), commit(0)], set()) == [0]


def test_a_response_inside_an_aborted_transaction():
    assert read([batch(0), batch(1), commit(1), batch(0), abort(0)], {"id0 from 0"}, first=3) == []


def test_dropping_ends_with_the_abort_marker():
    """FetcherTest.testMultipleAbortMarkers: the next transaction of the producer is returned."""
    following = Batch(producer_id=0, epoch=2, transaction=2)
    end = Marker(producer_id=0, epoch=3, decision=Decision.COMMIT, coordinator_epoch=0)
    assert read([batch(0), abort(0), following, end], {"id0 from 0"}) == [2]


def test_without_the_list_aborted_batches_are_returned():
    assert read([batch(0), abort(0)], set()) == [0]


# Fetches.


def test_fetch_waits_for_the_last_stable_offset():
    spec = TransactionalReader()
    state = play(spec, "write 0 p1", "replicate p1", "fetch p1")
    assert not is_enabled(spec, state, "complete_fetch p1")
    state = play(spec, "commit 0", "write_marker 0 p1", state=state)
    assert not is_enabled(spec, state, "complete_fetch p1")
    state = play(spec, "replicate p1", "complete_fetch p1", "receive p1", state=state)
    assert (str(state.read), str(state.position)) == ("{p1: [0]}", "{p1: 2}")


def test_commit_waits_for_acknowledgements():
    spec = TransactionalReader()
    state = play(spec, "write 0 p1")
    assert not is_enabled(spec, state, "commit 0")
    assert is_enabled(spec, play(spec, "replicate p1", state=state), "commit 0")


def test_a_lost_marker_is_written_again_before_the_transaction_is_complete():
    spec = TransactionalReader(elections=1)
    state = play(spec, "write 0 p1", "replicate p1", "commit 0", "write_marker 0 p1", "elect p1")
    assert [str(entry) for entry in state.log.items_in_order()[0]] == ["t0(id0 e0)"]
    state = play(spec, "write_marker 0 p1", "complete 0", state=state)
    assert str(state.state).startswith("{0: complete commit")


def test_an_unclean_election_after_completion_hangs_the_transaction():
    """KAFKA-20716."""
    spec = TransactionalReader(elections=1, unclean_elections=True)
    lost = ["write 0 p1", "leave p1", "commit 0", "write_marker 0 p1", "complete 0", "replicate p1", "elect p1"]
    state = play(spec, *lost)
    assert not is_enabled(spec, state, "write_marker 0 p1")
    assert not spec.holds("complete_transactions_are_marked", state)
    operated = TransactionalReader(elections=1, unclean_elections=True, operator_aborts=True)
    state = play(operated, *lost, "abort_hanging 0 p1", "replicate p1", "fetch p1", "receive p1")
    assert str(state.read) == "{p1: []}"
    assert not operated.holds("whole_transactions", state)


def test_an_abort_of_the_operator_needs_a_complete_transaction():
    spec = TransactionalReader(operator_aborts=True)
    assert not is_enabled(spec, play(spec, "write 0 p1"), "abort_hanging 0 p1")
