"""When to commit: a consumer that polls, processes and commits in one thread, and what its crash makes of that.

Scenarios: entries C1, C2 and C4 of docs/consumer.md.
Sources: KafkaConsumer (class comment), ConsumerCoordinator.maybeAutoCommitOffsetsAsync, .close and .onJoinPrepare,
SubscriptionState.allConsumed of Apache Kafka.
"""

from checker.language import Arrow, Constant, Drawing, Range, Scenario, Seq, action, reachable, require
from specs.consumer.consumer import Consumer, Count, RecordId


class PollLoop(Consumer):
    """`while true: records = poll(); for each record: process` in one thread, with a commit somewhere in between.

    `commit`: "before" commits the position right after the poll and processes then; "after" commits the position once
    everything returned is processed; "auto" (enable.auto.commit) commits the position inside a later poll, if
    auto.commit.interval.ms is over, and when the consumer is closed.
    """

    commit = Constant("after", one_of=("before", "after", "auto"))
    failures = Constant(0, at_least=0)  # exceptions in processing that leave the loop; `finally` closes the consumer

    processed = Seq(RecordId, "records * (crashes + failures + 1)")
    in_hand = Seq(RecordId, "max_poll_records")
    failures_left = Range(0, "failures")

    draws = Drawing(
        *Consumer.draws.lanes,
        arrows=(
            Arrow("poll", "'partition'", "'consumer'", "{count} from {position}"),
            Arrow("process", "'consumer'", "'effects'", "record {in_hand[0]}"),
            Arrow("commit_position", "'consumer'", "'partition'", "commit {position}"),
        ),
    )

    def init(self):
        """Faults to come."""
        super().init()
        self.failures_left = self.failures

    def hands(self):
        """Return the records that poll returned and that are not processed yet."""
        return self.in_hand

    def empty_hands(self):
        """The process is gone, and what it had in its hands."""
        self.in_hand.clear()

    @action
    def poll(self, count: Count):
        """Return the next records, max.poll.records at most; the loop polls when it is done with the last ones."""
        require(len(self.in_hand) == 0)
        self.in_hand = self.next_records(count)
        self.position += count

    @action
    def commit_position(self):
        """Commit the position: what commitSync without arguments and auto-commit do (SubscriptionState.allConsumed)."""
        require(self.position is not None and self.committed != self.position)
        # Auto-commit is the first thing in poll, when the loop is done with what earlier polls returned.
        require(self.commit == "before" or len(self.in_hand) == 0)
        self.committed = self.position

    @action
    def process(self):
        """Process the next record: its effect is there."""
        require(len(self.in_hand) > 0)
        require(self.commit != "before" or self.committed == self.position)
        record = self.in_hand.pop(0)
        self.take_effect(record)

    def take_effect(self, record):
        """The effect of a record: it is written somewhere, or sent."""
        self.processed.append(record)

    @action
    def fail_and_close(self):
        """An exception ends the loop, and `finally` closes the consumer, which commits positions if it commits at all.

        Source: ConsumerCoordinator.close calls maybeAutoCommitOffsetsSync, whatever the application has processed.
        """
        require(self.failures_left > 0)
        require(len(self.in_hand) > 0)
        self.failures_left -= 1
        if self.commit == "auto":
            self.committed = self.position
        self.stop()

    @reachable
    def everything_is_committed(self):
        """The committed offset is the end of the log."""
        return self.committed == self.records


class IdempotentSink(PollLoop):
    """The sink knows each record by an identity of its own, and drops what it has: an upsert by key, for instance."""

    def take_effect(self, record):
        """Write a record unless it is there."""
        if record not in self.processed:
            self.processed.append(record)

    @reachable
    def a_copy_is_dropped(self):
        """After a crash a record comes again whose effect is there."""
        return self.crashes + self.failures == 0 or any(record in self.processed for record in self.in_hand)


class OffsetsInSink(PollLoop):
    """The offset is written with the effect, atomically: into the sink's own database, or in the same transaction.

    Source: KafkaConsumer (class comment, "Storing Offsets Outside Kafka"), KIP-98 (sendOffsetsToTransaction).
    """

    commit_position = None

    def take_effect(self, record):
        """Write effect and offset in one."""
        self.processed.append(record)
        self.committed = record + 1


AT_LEAST_ONCE = ["no_gap", "no_reorder", "every_record_is_processed", "successor_finishes", "everything_is_committed"]
AT_MOST_ONCE = [
    "no_duplicate",
    "no_reorder",
    "no_late_copy",
    "every_record_is_processed",
    "successor_finishes",
    "everything_is_committed",
]

scenarios = [
    Scenario(
        PollLoop,
        "c1_commit_before_processing",
        dict(commit="before"),
        expect={"no_gap": 5},
        properties=["no_gap"],
        description="C1: the process commits, then dies before processing; its successor starts behind the record.",
    ),
    Scenario(
        PollLoop,
        "c1_at_most_once",
        dict(commit="before", records=4, max_poll_records=3, crashes=3),
        properties=AT_MOST_ONCE,
        description="C1: what committing first is good for: no record is processed twice.",
    ),
    Scenario(
        PollLoop,
        "c1_fixed_commit_after_processing",
        dict(commit="after"),
        properties=AT_LEAST_ONCE,
        description="C1 with the commit behind the processing: no record is left out.",
    ),
    Scenario(
        PollLoop,
        "c1_fixed_commit_after_processing_larger",
        dict(commit="after", records=4, max_poll_records=3, crashes=3, failures=1),
        properties=AT_LEAST_ONCE,
        description="C1 with the commit behind the processing, four records, three crashes and an exception.",
    ),
    Scenario(
        PollLoop,
        "c2_commit_after_processing",
        dict(commit="after", records=1),
        expect={"no_duplicate": 7},
        properties=["no_duplicate"],
        description="C2: the process dies between processing and commit; its successor processes the record again.",
    ),
    Scenario(
        PollLoop,
        "c2_replayed_out_of_order",
        dict(commit="after"),
        expect={"no_late_copy": 8},
        properties=["no_late_copy"],
        description="C2: both records of a poll are processed again: record 0 overwrites the effect of record 1.",
    ),
    Scenario(
        IdempotentSink,
        "c2_fixed_idempotent_sink",
        dict(commit="after"),
        description="C2 with a sink that knows what it has: no gap, no copy.",
    ),
    Scenario(
        IdempotentSink,
        "c2_fixed_idempotent_sink_larger",
        dict(commit="after", records=4, max_poll_records=3, crashes=3, failures=1),
        description="C2 with such a sink, four records, three crashes and an exception.",
    ),
    Scenario(
        OffsetsInSink,
        "c2_fixed_offsets_in_sink",
        description="C2 with the offset in the sink, or in the transaction that writes the effect: no gap, no copy.",
    ),
    Scenario(
        OffsetsInSink,
        "c2_fixed_offsets_in_sink_larger",
        dict(records=4, max_poll_records=3, crashes=3, failures=1),
        description="C2 with the offset in the sink, four records, three crashes and an exception.",
    ),
    Scenario(
        PollLoop,
        "c4_auto_commit_in_one_thread",
        dict(commit="auto", records=4, max_poll_records=3, crashes=3),
        properties=AT_LEAST_ONCE,
        description="C4 without worker threads: poll auto-commits first, when all returned records are processed.",
    ),
    Scenario(
        PollLoop,
        "c4_closed_after_an_exception",
        dict(commit="auto", failures=1, crashes=0),
        expect={"no_gap": 4},
        properties=["no_gap"],
        description="C4 without worker threads: processing fails, and close() commits what is not processed.",
    ),
]
