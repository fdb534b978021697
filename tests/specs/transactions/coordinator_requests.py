"""The coordinator's answers as steps of a spec: each request is an action, whose answer is a variable."""

from checker.language import Option, action
from specs.transactions.coordinator import CoordinatorRules
from specs.transactions.state import Decision, Error, Identity, Partition, ProducerEpoch, ProducerId


class CoordinatorRequests(CoordinatorRules):
    """A coordinator that gets one request at a time, in any state that a test chooses."""

    answer = Error

    @action
    def initialize(self, expected: Option(Identity)):
        """A client sends InitProducerId."""
        self.answer = self.answer_init(expected)

    @action
    def keep_prepared(self, expected: Option(Identity)):
        """A client sends InitProducerId with keepPreparedTxn."""
        self.answer = self.answer_init(expected, True)

    @action
    def add(self, producer_id: ProducerId, epoch: ProducerEpoch, partition: Partition):
        """A client sends AddPartitionsToTxn."""
        self.answer = self.answer_add(producer_id, epoch, partition)

    @action
    def verify(self, producer_id: ProducerId, epoch: ProducerEpoch, partition: Partition):
        """A leader asks whether a partition is part of a transaction."""
        self.answer = self.answer_verify(producer_id, epoch, partition)

    @action
    def end(self, producer_id: ProducerId, epoch: ProducerEpoch, decision: Decision):
        """A client sends EndTxn."""
        self.answer = self.answer_end(producer_id, epoch, decision)

    @action
    def time_out(self):
        """The transaction exceeds its timeout."""
        self.fence(self.timeout_raises_epoch)

    @action
    def mark_all(self):
        """All markers are written."""
        self.complete()
