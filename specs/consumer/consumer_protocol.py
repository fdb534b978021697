"""The consumer group protocol (KIP-848): heartbeats, member epochs, target assignment and reconciliation.

The coordinator assigns partitions. A member learns its assignment from the responses to its heartbeats, and reports in
a heartbeat which partitions it owns. `specs.consumer.group` has the classic group protocol.
Scenarios: entries C8 to C11 of docs/consumer.md.
Sources: KIP-848; GroupMetadataManager, ConsumerGroup, ConsumerGroupMember, CurrentAssignmentBuilder of Kafka's group
coordinator; AbstractMembershipManager, ConsumerMembershipManager and ConsumerHeartbeatRequestManager of its client, all
of 4.3.1. Rules of earlier releases: the same classes of 3.7.1, 4.0.0 and 4.1.1.
"""

import enum

from checker.language import Bug, Constant, Map, Option, Range, Scenario, SetOf, Spec, Struct
from checker.language.drawing import Arrow, Drawing, Event, Lane
from checker.language.roles import action, invariant, reachable, require, step_invariant
from specs.consumer.group import Member
from specs.scenario_forms import violates


class Partition(Range):
    """A partition of the topic to which all members subscribe."""

    low, high = 0, "partitions - 1"


_HEARTBEAT = (
    "{str(request[member]).replace('none, owns none', '-1').replace(', owns none', '').replace('{}', 'nothing')}"
)


class Epoch(Range):
    """An epoch of the group; 0 in a heartbeat means "I join"."""

    low, high = 0, "max_epoch"


class MemberState(enum.Enum):
    """The coordinator's state of a member. Source: MemberState of the group coordinator."""

    STABLE = "stable"
    UNREVOKED = "unrevoked partitions"  # the member still owns partitions that it has to give up
    UNRELEASED = "unreleased partitions"  # the member waits for partitions that another one has not given up


class Heartbeat(Struct):
    """A ConsumerGroupHeartbeat request. `epoch` is None to leave; `owned` is None if it did not change."""

    epoch: Option(Epoch)
    owned: Option(SetOf(Partition))
    is_full: bool
    shows = "epoch {epoch}, owns {owned}"


class Refusal(enum.Enum):
    """Why the coordinator refuses a heartbeat."""

    NONE = "none"
    FENCED = "FENCED_MEMBER_EPOCH"
    UNKNOWN = "UNKNOWN_MEMBER_ID"
    INSTANCE = "UNRELEASED_INSTANCE_ID or FENCED_INSTANCE_ID"


class Response(Struct):
    """A ConsumerGroupHeartbeat response. `assignment` is None if it did not change."""

    refusal: Refusal
    epoch: Epoch
    assignment: Option(SetOf(Partition))
    shows = "epoch {epoch}, assignment {assignment}, {refusal}"


NEW_TARGET = Map(Partition, Member)
"""A target assignment: any assignor may compute any of them."""


