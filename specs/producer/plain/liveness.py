"""Liveness of the producer without idempotence: every sent record is completed, every partition has its turn.

docs/producer.md, section "Liveness", describes the scenarios.
"""

from checker.language import Bug, Scenario, always_eventually, leads_to
from specs.producer.plain.application import Future, Partition
from specs.producer.plain.drain import Drain
from specs.producer.plain.producer import PlainProducer
from specs.producer.plain.sender import RecordId
from specs.scenario_forms import without_each


class PlainLiveness(PlainProducer):
    """The producer without idempotence with the property that the future of every sent record is completed.

    The scenarios promise that some of the actions are fair.

    Source: Sender, RecordAccumulator and NetworkClient of Apache Kafka.
    """

    def is_sent(self, record):
        """Return whether the record was sent and its future is incomplete."""
        return self.future[record] == Future.PENDING

    @leads_to("is_sent", says="the future of record {record} is never completed")
    def record_is_completed(self, record: RecordId):
        """Every sent record succeeds or fails."""
        return self.is_complete(record)


class DrainLiveness(Drain):
    """The drain of the producer with the property that it starves no partition.

    Source: RecordAccumulator.drainBatchesForOneNode; KAFKA-13834.
    """

    @always_eventually(says="partition {partition} has a batch to send, and no drain takes it")
    def takes_turn(self, partition: Partition):
        """A partition that stays sendable is drained again and again."""
        return not self.is_sendable(partition) or partition in self.drained


FAIR = dict(sender_drain="weak", broker_append="weak", receive_response="weak", broker_is_not_leader="weak")
"""The sender drains and reads responses, and a broker answers every request, as leader or not."""

MOVE = dict(nodes=2, leader_moves=1, refusals=1, retries=2)
FAULTS = dict(nodes=2, leader_moves=1, refusals=1, disconnects=1, retries=3, max_in_flight=2)
COMPLETED, TURN = "record_is_completed", "takes_turn"


def starvation(name, length, **bug):
    """Return a bug that starves a partition although the sender is fair."""
    return Bug(name, DrainLiveness, {TURN: length}, fair=dict(drain="weak"), promises=[TURN], **bug)


scenarios = [
    Scenario(PlainLiveness, "fair_client_and_brokers", FAULTS, fair=FAIR, properties=[COMPLETED],
        description="With four weakly fair actions every sent record is completed in spite of faults."),
    *without_each(PlainLiveness, MOVE, FAIR, [COMPLETED], {
        "sender_drain": (2, "The sender never sends the batch."),
        "broker_append": (3, "The leader never handles the request, and the connection stays open."),
        "receive_response": (4, "The client never reads the response, and the connection stays open."),
        "broker_is_not_leader": (4, "A broker that no longer leads does not answer."),
    }),
    starvation("p14_starvation", 8, faulty=dict(index_per_node=False), larger=dict(partitions=3),
        fixed_name="p14_fixed_index_per_node",
        description="P14 (KAFKA-13834): every drain takes the busy partition, and none takes the other one.",
        remedy="P14: since 3.3 each node has an index; the next drain starts at the partition that did not fit."),
    starvation("p14_retry_that_waits", 7, size=dict(waiting_retries=True), fixed=dict(skip_waiting=True),
        fixed_name="p14_fixed_retry_that_waits",
        description="P14: a retry that waits ends every drain of its node; the other partition is never drained.",
        remedy="P14: if a drain continues past a waiting retry, the other partitions get their turn."),
]  # fmt: skip
