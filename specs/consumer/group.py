"""A consumer group (classic group protocol): generations, eager rebalances, evictions, zombies, offset commits.

Scenarios: entries C2 and C3 of docs/consumer.md. `specs.consumer.cooperative` has the cooperative protocol.
Sources: ClassicGroup (validateOffsetCommit), GroupMetadataManager, ConsumerCoordinator (onJoinPrepare, onJoinComplete,
OffsetCommitResponseHandler), AbstractCoordinator of Apache Kafka.
"""

import enum

from checker.language import Bug, Constant, Domain, Map, Option, Range, Seq, SetOf, Spec, Struct
from checker.language.drawing import Arrow, Drawing, Event, Lane, Log
from checker.language.roles import action, invariant, reachable, require, step_invariant
from specs.consumer.commits import PollLoop
from specs.consumer.consumer import Consumer, Count, Offset, RecordId


class Member(Domain):
    """A consumer, in or out of the group."""

    size, prefix = "members", "c"


class Generation(Range):
    """A generation of the group; each rebalance increments it."""

    low, high = 0, "max_generation"


class Effect(Struct):
    """A processed record, and the generation of the consumer that processed it."""

    record: RecordId
    generation: Generation
    shows = "{record}@{generation}"


class Phase(enum.Enum):
    """The phase of membership, in a consumer's own view."""

    OUT = "out"  # knows that it is not in the group
    JOINING = "joining"  # has sent JoinGroup
    SYNCING = "syncing"  # knows the generation, has not received its assignment
    STABLE = "stable"


JOINS = "{member} joins the group{' again' if member in in_group else ''}"


