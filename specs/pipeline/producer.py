"""The producer of the pipeline: one connection to the leader, retries in order, sequence numbers and epoch bumps.

`specs.producer.idempotent` has the same client with every field of Kafka's classes; tests compare the two. Sources
(Apache Kafka, package `org.apache.kafka.clients.producer.internals`): Sender, RecordAccumulator, TransactionManager,
TxnPartitionEntry; NetworkClient; KIP-360, KAFKA-5494, KAFKA-8805.
"""

from checker.language import Constant, Option, Range, Seq, SetOf, action, require
from specs.broker.sequence_rules import Error
from specs.pipeline.failures import Entry, ProducerEpoch, Session
from specs.pipeline.partition import RecordId
from specs.pipeline.producer_state import RememberingPartition

LATE = "(records + delivery_timeouts) * (lost_responses + producer_restarts)"
"""Capacity of the requests of closed connections."""


class RetryingProducer(RememberingPartition, abstract=True):
    """A producer of records in the order of their numbers, one record in a batch and in a request.

    A request that fails with a retriable error is sent again without limit, unless `retries` is off. A record gets its
    sequence when it is first sent, and keeps it until it completes or the epoch is bumped. A producer that restarts is
    a new producer (`session`), and sends every record again that was not acknowledged.
    """

    retries = Constant(True)  # retries > 0
    late_requests = Constant(False)  # a broker may handle requests that it had not read when the connection closed
    transactional = Constant(False)  # one transaction has every record
    repeats_aborted = Constant(False)  # consumers read aborted records too, and the application sends them again
    implicit_acks = Constant(False)  # a success also acknowledges earlier records in the queue (librdkafka)

    sent = Range(0, "records")  # the last record that was sent for the first time
    queue = Seq(RecordId, "records")  # to be sent before the next new record
    failed = SetOf(RecordId)  # reported to the application as failed
    requests = Seq(Entry, "records + delivery_timeouts")
    handled = Seq(Entry, "max_in_flight")  # appended, and the response has not arrived
    stranded = Seq(Entry, "records + delivery_timeouts")  # at a former leader that lives, not yet answered
    late = Seq(Entry, LATE)  # requests of closed connections
    unreported = Option(Entry)  # with acks=0: its request is being written, or is written without a callback so far
    is_written = bool  # the whole request of the unreported record is on the connection
    session = Session
    epoch = ProducerEpoch
    numbered = SetOf(RecordId)  # the records with a sequence in this epoch
    bump_due = bool
    is_aborted = bool  # the transaction is aborted
    lost_responses_left = Range(0, "lost_responses")
    producer_restarts_left = Range(0, "producer_restarts")
    rejections_left = Range(0, "rejections")

    def init(self):
        """Start with nothing sent, and with every failure still to come."""
        super().init()
        self.lost_responses_left = self.lost_responses
        self.producer_restarts_left = self.producer_restarts
        self.rejections_left = self.rejections

    # Sending.

    @action
    def producer_write(self):
        """The producer sends a record: the first of its queue, or a new one."""
        require(self.leader is not None and not self.bump_due and not self.is_aborted and self.may_send_more())
        if len(self.queue) > 0:
            record = self.queue.pop(0)
            # Source: RecordAccumulator.shouldStopDrainBatchesForPartition. A retry waits for the records before it.
            require(not self.has_sequence(record) or self.is_oldest_in_flight(record))
        else:
            require(self.sent < self.records)
            self.sent += 1
            record = self.sent
        if self.idempotent:
            self.assign_sequence(record)
        if self.acks == "0":
            self.unreported = self.batch_of(record)
        else:
            self.requests.append(self.batch_of(record))

    def may_send_more(self):
        """Return whether the connection takes a request. Source: InFlightRequests.canSendMore.

        A request with acks=0 is in flight until it is written and reported, and the next one waits for that.
        """
        if self.acks == "0":
            return self.unreported is None
        if self.max_in_flight == 1 and len(self.stranded) > 0:
            # The limit is one of a connection, but with 1 the client mutes the partition (guaranteeMessageOrder).
            return False
        return len(self.requests) + len(self.handled) < self.max_in_flight

    @action
    def producer_finish_write(self):
        """With acks=0: the last byte of the request is written to the connection."""
        require(self.unreported is not None and not self.is_written)
        self.requests.append(self.unreported)
        self.is_written = True

    @action
    def producer_report_success(self):
        """With acks=0: the producer reports success for a written request.

        Source: NetworkClient.handleCompletedSends.
        """
        require(self.unreported is not None and self.is_written)
        self.acknowledge(self.unreported)
        self.unreported = None
        self.is_written = False

    def batch_of(self, record):
        """Return the batch with which a record is sent now."""
        return Entry(
            record=record,
            session=self.session,
            epoch=self.epoch,
            sequence=self.sequence_of(record),
            resend=1 if self.is_resend(record) else 0,
        )

    def is_resend(self, record):
        """Return whether the application sends a record for the second time."""
        return False

    def has_sequence(self, record):
        """Return whether a record has a sequence in this epoch."""
        return record in self.numbered

    def assign_sequence(self, record):
        """Give a record the next sequence, if it has none."""
        self.numbered.add(record)

    def sequence_of(self, record):
        """Return the sequence of a record in this epoch: records are numbered in their order."""
        return sum(1 for other in self.numbered if other < record)

    def in_flight(self):
        """Return the records that have a sequence and are not complete. Source: inflightBatchesBySequence."""
        return self.numbered - self.acked - self.failed

    def is_oldest_in_flight(self, record):
        """Return whether no record in flight comes before a record."""
        return not any(self.is_before(other, record) for other in self.in_flight())

    def is_before(self, one, other):
        """Return whether a record is sent for the first time before another one."""
        return one < other

    def may_send_again(self, batch):
        """Return whether a batch may be sent again as it is: neither complete nor numbered anew."""
        return batch.session == self.session and batch.epoch == self.epoch and batch.record in self.in_flight()

    def acknowledge(self, batch):
        """Report success for a record, and with `implicit_acks` for every earlier one that waits to be sent again.

        Source: `rd_kafka_dr_implicit_ack` of librdkafka, for an idempotent producer. See `ImplicitAcks` of
        `specs.producer.idempotent.mistakes`.
        """
        self.acked.add(batch.record)
        if self.implicit_acks:
            self.acked = self.acked | {other for other in self.queue if self.is_before(other, batch.record)}
            self.queue = [other for other in self.queue if not self.is_before(other, batch.record)]

    # Retrying.

    def receive_retriable_error(self, batch):
        """Send a record again. With acks=0 there is no response: the leader closes the connection instead.

        Source: KafkaApis.handleProduceRequest.
        """
        if self.acks == "0":
            self.lose_connection()
        else:
            self.send_again(batch)

    def send_again(self, batch):
        """Put a record back into the queue after a retriable error.

        An idempotent producer keeps the order of sequences; another one puts the record at the head.
        """
        if not self.retries:
            self.failed.add(batch.record)
            return
        place = 0
        if self.idempotent:
            place = len([o for o in self.queue if self.has_sequence(o) and self.is_before(o, batch.record)])
        self.queue.insert(place, batch.record)

    def handle_sequence_error(self, batch, error):
        """Retry a batch that the leader refused for its epoch or sequence. Source: TransactionManager.canRetry."""
        if error == Error.INVALID_PRODUCER_EPOCH:
            self.fail(batch)
            return
        if self.needs_epoch(batch, error):
            if self.transactional:
                self.abort_transaction()
                return
            self.bump_due = True
        self.send_again(batch)

    def needs_epoch(self, batch, error):
        """Return whether a batch that was refused for its sequence can be written in a new epoch only."""
        has_lost_state = error == Error.UNKNOWN_PRODUCER_ID and batch.epoch == self.epoch
        return has_lost_state or (error == Error.OUT_OF_ORDER_SEQUENCE_NUMBER and self.finds_gap(batch))

    def aborts_transaction(self, batch):
        """Return whether the producer aborts its transaction when the leader refuses a batch, for stories."""
        error = self.error_of(batch)
        return self.transactional and (error == Error.INVALID_PRODUCER_EPOCH or self.needs_epoch(batch, error))

    def abort_text(self):
        """Return what follows the error that aborts a transaction, for stories."""
        if self.repeats_aborted:
            return ". The producer aborts the transaction, and the application sends its records again in a new one"
        return ". The producer aborts the transaction"

    def fail(self, batch):
        """Fail a record after an error that is not retriable; later sequences no longer fit (I3).

        Source: TransactionManager.handleFailedBatch.
        """
        if self.transactional:
            self.abort_transaction()
            return
        self.failed.add(batch.record)
        if self.idempotent:
            self.bump_due = True

    def abort_transaction(self):
        """Abort the transaction: a transactional producer does not raise its epoch on its own.

        Consumers that read committed records do not see what it wrote. The application starts a new transaction, which
        is explored from the initial state. Consumers that read every record see both (`repeats_aborted`).

        Source: TransactionManager (canRetry, handleFailedBatch, maybeTransitionToErrorState); KIP-98.
        """
        self.queue.clear()
        if self.repeats_aborted:
            self.epoch += 1
            self.failed.clear()
            self.queue = [record for record in RecordId if record <= self.sent]
        else:
            self.is_aborted = True
        self.requests.clear()
        self.handled.clear()
        self.stranded.clear()
        self.late.clear()
        self.acked.clear()
        self.numbered.clear()

    def finds_gap(self, batch):
        """Return whether the leader should have taken a batch: it has its newest epoch, and is the next one."""
        return batch.epoch == self.epoch and self.sequence_of(batch.record) == self.last_acked() + 1

    def last_acked(self):
        """Return the last acknowledged sequence of this epoch. Source: TxnPartitionEntry.lastAckedSequence."""
        return max((self.sequence_of(record) for record in self.numbered if record in self.acked), default=-1)

    @action
    def producer_bump_epoch(self):
        """The producer takes the next epoch and numbers the records in flight from 0.

        Source: TransactionManager.bumpIdempotentProducerEpoch.
        """
        require(self.bump_due)
        self.bump_due = False
        self.epoch += 1
        self.numbered = self.in_flight()

    # Failures.

    def lose_connection(self):
        """Fail every request in flight, the oldest first. Source: NetworkClient, InFlightRequests.clearAll.

        With acks=0 only a request that is not yet written completely is in flight.
        """
        if self.acks != "0":
            for batch in self.handled:
                self.send_again(batch)
            for batch in self.requests:
                self.send_again(batch)
        if self.unreported is not None and not self.is_written:
            self.send_again(self.unreported)
            self.unreported = None
        self.handled.clear()
        self.requests.clear()

    @action
    def connection_close(self):
        """A response is lost or late: the producer closes the connection, with every request on it."""
        require(self.lost_responses_left > 0 and self.leader is not None)
        require(len(self.requests) > 0 or len(self.handled) > 0 or self.unreported is not None)
        self.lost_responses_left -= 1
        self.keep_late_requests()
        self.lose_connection()

    def keep_late_requests(self):
        """Keep the requests on the connection: a live leader may still handle them (entry P12 of docs/producer.md)."""
        if self.late_requests:
            self.late.extend(self.requests)

    def step_down(self):
        """The former leader answers NOT_LEADER_OR_FOLLOWER, also to an append that waits for replication.

        Responses that it has sent arrive. Requests of closed connections are refused. With acks=0 it closes the
        connection. Source: ReplicaManager.makeFollowers, DelayedProduce, KafkaApis.handleProduceRequest.
        """
        self.late.clear()
        if self.acks == "0":
            self.lose_connection()
            return
        waits = self.acks == "all" and len(self.handled) > 0
        answered = len(self.handled) - 1 if waits else len(self.handled)
        for batch in self.handled[:answered]:
            self.acknowledge(batch)
        self.stranded.extend(self.handled[answered:])
        self.stranded.extend(self.requests)
        self.handled.clear()
        self.requests.clear()

    @action
    def former_leader_refuse(self):
        """A former leader refuses a request with NOT_LEADER_OR_FOLLOWER, or closes the connection; it is sent again.

        The producer may have sent later records to the new leader before (`specs.producer.idempotent.leader_move`).
        """
        require(len(self.stranded) > 0)
        batch = self.stranded.pop(0)
        self.send_again(batch)

    @action
    def producer_restart(self):
        """The producer's process dies; its successor sends again every record that was not acknowledged."""
        require(self.producer_restarts_left > 0)
        self.producer_restarts_left -= 1
        self.keep_late_requests()
        self.requests.clear()
        self.handled.clear()
        self.stranded.clear()
        self.unreported = None
        self.is_written = False
        self.session += 1
        self.epoch = 0
        self.numbered = set()
        self.bump_due = False
        self.failed = set()
        self.queue = [record for record in RecordId if record <= self.sent and record not in self.acked]

    def stop(self, broker):
        """Stop a broker. A leader's late requests are lost with it."""
        if self.leader == broker:
            self.late.clear()
        super().stop(broker)

    def is_unread(self, record):
        """Return whether a request with a record is on the connection."""
        return any(batch.record == record for batch in self.requests)
