"""3. A producer's record: the append, the high watermark over the maximal ISR, and the answer."""

from checker.language.roles import action, require
from specs.replication.partition_state import PartitionVariables
from specs.replication.state import Record, Replica


class Appends(PartitionVariables, abstract=True):
    """A leader appends and answers. Source: Partition.appendRecordsToLeader, DelayedProduce."""

    @action
    def leader_append(self, leader: Replica):
        """A leader appends a producer's record while it believes that it leads.

        With acks=all it checks min.insync.replicas now, and again before it answers.
        """
        require(self.leads(leader))
        require(self.next_record_id < self.max_records)
        require(len(self.log[leader]) < self.log_size)
        require(self.acks != "all" or len(self.isr[leader]) >= self.min_isr(leader))
        record = Record(id=self.next_record_id, epoch=self.leader_epoch[leader])
        self.next_record_id += 1
        self.append(leader, record)
        if self.acks == "1":
            self.acked.add(record.id)
        self.advance_high_watermark(leader)

    def min_isr(self, leader: Replica):
        """Return the size of the ISR that a leader requires."""
        return self.effective_min_isr(leader in self.knows_new_min_isr)

    def effective_min_isr(self, is_new):
        """Return min.insync.replicas before or after its change: since 3.7 at most the number of replicas.

        Source: Partition.effectiveMinIsr, ReplicationControlManager.getTopicEffectiveMinIsr; KAFKA-15583.
        """
        required = self.new_min_insync_replicas if is_new else self.min_insync_replicas
        return min(required, self.replicas) if self.strict_min_isr else required

    def maximal_isr(self, leader: Replica):
        """Return every replica that is in sync, or may be by now, as far as the leader knows.

        These are the members of the ISR, the replica that the leader has asked to add, and those that it has asked to
        remove while the controller has not removed them. Source: PendingPartitionChange; KIP-497.
        """
        if self.pending[leader] is None:
            return self.isr[leader]
        return self.isr[leader] | self.pending[leader].isr

    def advance_high_watermark(self, leader):
        """Raise the leader's high watermark to the end that the maximal ISR has, and answer the appends below it.

        Source: Partition.maybeIncrementLeaderHW; KAFKA-15583.
        """
        if not self.strict_min_isr or len(self.isr[leader]) >= self.min_isr(leader):
            committed = self.high_watermark[leader]
            reached = min(
                len(self.log[leader]) if member == leader else self.remote_end[leader][member]
                for member in self.maximal_isr(leader) | self.awaited[leader] | {leader}
            )
            if reached > committed:
                self.high_watermark[leader] = reached
                for record in self.log[leader][committed:reached]:
                    self.answer_append(leader, record)

    @action
    def leader_await_follower(self, leader: Replica, follower: Replica):
        """A follower outside the ISR has caught up, or has lagged for replica.lag.time.max.ms after that.

        From then on the leader's high watermark waits for it, or no longer does. The model has no clock: either may
        happen at any time, also before the leader learns that the follower is not in the ISR any more.
        Source: Partition.maybeIncrementLeaderHW (shouldWaitForReplicaToJoinIsr).
        """
        require(self.waits_for_joining)
        require(self.leads(leader))
        require(follower not in self.isr[leader] or self.has_left(leader, follower))
        if follower in self.awaited[leader]:
            self.awaited[leader].discard(follower)
        else:
            self.awaited[leader].add(follower)

    def has_left(self, leader, follower):
        """Return whether a follower has left the ISR in a change that its leader has not learned yet."""
        return any(
            change.partition_epoch > self.known_partition_epoch[leader] and follower not in change.isr
            for change in self.changes
        )

    def answer_append(self, leader, record):
        """Answer an append with acks=all. Its producer waits only at the leader that appended it.

        If too few replicas are in sync by then, the answer is NOT_ENOUGH_REPLICAS_AFTER_APPEND, and the record stays in
        the log. Source: Partition.checkEnoughReplicasReachOffset.
        """
        if (
            self.acks == "all"
            and self.is_producer_waiting(leader, record)
            and len(self.maximal_isr(leader)) >= self.min_isr(leader)
        ):
            self.acked.add(record.id)

    def is_producer_waiting(self, leader, record):
        """Return whether the producer of a record waits at a leader: in the epoch of the append or, in Kafka, longer.

        Kafka remembers the offset of the append alone. The request fails when the broker learns that it follows.
        Source: DelayedProduce, ReplicaManager.completeDelayedOperationsWhenNotPartitionLeader.
        """
        if self.answers_across_epochs:
            return record.epoch >= self.led_since[leader]
        return record.epoch == self.leader_epoch[leader]
