"""A consumer group: generations, rebalances, sessions that time out, zombies, and who may commit.

Scenarios: entry C3 of docs/consumer.md. `specs.consumer.cooperative` has the cooperative protocol.
Sources: ClassicGroup (validateOffsetCommit), GroupMetadataManager, ConsumerCoordinator (onJoinPrepare, onJoinComplete,
OffsetCommitResponseHandler), AbstractCoordinator of Apache Kafka.
"""

import enum

from checker.language import (
    Arrow,
    Constant,
    Domain,
    Drawing,
    Lane,
    Log,
    Map,
    Option,
    Range,
    Scenario,
    Seq,
    SetOf,
    Spec,
    Struct,
    action,
    invariant,
    reachable,
    require,
    step_invariant,
)


class Member(Domain):
    """A consumer, whether or not the coordinator takes it for a member."""

    size, prefix = "members", "c"


class Generation(Range):
    """Generations of the group: one more with each rebalance."""

    low, high = 0, "max_generation"


class Offset(Range):
    """An offset, or the end of the log; the record at an offset has its number."""

    low, high = 0, "records"


class RecordId(Range):
    """Records are numbered in the order of the log."""

    low, high = 0, "records - 1"


class Count(Range):
    """How many records a poll returns."""

    low, high = 1, "max_poll_records"


class Effect(Struct):
    """A record that was processed, and the generation of who did."""

    record: RecordId
    generation: Generation
    shows = "{record}@{generation}"


class Phase(enum.Enum):
    """Where a consumer takes itself to be."""

    OUT = "out"  # not in the group, and knows it
    JOINING = "joining"  # has sent JoinGroup
    SYNCING = "syncing"  # has the generation, not yet its assignment
    STABLE = "stable"


