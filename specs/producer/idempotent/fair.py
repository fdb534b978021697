"""The idempotent producer whose client and brokers keep all their promises.

The column "gets stuck" of the table in docs/producer.md is the property `batch_is_completed` of these specs.
"""

from checker.language import Scenario, action
from specs.broker.producer_state import Partition
from specs.producer.idempotent.catalogue import KNOWN_TWO
from specs.producer.idempotent.failover import IdempotentFailover
from specs.producer.idempotent.leader_move import IdempotentLeaderMove
from specs.producer.idempotent.liveness import IdempotentLiveness


class FairIdempotent(IdempotentLiveness):
    """A fair client and fair brokers: no participant stops as long as it has something to do.

    No fault is fair. Retries have no limit, and delivery.timeout.ms does not pass unless it is a fault of the scenario.
    """

    @action(fair="weak")
    def drain(self, partition: Partition):
        """The sender sends the first batch of each queue."""
        super().drain(partition)

    @action(fair="weak")
    def receive_response(self, partition: Partition):
        """The client reads the responses of each connection."""
        super().receive_response(partition)

    @action(fair="weak")
    def bump_epoch(self):
        """The sender carries out an epoch bump that is due."""
        super().bump_epoch()

    @action(fair="weak")
    def resolve_sequences(self, partition: Partition):
        """The client resolves the sequences of expired batches."""
        super().resolve_sequences(partition)

    @action(fair="weak")
    def handle_produce(self, partition: Partition):
        """The leader handles the requests of its connection."""
        super().handle_produce(partition)


class FairFailover(FairIdempotent, IdempotentFailover):
    """The same with a follower that replicates the log and may become the leader."""

    @action(fair="weak")
    def follower_fetch(self, partition: Partition):
        """The follower fetches what it lacks."""
        super().follower_fetch(partition)


class FairLeaderMove(FairIdempotent, IdempotentLeaderMove):
    """The same if the leader moves; a connection to a broker that is cut off reaches request.timeout.ms."""

    @action(fair="weak")
    def request_timeout(self, partition: Partition):
        """The connection to the old leader closes, and its requests fail."""
        super().request_timeout(partition)


COMPLETED = ["batch_is_completed"]
FAULTS = dict(KNOWN_TWO, max_refusals=1, max_disconnects=1, max_epoch=2)

scenarios = [
    Scenario(FairIdempotent, "known_producer", FAULTS, properties=COMPLETED,
        description="A refusal and a closed connection; the broker knows the producer: every batch is completed."),
    Scenario(FairFailover, "known_producer", dict(FAULTS, max_follower_restarts=0), properties=COMPLETED,
        description="The same with a failover to a follower that has the whole producer state."),
    Scenario(FairFailover, "without_follower_fetch", dict(FAULTS, max_follower_restarts=0),
        fair={"follower_fetch": None}, properties=COMPLETED, expect={"batch_is_completed": 4},
        description="With acks=all the leader does not answer before the follower has the batch."),
    Scenario(FairLeaderMove, "known_producer", KNOWN_TWO, properties=COMPLETED,
        description="The leader moves while two requests are in flight, and the old leader never answers."),
    Scenario(FairLeaderMove, "without_request_timeout", KNOWN_TWO, fair={"request_timeout": None}, properties=COMPLETED,
        expect={"batch_is_completed": 4},
        description="Without request.timeout.ms the client waits for ever for a leader that is cut off."),
]  # fmt: skip
