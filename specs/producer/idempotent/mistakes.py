"""Clients and brokers with a bug in idempotence, one bug per class; the catalogue runs each with its remedy."""

from checker.language import Constant, Event, Range, action, require
from specs.broker.producer_state import BatchId, Error, Partition
from specs.producer.idempotent.producer import IdempotentProducer
from specs.producer.idempotent.transaction_manager import Outcome


class StaleSequences(IdempotentProducer):
    """An epoch bump does not reset the sequences of idle partitions (KAFKA-12152, Kafka 2.5 to 2.7)."""

    def assign_sequence(self, partition, b):
        """Assign the new epoch with the old sequence."""
        self.partition_epoch[partition] = self.epoch
        super().assign_sequence(partition, b)


class Librdkafka(IdempotentProducer):
    """librdkafka: retries are pipelined, and a refusal of the expected sequence is fatal (librdkafka#3584).

    With `counts_possibly_persisted`, until PR 4438 (2.3.0), a batch of unknown fate advances the expected sequence.
    """

    counts_possibly_persisted = Constant(True)
    fatal = bool

    def complete(self, partition, b, error, offset):
        """Complete a batch; a lost response counts as possibly persisted."""
        if error == Error.NETWORK_EXCEPTION and self.counts_possibly_persisted:
            self.advance_last_acked(partition, self.batch[partition][b].sequence)
        super().complete(partition, b, error, offset)

    def retry_out_of_order(self, partition, b):
        """Retry; a refusal of the expected sequence (sequence desynchronization) is fatal to the producer."""
        if self.is_next(partition, self.batch[partition][b].sequence):
            self.fatal = True
        return True

    def can_drain(self, partition):
        """Return whether a batch may be sent; retries do not wait for each other."""
        if self.fatal or len(self.queue[partition]) == 0:
            return False
        return len(self.rewrite) == 0 and self.unresolved[partition] is None

    def is_hopeless(self, partition):
        """Return False: no batch is resent forever, since a refusal of the expected sequence is fatal."""
        return False


class ImplicitAcks(Librdkafka):
    """librdkafka takes a success for the acknowledgement of every earlier record that waits to be sent again.

    It relies on the broker, which is to refuse a batch as long as an earlier one is missing.
    Source: `rd_kafka_handle_idempotent_Produce_success` and `rd_kafka_dr_implicit_ack` of librdkafka 2.15.
    """

    counts_possibly_persisted = Constant(False)

    def succeed(self, partition, b, offset):
        """Acknowledge a batch, and without an offset the earlier ones in the queue."""
        super().succeed(partition, b, offset)
        for earlier in self.queue[partition]:
            if earlier < b:
                self.remove_in_flight(partition, earlier)
                self.finish(partition, earlier, Outcome.ACKED, None)
        self.queue[partition] = [other for other in self.queue[partition] if other > b]


class BumpsEveryPartition(IdempotentProducer):
    """Any refusal of a sequence bumps the epoch, and the bump renumbers every partition (librdkafka#4953)."""

    def needs_new_epoch(self, partition, b):
        """Return True, even if an earlier batch will fill the gap."""
        return True

    def would_bump(self, partition, b):
        """Return True: every refusal bumps the epoch."""
        return True

    def request_epoch_bump(self, partition):
        """Request a bump that renumbers all partitions."""
        for p in Partition:
            self.rewrite.add(p)


class SequenceReadTwice(IdempotentProducer):
    """The sequence is read when a batch is sent and advanced when it is answered (platformatic/kafka#326)."""

    def assign_sequence(self, partition, b):
        """Assign the next sequence without advancing it."""
        super().assign_sequence(partition, b)
        self.next_sequence[partition] = self.batch[partition][b].sequence

    def succeed(self, partition, b, offset):
        """Complete a batch and advance the next sequence."""
        super().succeed(partition, b, offset)
        self.next_sequence[partition] = self.sequence_after(self.next_sequence[partition], 1)


class SequenceTakenEarly(IdempotentProducer):
    """Each send takes its sequence at once and is written to the socket later, in any order (kafkajs#598).

    A refused sequence fails the send, because kafkajs does not reconcile sequences.
    """

    drain = None
    draws = IdempotentProducer.draws.with_events(
        Event("write_request", "The client writes batch {b}, which took sequence {b}", "", "f'client of {partition}'"),
    )  # fmt: skip

    @action
    def write_request(self, partition: Partition, b: BatchId):
        """One of the pending sends reaches the socket; its sequence is its position among the sends."""
        require(len(self.requests[partition]) < self.max_in_flight)
        require(b in self.queue[partition])
        self.queue[partition] = [other for other in self.queue[partition] if other != b]
        if not self.has_sequence(partition, b):
            self.batch[partition][b].sequence = b
            self.add_in_flight(partition, b)
        self.transmit(partition, b)

    def fail(self, partition, b, error):
        """Fail a batch without a change of sequences."""
        self.remove_in_flight(partition, b)
        self.finish(partition, b, Outcome.FAILED, None)

    def can_retry(self, partition, b, error):
        """Return whether an error is retriable; a refused sequence is not."""
        return self.is_retriable(error)

    def is_hopeless(self, partition):
        """Return False: no refused sequence is sent again."""
        return False


class FailingAppend(IdempotentProducer):
    """An append fails after the validation; with `state_first` the state was updated before (KAFKA-6683)."""

    state_first = Constant(True)
    max_append_failures = Constant(1, at_least=0)
    append_failures = Range(0, "max_append_failures")

    draws = IdempotentProducer.draws.with_events(
        Event("fail_append",
            "Batch {unhandled(partition).id} passes the checks{', the leader remembers it' if state_first else ''}, "
                "and the write to the log fails", "write fails", "f'leader of {partition}'", "refusal"),
    )  # fmt: skip

    @action
    def fail_append(self, partition: Partition):
        """The batch passes the checks, but the write fails; the response is a retriable error."""
        require(self.append_failures < self.max_append_failures)
        require(self.has_unhandled(partition))
        batch = self.unhandled(partition)
        require(not self.is_duplicate(partition, batch) and self.check(partition, batch) == Error.NONE)
        self.append_failures += 1
        if self.state_first:
            self.remember(partition, batch, len(self.log[partition]))
        self.answer(partition, Error.REQUEST_TIMED_OUT, None)

    def faults(self):
        """Return the number of faults so far; a failed append may also cause an epoch bump."""
        return super().faults() + self.append_failures
