"""A leader's state of a transactional producer: a transaction is verified before its first batch is appended (KIP-890).

Sources (4.3.1): `UnifiedLog.maybeStartTransactionVerification`, `analyzeAndValidateProducerState` and
`updateProducers`; `ProducerAppendInfo.checkSequence` and `appendEndTxnMarker`; `VerificationStateEntry`; KAFKA-18202.
"""

from checker.language import Bug, Constant, Map, Scenario, action, reachable, require
from specs.broker.leader_state import LeaderState
from specs.broker.producer_state import Error, Partition, ProducerEpoch, RecordCount, Sequence
from specs.broker.versions import transactional_state


class TransactionalState(LeaderState):
    """A leader under every possible request of a transactional producer.

    The coordinator confirms every verification. It is not part of this spec, and neither are restarts, truncation and
    expiry: markers are not in the log of this model, from which they would be loaded.
    """

    no_state = Constant("any", one_of=("any", "never_held", "full", "unknown_producer_id"))
    markers = Constant(True)
    verification = Constant(True)
    transaction_version = Constant(2, at_least=1, at_most=2)
    """Version 2 raises the epoch with every marker."""
    needs_sequence_0 = Constant(True)
    """With transaction version 2, a first batch without state has to have sequence 0: KAFKA-18202, from 4.1 on."""

    ongoing = Map(Partition, bool)

    restart = None
    roll_segment = None
    truncate_to = None
    expire_producer = None
    duplicate_answered = None

    def is_ongoing(self, partition, epoch):
        """Return whether the partition has a batch of an open transaction. Source: `hasOngoingTransaction`."""
        return self.ongoing[partition] and self.producer_epoch[partition] == epoch

    def is_verified(self, partition, epoch, sequence):
        """Return whether the coordinator has confirmed a batch, which lowered the verified sequence to its own."""
        if self.verified[partition] is None or epoch > self.verified[partition].epoch:
            return False
        return epoch < self.verified[partition].epoch or sequence >= self.verified[partition].sequence

    @action
    def begin_verification(self, partition: Partition, epoch: ProducerEpoch, sequence: Sequence):
        """A batch of a transaction that is not open in the partition is verified; a fenced one is refused before."""
        require(not self.is_ongoing(partition, epoch))
        require(self.producer_epoch[partition] is None or self.producer_epoch[partition] <= epoch)
        super().begin_verification(partition, epoch, sequence)

    @action
    def produce(self, partition: Partition, epoch: ProducerEpoch, sequence: Sequence, records: RecordCount):
        """The client sends a batch of an open transaction, or one that was verified."""
        require(self.is_ongoing(partition, epoch) or self.is_verified(partition, epoch, sequence))
        end = len(self.log[partition])
        super().produce(partition, epoch, sequence, records)
        if len(self.log[partition]) > end:
            self.ongoing[partition] = True

    def check(self, partition, batch):
        """Return the error of a batch; without cached batches, version 2 accepts only sequence 0."""
        is_checked = self.needs_sequence_0 and self.transaction_version == 2 and self.verified[partition] is not None
        if is_checked and batch.sequence != 0 and len(self.cached[partition]) == 0:
            return Error.OUT_OF_ORDER_SEQUENCE_NUMBER
        return super().check(partition, batch)

    @action
    def write_marker(self, partition: Partition, epoch: ProducerEpoch):
        """The transaction ends. With version 2 its marker has a new epoch, in which the next one may be verified."""
        require(self.transaction_version == 1 or self.producer_epoch[partition] != epoch)
        super().write_marker(partition, epoch)
        self.ongoing[partition] = False
        if self.verified[partition] is not None and not self.is_of_next(partition, epoch):
            self.verified[partition] = None

    def is_of_next(self, partition, epoch):
        """Return whether the verified batch belongs to the transaction after the marker; there must be one."""
        return self.transaction_version == 2 and self.verified[partition].epoch == epoch

    @reachable
    def second_transaction(self):
        """A transaction is open after one that has ended."""
        return any(
            self.ongoing[p] and len(self.log[p]) > 1 and self.log[p][0].epoch < self.log[p][1].epoch for p in Partition
        )


PROPERTIES = ["sequences_contiguous", "cache_names_the_log", "epochs_never_go_back"]

scenarios = [
    Bug("first_sequence_version_1", TransactionalState, {"sequences_contiguous": 3},
        larger=dict(log_size=4, max_epoch=2), faulty=dict(transaction_version=1), fixed=transactional_state("4.1"),
        promises=[*PROPERTIES, "second_transaction"], fixed_name="first_sequence_version_2",
        description="I2 in a transaction: the second batch is verified, and a leader without state appends it.",
        remedy="I2 with transaction version 2 from 4.1 on: a leader without state takes only sequence 0."),
    Scenario(TransactionalState, "first_sequence_version_2_in_4_0", transactional_state("4.0"),
        expect={"sequences_contiguous": 3}, properties=PROPERTIES,
        description="I2 with transaction version 2 in 4.0, which lacks the rule (KAFKA-18202)."),
]  # fmt: skip
