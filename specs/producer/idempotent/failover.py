"""The idempotent producer on a partition with a follower that may become the leader (I7).

Sources: `ReplicaManager`, `Partition` (acks=all), `UnifiedLog.append` with origin REPLICATION, `UnifiedLog.truncateTo`.
"""

from checker.language import Constant, Event, Map, Range, action, require
from specs.broker.producer_state import Error, Offset, Partition
from specs.producer.idempotent.producer import IdempotentProducer


class IdempotentFailover(IdempotentProducer):
    """A leader and a follower, both in sync: a response is sent when the follower has the batch.

    The follower's log is a prefix of the leader's. Its producer state follows from its last load and the replay since.
    """

    draws = IdempotentProducer.draws.with_events(
        Event("follower_fetch", "The follower copies batch {log[partition][follower_end[partition]].id}",
            "follower copies", "f'leader of {partition}'"),
        Event("restart_follower", "The follower restarts; it remembers only what its snapshot has", "follower restarts",
            "f'leader of {partition}'", "restart"),
        Event("fail_over", "The leader fails, and the follower, which has copied {follower_end[partition]} of its "
            "batches, becomes the leader", "failover", "f'leader of {partition}'", "election"),
    )  # fmt: skip

    max_follower_restarts = Constant(1, at_least=0)
    max_failovers = Constant(1, at_least=0)

    follower_end = Map(Partition, Offset)
    follower_loaded = Map(Partition, Offset)
    follower_restarts = Range(0, "max_follower_restarts")
    failovers = Range(0, "max_failovers")

    def init(self):
        super().init()
        for p in Partition:
            self.follower_end[p] = len(self.log[p])

    @action
    def follower_fetch(self, partition: Partition):
        """The follower appends the next batch of the leader's log."""
        require(self.follower_end[partition] < len(self.log[partition]))
        self.follower_end[partition] += 1

    @action
    def restart_follower(self, partition: Partition):
        """The follower restarts; its newest snapshot is at the end of its log."""
        require(self.follower_restarts < self.max_follower_restarts)
        require(self.follower_end[partition] > 0)
        self.follower_restarts += 1
        self.follower_loaded[partition] = self.follower_end[partition]

    @action
    def fail_over(self, partition: Partition):
        """The leader fails and the follower becomes the leader; unreplicated batches are lost."""
        require(self.failovers < self.max_failovers)
        self.failovers += 1
        self.abandoned[partition] = None
        self.drop_connection(partition)
        del self.log[partition][self.follower_end[partition] :]
        self.load_from(partition, self.follower_loaded[partition])
        self.follower_loaded[partition] = 0

    def is_committed(self, partition):
        """Return whether the follower has the whole log."""
        return self.follower_end[partition] == len(self.log[partition])

    @action
    def receive_response(self, partition: Partition):
        """The client reads the response to its oldest request; a success requires that the batch is committed."""
        require(len(self.requests[partition]) > 0)
        require(self.requests[partition][0].error != Error.NONE or self.is_committed(partition))
        super().receive_response(partition)

    @action
    def handle_produce(self, partition: Partition):
        """The leader handles a request once the batch before it is committed; the channel is muted until then."""
        require(self.is_committed(partition))
        super().handle_produce(partition)

    def faults(self):
        """Return the number of faults so far; a failover may also cause an epoch bump."""
        return super().faults() + self.failovers
