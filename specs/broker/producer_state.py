"""The broker's producer state: what a partition leader remembers of an idempotent producer, and when it answers what.

Sources (Apache Kafka, package `org.apache.kafka.storage.internals.log`): `ProducerStateEntry` (the cache of the last
five batches), `ProducerAppendInfo` (the epoch and sequence checks), `ProducerStateManager` (snapshots, expiry, reload),
`UnifiedLog` (duplicate test, append, truncation, clean close); KIP-98, KIP-360; KAFKA-5494, KAFKA-15591.

The model has one producer id. An offset is the position of a batch in the log, not of a record.
"""

from checker.language import Constant, Domain, Enum, Map, Option, Range, Seq, SetOf, Spec, Struct


class Partition(Domain):
    size, prefix = "partitions", "p"


class BatchId(Range):
    """The batches of one partition, in the order in which the application sent them."""

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


class Error(Enum):
    """The errors of a produce response that matter to an idempotent producer."""

    NONE = "none"
    DUPLICATE_SEQUENCE_NUMBER = "duplicate sequence number"
    OUT_OF_ORDER_SEQUENCE_NUMBER = "out of order sequence number"
    INVALID_PRODUCER_EPOCH = "invalid producer epoch"
    UNKNOWN_PRODUCER_ID = "unknown producer id"
    NOT_LEADER_OR_FOLLOWER = "not leader or follower"
    REQUEST_TIMED_OUT = "request timed out"
    INVALID_RECORD = "invalid record"
    NETWORK_EXCEPTION = "network exception"


class Batch(Struct):
    """A batch as it is sent and stored: its records (known by `id`) under the identity (epoch, base sequence)."""

    id: BatchId
    epoch: ProducerEpoch
    sequence: Sequence
    records: RecordCount
    shows = "{id}(e{epoch} s{sequence})"


class CachedBatch(Struct):
    """What `BatchMetadata` keeps of an appended batch: its sequence range and where it is."""

    sequence: Sequence
    records: RecordCount
    offset: Offset
    shows = "s{sequence}@{offset}"


class Answer(Struct):
    """What the leader answers to a produce request; `offset` is set where `error` is NONE."""

    error: Error
    offset: Option(Offset)