class ConsumerGroup(Spec):
    """One partition, a coordinator and several consumers; each consumer polls, processes and commits in one thread.

    The classic group protocol with eager rebalances: a consumer gives the partition up before it rejoins. A rebalance
    ends when every member has joined or was evicted. The coordinator evicts a member when its session times out; after
    max.poll.interval.ms its heartbeat thread leaves the group. The thread that polls learns of it in a later poll or
    from a refused commit. Until then it processes the records that it holds.

    Kafka's COMPLETING_REBALANCE (the leader computes the assignment) takes no time here.
    """

    records = Constant(2, at_least=1)
    members = Constant(2, at_least=1)
    max_generation = Constant(1, at_least=0)
    max_poll_records = Constant(2, at_least=1)
    evictions = Constant(1, at_least=0)  # max.poll.interval.ms has passed
    session_timeouts = Constant(0, at_least=0)
    commit = Constant("after", one_of=("before", "after"))  # processing
    commits_when_revoked = Constant(True)  # auto-commit, or commitSync in onPartitionsRevoked
    fences_commits = Constant(True)

    # State of the coordinator.
    generation = Generation
    in_group = SetOf(Member)
    preparing = bool  # a rebalance is in progress
    owners = SetOf(Member)  # members that are assigned the partition in this generation
    committed = Offset
    evictions_left = Range(0, "evictions")
    session_timeouts_left = Range(0, "session_timeouts")

    # State of the consumers.
    phase = Map(Member, Phase)
    generation_of = Map(Member, Generation)
    position = Map(Member, Option(Offset))  # None: the consumer does not own the partition
    in_hand = Map(Member, Seq(RecordId, "max_poll_records"))

    effects = Seq(Effect, "records * (max_generation + 1)")

    draws = Drawing(
        Lane("coordinator", members={"in_group": "members", "owners": "assigned to"},
            facts={"generation": "generation", "preparing": "rebalance in progress", "committed": "committed"}),
        Lane("consumer", each=Member, crowned={"owns": "believes that it owns the partition"},
            boxes={"in_hand": "in hand"},
            facts={"phase": "phase", "generation_of": "generation", "position": "position"}),
        Lane("effects", logs=(Log("effects", end="", colour="generation", at=()),)),
        arrows=(
            Arrow("process", "member", "'effects'", "record {in_hand[member][0]}"),
            Arrow("commit_position", "member", "'coordinator'", "commit {position[member]}"),
            Arrow("join", "member", "'coordinator'", "JoinGroup"),
            Arrow("sync", "'coordinator'", "member", "assignment"),
        ),
    ).with_events(
        Event("join", JOINS + "{', after a commit of offset ' + str(position[member]) if owns(member) and "
            "commits_when_revoked and accepts_commit_of(member) else ''}", "", "member"),
        Event("poll", "{member} polls {count} record{'s'[:count - 1]} from offset {position[member]} on", "", "member"),
        Event("process", "{member} processes record {in_hand[member][0]}", "", "member", leaves_out=("effects",)),
        Event("complete_rebalance", "Generation {generation + 1} begins, and the assignor chooses {owner}",
            "generation {generation + 1}", "'coordinator'", "new epoch"),
        Event("sync", "{member} gets its assignment{', and begins at the committed offset ' + str(committed) if member "
            "in owners and position[member] is None else ''}", "", "member"),
        Event("evict", "max.poll.interval.ms passes, and the heartbeat thread of {member} leaves the group",
            "{member} leaves", "'coordinator'", "timeout"),
        Event("time_out", "The coordinator removes {member} from the group: its session has timed out",
            "session of {member} expires", "'coordinator'", "timeout"),
        Event("commit_position", "{member} commits offset {position[member]}{', which is refused' if not "
            "accepts_commit_of(member) else ''}", "", "member", "{'refusal' if not accepts_commit_of(member) else ''}"),
        Event("learn_of_eviction", "{member} learns that it is out, drops the partition", "out", "member", "refusal"),
    )  # fmt: skip

    def init(self):
        """The first consumer owns the partition; the others have not joined."""
        self.in_group = {Member[0]}
        self.owners = {Member[0]}
        self.phase[Member[0]] = Phase.STABLE
        self.position[Member[0]] = 0
        self.evictions_left = self.evictions
        self.session_timeouts_left = self.session_timeouts

    def owns(self, member):
        """Return whether a consumer considers itself the owner of the partition."""
        return self.position[member] is not None

    # A consumer and its records.

    record_at = Consumer.record_at

    @action
    def poll(self, member: Member, count: Count):
        """Poll returns the next records; with `commit` "before" the consumer commits at once."""
        require(self.owns(member))
        require(len(self.in_hand[member]) == 0)
        require(self.position[member] + count <= self.records)
        first = self.position[member]
        self.in_hand[member] = [self.record_at(offset) for offset in range(first, first + count)]
        self.position[member] = first + count
        if self.commit == "before":
            self.commit_or_lose(member)

    @action
    def process(self, member: Member):
        """A consumer processes the next record, without a check that it still owns the partition."""
        require(len(self.in_hand[member]) > 0)
        record = self.in_hand[member].pop(0)
        self.take_effect(member, record)

    def take_effect(self, member, record):
        """Record the effect of a record."""
        self.effects.append(Effect(record=record, generation=self.generation_of[member]))

    @action
    def commit_position(self, member: Member):
        """A consumer that has processed all returned records commits its position."""
        require(self.commit == "after")
        require(self.owns(member) and self.phase[member] != Phase.SYNCING)
        require(len(self.in_hand[member]) == 0 and self.committed != self.position[member])
        self.commit_or_lose(member)

    def commit_or_lose(self, member):
        """Commit, or leave the group if the commit is refused. Source: OffsetCommitResponseHandler."""
        if self.accepts_commit_of(member):
            self.committed = self.position[member]
        else:
            self.lose(member)

    # The coordinator.

    @action
    def evict(self, member: Member):
        """A consumer is slow with the records that it holds, and max.poll.interval.ms has passed."""
        require(self.evictions_left > 0)
        require(len(self.in_hand[member]) > 0)
        self.evictions_left -= 1
        self.remove(member)

    @action
    def time_out(self, member: Member):
        """A consumer's session times out: it hangs, or its heartbeats are lost. It may still poll once."""
        require(self.session_timeouts_left > 0)
        self.session_timeouts_left -= 1
        self.remove(member)

    def remove(self, member):
        """Remove a member from the group, without its knowledge."""
        require(member in self.in_group and self.phase[member] == Phase.STABLE)
        self.in_group.discard(member)
        self.owners.discard(member)
        self.preparing = len(self.in_group) > 0

    @action
    def complete_rebalance(self, owner: Member):
        """All members have joined: a new generation begins, and the assignor chooses the partition's owner."""
        require(self.preparing and self.generation < self.max_generation)
        require(owner in self.in_group)
        require(all(self.phase[member] == Phase.JOINING for member in self.in_group))
        self.generation += 1
        self.preparing = False
        self.assign(owner)
        for member in self.in_group:
            self.phase[member] = Phase.SYNCING
            self.generation_of[member] = self.generation  # in the JoinGroup response

    def assign(self, owner):
        """Assign the partition to the member that the assignor chose."""
        self.owners = {owner}

    def accepts_commit_of(self, member):
        """Return whether the coordinator accepts an offset commit. Source: ClassicGroup.validateOffsetCommit.

        The errors are UNKNOWN_MEMBER_ID and ILLEGAL_GENERATION. PREPARING_REBALANCE does not refuse a commit.
        """
        is_member = member in self.in_group and self.generation_of[member] == self.generation
        return is_member or not self.fences_commits

    # A consumer and its group.

    @action
    def join(self, member: Member):
        """A consumer joins, or learns in poll of a rebalance and rejoins. Source: onJoinPrepare."""
        require(self.may_join(member))
        require(len(self.in_hand[member]) == 0)
        self.prepare_to_join(member)
        self.in_group.add(member)
        self.phase[member] = Phase.JOINING
        self.preparing = True

    def may_join(self, member):
        """Return whether a consumer may join: a newcomer at any time, a member during a rebalance."""
        if self.phase[member] == Phase.OUT:
            return True
        return member in self.in_group and self.preparing and self.phase[member] != Phase.JOINING

    def prepare_to_join(self, member):
        """Give the partition up, with a commit before."""
        if self.owns(member):
            self.revoke(member)

    def revoke(self, member):
        """Give the partition up (onPartitionsRevoked); its next owner starts at the committed offset."""
        if self.commits_when_revoked and self.accepts_commit_of(member):
            self.committed = self.position[member]
        self.position[member] = None

    @action
    def sync(self, member: Member):
        """A consumer receives its assignment; a new owner starts at the committed offset."""
        require(self.phase[member] == Phase.SYNCING and member in self.in_group)
        self.phase[member] = Phase.STABLE
        self.take_assignment(member)

    def take_assignment(self, member):
        """Start at the committed offset if the partition is assigned to this member. Source: onJoinComplete."""
        if member in self.owners:
            self.position[member] = self.committed

    @action
    def learn_of_eviction(self, member: Member):
        """An evicted consumer learns of it in poll (UNKNOWN_MEMBER_ID, onPartitionsLost) and commits nothing."""
        require(self.phase[member] == Phase.STABLE and member not in self.in_group)
        require(len(self.in_hand[member]) == 0)
        self.lose(member)

    def lose(self, member):
        """Leave the group and drop the partition and all held records."""
        self.phase[member] = Phase.OUT
        self.position[member] = None
        self.in_hand[member].clear()

    # Properties.

    @invariant(says="record@generation {self.effects[i]} is processed after {self.effects[i - 1]}: {self.effects}")
    def no_zombie_effect(self):
        """Once a generation has processed a record, no earlier generation processes one."""
        return all(self.effects[i - 1].generation <= self.effects[i].generation for i in range(1, len(self.effects)))

    @invariant(says="record {effect.record} is processed {self.times(effect.record)} times: {self.effects}")
    def no_duplicate(self):
        """No record is processed twice."""
        return all(self.times(effect.record) <= 1 for effect in self.effects)

    def times(self, record):
        """Return the number of times that a record was processed."""
        return sum(1 for effect in self.effects if effect.record == record)

    @invariant(says="record {record}, position of {member} {self.position[member]}")
    def no_gap(self):
        """Every record below the position of a member is processed, or held by some consumer."""
        return all(
            self.position[member] is None or record >= self.position[member] or self.is_processed_or_held(record)
            for member in self.in_group
            for record in RecordId
        )

    def is_processed_or_held(self, record):
        """Return whether a record is processed, or held by some consumer."""
        return self.times(record) > 0 or any(record in self.in_hand[member] for member in Member)

    @invariant(says="record@generation {self.effects[i]} is processed after {self.effects[i - 1]}: {self.effects}")
    def no_reorder(self):
        """A record that is processed for the first time is later in the log than all records processed before."""
        return all(
            any(self.effects[j].record == self.effects[i].record for j in range(i))
            or all(self.effects[j].record < self.effects[i].record for j in range(i))
            for i in range(len(self.effects))
        )

    @invariant(says="record@generation {self.effects[i]} is processed after {self.effects[i - 1]}: {self.effects}")
    def no_late_copy(self):
        """No record, new or repeated, is processed after a later record."""
        return all(self.effects[i - 1].record <= self.effects[i].record for i in range(1, len(self.effects)))

    @invariant(says="members {self.in_group}, positions {self.position}")
    def one_owner(self):
        """At most one member considers itself the owner of the partition."""
        return sum(1 for member in self.in_group if self.owns(member)) <= 1

    @invariant(says="generation {self.generation} assigns the partition to {self.owners}")
    def one_owner_a_generation(self):
        """No generation assigns the partition to two members."""
        return len(self.owners) <= 1

    @step_invariant(says="committed {old.committed}, then {self.committed}")
    def commits_move_forward(self, old):
        """The committed offset never goes back."""
        return self.committed >= old.committed

    @step_invariant(
        says="committed {old.committed}, then {self.committed}; members {old.in_group}, {old.generation_of}"
    )
    def only_members_commit(self, old):
        """A committed offset is the position of a member of the current generation."""
        return self.committed == old.committed or any(
            old.generation_of[member] == old.generation
            and self.committed in (old.position[member], self.position[member])
            for member in old.in_group
        )

    @reachable
    def every_consumer_is_a_member(self):
        """After a rebalance all consumers are members and have their assignment."""
        return all(member in self.in_group and self.phase[member] == Phase.STABLE for member in Member)

    everything_is_committed = PollLoop.everything_is_committed

    @reachable
    def every_record_is_processed(self):
        """All records are processed, at least one of them by the last generation."""
        return all(self.times(record) > 0 for record in RecordId) and any(
            effect.generation == self.max_generation for effect in self.effects
        )

    @reachable
    def a_zombie_is_at_work(self):
        """If members can be evicted: an evicted one holds a record while another owns the partition."""
        return self.evictions + self.session_timeouts == 0 or any(
            member not in self.in_group and len(self.in_hand[member]) > 0 and len(self.owners) > 0 for member in Member
        )


