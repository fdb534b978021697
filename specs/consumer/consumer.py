"""A consumer and the offsets it commits: the base of the family's specs about one partition and one reader at a time.

Sources: SubscriptionState (FetchPosition, allConsumed), ConsumerCoordinator, OffsetFetcherUtils of Apache Kafka.
"""

from checker.language import (
    Constant,
    Drawing,
    Lane,
    Log,
    Option,
    Range,
    Seq,
    Spec,
    action,
    invariant,
    reachable,
    require,
)


class Offset(Range):
    """An offset, or the end of the log."""

    low, high = 0, "records"


class RecordId(Range):
    """Records are numbered in the order of the log."""

    low, high = 0, "records - 1"


class Count(Range):
    """How many records a poll returns."""

    low, high = 1, "max_poll_records"


class Consumer(Spec, abstract=True):
    """One partition and one consumer of a group; where its process dies, a successor starts from the committed offset.

    Position is the offset of the next record that `poll` returns, the committed offset that of the next record to be
    processed by whoever starts. What is between the two was returned: it is in the application's hands or processed.
    A subclass says what the application does with what it has in its hands, and which offset it commits when.

    The partition is three helpers: `log_start`, `readable_end` (the high watermark) and `record_at`. Here all of its
    records are there from the beginning; a spec with brokers overrides the three.
    """

    records = Constant(2, at_least=1)
    max_poll_records = Constant(2, at_least=1)
    auto_offset_reset = Constant("earliest", one_of=("earliest", "latest", "none"))
    crashes = Constant(1, at_least=0)

    position = Option(Offset)  # None: no consumer has the partition
    committed = Option(Offset)
    processed = Seq(RecordId, "records * (crashes + 1)")  # effects, in their order
    crashes_left = Range(0, "crashes")

    draws = Drawing(
        Lane("partition", logs=(Log("readable", markers={"committed": "committed"}, colour=".", called=("record",)),)),
        Lane(
            "consumer",
            boxes={"hands": "returned, not processed"},
            facts={"position": "position", "committed": "committed"},
        ),
        Lane("effects", logs=(Log("processed", end="", colour=".", called=("record",), at=()),)),
    )

    def init(self):
        """A consumer has the partition and is at its beginning; nothing is committed."""
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
        """Return what consumers may read, for drawings."""
        return [self.record_at(offset) for offset in range(self.readable_end())]

    # The application's hands.

    def hands(self):
        """Return the records that poll returned and that are not processed yet; a subclass says where they are."""
        return []

    def empty_hands(self):
        """The process is gone, and what it had in its hands."""
        return

    # The consumer.

    def next_records(self, count):
        """Return the next `count` records, which poll is about to return."""
        require(self.position is not None)
        require(self.position + count <= self.readable_end())
        return [self.record_at(offset) for offset in range(self.position, self.position + count)]

    def starting_offset(self):
        """Return where a consumer starts that is given the partition: auto.offset.reset, if nothing is committed.

        Source: ConsumerCoordinator.initWithCommittedOffsetsIfNeeded, SubscriptionState.resetInitializingPositions. It
        is None with auto.offset.reset=none: NoOffsetForPartitionException, and the application has to say.
        """
        if self.committed is not None:
            return self.committed
        if self.auto_offset_reset == "none":
            return None
        return self.log_start() if self.auto_offset_reset == "earliest" else self.readable_end()

    @action
    def start(self):
        """A consumer gets the partition: after a crash, a rebalance or a new deployment."""
        require(self.position is None)
        self.position = self.starting_offset()

    @action
    def crash(self):
        """The consumer's process dies. What it did stays done."""
        require(self.crashes_left > 0)
        require(self.position is not None)
        self.crashes_left -= 1
        self.stop()

    def stop(self):
        """Nobody has the partition any more."""
        self.position = None
        self.empty_hands()

    # Properties.

    @invariant(says="record {offset} is neither processed nor in anybody's hands; position {self.position}")
    def no_gap(self):
        """Every record below the position is processed, or in the hands of who will."""
        return self.position is None or all(self.is_taken(self.record_at(offset)) for offset in range(self.position))

    def is_taken(self, record):
        """Whether a record is processed, or in the application's hands."""
        return record in self.processed or record in self.hands()

    @invariant(says="record {record} is processed {self.processed.count(record)} times: {self.processed}")
    def no_duplicate(self):
        """No record is processed twice."""
        return all(self.processed.count(record) <= 1 for record in self.processed)

    @invariant(says="record {self.processed[i]} behind {self.processed[i - 1]}: {self.processed}")
    def no_reorder(self):
        """What is processed for the first time comes behind everything that was processed before."""
        return all(
            self.processed[i] in self.processed[:i] or all(record < self.processed[i] for record in self.processed[:i])
            for i in range(len(self.processed))
        )

    @invariant(says="record {self.processed[i]} behind {self.processed[i - 1]}: {self.processed}")
    def no_late_copy(self):
        """No record, processed before or not, is processed behind a later one: an old value never hides a newer."""
        return all(self.processed[i - 1] <= self.processed[i] for i in range(1, len(self.processed)))

    @reachable
    def every_record_is_processed(self):
        """All records are processed."""
        return all(record in self.processed for record in RecordId)

    @reachable
    def successor_finishes(self):
        """Where the process may die, the successor of the last one that does reaches the end of the log."""
        return self.crashes == 0 or (self.crashes_left == 0 and self.position == self.records)
