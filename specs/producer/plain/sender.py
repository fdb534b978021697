"""The producer without idempotence: accumulator, sender, in-flight requests, retries, callbacks.

`Sender` is the client. Its subclasses add the brokers: those of `specs.producer.plain.producer` answer each connection
in order; `specs.broker.network` has the processors, request queue and handlers of one broker.
Source: RecordAccumulator, ProducerBatch, Sender, NetworkClient and InFlightRequests of Apache Kafka.
"""

from checker.language import Constant, Enum, Event, Map, Range, Seq, SetOf, Struct, replace
from checker.language.roles import action, invariant, require
from specs.producer.plain.application import Application, Future, Offset, Partition, RecordId
from specs.producer.values import Node


class Stage(Enum):
    """The stage of a batch.

    OPEN takes more records, CLOSED was drained, DONE is complete but still in flight. WRITTEN, only with acks=0: the
    connection has the whole request, and the client has not reported its success yet.
    """

    OPEN = "open"
    CLOSED = "closed"
    WRITTEN = "written"
    DONE = "done"


class Error(Enum):
    """The error of a produce response. All but the last two are retriable (RetriableException)."""

    NONE = "none"
    NETWORK_EXCEPTION = "network exception"
    NOT_LEADER_OR_FOLLOWER = "not leader or follower"
    NOT_ENOUGH_REPLICAS = "not enough replicas"
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = "not enough replicas after append"
    OUT_OF_ORDER_SEQUENCE_NUMBER = "out of order sequence number"
    MESSAGE_TOO_LARGE = "message too large"
    TOPIC_AUTHORIZATION_FAILED = "topic authorization failed"


class Batch(Struct):
    """A ProducerBatch with records in ascending order, created when its first record was sent."""

    partition: Partition
    records: SetOf(RecordId)
    attempts: Range(0, "retries")
    stage: Stage
    shows = "{records} to p{partition}, attempts {attempts}, {stage}"


class Request(Struct):
    """A produce request with one batch, as if max.request.size were one batch."""

    partition: Partition
    records: SetOf(RecordId)
    shows = "{records} to p{partition}"


class Response(Struct):
    """A produce response. `records` identifies its request; the client does not read it."""

    records: SetOf(RecordId)
    error: Error
    base: Offset
    shows = "{records}: {error}, offset {base}"


def records_of(batch):
    """Return the part of a sentence that names the records of a batch, which is an expression."""
    return "record {' and '.join(str(r) for r in " + batch + ".records)}"


ANSWER = (
    "{str(message.records)}: {'success, offset ' + str(message.base) if str(message.error) == 'none' else "
    "str(message.error)}"
)
"""The label of a response."""

SENDER_EVENTS = (
    Event("init", "Nothing is sent yet"),
    Event("application_send", "The application sends record {record}"),
    Event("application_resend", "The application sends record {record} again, as a new one", "again", "'application'"),
    Event("sender_drain", "The producer sends " + records_of("queue[partition][0]"), "", "'producer'"),
    Event("sender_finish_write", "The last byte of " + records_of("in_flight[node][0]") + " is written (acks=0)"),
    Event("sender_report_success", "The producer reports success for " + records_of("in_flight[node][0]")),
    Event("producer_restart", "The producer's process dies, and its successor sends every record without a result",
        "restart", "'producer'", "restart"),
    Event("connection_closed", "The connection to {node} closes, or a request times out: all requests in flight fail",
        "connection lost", "'producer'", "disconnect"),
    Event("delivery_timeout", "delivery.timeout.ms passes for record {overdue + 1}", "timeout", "'producer'",
        "timeout"))  # fmt: skip
"""What the application and the producer do; every spec of a broker adds its own events."""


