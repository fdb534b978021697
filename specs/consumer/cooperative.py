"""Cooperative rebalances (KIP-429) of a classic group: ownership during a rebalance, and conflicting claims.

Scenarios: entry C5 of docs/consumer.md.
Sources: ConsumerCoordinator (onJoinPrepare, onJoinComplete), AbstractStickyAssignor.allSubscriptionsEqual,
CooperativeStickyAssignor.adjustAssignment, KAFKA-12983 and KAFKA-12984 of Apache Kafka.
"""

from checker.language import Bug, Constant, Event, action, reachable, require
from specs.consumer.group import JOINS, ConsumerGroup, Member, Phase
from specs.scenario_forms import violates


class CooperativeGroup(ConsumerGroup):
    """A member that rejoins keeps the partition, claims it in its JoinGroup, and continues to consume from it.

    If the assignor moves the partition, this generation assigns it to no member (`withholds`). The owner learns that
    the partition is not assigned to it, gives it up and rejoins; the next generation assigns it to the new owner.

    `believes` selects the members that keep the partition if several claim it: "everybody" keeps all claimants;
    "latest" keeps the claimants with the latest generation (KAFKA-12984); "one_latest" keeps the claimant with the
    latest generation if it is the only one, and else no member until all have given the partition up. The generation
    of a claim is that of the last JoinGroup response, with or without a following assignment.
    `joins_without_losing`: an evicted consumer rejoins without losing its partition, and still claims it
    (KAFKA-12983).
    """

    draws = ConsumerGroup.draws.with_events(
        Event("join", JOINS + "{', and claims the partition that it got in generation ' + str(generation_of[member]) "
            "if owns(member) else ''}", "", "member"),
        Event("complete_rebalance", "Generation {generation + 1} begins, and the assignor chooses {owner}{'; but ' + "
            "' and '.join(str(each) for each in in_group if position[each] is not None) + ' claim the partition' "
            "if sum(1 for each in in_group if position[each] is not None) > 1 else ''}",
            "generation {generation + 1}", "'coordinator'", "new epoch"),
        Event("sync", "{member} gets its assignment{', and begins at the committed offset ' + str(committed) if member "
            "in owners and position[member] is None else ''}{', and gives the partition up' + (' after a commit of "
            "offset ' + str(position[member]) if commits_when_revoked and accepts_commit_of(member) else '') if "
            "owns(member) and member not in owners else ''}", "", "member"),
    )  # fmt: skip

    max_generation = Constant(2, at_least=0)
    withholds = Constant(True)
    believes = Constant("one_latest", one_of=("everybody", "latest", "one_latest"))
    joins_without_losing = Constant(False)

    def prepare_to_join(self, member):
        """Keep the partition and claim it."""
        return

    def may_join(self, member):
        """Return whether a consumer may join: also an evicted one, if it joins without losing its partition."""
        if self.joins_without_losing and member not in self.in_group and self.phase[member] == Phase.STABLE:
            return True
        return super().may_join(member)

    def assign(self, owner):
        """Leave the partition with its claimants if the chosen owner is one; else wait until it is given up."""
        claims = {member for member in self.in_group if self.owns(member)}
        keepers = {member for member in claims if self.keeps(member, claims)}
        if owner in keepers:
            self.owners = keepers
        elif self.withholds and len(claims) > 0:
            self.owners = set()
        else:
            self.owners = {owner}

    def keeps(self, member, claims):
        """Return whether the assignor accepts a member's claim.

        Source: AbstractStickyAssignor.allSubscriptionsEqual.
        """
        mine = self.generation_of[member]
        if self.believes == "one_latest":
            return all(other == member or self.generation_of[other] < mine for other in claims)
        return self.believes == "everybody" or all(self.generation_of[other] <= mine for other in claims)

    def take_assignment(self, member):
        """Keep the partition, take it, or give it up and rejoin. Source: ConsumerCoordinator.onJoinComplete."""
        if member not in self.owners and self.owns(member):
            self.revoke(member)
            self.phase[member] = Phase.JOINING
            self.preparing = True
        elif not self.owns(member):
            super().take_assignment(member)

    @action
    def sync(self, member: Member):
        """A consumer receives its assignment inside poll, after it has processed all returned records."""
        require(len(self.in_hand[member]) == 0)
        super().sync(member)

    @reachable
    def the_partition_moves(self):
        """A newcomer owns the partition, and the first owner is still a member."""
        return any(
            self.owns(member) and self.owners == {member} and len(self.in_group) > 1 and self.generation > 1
            for member in self.in_group
        )


KEEPS = ["one_owner", "one_owner_a_generation", "commits_move_forward", "only_members_commit", "no_gap"]
MOVES = [*KEEPS, "no_duplicate", "no_reorder", "no_zombie_effect", "the_partition_moves", "every_record_is_processed"]

LARGER = dict(members=3, max_generation=3)

scenarios = [
    Bug("moved_at_once", CooperativeGroup, violates={"one_owner": 5}, size=dict(evictions=0),
        faulty=dict(withholds=False), larger=dict(LARGER, evictions=0), promises=MOVES,
        fixed_name="moved_in_two_generations",
        description="A partition that moves within one generation has two owners until the old owner learns of it.",
        remedy="Revoked in one generation, assigned in the next: one owner at any time, no loss, no duplicate."),
    Bug("c5_two_owners", CooperativeGroup, violates={"one_owner_a_generation": 10},
        size=dict(session_timeouts=1, joins_without_losing=True), faulty=dict(session_timeouts=0, believes="everybody"),
        larger=dict(LARGER, joins_without_losing=True),
        promises=["one_owner_a_generation", "the_partition_moves", "a_zombie_is_at_work"],
        fixed_name="c5_fixed_by_the_assignor",
        description="C5 (KAFKA-12984): a member that missed a generation claims its partition; both claims count.",
        remedy="C5 where only a single claim of the latest generation counts: no generation has two owners."),
    violates(CooperativeGroup, "c5_two_owners_of_the_same_generation",
        dict(LARGER, believes="latest", joins_without_losing=True), {"one_owner_a_generation": 14},
        "C5: a rebalance interrupted before any assignment gives the stale claim a new generation."),
    Bug("c5_stale_owner_commits", CooperativeGroup, violates={"commits_move_forward": 12},
        size=dict(session_timeouts=1), faulty=dict(session_timeouts=0, joins_without_losing=True), larger=LARGER,
        promises=[*KEEPS, "the_partition_moves", "a_zombie_is_at_work", "every_consumer_is_a_member"],
        fixed_name="c5_fixed",
        description="C5, not fixed by the assignor: the stale owner is a member again and commits its old position.",
        remedy="C5 with both fixes: an evicted member has lost its partition when it rejoins (KAFKA-12983)."),
]  # fmt: skip
