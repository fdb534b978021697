"""The way of the high watermark to a follower, step by step; docs/replication.md shows it."""

from checker.language import Scenario, action, invariant, require
from specs.replication.by_version import GUARDS, PROMISES, TWO_REPLICAS
from specs.replication.partition import Partition
from specs.replication.state import Replica
from specs.replication.versions import replication_rules
from specs.scenario_forms import violates


class HighWatermarkWalk(Partition):
    """A partition of which the leader answers a fetch in Kafka's order.

    It reads the records and the high watermark, then counts the fetch, and then answers with what it has read. A fetch
    that finds no record waits for one, or for replica.fetch.wait.max.ms, and the leader reads again when it answers.
    `Partition` always counts the fetch first: its followers know the high watermark one fetch earlier.

    Source: ReplicaManager.readFromLog, Partition.fetchRecords, Partition.maybeIncrementLeaderHW,
    DelayedFetch.onComplete, ReplicaFetcherThread.processPartitionData; read in 0.10.2.0, 2.0.0, 2.4.0 and 4.3.1.
    """

    @action
    def leader_handle_fetch(self, follower: Replica):
        """A leader reads, counts the fetch, and answers with what it has read."""
        request = self.fetches[follower]
        require(request is not None)
        leader = request.leader
        require(self.leads(leader))
        require(not self.fences_fetches or request.leader_epoch == self.leader_epoch[leader])
        self.fetches[follower] = None
        diverging = self.diverging(leader, request)
        finds_record = diverging is None and request.offset < len(self.log[leader])
        if finds_record:
            self.answer_if_awaited(leader, follower, request, diverging, self.high_watermark[leader])
        if diverging is None or self.counts_diverging_fetch:
            self.note_progress(leader, follower, request)
        if not finds_record:
            self.answer_if_awaited(leader, follower, request, diverging, self.high_watermark[leader])

    @invariant(says="{follower} knows that its {self.log_size} records are committed")
    def some_record_is_not_known_to_be_committed(self):
        """No follower knows that the whole log is committed; the counterexample is the walk."""
        return all(self.high_watermark[follower] < self.log_size for follower in Replica if not self.leads(follower))


scenarios = [
    violates(HighWatermarkWalk, "two_records",
        dict(replicas=2, log_size=2, max_records=2, max_leader_epoch=0, max_partition_epoch=0)
        | dict(crashes=0, lagging=False, late_requests=False), {"some_record_is_not_known_to_be_committed": 12},
        "Nothing fails: the follower learns only from the answer to its third fetch that the first record is "
        "committed."),
    Scenario(HighWatermarkWalk, "kafka_4_1", TWO_REPLICAS | replication_rules("4.1.0"), properties=[*PROMISES, *GUARDS],
        description="The rules of Kafka 4.1 with this order: later high watermarks violate no promise."),
]  # fmt: skip
