"""The broker's producer state: what a partition leader stores of an idempotent producer, and its answers.

Sources (Apache Kafka, package `org.apache.kafka.storage.internals.log`): `ProducerStateEntry` (the cache of the last
five batches), `ProducerAppendInfo` (the epoch and sequence checks), `ProducerStateManager` (snapshots, expiry, reload),
`UnifiedLog` (duplicate test, append, truncation, clean close); KIP-98, KIP-360; KAFKA-5494, KAFKA-15591.

The model has one producer id. An offset is the position of a batch in the log, not of a record.
"""

from checker.language import Constant, Domain, Map, Option, Range, Seq, SetOf, Struct
from specs.broker.sequence_rules import Error, SequenceRules


class Partition(Domain):
    size, prefix = "partitions", "p"


class BatchId(Range):
    """The number of a batch of a partition, in send order."""

    low, high = 0, "batches - 1"


class ProducerEpoch(Range):
    low, high = 0, "max_epoch"


class Sequence(Range):
    """A record's sequence number; after `max_sequence` (Kafka: Integer.MAX_VALUE) comes 0."""

    low, high = 0, "max_sequence"


class RecordCount(Range):
    low, high = 1, "max_batch_records"


class Offset(Range):
    """The position of a batch in a log, or the end of the log."""

    low, high = 0, "log_size"


class Batch(Struct):
    """A batch as it is sent and stored: its records (`id`) under the identity (epoch, base sequence)."""

    id: BatchId
    epoch: ProducerEpoch
    sequence: Sequence
    records: RecordCount
    shows = "{id}(e{epoch} s{sequence})"


class CachedBatch(Struct):
    """`BatchMetadata` of an appended batch: its sequence range and its offset."""

    sequence: Sequence
    records: RecordCount
    offset: Offset
    shows = "s{sequence}@{offset}"


class Answer(Struct):
    """The leader's answer to a produce request; `offset` is set if `error` is NONE."""

    error: Error
    offset: Option(Offset)


