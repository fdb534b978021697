"""When to commit: a consumer that polls, processes and commits in one thread, and loses its partition.

Scenarios: entries C1, C2 and C4 of docs/consumer.md.
Sources: KafkaConsumer (class comment), ConsumerCoordinator.maybeAutoCommitOffsetsAsync, .close and .onJoinPrepare,
SubscriptionState.allConsumed of Apache Kafka.
"""

from checker.language import Arrow, Bug, Constant, Drawing, Event, Range, Scenario, Seq, action, reachable, require
from specs.consumer.consumer import Consumer, Count, RecordId
from specs.scenario_forms import violates


class PollLoop(Consumer):
    """`while true: records = poll(); for each record: process` in one thread, with a commit in between.

    `commit`: "before" commits the position right after the poll, before processing; "after" commits the position once
    all returned records are processed; "auto" (enable.auto.commit) commits the position inside a later poll, after
    auto.commit.interval.ms, before a rebalance takes the partition, and when the consumer is closed.
    """

    commit = Constant("after", one_of=("before", "after", "auto"))
    failures = Constant(0, at_least=0)  # exceptions that end the loop; `finally` closes the consumer
    rebalances = Constant(0, at_least=0)  # that take the partition from the consumer

    processed = Seq(RecordId, "records * (crashes + failures + rebalances + 1)")
    in_hand = Seq(RecordId, "max_poll_records")
    failures_left = Range(0, "failures")
    rebalances_left = Range(0, "rebalances")

    draws = Drawing(
        *Consumer.draws.lanes,
        arrows=(
            Arrow("poll", "'partition'", "'consumer'", "{count} from {position}"),
            Arrow("process", "'consumer'", "'effects'", "record {in_hand[0]}"),
            Arrow("commit_position", "'consumer'", "'partition'", "commit {position}"),
        ),
    ).with_events(
        *Consumer.draws.events,
        Event("init", "The consumer is at the beginning of the partition, and no offset is committed"),
        Event("poll", "A poll returns {count} record{'s'[:count - 1]} from offset {position} on", at="'consumer'"),
        Event("commit_position", "The consumer commits its position {position}", "commit {position}", "'consumer'"),
        Event("process", "The application processes record {in_hand[0]}", at="'consumer'", leaves_out=("processed",)),
        Event("fail_and_close", "An exception ends the loop, and the consumer is closed{', which commits its position "
            "' + str(position) if commit == 'auto' else ''}", "exception, close", "'consumer'", "shutdown"),
        Event("revoke", "A rebalance takes the partition from the consumer, inside poll{', which commits offset ' + "
            "str(position) + ' before' if commit == 'auto' else ''}", "revoked", "'consumer'", "shutdown"))  # fmt: skip

    def init(self):
        """The consumer starts; `failures` exceptions and `rebalances` may happen."""
        super().init()
        self.failures_left = self.failures
        self.rebalances_left = self.rebalances

    def held_records(self):
        """Return the records that poll returned and that are not yet processed."""
        return self.in_hand

    def drop_held_records(self):
        """Drop the held records: the process is gone."""
        self.in_hand.clear()

    @action
    def poll(self, count: Count):
        """Poll returns at most max.poll.records records; the loop polls again when all of them are processed."""
        require(len(self.in_hand) == 0)
        self.in_hand = self.next_records(count)
        self.position += count

    @action
    def commit_position(self):
        """The consumer commits its position, as commitSync without arguments and auto-commit do.

        Source: SubscriptionState.allConsumed.
        """
        require(self.position is not None and self.committed != self.position)
        # Poll auto-commits before it fetches; the loop has then processed all records of earlier polls.
        require(self.commit == "before" or len(self.in_hand) == 0)
        self.committed = self.position

    @action
    def process(self):
        """The application processes the next record, which has its effect."""
        require(len(self.in_hand) > 0)
        require(self.commit != "before" or self.committed == self.position)
        record = self.in_hand.pop(0)
        self.take_effect(record)

    def take_effect(self, record):
        """Record the effect of a record, a write or a send."""
        self.processed.append(record)

    @action
    def fail_and_close(self):
        """An exception ends the loop, and `finally` closes the consumer, which commits its position with auto-commit.

        Source: ConsumerCoordinator.close calls maybeAutoCommitOffsetsSync, even if records are unprocessed.
        """
        require(self.failures_left > 0)
        require(len(self.in_hand) > 0)
        self.failures_left -= 1
        if self.commit == "auto":
            self.committed = self.position
        self.stop()

    @action
    def revoke(self):
        """A rebalance takes the partition, with an automatic commit before; `start` gives it to another consumer.

        Both protocols call onPartitionsRevoked inside poll, when the loop has processed all returned records.
        Source: ConsumerCoordinator.onJoinPrepare, AbstractMembershipManager.maybeReconcile,
        AsyncKafkaConsumer.processBackgroundEvents.
        """
        require(self.rebalances_left > 0)
        require(self.position is not None and len(self.in_hand) == 0)
        self.rebalances_left -= 1
        if self.commit == "auto":
            self.committed = self.position
        self.stop()

    @reachable
    def everything_is_committed(self):
        """The committed offset is the end of the log."""
        return self.committed == self.records


