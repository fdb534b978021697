"""Proposed repairs of Apache Kafka's idempotent client, one per class; none of them is Kafka's code."""

from checker.language import Map, SetOf, action, require
from specs.broker.producer_state import BatchId, Error, Partition
from specs.producer.idempotent.producer import IdempotentProducer


class ProbesBeforeBump(IdempotentProducer):
    """A batch that may be in the log keeps its identity until a resend shows whether it is in the log (I3).

    A bump waits until every batch in flight has been refused since its last lost response.
    """

    uncertain = Map(Partition, SetOf(BatchId))

    def complete(self, partition, b, error, offset):
        """Complete a batch; after a lost or late response it may be in the log.

        NOT_LEADER_OR_FOLLOWER gives no information about earlier attempts.
        """
        if error == Error.NETWORK_EXCEPTION or error == Error.REQUEST_TIMED_OUT:
            self.uncertain[partition].add(b)
        elif error != Error.NOT_LEADER_OR_FOLLOWER:
            self.uncertain[partition].discard(b)
        super().complete(partition, b, error, offset)

    def possibly_appended(self, partition):
        """Return the batches in flight that may be in the log."""
        return [b for b in self.in_flight[partition] if b in self.uncertain[partition]]

    @action
    def probe(self, partition: Partition):
        """Before an epoch bump, resend a batch unchanged: the broker answers duplicate, or refuses it."""
        require(partition in self.rewrite)
        require(len(self.requests[partition]) == 0)
        require(len(self.possibly_appended(partition)) > 0)
        b = self.possibly_appended(partition)[0]
        self.queue[partition] = [other for other in self.queue[partition] if other != b]
        self.transmit(partition, b)

    @action
    def bump_epoch(self):
        """The sender bumps the epoch when the partitions to renumber have no request and no uncertain batch."""
        require(all(len(self.possibly_appended(p)) == 0 for p in self.rewrite))
        require(all(len(self.requests[p]) == 0 for p in self.rewrite))
        super().bump_epoch()


class MarksEveryExpiry(IdempotentProducer):
    """A batch that expires while its first request is in flight is also marked unresolved."""

    def expire_batch(self, partition, b):
        """Expire a batch; a batch with a sequence was sent, and counts as retried."""
        if self.has_sequence(partition, b):
            self.batch[partition][b].retried = True
        super().expire_batch(partition, b)


class HoldsFreshBatches(IdempotentProducer):
    """While a batch is being retried, in transit or in the queue, no fresh batch is sent.

    Otherwise later batches evict it from the broker's cache before its answer arrives.
    """

    def can_drain(self, partition):
        """Return whether a batch may be sent. In Kafka only a retry in the queue holds fresh batches back."""
        if any(self.batch[partition][b].retried for b in self.in_flight[partition]):
            return self.has_retry_first(partition) and super().can_drain(partition)
        return super().can_drain(partition)

    def has_retry_first(self, partition):
        """Return whether the head of the queue was sent before."""
        return len(self.queue[partition]) > 0 and self.has_sequence(partition, self.queue[partition][0])


class CircularComparisons(IdempotentProducer):
    """Sequences are compared on the circle, which is correct if less than half of it is in flight (I12)."""

    def precedes(self, first, second):
        """Return whether `second` is in the half of the circle after `first`."""
        ahead = (second - first) % (self.max_sequence + 1)
        return ahead > 0 and ahead <= self.max_sequence // 2

    def is_next(self, partition, sequence):
        """Return whether a sequence follows the last acknowledged one; -1 and the maximum are equivalent."""
        return (sequence - self.last_acked[partition]) % (self.max_sequence + 1) == 1

    def advance_last_acked(self, partition, sequence):
        """Move the last acknowledged sequence forward on the circle."""
        if self.last_acked[partition] < 0 or self.precedes(self.last_acked[partition], sequence):
            self.last_acked[partition] = sequence

    def mark_unresolved(self, partition, end):
        """Mark a sequence unresolved, with a wrapped end."""
        wrapped = end % (self.max_sequence + 1)
        if self.unresolved[partition] is None or self.precedes(self.unresolved[partition], wrapped):
            self.unresolved[partition] = wrapped


class RepairedProducer(ProbesBeforeBump, MarksEveryExpiry, HoldsFreshBatches):
    """The client with all repairs except that of the wrap-around."""
