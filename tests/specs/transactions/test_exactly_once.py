"""The exactly-once loop step by step (OffsetMetadataManagerTest, TransactionCoordinatorTest), and its stories."""

import pytest

from checker.errors import UserError
from checker.testing import SpecChecks, is_enabled, play
from specs.transactions.exactly_once import ExactlyOnceLoop

OWNER = ["initialize app1", "fetch_offset app1"]
TAKE_OVER = ["rebalance app2", "sync app2", "initialize app2", "fetch_offset app2"]
BOTH_OWNERS = [*OWNER, *TAKE_OVER]
ID_PER_PARTITION = dict(transactional_id="partition", fences_generations=False)


def work(instance, *, end="commit"):
    """Return the steps of a transaction with one record, up to its end."""
    return [f"begin {instance} 1", f"produce {instance}", f"send_offsets {instance}", f"{end} {instance}"]


def markers(producer_id):
    """Return the steps that complete a transaction."""
    return [f"write_marker {producer_id} output", f"write_marker {producer_id} offsets"]


def helper(spec, state, name, *arguments):
    """Return the value of a helper of the spec in a state."""
    with spec.bound():
        return getattr(spec.in_state(state), name)(*arguments)


def test_results_and_offset_take_effect_with_the_decision():
    spec = ExactlyOnceLoop()
    before = play(spec, *OWNER, *work("app1")[:-1])
    after = play(spec, "commit app1", state=before)
    assert (list(helper(spec, before, "decided_results")), helper(spec, before, "decided_offset")) == ([], 0)
    assert (list(helper(spec, after, "decided_results")), helper(spec, after, "decided_offset")) == ([0], 1)
    assert list(helper(spec, after, "readable_results")) == []


@pytest.mark.parametrize("order", [["output", "offsets"], ["offsets", "output"]])
def test_markers_arrive_in_any_order(order):
    spec = ExactlyOnceLoop()
    state = play(spec, *OWNER, *work("app1"), *[f"write_marker 0 {target}" for target in order])
    assert list(helper(spec, state, "readable_results")) == [0]
    assert helper(spec, state, "committed_offset") == 1


def test_pending_offsets_are_unstable():
    """OffsetMetadataManagerTest.testFetchOffsetsWithPendingTransactionalOffsets."""
    spec = ExactlyOnceLoop()
    state = play(spec, *OWNER, *work("app1")[:-1], "rebalance app2", "sync app2", "initialize app2")
    assert not is_enabled(spec, state, "fetch_offset app2")
    state = play(spec, "commit app1", state=state)
    assert not is_enabled(spec, state, "fetch_offset app2")
    state = play(spec, "write_marker 0 offsets", "fetch_offset app2", state=state)
    assert str(state.position) == "{app1: 1, app2: 1}"


def test_offsets_of_an_aborted_transaction_are_dropped():
    """OffsetMetadataManager.replayEndTransactionMarker with ABORT."""
    spec = ExactlyOnceLoop(aborts=1)
    state = play(spec, *OWNER, *work("app1", end="abort_by_choice"), *markers(0), "fetch_offset app1")
    assert helper(spec, state, "committed_offset") == 0
    assert str(state.position) == "{app1: 0, app2: 0}"


def test_the_later_of_two_commits_counts():
    """OffsetMetadataManagerTest.testReplayTransactionEndMarkerKeepsTheMostRecentCommittedOffset.

    The second transaction commits its offset later and gets its marker earlier.
    """
    spec = ExactlyOnceLoop(fences_generations=False, requires_stable=False, max_poll_records=2)
    first = ["begin app1 1", "produce app1", "send_offsets app1"]
    second = ["begin app2 2", "produce app2", "produce app2", "send_offsets app2", "commit app2", *markers(1)]
    state = play(spec, *BOTH_OWNERS, *first, *second, "commit app1", *markers(0))
    assert helper(spec, state, "committed_offset") == 2


@pytest.mark.parametrize("learns", [True, False])
def test_commit_of_an_earlier_generation_is_refused(learns):
    """OffsetMetadataManagerTest.testGenericGroupTransactionalOffsetCommitWithIllegalGenerationId: the zombie aborts."""
    spec = ExactlyOnceLoop()
    state = play(spec, *OWNER, "begin app1 1", "produce app1", *(TAKE_OVER if learns else ["rebalance app2"]))
    state = play(spec, "send_offsets app1", state=state)
    assert list(state.offsets) == []
    assert not is_enabled(spec, state, "commit app1")
    state = play(spec, "abort app1", state=state)
    assert str(state.phase).startswith("{app1: idle")


def test_commit_without_group_metadata_is_accepted():
    """ClassicGroup.validateOffsetCommit: a transactional commit may lack member and generation."""
    spec = ExactlyOnceLoop(fences_generations=False)
    state = play(spec, *BOTH_OWNERS, "begin app1 1", "produce app1", "send_offsets app1", "commit app1")
    assert len(state.offsets) == 1


