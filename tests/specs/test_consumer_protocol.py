"""The consumer group protocol step by step: CurrentAssignmentBuilderTest, ConsumerGroupTest and similar Kafka tests."""

import pytest

from checker.testing import play
from specs.consumer.consumer_protocol import ConsumerProtocol, Member
from specs.consumer.protocol_commits import ProtocolCommits
from specs.consumer.static_members import StaticMembers

JOIN_C1 = ["join(c1)", "heartbeat(c1)", "handle_and_assign(c1, {0: c1, 1: c1})", "receive(c1)", "reconcile(c1)"]
"""c1 owns both partitions at epoch 1."""
C2_JOINS = ["join(c2)", "heartbeat(c2)", "handle_and_assign(c2, {0: c1, 1: c2})"]
"""Epoch 2: partition 1 is to move to c2."""
INVARIANTS = [
    "one_owner",
    "one_holder",
    "partition_epochs_are_current",
    "owned_partitions_are_held",
    "joins_are_accepted",
]
ROUND_TRIP = ["heartbeat({0})", "handle({0})", "receive({0})"]


def group(**constants):
    return ConsumerProtocol(**{"partitions": 2, **constants})


def take(spec, *steps, state=None):
    """Take steps, written as in a trace, and return the last state."""
    state = play(spec, state=state)
    for text in steps:
        state = {str(step): step.state for step in spec.successors(state)}[text]
    return state


def exchange(name):
    """Return the steps of a heartbeat, its response included."""
    return [step.format(name) for step in ROUND_TRIP]


def stored(spec, state, number):
    """Return what the coordinator stores of a member: state, epoch, partitions, and partitions to give up."""
    with spec.bound():
        member = Member[number]
        return (
            state.member_state[member].value,
            state.member_epoch[member],
            set(state.assigned[member]),
            set(state.pending_revocation[member]),
        )


def owned(spec, state, number):
    """Return the partitions that a consumer considers its own."""
    with spec.bound():
        return set(state.owned[Member[number]])


def violated(spec, state):
    """Return the violated state invariants."""
    return {name for name in INVARIANTS if not spec.holds(name, state)}


# The reconciliation: CurrentAssignmentBuilderTest.


def test_stable_to_unrevoked_partitions():
    """testStableToUnrevokedPartitions: the member keeps its epoch until it has given the partition up."""
    spec = group()
    state = take(spec, *JOIN_C1, *exchange("c1"), *C2_JOINS, *exchange("c1"))
    assert stored(spec, state, 0) == ("unrevoked partitions", 1, {0}, {1})
    assert owned(spec, state, 0) == {0, 1}


def test_stable_to_unreleased_partitions():
    """testStableToUnreleasedPartitions: the new member has the target epoch and waits for partition 1."""
    spec = group()
    state = take(spec, *JOIN_C1, *exchange("c1"), *C2_JOINS)
    assert stored(spec, state, 1) == ("unreleased partitions", 2, set(), set())


def test_partition_moves_when_it_is_given_up():
    """testUnrevokedPartitionsToStable, testUnreleasedPartitionsToStable."""
    spec = group()
    state = take(spec, *JOIN_C1, *exchange("c1"), *C2_JOINS, *exchange("c1"), "reconcile(c1)", *exchange("c1"))
    assert stored(spec, state, 0) == ("stable", 2, {0}, set())
    state = take(spec, "receive(c2)", "reconcile(c2)", *exchange("c2"), "reconcile(c2)", state=state)
    assert stored(spec, state, 1) == ("stable", 2, {1}, set())
    assert (owned(spec, state, 0), owned(spec, state, 1)) == ({0}, {1})


def test_remains_unrevoked_without_a_report():
    """testRemainsInUnrevokedPartitions: a heartbeat without partitions is no acknowledgement."""
    spec = group()
    state = take(spec, *JOIN_C1, *exchange("c1"), *C2_JOINS, *exchange("c1"), "heartbeat(c1)", "handle(c1)")
    assert stored(spec, state, 0) == ("unrevoked partitions", 1, {0}, {1})


def back_to_c1(spec):
    """c1 has to give partition 1 up, c2 is fenced, and c1 gets both partitions again."""
    return take(
        spec,
        *(*JOIN_C1, *exchange("c1"), *C2_JOINS, *exchange("c1"), "time_out_session(c2)", "reconcile(c1)"),
        *("heartbeat(c1)", "handle_and_assign(c1, {0: c1, 1: c1})"),
    )


@pytest.mark.parametrize(
    ("reconciliation", "expected"),
    [
        ("4.2", ("stable", 3, {0, 1}, set())),  # KAFKA-19449: its own partition is free for the member
        ("4.0", ("unreleased partitions", 3, {0}, set())),  # the next heartbeat gets it
        ("3.7", ("stable", 3, {0, 1}, set())),  # a new target assignment starts again, and partition 1 is kept
    ],
)
def test_partition_to_give_up_is_assigned_again(reconciliation, expected):
    """ConsumerGroupTest.testUpdatingMemberUpdatesPartitionEpochWhenPartitionIsReassignedBeforeBeingRevoked."""
    spec = group(reconciliation=reconciliation, bookkeeping="owned")
    state = back_to_c1(spec)
    assert stored(spec, state, 0) == expected
    assert not violated(spec, state)


