"""The message-level model of replication: Kafka's own test cases, and deliberately broken variants."""

import pytest

from checker.engines.native import engine as native
from checker.language import action, require
from checker.run.plan import Plan
from checker.testing import is_enabled, play, state_with
from specs.replication.log_start import LogStart
from specs.replication.old_formats import OldFormats
from specs.replication.partition import Partition
from specs.replication.partition_state import UNDEFINED, EpochEnd, EpochStart
from specs.replication.state import LeaderAndIsr, Record, Replica

B1, B2, B3 = Replica(0), Replica(1), Replica(2)
FETCH = ["follower_fetch {}", "leader_handle_fetch {}", "follower_receive {}"]
COUNTED = ["follower_fetch {}", "leader_handle_fetch {}"]


def each(calls, *brokers):
    return [call.format(broker) for broker in brokers for call in calls]


def ask(spec, state, helper, *arguments):
    with spec.bound():
        return getattr(spec.in_state(state), helper)(*arguments)


# The leader-epoch cache. Source: LeaderEpochFileCacheTest.

CACHED = dict(replicas=2, log_size=6, max_records=6, max_leader_epoch=9)


def cache(*entries):
    return [EpochStart(epoch=epoch, start=start) for epoch, start in entries]


def end_of(entries, log_end, asked, **rules):
    spec = Partition(**CACHED | rules)
    log = [Record(id=offset, epoch=0) for offset in range(log_end)]
    state = state_with(spec, epoch_starts={B2: cache(*entries)}, log={B2: log})
    found = ask(spec, state, "end_offset_for", B2, asked)
    return found.epoch, found.end


@pytest.mark.parametrize(
    ("entries", "log_end", "asked", "expected"),
    [
        ([(2, 0)], 5, 2, (2, 5)),  # shouldReturnLogEndOffsetIfLatestEpochRequested
        ([(2, 0)], 5, UNDEFINED, (UNDEFINED, UNDEFINED)),  # shouldReturnUndefinedOffsetIfUndefinedEpochRequested
        ([], 0, 0, (UNDEFINED, UNDEFINED)),  # shouldReturnUnsupportedIfNoEpochRecorded
        ([(5, 1), (6, 2)], 4, 4, (4, 1)),  # shouldReturnFirstEpochIfRequestedEpochLessThanFirstEpoch
        ([(1, 1), (2, 2), (3, 4)], 5, 2, (2, 4)),  # shouldGetFirstOffsetOfSubsequentEpochWhenOffsetRequested...
        ([(0, 1), (2, 3), (4, 5)], 6, 1, (0, 3)),  # shouldReturnNextAvailableEpochIfThereIsNoExactEpoch...
        ([(2, 3)], 5, 4, (UNDEFINED, UNDEFINED)),  # shouldReturnInvalidOffsetIfEpochIsRequestedWhichIsNotCurrently...
    ],
)
def test_the_end_of_an_epoch(entries, log_end, asked, expected):
    assert end_of(entries, log_end, asked) == expected


class Assigning(Partition):
    """A partition with actions that edit the epoch cache of the second replica."""

    @action
    def assign(self, epoch: EpochStart):
        self.assign_epoch(Replica[1], epoch.epoch, epoch.start)

    @action
    def cut(self, start: EpochStart):
        self.truncate(Replica[1], start.start)


def assigned(*entries, cut=None, **rules):
    spec = Assigning(**CACHED | rules)
    (state,) = spec.initial_states()
    with spec.bound():
        starts = cache(*entries)
    for start in starts:
        state = spec.step(state, "assign", start)
    if cut is not None:
        state = spec.step(state, "cut", EpochStart(epoch=0, start=cut))
    return [(found.epoch, found.start) for found in state.epoch_starts[B2]]


def test_assigning_an_epoch_drops_contradicting_entries():
    assert assigned((2, 0), (2, 3)) == [(2, 0)]  # shouldNotOverwriteOffsetForALeaderEpochOnceItHasBeenAssigned
    assert assigned((2, 1), (3, 4), (1, 2)) == [(1, 2)]  # shouldEnforceMonotonicallyIncreasingEpochs: 2 and 3 go
    assert assigned((2, 4), (3, 3)) == [(3, 3)]  # shouldEnforceMonotonicallyIncreasingStartOffsets
    assert assigned((1, 2), (2, 3), (3, 5), cut=3) == [(1, 2)]  # shouldDropEntriesOnEpochBoundaryWhenRemovingLatest...
    assert assigned((1, 0), (2, 0)) == [(2, 0)]  # an epoch without records is dropped


def truncation_offset(answer, own, log_end, high_watermark=0, **rules):
    spec = Partition(**CACHED | rules)
    log = [Record(id=offset, epoch=0) for offset in range(log_end)]
    state = state_with(spec, epoch_starts={B2: cache(*own)}, log={B2: log}, high_watermark={B2: high_watermark})
    end = EpochEnd(epoch=answer[0], end=answer[1])
    return ask(spec, state, "truncation_offset", B2, end), ask(spec, state, "is_truncation_complete", B2, end)


