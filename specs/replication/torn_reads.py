"""A read that determines its bound twice (KAFKA-9835): entry R15 of docs/replication.md."""

from checker.language import Bug, Constant, Event, SetOf, action, require
from specs.replication.partition import Partition
from specs.replication.state import Replica


class TornReads(Partition):
    """A leader that appends while a consumer's read is in progress: a read is two steps.

    If every record is committed, a read may extend to the end of the file. Up to Kafka 2.5.0 the size of the file was
    read again when the result was sliced. Records appended in between were returned too, above the high watermark.

    Source: KAFKA-9835; FileRecords.slice and LogSegment.read.
    """

    consumers = Constant(True)
    takes_bound_twice = Constant(True)

    to_the_end = SetOf(Replica)  # leaders with a read in progress that may extend to the end of the file
    consumer_read = None
    draws = Partition.draws.with_events(
        Event("consumer_begin_read", "A read of the consumer starts, up to the end of the log of {leader}", "read",
            "leader"),
        Event("consumer_end_read", "The read returns r{log[leader][len(consumed)].id}, at offset {len(consumed)} of "
            "the file of {leader}", "consumer reads r{log[leader][len(consumed)].id}", "leader"),
    )  # fmt: skip

    @action
    def consumer_begin_read(self, leader: Replica):
        """A read starts while every record is committed."""
        require(self.leads(leader))
        require(self.high_watermark[leader] == len(self.log[leader]))
        require(leader not in self.to_the_end)
        self.to_the_end.add(leader)

    @action
    def consumer_end_read(self, leader: Replica):
        """The read returns the next record before its bound: the file's end now, or when the read started."""
        require(self.leads(leader))
        require(leader in self.to_the_end)
        offset = len(self.consumed)
        require(offset < (len(self.log[leader]) if self.takes_bound_twice else self.high_watermark[leader]))
        self.consumed.append(self.log[leader][offset].id)
        self.to_the_end.discard(leader)

    def stop(self, broker):
        """Stop a broker, and abort its reads."""
        super().stop(broker)
        self.to_the_end.discard(broker)


SIZE = dict(replicas=2, log_size=1, max_records=1, max_leader_epoch=1)

scenarios = [
    Bug("r15_bound_taken_twice", TornReads, violates={"reads_are_stable": 7}, size=SIZE,
        larger=dict(SIZE, log_size=2, max_records=2, max_leader_epoch=2, max_partition_epoch=4),
        fixed=dict(takes_bound_twice=False),
        description="KAFKA-9835: a record appended between two looks at the file's size is read uncommitted.",
        remedy="KAFKA-9835: a read determines its bound once."),
]  # fmt: skip
