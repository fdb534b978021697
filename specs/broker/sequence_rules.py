"""A leader's rules for the epoch and the sequence of an idempotent producer's batch.

The state may be represented in any way: `producer_state` stores it as Kafka does, `specs.pipeline.producer_state`
derives it from the log.
Sources (Apache Kafka, package `org.apache.kafka.storage.internals.log`): `ProducerAppendInfo` (`checkProducerEpoch`,
`checkSequence`), `ProducerStateEntry.findDuplicateBatch`; KIP-98, KIP-360; KAFKA-5494, KAFKA-15591.
"""

from checker.language import Constant, Enum, Spec


class Error(Enum):
    """The errors of a produce response that concern an idempotent producer."""

    NONE = "none"
    DUPLICATE_SEQUENCE_NUMBER = "duplicate sequence number"
    OUT_OF_ORDER_SEQUENCE_NUMBER = "out of order sequence number"
    INVALID_PRODUCER_EPOCH = "invalid producer epoch"
    UNKNOWN_PRODUCER_ID = "unknown producer id"
    NOT_LEADER_OR_FOLLOWER = "not leader or follower"
    REQUEST_TIMED_OUT = "request timed out"
    INVALID_RECORD = "invalid record"
    NETWORK_EXCEPTION = "network exception"


class SequenceRules(Spec, abstract=True):
    """The answer to a batch of a producer.

    A subclass gives the state of a producer: `has_state`, `known_epoch`, `expected_sequence`, `remembers` and
    `holds_records`. A `producer` is whatever the subclass stores the state by.
    """

    cache_size = Constant(5, at_least=1)
    """`ProducerStateEntry.NUM_BATCHES_TO_RETAIN`; 1 before KAFKA-5494 (Kafka 1.0)."""
    snapshot_batches = Constant(1, at_least=1)
    """The batches of a producer in a snapshot: 1, because `ProducerStateManager.writeSnapshot` writes lastSeq()."""
    no_state = Constant("any", one_of=("any", "never_held", "full", "unknown_producer_id"))
    """The sequences that a leader without state for the producer accepts: any (KIP-360, Kafka 2.5 to 4.4); any, but
    only 0 if the log never held a record (KAFKA-15591, 4.5, not released); only 0 (0.11); only 0, else
    UNKNOWN_PRODUCER_ID (1.0 to 2.4). `specs.broker.versions` has the value of each version."""

    def is_duplicate(self, producer, batch):
        """Return whether a batch has the epoch and range of a cached batch. Source: `findDuplicateBatch`."""
        return (
            self.has_state(producer) and self.known_epoch(producer) == batch.epoch and self.remembers(producer, batch)
        )

    def check(self, producer, batch):
        """Return the error of a client's batch, by epoch, then sequence. Source: `maybeValidateDataBatch`."""
        if not self.has_state(producer):
            return self.check_without_state(producer, batch)
        if batch.epoch < self.known_epoch(producer):
            return Error.INVALID_PRODUCER_EPOCH
        if batch.epoch != self.known_epoch(producer):
            return Error.NONE if batch.sequence == 0 else Error.OUT_OF_ORDER_SEQUENCE_NUMBER
        if batch.sequence == self.expected_sequence(producer):
            return Error.NONE
        return self.refuse_sequence(producer, batch)

    def check_without_state(self, producer, batch):
        """Return the error of a batch of a producer without state (`no_state`)."""
        if batch.sequence == 0 or self.no_state == "any":
            return Error.NONE
        if self.no_state == "unknown_producer_id":
            return Error.UNKNOWN_PRODUCER_ID
        if self.no_state == "never_held" and self.holds_records(producer):
            return Error.NONE
        return Error.OUT_OF_ORDER_SEQUENCE_NUMBER

    def refuse_sequence(self, producer, batch):
        """Return the error of a sequence that is not the expected one."""
        return Error.OUT_OF_ORDER_SEQUENCE_NUMBER
