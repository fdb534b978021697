"""The consumer step by step: behaviour from ConsumerCoordinatorTest, SubscriptionStateTest and similar Kafka tests."""

import pytest

from checker.engines.python.explorer import explore
from checker.run.plan import Plan
from checker.testing import is_enabled, play
from specs.consumer.background import BackgroundCommits
from specs.consumer.commits import IdempotentSink, OffsetsInSink, PollLoop
from specs.consumer.followers import FetchFromFollower
from specs.consumer.offsets import OffsetExpiry, OffsetReset, RecordDeletion
from specs.consumer.truncation import TruncatedLog
from specs.consumer.workers import WorkerPool
from tests.specs.counterexamples import violated_properties


def violated(spec, *properties):
    """Return which of these properties are violated."""
    return {violation.property for violation in explore(spec, Plan(properties, frozenset(properties))).violations}


# Commits: ConsumerCoordinatorTest.


def test_auto_commit_commits_the_position_inside_poll():
    """ConsumerCoordinatorTest.testAutoCommitDynamicAssignment: auto-commit commits the position."""
    spec = PollLoop(commit="auto")
    state = play(spec, "poll 1", "process", "commit_position")
    assert (state.position, state.committed) == (1, 1)


def test_auto_commit_waits_until_the_next_poll():
    """ConsumerCoordinatorTest.testAutoCommitAwaitsInterval: in a poll loop, no commit during processing."""
    spec = PollLoop(commit="auto")
    assert not is_enabled(spec, play(spec, "poll 2", "process"), "commit_position")
    assert is_enabled(spec, play(spec, "poll 2", "process", "process"), "commit_position")


def test_close_commits_unprocessed_records():
    """ConsumerCoordinatorTest.testCommitAfterLeaveGroup, testCloseDynamicAssignment: close commits first."""
    state = play(PollLoop(commit="auto", failures=1), "poll 2", "fail_and_close")
    assert (state.committed, list(state.processed)) == (2, [])
    assert play(PollLoop(commit="after", failures=1), "poll 2", "fail_and_close").committed is None


def test_successor_starts_at_the_committed_offset():
    """ConsumerCoordinatorTest.testRefreshOffset."""
    state = play(PollLoop(), "poll 1", "process", "commit_position", "poll 1", "crash", "start")
    assert (state.position, list(state.processed)) == (1, [0])


def test_commit_before_processing_is_at_most_once():
    """Catalogue C1, step by step: poll returns [0, 1], 2 is committed, record 1 is never processed."""
    spec = PollLoop(commit="before")
    state = play(spec, "poll 2")
    assert not is_enabled(spec, state, "process")
    state = play(spec, "commit_position", "process", "crash", "start", state=state)
    assert state.position == 2
    assert not spec.holds("no_gap", state)


def test_commit_after_processing_is_at_least_once():
    """Catalogue C2, step by step."""
    spec = PollLoop(records=1)
    state = play(spec, "poll 1", "process", "crash", "start", "poll 1", "process")
    assert list(state.processed) == [0, 0]
    assert not spec.holds("no_duplicate", state)


def test_sinks_that_prevent_duplicates():
    """KafkaConsumer, "Storing Offsets Outside Kafka": the sink has both offset and effect, or neither."""
    again = ["poll 1", "process", "crash", "start"]
    state = play(IdempotentSink(), *again, "poll 1", "process")
    assert list(state.processed) == [0]
    state = play(OffsetsInSink(), *again)
    assert (state.position, state.committed) == (1, 1)


# Commits in another thread: AsyncKafkaConsumerTest, CommitRequestManagerTest.


def test_poll_waits_until_the_position_is_read():
    """4.0 and 4.1: PollEvent.reconcileAndAutoCommit completes before records are taken from the buffer."""
    spec = BackgroundCommits()
    state = play(spec, "poll 1", "process", "begin_poll")
    assert not is_enabled(spec, state, "poll 1")
    state = play(spec, "commit_position", "poll 1", state=state)
    assert (state.position, state.committed) == (2, 1)


def test_poll_that_does_not_wait_commits_a_record_in_processing():
    """4.2: the event of the poll that returned record 0 commits the position after it."""
    spec = BackgroundCommits(commits="while_polling")
    state = play(spec, "begin_poll", "poll 1", "commit_position", "crash", "start")
    assert (state.position, list(state.processed)) == (1, [])
    assert not spec.holds("no_gap", state)


def test_thread_that_commits_at_any_time():
    """KAFKA-18641, 3.9: CommitRequestManager.poll commits when the interval has passed."""
    state = play(BackgroundCommits(commits="any_time"), "poll 1", "commit_position")
    assert (state.committed, list(state.in_hand)) == (1, [0])