class Sender(Application, abstract=True):
    """An application, its producer without idempotence, and one log for each partition."""

    nodes = Constant(1, at_least=1)
    batch_size = Constant(1, at_least=1)  # records in a batch
    broker_limit = Constant(64, at_least=0)  # max.message.bytes: a batch of more records is too large
    acks = Constant("1", one_of=("0", "1", "all"))
    max_in_flight = Constant(1, at_least=1)  # max.in.flight.requests.per.connection
    mute_partitions = Constant(True)  # KAFKA-3197: if max_in_flight is 1, one batch of a partition is in flight
    requeue = Constant("head", one_of=("head", "tail", "in_order"))  # the position of a retry in the queue
    disconnects = Constant(0, at_least=0)  # the number of closed connections
    delivery_timeouts = Constant(False)  # whether delivery.timeout.ms may pass
    read_back = Constant(False)  # after a restart the application reads the log before it sends

    queue = Map(Partition, Seq(Batch, "records"))
    in_flight = Map(Node, Seq(Batch, "max_in_flight"))
    muted = SetOf(Partition)
    leader = Map(Partition, Node)
    known_leader = Map(Partition, Node)  # the client's metadata
    overdue = Range(0, "records")  # records up to this one exceed delivery.timeout.ms
    disconnects_left = Range(0, "disconnects")
    restarts_left = Range(0, "restarts")
    resends_left = Range(0, "resends")

    def init(self):
        """Nothing is sent, all faults may happen, and the first node leads every partition."""
        self.disconnects_left = self.disconnects
        self.restarts_left = self.restarts
        self.resends_left = self.resends

    # Subclasses implement the network and the broker.

    def transmit(self, node, request):
        """Write a request to the connection to `node`."""

    def disconnect(self, node):
        """Lose the connection to `node`; the next request opens another one."""

    def is_sequence_checked(self):
        """Return whether brokers check the sequence of a batch, as for an idempotent producer."""
        return False

    # The application.

    @action
    def application_send(self, record: RecordId):
        """The application sends the next record, which goes to the last batch of its partition or to a new batch."""
        require(record > self.sent)
        require(not self.is_complete(record))
        require(all(self.is_complete(earlier) for earlier in range(self.sent + 1, record)))
        self.sent = record
        self.enqueue(record)

    @action
    def application_resend(self, record: RecordId):
        """The application assumes that a failed record was not written, and sends it again."""
        require(self.resends_left > 0)
        require(self.future[record] == Future.FAILED)
        self.resends_left -= 1
        self.enqueue(record)

    def enqueue(self, record):
        """Append a record to the last batch of its queue or to a new one. Source: RecordAccumulator.append."""
        partition = self.partition_of(record)
        end = len(self.queue[partition])
        if end > 0 and self.has_room(self.queue[partition][end - 1], record):
            self.queue[partition][end - 1].records.add(record)
        else:
            self.queue[partition].append(Batch(partition=partition, records={record}, attempts=0, stage=Stage.OPEN))
        self.future[record] = Future.PENDING

    def has_room(self, batch, record):
        """Return whether an open batch takes the record; a resent record gets a new batch, to keep the order."""
        return batch.stage == Stage.OPEN and len(batch.records) < self.batch_size and max(batch.records) < record

    @action
    def producer_restart(self):
        """The process dies; its successor sends every record with an incomplete future again. See KIP-98."""
        require(self.restarts_left > 0)
        require(self.sent > 0)
        self.restarts_left -= 1
        for partition in Partition:
            self.queue[partition].clear()
            self.known_leader[partition] = self.leader[partition]
        for node in Node:
            self.in_flight[node].clear()
            self.disconnect(node)
        self.muted.clear()
        self.sent = 0
        self.overdue = 0
        for record in RecordId:
            if not self.is_complete(record):
                is_known = self.read_back and self.is_in_log(record)
                self.future[record] = Future.SUCCEEDED if is_known else Future.UNSENT

    @action
    def all_completed(self):
        """Every future is complete. With this step, a state without an enabled step has a stuck record."""
        require(all(self.is_complete(record) for record in RecordId))

    # The sender thread.

    def guarantees_message_order(self):
        """Return `Sender.guaranteeMessageOrder`, which depends only on max_in_flight (KafkaProducer.newSender)."""
        return self.mute_partitions and self.max_in_flight == 1

    @action
    def sender_drain(self, partition: Partition):
        """The sender sends a partition's first batch to its leader in the metadata. Source: drainBatchesForOneNode.

        Linger and backoff only delay this step, and a step may be delayed for any time.
        """
        require(len(self.queue[partition]) > 0)
        require(partition not in self.muted)
        node = self.known_leader[partition]
        require(self.may_send_more(node))
        batch = self.queue[partition].pop(0)
        if self.acks != "0":
            self.transmit(node, Request(partition=partition, records=batch.records))
        self.in_flight[node].append(replace(batch, stage=Stage.CLOSED))
        if self.guarantees_message_order():
            self.muted.add(partition)

    def may_send_more(self, node):
        """Return whether a connection takes a request. Source: InFlightRequests.canSendMore.

        A request with acks=0 is in flight until it is written and reported, and the next one waits for that.
        """
        return len(self.in_flight[node]) < (1 if self.acks == "0" else self.max_in_flight)

    @action
    def sender_finish_write(self, node: Node):
        """With acks=0: the last byte of the request is written. A broker does not handle a part of a request."""
        require(self.acks == "0")
        require(len(self.in_flight[node]) > 0)
        batch = self.in_flight[node][0]
        require(batch.stage != Stage.WRITTEN)
        self.transmit(node, Request(partition=batch.partition, records=batch.records))
        self.in_flight[node][0].stage = Stage.WRITTEN
        if batch.stage == Stage.DONE:
            self.in_flight[node].clear()
            self.muted.discard(batch.partition)

    @action
    def sender_report_success(self, node: Node):
        """With acks=0: a written request succeeds. Source: NetworkClient.handleCompletedSends.

        The process may die before this step. If the connection closes before, the request succeeds too: in one poll
        the client completes the requests that it has written, and then fails the others (`fail_in_flight`).
        """
        require(len(self.in_flight[node]) > 0)
        require(self.in_flight[node][0].stage == Stage.WRITTEN)
        batch = self.in_flight[node].pop(0)
        self.succeed_without_response(batch)

    def receive(self, node, response):
        """Complete the oldest request in flight with a response. Source: InFlightRequests.completeNext."""
        batch = self.in_flight[node].pop(0)
        self.complete(batch, response.error, response.base)

    def fail_in_flight(self, node):
        """Fail every request in flight, the oldest first. Source: cancelInFlightRequests, clearAll.

        With acks=0 a written request succeeds, and one that is written in part is sent again, if `retries` permits it.
        """
        failed = self.in_flight[node]
        self.in_flight[node].clear()
        for batch in failed:
            if batch.stage == Stage.WRITTEN:
                self.succeed_without_response(batch)
            else:
                self.complete(batch, Error.NETWORK_EXCEPTION, 0)

    @action
    def connection_closed(self, node: Node):
        """A socket closes, or a request times out and the client closes its socket. Source: handleTimedOutRequests."""
        require(self.disconnects_left > 0)
        require(len(self.in_flight[node]) > 0 or self.acks == "0")
        self.disconnects_left -= 1
        self.disconnect(node)
        self.fail_in_flight(node)

    def complete(self, batch, error, base):
        """Complete a batch; a split uses no attempt, every outcome unmutes. Source: Sender.completeBatch."""
        if error == Error.NONE:
            self.succeed(batch, base)
        elif error == Error.MESSAGE_TOO_LARGE and len(batch.records) > 1 and batch.stage != Stage.DONE:
            self.split(batch)
        elif self.can_retry(batch, error):
            self.reenqueue(replace(batch, attempts=self.attempts_after(batch)))
        else:
            self.fail(batch)
        self.muted.discard(batch.partition)

    def can_retry(self, batch, error):
        """Return whether a failed batch may be sent again. Source: Sender.canRetry."""
        is_retriable = error != Error.MESSAGE_TOO_LARGE and error != Error.TOPIC_AUTHORIZATION_FAILED
        is_in_time = batch.stage != Stage.DONE and not self.is_overdue(batch)
        return is_retriable and is_in_time and self.has_attempts_left(batch)

    def has_attempts_left(self, batch):
        """Return whether `retries` permits another attempt."""
        return batch.attempts < self.retries

    def attempts_after(self, batch):
        """Return the number of attempts of a batch that is sent again."""
        return batch.attempts + 1

    def reenqueue(self, batch):
        """Put a retry into the queue. Source: RecordAccumulator.reenqueue (addFirst, insertInSequenceOrder)."""
        if self.requeue == "head":
            self.queue[batch.partition].insert(0, batch)
        elif self.requeue == "tail":
            self.queue[batch.partition].append(batch)
        else:
            self.insert_in_order(batch)

    def insert_in_order(self, batch):
        """Insert a batch after those with earlier records. Source: RecordAccumulator.insertInSequenceOrder."""
        earlier = sum(1 for other in self.queue[batch.partition] if min(other.records) < min(batch.records))
        self.queue[batch.partition].insert(earlier, batch)

    def split(self, batch):
        """Split a batch into parts of one record without attempts, each with its sequence. Source: splitAndReenqueue.

        Without idempotence the parts go to the head of the queue, with idempotence to their place among the retries.
        """
        for position, record in enumerate(sorted(batch.records)):
            part = Batch(partition=batch.partition, records={record}, attempts=0, stage=Stage.CLOSED)
            if self.requeue == "in_order":
                self.insert_in_order(part)
            else:
                self.queue[batch.partition].insert(position, part)

    def succeed(self, batch, base):
        """Complete the futures of a batch, unless it has expired. Source: ProducerBatch.done."""
        if batch.stage != Stage.DONE:
            position = base
            for record in batch.records:
                self.future[record] = Future.SUCCEEDED
                self.offset[record] = position
                position += 1

    def succeed_without_response(self, batch):
        """Complete the futures of a written request with acks=0; they have no offset."""
        for record in batch.records:
            self.future[record] = Future.SUCCEEDED
        self.muted.discard(batch.partition)

    def fail(self, batch):
        """Fail the futures of a batch, unless it has expired. Source: Sender.failBatch."""
        if batch.stage != Stage.DONE:
            for record in batch.records:
                self.future[record] = Future.FAILED

    # The delivery timeout (KIP-91).

    def is_overdue(self, batch):
        """Return whether delivery.timeout.ms has passed for a batch. Source: hasReachedDeliveryTimeout."""
        return min(batch.records) <= self.overdue

    @action
    def delivery_timeout(self):
        """The next record times out: overdue batches fail, queued or in flight. Source: Sender.sendProducerData.

        A batch in flight stays in flight, and its partition muted, until its response or the end of its connection.
        """
        require(self.delivery_timeouts)
        require(self.overdue < self.sent)
        self.overdue += 1
        for partition in Partition:
            self.expire_queued(partition)
        for node in Node:
            self.expire_in_flight(node)

    def expire_queued(self, partition):
        """Expire the head of the queue up to the first batch that is not overdue. Source: expiredBatches."""
        for _ in range(len(self.queue[partition])):
            if self.is_overdue(self.queue[partition][0]):
                batch = self.queue[partition].pop(0)
                self.fail(batch)
            else:
                break

    def expire_in_flight(self, node):
        """Expire the overdue batches in flight to a node. Source: Sender.getExpiredInflightBatches.

        The sender thread reports a written request before it looks for these.
        """
        for i in range(len(self.in_flight[node])):
            if self.is_overdue(self.in_flight[node][i]) and self.in_flight[node][i].stage != Stage.WRITTEN:
                self.fail(self.in_flight[node][i])
                self.in_flight[node][i].stage = Stage.DONE

    # A broker's log.

    def is_duplicate(self, request):
        """Return whether the batch is already in the log."""
        return all(record in self.log[request.partition] for record in request.records)

    def copy_of(self, request):
        """Return the offset of a batch that is already in the log."""
        return self.log[request.partition].index(min(request.records))

    def follows(self, request):
        """Return whether a batch continues the log, with records as sequence numbers."""
        end = len(self.log[request.partition])
        if end == 0:
            return min(request.records) == request.partition + 1
        return min(request.records) == self.log[request.partition][end - 1] + self.partitions

    def append(self, request):
        """Append a batch and return the response, with the checks of ProducerStateManager if sequences are on."""
        if self.is_sequence_checked() and self.is_duplicate(request):
            return self.appended_at(request, self.copy_of(request))
        if self.is_sequence_checked() and not self.follows(request):
            return self.refused(request, Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
        base = len(self.log[request.partition])
        for record in request.records:
            self.log[request.partition].append(record)
        return self.appended_at(request, base)

    def appended_at(self, request, base):
        """Return the response to a batch at offset `base`."""
        return Response(records=request.records, error=Error.NONE, base=base)

    def refused(self, request, error):
        """Return the response with an error."""
        return Response(records=request.records, error=error, base=0)

    # Properties, in addition to the application's.

    @invariant(says="{partition}: {self.in_flight}")
    def in_flight_bound(self):
        """If the sender guarantees order, at most one batch of a partition is in flight, over all connections."""
        return not self.guarantees_message_order() or all(
            sum(1 for node in Node for batch in self.in_flight[node] if batch.partition == partition) <= 1
            for partition in Partition
        )

    @invariant(says="muted: {self.muted}, in flight: {self.in_flight}")
    def muted_while_in_flight(self):
        """A partition is muted only while a batch of it is in flight, so it will be drained again."""
        return all(
            any(batch.partition == partition for node in Node for batch in self.in_flight[node])
            for partition in self.muted
        )
