"""The producer without idempotence: accumulator, sender, in-flight requests, retries, callbacks.

`Sender` is the client. Its subclasses add the brokers: those of `specs.producer.plain.producer` answer each connection
in order; `specs.broker.network` has the processors, request queue and handlers of one broker.
Source: RecordAccumulator, ProducerBatch, Sender, NetworkClient and InFlightRequests of Apache Kafka.
"""

from checker.language import (
    Constant,
    Domain,
    Enum,
    Map,
    Range,
    Seq,
    SetOf,
    Struct,
    action,
    invariant,
    replace,
    require,
)
from specs.producer.plain.application import Application, Future, Offset, Partition, RecordId


class Node(Domain):
    """A broker, as the client's metadata names it."""

    size, prefix = "nodes", "n"


class Stage(Enum):
    """OPEN takes more records, CLOSED was drained once, DONE has been completed while still in flight."""

    OPEN = "open"
    CLOSED = "closed"
    DONE = "done"


class Error(Enum):
    """What a produce request ended with: all but the last two may be retried (RetriableException)."""

    NONE = "none"
    NETWORK_EXCEPTION = "network exception"
    NOT_LEADER_OR_FOLLOWER = "not leader or follower"
    NOT_ENOUGH_REPLICAS = "not enough replicas"
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = "not enough replicas after append"
    OUT_OF_ORDER_SEQUENCE_NUMBER = "out of order sequence number"
    MESSAGE_TOO_LARGE = "message too large"
    TOPIC_AUTHORIZATION_FAILED = "topic authorization failed"


class Batch(Struct):
    """A ProducerBatch. Its records stand in ascending order; it was created when its first record was sent."""

    partition: Partition
    records: SetOf(RecordId)
    attempts: Range(0, "retries")
    stage: Stage
    shows = "{records} to p{partition}, attempts {attempts}, {stage}"


class Request(Struct):
    """A produce request: one batch, as if max.request.size were one batch."""

    partition: Partition
    records: SetOf(RecordId)
    shows = "{records} to p{partition}"


class Response(Struct):
    """A produce response. `records` names the request it answers; the client does not look at it."""

    records: SetOf(RecordId)
    error: Error
    base: Offset
    shows = "{records}: {error}, offset {base}"