class ConsumerProtocol(Spec):
    """One group and one topic. Consumers join, leave, lose heartbeats, and are fenced when their session times out.

    The group epoch changes with the members. The coordinator then computes a target assignment, and moves each member
    towards it when a heartbeat of the member arrives: first the member gives partitions up and reports that, then it
    reaches the target epoch, then it gets each partition that its previous owner has given up.

    `reconciliation` "3.7" is the state machine of Kafka 3.7, "4.0" that of 3.8 to 4.1, "4.2" today's. The
    coordinator stores the epoch at which a partition is owned; without an epoch it is free. `bookkeeping` "compared" is
    the update of these epochs before KAFKA-16147.
    """

    members = Constant(2, at_least=1)
    partitions = Constant(1, at_least=1)
    max_epoch = Constant(3, at_least=1)
    departures = Constant(1, at_least=0)  # members that leave, or whose session times out
    timeouts = Constant(0, at_least=0)  # heartbeats without a response in time
    late_requests = Constant(False)  # a heartbeat that timed out may arrive after later ones
    reconciliation = Constant("4.2", one_of=("3.7", "4.0", "4.2"))
    bookkeeping = Constant("owned", one_of=("compared", "owned"))  # KAFKA-16147 (3.8)
    accepts_rejoin = Constant(True)  # KAFKA-19233 (4.2)
    skips_revocation = Constant(True)  # a partition that a report leaves out counts as given up (since 3.8)
    reports_unapplied = Constant(False)  # not Kafka's: a report also has the partitions that are not applied yet

    # State of the coordinator.
    group_epoch = Epoch
    target_epoch = Epoch
    target = Map(Partition, Option(Member))
    in_group = SetOf(Member)
    member_epoch = Map(Member, Epoch)
    previous_epoch = Map(Member, Epoch)
    member_state = Map(Member, MemberState)
    assigned = Map(Member, SetOf(Partition))
    pending_revocation = Map(Member, SetOf(Partition))
    restarted_at = Map(Member, Epoch)  # 3.7: the target epoch for which the reconciliation was started
    partition_epoch = Map(Partition, Option(Epoch))  # None: no member owns the partition

    # State of the consumers.
    epoch = Map(Member, Option(Epoch))  # None: out of the group
    owned = Map(Member, SetOf(Partition))
    assignment = Map(Member, Option(SetOf(Partition)))  # received from the coordinator since the consumer joined
    reconciles = Map(Member, bool)  # `assignment` is not applied yet
    reports = Map(Member, bool)  # the next heartbeat says which partitions the consumer owns
    sends_all = Map(Member, bool)  # the next heartbeat is a full one

    # The network.
    request = Map(Member, Option(Heartbeat))
    response = Map(Member, Option(Response))
    late_request = Map(Member, Option(Heartbeat))

    departures_left = Range(0, "departures")
    timeouts_left = Range(0, "timeouts")

    draws = Drawing(
        Lane("coordinator", members={"in_group": "members"},
            facts={"group_epoch": "group epoch", "target_epoch": "target epoch", "target": "target assignment"}),
        Lane("partition", each=Partition, facts={"partition_epoch": "owned at epoch", "target": "assigned to"}),
        Lane("member", each=Member, boxes={"owned": "owns"},
            facts={"epoch": "epoch", "member_epoch": "coordinator: epoch", "member_state": "coordinator: state",
                "assigned": "coordinator: assigned", "pending_revocation": "coordinator: to give up"}),
        arrows=(
            Arrow("handle", "member", "'coordinator'", _HEARTBEAT),
            Arrow("receive", "'coordinator'", "member",
                "{str(response[member]).replace(', none', '').replace(', assignment none', '')"
                ".replace('{}', 'nothing')}"),
            Arrow("handle_and_assign", "member", "'coordinator'", _HEARTBEAT),
            Arrow("handle_late", "member", "'coordinator'", "late: {late_request[member]}"),
            Arrow("handle_late_and_assign", "member", "'coordinator'", "late: {late_request[member]}"),
        ),
    ).with_events(
        Event("init", "No consumer has joined the group"),
        Event("join", "{member} subscribes, and will send a heartbeat with epoch 0", "subscribes", "member"),
        Event("heartbeat", "{member} sends a heartbeat with epoch {epoch[member]}; it owns "
            "{str(owned[member]).replace('{}', 'nothing')}", "", "member"),
        Event("receive", "{member} gets the response: {'refused (' + str(response[member].refusal) + '), so that it "
            "drops its partitions and joins again' if str(response[member].refusal) != 'none' else 'epoch ' + "
            "str(response[member].epoch) + (', assigned ' + str(response[member].assignment).replace('{}', 'nothing') "
            "if response[member].assignment is not None else '')}", "response", "member", "{'refusal' if "
                "str(response[member].refusal) != 'none' else ''}"),
        Event("reconcile", "{member} applies its assignment: it owns {str(assignment[member])} instead of "
            "{str(owned[member])}", "owns {str(assignment[member])}", "member"),
        Event("leave", "{member} leaves: it drops its partitions, sends epoch -1", "leaves", "member", "shutdown"),
        Event("time_out_request", "{member} gets no response in time: the {'request' if request[member] is not None "
            "else 'response'} is {'late' if late_requests and request[member] is not None else 'lost'}, and its next "
            "heartbeat is a full one", "request timeout", "member", "timeout"),
        Event("handle", "The coordinator {'refuses' if request[member].epoch is not None and str(refusal_of(member, "
            "request[member])) != 'none' else 'handles'} the heartbeat of {member} with epoch {'-1' if "
            "request[member].epoch is None else str(request[member].epoch)}", "handles {member}", "'coordinator'",
            "{'refusal' if request[member].epoch is not None and str(refusal_of(member, request[member])) != 'none' "
                "else ''}"),
        Event("handle_and_assign",
            "The coordinator handles the heartbeat of {member}, and computes a new target: {str(assignment)}"
                "{''.join('; ' + str(member) + ' keeps partition ' + str(p) + ', which it had to give up: its epoch is "
                "set, and then deleted with those of the partitions to give up'"
                " for p in pending_revocation[member] if (bookkeeping, reconciliation) == ('compared', '3.7') and "
                "assignment[p] == member)}", "handles {member}", "'coordinator'"),
        Event("handle_late", "The coordinator handles a late heartbeat of {member}", "late: {member}", "'coordinator'"),
        Event("handle_late_and_assign", "The coordinator handles a late heartbeat of {member}, and computes a new "
            "target: {str(assignment)}", "late: {member}", "'coordinator'"),
        Event("time_out_session", "The coordinator removes {member}, whose session has timed out, from the group",
            "session of {member} expires", "'coordinator'", "timeout"))  # fmt: skip

    def init(self):
        """No consumer has joined."""
        self.departures_left = self.departures
        self.timeouts_left = self.timeouts

    # A consumer and its heartbeats.

    @action
    def join(self, member: Member):
        """A consumer subscribes: it will send epoch 0. Source: AbstractMembershipManager.transitionToJoining."""
        require(self.epoch[member] is None)
        require(self.request[member] is None and self.response[member] is None)
        self.start_joining(member)

    def start_joining(self, member):
        """Own nothing and send epoch 0."""
        self.epoch[member] = 0
        self.drop_all(member)
        self.sends_all[member] = True

    def drop_all(self, member):
        """Give all partitions up (onPartitionsLost). Source: AbstractMembershipManager.clearAssignment."""
        self.owned[member] = set()
        self.assignment[member] = None
        self.reconciles[member] = False
        self.reports[member] = False
        self.sends_all[member] = False

    @action
    def heartbeat(self, member: Member):
        """A consumer sends a heartbeat; one is in flight at a time. Source: HeartbeatState.buildRequestData."""
        require(self.epoch[member] is not None)
        require(self.request[member] is None and self.response[member] is None)
        require(self.has_news(member))
        reports = self.reports[member] or self.sends_all[member]
        self.request[member] = Heartbeat(
            epoch=self.epoch[member], owned=self.reported(member) if reports else None, is_full=self.sends_all[member]
        )
        self.reports[member] = False
        self.sends_all[member] = False

    def reported(self, member):
        """Return the partitions that a consumer reports. Source: AbstractMembershipManager.currentAssignment."""
        if self.reports_unapplied and self.assignment[member] is not None:
            return self.owned[member] | self.assignment[member]
        return self.owned[member]

    def has_news(self, member):
        """Return whether a heartbeat could change anything; the others are left out to keep the state space small."""
        return (
            self.reports[member]
            or self.sends_all[member]
            or member not in self.in_group
            or self.epoch[member] != self.member_epoch[member]
            or not self.is_reconciled(member)
        )

    @action
    def receive(self, member: Member):
        """A consumer receives the response to its heartbeat. Source: ConsumerMembershipManager.onHeartbeatSuccess.

        A refusal fences it: it drops its partitions and joins again (transitionToFenced).
        """
        require(self.response[member] is not None)
        response = self.response[member]
        self.response[member] = None
        if self.epoch[member] is None:
            return
        if response.refusal != Refusal.NONE:
            self.start_joining(member)
            return
        self.epoch[member] = response.epoch
        # LocalAssignment.updateWith: another assignment, and the first one, is reported after the reconciliation, even
        # if the consumer owns these partitions already.
        if response.assignment is not None and response.assignment != self.assignment[member]:
            self.assignment[member] = response.assignment
            self.reconciles[member] = True

    @action
    def reconcile(self, member: Member):
        """A consumer revokes and adds partitions. Source: AbstractMembershipManager.maybeReconcile."""
        require(self.epoch[member] is not None and self.reconciles[member])
        self.owned[member] = self.assignment[member]
        self.reconciles[member] = False
        self.reports[member] = True

    @action
    def leave(self, member: Member):
        """A consumer unsubscribes or closes: it drops its partitions, then sends the epoch -1."""
        require(self.departures_left > 0)
        require(self.epoch[member] is not None and self.epoch[member] != 0)
        require(self.request[member] is None and self.response[member] is None)
        self.departures_left -= 1
        self.epoch[member] = None
        self.drop_all(member)
        self.request[member] = Heartbeat(epoch=None, owned=None, is_full=False)

    # The network.

    @action
    def time_out_request(self, member: Member):
        """No response arrives in time: the consumer disconnects, and its next heartbeat is a full one.

        The request or the response is lost. With `late_requests` the coordinator may handle the request later: it came
        over a connection that is closed by now, so that its order relative to later requests is open.
        Source: AbstractHeartbeatRequestManager.onFailure, HeartbeatState.reset.
        """
        require(self.timeouts_left > 0)
        require(self.epoch[member] is not None)
        require(self.request[member] is not None or self.response[member] is not None)
        require(self.late_request[member] is None)
        self.timeouts_left -= 1
        if self.late_requests:
            self.late_request[member] = self.request[member]
        self.request[member] = None
        self.response[member] = None
        self.sends_all[member] = True

    # The coordinator.

    @action
    def handle(self, member: Member):
        """The coordinator handles a heartbeat. Source: GroupMetadataManager.consumerGroupHeartbeat."""
        require(self.request[member] is not None and self.response[member] is None)
        require(not self.needs_target(member, self.request[member]))
        self.answer(member, self.request[member])
        self.request[member] = None

    @action
    def handle_and_assign(self, member: Member, assignment: NEW_TARGET):
        """The coordinator handles a heartbeat, and computes a target assignment because the members have changed.

        Source: GroupMetadataManager.maybeUpdateTargetAssignment.
        """
        require(self.request[member] is not None and self.response[member] is None)
        require(self.needs_target(member, self.request[member]))
        self.compute_target(member, assignment)
        self.answer(member, self.request[member])
        self.request[member] = None

    @action
    def handle_late(self, member: Member):
        """The coordinator handles a heartbeat that timed out; the response reaches no consumer."""
        require(self.late_request[member] is not None)
        require(not self.needs_target(member, self.late_request[member]))
        self.apply_heartbeat(member, self.late_request[member])
        self.late_request[member] = None

    @action
    def handle_late_and_assign(self, member: Member, assignment: NEW_TARGET):
        """The coordinator handles a heartbeat that timed out, and computes a target assignment."""
        require(self.late_request[member] is not None)
        require(self.needs_target(member, self.late_request[member]))
        self.compute_target(member, assignment)
        self.apply_heartbeat(member, self.late_request[member])
        self.late_request[member] = None

    def needs_target(self, member, request):
        """Return whether a heartbeat makes the coordinator compute a target assignment."""
        if request.epoch is None:
            return False
        if member not in self.in_group:
            return request.epoch == 0
        return self.target_epoch < self.group_epoch and self.refusal_of(member, request) == Refusal.NONE

    def compute_target(self, member, assignment):
        """Add the consumer to the group if it is new, and take `assignment` as the target assignment."""
        if member not in self.in_group:
            require(self.group_epoch < self.max_epoch)
            self.in_group.add(member)
            self.group_epoch += 1
        require(all(assignment[partition] in self.in_group for partition in Partition))
        for partition in Partition:
            self.target[partition] = assignment[partition]
        self.target_epoch = self.group_epoch

    def answer(self, member, request):
        """Handle a heartbeat and send the response; a member that leaves waits for none."""
        before = self.assigned[member]
        refusal = self.refusal_of(member, request)
        self.apply_heartbeat(member, request)
        if request.epoch is None:
            return
        if refusal != Refusal.NONE:
            self.response[member] = Response(refusal=refusal, epoch=0, assignment=None)
            return
        shows = request.epoch == 0 or request.is_full or self.assigned[member] != before
        self.response[member] = Response(
            refusal=Refusal.NONE, epoch=self.member_epoch[member], assignment=self.assigned[member] if shows else None
        )

    def apply_heartbeat(self, member, request):
        """Change the coordinator's state as a heartbeat demands."""
        if request.epoch is None:
            self.remove_member(member)
        elif self.refusal_of(member, request) == Refusal.NONE:
            self.reconcile_member(member, request.owned)

    def refusal_of(self, member, request):
        """Return the error of a request. Source: GroupMetadataManager.throwIfConsumerGroupMemberEpochIsInvalid."""
        if member not in self.in_group:
            return Refusal.UNKNOWN
        if request.epoch == 0 and self.accepts_rejoin:
            return Refusal.NONE
        if request.epoch == self.member_epoch[member]:
            return Refusal.NONE
        # The response with the current epoch may have been lost.
        if request.epoch == self.previous_epoch[member] and self.owns_only_assigned(member, request.owned):
            return Refusal.NONE
        return Refusal.FENCED

    def owns_only_assigned(self, member, owned):
        """Return whether the reported partitions are assigned to the member. Source: isSubset."""
        return owned is not None and owned <= self.assigned[member]

    @action
    def time_out_session(self, member: Member):
        """The coordinator fences a member whose heartbeats do not arrive; the consumer learns of it later."""
        require(self.departures_left > 0)
        require(member in self.in_group)
        self.departures_left -= 1
        self.remove_member(member)

    def remove_member(self, member):
        """Remove a member, which changes the group epoch. Source: GroupMetadataManager.consumerGroupFenceMember."""
        if member in self.in_group:
            require(self.group_epoch < self.max_epoch)
            self.update_member(member, MemberState.STABLE, 0, set(), set())
            self.in_group.remove(member)
            self.previous_epoch[member] = 0
            self.restarted_at[member] = 0
            self.group_epoch += 1
            for partition in Partition:
                if self.target[partition] == member:
                    self.target[partition] = None

    # The reconciliation of a member. Source: CurrentAssignmentBuilder.

    def is_reconciled(self, member):
        """Return whether a member has its target assignment. Source: ModernGroupMember.isReconciledTo."""
        return self.member_state[member] == MemberState.STABLE and (
            self.member_epoch[member] == self.group_epoch == self.target_epoch
        )

    def reconcile_member(self, member, owned):
        """Move a member towards the target assignment; `owned` is what it reported, or None."""
        if self.is_reconciled(member):
            return
        if self.reconciliation == "3.7":
            self.reconcile_as_3_7(member, owned)
            return
        if self.member_state[member] != MemberState.UNREVOKED:
            self.compute_next(member, owned, self.member_epoch[member])
        elif not self.owns_some(owned, self.pending_revocation[member]):
            # KAFKA-19974 (4.2): before, the member took the epoch after its own.
            bump = 1 if self.reconciliation == "4.0" else 0
            self.compute_next(member, owned, self.member_epoch[member] + bump)

    def owns_some(self, owned, partitions):
        """Return whether a member may still own some of these partitions. Source: ownsRevokedPartitions."""
        return owned is None or any(partition in owned for partition in partitions)

    def target_of(self, member):
        """Return the partitions that the target assignment gives to a member."""
        return {partition for partition in Partition if self.target[partition] == member}

    def compute_next(self, member, owned, epoch):
        """Revoke first; else take the target epoch and the free partitions. Source: computeNextAssignment."""
        target = self.target_of(member)
        kept = self.assigned[member] & target
        to_revoke = self.assigned[member] - kept
        if len(to_revoke) > 0 and (self.owns_some(owned, to_revoke) or not self.skips_revocation):
            self.update_member(member, MemberState.UNREVOKED, epoch, kept, to_revoke)
        else:
            self.take_target_epoch(member, kept, target - kept)

    def take_target_epoch(self, member, kept, wanted):
        """Give a member the wanted partitions that are free, and the target epoch."""
        free = {partition for partition in wanted if self.is_free_for(member, partition)}
        state = MemberState.STABLE if free == wanted else MemberState.UNRELEASED
        self.update_member(member, state, self.target_epoch, kept | free, set())

    def is_free_for(self, member, partition):
        """Return whether a member may get a partition. KAFKA-19449 (4.2) added the second case."""
        return self.partition_epoch[partition] is None or (
            self.reconciliation == "4.2" and partition in self.pending_revocation[member]
        )

    def reconcile_as_3_7(self, member, owned):
        """Reconcile as Kafka 3.7 does: a new target assignment starts the reconciliation again.

        Partitions that the member has to give up are its own again if the new target assignment says so.
        Source: CurrentAssignmentBuilder.transitionToNewTargetAssignmentState of 3.7.1.
        """
        target = self.target_of(member)
        if self.restarted_at[member] != self.target_epoch:
            self.restarted_at[member] = self.target_epoch
            held = self.assigned[member] | self.pending_revocation[member]
            kept = held & target
            if held != kept:
                epoch = self.member_epoch[member]
                self.update_member(member, MemberState.UNREVOKED, epoch, kept, held - kept)
            else:
                self.take_target_epoch(member, kept, target - kept)
        elif self.member_state[member] != MemberState.UNREVOKED or self.reports_assigned(member, owned):
            self.take_target_epoch(member, self.assigned[member], target - self.assigned[member])

    def reports_assigned(self, member, owned):
        """Return whether a member reported the partitions that it keeps. Source: matchesAssignedPartitions of 3.7."""
        return (
            owned is not None
            and owned <= self.assigned[member]
            and (len(owned) == 0) == (len(self.assigned[member]) == 0)
        )

    # The coordinator's data.

    def update_member(self, member, state, epoch, assigned, pending):
        """Store a member, and the epochs of its partitions. Source: ConsumerGroup.updateMember."""
        if self.bookkeeping == "owned":
            self.set_partition_epochs(self.assigned[member] | self.pending_revocation[member], None)
            self.set_partition_epochs(assigned | pending, epoch)
        else:
            if self.assigned[member] != assigned:
                self.set_partition_epochs(self.assigned[member], None)
                self.set_partition_epochs(assigned, epoch)
            if self.pending_revocation[member] != pending:
                self.set_partition_epochs(self.pending_revocation[member], None)
                self.set_partition_epochs(pending, epoch)
        self.member_state[member] = state
        self.previous_epoch[member] = self.member_epoch[member]
        self.member_epoch[member] = epoch
        self.assigned[member] = assigned
        self.pending_revocation[member] = pending

    def set_partition_epochs(self, partitions, epoch):
        """Set the epoch of partitions; None deletes it. Source: addPartitionEpochs, removePartitionEpochs."""
        for partition in Partition:
            if partition in partitions:
                self.partition_epoch[partition] = epoch

    def is_held_by(self, member, partition):
        """Return whether a member owns a partition, in the coordinator's view."""
        return partition in self.assigned[member] or partition in self.pending_revocation[member]

    # Properties.

    @invariant(says="partition {partition} has {self.owners(partition)} owners")
    def one_owner(self):
        """No two members of the group consider themselves the owner of a partition."""
        return all(self.owners(partition) <= 1 for partition in Partition)

    def owners(self, partition):
        """Return the number of members that consider themselves the owner of a partition."""
        return sum(1 for member in self.in_group if partition in self.owned[member])

    @invariant(says="partition {partition} is assigned to {self.holders(partition)} members")
    def one_holder(self):
        """The coordinator has assigned no partition to two members."""
        return all(self.holders(partition) <= 1 for partition in Partition)

    def holders(self, partition):
        """Return the number of members that own a partition, in the coordinator's view."""
        return sum(1 for member in self.in_group if self.is_held_by(member, partition))

    @invariant(says="the epoch of partition {partition} is {self.partition_epoch[partition]}")
    def partition_epochs_are_current(self):
        """A partition has an epoch if and only if a member owns it, in the coordinator's view."""
        return all(
            (self.partition_epoch[partition] is not None)
            == any(self.is_held_by(member, partition) for member in self.in_group)
            for partition in Partition
        )

    @invariant(says="{member} owns {self.owned[member]}, and the coordinator does not know it")
    def owned_partitions_are_held(self):
        """A partition that a member considers its own is assigned to it, in the coordinator's view."""
        return all(
            all(self.is_held_by(member, partition) for partition in self.owned[member]) for member in self.in_group
        )

    @invariant(says="{member} joins and is refused: {self.response[member]}")
    def joins_are_accepted(self):
        """The coordinator does not refuse a consumer that joins with epoch 0."""
        return all(
            self.epoch[member] != 0 or self.response[member] is None or self.response[member].refusal == Refusal.NONE
            for member in Member
        )

    @step_invariant(says="{member} goes from epoch {old.epoch[member]} to {self.epoch[member]}")
    def epochs_move_forward(self, old):
        """The epoch of a consumer does not go back, unless it leaves or joins again."""
        return all(
            self.epoch[member] is None
            or self.epoch[member] == 0
            or old.epoch[member] is None
            or self.epoch[member] >= old.epoch[member]
            for member in Member
        )

    @reachable
    def everyone_has_the_target(self):
        """All consumers are members, own what the target assignment gives them, and have its epoch."""
        return self.is_stable() and len(self.in_group) == self.members

    @reachable
    def stable_after_every_departure(self):
        """The group is stable after all departures and timeouts."""
        return self.is_stable() and self.departures_left == 0 and self.timeouts_left == 0

    def is_stable(self):
        """Return whether every member has its target assignment, in its view and in the coordinator's."""
        return len(self.in_group) > 0 and all(
            self.is_reconciled(member)
            and self.epoch[member] == self.group_epoch
            and self.owned[member] == self.target_of(member)
            for member in self.in_group
        )

    @reachable
    def a_member_waits_for_a_partition(self):
        """A member has the target epoch and waits for a partition that another one has to give up."""
        return self.members == 1 or any(self.member_state[member] == MemberState.UNRELEASED for member in self.in_group)


