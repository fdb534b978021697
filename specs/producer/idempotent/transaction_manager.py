"""The idempotent client: sequence numbers, in-flight batches, retries and epoch bumps.

Sources (Apache Kafka, package `org.apache.kafka.clients.producer.internals`): `TransactionManager` and
`TxnPartitionEntry` (sequences), `RecordAccumulator` (queue, drain, re-enqueue), `Sender` (completion, expiry); KIP-98,
KIP-360; KAFKA-5494, KAFKA-8805, KAFKA-12152. A transactional id is not modelled.
"""

from checker.language import Enum, Map, Option, Range, Seq, SetOf, Struct
from specs.broker.producer_state import Batch, BatchId, Error, Offset, Partition, ProducerEpoch, ProducerState, Sequence


class Outcome(Enum):
    """The state of a batch's future."""

    PENDING = "pending"
    ACKED = "acked"
    FAILED = "failed"


class LastAcked(Range):
    """`TxnPartitionEntry.lastAckedSequence`; -1: none acknowledged yet."""

    low, high = -1, "max_sequence"


class SequenceEnd(Range):
    """A last sequence plus one; the client does not wrap it around."""

    low, high = 0, "max_sequence + 1"


class ProducerBatch(Struct):
    """`ProducerBatch`: its future, its identity, whether it was re-enqueued, and whether its identity is new."""

    outcome: Outcome
    offset: Option(Offset)
    epoch: ProducerEpoch
    sequence: Sequence
    retried: bool
    reset: bool
    shows = "{outcome} e{epoch} s{sequence}"