class ConsumerGroup(Spec):
    """One partition, a coordinator and several consumers, each of which polls, processes and commits in one thread.

    The eager protocol: whoever rejoins gives the partition up first. A rebalance ends when every member has joined, or
    was evicted: its session timed out, or max.poll.interval.ms went by. Nobody tells a consumer that it was evicted;
    it finds out in a later poll, or when a commit is refused. What it had in its hands it processes meanwhile.

    Kafka's COMPLETING_REBALANCE (the leader computes the assignment) takes no time here.
    """

    records = Constant(2, at_least=1)
    members = Constant(2, at_least=1)
    max_generation = Constant(1, at_least=0)
    max_poll_records = Constant(2, at_least=1)
    evictions = Constant(1, at_least=0)  # max.poll.interval.ms is over
    session_timeouts = Constant(0, at_least=0)
    commit = Constant("after", one_of=("before", "after"))  # processing
    commits_when_revoked = Constant(True)  # auto-commit, or commitSync in onPartitionsRevoked
    fences_commits = Constant(True)

    # The coordinator's.
    generation = Generation
    in_group = SetOf(Member)
    preparing = bool  # a rebalance is on its way
    owners = SetOf(Member)  # who is assigned the partition in this generation
    committed = Offset
    evictions_left = Range(0, "evictions")
    session_timeouts_left = Range(0, "session_timeouts")

    # The consumers'.
    phase = Map(Member, Phase)
    generation_of = Map(Member, Generation)
    position = Map(Member, Option(Offset))  # None: the partition is not its own
    in_hand = Map(Member, Seq(RecordId, "max_poll_records"))

    effects = Seq(Effect, "records * (max_generation + 1)")

    draws = Drawing(
        Lane(
            "coordinator",
            members={"in_group": "members", "owners": "assigned to"},
            facts={"generation": "generation", "preparing": "rebalance in progress", "committed": "committed"},
        ),
        Lane(
            "consumer",
            each=Member,
            crowned={"owns": "takes the partition for its own"},
            boxes={"in_hand": "in hand"},
            facts={"phase": "phase", "generation_of": "generation", "position": "position"},
        ),
        Lane("effects", logs=(Log("effects", end="", colour="generation", at=()),)),
        arrows=(
            Arrow("process", "member", "'effects'", "record {in_hand[member][0]}"),
            Arrow("commit_position", "member", "'coordinator'", "commit {position[member]}"),
            Arrow("join", "member", "'coordinator'", "JoinGroup"),
            Arrow("sync", "'coordinator'", "member", "assignment"),
        ),
    )

    def init(self):
        """The first consumer has the partition, the others are yet to come."""
        self.in_group = {Member[0]}
        self.owners = {Member[0]}
        self.phase[Member[0]] = Phase.STABLE
        self.position[Member[0]] = 0
        self.evictions_left = self.evictions
        self.session_timeouts_left = self.session_timeouts

    def owns(self, member):
        """Whether a consumer takes the partition for its own."""
        return self.position[member] is not None

    # A consumer and its records.

    def record_at(self, offset):
        """Return the record at an offset."""
        return offset

    @action
    def poll(self, member: Member, count: Count):
        """Return the next records; with `commit` "before" it commits at once."""
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
        """Process the next record. Nothing asks whether the partition is still its own."""
        require(len(self.in_hand[member]) > 0)
        record = self.in_hand[member].pop(0)
        self.take_effect(member, record)

    def take_effect(self, member, record):
        """The effect of a record."""
        self.effects.append(Effect(record=record, generation=self.generation_of[member]))

    @action
    def commit_position(self, member: Member):
        """Commit the position, everything returned being processed."""
        require(self.commit == "after")
        require(self.owns(member) and self.phase[member] != Phase.SYNCING)
        require(len(self.in_hand[member]) == 0 and self.committed != self.position[member])
        self.commit_or_lose(member)

    def commit_or_lose(self, member):
        """Commit; a consumer whose commit is refused is out. Source: OffsetCommitResponseHandler."""
        if self.takes_commit_of(member):
            self.committed = self.position[member]
        else:
            self.lose(member)

    # The coordinator.

    @action
    def evict(self, member: Member):
        """A consumer is slow with what it has in its hands, and max.poll.interval.ms is over."""
        require(self.evictions_left > 0)
        require(len(self.in_hand[member]) > 0)
        self.evictions_left -= 1
        self.remove(member)

    @action
    def time_out(self, member: Member):
        """The session of a consumer is over: it hangs, or its heartbeats do not arrive. It may poll once more."""
        require(self.session_timeouts_left > 0)
        self.session_timeouts_left -= 1
        self.remove(member)

    def remove(self, member):
        """A member is none any more, and nobody tells it."""
        require(member in self.in_group and self.phase[member] == Phase.STABLE)
        self.in_group.discard(member)
        self.owners.discard(member)
        self.preparing = len(self.in_group) > 0

    @action
    def complete_rebalance(self, owner: Member):
        """Everybody has joined: a new generation, and the assignor chooses whom to give the partition."""
        require(self.preparing and self.generation < self.max_generation)
        require(owner in self.in_group)
        require(all(self.phase[member] == Phase.JOINING for member in self.in_group))
        self.generation += 1
        self.preparing = False
        self.assign(owner)
        for member in self.in_group:
            self.phase[member] = Phase.SYNCING
            self.generation_of[member] = self.generation  # in the answer to JoinGroup

    def assign(self, owner):
        """Give the partition to the one that the assignor chose."""
        self.owners = {owner}

    def takes_commit_of(self, member):
        """Whether an offset commit is accepted. Source: ClassicGroup.validateOffsetCommit.

        Refused are UNKNOWN_MEMBER_ID and ILLEGAL_GENERATION; a rebalance that is being prepared does not matter.
        """
        is_member = member in self.in_group and self.generation_of[member] == self.generation
        return is_member or not self.fences_commits

    # A consumer and its group.

    @action
    def join(self, member: Member):
        """A consumer joins, or finds in poll that a rebalance is on its way and joins again. Source: onJoinPrepare."""
        require(self.may_join(member))
        require(len(self.in_hand[member]) == 0)
        self.prepare_to_join(member)
        self.in_group.add(member)
        self.phase[member] = Phase.JOINING
        self.preparing = True

    def may_join(self, member):
        """A newcomer may at any time, a member when a rebalance is on its way."""
        if self.phase[member] == Phase.OUT:
            return True
        return member in self.in_group and self.preparing and self.phase[member] != Phase.JOINING

    def prepare_to_join(self, member):
        """Give the partition up, committing first."""
        if self.owns(member):
            self.revoke(member)

    def revoke(self, member):
        """The partition goes to somebody else (onPartitionsRevoked), who starts at the committed offset."""
        if self.commits_when_revoked and self.takes_commit_of(member):
            self.committed = self.position[member]
        self.position[member] = None

    @action
    def sync(self, member: Member):
        """A consumer gets its assignment; if the partition is its own, it starts at the committed offset."""
        require(self.phase[member] == Phase.SYNCING and member in self.in_group)
        self.phase[member] = Phase.STABLE
        self.take_assignment(member)

    def take_assignment(self, member):
        """Start at the committed offset if the partition was assigned. Source: onJoinComplete."""
        if member in self.owners:
            self.position[member] = self.committed

    @action
    def find_out(self, member: Member):
        """A poll finds that the consumer was evicted (UNKNOWN_MEMBER_ID): onPartitionsLost, nothing to commit."""
        require(self.phase[member] == Phase.STABLE and member not in self.in_group)
        require(len(self.in_hand[member]) == 0)
        self.lose(member)

    def lose(self, member):
        """Everything is lost: the partition, and what it returned."""
        self.phase[member] = Phase.OUT
        self.position[member] = None
        self.in_hand[member].clear()

    # Properties.

    @invariant(says="record@generation {self.effects[i]} behind {self.effects[i - 1]}: {self.effects}")
    def no_zombie_effect(self):
        """Once a generation has processed a record, no earlier one does."""
        return all(self.effects[i - 1].generation <= self.effects[i].generation for i in range(1, len(self.effects)))

    @invariant(says="record {effect.record} is processed {self.times(effect.record)} times: {self.effects}")
    def no_duplicate(self):
        """No record is processed twice."""
        return all(self.times(effect.record) <= 1 for effect in self.effects)

    def times(self, record):
        """Return how often a record was processed."""
        return sum(1 for effect in self.effects if effect.record == record)

    @invariant(says="record {record}, position of {member} {self.position[member]}")
    def no_gap(self):
        """Every record below the position of a member is processed, or in somebody's hands."""
        return all(
            self.position[member] is None or record >= self.position[member] or self.is_taken(record)
            for member in self.in_group
            for record in RecordId
        )

    def is_taken(self, record):
        """Whether a record is processed or in somebody's hands."""
        return self.times(record) > 0 or any(record in self.in_hand[member] for member in Member)

    @invariant(says="record@generation {self.effects[i]} behind {self.effects[i - 1]}: {self.effects}")
    def no_reorder(self):
        """What is processed for the first time comes behind everything that was processed before."""
        return all(
            any(self.effects[j].record == self.effects[i].record for j in range(i))
            or all(self.effects[j].record < self.effects[i].record for j in range(i))
            for i in range(len(self.effects))
        )

    @invariant(says="record@generation {self.effects[i]} behind {self.effects[i - 1]}: {self.effects}")
    def no_late_copy(self):
        """No record, processed before or not, is processed behind a later one."""
        return all(self.effects[i - 1].record <= self.effects[i].record for i in range(1, len(self.effects)))

    @invariant(says="members {self.in_group}, positions {self.position}")
    def one_owner(self):
        """No two members take the partition for their own."""
        return sum(1 for member in self.in_group if self.owns(member)) <= 1

    @invariant(says="generation {self.generation} gives the partition to {self.owners}")
    def one_owner_a_generation(self):
        """No generation gives the partition to two members."""
        return len(self.owners) <= 1

    @step_invariant(says="committed {old.committed}, then {self.committed}")
    def commits_move_forward(self, old):
        """The committed offset never goes back."""
        return self.committed >= old.committed

    @step_invariant(
        says="committed {old.committed}, then {self.committed}; members {old.in_group}, {old.generation_of}"
    )
    def only_members_commit(self, old):
        """What is committed is the position of a member, in the generation that the coordinator is in."""
        return self.committed == old.committed or any(
            old.generation_of[member] == old.generation
            and self.committed in (old.position[member], self.position[member])
            for member in old.in_group
        )

    @reachable
    def everybody_is_a_member(self):
        """After a rebalance all consumers are members and have their assignment."""
        return all(member in self.in_group and self.phase[member] == Phase.STABLE for member in Member)

    @reachable
    def everything_is_committed(self):
        """The committed offset is the end of the log."""
        return self.committed == self.records

    @reachable
    def every_record_is_processed(self):
        """All records are processed, and the last generation has processed one."""
        return all(self.times(record) > 0 for record in RecordId) and any(
            effect.generation == self.max_generation for effect in self.effects
        )

    @reachable
    def a_zombie_is_at_work(self):
        """Where members are evicted, one that was has a record in its hands while another has the partition."""
        return self.evictions + self.session_timeouts == 0 or any(
            member not in self.in_group and len(self.in_hand[member]) > 0 and len(self.owners) > 0 for member in Member
        )


