"""The counterexamples of the transaction specs are the stories of the bugs, step by step.

A story names steps in their order. Other steps may lie between them. It leaves out steps that have no fixed place: an
application may begin its next transaction before or after the markers of the one before.
"""

import pytest

from checker.run import registry
from checker.testing import SpecChecks, is_enabled, play
from specs.transactions.state import ClientState, Error, Partition
from specs.transactions.transactional_producer import Instance, Transactions
from tests.specs.transactions.coordinator_requests import CoordinatorRequests

STORIES = {
    ("verified_order/t10_verification_reorders", "begins_with_the_first"): (
        "send",
        "send",
        "refuse_verification",
        "append",
    ),
    ("transactions/t1_late_produce_hangs", "open_is_known"): (
        "add_partition",
        "delay_produce",
        "give_up",
        "end",
        "mark",
        "produce_late",
    ),
    ("transactions/t2_late_produce_joins", "aborted_is_never_read"): (
        "delay_produce",
        "give_up",
        "end",
        "mark",
        "add_partition",
        "produce_late",
        "append_verified",
        "commit",
        "end",
        "mark",
    ),
    ("transactions/t3_late_end_decides_next", "aborted_is_never_read"): (
        "commit",
        "delay_end",
        "end",
        "begin",
        "append_verified",
        "end_late",
        "mark",
        "abort",
        "end",
    ),
    ("coordinator/t4_stale_answer", "completes"): ("elect", "marker_answered", "marker_answered"),
    ("transactions/t5_next_transaction_while_completing", "no_spurious_error"): (
        "end",
        "begin",
        "produce",
        "mark",
        "append_verified",
    ),
    ("coordinator/t6_fence_raises_epoch_twice", "ongoing_can_end"): ("initialize", "add"),
    ("coordinator/t6_timeout_keeps_exhausted_id", "ongoing_can_end"): ("time_out", "marker_answered", "end", "add"),
    ("transactions/t7_marker_retry_refused", "completes"): ("end", "mark", "mark"),
    ("transactions/t8_timeout_keeps_epoch", "all_or_nothing"): ("time_out", "mark", "add_partition", "commit", "end"),
    ("transactions/t8_expired_state_accepts_old_marker", "committed_is_never_lost"): (
        "delay_marker",
        "elect_coordinator",
        "mark",
        "expire",
        "append_verified",
        "mark_late",
    ),
    ("transactions/commit_timeout_repeated", "committed_once"): ("delay_end", "end_late", "time_out_commit", "commit"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("scenario", "violated"), STORIES, ids=lambda name: name.split("/")[-1])
def test_the_counterexample_is_the_story(scenario, violated):
    (selection,) = registry.select(f"transactions/{scenario}")
    result = SpecChecks().check_scenario(selection.scenario, scenario)
    (violation,) = (found for found in result.violations if found.property == violated)
    steps = iter(str(step.action).partition("(")[0] for step in violation.trace[1:])
    for action in STORIES[scenario, violated]:
        assert action in steps, f"{action} is missing, or not in this order"


T1 = ("start i1", "init_producer_id i1", "begin i1", "add_partition i1 p1", "send i1 p1", "delay_produce i1")
ABORT = ("give_up i1", "abort i1", "end i1", "mark p1 yes", "complete_transaction")


@pytest.mark.parametrize(("verification", "entries"), [(False, 2), (True, 1)])
def test_a_late_batch_is_appended_only_without_verification(verification, entries):
    spec = Transactions(transaction_version=1, verification=verification)
    state = play(spec, *T1, *ABORT)
    (late,) = state.late
    state = spec.step(state, "produce_late", late)
    with spec.bound():
        assert len(state.log[Partition[0]]) == entries


def test_a_fenced_instance_cannot_commit():
    spec = Transactions(instances=2, max_arrivals=3, max_epoch=6)
    sends = ("start i1", "init_producer_id i1", "begin i1", "send i1 p1", "produce i1")
    state = play(spec, *sends)
    with spec.bound():
        (arrival,) = state.arrivals[Partition[0]]
    state = spec.step(state, "append_verified", "p1", arrival)
    state = play(spec, "start i2", "init_producer_id i2", "commit i1", "end i1", state=state)
    with spec.bound():
        assert state.client[Instance[0]].state == ClientState.FATAL_ERROR


def test_a_commit_waits_for_the_batches():
    spec = Transactions()
    state = play(spec, "start i1", "init_producer_id i1", "begin i1", "send i1 p1", "abort i1")
    assert not is_enabled(spec, state, "end i1")
    assert is_enabled(spec, play(spec, "give_up i1", state=state), "end i1")


def test_a_prepared_transaction_cannot_be_kept():
    """Kafka up to 4.4 answers keepPreparedTxn with UNSUPPORTED_VERSION."""
    spec = CoordinatorRequests()
    state = play(spec, "initialize none", "add 0 0 p1", "keep_prepared none")
    assert state.answer == Error.UNSUPPORTED_VERSION
    assert state.metadata == play(spec, "initialize none", "add 0 0 p1").metadata
