"""KIP-320 with a history of what was committed: the same protocol, proved for any number of replicas.

`committed` has every record that a leader has committed, with the leader epoch in which it was committed first. Only
the history reads the history: the view leaves it out, and both specs have the same number of states. The proof for any
number of replicas, leader epochs and records, and for logs of any length:

    python -m checker prove replication/kip320_history/three_replicas --unbounded replicas --unbounded log_size \\
        --unbounded max_records --unbounded max_leader_epoch
"""

from checker.language import Refinement, Scenario, Seq, Struct, action, lemma, view
from specs.replication.fenced_logs import FencedLogs
from specs.replication.kip320 import Kip320
from specs.replication.state import LeaderEpoch, Record, Replica


class CommittedRecord(Struct):
    """A committed record, and the leader epoch in which a leader raised its high watermark past it first."""

    record: Record
    epoch: LeaderEpoch
    shows = "{record} in {epoch}"


class Kip320History(FencedLogs):
    """KIP-320, with the log of all committed records.

    The lemmas name the leader epoch in which a record was committed, where those of Kip320 state that there is one.
    Without this `any` inside an `all`, a solver needs few instances of them.

    Source: KIP-320 (KAFKA-6880, KAFKA-7128); TLA+ module Kip320.
    """

    committed = Seq(CommittedRecord, "log_size")

    refines = Refinement(Kip320)

    weak_isr = Kip320.weak_isr
    strong_isr = Kip320.strong_isr
    log_matching = Kip320.log_matching

    @action
    def leader_increment_high_watermark(self, leader: Replica):
        """A leader raises its high watermark by one record; the first leader that does adds it to the history."""
        super().leader_increment_high_watermark(leader)
        self.committed = self.history_after(leader)

    def history_after(self, leader: Replica):
        """Return the history after a leader has raised its high watermark."""
        end_offset = len(self.committed)
        if self.high_watermark[leader] <= end_offset:
            return self.committed
        newest = CommittedRecord(record=self.log[leader][end_offset], epoch=self.leader_epoch[leader])
        return self.committed + [newest]  # noqa: RUF005 - the language has no `*`

    @view
    def without_history(self):
        """Only the history reads the history: it decides neither what may happen nor what happens."""
        return (
            self.log,
            self.high_watermark,
            self.leader_epoch,
            self.leader,
            self.isr,
            self.quorum,
            self.requests,
            self.next_record_id,
        )

    def has_committed(self, replica: Replica, offset):
        """Return whether a replica has the record committed at an offset."""
        return offset < len(self.log[replica]) and self.log[replica][offset] == self.committed[offset].record

    def keeps_committed(self, replica: Replica, offset):
        """Return whether a replica has the record committed at an offset, and is in an epoch in which it keeps it."""
        return self.leader_epoch[replica] >= self.committed[offset].epoch and self.has_committed(replica, offset)

    @lemma
    def committed_epochs_are_assigned(self):
        """A record is committed in its own leader epoch or a later one, which the controller has started."""
        return all(
            committed.record.epoch <= committed.epoch and committed.epoch < len(self.requests)
            for committed in self.committed
        )

    @lemma
    def high_watermarks_are_committed(self):
        """The records below a high watermark are those of the history, of epochs up to the replica's own."""
        return all(
            offset < len(self.committed) and self.keeps_committed(replica, offset)
            for replica in Replica
            for offset in range(self.high_watermark[replica])
        )

    @lemma
    def leader_keeps_what_it_committed(self):
        """The leader that committed a record has it and, while it is in that epoch, knows that it is committed."""
        return all(self.leader_committed(offset) for offset in range(len(self.committed)))

    def leader_committed(self, offset):
        """Return whether the leader of the epoch in which a record was committed has it, and knows it in that epoch."""
        epoch = self.committed[offset].epoch
        leader = self.requests[epoch].leader
        return (
            leader is not None
            and self.keeps_committed(leader, offset)
            and (self.leader_epoch[leader] > epoch or offset < self.high_watermark[leader])
        )

    @lemma
    def electable_replicas_keep_committed(self):
        """Every replica that may be elected has every committed record."""
        return all(
            self.keeps_committed(replica, offset)
            for offset in range(len(self.committed))
            for replica in self.quorum.isr
        )

    @lemma
    def later_isrs_keep_committed(self):
        """Every member of an ISR of a later request has the record."""
        return all(
            self.keeps_committed(replica, offset)
            for offset in range(len(self.committed))
            for later in range(len(self.requests))
            if later > self.committed[offset].epoch
            for replica in self.requests[later].isr
        )

    @lemma
    def leaders_isrs_keep_committed(self):
        """Every member of an ISR that a leader of the same epoch or a later one knows has the record."""
        return all(
            self.keeps_committed(replica, offset)
            for offset in range(len(self.committed))
            for leader in Replica
            if self.presumes_leadership(leader) and self.leader_epoch[leader] >= self.committed[offset].epoch
            for replica in self.isr[leader]
        )

    @lemma
    def commits_follow_begun_epochs(self):
        """Before a record is committed in an epoch, a member of each earlier request's ISR has seen that request."""
        return all(
            self.is_begun(self.requests[epoch].isr, epoch)
            for committed in self.committed
            for epoch in range(committed.epoch)
        )

    @lemma
    def commits_end_earlier_epochs(self):
        """If a record was committed in a later epoch than a leader's, a member of this leader's ISR has left its epoch.

        So this leader commits nothing any more.
        """
        return all(
            committed.epoch <= self.leader_epoch[leader]
            or self.is_begun(self.isr[leader], self.leader_epoch[leader] + 1)
            for committed in self.committed
            for leader in Replica
            if self.presumes_leadership(leader)
        )


scenarios = [
    Scenario(Kip320History, "two_replicas", dict(replicas=2, max_leader_epoch=1),
        description="Two replicas, two epochs."),
    Scenario(Kip320History, "three_replicas", dict(max_leader_epoch=1), description="Three replicas, two epochs."),
    Scenario(Kip320History, "three_replicas_three_epochs", description="Three replicas, three leader epochs."),
]  # fmt: skip