@pytest.mark.parametrize(("retries_with", "committed"), [("latest", 1), ("same", 0)])
def test_retry_of_a_commit_before_a_rebalance(retries_with, committed):
    """CommitRequestManager.autoCommitSyncBeforeRebalanceWithRetries reads the position again."""
    spec = BackgroundCommits(retries=1, retries_with=retries_with)
    state = play(spec, "begin_poll", "fail_commit", "poll 1", "retry_commit")
    assert (state.committed, list(state.in_hand)) == (committed, [0])


# Starting without an offset: OffsetFetcherTest, ConsumerCoordinatorTest, OffsetMetadataManagerTest.


@pytest.mark.parametrize(("policy", "position"), [("earliest", 0), ("latest", 1), ("none", None)])
def test_reset_policy_applies_without_a_committed_offset(policy, position):
    """OffsetFetcherTest.testUpdateFetchPositionResetToEarliestOffset, .testUpdateFetchPositionResetToLatestOffset."""
    state = play(OffsetReset(auto_offset_reset=policy), "produce", "crash", "start")
    assert (state.position, state.given_up) == (position, policy == "none")


def test_committed_offset_precedes_the_reset_policy():
    """OffsetFetcherTest.testUpdateFetchPositionNoOpWithPositionSet."""
    state = play(OffsetReset(auto_offset_reset="latest", commits_at_start=True), "produce", "crash", "produce", "start")
    assert state.position == 0


@pytest.mark.parametrize(("policy", "position"), [("earliest", 1), ("latest", 2), ("none", None)])
def test_deleted_position_is_out_of_range(policy, position):
    """FetchCollectorTest.testFetchWithOffsetOutOfRange: the reset policy applies, or OffsetOutOfRangeException."""
    spec = RecordDeletion(auto_offset_reset=policy)
    state = play(spec, "produce", "produce", "delete_record")
    assert not is_enabled(spec, state, "poll 1")
    state = play(spec, "fetch_out_of_range", state=state)
    assert (state.position, state.given_up) == (position, policy == "none")


def test_offset_of_a_group_with_members_does_not_expire():
    """ClassicGroupTest.testOffsetExpirationCondition, OffsetMetadataManagerTest.testCleanupExpiredOffsets."""
    old = ["tick", "tick"]
    rules = dict(commits_at_start=True, longest_outage=2)
    assert not is_enabled(OffsetExpiry(**rules), play(OffsetExpiry(**rules), *old), "expire_offset")
    state = play(OffsetExpiry(**rules), "crash", *old)
    assert play(OffsetExpiry(**rules), "expire_offset", state=state).committed is None
    before = OffsetExpiry(expiry="since_commit", **rules)
    assert is_enabled(before, play(before, *old), "expire_offset")


# Truncation: SubscriptionStateTest, OffsetFetcherTest.

TRUNCATED = ["produce", "produce", "fetch", "elect 1", "produce", "produce"]


def test_new_leader_epoch_makes_the_client_validate():
    """SubscriptionStateTest.testMaybeValidatePositionForCurrentLeader, FetchCollector on FENCED_LEADER_EPOCH."""
    spec = TruncatedLog()
    state = play(spec, *TRUNCATED)
    assert not is_enabled(spec, state, "fetch")
    state = play(spec, "metadata_update", state=state)
    assert state.awaits_validation
    assert not is_enabled(spec, state, "fetch")


@pytest.mark.parametrize("policy", ["earliest", "latest"])
def test_detected_truncation_moves_the_position_back(policy):
    """SubscriptionStateTest.testTruncationDetectionWithResetPolicy: to the point of divergence, with any policy."""
    state = play(TruncatedLog(auto_offset_reset=policy), *TRUNCATED, "metadata_update", "validate")
    assert (state.position, state.position_epoch, state.awaits_validation) == (1, 0, False)
    assert list(play(TruncatedLog(auto_offset_reset=policy), "fetch", state=state).returned) == [0, 1, 2, 3]


def test_truncation_without_a_reset_policy_throws():
    """SubscriptionStateTest.testTruncationDetectionWithoutResetPolicy: LogTruncationException."""
    state = play(TruncatedLog(auto_offset_reset="none"), *TRUNCATED, "metadata_update", "validate")
    assert (state.position, state.given_up) == (2, True)


def test_valid_position_is_unchanged():
    """SubscriptionStateTest.testMaybeCompleteValidation."""
    state = play(TruncatedLog(), "produce", "fetch", "elect 1", "metadata_update", "validate")
    assert (state.position, state.awaits_validation, state.given_up) == (1, False, False)


def test_position_without_epoch_is_not_validated():
    """SubscriptionStateTest.testSeekUnvalidatedWithNoOffsetEpoch, resetOffsetNoValidation."""
    spec = TruncatedLog(seeks_to_end=1)
    state = play(spec, "produce", "seek_to_end", "elect 0", "metadata_update")
    assert (state.position_epoch, state.awaits_validation) == (None, False)


