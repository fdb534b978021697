"""The way of the high watermark to a follower, step by step; docs/high-watermark.md shows it."""

from checker.language import Scenario, SetOf, action, invariant, require
from specs.replication.partition import Partition
from specs.replication.state import Replica


class HighWatermarkWalk(Partition):
    """A leader and its followers without failures; the counterexample is the walk.

    `Partition` handles a fetch in one step, and its answer already has the high watermark to which that fetch has led.
    Here the leader works in Kafka's order: it reads the records and the high watermark, then counts the fetch, and then
    answers with what it has read. A fetch that finds no record waits, and is answered with what the leader has by then.

    Source: ReplicaManager.readFromLog, Partition.fetchRecords, Partition.maybeIncrementLeaderHW,
    DelayedFetch.onComplete, ReplicaFetcherThread.processPartitionData; read in 0.10.2.0, 2.0.0, 2.4.0 and 4.3.1.
    """

    waiting = SetOf(Replica)  # followers with a fetch in the leader's purgatory

    @action
    def leader_handle_fetch(self, follower: Replica):
        """A leader reads, counts the fetch, and answers with what it has read; without a record the fetch waits."""
        request = self.fetches[follower]
        require(request is not None and follower not in self.waiting)
        leader = request.leader
        if request.offset < len(self.log[leader]):
            self.fetches[follower] = None
            self.answer(leader, follower, request, None)
        else:
            self.waiting.add(follower)
        self.note_progress(leader, follower, request)

    @action
    def leader_complete_fetch(self, follower: Replica):
        """A fetch that waits is answered: a record has arrived, or replica.fetch.wait.max.ms has passed."""
        request = self.fetches[follower]
        require(request is not None and follower in self.waiting)
        self.waiting.remove(follower)
        self.fetches[follower] = None
        self.answer(request.leader, follower, request, None)

    @invariant(says="{follower} knows that its {self.log_size} records are committed")
    def some_record_is_not_known_to_be_committed(self):
        """No follower knows that the whole log is committed."""
        return all(self.high_watermark[follower] < self.log_size for follower in Replica if not self.leads(follower))


QUIET = dict(replicas=2, crashes=0, lagging=False, late_requests=False, max_leader_epoch=0, max_partition_epoch=0)
"""Nothing fails, no replica lags, and no request is late."""

scenarios = [
    Scenario(
        HighWatermarkWalk,
        "two_records",
        dict(QUIET, log_size=2, max_records=2),
        expect={"some_record_is_not_known_to_be_committed": 13},
        properties=["some_record_is_not_known_to_be_committed"],
        description="Two records: the follower learns only from the answer to its third fetch that the first one is "
        "committed.",
    ),
    Scenario(
        HighWatermarkWalk,
        "safe",
        dict(QUIET, replicas=3, log_size=2, max_records=2),
        properties=["strong_isr", "log_matching", "high_watermark_never_regresses", "record_is_acknowledged"],
        description="Three replicas: the high watermarks of the followers are late, and never too high.",
    ),
]
