"""KIP-320 without one of its rules at a time: none of these classes is proved (docs/proving.md)."""

from checker.language import action, require
from specs.replication.base import Replication
from specs.replication.kip101 import Kip101
from specs.replication.kip320 import Kip320
from specs.replication.state import Replica


class TruncatesToHighWatermark(Kip320):
    """Without KIP-101: a new follower truncates its log to its high watermark."""

    truncation_offset = Replication.truncation_offset


class AsksOnce(Kip320):
    """Without KIP-279: the leader answers for an epoch that it never saw, and the follower asks once."""

    truncation_offset = Kip101.truncation_offset
    end_offset_for_epoch = Kip101.end_offset_for_epoch


class TruncatesUnfenced(Kip320):
    """Without KIP-320's epoch in the question before a truncation: a replica in any epoch answers it."""

    may_follow = Replication.may_follow


class FetchesUnfenced(Kip320):
    """Without KIP-320's epoch in a fetch: a leader in another epoch answers it."""

    @action
    def follower_fetch(self, follower: Replica):
        leader = self.leader[follower]
        require(leader is not None)
        end_offset = len(self.log[follower])
        require(end_offset < len(self.log[leader]))
        require(self.presumes_leadership(leader))
        self.log[follower].append(self.log[leader][end_offset])
        self.high_watermark[follower] = min(self.high_watermark[leader], end_offset + 1)


class CommitsUnfenced(Kip320):
    """Without KIP-320's epoch in a fetch: a leader counts followers of other epochs when it commits."""

    @action
    def leader_increment_high_watermark(self, leader: Replica):
        require(self.presumes_leadership(leader))
        offset = self.high_watermark[leader]
        require(offset < len(self.log[leader]))
        require(all(self.leader[member] == leader and len(self.log[member]) > offset for member in self.isr[leader]))
        self.high_watermark[leader] = offset + 1


class JoinsUnfenced(Kip320):
    """Without KIP-320's epoch in a fetch: a leader adds followers of other epochs to the ISR."""

    def may_join_isr(self, leader: Replica, follower: Replica):
        return (
            self.high_watermark_is_in_own_epoch(leader)
            and self.leader[follower] == leader
            and len(self.log[follower]) >= self.high_watermark[leader]
        )


class JoinsEarly(Kip320):
    """Without KAFKA-7128: a leader adds followers before it has committed its predecessors' records."""

    may_join_isr = Replication.may_join_isr
