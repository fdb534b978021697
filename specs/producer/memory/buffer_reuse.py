"""The reuse of a batch's buffer while the network may still read it (KAFKA-19012)."""

from checker.language import Constant, Domain, Enum, Map, Option, Range, Scenario, Seq, SetOf, Spec
from checker.language.drawing import Drawing, Event, Lane, Log
from checker.language.roles import action, invariant, reachable, require
from specs.producer.values import Partition


class RecordId(Range):
    """A record, which is the only one of its batch."""

    low, high = 0, "records - 1"


class Buffer(Domain):
    """A pooled buffer."""

    size, prefix = "buffers", "buf"


class Future(Enum):
    """The state of a record's future."""

    NOT_SENT = "not sent"
    PENDING = "pending"
    ACKNOWLEDGED = "acknowledged"
    FAILED = "failed"


class Request(Enum):
    """The state of a batch's request; its bytes are read from the buffer when they are written to the socket."""

    NONE = "none"
    WRITING = "writing"
    WRITTEN = "written"
    ANSWERED = "answered"


class BufferReuse(Spec):
    """Batches expire while their requests are in flight, and buffers are reused, but only after the answer.

    A request names its partition in a separate header; the records are read from the batch's buffer while the request
    is written to the socket. The checksum covers the records, but not the topic or partition: a broker cannot detect a
    batch for another partition. There are no retries here.

    Source: Apache Kafka, Sender.failExpiredBatches and BufferPool after KAFKA-19012 (pull request 21065): the buffer of
    a batch that expires in flight is returned when its request completes.
    """

    records = Constant(2, at_least=1)
    partitions = Constant(2, at_least=1)
    buffers = Constant(1, at_least=1)

    future = Map(RecordId, Future)
    request = Map(RecordId, Request)
    buffer_of = Map(RecordId, Option(Buffer))  # the pool's buffer of a record's batch
    sent_from = Map(RecordId, Option(Buffer))  # the buffer that the network reads for a record's request
    content = Map(Buffer, Option(RecordId))
    free = SetOf(Buffer)
    log = Map(Partition, Seq(RecordId, "records"))

    draws = Drawing(
        Lane("record", each=RecordId, facts={"future": "future", "request": "request", "buffer_of": "buffer"}),
        Lane("pool", boxes={"free": "free buffers"}),
        Lane("buffer", each=Buffer, facts={"content": "has record"}),
        Lane("partition", each=Partition, logs=(Log("log", colour=".", called=("record",)),)),
        gains={"free": "back in the pool:"},
    ).with_events(
        Event("init", "All buffers are free, and record r belongs to partition r"),
        Event("append", "Record {record} gets a batch in {buffer}", "uses {buffer}", "f'record {record}'"),
        Event("send", "The sender passes the request with record {record} to the network, which will read "
            "{buffer_of[record]}", "request", "f'record {record}'"),
        Event("expire", "delivery.timeout.ms passes for record {record}", "timeout", "f'record {record}'", "timeout"),
        Event("write", "The network writes the request of record {record} from {sent_from[record]}, which now has "
            "record {content[sent_from[record]]}", "", "f'partition {partition_of(record)}'"),
        Event("answer", "The request of record {record} completes", "answered", "f'record {record}'"),
    )  # fmt: skip

    def init(self):
        self.free = set(Buffer)

    def partition_of(self, record: RecordId):
        """Return the partition that a record is for."""
        return record % self.partitions

    def release(self, record: RecordId):
        """Return the buffer of a record's batch to the free list, once."""
        if self.buffer_of[record] is not None:
            self.free.add(self.buffer_of[record])
            self.buffer_of[record] = None

    def expired_in_flight(self, record: RecordId):
        """Handle the buffer of a batch that expires in flight: the batch keeps it, because the request may need it."""

    @action
    def append(self, record: RecordId, buffer: Buffer):
        """A record gets a batch in a free buffer."""
        require(self.future[record] == Future.NOT_SENT and buffer in self.free)
        self.free.remove(buffer)
        self.content[buffer] = record
        self.buffer_of[record] = buffer
        self.future[record] = Future.PENDING

    @action
    def send(self, record: RecordId):
        """The sender makes a request of a batch and passes it to the network."""
        require(self.future[record] == Future.PENDING and self.request[record] == Request.NONE)
        self.request[record] = Request.WRITING
        self.sent_from[record] = self.buffer_of[record]

    @action
    def expire(self, record: RecordId):
        """delivery.timeout.ms passes: the future fails, but the request continues."""
        require(self.future[record] == Future.PENDING)
        self.future[record] = Future.FAILED
        if self.request[record] == Request.NONE:
            self.release(record)
        else:
            self.expired_in_flight(record)

    @action
    def write(self, record: RecordId):
        """The last bytes of a request are written, from the current buffer, and the broker appends them."""
        require(self.request[record] == Request.WRITING)
        self.request[record] = Request.WRITTEN
        self.log[self.partition_of(record)].append(self.content[self.sent_from[record]])

    @action
    def answer(self, record: RecordId):
        """The request completes."""
        require(self.request[record] == Request.WRITTEN)
        self.request[record] = Request.ANSWERED
        self.sent_from[record] = None
        if self.future[record] == Future.PENDING:
            self.future[record] = Future.ACKNOWLEDGED
        self.release(record)

    @invariant(says="partition {partition} has record {record}, which belongs to another partition")
    def records_are_in_their_partition(self):
        """Every record in a log belongs to its partition."""
        return all(self.partition_of(record) == partition for partition in Partition for record in self.log[partition])

    @invariant(says="partition {partition} has a record twice: {self.log[partition]}")
    def no_record_twice(self):
        """No record is in a log twice."""
        return all(self.log[partition].count(record) <= 1 for partition in Partition for record in RecordId)

    @invariant(says="record {record} is acknowledged and not in the log")
    def acknowledged_is_written(self):
        """An acknowledged record is in the log of its partition."""
        return all(
            self.future[record] != Future.ACKNOWLEDGED or record in self.log[self.partition_of(record)]
            for record in RecordId
        )

    @reachable
    def expired_record_is_written(self):
        """A record with a failed future is in the log (P11)."""
        return any(
            self.future[record] == Future.FAILED and record in self.log[self.partition_of(record)]
            for record in RecordId
        )

    @reachable
    def buffer_is_used_again(self):
        """More records were acknowledged than there are buffers."""
        return sum(1 for record in RecordId if self.future[record] == Future.ACKNOWLEDGED) > self.buffers


