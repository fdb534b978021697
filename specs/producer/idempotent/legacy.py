"""Idempotence before KIP-360: retention deletes producer state, and the client restarts at 0 in the same epoch.

Sources: KIP-360; KAFKA-8710, KAFKA-8805, KAFKA-7190 (I4); KAFKA-8483, KAFKA-8484 (I5).
"""

from checker.language import Constant, Event, Map, Range, action, require
from specs.broker.producer_state import BatchId, Offset, Partition
from specs.producer.idempotent.producer import IdempotentProducer
from specs.producer.idempotent.transaction_manager import Outcome


class RetentionProducer(IdempotentProducer):
    """Retention deletes records, and before 2.4 also the producer state; the client bumps its epoch (KIP-360)."""

    draws = IdempotentProducer.draws.with_events(
        Event("delete_records", "Retention deletes the leader's log, and before 2.4 also what it knows of the producer",
            "retention", "f'leader of {partition}'", "lost state"),
        Event("move_leader", "A follower with its whole log leads", "new leader", "f'leader of {partition}'",
            "election"),
    )  # fmt: skip

    no_state = Constant("unknown_producer_id", one_of=("any", "never_held", "full", "unknown_producer_id"))
    retention_forgets = Constant(True)
    max_retentions = Constant(1, at_least=0)
    max_leader_moves = Constant(0, at_least=0)

    log_start = Map(Partition, Offset)
    retentions = Range(0, "max_retentions")
    leader_moves = Range(0, "max_leader_moves")

    @action
    def delete_records(self, partition: Partition):
        """Retention deletes the leader's log. The model keeps it, because consumers may have read it."""
        require(self.retentions < self.max_retentions)
        require(self.log_start[partition] < len(self.log[partition]))
        self.retentions += 1
        self.log_start[partition] = len(self.log[partition])
        if self.retention_forgets:
            self.forget(partition)

    @action
    def move_leader(self, partition: Partition):
        """A follower without a deletion becomes the leader: the old log start and the state reappear."""
        require(self.leader_moves < self.max_leader_moves)
        self.leader_moves += 1
        self.drop_connection(partition)
        self.abandoned[partition] = None
        self.log_start[partition] = 0
        self.forgotten[partition] = 0
        self.load_from(partition, 0)

    def faults(self):
        """Return the number of faults so far; retention and leader moves may also cause an epoch bump."""
        return super().faults() + self.retentions + self.leader_moves


class LegacyReset(RetentionProducer):
    """Until 2.4: if retention explains UNKNOWN_PRODUCER_ID, all batches in flight restart at 0 in the same epoch."""

    sequences_contiguous = None

    def retry_unknown_producer(self, partition, b):
        """Return whether to retry, by the last acknowledged offset and the log's start.

        Source: `TransactionManager.canRetry` of 1.0 to 2.4.
        """
        if self.batch[partition][b].reset:
            return True
        if self.last_acked_offset(partition) < self.log_start[partition]:
            self.start_sequences_at_beginning(partition)
            return True
        return False

    def last_acked_offset(self, partition):
        """Return the highest acknowledged offset, or -1."""
        # An acknowledged batch has an offset; with + 0 one without it would be an error.
        return max((self.batch[partition][b].offset + 0 for b in BatchId if self.is_acked(partition, b)), default=-1)

    def is_acked(self, partition, b):
        """Return whether the batch is acknowledged."""
        return self.batch[partition][b].outcome == Outcome.ACKED


class Position(Range):
    """A position in the in-flight heap."""

    low, high = 0, "2 * batches + 1"


class HeapOrder(LegacyReset):
    """The in-flight batches are a binary heap, and a reset numbers them in the heap's order (KAFKA-8483).

    As in `java.util.PriorityQueue`, the last element replaces a removed head and sinks.
    """

    def remove_in_flight(self, partition, b):
        """Remove a batch: for the head, the last element sinks from the root, at most three levels."""
        if len(self.in_flight[partition]) > 0 and self.in_flight[partition][0] == b:
            self.remove_head(partition)
        else:
            super().remove_in_flight(partition, b)

    def remove_head(self, partition):
        """Remove the head. Source: `PriorityQueue.poll`."""
        last = self.in_flight[partition].pop()
        if len(self.in_flight[partition]) == 0:
            return
        first = self.sink(partition, 0, last)
        second = self.sink(partition, first, last)
        third = self.sink(partition, second, last)
        self.in_flight[partition][third] = last

    def sink(self, partition, hole: Position, last):
        """Move the smaller child up unless `last` belongs in the hole; return the hole. Source: `siftDown`."""
        child = self.smaller_child(partition, hole)
        if child >= len(self.in_flight[partition]):
            return hole
        if self.comes_before(partition, last, self.in_flight[partition][child]):
            return hole
        self.in_flight[partition][hole] = self.in_flight[partition][child]
        return child

    def smaller_child(self, partition, position: Position):
        """Return the position of the child with the lower sequence, or one past the end."""
        left = 2 * position + 1
        if left + 1 >= len(self.in_flight[partition]):
            return left
        heap = self.in_flight[partition]
        return left + 1 if self.comes_before(partition, heap[left + 1], heap[left]) else left
