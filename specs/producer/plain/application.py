"""An application, what its producer tells it, and what stands in the log: the guarantees that are asked about."""

from checker.language import Constant, Enum, Map, Option, Range, Seq, Spec, invariant, reachable

LOG_SIZE = "(records * (restarts + 1) + resends) * (retries + 1)"
"""No log is longer: every attempt of every send is appended once at most."""


class RecordId(Range):
    """Records are numbered in the order in which the application sends them."""

    low, high = 1, "records"


class Offset(Range):
    """A position in a partition's log."""

    low, high = 0, LOG_SIZE


class Partition(Range):
    """Partitions are numbered from 0."""

    low, high = 0, "partitions - 1"


class Future(Enum):
    """What the application knows of a record."""

    UNSENT = "unsent"
    PENDING = "pending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class Application(Spec, abstract=True):
    """Records sent in order, the future of each, and the log of each partition. Source: KafkaProducer.send."""

    records = Constant(2, at_least=1)
    partitions = Constant(1, at_least=1)
    retries = Constant(1, at_least=0)
    restarts = Constant(0, at_least=0)
    resends = Constant(0, at_least=0)  # by the application, of records whose future failed

    sent = Range(0, "records")
    future = Map(RecordId, Future)
    offset = Map(RecordId, Option(Offset))  # of a record whose future succeeded; none with acks=0
    log = Map(Partition, Seq(RecordId, LOG_SIZE))

    def partition_of(self, record):
        """The partition of a record: the application chooses it, once."""
        return (record - 1) % self.partitions

    def is_complete(self, record):
        """Whether the application was told how the record fared."""
        return self.future[record] == Future.SUCCEEDED or self.future[record] == Future.FAILED

    def is_in_log(self, record):
        """Whether a copy of the record was appended."""
        return record in self.log[self.partition_of(record)]

    def is_at(self, record, offset):
        """Whether the record stands at an offset."""
        log = self.log[self.partition_of(record)]
        return offset < len(log) and log[offset] == record

    def is_under_way(self, record):
        """Whether a request with this record may still reach a log."""
        return False

    # Properties.

    @invariant(says="partition {partition} holds {self.log[partition]}")
    def no_reorder(self):
        """The first copies of a partition's records stand in the order in which they were sent."""
        return all(
            self.log[partition][i] in self.log[partition][:i]
            or all(earlier < self.log[partition][i] for earlier in self.log[partition][:i])
            for partition in Partition
            for i in range(len(self.log[partition]))
        )

    @invariant(says="partition {partition} holds {self.log[partition]}")
    def no_late_copy(self):
        """No copy of a record, be it the first, stands behind a later record: who reads in order never steps back."""
        return all(
            self.log[partition][i - 1] <= self.log[partition][i]
            for partition in Partition
            for i in range(1, len(self.log[partition]))
        )

    @invariant(says="partition {partition} holds {self.log[partition]}")
    def no_duplicate(self):
        """No record is in the log twice."""
        return all(self.log[partition].count(record) <= 1 for partition in Partition for record in self.log[partition])

    @invariant(says="record {record} is in the log, record {earlier} neither there nor given up")
    def no_gap(self):
        """Where a record is in the log, every earlier one of its partition is there, too, or known to have failed."""
        return all(
            self.is_in_log(earlier)
            or self.future[earlier] == Future.FAILED
            or self.partition_of(earlier) != self.partition_of(record)
            or not self.is_in_log(record)
            for record in RecordId
            for earlier in range(1, record)
        )

    @invariant(says="record {record} succeeded and is nowhere")
    def no_acked_loss(self):
        """A record whose future succeeded is in the log, or (acks=0) still on its way there."""
        return all(
            self.future[record] != Future.SUCCEEDED or self.is_in_log(record) or self.is_under_way(record)
            for record in RecordId
        )

    @invariant(says="record {record} succeeded at offset {self.offset[record]}, which does not hold it")
    def ack_true(self):
        """A future that succeeded names an offset that holds its record; with acks=0 it names none."""
        return all(self.offset[record] is None or self.is_at(record, self.offset[record]) for record in RecordId)

    @reachable
    def every_record_succeeds(self):
        """All futures succeed."""
        return all(self.future[record] == Future.SUCCEEDED for record in RecordId)
