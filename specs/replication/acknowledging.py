"""A leader's appends, its high watermark, and its acknowledgements."""

from checker.language import Map, Option, Range, SetOf, Struct, action, invariant, reachable, require
from specs.replication.leader_epochs import LeaderEpochs, Offset
from specs.replication.state import Record, Replica


class BrokerEpoch(Range):
    """The number of earlier registrations of a broker with the controller."""

    low, high = 0, "max_broker_epoch"


class PartitionEpoch(Range):
    """The number of changes of the partition's leader or ISR that the controller has made."""

    low, high = 0, "max_partition_epoch"


class AlterPartition(Struct):
    """A leader's request for another ISR, based on a partition epoch; `joining` is the replica to add, if any."""

    isr: SetOf(Replica)
    partition_epoch: PartitionEpoch
    joining: Option(Replica)
    broker_epoch: BrokerEpoch
    shows = "isr {isr} on v{partition_epoch}"


class Acknowledging(LeaderEpochs, abstract=True):
    """Producers' appends, the leader's high watermark, and min.insync.replicas at append and again at the answer.

    `remote_end` is each replica's log end offset as the leader knows it: the offset of the last fetch. The high
    watermark is the minimum over the maximal ISR: the ISR, the replicas that the leader has asked to add, and those
    that it has asked to remove while the controller has not removed them.

    An append with acks=all is answered in the step in which the high watermark passes it. If too few replicas are in
    sync by then, the answer is NOT_ENOUGH_REPLICAS_AFTER_APPEND, and the record stays in the log.

    Source: Partition.appendRecordsToLeader, maybeIncrementLeaderHW, checkEnoughReplicasReachOffset; DelayedProduce.
    """

    alive = SetOf(Replica)
    remote_end = Map(Replica, Map(Replica, Offset))
    pending = Map(Replica, Option(AlterPartition))
    acked = SetOf(Range(0, "max_records - 1"))

    def leads(self, replica: Replica):
        """Return whether a broker is alive and believes that it leads."""
        return replica in self.alive and self.presumes_leadership(replica)

    def maximal_isr(self, leader: Replica):
        """Return every replica that is in sync, or may be by now, as far as the leader knows."""
        if self.pending[leader] is None:
            return self.isr[leader]
        return self.isr[leader] | self.pending[leader].isr

    @action
    def leader_append(self, leader: Replica):
        """A leader appends a producer's record while it believes that it leads."""
        require(self.leads(leader))
        require(self.next_record_id < self.max_records)
        require(len(self.log[leader]) < self.log_size)
        require(self.acks != "all" or len(self.isr[leader]) >= self.min_insync_replicas)
        record = Record(id=self.next_record_id, epoch=self.leader_epoch[leader])
        self.next_record_id += 1
        self.append(leader, record)
        if self.acks == "1":
            self.acked.add(record.id)
        self.advance_high_watermark(leader)

    def append(self, replica, record):
        """Append a record to a log; the first record of an epoch starts the epoch in the cache."""
        self.assign_epoch(replica, record.epoch, len(self.log[replica]))
        self.log[replica].append(record)

    def advance_high_watermark(self, leader):
        """Raise the leader's high watermark to the end that the maximal ISR has, and answer the appends below it."""
        if not self.strict_min_isr or len(self.isr[leader]) >= self.min_insync_replicas:
            committed = self.high_watermark[leader]
            reached = min(
                len(self.log[leader]) if member == leader else self.remote_end[leader][member]
                for member in self.maximal_isr(leader) | {leader}
            )
            if reached > committed:
                self.high_watermark[leader] = reached
                for record in self.log[leader][committed:reached]:
                    self.answer_append(leader, record)

    def answer_append(self, leader, record):
        """Answer an append with acks=all. Its producer waits only at the leader that appended it, in the same epoch."""
        if (
            self.acks == "all"
            and record.epoch == self.leader_epoch[leader]
            and len(self.maximal_isr(leader)) >= self.min_insync_replicas
        ):
            self.acked.add(record.id)

    @invariant(says="record r{record} was acknowledged, and the leader {leader} has {self.log[leader]}")
    def no_acked_loss(self):
        """The leader in the newest leader epoch has every acknowledged record."""
        return all(
            any(found.id == record for found in self.log[leader])
            for leader in Replica
            if self.is_true_leader(leader)
            for record in self.acked
        )

    @reachable
    def record_is_acknowledged(self):
        """A record is acknowledged."""
        return len(self.acked) > 0
