"""The leader's answers as steps of a spec: batches and markers in any order, and the last answer as a variable."""

from checker.language import action
from specs.transactions.coordinator import CoordinatorRules
from specs.transactions.partition_leader import Guard, PartitionRules
from specs.transactions.state import (
    Batch,
    CoordinatorEpoch,
    Decision,
    Error,
    Marker,
    Partition,
    ProducerEpoch,
    ProducerId,
    Sequence,
)


class LeaderRequests(PartitionRules, CoordinatorRules):
    """A leader that gets batches, verified or not, and markers; the rules of the coordinator only give the bounds."""

    answer = Error

    @action
    def produce(
        self, partition: Partition, producer_id: ProducerId, epoch: ProducerEpoch, sequence: Sequence, verified: bool
    ):
        """A client sends a batch."""
        self.answer = self.append(
            partition,
            Batch(producer_id=producer_id, epoch=epoch, sequence=sequence, transaction=0),
            Guard.CURRENT if verified else Guard.NONE,
        )

    @action
    def mark(
        self,
        partition: Partition,
        producer_id: ProducerId,
        epoch: ProducerEpoch,
        decision: Decision,
        coordinator_epoch: CoordinatorEpoch,
    ):
        """A coordinator sends a marker."""
        self.answer = self.write_marker(
            partition,
            Marker(producer_id=producer_id, epoch=epoch, decision=decision, coordinator_epoch=coordinator_epoch),
        )