SAFE = ["one_owner", "one_holder", "partition_epochs_are_current", "owned_partitions_are_held", "epochs_move_forward"]
REACHED = ["everyone_has_the_target", "stable_after_every_departure", "a_member_waits_for_a_partition"]
LARGER = dict(partitions=2, max_epoch=4, timeouts=1)

scenarios = [
    Scenario(ConsumerProtocol, "two_members", dict(partitions=2), description="KIP-848: two members, two partitions."),
    Scenario(ConsumerProtocol, "three_members", dict(members=3, max_epoch=4, departures=0, reports_unapplied=True),
        description="KIP-848: three members and one partition that moves between them, with the remedy of C10."),
    Bug("c8_partition_epoch_lost", ConsumerProtocol,
        violates={"partition_epochs_are_current": 14, "one_holder": 19, "one_owner": 22},
        size=dict(partitions=2, max_epoch=4, reconciliation="3.7"), faulty=dict(bookkeeping="compared"),
        fixed=dict(bookkeeping="owned"), larger=dict(partitions=2, max_epoch=5, departures=2, reconciliation="3.7"),
        promises=[*SAFE, *REACHED],
        description="C8, KAFKA-16147: a partition that a member gives up is its own again, and its epoch is lost.",
        remedy="C8 fixed in 3.8: the epochs of all partitions of a member are deleted, then all are set."),
    Bug("c9_join_refused", ConsumerProtocol, violates={"joins_are_accepted": 13}, size=dict(timeouts=2, max_epoch=4),
        faulty=dict(accepts_rejoin=False), fixed=dict(accepts_rejoin=True),
        promises=["joins_are_accepted", "one_holder", "partition_epochs_are_current", *REACHED],
        description="C9, KAFKA-19233: two responses are lost; the member is fenced whenever it joins with epoch 0.",
        remedy="C9 fixed in 4.2: epoch 0 is accepted from a member of the group."),
    Bug("c10_report_before_reconciliation", ConsumerProtocol,
        violates={"owned_partitions_are_held": 13, "one_owner": 18}, size=dict(timeouts=1),
        faulty=dict(reports_unapplied=False), fixed=dict(reports_unapplied=True), larger=LARGER,
        promises=[*SAFE, "joins_are_accepted", *REACHED],
        description="C10: a heartbeat leaves out an assigned partition, which the member adds before the response.",
        remedy="C10 with reports of all partitions that the member owns or may add before the response."),
    violates(ConsumerProtocol, "c10_without_a_timeout", dict(partitions=2, max_epoch=4),
        {"owned_partitions_are_held": 21, "one_owner": 26},
        "C10 without a lost heartbeat: the report acknowledges an earlier assignment."),
    violates(ConsumerProtocol, "c10_while_consumers_join", dict(members=3, max_epoch=4, departures=0),
        {"owned_partitions_are_held": 25, "one_owner": 30},
        "C10 without a lost heartbeat or a departure, while three consumers join."),
    Scenario(ConsumerProtocol, "c10_waits_for_the_next_report", dict(partitions=2, max_epoch=4, skips_revocation=False),
        description="C10 without a lost heartbeat: no gap if the coordinator waits for the report after its demand."),
    violates(ConsumerProtocol, "c10_waits_but_a_response_is_lost",
        dict(timeouts=1, partitions=2, max_epoch=4, skips_revocation=False),
        {"owned_partitions_are_held": 14, "one_owner": 19},
        "C10 with a coordinator that waits, and whose demand is lost."),
    violates(ConsumerProtocol, "c11_late_heartbeat", dict(timeouts=1, late_requests=True, reports_unapplied=True),
        {"owned_partitions_are_held": 12, "one_owner": 17},
        "C11: the coordinator handles a heartbeat of a closed connection after a later heartbeat."),
]  # fmt: skip
