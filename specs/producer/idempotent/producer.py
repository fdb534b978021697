"""The idempotent producer with acks=all, and its guarantees as properties.

`transaction_manager` has the client, `connection` the network and the faults, `specs.broker.producer_state` the broker.
Sources: KIP-98, KIP-360, the documentation of enable.idempotence, and the classes that these modules name.
"""

from checker.language import invariant, reachable
from specs.broker.producer_state import BatchId, Error, Partition
from specs.producer.idempotent.connection import IdempotentConnection
from specs.producer.idempotent.transaction_manager import Outcome


class IdempotentProducer(IdempotentConnection):
    """Apache Kafka's idempotent producer and a broker of Apache Kafka."""

    @invariant(says="{p}: batch {b} is in the log more than once: {self.log[p]}")
    def no_duplicate(self):
        """No batch is in the log twice."""
        return all(self.copies(p, b) <= 1 for p in Partition for b in BatchId)

    def copies(self, partition, b):
        """Return the number of copies of a batch in the log."""
        return sum(1 for entry in self.log[partition] if entry.id == b)

    @invariant(says="{p}: batch {b} is after a later batch: {self.log[p]}")
    def no_reorder(self):
        """The first copies of the batches are in send order."""
        return all(self.is_in_order(p, b) for p in Partition for b in BatchId)

    def is_in_order(self, partition, b):
        """Return whether no later batch is before the first copy of `b`."""
        first = min((o for o in range(len(self.log[partition])) if self.log[partition][o].id == b), default=0)
        return all(self.log[partition][o].id < b for o in range(first))

    @invariant(says="{p}: {self.log[p]} lacks batch {b}, which is undelivered")
    def no_gap(self):
        """A batch enters the log after every earlier undelivered batch."""
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
        """A successful future with an offset has the offset of its batch."""
        return all(
            self.batch[p][b].offset is None or self.is_at(p, b, self.batch[p][b].offset)
            for p in Partition
            for b in BatchId
        )

    def is_at(self, partition, b, offset):
        """Return whether the log has the batch at this offset."""
        return offset < len(self.log[partition]) and self.log[partition][offset].id == b

    @invariant(says="{p}: the batch at offset {o} does not continue its epoch: {self.log[p]}")
    def sequences_contiguous(self):
        """Within an epoch sequences are contiguous, and an epoch begins at 0."""
        return all(self.continues(p, o) for p in Partition for o in range(len(self.log[p])))

    def continues(self, partition, offset):
        """Return whether the batch at `offset` continues its predecessor, begins an epoch at 0, or is the first."""
        entry = self.log[partition][offset]
        if offset == 0:
            return entry.sequence == 0 or self.first_sequence > 0
        before = self.log[partition][offset - 1]
        if before.epoch != entry.epoch:
            return entry.sequence == 0
        return entry.sequence == self.sequence_after(before.sequence, 1)

    @invariant(says="{p}: {self.requests[p]}")
    def in_flight_bound(self):
        """At most max.in.flight requests are on a connection, each for a different batch."""
        return all(
            len(self.requests[p]) <= self.max_in_flight
            and all(sum(1 for r in self.requests[p] if r.batch.id == b) <= 1 for b in BatchId)
            for p in Partition
        )

    @invariant(says="{p}: the oldest batch in flight, {self.in_flight[p]}, is refused and resent forever")
    def no_endless_retry(self):
        """The broker does not refuse a batch forever while the client keeps resending it."""
        return not any(self.is_hopeless(p) for p in Partition)

    def is_hopeless(self, partition):
        """Return whether only the oldest batch in flight may be sent, is out of order, and causes no epoch bump."""
        if len(self.in_flight[partition]) == 0 or len(self.requests[partition]) > 0 or len(self.rewrite) > 0:
            return False
        if self.abandoned[partition] is not None:
            return False
        oldest = self.in_flight[partition][0]
        return self.is_refused(partition, oldest) and not self.would_bump(partition, oldest)

    def is_refused(self, partition, b):
        """Return whether the leader would answer OUT_OF_ORDER_SEQUENCE_NUMBER."""
        sent = self.to_send(partition, b)
        if self.is_duplicate(partition, sent):
            return False
        return self.check(partition, sent) == Error.OUT_OF_ORDER_SEQUENCE_NUMBER

    def would_bump(self, partition, b):
        """Return whether that answer would bump the epoch; a drain clears the mark of a new identity."""
        if self.unresolved[partition] is not None:
            return self.batch[partition][b].sequence == self.unresolved[partition]
        return self.is_next(partition, self.batch[partition][b].sequence)

    @invariant(says="the producer's epoch is {self.epoch}, the number of faults {self.faults()}")
    def bumps_have_causes(self):
        """There are at most as many epoch bumps as faults."""
        return self.epoch <= self.faults()

    @invariant(says="more sends have failed than were refused or timed out")
    def failures_have_causes(self):
        """A future fails only if the broker rejected its batch or the batch timed out."""
        failed = sum(1 for p in Partition for b in BatchId if self.batch[p][b].outcome == Outcome.FAILED)
        return failed <= self.rejections + self.timeouts

    @invariant(says="{p}: the client has nothing to send or to wait for, and {b} is undelivered")
    def no_dead_end(self):
        """While a batch is undelivered, the client has something to send or to wait for."""
        return all(not self.is_pending(p, b) or self.has_more_to_do(p) for p in Partition for b in BatchId)

    def has_more_to_do(self, p):
        """Return whether the client has something to send to a partition, or to wait for."""
        is_waiting = len(self.requests[p]) > 0 or self.unresolved[p] is not None
        return is_waiting or len(self.rewrite) > 0 or self.can_drain(p)

    @reachable
    def all_acked(self):
        """Every batch is delivered."""
        return all(self.batch[p][b].outcome == Outcome.ACKED for p in Partition for b in BatchId)

    @reachable
    def duplicate_recognised(self):
        """If a fault causes retries, one of a batch that is not the last is answered with its offset."""
        return not self.may_lose_two_responses() or any(
            request.answered
            and request.offset is not None
            and request.offset + 1 < len(self.log[p])
            and any(entry.id in self.queue[p] for entry in self.log[p])
            for p in Partition
            for request in self.requests[p]
        )

    def may_lose_two_responses(self):
        """Return whether two batches may be in flight when a connection closes."""
        fresh = self.batches - 1 if self.first_sequence > 0 else self.batches
        return fresh > 1 and self.max_in_flight > 1 and self.max_disconnects > 0
