"""Replication as KIP-320 was first proposed: followers truncate when a fetch shows that the logs differ."""

from checker.language import Scenario, action, require
from specs.replication.kip279 import Kip279
from specs.replication.state import Replica


class Kip320FirstTry(Kip279):
    """The first draft of KIP-320: a follower fetches at once, and truncates if the leader finds that the logs differ.

    Each fetch carries the leader epoch of the follower's last record, and the leader compares it with its own log. This
    shows the follower's log, but not its leader epoch. A follower that is behind in leader epochs can raise the high
    watermark, and truncate the committed record when it acts on the epochs that it missed.

    Source: the first draft of KIP-320, which Kafka never shipped; TLA+ module Kip320FirstTry. A
    similar bug came with truncation on fetch in Kafka 2.8 (KAFKA-13141).
    """

    def is_caught_up(self, leader: Replica, follower: Replica, end_offset: int):
        """Return whether also the last record before `end_offset` has the same epoch in both logs."""
        return super().is_caught_up(leader, follower, end_offset) and (
            end_offset == 0 or self.log[leader][end_offset - 1].epoch == self.log[follower][end_offset - 1].epoch
        )

    def may_join_isr(self, leader: Replica, follower: Replica):
        """Return whether also every record of earlier leaders is committed again (KAFKA-7128)."""
        return self.high_watermark_is_in_own_epoch(leader) and super().may_join_isr(leader, follower)

    def truncation_offset(self, leader: Replica, follower: Replica):
        """Return the log end: becoming a follower truncates nothing."""
        return len(self.log[follower])

    def needs_truncation(self, leader: Replica, follower: Replica):
        """Return whether the follower's log is longer, or its last record has another epoch in the leader's log."""
        end_offset = len(self.log[follower])
        return end_offset > len(self.log[leader]) or (
            end_offset > 0 and self.log[leader][end_offset - 1].epoch != self.log[follower][end_offset - 1].epoch
        )

    @action
    def follower_truncate(self, follower: Replica):
        """A follower whose fetch got a truncation error truncates the part that differs from its leader's log."""
        leader = self.leader[follower]
        require(leader is not None)
        require(self.presumes_leadership(leader))
        require(self.needs_truncation(leader, follower))
        offset = self.end_of_common_log(leader, follower)
        del self.log[follower][offset:]
        self.high_watermark[follower] = min(self.high_watermark[follower], offset)


scenarios = [
    Scenario(Kip320FirstTry, "two_replicas", dict(replicas=2, max_leader_epoch=1),
        description="Two replicas, two leader epochs."),
    Scenario(Kip320FirstTry, "two_replicas_three_epochs", dict(replicas=2),
        description="Two replicas, three leader epochs."),
    Scenario(Kip320FirstTry, "three_replicas", dict(max_leader_epoch=1),
        description="Three replicas, two leader epochs."),
    Scenario(Kip320FirstTry, "missed_epochs", dict(log_size=1, max_records=1),
        expect={"weak_isr": 12, "strong_isr": 13},
        description="The smallest failure: a follower behind in epochs raises the high watermark, then truncates."),
    Scenario(Kip320FirstTry, "three_replicas_three_epochs", expect={"weak_isr": 12, "strong_isr": 13},
        description="The same with two records."),
    Scenario(Kip320FirstTry, "four_epochs", dict(log_size=1, max_leader_epoch=3),
        expect={"weak_isr": 12, "strong_isr": 13, "log_matching": 18},
        description="With a fourth leader epoch, another record gets the lost one's offset and is committed too."),
]  # fmt: skip
