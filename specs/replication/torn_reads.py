"""A read that takes its bound twice (KAFKA-9835): entry R15 of docs/replication-messages.md."""

from checker.language import Constant, Scenario, SetOf, action, require
from specs.replication.partition import Partition
from specs.replication.state import Replica


class TornReads(Partition):
    """A leader whose threads append while another reads, so that a read is two steps and not one.

    Where everything is committed a read may go to the end of the file. Up to Kafka 2.5.0 the size of the file was taken
    again when the read was cut to size: what had been appended meanwhile was read too, above the high watermark.

    Source: KAFKA-9835; FileRecords.slice and LogSegment.read.
    """

    consumers = Constant(True)
    takes_bound_twice = Constant(True)

    to_the_end = SetOf(Replica)  # leaders at which a read was begun that may go to the end of the file
    consumer_read = None

    @action
    def consumer_begin_read(self, leader: Replica):
        """A read finds that everything is committed."""
        require(self.leads(leader))
        require(self.high_watermark[leader] == len(self.log[leader]))
        require(leader not in self.to_the_end)
        self.to_the_end.add(leader)

    @action
    def consumer_end_read(self, leader: Replica):
        """The read takes the next record, if that is before its bound: the end of the file as it is now, or was."""
        require(self.leads(leader))
        require(leader in self.to_the_end)
        offset = len(self.consumed)
        require(offset < (len(self.log[leader]) if self.takes_bound_twice else self.high_watermark[leader]))
        self.consumed.append(self.log[leader][offset].id)
        self.to_the_end.discard(leader)

    def stop(self, broker):
        """With a broker its reads end."""
        super().stop(broker)
        self.to_the_end.discard(broker)


SIZE = dict(replicas=2, log_size=1, max_records=1, max_leader_epoch=1)

scenarios = [
    Scenario(
        TornReads,
        "r15_bound_taken_twice",
        SIZE,
        expect={"reads_are_stable": 7},
        properties=["reads_are_stable"],
        description="KAFKA-9835: what is appended between two looks at the file's size is read before it is committed.",
    ),
    Scenario(
        TornReads,
        "r15_bound_taken_twice_fixed",
        dict(SIZE, takes_bound_twice=False),
        description="Mended: the bound is taken once.",
    ),
    Scenario(
        TornReads,
        "r15_bound_taken_twice_fixed_larger",
        dict(SIZE, log_size=2, max_records=2, max_leader_epoch=2, max_partition_epoch=4, takes_bound_twice=False),
        description="Mended: the bound is taken once.",
    ),
]