class ProducerState(Spec, abstract=True):
    """The log and the producer state of each partition, with the rules by which a leader takes a batch."""

    partitions = Constant(1, at_least=1)
    batches = Constant(2, at_least=1)
    log_size = Constant(4, at_least=1)
    max_epoch = Constant(1, at_least=0)
    max_sequence = Constant(7, at_least=1)
    max_batch_records = Constant(1, at_least=1)
    cache_size = Constant(5, at_least=1)
    """`ProducerStateEntry.NUM_BATCHES_TO_RETAIN`; 1 before KAFKA-5494 (Kafka 1.0)."""
    snapshot_batches = Constant(1, at_least=1)
    """How many batches of a producer a snapshot keeps: 1, as `ProducerStateManager.writeSnapshot` takes lastSeq()."""
    no_state = Constant("never_held", one_of=("any", "never_held", "full", "unknown_producer_id"))
    """What a leader without state for the producer accepts: any sequence (KIP-360, Kafka 2.5 to 4.4); any, but only 0
    where the log never held a record (KAFKA-15591, 4.5); only 0; only 0, else UNKNOWN_PRODUCER_ID (0.11 to 2.4)."""
    old_sequence = Constant("out_of_order", one_of=("out_of_order", "duplicate"))
    """The answer to a sequence below the cached ones. Kafka: out of order. Not Kafka's: DUPLICATE_SEQUENCE_NUMBER."""

    log = Map(Partition, Seq(Batch, "log_size"))
    producer_epoch = Map(Partition, Option(ProducerEpoch))
    cached = Map(Partition, Seq(CachedBatch, "cache_size"))
    snapshots = Map(Partition, SetOf(Offset))
    forgotten = Map(Partition, Offset)

    # Sequences.

    def sequence_after(self, sequence, records):
        """`DefaultRecordBatch.incrementSequence`: wraps around."""
        return (sequence + records) % (self.max_sequence + 1)

    def last_sequence(self, sequence, records):
        """The sequence of the last of some records, the first of which has `sequence`."""
        return self.sequence_after(sequence, records - 1)

    def end_sequence(self, partition):
        """The sequence after the last cached batch; there must be one."""
        last = self.cached[partition][len(self.cached[partition]) - 1]
        return self.sequence_after(last.sequence, last.records)

    # The answer to a produce request.

    def is_duplicate(self, partition, batch):
        """`ProducerStateEntry.findDuplicateBatch`: same epoch, exactly the range of a cached batch; not the content."""
        if self.producer_epoch[partition] is None or self.producer_epoch[partition] != batch.epoch:
            return False
        return any(c.sequence == batch.sequence and c.records == batch.records for c in self.cached[partition])

    def duplicate_offset(self, partition, batch):
        """Where the first batch with this range was appended."""
        return min(
            c.offset for c in self.cached[partition] if c.sequence == batch.sequence and c.records == batch.records
        )

    def check(self, partition, batch):
        """`ProducerAppendInfo.maybeValidateDataBatch` for a client's batch: the epoch, then the sequence."""
        if self.producer_epoch[partition] is None:
            return self.check_without_state(partition, batch)
        if batch.epoch < self.producer_epoch[partition]:
            return Error.INVALID_PRODUCER_EPOCH
        if batch.epoch != self.producer_epoch[partition] or len(self.cached[partition]) == 0:
            return Error.NONE if batch.sequence == 0 else Error.OUT_OF_ORDER_SEQUENCE_NUMBER
        if batch.sequence == self.end_sequence(partition):
            return Error.NONE
        if self.old_sequence == "duplicate" and self.is_old(partition, batch):
            return Error.DUPLICATE_SEQUENCE_NUMBER
        return Error.OUT_OF_ORDER_SEQUENCE_NUMBER

    def check_without_state(self, partition, batch):
        """The rule for a producer that the leader does not know (`no_state`)."""
        if batch.sequence == 0 or self.no_state == "any":
            return Error.NONE
        if self.no_state == "unknown_producer_id":
            return Error.UNKNOWN_PRODUCER_ID
        if self.no_state == "never_held" and len(self.log[partition]) > 0:
            return Error.NONE
        return Error.OUT_OF_ORDER_SEQUENCE_NUMBER

    def is_old(self, partition, batch):
        """The sequence lies in the half of the circle before the end: it was used already."""
        behind = (self.end_sequence(partition) - batch.sequence) % (self.max_sequence + 1)
        return behind > 0 and behind <= (self.max_sequence + 1) // 2

    def append_from_client(self, partition, batch):
        """`UnifiedLog.append` with origin CLIENT: first the duplicate test, then the checks, then the append."""
        if self.is_duplicate(partition, batch):
            return Answer(error=Error.NONE, offset=self.duplicate_offset(partition, batch))
        error = self.check(partition, batch)
        if error != Error.NONE:
            return Answer(error=error, offset=None)
        self.append_unchecked(partition, batch)
        return Answer(error=Error.NONE, offset=len(self.log[partition]) - 1)

    def append_unchecked(self, partition, batch):
        """The append itself; all there is to it with origin REPLICATION, where nothing is checked."""
        offset = len(self.log[partition])
        self.log[partition].append(batch)
        self.remember(partition, batch, offset)

    def remember(self, partition, batch, offset):
        """`ProducerStateEntry.addBatch`: a new epoch clears the cache, a full cache drops its oldest batch."""
        if self.producer_epoch[partition] is None or self.producer_epoch[partition] != batch.epoch:
            self.cached[partition].clear()
            self.producer_epoch[partition] = batch.epoch
        if len(self.cached[partition]) == self.cache_size:
            self.cached[partition].pop(0)
        self.cached[partition].append(CachedBatch(sequence=batch.sequence, records=batch.records, offset=offset))

    # Snapshots, reload, truncation, expiry.

    def take_snapshot(self, partition):
        """`ProducerStateManager.takeSnapshot` at the log's end: at a segment roll, a clean close, after a rebuild.

        Its content follows from its offset: the last `snapshot_batches` batches below it.
        """
        if len(self.log[partition]) > 0:
            self.snapshots[partition].add(len(self.log[partition]))

    def reload(self, partition):
        """`UnifiedLog.rebuildProducerState`: the newest snapshot within the log, then a replay of the log after it."""
        newest = max((o for o in self.snapshots[partition] if o <= len(self.log[partition])), default=0)
        self.load_from(partition, newest)
        self.snapshots[partition] = {o for o in self.snapshots[partition] if o <= len(self.log[partition])}
        self.take_snapshot(partition)

    def load_from(self, partition, snapshot):
        """The state that a snapshot at offset `snapshot` and a replay give; expired batches stay forgotten."""
        first = max(snapshot - self.snapshot_batches, self.forgotten[partition])
        self.producer_epoch[partition] = None
        self.cached[partition].clear()
        for offset in range(first, len(self.log[partition])):
            self.remember(partition, self.log[partition][offset], offset)

    def truncate(self, partition, end):
        """`UnifiedLog.truncateTo`: a follower drops what its new leader does not have, and reloads."""
        del self.log[partition][end:]
        self.forgotten[partition] = min(self.forgotten[partition], end)
        self.reload(partition)

    def forget(self, partition):
        """`ProducerStateManager.removeExpiredProducers` (before 2.4 also retention): the entry goes, the log stays."""
        self.forgotten[partition] = len(self.log[partition])
        self.producer_epoch[partition] = None
        self.cached[partition].clear()
