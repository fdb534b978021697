"""Liveness of KIP-320: which promises the high watermark, the ISR and the election of a leader depend on."""

from checker.language import Bug, Scenario, action, always_eventually, leads_to, require
from specs.replication.kip320 import Kip320
from specs.replication.state import Replica
from specs.scenario_forms import without_each


class Kip320Liveness(Kip320):
    """KIP-320 with liveness properties. The scenarios promise that some of the actions are fair.

    The number of leader epochs and of records is bounded, so every behaviour has a last election and a last write. The
    properties describe what must happen afterwards. The published model has no liveness property.

    Source: TLA+ module Kip320; in Apache Kafka the classes Partition and AbstractFetcherThread.
    """

    @always_eventually(
        says="{self.quorum.leader} leads with high watermark {self.high_watermark[self.quorum.leader]} and log "
        "{self.log[self.quorum.leader]} for ever"
    )
    def high_watermark_reaches_log_end(self):
        """If the partition has a leader and writes stop, the leader's high watermark reaches its log end offset."""
        leader = self.quorum.leader
        return leader is None or (self.is_true_leader(leader) and self.high_watermark[leader] == len(self.log[leader]))

    @always_eventually(says="{follower} stays outside the ISR {self.quorum.isr} of leader {self.quorum.leader}")
    def follower_rejoins_isr(self, follower: Replica):
        """If the partition has a leader, each replica joins the ISR again and again."""
        return self.quorum.leader is None or follower in self.quorum.isr

    def may_elect(self):
        """Return whether the partition has no leader, and the bound of the epochs permits another request."""
        return self.quorum.leader is None and len(self.requests) <= self.max_leader_epoch

    @leads_to("may_elect", says="no replica of the ISR {self.quorum.isr} is elected")
    def leader_is_elected(self):
        """A partition without a leader gets one, if its controller does not use up the epochs."""
        return not self.may_elect()


class Kip320KeepsLastReplica(Kip320Liveness):
    """The same with a controller that never removes the last replica from the ISR.

    Source: ReplicaStateMachine.doRemoveReplicasFromIsr (ZooKeeper), PartitionChangeBuilder (KRaft without KIP-966) of
    Apache Kafka.
    """

    @action
    def controller_shrink_isr(self, replica: Replica):
        """The controller removes a failed broker from the ISR; the last replica stays, whether it leads or not."""
        require(self.quorum.isr != {replica} or self.quorum.leader == replica)
        super().controller_shrink_isr(replica)


COMMITS = dict(
    become_leader="weak", become_follower="weak", follower_fetch="weak", leader_increment_high_watermark="weak"
)
"""The promises that bring the high watermark to the log end: both sides learn their epoch, fetch, and commit."""

JOINS = dict(COMMITS, leader_expand_isr="weak")
"""The promises that bring every follower into the ISR."""

SHRINKS = dict(become_leader="weak", leader_shrink_isr="weak", leader_increment_high_watermark="strong")
"""Promises of the leader alone: it removes followers that do not fetch, and commits what the others have."""

TWO = dict(replicas=2, max_leader_epoch=1)
THREE = dict(max_leader_epoch=1)
COMMITTED, JOINED, ELECTED = "high_watermark_reaches_log_end", "follower_rejoins_isr", "leader_is_elected"


scenarios = [
    Scenario(Kip320Liveness, "fair_replicas", THREE, fair=JOINS, properties=[COMMITTED, JOINED],
        description="Five weakly fair actions: when writes stop, all is committed and every replica is in the ISR."),
    Scenario(Kip320Liveness, "fair_replicas_commit", THREE, fair=COMMITS, properties=[COMMITTED],
        description="The high watermark reaches the log end even if the leader never expands the ISR."),
    *without_each(Kip320Liveness, TWO, JOINS, [COMMITTED, JOINED], {
        "become_leader": ({COMMITTED: 2, JOINED: 3}, "The elected replica never learns that it leads."),
        "become_follower": ({COMMITTED: 4, JOINED: 4}, "A follower stays in its old leader epoch, and is fenced."),
        "follower_fetch": ({COMMITTED: 5, JOINED: 7}, "A follower in the ISR does not fetch, and is not removed."),
        "leader_increment_high_watermark": ({COMMITTED: 6, JOINED: 8},
            "The leader never commits its predecessor's records, so it adds no follower to the ISR (KAFKA-7128)."),
        "leader_expand_isr": ({JOINED: 5}, "A follower has caught up, and the leader does not add it to the ISR."),
    }),
    Scenario(Kip320Liveness, "leader_alone", TWO, fair=SHRINKS, properties=[COMMITTED],
        description="A follower that never fetches is removed, and a strongly fair leader commits alone."),
    Scenario(Kip320Liveness, "flapping_isr", TWO, fair=dict(SHRINKS, leader_increment_high_watermark="weak"),
        properties=[COMMITTED], expect={COMMITTED: 5},
        description="A follower at the high watermark leaves and joins the ISR in turn: no record is committed."),
    Scenario(Kip320Liveness, "two_flapping_followers", THREE, fair=SHRINKS, properties=[COMMITTED],
        expect={COMMITTED: 6},
        description="With two such followers the leader is never alone in the ISR, so strong fairness does not help."),
    Bug("isr_shrinks_to_nothing", Kip320Liveness, violates={ELECTED: 3}, size=dict(replicas=2),
        larger=dict(log_size=1, max_records=1), fair=dict(controller_elect_leader="weak"), promises=[ELECTED],
        fixed_name="last_replica_stays", fixed_spec=Kip320KeepsLastReplica,
        description="The controller removes the last two replicas from the ISR: no replica can be elected any more.",
        remedy="The last replica stays in the ISR, so a weakly fair controller elects it."),
]  # fmt: skip
