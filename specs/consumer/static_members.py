"""Static members of the consumer protocol (KIP-848): a restarted process gets its partitions back without a rebalance.

Sources: GroupMetadataManager (getOrMaybeSubscribeStaticConsumerGroupMember, consumerGroupStaticMemberGroupLeave,
throwIfInstanceIdIsUnreleased, throwIfInstanceIdIsFenced, replaceMember) of 4.3.1.
"""

from checker.language import Bug, Constant, Event, Range, Scenario, SetOf
from checker.language.roles import action, invariant, reachable, require, step_invariant
from specs.consumer.consumer_protocol import (
    NEW_TARGET,
    SAFE,
    ConsumerProtocol,
    Heartbeat,
    MemberState,
    Partition,
    Refusal,
)
from specs.consumer.group import Member


class StaticMembers(ConsumerProtocol):
    """`ConsumerProtocol` in which the first two consumers are processes with the same group.instance.id.

    A process that closes sends the epoch -2: the coordinator keeps its partitions for the next process of the instance
    until the session times out. The next process has another member id, replaces the member, and takes its assignment
    over. `releases_first`: the coordinator refuses the next process while the previous one has not sent -2
    (UNRELEASED_INSTANCE_ID). In the classic protocol the next process replaces a living one.
    """

    draws = ConsumerProtocol.draws.with_events(
        Event("close", "{member} closes: it drops its partitions and sends epoch -2", "closes", "member", "shutdown"),
    )  # fmt: skip

    members = Constant(2, at_least=2)
    closes = Constant(1, at_least=0)  # processes of the instance that close
    releases_first = Constant(True)

    away = SetOf(Member)  # members with the epoch -2
    ended = SetOf(Member)  # processes that closed, or ended with a fatal error
    closes_left = Range(0, "closes")

    def init(self):
        """No consumer has joined; `closes` processes may close."""
        super().init()
        self.closes_left = self.closes

    def is_static(self, member):
        """Return whether a consumer has the instance id."""
        return member == Member[0] or member == Member[1]

    def other(self, member):
        """Return the other process of the instance."""
        return Member[1] if member == Member[0] else Member[0]

    # The processes.

    @action
    def join(self, member: Member):
        """A process starts; one that ended does not start again."""
        require(member not in self.ended)
        super().join(member)

    @action
    def leave(self, member: Member):
        """A dynamic member leaves permanently."""
        require(not self.is_static(member))
        super().leave(member)

    @action
    def close(self, member: Member):
        """A process of the instance closes: it drops its partitions, then sends the epoch -2."""
        require(self.is_static(member) and self.closes_left > 0)
        require(self.epoch[member] is not None and self.epoch[member] != 0)
        require(self.request[member] is None and self.response[member] is None)
        self.closes_left -= 1
        self.end(member)
        self.request[member] = Heartbeat(epoch=None, owned=None, is_full=False)

    def end(self, member):
        """End a process."""
        self.epoch[member] = None
        self.drop_all(member)
        self.ended.add(member)

    @action
    def receive(self, member: Member):
        """A process that is refused because of its instance id ends. Source: handleSpecificExceptionInResponse."""
        if self.response[member] is not None and self.response[member].refusal == Refusal.INSTANCE:
            self.response[member] = None
            self.end(member)
            return
        super().receive(member)

    # The coordinator.

    @action
    def handle(self, member: Member):
        """The coordinator handles a heartbeat; the first one of a process may replace the previous process."""
        self.replace_other(member)
        super().handle(member)

    @action
    def handle_and_assign(self, member: Member, assignment: NEW_TARGET):
        """The coordinator handles a heartbeat and computes a target assignment."""
        self.replace_other(member)
        super().handle_and_assign(member, assignment)

    def replace_other(self, member):
        """Replace the previous process if this one joins. Source: replaceMember."""
        if self.request[member] is None or not self.is_static(member) or member in self.in_group:
            return
        other = self.other(member)
        if self.request[member].epoch == 0 and other in self.in_group and self.may_replace(other):
            self.in_group.remove(other)
            self.away.discard(other)
            self.in_group.add(member)
            state = self.member_state[other]
            assigned = self.assigned[other]
            self.update_member(other, MemberState.STABLE, 0, set(), set())
            self.update_member(member, state, 0, assigned, set())
            for partition in Partition:
                if self.target[partition] == other:
                    self.target[partition] = member

    def may_replace(self, member):
        """Return whether another process may replace this one. Source: throwIfInstanceIdIsUnreleased."""
        return member in self.away or not self.releases_first

    def has_other(self, member):
        """Return whether another process of the instance is a member."""
        return self.is_static(member) and self.other(member) in self.in_group

    def needs_target(self, member, request):
        """Return whether a heartbeat makes the coordinator compute a target assignment; a refused one does not."""
        return not self.has_other(member) and super().needs_target(member, request)

    def refusal_of(self, member, request):
        """Return the error of a request: UNRELEASED_INSTANCE_ID and FENCED_INSTANCE_ID are one here."""
        return Refusal.INSTANCE if self.has_other(member) else super().refusal_of(member, request)

    def remove_member(self, member):
        """Remove a member, or keep a process of the instance that sent -2. Source: consumerGroupLeave."""
        if self.is_static(member) and self.request[member] is not None and self.request[member].epoch is None:
            if member in self.in_group:
                self.away.add(member)
                self.update_member(member, self.member_state[member], 0, self.assigned[member], set())
        else:
            self.away.discard(member)
            super().remove_member(member)

    # Properties.

    joins_are_accepted = None  # UNRELEASED_INSTANCE_ID
    everyone_has_the_target = None  # the two processes are not members at the same time

    @invariant
    def one_process_is_a_member(self):
        """At most one process of the instance is a member."""
        return not (Member[0] in self.in_group and Member[1] in self.in_group)

    @invariant(says="{self.owned[Member[0]]} and {self.owned[Member[1]]}")
    def processes_share_nothing(self):
        """No two processes of the instance own a partition."""
        return len(self.owned[Member[0]] & self.owned[Member[1]]) == 0

    @step_invariant(says="the group epoch goes from {old.group_epoch} to {self.group_epoch}")
    def restarts_change_no_epoch(self, old):
        """A process that replaces another does not change the group epoch."""
        return (
            not (Member[0] in old.in_group and Member[1] in self.in_group)
            and not (Member[1] in old.in_group and Member[0] in self.in_group)
        ) or self.group_epoch == old.group_epoch

    @reachable
    def a_restarted_process_has_its_partitions(self):
        """The second process owns a partition while the group epoch is that of the first join."""
        return self.group_epoch == 1 and len(self.owned[Member[1]]) > 0


PROMISES = [*SAFE, "one_process_is_a_member", "restarts_change_no_epoch", "a_restarted_process_has_its_partitions",
    "stable_after_every_departure"]  # fmt: skip

scenarios = [
    Bug("replaced_without_release", StaticMembers, violates={"processes_share_nothing": 11},
        size=dict(departures=0, reports_unapplied=True), faulty=dict(releases_first=False),
        fixed=dict(releases_first=True), larger=dict(members=3, departures=0, reports_unapplied=True),
        promises=[*PROMISES, "processes_share_nothing"],
        description="Static members: why the next process is refused while the previous one has not sent -2.",
        remedy="Static members: a process restarts and gets its partitions back, and the group epoch does not change."),
    Scenario(StaticMembers, "session_timeout", dict(members=3, reports_unapplied=True), properties=PROMISES,
        description="Static members: the session of a process times out, while it is closed or alive."),
]  # fmt: skip