def test_the_truncation_offset_of_a_follower():
    """AbstractFetcherThreadTest.testTruncation, testTruncateToHighWatermarkIfLeaderEpochInfoNotAvailable and others."""
    assert truncation_offset((2, 3), [(0, 0), (2, 2)], 5) == (3, True)
    assert truncation_offset((2, 6), [(0, 0), (2, 2)], 5) == (5, True)
    assert truncation_offset((1, 4), [(0, 0), (2, 2)], 5) == (2, False)  # it has no epoch 1: ask again
    assert truncation_offset((UNDEFINED, UNDEFINED), [(0, 0), (2, 2)], 5, high_watermark=1) == (1, True)
    assert truncation_offset((1, 4), [(0, 0), (2, 2)], 5, truncation="kip101") == (4, True)


# Fetching and the high watermark.


def test_the_high_watermark_reaches_a_follower_one_fetch_late():
    spec = Partition(replicas=2)
    state = play(spec, "leader_append b1", *each(FETCH, "b2"))
    assert (str(state.high_watermark), state.acked) == ("{b1: 0, b2: 0}", frozenset())
    state = play(spec, *each(COUNTED, "b2"), state=state)
    assert str(state.high_watermark) == "{b1: 1, b2: 0}"
    assert state.acked == {0}
    assert str(play(spec, "follower_receive b2", state=state).high_watermark) == "{b1: 1, b2: 1}"


def test_the_high_watermark_waits_for_the_slowest_member_of_the_isr():
    spec = Partition(replicas=3)
    state = play(spec, "leader_append b1", *each(FETCH, "b2"), *each(COUNTED, "b2"))
    assert state.high_watermark[B1] == 0
    state = play(spec, *each(FETCH, "b3"), *each(COUNTED, "b3"), state=state)
    assert state.high_watermark[B1] == 1


# What recordings of real brokers show.


def test_an_answer_has_what_the_leader_read_before_it_counted_the_fetch():
    """Another fetch raises the high watermark while the fetch of b3, which is outside the ISR, is handled."""
    raised = ["leader_append b1", *each(FETCH, "b2"), "follower_fetch b3", *each(COUNTED, "b2")]
    for rule in (False, True):
        spec = Partition(replicas=3, parks_fetches=True, reads_before_counting=rule)
        outside = state_with(spec, quorum=LeaderAndIsr(leader=B1, isr={B1, B2}), isr={B1: {B1, B2}})
        state = play(spec, *raised, state=outside)
        assert state.high_watermark[B1] == 1
        assert is_enabled(spec, state, "leader_answer_as_read b3 0 yes") is rule
        assert not is_enabled(spec, state, "leader_answer_as_read b3 0 no")  # no news
    state = play(spec, "leader_answer_as_read b3 0 yes", "follower_receive b3", state=state)
    assert (len(state.log[B3]), state.high_watermark[B3], state.remote_end[B1][B3]) == (1, 0, 0)
    state = play(spec, "follower_fetch b3", "leader_answer_as_read b3 1 no", "follower_receive b3", state=state)
    assert (len(state.log[B3]), state.high_watermark[B3], state.remote_end[B1][B3]) == (1, 1, 1)


def test_a_follower_that_has_not_fetched_yet_may_be_removed_although_both_logs_are_empty():
    for rule in (False, True):
        spec = Partition(replicas=3, lags_before_first_fetch=rule, removes_several=True)
        state = next(iter(spec.initial_states()))
        assert is_enabled(spec, state, "leader_ask_to_shrink_isr b1 b2") is rule
        assert is_enabled(spec, state, "leader_ask_to_be_alone b1") is rule


def test_a_fetch_to_a_former_leader_is_counted_there():
    moved = ["follower_fetch b3", "controller_elect b2", "become_leader 1", "become_follower b3 1", "follower_fetch b3"]
    for former, counted in ((0, False), (1, True)):
        spec = Partition(replicas=3, preferred_elections=True, fetches_of_former_connections=former)
        state = play(spec, *moved)
        assert state.leader[B1] == B1 and is_enabled(spec, state, "leader_handle_former_fetch b3") is counted
    crashed = ["leader_append b1", *each(FETCH, "b3"), "follower_fetch b3", "broker_crash b3"]
    state = play(spec, *crashed, "leader_handle_former_fetch b3")
    assert state.remote_end[B1][B3] == 1 and state.fetches[B3] is None


def test_a_stopped_broker_loses_its_disk():
    spec = Partition(replicas=2, disk_losses=1)
    state = play(spec, "leader_append b1", *each(FETCH, "b2"), "broker_crash b2")
    assert not is_enabled(spec, state, "broker_lose_disk b1") and len(state.log[B2]) == 1
    state = play(spec, "broker_lose_disk b2", state=state)
    assert (len(state.log[B2]), len(state.epoch_starts[B2]), state.disk_losses_left) == (0, 0, 0)
    assert not is_enabled(Partition(replicas=2), play(Partition(replicas=2), "broker_crash b2"), "broker_lose_disk b2")


