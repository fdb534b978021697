"""The idempotent producer with acks=all, and what Kafka promises of it.

`transaction_manager` has the client, `idempotent_connection` the wire and the faults, `specs.broker.producer_state` the
broker. Sources: KIP-98, KIP-360, the documentation of enable.idempotence, and the classes named there.
"""

from checker.language import invariant, reachable
from specs.broker.producer_state import BatchId, Error, Partition
from specs.producer.idempotent.connection import IdempotentConnection
from specs.producer.idempotent.transaction_manager import Outcome


class IdempotentProducer(IdempotentConnection):
    """An idempotent producer as Apache Kafka's client is one, with a broker as Apache Kafka's is."""

    @invariant(says="{p}: batch {b} is in the log more than once: {self.log[p]}")
    def no_duplicate(self):
        """A batch is in the log once."""
        return all(self.copies(p, b) <= 1 for p in Partition for b in BatchId)

    def copies(self, partition, b):
        """How often a batch is in the log."""
        return sum(1 for entry in self.log[partition] if entry.id == b)

    @invariant(says="{p}: batch {b} comes after a later one: {self.log[p]}")
    def no_reorder(self):
        """The first copies of the batches stand in the order in which they were sent."""
        return all(self.is_in_order(p, b) for p in Partition for b in BatchId)

    def is_in_order(self, partition, b):
        """No later batch comes before the first copy of `b`."""
        first = min((o for o in range(len(self.log[partition])) if self.log[partition][o].id == b), default=0)
        return all(self.log[partition][o].id < b for o in range(first))

    @invariant(says="{p}: {self.log[p]} misses batch {b}, which is still to be delivered")
    def no_gap(self):
        """A batch enters the log after every earlier one that is still to be delivered."""
        return all(
            not self.is_pending(p, b) or self.copies(p, b) > 0 or all(entry.id < b for entry in self.log[p])
            for p in Partition
            for b in BatchId
        )

    @invariant(says="{p}: batch {b} was acknowledged, and the log is {self.log[p]}")
    def no_acked_loss(self):
        """An acknowledged batch is in the log."""
        return all(
            self.batch[p][b].outcome != Outcome.ACKED or self.copies(p, b) > 0 for p in Partition for b in BatchId
        )

    @invariant(says="{p}: batch {b} was acknowledged at offset {self.batch[p][b].offset}: {self.log[p]}")
    def ack_true(self):
        """A future that succeeded with an offset names the place where the batch is."""
        return all(
            self.batch[p][b].offset is None or self.is_at(p, b, self.batch[p][b].offset)
            for p in Partition
            for b in BatchId
        )

    def is_at(self, partition, b, offset):
        """The log has the batch at this offset."""
        return offset < len(self.log[partition]) and self.log[partition][offset].id == b

    @invariant(says="{p}: the batch at offset {o} does not continue its epoch: {self.log[p]}")
    def sequences_contiguous(self):
        """Within an epoch sequences follow each other, and an epoch begins at 0."""
        return all(self.continues(p, o) for p in Partition for o in range(len(self.log[p])))

    def continues(self, partition, offset):
        """The batch at `offset` follows the one before, or begins an epoch at 0, or is the first of all."""
        entry = self.log[partition][offset]
        if offset == 0:
            return entry.sequence == 0 or self.first_sequence > 0
        before = self.log[partition][offset - 1]
        if before.epoch != entry.epoch:
            return entry.sequence == 0
        return entry.sequence == self.sequence_after(before.sequence, 1)

    @invariant(says="{p}: {self.requests[p]}")
    def in_flight_bound(self):
        """No more than max.in.flight requests are on a connection, each for another batch."""
        return all(
            len(self.requests[p]) <= self.max_in_flight
            and all(sum(1 for r in self.requests[p] if r.batch.id == b) <= 1 for b in BatchId)
            for p in Partition
        )

    @invariant(says="{p}: the oldest batch in flight, {self.in_flight[p]}, is refused and sent again without end")
    def no_endless_retry(self):
        """The broker does not refuse for ever what the client sends again without end."""
        return not any(self.is_hopeless(p) for p in Partition)

    def is_hopeless(self, partition):
        """Only the oldest batch in flight may be sent; it is out of order, and that brings no new epoch."""
        if len(self.in_flight[partition]) == 0 or len(self.requests[partition]) > 0 or len(self.rewrite) > 0:
            return False
        if self.abandoned[partition] is not None:
            return False
        oldest = self.in_flight[partition][0]
        return self.is_refused(partition, oldest) and not self.would_bump(partition, oldest)

    def is_refused(self, partition, b):
        """The leader would answer OUT_OF_ORDER_SEQUENCE_NUMBER."""
        sent = self.to_send(partition, b)
        if self.is_duplicate(partition, sent):
            return False
        return self.check(partition, sent) == Error.OUT_OF_ORDER_SEQUENCE_NUMBER

    def would_bump(self, partition, b):
        """The answer would bring a new epoch; a drain forgets that the identity is new."""
        if self.unresolved[partition] is not None:
            return self.batch[partition][b].sequence == self.unresolved[partition]
        return self.is_next(partition, self.batch[partition][b].sequence)

    @invariant(says="epoch {self.epoch}")
    def bumps_have_causes(self):
        """Every epoch bump has a fault to answer for it."""
        return self.epoch <= self.faults()

    @invariant(says="{self.batch}")
    def failures_have_causes(self):
        """A future fails only because the broker rejected its batch or because its time was over."""
        failed = sum(1 for p in Partition for b in BatchId if self.batch[p][b].outcome == Outcome.FAILED)
        return failed <= self.rejections + self.timeouts

    @invariant(says="{p}: nothing can happen any more, and {b} is not delivered")
    def no_dead_end(self):
        """As long as a batch is to be delivered the client has something to send or to wait for."""
        return all(
            not self.is_pending(p, b)
            or len(self.requests[p]) > 0
            or len(self.rewrite) > 0
            or self.unresolved[p] is not None
            or self.can_drain(p)
            for p in Partition
            for b in BatchId
        )

    @reachable
    def all_acked(self):
        """Every batch is delivered."""
        return all(self.batch[p][b].outcome == Outcome.ACKED for p in Partition for b in BatchId)

    @reachable
    def duplicate_recognised(self):
        """A retry of a batch that is not the last one is answered with its offset, where a fault makes one needed."""
        return not self.may_lose_two_responses() or any(
            request.answered
            and request.offset is not None
            and request.offset + 1 < len(self.log[p])
            and any(entry.id in self.queue[p] for entry in self.log[p])
            for p in Partition
            for request in self.requests[p]
        )

    def may_lose_two_responses(self):
        """Two batches may be in flight when a connection breaks."""
        fresh = self.batches - 1 if self.first_sequence > 0 else self.batches
        return fresh > 1 and self.max_in_flight > 1 and self.max_disconnects > 0