LARGER = dict(members=3, max_generation=2)
REACHED = ["every_record_is_processed", "a_zombie_is_at_work", "every_consumer_is_a_member", "everything_is_committed"]
ALWAYS = ["one_owner", "one_owner_a_generation", "commits_move_forward", "only_members_commit", "no_gap"]
"""Guarantees of eager groups with fenced commits, even under evictions."""

scenarios = [
    Bug("c2_revoked_without_commit", ConsumerGroup, violates={"no_duplicate": 9}, size=dict(evictions=0),
        faulty=dict(commits_when_revoked=False), larger=dict(LARGER, evictions=0, records=3),
        fixed_name="c2_fixed_commit_when_revoked",
        description="C2 without any failure: a rebalance takes the partition from a consumer that has not committed.",
        remedy="C2: a consumer that commits before it gives the partition up loses and repeats no record."),
    Bug("c3_unfenced_commit", ConsumerGroup, violates={"commits_move_forward": 9}, size=dict(session_timeouts=1),
        faulty=dict(session_timeouts=0, fences_commits=False), larger=LARGER, promises=[*ALWAYS, *REACHED],
        fixed_name="c3_fenced_commits",
        description="C3 without the generation check: a zombie and its successor both commit; the offset goes back.",
        remedy="C3: the benefit of fenced commits: no gap, and the committed offset never goes back."),
]  # fmt: skip
