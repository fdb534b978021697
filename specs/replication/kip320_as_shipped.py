"""Replication after KIP-320 as Kafka implements it; the published model is stricter than the code."""

from checker.language import Scenario, action, require
from specs.replication.kip320 import Kip320
from specs.replication.state import Replica


class Kip320AsShipped(Kip320):
    """KIP-320 with four rules as in Kafka's code. The message-level `partition` refines this spec.

    - A follower may join the ISR once it has the log with which the leader's epoch began. The published rule also waits
      until that log is committed.
    - The leader decides by a follower's last fetch whether it lags. The published leader knows the follower's log.
    - A leader that does not know its successor counts a follower's earlier fetches, even if the follower is in a newer
      epoch.
    - A follower learns the high watermark from any answer to a fetch, also from an empty one.

    Source: KAFKA-7128; Partition.maybeExpandIsr, maybeShrinkIsr; AbstractFetcherThread.processPartitionData.
    """

    def may_join_isr(self, leader: Replica, follower: Replica):
        """Return whether a follower has every record below the high watermark, and every record of earlier leaders."""
        own = sum(1 for record in self.log[leader] if record.epoch == self.leader_epoch[leader])
        return self.is_caught_up(leader, follower, max(self.high_watermark[leader], len(self.log[leader]) - own))

    @action
    def leader_shrink_isr(self, follower: Replica):
        """The true leader removes any follower from the ISR: it knows only the follower's last fetch."""
        leader = self.quorum.leader
        require(leader is not None)
        require(follower != leader)
        require(follower in self.isr[leader])
        require(self.is_true_leader(leader))
        self.update_isr(leader, self.isr[leader] - {follower})

    @action
    def leader_increment_high_watermark(self, leader: Replica):
        """A leader commits a record that its whole ISR has fetched; members may be in a newer epoch by now."""
        require(self.presumes_leadership(leader))
        offset = self.high_watermark[leader]
        require(offset < len(self.log[leader]))
        require(
            all(
                self.is_caught_up(leader, follower, offset + 1) or self.had_caught_up(leader, follower, offset)
                for follower in self.isr[leader]
            )
        )
        self.high_watermark[leader] = offset + 1

    def had_caught_up(self, leader: Replica, follower: Replica, offset: int):
        """Return whether a follower has left the leader's epoch with the leader's record at an offset."""
        return self.leader_epoch[follower] > self.leader_epoch[leader] and self.agree_at(leader, follower, offset)

    @action
    def follower_learn_high_watermark(self, follower: Replica):
        """A follower learns the leader's high watermark from an empty answer to a fetch."""
        leader = self.leader[follower]
        require(leader is not None)
        require(leader != follower)
        require(self.presumes_leadership(leader))
        require(self.is_caught_up(leader, follower, len(self.log[follower])))
        self.high_watermark[follower] = min(self.high_watermark[leader], len(self.log[follower]))


scenarios = [
    Scenario(Kip320AsShipped, "two_replicas_three_epochs", dict(replicas=2),
        description="Two replicas, three leader epochs."),
    Scenario(Kip320AsShipped, "three_replicas", dict(max_leader_epoch=1),
        description="Three replicas, two leader epochs."),
    Scenario(Kip320AsShipped, "missed_epochs", dict(log_size=1, max_records=1),
        description="Three replicas, one record, three leader epochs."),
]  # fmt: skip
