"""A consumer and the offsets it commits: the base of the specs with one partition and one consumer at a time.

Sources: SubscriptionState (FetchPosition, allConsumed), ConsumerCoordinator, OffsetFetcherUtils of Apache Kafka.
"""

from checker.language import Constant, Option, Range, Seq, Spec, action, invariant, reachable, require
from checker.language.drawing import Drawing, Event, Lane, Log


class Offset(Range):
    """An offset, or the end of the log."""

    low, high = 0, "records"


class RecordId(Range):
    """Records are numbered in the order of the log."""

    low, high = 0, "records - 1"


class Count(Range):
    """The number of records that a poll returns."""

    low, high = 1, "max_poll_records"


class Consumer(Spec, abstract=True):
    """One partition and one consumer of a group. After a crash, a successor starts from the committed offset.

    The position is the offset of the next record that `poll` returns. The committed offset is the offset from which a
    successor starts. Poll has returned the records between the two: the application has processed them or holds them.
    A subclass defines how the application processes the records that it holds, and which offset it commits when.

    Three helpers define the partition: `log_start`, `readable_end` (the high watermark) and `record_at`. Here the log
    contains all records from the beginning; a spec with brokers overrides the three helpers.
    """

    records = Constant(2, at_least=1)
    max_poll_records = Constant(2, at_least=1)
    auto_offset_reset = Constant("earliest", one_of=("earliest", "latest", "none"))
    crashes = Constant(1, at_least=0)

    position = Option(Offset)  # None: no consumer owns the partition
    committed = Option(Offset)
    processed = Seq(RecordId, "records * (crashes + 1)")  # effects, in order
    crashes_left = Range(0, "crashes")

    draws = Drawing(
        Lane("partition", logs=(Log("readable", markers={"committed": "committed"}, colour=".", called=("record",)),)),
        Lane("consumer", boxes={"held_records": "returned, not processed"},
            facts={"position": "position", "committed": "committed"}),
        Lane("effects", logs=(Log("processed", end="", colour=".", called=("record",), at=()),)),
    ).with_events(
        Event("crash", "The consumer's process dies", kind="crash", at="'consumer'"),
        Event("start", "A consumer is assigned the partition, and {'begins at the committed offset ' + str(committed) "
            "if committed is not None else 'has no committed offset: auto.offset.reset=' + str(auto_offset_reset) + ', "
            "position ' + str(starting_offset())}", kind="restart", at="'consumer'"))  # fmt: skip

    def init(self):
        """The consumer owns the partition and is at its beginning; no offset is committed."""
        self.position = self.log_start()
        self.crashes_left = self.crashes

    # The partition.

    def log_start(self):
        """Return the log start offset."""
        return 0

    def readable_end(self):
        """Return the offset up to which consumers may read: the high watermark."""
        return self.records

    def record_at(self, offset):
        """Return the record at an offset."""
        return offset

    def readable(self):
        """Return the records that consumers may read, for drawings."""
        return [self.record_at(offset) for offset in range(self.readable_end())]

    # The application.

    def held_records(self):
        """Return the records that poll returned and that are not yet processed; a subclass stores them."""
        return []

    def drop_held_records(self):
        """Drop the held records: the process is gone."""
        return

    # The consumer.

    def next_records(self, count):
        """Return the next `count` records for poll."""
        require(self.position is not None)
        require(self.position + count <= self.readable_end())
        return [self.record_at(offset) for offset in range(self.position, self.position + count)]

    def starting_offset(self):
        """Return the offset at which a new owner of the partition starts; auto.offset.reset applies without a commit.

        The result is None with auto.offset.reset=none: the consumer throws NoOffsetForPartitionException, and the
        application has to seek.
        Source: ConsumerCoordinator.initWithCommittedOffsetsIfNeeded, SubscriptionState.resetInitializingPositions.
        """
        if self.committed is not None:
            return self.committed
        if self.auto_offset_reset == "none":
            return None
        return self.log_start() if self.auto_offset_reset == "earliest" else self.readable_end()

    @action
    def start(self):
        """A consumer is assigned the partition, after a crash, a rebalance or a new deployment."""
        require(self.position is None)
        self.position = self.starting_offset()

    @action
    def crash(self):
        """The consumer's process dies. Its effects and commits remain."""
        require(self.crashes_left > 0)
        require(self.position is not None)
        self.crashes_left -= 1
        self.stop()

    def stop(self):
        """Leave the partition without an owner."""
        self.position = None
        self.drop_held_records()

    # Properties.

    @invariant(says="record {offset} is neither processed nor held by the application; position {self.position}")
    def no_gap(self):
        """Every record below the position is processed or held by the application."""
        return self.position is None or all(
            self.is_processed_or_held(self.record_at(offset)) for offset in range(self.position)
        )

    def is_processed_or_held(self, record):
        """Return whether a record is processed, or held by the application."""
        return record in self.processed or record in self.held_records()

    @invariant(says="record {record} is processed {self.processed.count(record)} times: {self.processed}")
    def no_duplicate(self):
        """No record is processed twice."""
        return all(self.processed.count(record) <= 1 for record in self.processed)

    @invariant(says="record {self.processed[i]} is processed after {self.processed[i - 1]}: {self.processed}")
    def no_reorder(self):
        """A record that is processed for the first time is later in the log than all records processed before."""
        return all(
            self.processed[i] in self.processed[:i] or all(record < self.processed[i] for record in self.processed[:i])
            for i in range(len(self.processed))
        )

    @invariant(says="record {self.processed[i]} is processed after {self.processed[i - 1]}: {self.processed}")
    def no_late_copy(self):
        """No record, new or repeated, is processed after a later record: an old value never overwrites a newer one."""
        return all(self.processed[i - 1] <= self.processed[i] for i in range(1, len(self.processed)))

    @reachable
    def every_record_is_processed(self):
        """All records are processed."""
        return all(record in self.processed for record in RecordId)

    @reachable
    def successor_finishes(self):
        """If the process may crash, a consumer reaches the end of the log after the last crash."""
        return self.crashes == 0 or (self.crashes_left == 0 and self.position == self.records)