def test_a_new_disk_of_an_unregistered_broker_is_taken_for_a_failed_one():
    """The replica leaves the ISR, although its broker is not fenced. After a registration the disk is known."""
    spec = Partition(
        replicas=2,
        disk_losses=1,
        max_partition_epoch=4,
        controller="kraft",
        acts_before_registration=True,
        assigns_directories=True,
    )
    restarted = play(spec, "broker_crash b2", "broker_lose_disk b2", "broker_restart b2")
    early = play(spec, "controller_assign_directory b2", state=restarted)
    assert (early.quorum.isr, early.partition_epoch, early.fenced) == ({B1}, 2, set())
    assert not is_enabled(spec, early, "controller_assign_directory b2")
    registered = ["broker_crash b2", "broker_lose_disk b2", "controller_fence b2", "broker_restart b2"]
    late = play(spec, *registered, "broker_register b2", "controller_assign_directory b2")
    assert (late.quorum.isr, late.partition_epoch, late.fenced) == ({B1}, 2, {B2})


@pytest.mark.parametrize("is_numbered", [False, True])
def test_an_eligible_replica_that_restarts_uncleanly_is_a_change_of_the_partition(is_numbered):
    spec = Partition(
        replicas=2,
        max_partition_epoch=4,
        min_insync_replicas=2,
        controller="kraft",
        eligible_leader_replicas=True,
        numbers_eligible_changes=is_numbered,
    )
    crashed = play(spec, "broker_crash b2", "controller_fence b2")
    assert crashed.eligible == {B2}
    restarted = play(spec, "broker_restart b2", state=crashed)
    assert restarted.eligible == set() and restarted.quorum == crashed.quorum
    assert restarted.partition_epoch == crashed.partition_epoch + is_numbered


BEHIND = dict(starts_behind=True, late_metadata=True, acts_before_registration=True, session_timeouts=True)
FENCED = ["broker_crash b1", "controller_fence b1"]


def test_a_restarted_broker_acts_on_what_it_has_read_at_its_start_or_later():
    """MetadataLoader.stillNeedToCatchUp: it reads what was committed when its process started before it acts."""
    spec = Partition(**BEHIND, crashes=2, max_leader_epoch=3)
    before = play(spec, "broker_crash b1", "broker_restart b1", "controller_fence b1")
    assert is_enabled(spec, before, "become_leader 0")  # the epoch ended after the restart
    after = play(spec, *FENCED, "broker_restart b1")
    assert not is_enabled(spec, after, "become_leader 0")
    assert is_enabled(spec, after, "become_follower b1 1")
    again = play(spec, *FENCED, "broker_restart b1", "broker_crash b2", "controller_fence b2")
    assert not is_enabled(spec, again, "become_leader 0")
    assert is_enabled(spec, again, "become_follower b1 1")  # the metadata from its start


@pytest.mark.parametrize("remembered", [0, 3])
def test_a_restarted_leader_has_the_isr_of_its_start(remembered):
    spec = Partition(**BEHIND, controller="kraft", crashes=3, remembered_changes=remembered, max_partition_epoch=4)
    stopped = each(["broker_crash {}", "controller_fence {}"], "b3", "b2")
    state = play(spec, *stopped, "broker_crash b1", "broker_restart b1", "controller_fence b1")
    assert not is_enabled(spec, state, "become_leader_with_earlier_isr 0 1")  # b2 left before the restart
    assert is_enabled(spec, state, "become_leader_with_earlier_isr 0 2") == (remembered > 0)
    state = play(spec, "become_leader 0", state=state)
    assert (state.isr[B1], state.known_partition_epoch[B1]) == ({B1}, 2)


def test_a_leader_may_learn_an_earlier_change_of_the_isr():
    """The older of two changes is learned first; a change of another leader epoch is not."""
    spec = Partition(replicas=3, crashes=2, max_partition_epoch=3, remembered_changes=2)
    state = play(spec, "broker_crash b3", "controller_fence b3", "broker_crash b2", "controller_fence b2")
    earlier = play(spec, "leader_learn_earlier_isr b1 1", state=state)
    assert (earlier.isr[B1], earlier.known_partition_epoch[B1]) == ({B1, B2}, 1)
    assert not is_enabled(spec, earlier, "leader_learn_earlier_isr b1 1")
    assert play(spec, "leader_learn_isr b1", state=earlier).isr[B1] == {B1}


def test_the_high_watermark_is_the_minimum_over_the_maximal_isr():
    """PartitionTest.testIsrExpansion, testMaybeShrinkIsr: members to add and members to remove both count."""
    spec = Partition(replicas=2, log_size=3, max_records=3)
    state = play(spec, "leader_append b1", "leader_ask_to_shrink_isr b1 b2")
    assert ask(spec, state, "maximal_isr", B1) == {B1, B2}
    assert state.high_watermark[B1] == 0
    state = play(spec, "controller_handle_alter_partition b1", state=state)
    assert (state.quorum.isr, state.isr[B1], state.high_watermark[B1]) == ({B1}, {B1, B2}, 0)
    state = play(spec, "leader_learn_isr b1", state=state)
    assert (state.isr[B1], state.high_watermark[B1], state.acked) == ({B1}, 1, {0})
    state = play(spec, *each(FETCH, "b2"), *each(COUNTED, "b2"), "leader_append b1", state=state)
    assert ask(spec, state, "maximal_isr", B1) == {B1, B2}
    assert state.isr[B1] == {B1}
    assert state.high_watermark[B1] == 1  # b2 may be in the ISR by now, and does not have the new record


