"""Replication after KIP-320 as Kafka has it, where the published model is stricter than the code."""

from checker.language import Scenario, action, require
from specs.replication.kip320 import Kip320
from specs.replication.state import Replica


class Kip320AsShipped(Kip320):
    """KIP-320 with four rules as in Kafka's code. This is what the message-level `partition` refines.

    A follower may join the ISR as soon as it has what the leader's epoch began with; the published rule also waits
    until that is committed. The leader takes a follower for lagging on what it last heard of it; the published one
    knows its log. A leader that does not know of its successor counts on what it has heard of a follower, though that
    is in a newer epoch. And a follower hears of the high watermark with any answer to a fetch, also an empty one.

    Source: KAFKA-7128; Partition.maybeExpandIsr, maybeShrinkIsr; AbstractFetcherThread.processPartitionData.
    """

    def may_join_isr(self, leader: Replica, follower: Replica):
        """Return whether a follower has the high watermark, and all that earlier leaders appended."""
        own = sum(1 for record in self.log[leader] if record.epoch == self.leader_epoch[leader])
        return self.is_caught_up(leader, follower, max(self.high_watermark[leader], len(self.log[leader]) - own))

    @action
    def leader_shrink_isr(self, follower: Replica):
        """The true leader takes any follower out of the ISR: what it knows of it is old."""
        leader = self.quorum.leader
        require(leader is not None)
        require(follower != leader)
        require(follower in self.isr[leader])
        require(self.is_true_leader(leader))
        self.update_isr(leader, self.isr[leader] - {follower})

    @action
    def leader_increment_high_watermark(self, leader: Replica):
        """A leader commits a record that all of its ISR have fetched; some may be in a newer epoch by now."""
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
        """Return whether a follower has left the leader's epoch with a record that the leader has."""
        return self.leader_epoch[follower] > self.leader_epoch[leader] and self.agree_at(leader, follower, offset)

    @action
    def follower_learn_high_watermark(self, follower: Replica):
        """An empty answer to a fetch brings the leader's high watermark."""
        leader = self.leader[follower]
        require(leader is not None)
        require(leader != follower)
        require(self.presumes_leadership(leader))
        require(self.is_caught_up(leader, follower, len(self.log[follower])))
        self.high_watermark[follower] = min(self.high_watermark[leader], len(self.log[follower]))


scenarios = [
    Scenario(
        Kip320AsShipped, "two_replicas_three_epochs", dict(replicas=2), description="Two replicas, three leader epochs."
    ),
    Scenario(
        Kip320AsShipped, "three_replicas", dict(max_leader_epoch=1), description="Three replicas, two leader epochs."
    ),
    Scenario(
        Kip320AsShipped,
        "missed_epochs",
        dict(log_size=1, max_records=1),
        description="Three replicas, one record, three leader epochs.",
    ),
]
