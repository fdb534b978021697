"""Replication after KIP-279 (Kafka 2.0): followers truncate to the last record that both logs have."""

from checker.language import Scenario
from specs.replication.base import Replication
from specs.replication.state import Replica


class Kip279(Replication):
    """KIP-279: leader and follower search the follower's log backwards for a record that both have.

    With KIP-101 a leader that had never seen the follower's last epoch answered with the start of its next larger one.
    After several fast elections the follower kept records that the leader did not have. Now the answer names the epoch
    too, and the follower asks again with an earlier epoch.

    Source: KIP-279 (KAFKA-6361), in Apache Kafka AbstractFetcherThread.getOffsetTruncationState; TLA+ module Kip279.
    """

    def truncation_offset(self, leader: Replica, follower: Replica):
        """Return the end of the part of the follower's log that the leader's log has too."""
        return self.end_of_common_log(leader, follower)

    def end_of_common_log(self, leader: Replica, follower: Replica):
        """Return the offset after the last record that both logs have at the same offset, 0 if there is none."""
        return max(
            (
                offset + 1
                for offset in range(min(len(self.log[leader]), len(self.log[follower])))
                if self.log[leader][offset] == self.log[follower][offset]
            ),
            default=0,
        )


scenarios = [
    Scenario(Kip279, "two_replicas", dict(replicas=2, max_leader_epoch=1),
        description="Two replicas, two leader epochs."),
    Scenario(Kip279, "two_replicas_three_epochs", dict(replicas=2),
        description="The schedule in which KIP-101 loses a record with three leader epochs is harmless."),
    Scenario(Kip279, "fast_elections", dict(replicas=2, max_records=3),
        description="The size at which logs diverge with KIP-101: here they match."),
    Scenario(Kip279, "three_replicas", dict(max_leader_epoch=1), expect={"strong_isr": 12},
        description="KAFKA-7128: a new leader adds a follower to the ISR that lacks a committed record."),
    Scenario(Kip279, "three_replicas_three_epochs", expect={"weak_isr": 11, "strong_isr": 11, "log_matching": 18},
        description="A follower truncates by the log of a replica that does not lead yet and lacks a committed "
        "record."),
    Scenario(Kip279, "unfenced_fetch", dict(max_records=3),
        expect={"weak_isr": 11, "strong_isr": 11, "log_matching": 15},
        description="A follower fetches from a leader in another leader epoch, and the logs diverge."),
]  # fmt: skip