def test_a_leader_has_one_request_in_flight():
    """PartitionTest.testSingleInFlightAlterIsr."""
    spec = Partition(replicas=3)
    state = play(spec, "leader_append b1", "leader_ask_to_shrink_isr b1 b2")
    assert not is_enabled(spec, state, "leader_ask_to_shrink_isr b1 b3")


def test_a_follower_that_has_caught_up_is_not_removed():
    """PartitionTest.testShouldNotShrinkIsrIfFollowerCaughtUpToLogEnd."""
    spec = Partition(replicas=2)
    state = play(spec, "leader_append b1", *each(FETCH, "b2"), *each(COUNTED, "b2"))
    assert not is_enabled(spec, state, "leader_ask_to_shrink_isr b1 b2")


def test_a_request_with_an_old_partition_epoch_is_rejected():
    """PartitionTest.testAlterIsrInvalidVersion: the leader waits for the newer metadata."""
    spec = Partition(replicas=3, max_partition_epoch=3)
    state = play(spec, "leader_append b1", "leader_ask_to_shrink_isr b1 b2", "broker_crash b3", "controller_fence b3")
    assert not is_enabled(spec, state, "controller_handle_alter_partition b1")
    state = play(spec, "leader_learn_isr b1", state=state)
    assert (state.pending[B1], state.isr[B1]) == (None, {B1, B2})


def test_a_follower_joins_once_it_has_the_log_of_the_epochs_start():
    """PartitionTest.testFollowerDoesNotJoinISRUntilCaughtUpToOffsetWithinCurrentLeaderEpoch."""
    log = {B1: [Record(id=0, epoch=0)], B2: [], B3: []}
    for rule, joins in ((True, False), (False, True)):
        spec = Partition(replicas=3, joins_at_epoch_start=rule, max_partition_epoch=3)
        state = state_with(spec, log=log, epoch_start={B1: 1}, isr={B1: {B1, B3}}, next_record_id=1)
        state = play(spec, *each(COUNTED, "b2"), state=state)
        assert (state.pending[B1] is not None) is joins
        state = play(spec, "follower_receive b2", *each(COUNTED, "b2"), state=state)
        assert state.pending[B1].isr == {B1, B2, B3}


def test_min_insync_replicas_is_checked_at_append_and_again_at_the_answer():
    """PartitionTest.testIsUnderMinIsr, testHighWatermarkAdvanceShouldNotAdvanceWhenUnderMinISR."""
    spec = Partition(replicas=2, min_insync_replicas=2, log_size=3, max_records=3)
    state = play(spec, "leader_append b1", "leader_ask_to_shrink_isr b1 b2", "controller_handle_alter_partition b1")
    state = play(spec, "leader_learn_isr b1", state=state)
    assert (state.high_watermark[B1], state.acked) == (0, frozenset())
    assert not is_enabled(spec, state, "leader_append b1")  # NOT_ENOUGH_REPLICAS

    before = Partition(replicas=2, min_insync_replicas=2, strict_min_isr=False)
    state = play(before, "leader_append b1", "leader_ask_to_shrink_isr b1 b2", "controller_handle_alter_partition b1")
    state = play(before, "leader_learn_isr b1", state=state)
    assert (state.high_watermark[B1], state.acked) == (1, frozenset())  # NOT_ENOUGH_REPLICAS_AFTER_APPEND

    alone = Partition(replicas=2, min_insync_replicas=2, acks="1")
    state = play(alone, "leader_append b1")
    assert state.acked == {0}  # acks=1 does not depend on min.insync.replicas


def test_a_fetch_in_another_leader_epoch_is_rejected():
    """PartitionTest.testLeaderEpochValidationOnLeader: FENCED_LEADER_EPOCH."""
    spec = Partition(replicas=3, preferred_elections=True, late_metadata=True)
    calls = ["controller_elect b2", "controller_elect b1", "become_leader 2", "follower_fetch b3"]
    state = play(spec, *calls)
    assert state.leader_epoch[B3] == 0
    assert not is_enabled(spec, state, "leader_handle_fetch b3")
    unfenced = Partition(replicas=3, preferred_elections=True, late_metadata=True, fences_fetches=False)
    assert is_enabled(unfenced, play(unfenced, *calls), "leader_handle_fetch b3")


def test_a_diverging_fetch_is_answered_with_the_truncation_offset_and_does_not_count():
    """AbstractFetcherThreadTest.testDivergingEpochs; KAFKA-13141."""
    spec = Partition(replicas=2, preferred_elections=True, lagging=False)
    state = play(spec, "leader_append b1", "controller_elect b2", "become_leader 1", "leader_append b2")
    state = play(spec, "become_follower b1 1", *each(COUNTED, "b1"), state=state)
    assert str(state.answers[B1].diverging) == "epoch 0 ends at 0"
    assert (state.remote_end[B2][B1], state.high_watermark[B2]) == (0, 0)
    state = play(spec, "follower_receive b1", *each(FETCH, "b1"), state=state)
    assert str(state.log) == "{b1: [r1@1], b2: [r1@1]}"


