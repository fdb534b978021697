"""What would repair the idempotent client of Apache Kafka, one hazard a class; none of it is Kafka's code."""

from checker.language import Map, SetOf, action, require
from specs.broker.producer_state import BatchId, Error, Partition
from specs.producer.idempotent.producer import IdempotentProducer


class ProbesBeforeBump(IdempotentProducer):
    """No batch that may be in the log gets a new identity: its fate is found out first, under the old one (I3).

    A bump waits until every batch in flight has been refused since its last lost response.
    """

    uncertain = Map(Partition, SetOf(BatchId))

    def complete(self, partition, b, error, offset):
        """A lost or late response leaves the fate open; that the broker was not the leader says nothing of before."""
        if error == Error.NETWORK_EXCEPTION or error == Error.REQUEST_TIMED_OUT:
            self.uncertain[partition].add(b)
        elif error != Error.NOT_LEADER_OR_FOLLOWER:
            self.uncertain[partition].discard(b)
        super().complete(partition, b, error, offset)

    def open_fates(self, partition):
        """The batches in flight that may be in the log."""
        return [b for b in self.in_flight[partition] if b in self.uncertain[partition]]

    @action
    def probe(self, partition: Partition):
        """Before the epoch is bumped, send a batch again as it was: it is a duplicate, or it is refused."""
        require(partition in self.rewrite)
        require(len(self.requests[partition]) == 0)
        require(len(self.open_fates(partition)) > 0)
        b = self.open_fates(partition)[0]
        self.queue[partition] = [other for other in self.queue[partition] if other != b]
        self.transmit(partition, b)

    @action
    def bump_epoch(self):
        """Nothing of the partitions to be rewritten is on the wire, and nothing of them may be in the log."""
        require(all(len(self.open_fates(p)) == 0 for p in self.rewrite))
        require(all(len(self.requests[p]) == 0 for p in self.rewrite))
        super().bump_epoch()


class MarksEveryExpiry(IdempotentProducer):
    """A batch that expires while its first request is in flight is marked unresolved as well."""

    def expire_batch(self, partition, b):
        """Whoever has a sequence was sent."""
        if self.has_sequence(partition, b):
            self.batch[partition][b].retried = True
        super().expire_batch(partition, b)


class HoldsFreshBatches(IdempotentProducer):
    """While a batch is being retried, on the wire or in the queue, no fresh batch is sent behind it.

    Otherwise later batches push it out of the broker's cache before its answer arrives.
    """

    def can_drain(self, partition):
        """In Kafka only a retry in the queue holds fresh batches back, since it is ahead of them."""
        if any(self.batch[partition][b].retried for b in self.in_flight[partition]):
            return self.has_retry_first(partition) and super().can_drain(partition)
        return super().can_drain(partition)

    def has_retry_first(self, partition):
        """The head of the queue was sent before."""
        return len(self.queue[partition]) > 0 and self.has_sequence(partition, self.queue[partition][0])


class CircularComparisons(IdempotentProducer):
    """Sequences are compared on the circle: right as long as less than half of it is in flight (I12)."""

    def precedes(self, first, second):
        """`second` lies in the half of the circle after `first`."""
        ahead = (second - first) % (self.max_sequence + 1)
        return ahead > 0 and ahead <= self.max_sequence // 2

    def is_next(self, partition, sequence):
        """One step on; -1 and the last sequence are the same place."""
        return (sequence - self.last_acked[partition]) % (self.max_sequence + 1) == 1

    def advance_last_acked(self, partition, sequence):
        """Forward on the circle."""
        if self.last_acked[partition] < 0 or self.precedes(self.last_acked[partition], sequence):
            self.last_acked[partition] = sequence

    def mark_unresolved(self, partition, end):
        """The sequence that comes next wraps around."""
        wrapped = end % (self.max_sequence + 1)
        if self.unresolved[partition] is None or self.precedes(self.unresolved[partition], wrapped):
            self.unresolved[partition] = wrapped


class RepairedProducer(ProbesBeforeBump, MarksEveryExpiry, HoldsFreshBatches):
    """The client with all repairs but that of the wrap-around."""
