"""6. The leader asks the controller for another ISR: AlterPartition (KIP-497)."""

from checker.language.roles import action, require
from specs.replication.partition_state import AlterPartition, PartitionEpoch, PartitionVariables
from specs.replication.state import Replica


class IsrRequests(PartitionVariables, abstract=True):
    """A leader's requests for another ISR, and their answers.

    A leader has one request in flight, which is granted, rejected or delayed. A requested ISR counts for the high
    watermark at once (`maximal_isr`). The leader learns the new ISR from the metadata, at any later time. A request
    carries the leader's epoch. A leader that enters another epoch drops its request, since the controller would
    reject it. The request of a leader that dies is lost (default), or arrives later (`requests_of_dead_leaders`).
    """

    def may_ask(self, leader):
        """Return whether a leader has no request in flight, and the bound allows a change."""
        return self.pending[leader] is None and self.known_partition_epoch[leader] < self.max_partition_epoch

    def may_join(self, leader, follower, end):
        """Return whether a leader asks to add a follower that has every record before `end`.

        Source: Partition.maybeExpandIsr, isFollowerInSync; KAFKA-7128.
        """
        return (
            follower not in self.isr[leader]
            and self.may_ask(leader)
            and end >= self.high_watermark[leader]
            and (not self.joins_at_epoch_start or end >= self.epoch_start[leader])
        )

    def ask_to_join(self, leader, follower):
        """After a fetch: ask to add the follower if it has caught up."""
        if self.may_join(leader, follower, self.remote_end[leader][follower]):
            self.ask_for(leader, follower)

    @action
    def leader_ask_to_expand_isr(self, leader: Replica, follower: Replica):
        """A leader learns that a follower that has caught up is not fenced, and asks to add it to the ISR.

        Source: Partition.maybeExpandIsr, canAddReplicaToIsr; KIP-841.
        """
        require(self.asks_to_join_later)
        require(self.leads(leader) and follower != leader)
        require(self.pending[leader] is None)
        self.ask_to_join(leader, follower)
        require(self.pending[leader] is not None)

    def ask_for(self, leader, follower):
        """Ask to add a follower, with the broker epoch of its fetch."""
        self.pending[leader] = AlterPartition(
            isr=self.isr[leader] | {follower},
            partition_epoch=self.known_partition_epoch[leader],
            joining=follower,
            broker_epoch=self.remote_broker_epoch[leader][follower],
        )

    def lags(self, leader, follower):
        """Return whether a leader may find that a follower lags.

        The model does not tell a follower at offset 0 from one that has not fetched in this leader epoch yet.
        Source: Partition.isFollowerOutOfSync.
        """
        end = self.remote_end[leader][follower]
        return end < len(self.log[leader]) or (self.lags_before_first_fetch and end == 0)

    @action
    def leader_ask_to_shrink_isr(self, leader: Replica, follower: Replica):
        """A follower has lagged for replica.lag.time.max.ms: the leader asks to remove it.

        Source: Partition.maybeShrinkIsr.
        """
        require(self.lagging)
        require(self.leads(leader))
        require(follower != leader)
        require(follower in self.isr[leader])
        require(self.may_ask(leader))
        require(self.lags(leader, follower))
        self.pending[leader] = AlterPartition(
            isr=self.isr[leader] - {follower},
            partition_epoch=self.known_partition_epoch[leader],
            joining=None,
            broker_epoch=0,
        )

    @action
    def leader_ask_to_be_alone(self, leader: Replica):
        """All followers in the ISR have lagged: one request removes them. Source: Partition.maybeShrinkIsr."""
        require(self.lagging and self.removes_several)
        require(self.leads(leader))
        require(self.may_ask(leader))
        followers = self.isr[leader] - {leader}
        require(len(followers) > 1)
        require(all(self.lags(leader, follower) for follower in followers))
        self.pending[leader] = AlterPartition(
            isr={leader}, partition_epoch=self.known_partition_epoch[leader], joining=None, broker_epoch=0
        )

    @action
    def leader_drop_request(self, leader: Replica):
        """A request was not sent, because the broker has one in flight that the leader no longer waits for.

        Source: DefaultAlterPartitionManager.submit (OPERATION_NOT_ATTEMPTED).
        """
        require(self.asks_to_join_later)
        require(self.leads(leader))
        request = self.pending[leader]
        require(request is not None)
        require(request.partition_epoch == self.partition_epoch)  # the controller has not granted it
        self.pending[leader] = None

    @action
    def controller_handle_alter_partition(self, leader: Replica):
        """The controller grants a request of the leader that is based on the newest partition epoch.

        It rejects other requests (INVALID_UPDATE_VERSION) without effect: the leader waits for newer metadata.
        Source: ReplicationControlManager.alterPartition, validateAlterPartitionData.
        """
        request = self.pending[leader]
        require(request is not None)
        require(self.quorum.leader == leader and self.is_true_leader(leader))
        require(request.partition_epoch == self.partition_epoch)
        require(self.partition_epoch < self.max_partition_epoch)
        if request.joining is not None and not self.is_eligible(request.joining, request.broker_epoch):
            self.pending[leader] = None  # INELIGIBLE_REPLICA: the leader keeps the ISR that it knows
        else:
            self.change(leader, request.isr)

    @action
    def controller_handle_request_of_dead_leader(self, leader: Replica):
        """The controller grants a request of a leader that has died since, and that it has not fenced yet.

        Source: ReplicationControlManager.validateAlterPartitionData, which compares epochs; SocketServer, which reads
        what arrived before a pause.
        """
        require(self.requests_of_dead_leaders)
        request = self.pending[leader]
        require(request is not None)
        require(leader not in self.alive and self.quorum.leader == leader)
        require(request.partition_epoch == self.partition_epoch)
        require(request.joining is None or self.is_eligible(request.joining, request.broker_epoch))
        self.pending[leader] = None
        self.change(leader, request.isr)

    def is_eligible(self, replica, broker_epoch):
        """Return whether the controller admits a replica to the ISR.

        Source: ReplicationControlManager.ineligibleReplicasForIsr; KIP-841, KIP-903.
        """
        return (self.fenced_may_join or replica not in self.fenced) and (
            not self.checks_broker_epochs or broker_epoch == self.broker_epoch[replica]
        )

    @action
    def leader_learn_isr(self, leader: Replica):
        """The leader gets newer metadata of its leader epoch, which also answers its request.

        Source: Partition.makeLeader, handleAlterPartitionUpdate.
        """
        require(self.leads(leader) and self.is_true_leader(leader))
        require(self.quorum.leader == leader)
        require(self.known_partition_epoch[leader] < self.partition_epoch)
        self.known_partition_epoch[leader] = self.partition_epoch
        self.isr[leader] = self.quorum.isr
        self.pending[leader] = None
        self.metadata_due.discard(leader)
        self.advance_high_watermark(leader)

    @action
    def leader_learn_earlier_isr(self, leader: Replica, version: PartitionEpoch):
        """The leader gets newer metadata of its leader epoch that are not the newest.

        Source: MetadataLoader, Partition.makeLeader, handleAlterPartitionUpdate.
        """
        require(self.leads(leader))
        require(self.known_partition_epoch[leader] < version)
        require(version < self.partition_epoch)
        for change in self.changes:
            if change.partition_epoch == version and change.leader_epoch == self.leader_epoch[leader]:
                self.known_partition_epoch[leader] = version
                self.isr[leader] = change.isr
        require(self.known_partition_epoch[leader] == version)
        self.pending[leader] = None
        self.metadata_due.discard(leader)
        self.advance_high_watermark(leader)

    @action
    def leader_get_answer(self, leader: Replica):
        """A leader learns from the answer to its request that it was granted, before the metadata show that.

        Source: Partition.handleAlterPartitionUpdate.
        """
        require(self.learns_isr_twice)
        require(self.leads(leader))
        request = self.pending[leader]
        require(request is not None)
        for change in self.changes:
            if (
                change.partition_epoch == request.partition_epoch + 1
                and change.leader_epoch == self.leader_epoch[leader]
            ):
                require(change.isr == request.isr)
                self.known_partition_epoch[leader] = change.partition_epoch
                self.isr[leader] = change.isr
        require(self.known_partition_epoch[leader] == request.partition_epoch + 1)
        self.pending[leader] = None
        self.metadata_due.add(leader)
        self.advance_high_watermark(leader)

    @action
    def leader_learn_isr_again(self, leader: Replica):
        """The metadata show a leader the ISR that it knows from an answer. It drops its next request.

        The controller may have granted that request, or may still grant it.
        Source: Partition.makeLeader (updateAssignmentAndIsr, also for an equal partition epoch).
        """
        require(self.leads(leader) and leader in self.metadata_due)
        self.metadata_due.discard(leader)
        self.pending[leader] = None
        self.advance_high_watermark(leader)
