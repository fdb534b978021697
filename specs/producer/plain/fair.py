"""The producer without idempotence whose application, client and brokers keep all their promises.

The column "gets stuck" of the table in docs/producer.md is the property `record_is_completed` of these specs.
"""

from checker.language import Scenario, action
from specs.producer.plain.application import Partition, RecordId
from specs.producer.plain.liveness import PlainLiveness
from specs.producer.plain.sender import Node
from specs.producer.plain.sessions import ProducerSessions


class FairProducer(PlainLiveness):
    """A fair application, client and brokers: no participant stops as long as it has something to do.

    No fault is fair. A value of `retries` above 0 stands for Kafka's default of 2147483647: attempts are not exhausted.
    delivery.timeout.ms does not pass.
    """

    def has_attempts_left(self, batch):
        """Return whether a batch may be sent again."""
        return self.retries > 0

    def attempts_after(self, batch):
        """Return the number of attempts, which stays at `retries` once it is there."""
        return min(batch.attempts + 1, self.retries)

    @action(fair="weak")
    def application_send(self, record: RecordId):
        """The application sends its next record, and after a restart the records that are incomplete."""
        super().application_send(record)

    @action(fair="weak")
    def sender_drain(self, partition: Partition):
        """The sender sends the first batch of each queue."""
        super().sender_drain(partition)

    @action(fair="weak")
    def sender_finish_write(self, node: Node):
        """With acks=0 the sender writes each request to its end, if the connection does not close before."""
        super().sender_finish_write(node)

    @action(fair="weak")
    def sender_report_success(self, node: Node):
        """With acks=0 the sender reports each written request."""
        super().sender_report_success(node)

    @action(fair="weak")
    def receive_response(self, node: Node):
        """The client reads the responses of each connection."""
        super().receive_response(node)

    @action(fair="weak")
    def metadata_update(self, partition: Partition):
        """The client learns the present leader of each partition."""
        super().metadata_update(partition)

    @action(fair="weak")
    def broker_append(self, node: Node):
        """A leader handles the requests of its connection."""
        super().broker_append(node)

    @action(fair="weak")
    def broker_is_not_leader(self, node: Node):
        """A broker that does not lead answers its requests."""
        super().broker_is_not_leader(node)

    @action(fair="weak")
    def broker_finds_batch_too_large(self, node: Node):
        """A leader answers a batch that is too large."""
        super().broker_finds_batch_too_large(node)


class FairSessions(FairProducer, ProducerSessions):
    """The same for an idempotent producer that may restart."""


COMPLETED = ["record_is_completed"]
MOVE = dict(nodes=2, leader_moves=1, refusals=1, disconnects=1, max_in_flight=2)

scenarios = [
    Scenario(FairProducer, "unlimited_retries", MOVE, properties=COMPLETED,
        description="Retries are unlimited; application, client and brokers are fair: every record is completed."),
    Scenario(FairProducer, "without_metadata_update", MOVE, fair={"metadata_update": None}, properties=COMPLETED,
        expect={"record_is_completed": 6},
        description="The client never learns the new leader, and sends the batch to the old one for ever."),
    Scenario(FairProducer, "restart", dict(restarts=1, refusals=1), properties=COMPLETED,
        description="The successor of a process that died sends the incomplete records again."),
    Scenario(FairProducer, "without_application_send", dict(restarts=1), fair={"application_send": None},
        properties=COMPLETED, expect={"record_is_completed": 3},
        description="The successor does not send the records again, so they are never completed."),
    Scenario(FairSessions, "restart", dict(records=2, refusals=1), properties=COMPLETED,
        description="The successor of an idempotent producer sends the incomplete records under a new producer id."),
]  # fmt: skip