class IdempotentSink(PollLoop):
    """The sink identifies each record and ignores duplicates, for example an upsert by key."""

    def take_effect(self, record):
        """Write a record unless the sink contains it."""
        if record not in self.processed:
            self.processed.append(record)

    @reachable
    def a_copy_is_dropped(self):
        """After a crash, poll returns a record again that the sink contains."""
        return self.crashes + self.failures == 0 or any(record in self.processed for record in self.in_hand)


class OffsetsInSink(PollLoop):
    """Effect and offset are written atomically: into the sink's database, or in one transaction.

    Source: KafkaConsumer (class comment, "Storing Offsets Outside Kafka"), KIP-98 (sendOffsetsToTransaction).
    """

    commit_position = None

    def take_effect(self, record):
        """Write effect and offset together."""
        self.processed.append(record)
        self.committed = record + 1


AT_LEAST_ONCE = ["no_gap", "no_reorder", "every_record_is_processed", "successor_finishes", "everything_is_committed"]
AT_MOST_ONCE = ["no_duplicate", "no_reorder", "no_late_copy", "every_record_is_processed", "successor_finishes",
    "everything_is_committed"]  # fmt: skip

LARGER = dict(records=4, max_poll_records=3, crashes=3, failures=1)

scenarios = [
    Bug("c1_commit_before_processing", PollLoop, violates={"no_gap": 5}, faulty=dict(commit="before"),
        fixed=dict(commit="after"), larger=LARGER, promises=AT_LEAST_ONCE,
        fixed_name="c1_fixed_commit_after_processing",
        description="C1: the process commits, then dies before processing; its successor starts after the record.",
        remedy="C1 with the commit after processing: no record is left out."),
    Scenario(PollLoop, "c1_at_most_once", dict(commit="before", records=4, max_poll_records=3, crashes=3),
        properties=AT_MOST_ONCE, description="C1: the benefit of committing first: no record is processed twice."),
    Bug("c2_commit_after_processing", PollLoop, violates={"no_duplicate": 7}, faulty=dict(records=1),
        fixed_spec=IdempotentSink, larger=LARGER, fixed_name="c2_fixed_idempotent_sink",
        description="C2: the process dies between processing and commit; its successor processes the record again.",
        remedy="C2 with a sink that ignores duplicates: no gap, no duplicate."),
    Bug("c2_replayed_out_of_order", PollLoop, violates={"no_late_copy": 8}, fixed_spec=OffsetsInSink, larger=LARGER,
        fixed_name="c2_fixed_offsets_in_sink",
        description="C2: both records of a poll are processed again: record 0 overwrites the effect of record 1.",
        remedy="C2 with the offset in the sink, or in the transaction that writes the effect: no gap, no duplicate."),
    Scenario(PollLoop, "c4_auto_commit_in_one_thread", dict(commit="auto", records=4, max_poll_records=3, crashes=3),
        properties=AT_LEAST_ONCE,
        description="C4 without worker threads: poll auto-commits first, when all returned records are processed."),
    violates(PollLoop, "c2_rebalance", dict(records=1, rebalances=1, crashes=0), {"no_duplicate": 7},
        "C2 in both group protocols: a rebalance takes the partition from a consumer that has not committed."),
    Scenario(PollLoop, "c2_rebalance_after_a_commit", dict(commit="auto", rebalances=2, crashes=0),
        description="C2: a consumer that commits before a rebalance takes the partition repeats no record."),
    violates(PollLoop, "c4_closed_after_an_exception", dict(commit="auto", failures=1, crashes=0), {"no_gap": 4},
        "C4 without worker threads: processing fails, and close() commits unprocessed records."),
]  # fmt: skip
