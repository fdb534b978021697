"""KIP-320 without commitment: leader epochs, and logs with common prefixes.

These properties do not depend on which records are committed. So they are proved for any number of replicas, leader
epochs and records, and for logs of any length:

    python -m checker prove replication/fenced_logs/three_replicas --unbounded replicas --unbounded log_size \\
        --unbounded max_records --unbounded max_leader_epoch
"""

from checker.language import Scenario, invariant, lemma, step_invariant
from specs.replication.base import Replica
from specs.replication.kip320 import Kip320


class FencedLogs(Kip320):
    """KIP-320's leader epochs, high watermarks and logs, for any number of leader epochs and logs of any length.

    Source: KIP-320 (KAFKA-6880); `LeaderEpochFileCache` and `Partition` of Apache Kafka; TLA+ module Kip320.
    """

    weak_isr = None
    strong_isr = None
    log_matching = None
    everything_below_high_watermark_is_committed = None

    @lemma
    def record_epochs_ascend(self):
        """A log's epochs never fall. Stated for any two records, it needs no induction along the log."""
        return all(
            self.log[replica][earlier].epoch <= self.log[replica][later].epoch
            for replica in Replica
            for later in range(len(self.log[replica]))
            for earlier in range(later)
        )

    @lemma
    def record_epochs_are_bounded(self):
        """A record's leader epoch is at most its replica's."""
        return all(record.epoch <= self.leader_epoch[replica] for replica in Replica for record in self.log[replica])

    @step_invariant(says="{replica} went from leader epoch {old.leader_epoch[replica]} to {self.leader_epoch[replica]}")
    def leader_epochs_never_decrease(self, old):
        """A replica's leader epoch never decreases."""
        return all(self.leader_epoch[replica] >= old.leader_epoch[replica] for replica in Replica)

    @invariant(says="{replica}: high watermark {self.high_watermark[replica]}, {self.log[replica]}")
    def high_watermark_is_in_log(self):
        """A high watermark is at most the log end offset."""
        return all(self.high_watermark[replica] <= len(self.log[replica]) for replica in Replica)

    @invariant(says="{one} and {other} differ at offset {before}: {self.log[one]}, {self.log[other]}")
    def same_epoch_means_same_log(self):
        """If two logs have the same epoch at an offset, they are equal up to it."""
        return all(
            self.log[one][before] == self.log[other][before]
            for one in Replica
            for other in Replica
            for offset in range(min(len(self.log[one]), len(self.log[other])))
            if self.log[one][offset].epoch == self.log[other][offset].epoch
            for before in range(offset + 1)
        )


scenarios = [
    Scenario(FencedLogs, "two_replicas", dict(replicas=2, max_leader_epoch=1),
        description="Two replicas, two leader epochs."),
    Scenario(FencedLogs, "three_replicas", dict(max_leader_epoch=1), description="Three replicas, two epochs."),
]  # fmt: skip