def test_committed_epoch_is_validated():
    """ConsumerCoordinatorTest.testRefreshOffsetWithValidation."""
    start = ["produce", "fetch", "commit", "elect 0", "restart"]
    assert play(TruncatedLog(restarts=1), *start).awaits_validation
    assert not play(TruncatedLog(restarts=1, commits_epoch=False), *start).awaits_validation


def test_end_offset_of_each_epoch():
    """LeaderEpochFileCacheTest, "should return ... end offset": an epoch ends at the start of the next later one."""
    spec = TruncatedLog(records=4, elections=3)
    state = play(spec, "produce", "elect 1", "produce", "produce", "elect 3", "elect 3", "produce")
    with spec.bound():
        working = spec.in_state(state)
        assert [working.end_of(epoch) for epoch in (0, 1, 2, 3)] == [1, 3, 3, 4]


# Reading from a follower: FetchCollectorTest, ReplicaManagerTest.


def test_out_of_range_at_a_follower_asks_the_leader():
    """FetchCollectorTest.testFetchWithOffsetOutOfRangeWithPreferredReadReplica: the position is unchanged."""
    spec = FetchFromFollower(selects="any")
    state = play(spec, "produce", "shrink_isr", "fetch_from_leader", "prefer_follower", "fetch_out_of_range")
    assert (state.position, state.prefers_follower) == (1, False)


def test_follower_outside_the_isr_is_not_preferred():
    """ReplicaManager.findPreferredReadReplica: only replicas in the ISR that have the offset."""
    spec = FetchFromFollower()
    assert is_enabled(spec, play(spec, "produce"), "prefer_follower")
    assert not is_enabled(spec, play(spec, "produce", "shrink_isr"), "prefer_follower")


def test_high_watermark_of_a_follower_trails_by_a_fetch():
    """Partition.fetchRecords: the response carries the high watermark from before the fetch."""
    spec = FetchFromFollower()
    state = play(spec, "produce", "follower_fetch")
    marks = [(state.leader_high_watermark, state.follower_high_watermark)]
    for _ in range(2):
        state = play(spec, "follower_fetch", state=state)
        marks.append((state.leader_high_watermark, state.follower_high_watermark))
    assert marks == [(0, 0), (1, 0), (1, 1)]


# Worker threads.


def test_records_of_a_key_go_to_one_worker():
    state = play(WorkerPool(records=3, max_poll_records=3), "produce 0", "produce 1", "produce 0", "poll 3")
    assert [list(queue) for queue in state.queue.items_in_order()] == [[0, 2], [1]]
    in_turn = WorkerPool(records=3, max_poll_records=3, dispatch="round_robin")
    state = play(in_turn, "produce 1", "produce 1", "produce 1", "poll 3")
    assert [list(queue) for queue in state.queue.items_in_order()] == [[0, 2], [1]]


@pytest.mark.parametrize(("commit", "committed"), [("auto", 2), ("contiguous", 0)])
def test_commit_of_a_worker_pool(commit, committed):
    """Record 1 is processed, record 0 is not: only offset 0 is safe to commit."""
    state = play(WorkerPool(commit=commit), "produce 0", "produce 1", "poll 2", "process 1", "commit_offset")
    assert state.committed == committed
    assert play(WorkerPool(commit="each"), "produce 0", "produce 1", "poll 2", "process 1").committed == 2


# Mutants: a property fails without each rule.


class CommitsWhileProcessing(PollLoop):
    """A timer commits the position during processing."""

    def commit_position(self):
        self.committed = self.position


class ForgetsToValidateAfterRestart(TruncatedLog):
    """A successor does not validate the committed offset."""

    def restart(self):
        super().restart()
        self.awaits_validation = False


class ContiguousByCount(WorkerPool):
    """The pool commits the number of processed records as an offset."""

    def contiguous_end(self):
        return len(self.processed)


@pytest.mark.parametrize(
    ("spec", "constants", "broken"),
    [
        (CommitsWhileProcessing, dict(commit="auto"), "no_gap"),
        (ForgetsToValidateAfterRestart, dict(records=3, restarts=1), "no_gap"),
        (ContiguousByCount, dict(), "no_gap"),
    ],
)
def test_mutant_violates_a_property(spec, constants, broken):
    (original,) = spec.__bases__
    assert violated(spec(**constants), broken) == {broken}
    assert violated(original(**constants), broken) == set()


def test_worker_pool_repeats_records_only_after_a_crash():
    assert violated_properties(WorkerPool(), "no_late_copy") == {"no_late_copy": 10}
    assert violated_properties(WorkerPool(crashes=0), "no_late_copy") == {}


def test_retention_deletes_unread_records():
    assert violated_properties(RecordDeletion(), "deleted_records_were_read") == {"deleted_records_were_read": 3}
    assert violated_properties(RecordDeletion(deletions=0), "deleted_records_were_read") == {}
