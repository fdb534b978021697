"""What a leader appends, when its high watermark moves, and what it acknowledges."""

from checker.language import Constant, Map, Option, Range, SetOf, Struct, action, invariant, reachable, require
from specs.replication.leader_epochs import LeaderEpochs, Offset
from specs.replication.state import Record, Replica


class BrokerEpoch(Range):
    """How often a broker had registered with the controller before."""

    low, high = 0, "max_broker_epoch"


class PartitionEpoch(Range):
    """How often the controller has changed the partition's leader or ISR."""

    low, high = 0, "max_partition_epoch"


class AlterPartition(Struct):
    """A leader's request for another ISR, based on a partition epoch; `joining` is who comes in, if anybody."""

    isr: SetOf(Replica)
    partition_epoch: PartitionEpoch
    joining: Option(Replica)
    broker_epoch: BrokerEpoch
    shows = "isr {isr} on v{partition_epoch}"


class Acknowledging(LeaderEpochs, abstract=True):
    """Producers' appends, the high watermark of the leader, min.insync.replicas at append and again at the answer.

    `remote_end` is how far the leader believes that the others have got: the offset of their last fetch. The
    high watermark is the least of them over the maximal ISR, that is, with everybody whom the leader has asked to take
    in, and everybody whom it has asked to take out and that the controller has not taken out yet.

    An append with acks=all is answered in the step in which the high watermark passes it: with success, or, where too
    few are in sync by now, with NOT_ENOUGH_REPLICAS_AFTER_APPEND, and then it stays in the log.

    Source: Partition.appendRecordsToLeader, maybeIncrementLeaderHW, checkEnoughReplicasReachOffset; DelayedProduce;
    KAFKA-15583 (`strict_min_isr`).
    """

    max_broker_epoch = Constant(0, at_least=0)
    max_partition_epoch = Constant(2, at_least=0)
    acks = Constant("all", one_of=("1", "all"))
    min_insync_replicas = Constant(1, at_least=1)
    strict_min_isr = Constant(True)

    alive = SetOf(Replica)
    remote_end = Map(Replica, Map(Replica, Offset))
    pending = Map(Replica, Option(AlterPartition))
    acked = SetOf(Range(0, "max_records - 1"))

    def leads(self, replica: Replica):
        """Return whether a broker is alive and takes itself for the leader."""
        return replica in self.alive and self.presumes_leadership(replica)

    def maximal_isr(self, leader: Replica):
        """Return everybody who is in sync, or may be by now, as far as the leader knows."""
        if self.pending[leader] is None:
            return self.isr[leader]
        return self.isr[leader] | self.pending[leader].isr

    @action
    def leader_append(self, leader: Replica):
        """A leader appends a producer's record, as long as it takes itself for the leader."""
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
        """Append a record to a log; the first one of its epoch begins the epoch."""
        self.assign_epoch(replica, record.epoch, len(self.log[replica]))
        self.log[replica].append(record)

    def advance_high_watermark(self, leader):
        """Move the leader's high watermark as far as the maximal ISR allows, and answer the appends that it passes."""
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
        """Answer an append with acks=all. Only who appended it, in the same epoch, has a producer waiting for it."""
        if (
            self.acks == "all"
            and record.epoch == self.leader_epoch[leader]
            and len(self.maximal_isr(leader)) >= self.min_insync_replicas
        ):
            self.acked.add(record.id)

    @invariant(says="record r{record} was acknowledged, and the leader {leader} has {self.log[leader]}")
    def no_acked_loss(self):
        """Whoever leads in the newest leader epoch has every acknowledged record."""
        return all(
            any(found.id == record for found in self.log[leader])
            for leader in Replica
            if self.is_true_leader(leader)
            for record in self.acked
        )

    @reachable
    def record_is_acknowledged(self):
        """Producers get somewhere."""
        return len(self.acked) > 0
