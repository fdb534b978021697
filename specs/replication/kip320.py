"""Replication after KIP-320 (Kafka 2.1): every request carries a leader epoch, and others are rejected."""

from checker.language import Scenario
from specs.replication.fenced_lemmas import FencedLemmas
from specs.replication.kip279 import Kip279
from specs.replication.state import LeaderEpoch, Replica


class Kip320(FencedLemmas, Kip279):
    """KIP-320: leader and follower communicate only while they are in the same leader epoch.

    Fetches and the questions before a truncation carry the follower's leader epoch, and a leader in another epoch
    rejects them (FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH). A new leader adds no follower to the ISR before it has
    committed its predecessors' records: until then it does not know which of them were committed.

    Source: KIP-320 (KAFKA-6880, KAFKA-7128), in Apache Kafka Partition.fetchRecords and Partition.maybeExpandIsr; TLA+
    module Kip320.
    """

    def may_follow(self, follower: Replica, leader: Replica, epoch: LeaderEpoch):
        """Return whether the leader already leads, in the same epoch."""
        return self.leader_epoch[leader] == epoch and self.presumes_leadership(leader)

    def is_caught_up(self, leader: Replica, follower: Replica, end_offset: int):
        """Return whether the follower is also in the leader's epoch."""
        return self.leader_epoch[follower] == self.leader_epoch[leader] and super().is_caught_up(
            leader, follower, end_offset
        )

    def may_join_isr(self, leader: Replica, follower: Replica):
        """Return whether also every record of earlier leaders is committed again (KAFKA-7128)."""
        return self.high_watermark_is_in_own_epoch(leader) and super().may_join_isr(leader, follower)


scenarios = [
    Scenario(Kip320, "two_replicas", dict(replicas=2, max_leader_epoch=1),
        description="Two replicas, two leader epochs."),
    Scenario(Kip320, "two_replicas_three_epochs", dict(replicas=2), description="Two replicas, three leader epochs."),
    Scenario(Kip320, "fast_elections", dict(replicas=2, max_records=3),
        description="The size at which logs diverge with KIP-101: here they match."),
    Scenario(Kip320, "three_replicas", dict(max_leader_epoch=1),
        description="The size at which KIP-101 and KIP-279 fail."),
    Scenario(Kip320, "missed_epochs", dict(log_size=1, max_records=1),
        description="The size at which the first draft of KIP-320 fails."),
    Scenario(Kip320, "three_replicas_three_epochs", description="Three replicas, three leader epochs: 737,794 states."),
    Scenario(Kip320, "three_replicas_three_records", dict(log_size=3, max_records=3),
        description="Three replicas, three leader epochs, three records: 4,093,531 states."),
    Scenario(Kip320, "four_epochs", dict(log_size=1, max_leader_epoch=3),
        description="Three replicas, four leader epochs: 2,385,862 states."),
]  # fmt: skip