class Sender(Application, abstract=True):
    """An application, its producer without idempotence, and one log for each partition."""

    nodes = Constant(1, at_least=1)
    batch_size = Constant(1, at_least=1)  # records in a batch
    broker_limit = Constant(64, at_least=0)  # max.message.bytes: a batch of more records is too large
    acks = Constant("1", one_of=("0", "1", "all"))
    max_in_flight = Constant(1, at_least=1)  # max.in.flight.requests.per.connection
    mute_partitions = Constant(True)  # KAFKA-3197: with max_in_flight 1, one batch of a partition is in flight
    requeue = Constant("head", one_of=("head", "tail", "in_order"))  # where a batch to be retried goes
    disconnects = Constant(0, at_least=0)  # how often a connection may close
    delivery_timeouts = Constant(False)  # whether delivery.timeout.ms may pass
    read_back = Constant(False)  # after a restart the application first reads what its predecessor got into the log

    queue = Map(Partition, Seq(Batch, "records"))
    in_flight = Map(Node, Seq(Batch, "max_in_flight"))
    muted = SetOf(Partition)
    leader = Map(Partition, Node)
    known_leader = Map(Partition, Node)  # the client's metadata
    overdue = Range(0, "records")  # records up to this one are older than delivery.timeout.ms
    disconnects_left = Range(0, "disconnects")
    restarts_left = Range(0, "restarts")
    resends_left = Range(0, "resends")

    def init(self):
        """Nothing sent, all faults to come; where there are several nodes, the first leads."""
        self.disconnects_left = self.disconnects
        self.restarts_left = self.restarts
        self.resends_left = self.resends

    # What subclasses say of the network and the broker.

    def transmit(self, node, request):
        """Write a request to the connection to `node`."""

    def disconnect(self, node):
        """The connection to `node` is gone; the next request opens another."""

    def is_sequence_checked(self):
        """Whether brokers hold sequence numbers against a batch, as for an idempotent producer."""
        return False

    # The application.

    @action
    def application_send(self, record: RecordId):
        """The next record goes to the last batch of its partition or to a new one. Source: RecordAccumulator.append."""
        require(record > self.sent)
        require(not self.is_complete(record))
        require(all(self.is_complete(earlier) for earlier in range(self.sent + 1, record)))
        self.sent = record
        self.enqueue(record)

    @action
    def application_resend(self, record: RecordId):
        """The application takes a failed future for `not written` and sends the record again."""
        require(self.resends_left > 0)
        require(self.future[record] == Future.FAILED)
        self.resends_left -= 1
        self.enqueue(record)

    def enqueue(self, record):
        """Append to the last batch of the partition's queue if it has room. Source: RecordAccumulator.tryAppend."""
        partition = self.partition_of(record)
        end = len(self.queue[partition])
        if end > 0 and self.has_room(self.queue[partition][end - 1], record):
            self.queue[partition][end - 1].records.add(record)
        else:
            self.queue[partition].append(Batch(partition=partition, records={record}, attempts=0, stage=Stage.OPEN))
        self.future[record] = Future.PENDING

    def has_room(self, batch, record):
        """Whether an open batch takes the record; one sent again goes to a batch of its own, to keep the order."""
        return batch.stage == Stage.OPEN and len(batch.records) < self.batch_size and max(batch.records) < record

    @action
    def producer_restart(self):
        """The process dies; its successor sends every record again whose future was not complete. See KIP-98."""
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
        """Every future is complete. With this step, a state that has no step is one where something is stuck."""
        require(all(self.is_complete(record) for record in RecordId))

    # The sender thread.

    def guarantees_message_order(self):
        """Sender.guaranteeMessageOrder, which only max_in_flight sets (KafkaProducer.newSender)."""
        return self.mute_partitions and self.max_in_flight == 1

    @action
    def sender_drain(self, partition: Partition):
        """Send the first batch of a partition to the node that metadata names. Source: drainBatchesForOneNode.

        Linger and backoff only delay this step, and a step may be delayed for any time.
        """
        require(len(self.queue[partition]) > 0)
        require(partition not in self.muted)
        node = self.known_leader[partition]
        require(len(self.in_flight[node]) < self.max_in_flight)
        batch = self.queue[partition].pop(0)
        self.transmit(node, Request(partition=partition, records=batch.records))
        if self.acks == "0":
            self.succeed_unseen(batch)
        else:
            self.in_flight[node].append(replace(batch, stage=Stage.CLOSED))
            if self.guarantees_message_order():
                self.muted.add(partition)

    def receive(self, node, response):
        """The response completes the oldest request in flight. Source: InFlightRequests.completeNext."""
        batch = self.in_flight[node].pop(0)
        self.complete(batch, response.error, response.base)

    def fail_in_flight(self, node):
        """Complete every request in flight as failed, the oldest first. Source: cancelInFlightRequests, clearAll."""
        failed = self.in_flight[node]
        self.in_flight[node].clear()
        for batch in failed:
            self.complete(batch, Error.NETWORK_EXCEPTION, 0)

    @action
    def connection_closed(self, node: Node):
        """The socket dies, or a request times out and the client closes it. Source: handleTimedOutRequests."""
        require(self.disconnects_left > 0)
        require(len(self.in_flight[node]) > 0 or self.acks == "0")
        self.disconnects_left -= 1
        self.disconnect(node)
        self.fail_in_flight(node)

    def complete(self, batch, error, base):
        """Source: Sender.completeBatch; a split consumes no attempt, and every outcome unmutes the partition."""
        if error == Error.NONE:
            self.succeed(batch, base)
        elif error == Error.MESSAGE_TOO_LARGE and len(batch.records) > 1 and batch.stage != Stage.DONE:
            self.split(batch)
        elif self.can_retry(batch, error):
            self.reenqueue(replace(batch, attempts=batch.attempts + 1))
        else:
            self.fail(batch)
        self.muted.discard(batch.partition)

    def can_retry(self, batch, error):
        """Source: Sender.canRetry."""
        is_retriable = error != Error.MESSAGE_TOO_LARGE and error != Error.TOPIC_AUTHORIZATION_FAILED
        is_in_time = batch.stage != Stage.DONE and not self.is_overdue(batch)
        return is_retriable and is_in_time and batch.attempts < self.retries

    def reenqueue(self, batch):
        """Source: RecordAccumulator.reenqueue: addFirst without idempotence, insertInSequenceOrder with it."""
        if self.requeue == "head":
            self.queue[batch.partition].insert(0, batch)
        elif self.requeue == "tail":
            self.queue[batch.partition].append(batch)
        else:
            self.insert_in_order(batch)

    def insert_in_order(self, batch):
        """Put a batch behind those with earlier records. Source: RecordAccumulator.insertInSequenceOrder."""
        earlier = sum(1 for other in self.queue[batch.partition] if min(other.records) < min(batch.records))
        self.queue[batch.partition].insert(earlier, batch)

    def split(self, batch):
        """Parts of one record each, in order, as if never tried, each with its own sequence. Source: splitAndReenqueue.

        Without idempotence they go to the head of the queue, with it to their place among the batches to be retried.
        """
        for position, record in enumerate(sorted(batch.records)):
            part = Batch(partition=batch.partition, records={record}, attempts=0, stage=Stage.CLOSED)
            if self.requeue == "in_order":
                self.insert_in_order(part)
            else:
                self.queue[batch.partition].insert(position, part)

    def succeed(self, batch, base):
        """A batch that expired before its response stays failed. Source: ProducerBatch.done."""
        if batch.stage != Stage.DONE:
            position = base
            for record in batch.records:
                self.future[record] = Future.SUCCEEDED
                self.offset[record] = position
                position += 1

    def succeed_unseen(self, batch):
        """With acks=0 a request is complete once it is written. Source: NetworkClient.handleCompletedSends."""
        for record in batch.records:
            self.future[record] = Future.SUCCEEDED

    def fail(self, batch):
        """Source: Sender.failBatch."""
        if batch.stage != Stage.DONE:
            for record in batch.records:
                self.future[record] = Future.FAILED

    # The delivery timeout (KIP-91).

    def is_overdue(self, batch):
        """Whether delivery.timeout.ms has passed since the batch was created. Source: hasReachedDeliveryTimeout."""
        return min(batch.records) <= self.overdue

    @action
    def delivery_timeout(self):
        """The next record's time is up: fail what is overdue, queued or in flight. Source: Sender.sendProducerData.

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
        """Expire from the head of the queue up to the first batch that is in time. Source: expiredBatches."""
        for _ in range(len(self.queue[partition])):
            if self.is_overdue(self.queue[partition][0]):
                batch = self.queue[partition].pop(0)
                self.fail(batch)
            else:
                break

    def expire_in_flight(self, node):
        """Source: Sender.getExpiredInflightBatches."""
        for i in range(len(self.in_flight[node])):
            if self.is_overdue(self.in_flight[node][i]):
                self.fail(self.in_flight[node][i])
                self.in_flight[node][i].stage = Stage.DONE

    # A broker's log.

    def is_duplicate(self, request):
        """Whether the batch is in the log already."""
        return all(record in self.log[request.partition] for record in request.records)

    def copy_of(self, request):
        """Return the offset of a batch that is in the log already."""
        return self.log[request.partition].index(min(request.records))

    def follows(self, request):
        """Whether a batch begins where the log ends, its records taken as sequence numbers."""
        end = len(self.log[request.partition])
        if end == 0:
            return min(request.records) == request.partition + 1
        return min(request.records) == self.log[request.partition][end - 1] + self.partitions

    def append(self, request):
        """Append a batch, or answer a sequence-checked one as ProducerStateManager would; return the response."""
        if self.is_sequence_checked() and self.is_duplicate(request):
            return self.appended_at(request, self.copy_of(request))
        if self.is_sequence_checked() and not self.follows(request):
            return self.refused(request, Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
        base = len(self.log[request.partition])
        for record in request.records:
            self.log[request.partition].append(record)
        return self.appended_at(request, base)

    def appended_at(self, request, base):
        """Return the response to a batch that stands at offset `base`."""
        return Response(records=request.records, error=Error.NONE, base=base)

    def refused(self, request, error):
        """Return the response to a batch that meets an error."""
        return Response(records=request.records, error=error, base=0)

    # Properties, beside the application's.

    @invariant(says="{partition}: {self.in_flight}")
    def in_flight_bound(self):
        """Where the sender guarantees the order, at most one batch of a partition is in flight, on all connections."""
        return not self.guarantees_message_order() or all(
            sum(1 for node in Node for batch in self.in_flight[node] if batch.partition == partition) <= 1
            for partition in Partition
        )

    @invariant(says="muted: {self.muted}, in flight: {self.in_flight}")
    def muted_while_in_flight(self):
        """A partition is muted only while a batch of it is in flight: it will be drained again."""
        return all(
            any(batch.partition == partition for node in Node for batch in self.in_flight[node])
            for partition in self.muted
        )
