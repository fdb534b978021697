"""Idempotence before KIP-360: retention forgets producers, and the client begins again at 0 in the same epoch.

Sources: KIP-360; KAFKA-8710, KAFKA-8805, KAFKA-7190 (I4); KAFKA-8483, KAFKA-8484 (I5).
"""

from checker.language import Constant, Map, Range, action, require
from specs.broker.producer_state import BatchId, Offset, Partition
from specs.producer.idempotent.producer import IdempotentProducer
from specs.producer.idempotent.transaction_manager import Outcome


class RetentionProducer(IdempotentProducer):
    """Records are deleted, and with them, before 2.4, the producer state; the client bumps its epoch (KIP-360)."""

    no_state = Constant("unknown_producer_id", one_of=("any", "never_held", "full", "unknown_producer_id"))
    retention_forgets = Constant(True)
    max_retentions = Constant(1, at_least=0)
    max_leader_moves = Constant(0, at_least=0)

    log_start = Map(Partition, Offset)
    retentions = Range(0, "max_retentions")
    leader_moves = Range(0, "max_leader_moves")

    @action
    def delete_records(self, partition: Partition):
        """Retention deletes the whole log of the leader; the model keeps it, as what consumers may have read."""
        require(self.retentions < self.max_retentions)
        require(self.log_start[partition] < len(self.log[partition]))
        self.retentions += 1
        self.log_start[partition] = len(self.log[partition])
        if self.retention_forgets:
            self.forget(partition)

    @action
    def move_leader(self, partition: Partition):
        """A follower on which retention has deleted nothing yet becomes the leader: log start and state reappear."""
        require(self.leader_moves < self.max_leader_moves)
        self.leader_moves += 1
        self.drop_connection(partition)
        self.abandoned[partition] = None
        self.log_start[partition] = 0
        self.forgotten[partition] = 0
        self.load_from(partition, 0)

    def faults(self):
        """Retention and leader moves may cost an epoch too."""
        return super().faults() + self.retentions + self.leader_moves


class LegacyReset(RetentionProducer):
    """Until 2.4: where retention can explain UNKNOWN_PRODUCER_ID, all in flight restarts at 0, in the same epoch."""

    sequences_contiguous = None

    def retry_unknown_producer(self, partition, b):
        """`TransactionManager.canRetry` of 1.0 to 2.4, by the last acknowledged offset and the log's start."""
        if self.batch[partition][b].reset:
            return True
        if self.last_acked_offset(partition) < self.log_start[partition]:
            self.start_sequences_at_beginning(partition)
            return True
        return False

    def last_acked_offset(self, partition):
        """The highest offset that was acknowledged; -1: none."""
        return max((self.batch[partition][b].offset for b in BatchId if self.is_acked(partition, b)), default=-1)

    def is_acked(self, partition, b):
        """The future of the batch has an offset."""
        return self.batch[partition][b].outcome == Outcome.ACKED


class Position(Range):
    """A place in the in-flight heap."""

    low, high = 0, "2 * batches + 1"


class HeapOrder(LegacyReset):
    """The in-flight batches are a binary heap, and a reset numbers them in the heap's order (KAFKA-8483).

    `java.util.PriorityQueue`: after the first element is removed the last one takes its place and sinks.
    """

    def remove_in_flight(self, partition, b):
        """Only the head is ever removed here; the last element sinks from the root, three levels at most."""
        if len(self.in_flight[partition]) > 0 and self.in_flight[partition][0] == b:
            self.remove_head(partition)
        else:
            super().remove_in_flight(partition, b)

    def remove_head(self, partition):
        """`PriorityQueue.poll`."""
        last = self.in_flight[partition].pop()
        if len(self.in_flight[partition]) == 0:
            return
        first = self.sink(partition, 0, last)
        second = self.sink(partition, first, last)
        third = self.sink(partition, second, last)
        self.in_flight[partition][third] = last

    def sink(self, partition, hole: Position, last):
        """One step of `siftDown`: the smaller child moves up into the hole, unless `last` may stay there."""
        child = self.smaller_child(partition, hole)
        if child >= len(self.in_flight[partition]):
            return hole
        if self.comes_before(partition, last, self.in_flight[partition][child]):
            return hole
        self.in_flight[partition][hole] = self.in_flight[partition][child]
        return child

    def smaller_child(self, partition, position: Position):
        """The child with the lower sequence; past the end if there is none."""
        left = 2 * position + 1
        if left + 1 >= len(self.in_flight[partition]):
            return left
        heap = self.in_flight[partition]
        return left + 1 if self.comes_before(partition, heap[left + 1], heap[left]) else left
