"""The idempotent producer when the leader moves while the old leader's connection hangs: two connections at once.

max.in.flight is a bound for each connection (`InFlightRequests.canSendMore`), and a fresh batch does not wait for
batches in flight to another broker (`RecordAccumulator.shouldStopDrainBatchesForPartition`).
"""

from checker.language import Constant, Map, Range, Seq, action, invariant, require
from specs.broker.producer_state import BatchId, Error, Partition
from specs.producer.idempotent.connection import Request
from specs.producer.idempotent.producer import IdempotentProducer


class IdempotentLeaderMove(IdempotentProducer):
    """The old leader is cut off; the new one has everything that was appended, and a complete producer state."""

    max_leader_moves = Constant(1, at_least=0)

    stranded = Map(Partition, Seq(Request, "max_in_flight"))
    leader_moves = Range(0, "max_leader_moves")

    @action
    def move_leader(self, partition: Partition):
        """A follower that has all of the log leads; requests to the old leader are no longer read or answered."""
        require(self.leader_moves < self.max_leader_moves)
        require(len(self.requests[partition]) > 0)
        self.leader_moves += 1
        self.stranded[partition] = self.requests[partition]
        self.requests[partition].clear()
        self.abandoned[partition] = None

    @action
    def request_timeout(self, partition: Partition):
        """request.timeout.ms is over at the old leader's connection: it is closed, and all its requests fail."""
        require(len(self.stranded[partition]) > 0)
        lost = self.stranded[partition]
        self.stranded[partition].clear()
        for request in lost:
            self.complete(partition, request.batch.id, Error.NETWORK_EXCEPTION, None)

    def is_hopeless(self, partition):
        """While requests are stranded the client still waits."""
        return len(self.stranded[partition]) == 0 and super().is_hopeless(partition)

    @invariant(says="{p}: nothing can happen any more, and {b} is not delivered")
    def no_dead_end(self):
        """Stranded requests are something to wait for, too."""
        return all(
            not self.is_pending(p, b)
            or len(self.requests[p]) + len(self.stranded[p]) > 0
            or len(self.rewrite) > 0
            or self.unresolved[p] is not None
            or self.can_drain(p)
            for p in Partition
            for b in BatchId
        )

    def faults(self):
        """A leader move may cost an epoch too."""
        return super().faults() + self.leader_moves


class WaitsForOldLeader(IdempotentLeaderMove):
    """Nothing is sent to the new leader before the requests to the old one have failed, as librdkafka does it."""

    def can_drain(self, partition):
        """The partition is drained first."""
        return len(self.stranded[partition]) == 0 and super().can_drain(partition)
