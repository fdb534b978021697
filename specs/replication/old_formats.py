"""Record formats without leader epochs (KAFKA-7897): entry R16 of docs/replication.md."""

from checker.language import Bug, Constant, step_invariant
from specs.replication.partition import Partition
from specs.replication.state import Replica


class OldFormats(Partition):
    """A topic whose records carry no leader epoch: their format is older than that of Kafka 0.11.

    A follower has to truncate to its high watermark, as before KIP-101. From 2.0.1 and 2.1.0 on a leader wrote the
    epoch of its election into the cache nevertheless (KAFKA-7415). The cache then had a few elections and none of the
    epochs in between, and followers truncated by it, below their high watermark.

    Source: KAFKA-7897; Partition.makeLeader and Log.leaderEpochCache of Kafka 2.1.0.
    """

    truncation = Constant("kip279", one_of=("high_watermark", "kip101", "kip279", "on_fetch"))
    truncates_cache_at_end = Constant(False)
    records_carry_epochs = Constant(False)

    @step_invariant(
        says="{follower} truncates to {len(self.log[follower])}; its high watermark is {old.high_watermark[follower]}, "
        "and its leader {leader} has the same record at offset {offset}"
    )
    def keeps_committed_records_of_its_leader(self, old):
        """No follower truncates a record below its high watermark that its leader has too."""
        return all(
            offset >= len(self.log[leader]) or self.log[leader][offset] != old.log[follower][offset]
            for follower in Replica
            for leader in Replica
            if self.leader[follower] == leader
            for offset in range(len(self.log[follower]), old.high_watermark[follower])
        )


SIZE = dict(replicas=2, log_size=1, max_records=1, max_leader_epoch=3, max_partition_epoch=3) | dict(
    crashes=0, preferred_elections=True, late_requests=False, lagging=False
)

scenarios = [
    Bug("sparse_epoch_cache", OldFormats, violates={"keeps_committed_records_of_its_leader": 19}, size=SIZE,
        faulty=dict(caches_epochs_of_old_formats=True),
        promises=["keeps_committed_records_of_its_leader", "record_is_acknowledged", "another_replica_leads"],
        description="KAFKA-7897: the cache has elections and no records, and a follower truncates committed records.",
        remedy="KAFKA-7897: no cache for formats without epochs. Followers truncate to their high watermark (R1)."),
]  # fmt: skip
