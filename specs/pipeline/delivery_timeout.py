"""delivery.timeout.ms in the pipeline's producer: a record fails, and its request may still be handled (P11).

Sources (Apache Kafka, package `org.apache.kafka.clients.producer.internals`): Sender (`getExpiredInflightBatches`,
`failExpiredBatches`), RecordAccumulator (`expiredBatches`, `shouldStopDrainBatchesForPartition`), TransactionManager
(`markSequenceUnresolved`, `maybeResolveSequences`, `canRetry`). `specs.producer.idempotent.transaction_manager` has the
same rules for any number of timeouts.
"""

from checker.language import Constant, Range, SetOf, action, require
from specs.pipeline.partition import RecordId
from specs.pipeline.producer import RetryingProducer


class ExpiringProducer(RetryingProducer, abstract=True):
    """A producer that fails a record which is not acknowledged in time; the application may send it again.

    The second batch of the record is a new one for the client and the broker: it gets a new sequence (`resend` is 1).
    The application sends it after its other records.
    """

    resends = Constant(False)  # the application sends a record again after its TimeoutException

    delivery_timeouts_left = Range(0, "delivery_timeouts")
    expired = Range(0, "records * delivery_timeouts")  # the record of which the batch has expired, 0: none
    resent = Range(0, "delivery_timeouts")  # the application has sent the expired record again
    resend_is_numbered = Range(0, "delivery_timeouts")  # its second batch has a sequence in this epoch
    retried = SetOf(RecordId)  # their first batch was sent more than once; empty without timeouts
    unresolved = Range(0, "records * delivery_timeouts")  # the sequence after an expired, retried batch; 0: none
    confirmed = Range(0, "records * delivery_timeouts")  # the sequence after an expired, acknowledged batch; 0: none

    def init(self):
        """Start with nothing sent, and with every failure still to come."""
        super().init()
        self.delivery_timeouts_left = self.delivery_timeouts

    # Expiry.

    @action
    def producer_expire(self):
        """delivery.timeout.ms passes for the oldest record, queued or in flight: it fails with a TimeoutException.

        Its request stays on the connection. A due epoch bump comes first.
        """
        require(self.delivery_timeouts_left > 0 and not self.bump_due)
        require(any(self.is_pending(record) for record in RecordId))
        self.delivery_timeouts_left -= 1
        if self.transactional:
            self.abort_transaction()
            return
        record = self.oldest_pending()
        if record in self.retried and record in self.numbered:
            self.unresolved = self.sequence_of(record) + 1
        self.queue = [other for other in self.queue if other != record]
        self.sent = max(self.sent, record)
        self.retried = set()
        self.expired = record
        if not self.resends:
            self.failed.add(record)

    def oldest_pending(self):
        """Return the first record that has neither failed nor been acknowledged."""
        return min(record for record in RecordId if self.is_pending(record))

    def is_pending(self, record):
        """Return whether a record has neither failed nor been acknowledged; it may be one that was not sent yet."""
        return record not in self.acked and record not in self.failed

    @action
    def application_send_again(self):
        """The application sends the expired record again, after its other records."""
        require(self.resends and self.expired > 0 and self.resent == 0 and self.sent == self.records)
        self.resent = 1
        self.queue.append(self.expired)

    def is_resend(self, record):
        """Return whether a record in the queue is the second batch of the expired record."""
        return self.resent == 1 and record == self.expired

    def is_expired(self, batch):
        """Return whether a batch is the expired one: its answer is ignored."""
        return batch.resend == 0 and batch.record == self.expired and batch.session == self.session

    # Sequences: the second batch is the last one that gets a sequence.

    def sequence_of(self, record):
        """Return the sequence of a record in this epoch."""
        return len(self.numbered) if self.is_resend(record) else super().sequence_of(record)

    def has_sequence(self, record):
        """Return whether a record has a sequence in this epoch."""
        return self.resend_is_numbered == 1 if self.is_resend(record) else super().has_sequence(record)

    def assign_sequence(self, record):
        """Give a record the next sequence. No new batch gets one while an expired one is unresolved."""
        if not self.has_sequence(record):
            require(self.unresolved == 0)
        if self.is_resend(record):
            self.resend_is_numbered = 1
        else:
            super().assign_sequence(record)

    def is_before(self, one, other):
        """Return whether a record gets its sequence before another one."""
        if self.is_resend(one):
            return False
        return self.is_resend(other) or super().is_before(one, other)

    def in_flight(self):
        """Return the records of which the first batch has a sequence and is not complete."""
        return super().in_flight() - {record for record in RecordId if record == self.expired}

    def has_resend_in_flight(self):
        """Return whether the second batch has a sequence and is not complete."""
        return self.resend_is_numbered == 1 and any(
            record == self.expired and self.is_pending(record) for record in RecordId
        )

    def may_send_again(self, batch):
        """Return whether a batch may be sent again as it is."""
        if batch.resend == 0:
            return super().may_send_again(batch)
        return batch.session == self.session and batch.epoch == self.epoch and self.has_resend_in_flight()

    def last_acked(self):
        """Return the last acknowledged sequence of this epoch, also by the late answer to an expired batch."""
        first = max(
            (
                self.sequence_of(record)
                for record in self.numbered
                if record in self.acked and (record != self.expired or self.resent == 0)
            ),
            default=-1,
        )
        is_resend_acked = self.resend_is_numbered == 1 and any(record == self.expired for record in self.acked)
        return max(first, len(self.numbered) if is_resend_acked else -1, self.confirmed - 1)

    # Answers.

    def acknowledge(self, batch):
        """Report success for a record; the answer to an expired batch only advances the last acknowledged sequence."""
        if not self.is_expired(batch):
            super().acknowledge(batch)
        elif self.idempotent:
            self.confirmed = max(self.confirmed, batch.sequence + 1)

    def send_again(self, batch):
        """Put a record back into the queue after a retriable error, unless its batch has expired."""
        if not self.is_expired(batch):
            if self.delivery_timeouts_left > 0:
                self.retried.add(batch.record)
            super().send_again(batch)

    def handle_sequence_error(self, batch, error):
        """Retry a batch that the leader refused for its epoch or sequence, unless it has expired."""
        if not self.is_expired(batch):
            super().handle_sequence_error(batch, error)

    def fail(self, batch):
        """Fail a record after an error that is not retriable, unless its batch has expired."""
        if not self.is_expired(batch):
            super().fail(batch)

    def finds_gap(self, batch):
        """Return whether the leader should have taken a batch; with an unresolved sequence, the one after that."""
        if self.unresolved > 0:
            return self.sequence_of(batch.record) == self.unresolved
        return super().finds_gap(batch)

    @action
    def producer_resolve_sequences(self):
        """No batch is in flight any more: later batches than the expired one were acknowledged, or there is a gap."""
        require(self.unresolved > 0 and len(self.in_flight()) == 0)
        if self.last_acked() + 1 != len(self.numbered):
            self.bump_due = True
        self.unresolved = 0

    @action
    def producer_bump_epoch(self):
        """The producer takes the next epoch and numbers the records in flight from 0."""
        super().producer_bump_epoch()
        self.unresolved = 0
        self.confirmed = 0
        self.resend_is_numbered = 1 if self.has_resend_in_flight() else 0

    @action
    def producer_restart(self):
        """The producer's process dies; its successor sends again every record that was not acknowledged."""
        super().producer_restart()
        self.expired = 0
        self.resent = 0
        self.resend_is_numbered = 0
        self.retried = set()
        self.unresolved = 0
        self.confirmed = 0