def test_a_new_leaders_epoch_starts_with_its_election():
    """PartitionTest.testMakeLeaderUpdatesEpochCache; KAFKA-7415."""
    spec = Partition(replicas=2, preferred_elections=True)
    state = play(spec, "leader_append b1", *each(FETCH, "b2"), "controller_elect b2", "become_leader 1")
    assert str(state.epoch_starts[B2]) == "[epoch 0 from 0, epoch 1 from 1]"
    assert state.epoch_start[B2] == 1


def test_a_follower_truncates_in_a_new_epoch_of_the_same_leader():
    """ReplicaManagerTest.testBecomeFollowerWhenLeaderIsUnchangedButMissedLeaderUpdate; KAFKA-7164."""
    calls = [
        "leader_append b1",
        *each(FETCH, "b3"),
        "controller_elect b2",
        "controller_elect b1",
        "become_follower b3 2",
    ]
    for rule, asks in ((False, True), (True, False)):
        spec = Partition(replicas=3, truncation="kip279", preferred_elections=True, follows_by_leader_id=rule)
        state = play(spec, *calls)
        assert (B3 in state.truncating) is asks


def test_a_restarted_broker_has_the_high_watermark_of_its_checkpoint():
    """PartitionTest.testUseCheckpointToInitializeHighWatermark."""
    spec = Partition(replicas=2, late_checkpoints=True, quick_restarts=True, log_size=3)
    known = [*each(FETCH, "b2"), *each(FETCH, "b2")]
    state = play(spec, "leader_append b1", *known)
    assert state.high_watermark[B2] == 1
    assert play(spec, "broker_crash b2", "broker_restart b2", state=state).high_watermark[B2] == 0
    written = play(spec, "broker_checkpoint b2", "broker_crash b2", "broker_restart b2", state=state)
    assert written.high_watermark[B2] == 1


# The delivery of metadata.

REELECTED = [
    *["leader_append b1", *each(FETCH, "b2"), *each(COUNTED, "b2")],
    *["controller_elect b3", "controller_elect b1", "become_leader 2"],
]
"""b1 counts b2's record in epoch 0, misses epoch 1, in which b3 led, and leads again in epoch 2."""


@pytest.mark.parametrize(("rule", "known"), [("same_leader", 1), ("consecutive_epochs", 0), ("never", 0)])
def test_a_leader_that_is_elected_again_and_its_followers_logs(rule, known):
    """ReplicaTest.testResetReplicaStateWhenLeaderIsReelectedAndReplicaIsInSync, ..WhenNewLeaderIsElected.."""
    spec = Partition(replicas=3, preferred_elections=True, keeps_followers=rule)
    state = play(spec, *REELECTED)
    assert state.leader_epoch[B1] == 2
    assert state.remote_end[B1][B2] == known


def test_a_leader_of_two_consecutive_epochs_keeps_its_followers_logs():
    """Partition.makeLeader; the repair differs from it only if an epoch was missed."""
    for rule in ("same_leader", "consecutive_epochs"):
        spec = Partition(replicas=2, session_timeouts=True, crashes=0, max_partition_epoch=4, keeps_followers=rule)
        calls = ["leader_append b1", *each(FETCH, "b2"), *each(COUNTED, "b2"), "controller_fence b2"]
        state = play(spec, *calls, "controller_fence b1", "broker_reconnect b1", "controller_elect b1")
        assert play(spec, "become_leader 1", state=state).remote_end[B1][B2] == 1


def test_a_replica_that_follows_in_between_forgets_the_followers_logs():
    """PartitionTest.testFollowerShouldNotHaveAnyRemoteReplicaStates."""
    spec = Partition(replicas=3, preferred_elections=True, keeps_followers="same_leader", answers_across_epochs=True)
    state = play(spec, *REELECTED[:-2], "become_follower b1 1")
    assert (state.remote_end[B1][B2], state.led_since[B1]) == (0, 0)
    state = play(spec, "controller_elect b1", "become_leader 2", state=state)
    assert (state.remote_end[B1][B2], state.led_since[B1]) == (0, 2)


def test_an_append_is_answered_in_a_later_epoch_of_the_same_leader():
    """DelayedProduce has the offset of the append, not its epoch."""
    later = [*REELECTED, "become_follower b2 2", "become_follower b3 2"]
    later += [*each(COUNTED, "b2"), *each(FETCH, "b3"), *each(COUNTED, "b3")]
    for rule, acked in ((True, {0}), (False, frozenset())):
        spec = Partition(replicas=3, preferred_elections=True, answers_across_epochs=rule)
        state = play(spec, *later)
        assert (state.high_watermark[B1], state.acked) == (1, acked)


