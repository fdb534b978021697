"""Replication after KIP-101 (Kafka 0.11): followers ask their leader where their last leader epoch ends."""

from checker.language import Scenario
from specs.replication.base import Replication
from specs.replication.state import LeaderEpoch, Replica


class Kip101(Replication):
    """KIP-101: a new follower asks its leader where the follower's last leader epoch ends, and truncates there.

    Each record carries the leader epoch in which it was appended, so committed records survive a follower's restart.
    Three problems remain. The leader answers for epochs that it never saw (KIP-279). The follower's requests do not
    carry the leader's epoch (KIP-320). A new leader, which does not know its predecessor's high watermark yet, adds
    followers to the ISR too early (KAFKA-7128).

    Source: KIP-101, in Apache Kafka LeaderEpochFileCache.endOffsetFor; TLA+ module Kip101.
    """

    def truncation_offset(self, leader: Replica, follower: Replica):
        """Return the leader's answer for the epoch of the follower's last record."""
        end_offset = len(self.log[follower])
        if end_offset == 0:
            return 0
        return self.end_offset_for_epoch(leader, follower, self.log[follower][end_offset - 1].epoch)

    def end_offset_for_epoch(self, leader: Replica, follower: Replica, epoch: LeaderEpoch):
        """Return the leader's answer: its log end if `epoch` is its last one, else the start of the next larger one.

        If the leader has no larger epoch, its answer is undefined, and the follower truncates to its high watermark.
        """
        end_offset = len(self.log[leader])
        if end_offset > 0 and self.log[leader][end_offset - 1].epoch == epoch:
            return end_offset
        return min(
            (offset for offset in range(end_offset) if self.log[leader][offset].epoch > epoch),
            default=self.high_watermark[follower],
        )


scenarios = [
    Scenario(Kip101, "two_replicas", dict(replicas=2, max_leader_epoch=1),
        description="With two leader epochs and two replicas, no committed record is lost."),
    Scenario(Kip101, "two_replicas_three_epochs", dict(replicas=2), expect={"weak_isr": 12, "strong_isr": 12},
        description="A follower asks for an epoch that its leader never saw, and truncates to its high watermark."),
    Scenario(Kip101, "fast_elections", dict(replicas=2, max_records=3),
        expect={"weak_isr": 12, "strong_isr": 12, "log_matching": 13},
        description="KIP-279's case: the leader answers for an epoch that it never saw, and the logs diverge."),
    Scenario(Kip101, "three_replicas", dict(max_leader_epoch=1), expect={"strong_isr": 12},
        description="KAFKA-7128: a new leader adds a follower to the ISR that lacks a committed record."),
    Scenario(Kip101, "three_replicas_three_epochs", expect={"weak_isr": 11, "strong_isr": 11, "log_matching": 18},
        description="A follower truncates by the log of a replica that does not lead yet and lacks a committed "
        "record."),
]  # fmt: skip