def test_initialization_aborts_an_open_transaction_and_waits():
    """TransactionCoordinator.prepareInitProducerIdTransit in the state Ongoing."""
    spec = ExactlyOnceLoop()
    state = play(spec, *OWNER, *work("app1")[:-1], "crash app1", "restart app1", "sync app1", "initialize app1")
    assert str(state.transactions).startswith("{0: e1 prepare abort")
    assert not is_enabled(spec, state, "initialize app1")
    state = play(spec, *markers(0), "initialize app1", "fetch_offset app1", state=state)
    assert str(state.identity).startswith("{app1: id0 e2")
    assert list(helper(spec, state, "readable_results")) == []


def test_begin_waits_for_the_markers_of_the_last_transaction():
    """TransactionCoordinatorTest.shouldRespondWithConcurrentTransactionsOnAddPartitionsWhenStateIsPrepareCommit."""
    spec = ExactlyOnceLoop()
    state = play(spec, *OWNER, *work("app1"))
    assert not is_enabled(spec, state, "begin app1 1")
    assert is_enabled(spec, play(spec, *markers(0), state=state), "begin app1 1")


@pytest.mark.parametrize(("version", "epoch"), [(1, 0), (2, 1)])
def test_epoch_of_the_next_transaction(version, epoch):
    """KIP-890: version 2 raises the epoch with every EndTxn."""
    state = play(ExactlyOnceLoop(transaction_version=version), *OWNER, *work("app1"))
    assert str(state.identity).startswith(f"{{app1: id0 e{epoch}")


def test_fenced_producer_stops():
    spec = ExactlyOnceLoop(slow_transactions=1)
    state = play(spec, *OWNER, "begin app1 1", "time_out_slow 0", "write_marker 0 output", "produce app1")
    assert str(state.phase).startswith("{app1: down")
    assert len(state.output) == 1


def test_write_before_the_marker_is_aborted():
    spec = ExactlyOnceLoop(slow_transactions=1)
    state = play(spec, *OWNER, "begin app1 1", "time_out_slow 0", "produce app1", *markers(0))
    assert [str(entry) for entry in state.output] == ["r0(id0 e0)", "abort(id0 e1)"]
    assert list(helper(spec, state, "readable_results")) == []


def test_new_owner_fences_by_the_id_of_the_partition():
    """KafkaProducer.initTransactions before KIP-447: the id belongs to the input partition."""
    spec = ExactlyOnceLoop(**ID_PER_PARTITION)
    state = play(spec, *OWNER, "rebalance app2", "sync app2", "initialize app2")
    assert str(state.identity) == "{app1: id0 e0, app2: id0 e1}"
    assert not is_enabled(spec, state, "begin app1 1")
    assert str(play(spec, "learn_of_fencing app1", state=state).phase).startswith("{app1: down")


def test_late_initialization_has_a_budget():
    spec = ExactlyOnceLoop(**ID_PER_PARTITION, late_initializations=1)
    state = play(spec, "rebalance app2", "sync app2", "initialize app2", "initialize app1")
    assert (str(state.identity), state.late_left) == ("{app1: id0 e1, app2: id0 e0}", 0)


T8 = [
    *OWNER,
    *work("app1"),
    *markers(0),
    "rebalance app2",
    "sync app2",
    "initialize app2",
    "fetch_offset app2",
    *work("app2"),
    *markers(0),
    "expire app1",
    "lose_mapping app1",
]
"""The story of KAFKA-18019: app1 processes record 0, app2 fences it and processes record 1, and the id expires."""


def test_recovered_instance_processes_a_record_again():
    spec = ExactlyOnceLoop(**ID_PER_PARTITION, expirations=1, after_abort="transaction_start", lost_mapping="recover")
    state = play(spec, *T8, *work("app1"))
    assert list(helper(spec, state, "decided_results")) == [0, 1, 1]
    assert not spec.holds("no_duplicate", state)


def test_lost_mapping_is_fatal():
    """TransactionManager.AddPartitionsToTxnHandler of 4.0: the error is fatal."""
    spec = ExactlyOnceLoop(**ID_PER_PARTITION, expirations=1, after_abort="transaction_start")
    state = play(spec, *T8)
    assert str(state.phase).startswith("{app1: down")
    state = play(spec, "restart app1", "sync app1", state=state)
    assert str(state.phase).startswith("{app1: idle")


def test_recovery_is_refused_if_the_id_is_known_again():
    """TransactionCoordinator.prepareInitProducerIdTransit: the old producer id is not that of the transactional.id."""
    constants = dict(expirations=1, after_abort="transaction_start", lost_mapping="recover", records=3)
    spec = ExactlyOnceLoop(**ID_PER_PARTITION, **constants)
    state = play(spec, *T8[:-1], "lose_mapping app2", "lose_mapping app1")
    assert str(state.identity) == "{app1: none, app2: id1 e0}"
    assert str(state.phase).startswith("{app1: down")


def test_an_id_per_partition_excludes_generations():
    with pytest.raises(UserError, match="fences_generations"):
        ExactlyOnceLoop(transactional_id="partition")


@pytest.mark.slow
def test_loop_with_a_rebalance_and_a_crash():
    """The figures of docs/transactions.md."""
    result = SpecChecks().check(ExactlyOnceLoop(instances=2, records=2, rebalances=1, crashes=1))
    assert (result.distinct_states, result.depth) == (735_360, 38)