def test_with_kraft_a_fenced_leader_learns_that_there_is_no_leader():
    """ReplicaManager.applyLocalFollowersDelta: a replica with no leader steps down; PartitionRegistration.merge."""
    spec = Partition(replicas=2, session_timeouts=True, controller="kraft", crashes=0, max_partition_epoch=4)
    calls = ["controller_fence b2", "controller_fence b1"]
    state = play(spec, *calls)
    assert str(state.requests[1]) == "(leader none, isr {b1})"
    assert is_enabled(spec, state, "leader_append b1")  # it has not read the metadata yet
    state = play(spec, "become_leaderless b1 1", state=state)
    assert not is_enabled(spec, state, "leader_append b1")
    zookeeper = Partition(replicas=2, session_timeouts=True, crashes=0, max_partition_epoch=4)
    assert len(play(zookeeper, *calls).requests) == 1


def test_with_kraft_a_registered_broker_is_fenced_until_it_has_read_the_metadata():
    """ReplicationControlManagerTest, BrokerHeartbeatManager.calculateNextBrokerState; DuplicateBrokerRegistration."""
    spec = Partition(replicas=2, controller="kraft", quick_restarts=True)
    state = play(spec, "broker_crash b2")
    assert not is_enabled(spec, state, "broker_restart b2")  # the session has not expired
    state = play(spec, "controller_fence b2", "broker_restart b2", state=state)
    assert state.fenced == {B2}
    assert not is_enabled(spec, state, "broker_reconnect b2")
    state = play(spec, "become_follower b2 0", "broker_reconnect b2", state=state)
    assert state.fenced == frozenset()
    before = Partition(replicas=2, controller="kraft", quick_restarts=True, registration_leaves_isr=False)
    state = play(before, "broker_crash b2", "broker_restart b2")
    assert (state.fenced, state.quorum.isr) == ({B2}, {B1, B2})  # KAFKA-18106


def test_an_answer_to_a_fetch_of_another_epoch():
    """AbstractFetcherThread.processFetchRequest drops it since KAFKA-18723, whenever the leader handles the fetch."""
    moves = ["controller_elect b2", "controller_elect b1", "become_follower b3 2"]
    for rule in (True, False):
        spec = Partition(replicas=3, preferred_elections=True, drops_answers_of_other_epochs=rule)
        state = play(spec, "leader_append b1", *each(FETCH, "b3"), "leader_append b1", "follower_fetch b3")
        early = play(spec, "leader_handle_fetch b3", *moves, state=state)
        late = play(spec, *moves, "leader_handle_fetch b3", state=state)
        assert (early.answers[B3] is None, late.answers[B3] is None) == (rule, rule)


def test_a_change_of_min_insync_replicas_clears_the_eligible_replicas():
    """ConfigurationControlManagerTest.testElrUpgrade and others: ClearElrRecord."""
    size = dict(replicas=2, min_insync_replicas=2, new_min_insync_replicas=1, eligible_leader_replicas=True)
    for rule, eligible in ((True, frozenset()), (False, {B2})):
        spec = Partition(**size, session_timeouts=True, clears_eligible=rule)
        state = play(spec, "controller_fence b2", "operator_change_min_isr")
        assert state.eligible == eligible
    assert not is_enabled(spec, state, "broker_learn_min_isr b1")  # b1 has to read the change of the ISR first
    state = play(spec, "leader_learn_isr b1", state=state)
    assert not is_enabled(spec, state, "leader_append b1")
    assert is_enabled(spec, play(spec, "broker_learn_min_isr b1", state=state), "leader_append b1")


# The controller. Source: PartitionChangeBuilderTest, ReplicationControlManagerTest.


def test_elections():
    """PartitionChangeBuilderTest.testElectLeader, testUncleanLeaderElection."""
    spec = Partition(replicas=3, max_partition_epoch=4, crashes=3)
    state = play(spec, "broker_crash b1", "controller_fence b1")
    assert str(state.quorum) == "(leader b2, isr {b2, b3})"
    assert len(state.requests) == 2
    state = play(spec, "broker_crash b3", "controller_fence b3", "broker_crash b2", "controller_fence b2", state=state)
    assert str(state.quorum) == "(leader none, isr {b2})"  # the last member stays
    state = play(spec, "broker_restart b1", state=state)
    assert not is_enabled(spec, state, "controller_elect b1")
    assert not is_enabled(spec, state, "controller_elect_uncleanly b1")
    unclean = Partition(replicas=3, max_partition_epoch=5, crashes=3, unclean_elections=True)
    state = play(unclean, "controller_elect_uncleanly b1", state=unclean.state_of(state.values))
    assert str(state.quorum) == "(leader b1, isr {b1})"


def test_removing_a_follower_keeps_the_leader_epoch():
    """PartitionChangeBuilderTest.testNoLeaderEpochBumpOnIsrShrink (KAFKA-15021)."""
    spec = Partition(replicas=3)
    state = play(spec, "broker_crash b3", "controller_fence b3")
    assert (str(state.quorum), len(state.requests), state.partition_epoch) == ("(leader b1, isr {b1, b2})", 1, 1)


ELR = dict(replicas=3, min_insync_replicas=2, eligible_leader_replicas=True, crashes=3, max_partition_epoch=6)