class TransactionManager(ProducerState, abstract=True):
    """The client. Every batch has one record, and the application has sent all of them before the first step.

    A subclass implements the network: `transmit` passes it a batch to send.
    """

    epoch = ProducerEpoch
    rewrite = SetOf(Partition)
    batch = Map(Partition, Map(BatchId, ProducerBatch))
    queue = Map(Partition, Seq(BatchId, "batches"))
    in_flight = Map(Partition, Seq(BatchId, "batches"))
    partition_epoch = Map(Partition, ProducerEpoch)
    next_sequence = Map(Partition, Sequence)
    last_acked = Map(Partition, LastAcked)
    unresolved = Map(Partition, Option(SequenceEnd))

    def init(self):
        for p in Partition:
            for b in BatchId:
                self.queue[p].append(b)

    # The client compares sequences as plain integers, which is wrong across the wrap-around (I12).

    def precedes(self, first, second):
        """Return whether a sequence is before another, in the order of the in-flight set and of the retries."""
        return first < second

    def is_next(self, partition, sequence):
        """Return whether a sequence follows the last acknowledged one. Source: `isNextSequence`."""
        return sequence - self.last_acked[partition] == 1

    def advance_last_acked(self, partition, sequence):
        """Advance the last acknowledged sequence. Source: `TxnPartitionEntry.maybeUpdateLastAckedSequence`."""
        self.last_acked[partition] = max(self.last_acked[partition], sequence)

    # Draining.

    def has_sequence(self, partition, b):
        """Return whether a batch has a sequence, which it keeps from its first drain until it completes."""
        return b in self.in_flight[partition]

    def can_drain(self, partition):
        """Return whether the first batch may be sent; a due epoch bump comes first.

        Source: `RecordAccumulator.shouldStopDrainBatchesForPartition`.
        """
        if len(self.queue[partition]) == 0 or len(self.rewrite) > 0:
            return False
        if self.has_sequence(partition, self.queue[partition][0]):
            return self.queue[partition][0] == self.in_flight[partition][0]
        if len(self.in_flight[partition]) > 0 and self.partition_epoch[partition] != self.epoch:
            return False
        return self.unresolved[partition] is None

    def assign_sequence(self, partition, b):
        """Assign a sequence on the first drain; an idle partition moves to the new epoch.

        Source: `RecordAccumulator.drainBatchesForOneNode`.
        """
        if self.partition_epoch[partition] != self.epoch and len(self.in_flight[partition]) == 0:
            self.start_sequences_at_beginning(partition)
        self.batch[partition][b].epoch = self.epoch
        self.batch[partition][b].sequence = self.next_sequence[partition]
        self.next_sequence[partition] = self.sequence_after(self.next_sequence[partition], 1)
        self.add_in_flight(partition, b)

    def add_in_flight(self, partition, b):
        """Add a batch to the in-flight set, sorted by epoch and sequence. Source: `inflightBatchesBySequence`."""
        position = 0
        for other in self.in_flight[partition]:
            if self.comes_before(partition, other, b):
                position += 1
        self.in_flight[partition].insert(position, b)

    def comes_before(self, partition, a, b):
        """Return whether batch `a` is before batch `b` in the in-flight set."""
        if self.batch[partition][a].epoch != self.batch[partition][b].epoch:
            return self.batch[partition][a].epoch < self.batch[partition][b].epoch
        return self.precedes(self.batch[partition][a].sequence, self.batch[partition][b].sequence)

    def remove_in_flight(self, partition, b):
        """Remove a batch from the in-flight set. Source: `TxnPartitionEntry.removeInFlightBatch`."""
        self.in_flight[partition] = [other for other in self.in_flight[partition] if other != b]

    def to_send(self, partition, b):
        """Return the batch under its current identity."""
        known = self.batch[partition][b]
        return Batch(id=b, epoch=known.epoch, sequence=known.sequence, records=1)

    # Completing.

    def complete(self, partition, b, error, offset):
        """Complete, retry or fail the batch of an answered request. Source: `Sender.completeBatch`."""
        if error == Error.NONE or error == Error.DUPLICATE_SEQUENCE_NUMBER:
            self.succeed(partition, b, offset)
            return
        retry = self.batch[partition][b].outcome == Outcome.PENDING and self.can_retry(partition, b, error)
        if retry:
            self.reenqueue(partition, b)
        elif self.batch[partition][b].outcome == Outcome.PENDING:
            self.fail(partition, b, error)

    def succeed(self, partition, b, offset):
        """Acknowledge a batch, unless it has expired. Source: `TransactionManager.handleCompletedBatch`."""
        self.advance_last_acked(partition, self.batch[partition][b].sequence)
        self.remove_in_flight(partition, b)
        if self.batch[partition][b].outcome == Outcome.PENDING:
            self.finish(partition, b, Outcome.ACKED, offset)

    def fail(self, partition, b, error):
        """Fail a permanently refused batch; later sequences no longer fit. Source: `handleFailedBatch`."""
        self.remove_in_flight(partition, b)
        self.finish(partition, b, Outcome.FAILED, None)
        self.request_epoch_bump(partition)

    def finish(self, partition, b, outcome, offset):
        """Complete the future and reset the other fields, which no longer matter."""
        self.batch[partition][b] = ProducerBatch(
            outcome=outcome, offset=offset, epoch=0, sequence=0, retried=False, reset=False
        )

    def can_retry(self, partition, b, error):
        """Return whether to retry, within retries and delivery timeout. Source: `TransactionManager.canRetry`."""
        if error == Error.UNKNOWN_PRODUCER_ID:
            return self.retry_unknown_producer(partition, b)
        if error == Error.OUT_OF_ORDER_SEQUENCE_NUMBER:
            return self.retry_out_of_order(partition, b)
        return self.is_retriable(error)

    def is_retriable(self, error):
        """Return whether the error is a RetriableException."""
        return (
            error == Error.NOT_LEADER_OR_FOLLOWER
            or error == Error.REQUEST_TIMED_OUT
            or error == Error.NETWORK_EXCEPTION
        )

    def retry_unknown_producer(self, partition, b):
        """Return True; request an epoch bump unless the batch has a new identity since its last send (KIP-360)."""
        if not self.batch[partition][b].reset:
            self.request_epoch_bump(partition)
        return True

    def retry_out_of_order(self, partition, b):
        """Return True; request an epoch bump if the broker should have taken this batch next (KAFKA-8805)."""
        if self.needs_new_epoch(partition, b):
            self.request_epoch_bump(partition)
        return True

    def needs_new_epoch(self, partition, b):
        """Return whether there is a gap that no earlier batch will fill."""
        if self.unresolved[partition] is not None:
            return self.batch[partition][b].sequence == self.unresolved[partition]
        return not self.batch[partition][b].reset and self.is_next(partition, self.batch[partition][b].sequence)

    def reenqueue(self, partition, b):
        """Insert a retry after the retries that precede it. Source: `RecordAccumulator.insertInSequenceOrder`."""
        self.batch[partition][b].retried = True
        position = 0
        for queued in self.queue[partition]:
            if not self.is_retried_before(partition, queued, b):
                break
            position += 1
        self.queue[partition].insert(position, b)

    def is_retried_before(self, partition, queued, b):
        """Return whether a batch in the queue has a lower sequence."""
        return self.has_sequence(partition, queued) and self.precedes(
            self.batch[partition][queued].sequence, self.batch[partition][b].sequence
        )

    def expire_batch(self, partition, b):
        """Fail an overdue batch; only a retried one is marked unresolved. Source: `Sender.sendProducerData`."""
        self.queue[partition] = [other for other in self.queue[partition] if other != b]
        self.remove_in_flight(partition, b)
        self.batch[partition][b].outcome = Outcome.FAILED
        if self.batch[partition][b].retried:
            self.mark_unresolved(partition, self.batch[partition][b].sequence + 1)

    def mark_unresolved(self, partition, end):
        """Mark a sequence unresolved: no fresh batch is drained until then. Source: `markSequenceUnresolved`."""
        if self.unresolved[partition] is None:
            self.unresolved[partition] = end
        else:
            self.unresolved[partition] = max(self.unresolved[partition], end)

    def resolve(self, partition):
        """Resolve: a later batch was acknowledged, or request an epoch bump. Source: `maybeResolveSequences`."""
        if not self.is_next(partition, self.next_sequence[partition]):
            self.request_epoch_bump(partition)
        self.unresolved[partition] = None

    # The epoch.

    def request_epoch_bump(self, partition):
        """Request an epoch bump. Source: `TransactionManager.requestEpochBumpForPartition`."""
        self.rewrite.add(partition)

    def bump(self):
        """Bump the epoch, without a request, and renumber the marked partitions.

        Source: `TransactionManager.bumpIdempotentProducerEpoch`.
        """
        self.epoch += 1
        for p in Partition:
            if p in self.rewrite:
                self.start_sequences_at_beginning(p)
                self.unresolved[p] = None
        self.rewrite.clear()

    def start_sequences_at_beginning(self, partition):
        """Give the batches in flight the epoch and sequences from 0. Source: `startSequencesAtBeginning`."""
        sequence = 0
        for b in self.in_flight[partition]:
            self.batch[partition][b].epoch = self.epoch
            self.batch[partition][b].sequence = sequence
            self.batch[partition][b].reset = True
            sequence += 1
        self.partition_epoch[partition] = self.epoch
        self.next_sequence[partition] = sequence
        self.last_acked[partition] = -1
