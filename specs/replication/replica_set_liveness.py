"""A reassignment ends, and with the replicas that were asked for: what that needs of the brokers and the controller."""

from checker.language import Bug, leads_to
from specs.replication.replica_set import ReplicaSet


class ReplicaSetLiveness(ReplicaSet):
    """The model in which the replica set changes, and the promise of a reassignment."""

    def may_end(self):
        """Return whether a reassignment awaits no failed broker: a leader and every added replica are active."""
        return len(self.asked) > 0 and self.leader is not None and self.adding <= self.active

    @leads_to("may_end", says="the operator asked for {self.asked}, and the replicas stay {self.replicas}")
    def reassignment_ends(self):
        """While the leader and the added replicas run, the partition gets the replicas that were asked for."""
        return not self.may_end()


JOINS = dict(follower_join="weak")
"""A replica that runs catches up and joins the ISR."""

ENDS = "reassignment_ends"

REPLACED = dict(reassignments=2, stops=False)
DEAD = dict(reassignments=1, stops=False, crashes=1)
"""One broker may die for ever."""

scenarios = [
    Bug("awaits_a_dead_replica", ReplicaSetLiveness, violates={ENDS: 4}, size=DEAD,
        larger=dict(DEAD, brokers=5), faulty=dict(awaits="all"), fair=JOINS, promises=[ENDS],
        description="KAFKA-19975: a dead broker, which is neither added nor removed, holds a reassignment up for ever.",
        remedy="As many replicas are added as removed: the reassignment awaits those that it adds."),
    Bug("awaits_a_removed_replica", ReplicaSetLiveness, violates={ENDS: 4}, size=REPLACED,
        larger=dict(REPLACED, reassignments=3), faulty=dict(awaits_removed=True), fair=JOINS,
        promises=[ENDS],
        description="H-6: a reassignment is replaced by the original replicas, and never ends.",
        remedy="The controller does not await a replica that it removes."),
    Bug("ends_with_other_replicas", ReplicaSetLiveness, violates={ENDS: 4},
        size=dict(REPLACED, largest_target=4), larger=dict(REPLACED, reassignments=3, largest_target=4),
        faulty=dict(replaces_removing=False), fair=JOINS, promises=[ENDS],
        description="H-7: a reassignment that replaces another one never gets the replicas that were asked for.",
        remedy="A new reassignment replaces the replicas to remove, also if there are none."),
]  # fmt: skip
