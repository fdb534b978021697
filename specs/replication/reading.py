"""A consumer that reads below the high watermark."""

from checker.language import Range, Seq, action, invariant, reachable, require
from specs.replication.failures import Failures
from specs.replication.state import Replica


class Reading(Failures, abstract=True):
    """One consumer that reads the log once, record by record.

    Source: KIP-392 (`reads_from_followers`); Partition.fetchRecords with the isolation HIGH_WATERMARK.
    """

    consumed = Seq(Range(0, "max_records - 1"), "log_size")

    @action
    def consumer_read(self, replica: Replica):
        """The consumer reads the next record below a replica's high watermark."""
        require(self.consumers)
        require(self.leads(replica) or (self.reads_from_followers and self.follows(replica)))
        offset = len(self.consumed)
        require(offset < self.high_watermark[replica])
        self.consumed.append(self.log[replica][offset].id)

    @invariant(
        says="a consumer has read r{self.consumed[offset]} at offset {offset}, and {leader} has {self.log[leader]}"
    )
    def reads_are_stable(self):
        """The leader in the newest leader epoch has every record that was read, at the same offset."""
        return all(
            offset < len(self.log[leader]) and self.log[leader][offset].id == self.consumed[offset]
            for leader in Replica
            if self.is_true_leader(leader)
            for offset in range(len(self.consumed))
        )

    @reachable
    def everything_is_read(self):
        """If there is a consumer, it reads to the end."""
        return not self.consumers or len(self.consumed) == min(self.log_size, self.max_records)
