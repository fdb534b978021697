"""The idempotent producer when the leader moves while the old leader's connection hangs: two connections at once.

max.in.flight limits each connection (`InFlightRequests.canSendMore`), and a fresh batch does not wait for
batches in flight to another broker (`RecordAccumulator.shouldStopDrainBatchesForPartition`).
"""

from checker.language import Constant, Event, Map, Range, Seq, action, require
from specs.broker.producer_state import Error, Partition
from specs.producer.idempotent.connection import Request
from specs.producer.idempotent.producer import IdempotentProducer


class IdempotentLeaderMove(IdempotentProducer):
    """The old leader is cut off; the new one has the whole log and the complete producer state."""

    draws = IdempotentProducer.draws.with_events(
        Event("move_leader", "A follower with the whole log becomes the leader; the old leader's connection hangs",
            "new leader", "f'leader of {partition}'", "election"),
        Event("request_timeout", "request.timeout.ms passes: the client closes the connection to the old leader",
            "request timeout", "f'client of {partition}'", "timeout"),
    )  # fmt: skip

    max_leader_moves = Constant(1, at_least=0)

    stranded = Map(Partition, Seq(Request, "max_in_flight"))
    leader_moves = Range(0, "max_leader_moves")

    @action
    def move_leader(self, partition: Partition):
        """A follower with the whole log becomes the leader; the old leader no longer reads or answers requests."""
        require(self.leader_moves < self.max_leader_moves)
        require(len(self.requests[partition]) > 0)
        self.leader_moves += 1
        self.stranded[partition] = self.requests[partition]
        self.requests[partition].clear()
        self.abandoned[partition] = None

    @action
    def request_timeout(self, partition: Partition):
        """request.timeout.ms passes at the old leader's connection, which closes and fails all its requests."""
        require(len(self.stranded[partition]) > 0)
        lost = self.stranded[partition]
        self.stranded[partition].clear()
        for request in lost:
            self.complete(partition, request.batch.id, Error.NETWORK_EXCEPTION, None)

    def is_hopeless(self, partition):
        """Return whether the client is stuck: with stranded requests it still waits."""
        return len(self.stranded[partition]) == 0 and super().is_hopeless(partition)

    def has_more_to_do(self, p):
        """Return whether the client has something to send or to wait for, stranded requests included."""
        return len(self.stranded[p]) > 0 or super().has_more_to_do(p)

    def faults(self):
        """Return the number of faults so far; a leader move may also cause an epoch bump."""
        return super().faults() + self.leader_moves


class WaitsForOldLeader(IdempotentLeaderMove):
    """A client that sends to the new leader only after the requests to the old one have failed, as librdkafka does."""

    def can_drain(self, partition):
        """Return whether a batch may be sent: first the requests to the old leader have to fail."""
        return len(self.stranded[partition]) == 0 and super().can_drain(partition)