@pytest.mark.parametrize("reconciliation", ["3.7", "4.2"])
def test_bookkeeping_of_3_7_loses_the_epoch(reconciliation):
    """KAFKA-16147: the epoch of partition 1 is set with the assigned partitions, and deleted with the revoked ones."""
    spec = group(reconciliation=reconciliation, bookkeeping="compared")
    state = back_to_c1(spec)
    assert (state.partition_epoch[0], state.partition_epoch[1]) == (3, None)
    assert violated(spec, state) == {"partition_epochs_are_current"}


# Epochs: GroupMetadataManagerTest.


def answer(spec, state, number):
    """Return the error and the epoch of the response to a consumer."""
    with spec.bound():
        response = state.response[Member[number]]
    return response.refusal.value, response.epoch


def test_previous_epoch_is_accepted():
    """testConsumerGroupMemberEpochValidation: the response with the new epoch may have been lost."""
    spec = group(timeouts=1)
    c2_leaves = ["receive(c2)", "leave(c2)", "handle(c2)"]
    state = take(spec, *JOIN_C1, *exchange("c1"), "join(c2)", "heartbeat(c2)", "handle_and_assign(c2, {0: c1, 1: c1})")
    assert stored(spec, state, 0)[1] == 1
    state = take(
        spec, "heartbeat(c1)", "handle(c1)", "time_out_request(c1)", "heartbeat(c1)", "handle(c1)", state=state
    )
    assert answer(spec, state, 0) == ("none", 2)
    assert stored(spec, take(spec, *c2_leaves, state=state), 1)[2] == set()


def test_unknown_member_is_refused_and_joins_again():
    """The consumer drops its partitions: AbstractMembershipManager.transitionToFenced."""
    spec = group()
    state = take(spec, *JOIN_C1, "time_out_session(c1)", "heartbeat(c1)", "handle(c1)")
    assert answer(spec, state, 0) == ("UNKNOWN_MEMBER_ID", 0)
    assert owned(spec, state, 0) == {0, 1}
    state = take(spec, "receive(c1)", state=state)
    assert owned(spec, state, 0) == set()
    state = take(spec, "heartbeat(c1)", "handle_and_assign(c1, {0: c1, 1: c1})", state=state)
    assert stored(spec, state, 0) == ("stable", 3, {0, 1}, set())


def fenced(spec):
    """Two responses to c2 are lost, and its third heartbeat with epoch 0 arrives."""
    return take(
        spec,
        *("join(c2)", "heartbeat(c2)", "handle_and_assign(c2, {0: c2, 1: c2})"),
        *("join(c1)", "heartbeat(c1)", "handle_and_assign(c1, {0: c1, 1: c1})"),
        *("time_out_request(c2)", "heartbeat(c2)", "handle(c2)"),
        *("time_out_request(c2)", "heartbeat(c2)", "handle(c2)"),
    )


@pytest.mark.parametrize(("accepts_rejoin", "refusal"), [(False, "FENCED_MEMBER_EPOCH"), (True, "none")])
def test_joining_with_epoch_0_while_the_member_exists(accepts_rejoin, refusal):
    """KAFKA-19233: accepted since 4.2."""
    spec = group(timeouts=2, accepts_rejoin=accepts_rejoin)
    state = fenced(spec)
    assert answer(spec, state, 1)[0] == refusal
    assert violated(spec, state) == (set() if accepts_rejoin else {"joins_are_accepted"})


# What a report acknowledges.


@pytest.mark.parametrize("reports_unapplied", [False, True])
def test_report_before_the_reconciliation(reports_unapplied):
    """A full heartbeat follows a timeout, leaves out the assigned partitions, and the member adds them meanwhile."""
    spec = group(timeouts=1, partitions=1, reports_unapplied=reports_unapplied)
    state = take(
        spec,
        *("join(c1)", "heartbeat(c1)", "handle_and_assign(c1, {0: c1})", "receive(c1)"),
        *("join(c2)", "heartbeat(c2)", "handle_and_assign(c2, {0: c2})"),
        *("heartbeat(c1)", "time_out_request(c1)", "heartbeat(c1)", "reconcile(c1)", "handle(c1)"),
    )
    assert owned(spec, state, 0) == {0}
    if reports_unapplied:
        assert stored(spec, state, 0) == ("unrevoked partitions", 1, set(), {0})
        return
    assert stored(spec, state, 0) == ("stable", 2, set(), set())
    state = take(spec, "receive(c2)", *exchange("c2"), "reconcile(c2)", state=state)
    assert violated(spec, state) == {"one_owner", "owned_partitions_are_held"}


# Offset commits: ConsumerGroupTest.testValidateOffsetCommit.

OWNER = ["join(c1)", "heartbeat(c1)", "handle_and_assign(c1, {0: c1})", "receive(c1)", "reconcile(c1)"]