class ProducerState(SequenceRules, abstract=True):
    """The log and the producer state of each partition, with the leader's rules for a batch."""

    partitions = Constant(1, at_least=1)
    batches = Constant(2, at_least=1)
    log_size = Constant(4, at_least=1)
    max_epoch = Constant(1, at_least=0)
    max_sequence = Constant(7, at_least=1)
    max_batch_records = Constant(1, at_least=1)
    old_sequence = Constant("out_of_order", one_of=("out_of_order", "duplicate"))
    """The answer to a sequence below the cached ones: out of order in Kafka; DUPLICATE_SEQUENCE_NUMBER is a variant."""

    log = Map(Partition, Seq(Batch, "log_size"))
    producer_epoch = Map(Partition, Option(ProducerEpoch))
    cached = Map(Partition, Seq(CachedBatch, "cache_size"))
    snapshots = Map(Partition, SetOf(Offset))
    forgotten = Map(Partition, Offset)

    # Sequences.

    def sequence_after(self, sequence, records):
        """Return the sequence after some records, with wrap-around. Source: `DefaultRecordBatch.incrementSequence`."""
        return (sequence + records) % (self.max_sequence + 1)

    def last_sequence(self, sequence, records):
        """Return the sequence of the last of some records, if the first has `sequence`."""
        return self.sequence_after(sequence, records - 1)

    def end_sequence(self, partition):
        """Return the sequence after the last cached batch; there must be one."""
        last = self.cached[partition][len(self.cached[partition]) - 1]
        return self.sequence_after(last.sequence, last.records)

    # The answer to a produce request.

    def has_state(self, partition):
        """Return whether the leader has state for the producer."""
        return self.producer_epoch[partition] is not None

    def known_epoch(self, partition):
        """Return the producer epoch of the state; there must be state."""
        return self.producer_epoch[partition]

    def expected_sequence(self, partition):
        """Return the next sequence of the known epoch: 0 if a marker began it (`NO_SEQUENCE`)."""
        return 0 if len(self.cached[partition]) == 0 else self.end_sequence(partition)

    def remembers(self, partition, batch):
        """Return whether a cached batch has the sequence range of a batch."""
        return any(c.sequence == batch.sequence and c.records == batch.records for c in self.cached[partition])

    def holds_records(self, partition):
        """Return whether the log has ever held a record."""
        return len(self.log[partition]) > 0

    def duplicate_offset(self, partition, batch):
        """Return the offset of the first batch with this range."""
        return min(
            c.offset for c in self.cached[partition] if c.sequence == batch.sequence and c.records == batch.records
        )

    def refuse_sequence(self, partition, batch):
        """Return the error of a sequence that is not the expected one (`old_sequence`)."""
        if self.old_sequence == "duplicate" and len(self.cached[partition]) > 0 and self.is_old(partition, batch):
            return Error.DUPLICATE_SEQUENCE_NUMBER
        return Error.OUT_OF_ORDER_SEQUENCE_NUMBER

    def is_old(self, partition, batch):
        """Return whether the sequence was already used: it is in the half of the circle before the end."""
        behind = (self.end_sequence(partition) - batch.sequence) % (self.max_sequence + 1)
        return behind > 0 and behind <= (self.max_sequence + 1) // 2

    def append_from_client(self, partition, batch):
        """Handle a client's batch: duplicate test, checks, append. Source: `UnifiedLog.append` with origin CLIENT."""
        if self.is_duplicate(partition, batch):
            return Answer(error=Error.NONE, offset=self.duplicate_offset(partition, batch))
        error = self.check(partition, batch)
        if error != Error.NONE:
            return Answer(error=error, offset=None)
        self.append_unchecked(partition, batch)
        return Answer(error=Error.NONE, offset=len(self.log[partition]) - 1)

    def append_unchecked(self, partition, batch):
        """Append a batch without checks, as with origin REPLICATION."""
        offset = len(self.log[partition])
        self.log[partition].append(batch)
        self.remember(partition, batch, offset)

    def remember(self, partition, batch, offset):
        """Cache a batch; a new epoch clears the cache, a full cache evicts its oldest batch. Source: `addBatch`."""
        if self.producer_epoch[partition] is None or self.producer_epoch[partition] != batch.epoch:
            self.cached[partition].clear()
            self.producer_epoch[partition] = batch.epoch
        if len(self.cached[partition]) == self.cache_size:
            self.cached[partition].pop(0)
        self.cached[partition].append(CachedBatch(sequence=batch.sequence, records=batch.records, offset=offset))

    # Snapshots, reload, truncation, expiry.

    def take_snapshot(self, partition):
        """Take a snapshot at the log's end: at a segment roll, a clean close, after a rebuild. Source: `takeSnapshot`.

        Its content follows from its offset: the last `snapshot_batches` batches below it.
        """
        if len(self.log[partition]) > 0:
            self.snapshots[partition].add(len(self.log[partition]))

    def reload(self, partition):
        """Load the newest snapshot within the log and replay the log after it. Source: `rebuildProducerState`."""
        newest = max((o for o in self.snapshots[partition] if o <= len(self.log[partition])), default=0)
        self.load_from(partition, newest)
        self.snapshots[partition] = {o for o in self.snapshots[partition] if o <= len(self.log[partition])}
        self.take_snapshot(partition)

    def load_from(self, partition, snapshot):
        """Load the state from a snapshot at offset `snapshot` and a replay; expired batches stay forgotten."""
        first = max(snapshot - self.snapshot_batches, self.forgotten[partition])
        self.producer_epoch[partition] = None
        self.cached[partition].clear()
        for offset in range(first, len(self.log[partition])):
            self.remember(partition, self.log[partition][offset], offset)

    def truncate(self, partition, end):
        """Truncate a follower's log to its new leader's and reload the state. Source: `UnifiedLog.truncateTo`."""
        del self.log[partition][end:]
        self.forgotten[partition] = min(self.forgotten[partition], end)
        self.reload(partition)

    def forget(self, partition):
        """Remove the state but not the log. Source: `removeExpiredProducers`; before 2.4 also retention."""
        self.forgotten[partition] = len(self.log[partition])
        self.producer_epoch[partition] = None
        self.cached[partition].clear()
