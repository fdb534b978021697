"""An application, the futures that its producer returns, the logs, and the guarantees as properties."""

from checker.language import Constant, Enum, Map, Option, Range, Seq, Spec, invariant, reachable
from specs.producer.values import Partition

LOG_SIZE = "(records * (restarts + 1) + resends) * (retries + 1)"
"""The largest length of a log: every attempt of every send is appended at most once."""


class RecordId(Range):
    """The number of a record, in send order."""

    low, high = 1, "records"


class Offset(Range):
    """An offset in a partition's log."""

    low, high = 0, LOG_SIZE


class Future(Enum):
    """The state of a record's future."""

    UNSENT = "unsent"
    PENDING = "pending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class Application(Spec, abstract=True):
    """Records sent in order, the future of each record, and the log of each partition. Source: KafkaProducer.send."""

    records = Constant(2, at_least=1)
    partitions = Constant(1, at_least=1)
    retries = Constant(1, at_least=0)
    restarts = Constant(0, at_least=0)
    resends = Constant(0, at_least=0)  # by the application, of failed records

    sent = Range(0, "records")
    future = Map(RecordId, Future)
    offset = Map(RecordId, Option(Offset))  # the offset in a successful future; None with acks=0
    log = Map(Partition, Seq(RecordId, LOG_SIZE))

    def partition_of(self, record):
        """Return the partition of a record, which the application chooses once."""
        return (record - 1) % self.partitions

    def is_complete(self, record):
        """Return whether the record's future is complete."""
        return self.future[record] == Future.SUCCEEDED or self.future[record] == Future.FAILED

    def is_in_log(self, record):
        """Return whether a copy of the record was appended."""
        return record in self.log[self.partition_of(record)]

    def is_at(self, record, offset):
        """Return whether the record is at an offset."""
        log = self.log[self.partition_of(record)]
        return offset < len(log) and log[offset] == record

    def may_reach_log(self, record):
        """Return whether a request with this record may still reach a log."""
        return False

    # Properties.

    @invariant(says="partition {partition} holds {self.log[partition]}")
    def no_reorder(self):
        """The first copies of a partition's records are in send order."""
        return all(
            self.log[partition][i] in self.log[partition][:i]
            or all(earlier < self.log[partition][i] for earlier in self.log[partition][:i])
            for partition in Partition
            for i in range(len(self.log[partition]))
        )

    @invariant(says="partition {partition} holds {self.log[partition]}")
    def no_late_copy(self):
        """No copy of a record, first or not, is after a later record: a consumer never reads a step back."""
        return all(
            self.log[partition][i - 1] <= self.log[partition][i]
            for partition in Partition
            for i in range(1, len(self.log[partition]))
        )

    @invariant(says="partition {partition} holds {self.log[partition]}")
    def no_duplicate(self):
        """No record is in the log twice."""
        return all(self.log[partition].count(record) <= 1 for partition in Partition for record in self.log[partition])

    @invariant(says="record {record} is in the log, record {earlier} is neither in the log nor failed")
    def no_gap(self):
        """If a record is in the log, every earlier record of its partition is in the log or has failed."""
        return all(
            self.is_in_log(earlier)
            or self.future[earlier] == Future.FAILED
            or self.partition_of(earlier) != self.partition_of(record)
            or not self.is_in_log(record)
            for record in RecordId
            for earlier in range(1, record)
        )

    @invariant(says="record {record} succeeded and is not in the log")
    def no_acked_loss(self):
        """A record whose future succeeded is in the log, or (acks=0) in a request that may still reach it."""
        return all(
            self.future[record] != Future.SUCCEEDED or self.is_in_log(record) or self.may_reach_log(record)
            for record in RecordId
        )

    @invariant(says="record {record} succeeded at offset {self.offset[record]}, which does not have it")
    def ack_true(self):
        """A successful future has the offset of its record; with acks=0 it has none."""
        return all(self.offset[record] is None or self.is_at(record, self.offset[record]) for record in RecordId)

    @reachable
    def every_record_succeeds(self):
        """Every future succeeds."""
        return all(self.future[record] == Future.SUCCEEDED for record in RecordId)