def test_a_broker_that_leaves_the_isr_below_min_isr_stays_eligible():
    """PartitionChangeBuilderTest.testEligibleLeaderReplicas_IsrShrinkBelowMinISR, _IsrCanShrinkToZero."""
    spec = Partition(**ELR)
    state = play(spec, "broker_crash b2", "controller_fence b2")
    assert (state.quorum.isr, state.eligible) == ({B1, B3}, frozenset())
    state = play(spec, "broker_crash b3", "controller_fence b3", state=state)
    assert (state.quorum.isr, state.eligible) == ({B1}, {B3})
    state = play(spec, "broker_crash b1", "controller_fence b1", state=state)
    assert (state.quorum, state.eligible) == (LeaderAndIsr(leader=None, isr=set()), {B1, B3})
    assert state.last_known_leader == B1


def test_an_unclean_election_empties_the_eligible_replicas():
    """PartitionChangeBuilder.maybeUpdateRecordElr: the others may have records that the new leader lacks."""
    spec = Partition(
        **dict(replicas=3, min_insync_replicas=2, eligible_leader_replicas=True, unclean_elections=True),
        **dict(crashes=3, max_partition_epoch=6, max_leader_epoch=3, lagging=False),
    )
    stopped = each(["broker_crash {}", "controller_fence {}"], "b3", "b2", "b1")
    state = play(spec, *stopped, "broker_restart b3")
    assert (state.quorum.isr, state.eligible) == (set(), {B1, B2})
    state = play(spec, "controller_elect_uncleanly b3", state=state)
    assert (state.quorum.isr, state.eligible) == ({B3}, set())


def test_after_an_unclean_shutdown_a_replica_is_no_longer_eligible():
    """PartitionChangeBuilderTest.testEligibleLeaderReplicas_ElrCanBeElected, ReplicationControlManagerTest
    .testEligibleLeaderReplicas_UncleanShutdown, PartitionChangeBuilderTest.._ElectLastKnownLeader."""
    spec = Partition(**ELR | dict(shutdowns=1, max_leader_epoch=4))
    state = play(spec, "broker_crash b2", "controller_fence b2", "broker_shut_down b3", "broker_crash b1")
    state = play(spec, "controller_fence b1", "broker_restart b1", state=state)
    assert state.eligible == {B3}  # b1 was not shut down cleanly
    assert not is_enabled(spec, state, "controller_elect b1")
    assert not is_enabled(spec, state, "controller_elect_last_known b1")
    state = play(spec, "broker_restart b3", "controller_elect b3", state=state)
    assert str(state.quorum) == "(leader b3, isr {b3})"


def test_alter_partition_rejects_fenced_brokers_and_stale_broker_epochs():
    """ReplicationControlManagerTest.testAlterPartitionShouldRejectFencedBrokers, .._BrokersWithStaleEpoch (KIP-903)."""
    spec = Partition(replicas=2, starts_in_sync=False, checks_broker_epochs=True, crashes=1, max_partition_epoch=3)
    state = play(spec, *each(COUNTED, "b2"), "broker_crash b2", "controller_fence b2")
    refused = play(spec, "controller_handle_alter_partition b1", state=state)
    assert (refused.pending[B1], refused.quorum.isr) == (None, {B1})
    again = play(spec, "broker_restart b2", state=state)
    refused = play(spec, "controller_handle_alter_partition b1", state=again)
    assert (refused.pending[B1], refused.quorum.isr) == (None, {B1})
    lax = Partition(**spec.constants | dict(checks_broker_epochs=False))
    again = play(lax, *each(COUNTED, "b2"), "broker_crash b2", "controller_fence b2", "broker_restart b2")
    taken_in = play(lax, "controller_handle_alter_partition b1", state=again)
    assert taken_in.quorum.isr == {B1, B2}


# Log directories, log start, old formats.


def test_a_moved_log_and_the_epochs_without_records():
    """The test of KAFKA-20961: an epoch without records is in the cache that the moved log replaces."""
    moves = ["controller_elect b2", "become_leader 1", "controller_elect b1", "become_leader 2", "become_follower b2 2"]
    for rule, known in ((True, "[epoch 2 from 0]"), (False, "[]")):
        spec = Partition(replicas=2, preferred_elections=True, log_moves=1, moves_epochs_without_records=rule)
        state = play(spec, *moves, "leader_move_log b1")
        assert str(state.epoch_starts[B1]) == known
        state = play(spec, *each(COUNTED, "b2"), state=state)
        is_out_of_range = state.answers[B2] is not None and state.answers[B2].diverging.epoch == UNDEFINED
        assert is_out_of_range is not rule  # with its epochs the leader knows that b2's e1 ends at 0


