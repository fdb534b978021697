"""Replication after KIP-101 (Kafka 0.11): followers ask their leader where their last leader epoch ends."""

from checker.language import Scenario
from specs.replication.base import Replication
from specs.replication.state import LeaderEpoch, Replica


class Kip101(Replication):
    """KIP-101: a new follower asks its leader where the follower's last leader epoch ended, and cuts off there.

    Each record now carries the leader epoch in which it was appended, so committed records survive a follower's
    restart. What is left: the leader answers for epochs that it never saw as if it had (KIP-279), nothing ties the
    follower's requests to the leader's epoch (KIP-320), and a leader that does not know yet how far its predecessor had
    committed takes followers into the ISR too early (KAFKA-7128).

    Source: KIP-101, in Apache Kafka LeaderEpochFileCache.endOffsetFor; TLA+ module Kip101.
    """

    def truncation_offset(self, leader: Replica, follower: Replica):
        """Return where the leader says that the epoch of the follower's last record ends."""
        end_offset = len(self.log[follower])
        if end_offset == 0:
            return 0
        return self.end_offset_for_epoch(leader, follower, self.log[follower][end_offset - 1].epoch)

    def end_offset_for_epoch(self, leader: Replica, follower: Replica, epoch: LeaderEpoch):
        """Return the leader's answer: its log end if `epoch` is its last one, else where the next larger one begins.

        Where it has nothing that is newer, it does not know, and the follower falls back on its high watermark.
        """
        end_offset = len(self.log[leader])
        if end_offset > 0 and self.log[leader][end_offset - 1].epoch == epoch:
            return end_offset
        return min(
            (offset for offset in range(end_offset) if self.log[leader][offset].epoch > epoch),
            default=self.high_watermark[follower],
        )


scenarios = [
    Scenario(
        Kip101,
        "two_replicas",
        dict(replicas=2, max_leader_epoch=1),
        description="With two leader epochs and two replicas no committed record is lost any more.",
    ),
    Scenario(
        Kip101,
        "two_replicas_three_epochs",
        dict(replicas=2),
        expect={"weak_isr": 12, "strong_isr": 12},
        description="A follower asks for an epoch that its leader never saw, and falls back on its high watermark.",
    ),
    Scenario(
        Kip101,
        "fast_elections",
        dict(replicas=2, max_records=3),
        expect={"weak_isr": 12, "strong_isr": 12, "log_matching": 13},
        description="KIP-279's case: the leader answers for an epoch that it never saw, and the logs diverge.",
    ),
    Scenario(
        Kip101,
        "three_replicas",
        dict(max_leader_epoch=1),
        expect={"strong_isr": 12},
        description="KAFKA-7128: a new leader takes a follower into the ISR that lacks what its predecessor committed.",
    ),
    Scenario(
        Kip101,
        "three_replicas_three_epochs",
        expect={"weak_isr": 11, "strong_isr": 11, "log_matching": 18},
        description="A follower truncates by the log of a replica that does not lead yet and lacks a committed record.",
    ),
]