def bump_of_c1(spec):
    """c2 joins and gets nothing; the coordinator gives c1 epoch 2, and the response is in transit."""
    joins = ["join(c2)", "heartbeat(c2)", "handle_and_assign(c2, {0: c1})"]
    return take(spec, *OWNER, "process(c1)", *joins, "heartbeat(c1)", "handle(c1)")


@pytest.mark.parametrize(
    ("commit_fence", "committed"), [("member_epoch", 0), ("holds", 1), ("assignment_epoch", 1), ("always", 1)]
)
def test_commit_with_the_epoch_before_the_response(commit_fence, committed):
    """KIP-1251: the partition was assigned at epoch 1, the commit has epoch 1, the member has epoch 2."""
    spec = ProtocolCommits(commit_fence=commit_fence)
    state = take(spec, "send_commit(c1)", "handle_commit(c1)", state=bump_of_c1(spec))
    assert state.committed == committed
    assert spec.holds("owners_may_commit", state) == (committed == 1)


def test_commit_with_the_current_epoch_is_accepted():
    spec = ProtocolCommits(commit_fence="member_epoch")
    state = take(spec, "receive(c1)", "send_commit(c1)", "handle_commit(c1)", state=bump_of_c1(spec))
    assert state.committed == 1


@pytest.mark.parametrize(("commit_fence", "committed"), [("holds", 1), ("assignment_epoch", 0), ("member_epoch", 0)])
def test_late_commit_after_the_partition_came_back(commit_fence, committed):
    """The commit has epoch 1; meanwhile c2 owned the partition, and c1 owns it again since epoch 3."""
    spec = ProtocolCommits(commit_fence=commit_fence)
    state = take(
        spec,
        *(*OWNER, *exchange("c1"), "process(c1)", "send_commit(c1)"),
        *("join(c2)", "heartbeat(c2)", "handle_and_assign(c2, {0: c2})", *exchange("c1"), "reconcile(c1)"),
        *(*exchange("c1"), "receive(c2)", "reconcile(c2)", *exchange("c2"), "time_out_session(c2)"),
        *("heartbeat(c1)", "handle_and_assign(c1, {0: c1})", "handle_commit(c1)"),
    )
    assert stored(spec, state, 0) == ("stable", 3, {0}, set())
    assert state.committed == committed


def test_commit_of_an_unknown_member_is_refused():
    """UNKNOWN_MEMBER_ID: the session of the owner timed out."""
    spec = ProtocolCommits()
    state = take(spec, *OWNER, "process(c1)", "time_out_session(c1)", "send_commit(c1)", "handle_commit(c1)")
    assert state.committed == 0
    assert spec.holds("owners_may_commit", state)


# Static members: GroupMetadataManagerTest. c1 and c2 are processes of one instance, c3 is a dynamic member.

STATIC = ["join(c1)", "heartbeat(c1)", "handle_and_assign(c1, {0: c1})", "receive(c1)", "reconcile(c1)"]


def test_static_member_gets_its_assignment_back():
    """testStaticMemberGetsBackAssignmentUponRejoin, testNoGroupEpochBumpWhenStaticMemberTemporarilyLeaves."""
    spec = StaticMembers()
    state = take(spec, *STATIC, *exchange("c1"), "close(c1)", "handle(c1)")
    assert (stored(spec, state, 0)[2], owned(spec, state, 0), state.group_epoch) == ({0}, set(), 1)
    state = take(spec, "join(c2)", "heartbeat(c2)", "handle(c2)", "receive(c2)", "reconcile(c2)", state=state)
    assert (stored(spec, state, 1), owned(spec, state, 1), state.group_epoch) == (("stable", 1, {0}, set()), {0}, 1)


def test_static_member_is_refused_while_the_other_has_not_left():
    """testShouldThrownUnreleasedInstanceIdExceptionWhenNewMemberJoinsWithInUseInstanceId: the process ends."""
    spec = StaticMembers()
    state = take(spec, *STATIC, "join(c2)", "heartbeat(c2)", "handle(c2)")
    assert answer(spec, state, 1)[0].startswith("UNRELEASED_INSTANCE_ID")
    state = take(spec, "receive(c2)", state=state)
    assert [str(step) for step in spec.successors(state) if "c2" in str(step)] == []


def test_static_member_with_another_member_id_is_fenced():
    """testShouldThrowFencedInstanceIdExceptionWhenStaticMemberWithDifferentMemberIdJoins."""
    spec = StaticMembers()
    joins = ["join(c2)", "heartbeat(c2)", "handle_and_assign(c2, {0: c2})"]
    state = take(spec, *STATIC, "time_out_session(c1)", *joins, "heartbeat(c1)", "handle(c1)")
    assert answer(spec, state, 0)[0].endswith("FENCED_INSTANCE_ID")


def test_session_of_a_closed_static_member_times_out():
    """testSessionTimeoutExpirationStaticMember: its partitions go to another member."""
    spec = StaticMembers(members=3)
    joins = ["join(c3)", "heartbeat(c3)", "handle_and_assign(c3, {0: c3})"]
    state = take(spec, *STATIC, *exchange("c1"), "close(c1)", "handle(c1)", "time_out_session(c1)", *joins)
    assert stored(spec, state, 2) == ("stable", 3, {0}, set())