LARGER = dict(members=3, max_generation=2)
REACHED = ["every_record_is_processed", "a_zombie_is_at_work", "everybody_is_a_member", "everything_is_committed"]
ALWAYS = ["one_owner", "one_owner_a_generation", "commits_move_forward", "only_members_commit", "no_gap"]
"""What eager groups with fenced commits keep, whoever is evicted."""

scenarios = [
    Scenario(
        ConsumerGroup,
        "c3_zombie",
        expect={"no_zombie_effect": 9},
        properties=["no_zombie_effect"],
        description="C3: a consumer polls and pauses, is evicted, another takes over; then the first one goes on.",
    ),
    Scenario(
        ConsumerGroup,
        "c3_fenced_commits",
        dict(session_timeouts=1),
        properties=[*ALWAYS, *REACHED],
        description="C3: what fenced commits are good for: no gap, and the committed offset never goes back.",
    ),
    Scenario(
        ConsumerGroup,
        "c3_fenced_commits_larger",
        LARGER,
        properties=[*ALWAYS, *REACHED],
        description="C3: the same with three members and two rebalances.",
    ),
    Scenario(
        ConsumerGroup,
        "c3_unfenced_commit",
        dict(fences_commits=False),
        expect={"commits_move_forward": 9},
        properties=["commits_move_forward"],
        description="C3 without the generation check: a zombie and its successor both commit; the offset goes back.",
    ),
    Scenario(
        ConsumerGroup,
        "c2_revoked_without_commit",
        dict(evictions=0, commits_when_revoked=False),
        expect={"no_duplicate": 9},
        properties=["no_duplicate"],
        description="C2 without any failure: a rebalance takes the partition from a consumer that has not committed.",
    ),
    Scenario(
        ConsumerGroup,
        "c2_fixed_commit_when_revoked",
        dict(evictions=0),
        description="C2: a consumer that commits before it gives the partition up loses and repeats nothing.",
    ),
    Scenario(
        ConsumerGroup,
        "c2_fixed_commit_when_revoked_larger",
        dict(LARGER, evictions=0, records=3),
        description="C2: the same with three members, three records and two rebalances.",
    ),
]