class BufferFreedAtExpiry(BufferReuse):
    """Kafka's clients from 2.8 until KAFKA-19012: a batch that expires in flight returns its buffer at once.

    Before 2.8 the bytes were copied before they were written, so this was harmless.

    Source: Apache Kafka, Sender.failBatch and RecordAccumulator.deallocate before KAFKA-19012; catalogue entry P13.
    """

    def expired_in_flight(self, record: RecordId):
        """Free the buffer although the network may still read it."""
        self.release(record)


scenarios = [
    Scenario(BufferReuse, "two_records", dict(records=2),
        description="A batch that expires in flight keeps its buffer until its request completes: logs stay correct."),
    Scenario(BufferReuse, "one_partition", dict(records=2, partitions=1), description="The same with one partition."),
    Scenario(BufferReuse, "larger", dict(records=4, buffers=2),
        description="The same with four records and two buffers."),
    Scenario(BufferReuse, "five_records", dict(records=5, buffers=2), description="The same with five records."),
    Scenario(BufferFreedAtExpiry, "wrong_partition", dict(records=2), expect={"records_are_in_their_partition": 6},
        description="An expired batch's buffer is refilled while its request is written: both topics get the record."),
    Scenario(BufferFreedAtExpiry, "record_twice", dict(records=2, partitions=1), expect={"no_record_twice": 8},
        description="The same with one partition: the second record is written for itself and again for the first."),
]  # fmt: skip