def test_a_fetch_whose_last_epoch_the_leader_does_not_know_is_out_of_range():
    """Partition.readRecords: the end offset of the last fetched epoch could not be determined."""
    spec = Partition(replicas=2, log_size=3, max_records=3, starts_in_sync=False)
    records = [Record(id=offset, epoch=0) for offset in range(2)]
    state = state_with(spec, log={B1: records, B2: records[:1]}, epoch_starts={B1: [], B2: cache((0, 0))})
    state = play(spec, *each(COUNTED, "b2"), state=state)
    assert (state.remote_end[B1][B2], state.answers[B2].record) == (0, None)
    state = play(spec, "follower_receive b2", state=state)
    assert (str(state.log[B2]), str(state.epoch_starts[B2])) == ("[r0@0]", "[epoch 0 from 0]")  # nothing is truncated


def test_a_follower_below_the_log_start_starts_there():
    """AbstractFetcherThreadTest.testFollowerFetchOutOfRangeLow; KAFKA-9491."""
    for rule, high_watermark in ((False, 1), (True, 0)):
        spec = LogStart(replicas=2, starts_in_sync=False, leaves_high_watermark=rule)
        state = play(spec, "leader_append b1", "leader_append b1", "leader_delete_records b1 1")
        assert str(state.epoch_starts[B1]) == "[epoch 0 from 1]"
        state = play(spec, *each(COUNTED, "b2"), state=state)
        assert (state.out_of_range, state.remote_end[B1][B2]) == ({B2}, 0)
        assert not is_enabled(spec, state, "follower_fetch b2")
        state = play(spec, "follower_start_at_log_start b2", state=state)
        assert (state.log_start[B2], len(state.log[B2]), state.high_watermark[B2]) == (1, 1, high_watermark)
        state = play(spec, *each(FETCH, "b2"), state=state)
        assert str(state.log[B2]) == "[r0@0, r1@0]"


def test_a_follower_past_the_leaders_log_end_truncates_to_it():
    """AbstractFetcherThreadTest.testFollowerFetchOutOfRangeHigh."""
    spec = Partition(replicas=2, truncation="kip279", log_size=3, max_records=3)
    records = [Record(id=offset, epoch=0) for offset in range(3)]
    state = state_with(spec, log={B1: records[:1], B2: records}, next_record_id=3)
    state = play(spec, *each(FETCH, "b2"), state=state)
    assert str(state.log[B2]) == "[r0@0]"


def test_records_without_epochs_are_not_in_the_cache():
    """KAFKA-7897, LeaderEpochIntegrationTest: only the election is, if formats without epochs have a cache."""
    for rule, known in ((True, "[epoch 0 from 0]"), (False, "[]")):
        spec = OldFormats(replicas=2, caches_epochs_of_old_formats=rule)
        state = play(spec, "leader_append b1", "follower_fetch b2", "leader_handle_fetch b2", "follower_receive b2")
        assert (str(state.epoch_starts[B1]), str(state.epoch_starts[B2])) == (known, "[]")


# Deliberately broken variants: each violates a property.


class OwnLogOnly(Partition):
    """A leader whose high watermark does not wait for followers."""

    def maximal_isr(self, leader: Replica):
        return {leader}


class BelievesItsRequest(Partition):
    """A leader that uses a requested ISR before it is granted."""

    def maximal_isr(self, leader: Replica):
        return self.isr[leader] if self.pending[leader] is None else self.pending[leader].isr


class JoinsAnywhere(Partition):
    """A leader that adds every follower that fetches."""

    def ask_to_join(self, leader, follower):
        if follower not in self.isr[leader] and self.may_ask(leader):
            self.ask_for(leader, follower)


class KnowsOneEpoch(Partition):
    """A cache that keeps the first epoch only."""

    def assign_epoch(self, replica, epoch, start):
        if len(self.epoch_starts[replica]) == 0:
            self.epoch_starts[replica].append(EpochStart(epoch=epoch, start=start))


class KeepsFollowersOfOthers(Partition):
    """A follower that keeps what it knew of the others' logs as a leader, and trusts it when it leads again."""

    def forget_followers(self, replica):
        pass


class TakesItselfOut(Partition):
    """A leader that may leave its ISR."""

    @action
    def leader_leave(self, leader: Replica):
        require(self.leads(leader))
        self.isr[leader] = self.isr[leader] - {leader}


@pytest.mark.parametrize(
    ("broken", "constants", "violated"),
    [
        (OwnLogOnly, {}, "no_acked_loss"),
        (BelievesItsRequest, {"max_partition_epoch": 3}, "strong_isr"),
        (JoinsAnywhere, {"starts_in_sync": False}, "strong_isr"),
        (KnowsOneEpoch, {"preferred_elections": True, "max_records": 2, "log_size": 2}, "cache_matches_the_log"),
        (TakesItselfOut, {}, "leader_is_in_sync"),
        (
            KeepsFollowersOfOthers,
            dict(replicas=3, preferred_elections=True, crashes=0, late_requests=False, lagging=False)
            | dict(max_leader_epoch=2),
            "strong_isr",
        ),
    ],
)
def test_a_broken_variant_is_found(broken, constants, violated):
    constants = dict(replicas=2, log_size=1, max_records=1, max_leader_epoch=1) | constants
    plan = Plan(properties=(violated,))
    assert native.explore(broken(**constants), plan).verdict == "violated"
    assert native.explore(Partition(**constants), plan).verdict == "holds"
