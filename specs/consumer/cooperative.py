"""The cooperative rebalance protocol (KIP-429): who keeps the partition meanwhile, and whose word counts.

Scenarios: entry C5 of docs/consumer.md.
Sources: ConsumerCoordinator (onJoinPrepare, onJoinComplete), AbstractStickyAssignor.allSubscriptionsEqual,
CooperativeStickyAssignor.adjustAssignment, KAFKA-12983 and KAFKA-12984 of Apache Kafka.
"""

from checker.language import Constant, Scenario, action, reachable, require
from specs.consumer.group import ConsumerGroup, Member, Phase


class CooperativeGroup(ConsumerGroup):
    """A member that joins again keeps the partition, says so in its JoinGroup, and goes on with it.

    If the assignor wants the partition elsewhere, it gives it to nobody in this generation (`withholds`); the owner
    finds that it is not assigned, gives it up and joins again, and the next generation gives it away.

    `believes` says who keeps the partition if several claim it: "everybody"; who claims it with the "latest" generation
    (KAFKA-12984); that one if it is "one_latest", else nobody before all have given it up. The generation of a claim is
    that of the last answer to JoinGroup, whether or not an assignment followed. `joins_without_losing`: a consumer
    that was evicted joins anew without having lost what it owned, so that it claims it still (KAFKA-12983).
    """

    max_generation = Constant(2, at_least=0)
    withholds = Constant(True)
    believes = Constant("one_latest", one_of=("everybody", "latest", "one_latest"))
    joins_without_losing = Constant(False)

    def prepare_to_join(self, member):
        """Keep the partition, and claim it."""
        return

    def may_join(self, member):
        """An evicted member may, too, where it joins without losing; one that gave the partition up has to."""
        if self.joins_without_losing and member not in self.in_group and self.phase[member] == Phase.STABLE:
            return True
        return super().may_join(member)

    def assign(self, owner):
        """Leave the partition with who claims it, if it is to be there; else wait until it was given up."""
        claims = {member for member in self.in_group if self.owns(member)}
        keepers = {member for member in claims if self.keeps(member, claims)}
        if owner in keepers:
            self.owners = keepers
        elif self.withholds and len(claims) > 0:
            self.owners = set()
        else:
            self.owners = {owner}

    def keeps(self, member, claims):
        """Whether the assignor believes the claim of a member. Source: AbstractStickyAssignor.allSubscriptionsEqual."""
        mine = self.generation_of[member]
        if self.believes == "one_latest":
            return all(other == member or self.generation_of[other] < mine for other in claims)
        return self.believes == "everybody" or all(self.generation_of[other] <= mine for other in claims)

    def take_assignment(self, member):
        """Keep the partition, take it, or give it up and join again. Source: ConsumerCoordinator.onJoinComplete."""
        if member not in self.owners and self.owns(member):
            self.revoke(member)
            self.phase[member] = Phase.JOINING
            self.preparing = True
        elif not self.owns(member):
            super().take_assignment(member)

    @action
    def sync(self, member: Member):
        """A consumer gets its assignment inside poll, when it is done with what it had returned."""
        require(len(self.in_hand[member]) == 0)
        super().sync(member)

    @reachable
    def the_partition_moves(self):
        """A newcomer has the partition, and the first owner is still a member."""
        return any(
            self.owns(member) and self.owners == {member} and len(self.in_group) > 1 and self.generation > 1
            for member in self.in_group
        )


KEEPS = ["one_owner", "one_owner_a_generation", "commits_move_forward", "only_members_commit", "no_gap"]
MOVES = [*KEEPS, "no_duplicate", "no_reorder", "no_zombie_effect", "the_partition_moves", "every_record_is_processed"]

scenarios = [
    Scenario(
        CooperativeGroup,
        "moved_at_once",
        dict(evictions=0, withholds=False),
        expect={"one_owner": 5},
        properties=["one_owner"],
        description="A partition that moves within one generation has two owners until the old owner learns of it.",
    ),
    Scenario(
        CooperativeGroup,
        "moved_in_two_generations",
        dict(evictions=0),
        properties=MOVES,
        description="Revoked in one generation, assigned in the next: one owner at any time, no loss, no duplicate.",
    ),
    Scenario(
        CooperativeGroup,
        "moved_in_two_generations_larger",
        dict(evictions=0, members=3, max_generation=3),
        properties=MOVES,
        description="The same with three members and three rebalances.",
    ),
    Scenario(
        CooperativeGroup,
        "c5_two_owners",
        dict(believes="everybody", joins_without_losing=True),
        expect={"one_owner_a_generation": 10},
        properties=["one_owner_a_generation"],
        description="C5 (KAFKA-12984): a member that missed a generation claims its partition; both claims count.",
    ),
    Scenario(
        CooperativeGroup,
        "c5_two_owners_of_the_same_generation",
        dict(believes="latest", joins_without_losing=True, members=3, max_generation=3),
        expect={"one_owner_a_generation": 14},
        properties=["one_owner_a_generation"],
        description="C5: a rebalance interrupted before any assignment gives the stale claim a new generation.",
    ),
    Scenario(
        CooperativeGroup,
        "c5_fixed_by_the_assignor",
        dict(joins_without_losing=True, session_timeouts=1),
        properties=["one_owner_a_generation", "the_partition_moves", "a_zombie_is_at_work"],
        description="C5 where only a single latest claim counts: no generation has two owners.",
    ),
    Scenario(
        CooperativeGroup,
        "c5_fixed_by_the_assignor_larger",
        dict(joins_without_losing=True, members=3, max_generation=3),
        properties=["one_owner_a_generation", "the_partition_moves", "a_zombie_is_at_work"],
        description="C5 where only a single latest claim counts, three members, three rebalances.",
    ),
    Scenario(
        CooperativeGroup,
        "c5_stale_owner_commits",
        dict(joins_without_losing=True),
        expect={"commits_move_forward": 12},
        properties=["commits_move_forward"],
        description="C5, not fixed by the assignor: the stale owner is a member again and commits its old position.",
    ),
    Scenario(
        CooperativeGroup,
        "c5_fixed",
        dict(session_timeouts=1),
        properties=[*KEEPS, "the_partition_moves", "a_zombie_is_at_work", "everybody_is_a_member"],
        description="C5 with both repairs: an evicted member has lost what it owned when it joins (KAFKA-12983).",
    ),
    Scenario(
        CooperativeGroup,
        "c5_fixed_larger",
        dict(members=3, max_generation=3),
        properties=[*KEEPS, "the_partition_moves", "a_zombie_is_at_work", "everybody_is_a_member"],
        description="C5 with both repairs, three members, three rebalances.",
    ),
]
