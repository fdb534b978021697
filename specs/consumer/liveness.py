"""Liveness of consumer groups: a group converges when its members stop joining and leaving.

docs/consumer.md, section "Liveness", describes the scenarios.
"""

from checker.language import Bug, Event, Fairness, Scenario, action, always_eventually, require
from specs.consumer.consumer_protocol import ConsumerProtocol
from specs.consumer.cooperative import CooperativeGroup
from specs.consumer.group import ConsumerGroup, Member, Phase
from specs.scenario_forms import without_each


class GroupLiveness(ConsumerGroup):
    """The classic group with the property that its rebalances end.

    The number of generations is bounded. Behaviours that use up all of them count as converged.

    Source: GroupMetadataManager and ConsumerCoordinator of Apache Kafka.
    """

    @always_eventually(says="the group does not converge: generation {self.generation}, phases {self.phase}")
    def group_converges(self):
        """All members have their assignment again and again, and one member owns the partition."""
        return self.generation == self.max_generation or (
            not self.preparing
            and all(self.phase[member] == Phase.STABLE for member in self.in_group)
            and (len(self.in_group) == 0 or any(self.owns(member) for member in self.owners))
        )


class CooperativeLiveness(GroupLiveness, CooperativeGroup):
    """The same for a group with cooperative rebalances."""


class RefusedClaims(CooperativeLiveness):
    """A cooperative group whose assignor throws an exception if two claims of the latest generation conflict.

    The partition stands for several: with five partitions and three members, two of which claim the same two
    partitions, the assignor finds "Some partitions are unassigned but all consumers are at maximum capacity". The poll
    of the group's leader throws the exception, and the group has a generation without an assignment. Such a generation
    is not counted if it changes only the numbers of the claims, and not their order.

    Source: AbstractStickyAssignor.constrainedAssign of Apache Kafka 2.8.0, ConsumerCoordinator.performAssignment.
    """

    draws = CooperativeLiveness.draws.with_events(
        Event("complete_rebalance", "{'The assignor throws an exception, because several members claim the partition' "
            "if len(latest_claimants()) > 1 else 'Generation ' + str(generation + 1) + ' begins, and the assignor "
            "chooses ' + str(owner)}", "{'exception' if len(latest_claimants()) > 1 else ''}", "'coordinator'",
            "new epoch"),
        Event("poll_again", "{member} polls again, and another rebalance begins", "polls again", "member"))  # fmt: skip

    refused = bool

    @action
    def complete_rebalance(self, owner: Member):
        """All members have joined: the leader's assignor assigns the partition, or throws an exception."""
        keepers = self.latest_claimants()
        keeps_order = all((self.generation_of[m] == self.generation) == (m in self.in_group) for m in Member)
        super().complete_rebalance(owner)
        if len(keepers) > 1:
            self.owners = set()
            self.refused = True
            if keeps_order:
                self.generation -= 1
                for member in self.in_group:
                    self.generation_of[member] = self.generation

    def latest_claimants(self):
        """Return the members of which the assignor would accept the claims."""
        claims = {member for member in self.in_group if self.owns(member)}
        return {member for member in claims if self.keeps(member, claims)}

    @action
    def sync(self, member: Member):
        """A consumer receives its assignment; after an exception of the assignor there is none."""
        require(not self.refused)
        super().sync(member)

    @action
    def poll_again(self, member: Member):
        """The application polls again after the exception, and the leader joins: another rebalance begins."""
        require(self.refused and member in self.in_group)
        self.refused = False
        self.preparing = True
        self.phase[member] = Phase.JOINING


class ProtocolLiveness(ConsumerProtocol):
    """The consumer protocol (KIP-848) with the property that every group converges.

    The number of group epochs is bounded. Behaviours that use up all of them count as converged.

    Source: GroupMetadataManager and CurrentAssignmentBuilder of Apache Kafka.
    """

    @always_eventually(says="the group does not converge: its epoch is {self.group_epoch}, the members' {self.epoch}")
    def group_converges(self):
        """Every member owns its target assignment again and again, in its view and in the coordinator's."""
        return self.group_epoch == self.max_epoch or len(self.in_group) == 0 or self.is_stable()


CLASSIC = dict(process="weak", join="weak", complete_rebalance=Fairness("weak", for_each=()), sync="weak")
"""Consumers process, poll and join; the coordinator completes a rebalance, with an assignment of its choice."""

PROTOCOL = dict(heartbeat="weak", receive="weak", reconcile="weak", handle="weak",
    handle_and_assign=Fairness("weak", for_each="member"))  # fmt: skip
"""Consumers send heartbeats, read responses and reconcile; the coordinator handles every heartbeat."""

CONVERGES = "group_converges"
SMALL = dict(records=1, max_poll_records=1, max_generation=3)


def converges(spec, name, constants, fair, description):
    """Return the scenario in which the group converges."""
    return Scenario(spec, name, constants, fair=fair, properties=[CONVERGES], description=description)


scenarios = [
    converges(GroupLiveness, "fair_members", SMALL, CLASSIC,
        "Four weakly fair actions: rebalances end, in spite of an eviction."),
    *without_each(GroupLiveness, SMALL, CLASSIC, [CONVERGES], {
        "process": (3, "A member never ends processing, so it does not rejoin."),
        "join": (2, "A member polls no more, and is not evicted."),
        "complete_rebalance": (3, "The coordinator waits although all have joined."),
        "sync": (4, "A member does not take its assignment."),
    }),
    converges(CooperativeLiveness, "fair_members", dict(SMALL, max_generation=4), CLASSIC,
        "Cooperative rebalances end: a partition that is withheld in one generation has an owner in a later one."),
    converges(CooperativeLiveness, "c5_stale_claims",
        dict(SMALL, max_generation=4, session_timeouts=1, joins_without_losing=True), CLASSIC,
        "C5: stale claims do not keep a group from converging if only a single claim of the latest generation counts."),
    converges(ProtocolLiveness, "fair_members", dict(max_epoch=4), PROTOCOL,
        "KIP-848: with five weakly fair actions the group converges, in spite of a departure."),
    Bug("c9_join_refused", ProtocolLiveness, {CONVERGES: 14}, size=dict(timeouts=2, max_epoch=4),
        faulty=dict(accepts_rejoin=False), fair=PROTOCOL, promises=[CONVERGES], fixed_name="c9_fixed",
        description="C9, KAFKA-19233: two responses are lost; the member joins and is fenced for ever.",
        remedy="C9 fixed in 4.2: epoch 0 is accepted from a member of the group."),
    Bug("c5_claims_refused", RefusedClaims, {CONVERGES: 14},
        size=dict(SMALL, members=3, max_generation=4, joins_without_losing=True), faulty=dict(believes="latest"),
        fair=dict(CLASSIC, poll_again=Fairness("weak", for_each=())), promises=[CONVERGES],
        fixed_name="c5_claims_resolved",
        description="C5 (KAFKA-12984): two members claim a partition in the same generation; each assignment fails.",
        remedy="C5 fixed in 3.0.0: conflicting claims do not count, and the group converges."),
]  # fmt: skip
