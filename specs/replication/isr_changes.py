"""Changes of the ISR: the leader sends AlterPartition, the controller decides (KIP-497)."""

from checker.language import Map, SetOf, action, reachable, require
from specs.replication.acknowledging import Acknowledging, AlterPartition, BrokerEpoch, PartitionEpoch
from specs.replication.leader_epochs import Offset
from specs.replication.state import Replica


class IsrChanges(Acknowledging, abstract=True):
    """AlterPartition with partition epochs: a leader has one request in flight, which is granted, rejected or delayed.

    A requested ISR counts for the leader's high watermark at once (the maximal ISR). The leader learns the new ISR from
    the metadata, at any later time. A request carries the leader's epoch. A leader that enters another epoch, or dies,
    drops its request, since the controller would reject it.

    Source: KIP-497, KIP-841, KIP-903, KAFKA-7128; Partition.maybeExpandIsr and maybeShrinkIsr,
    ReplicationControlManager.validateAlterPartitionData.
    """

    # Of the controller: its version of the partition, the fenced brokers, and the brokers' registrations.
    partition_epoch = PartitionEpoch
    fenced = SetOf(Replica)
    broker_epoch = Map(Replica, BrokerEpoch)

    # Of the leader: the version that it knows, the start of its epoch, and the broker epochs of the others' fetches.
    known_partition_epoch = Map(Replica, PartitionEpoch)
    epoch_start = Map(Replica, Offset)
    remote_broker_epoch = Map(Replica, Map(Replica, BrokerEpoch))

    def may_ask(self, leader):
        """Return whether a leader has no request in flight, and the bound allows a change."""
        return self.pending[leader] is None and self.known_partition_epoch[leader] < self.max_partition_epoch

    def ask_to_join(self, leader, follower):
        """After a fetch: ask to add the follower if it has caught up."""
        if (
            follower not in self.isr[leader]
            and self.may_ask(leader)
            and self.remote_end[leader][follower] >= self.high_watermark[leader]
            and (not self.joins_at_epoch_start or self.remote_end[leader][follower] >= self.epoch_start[leader])
        ):
            self.ask_for(leader, follower)

    def ask_for(self, leader, follower):
        """Ask to add a follower, with the broker epoch of its fetch."""
        self.pending[leader] = AlterPartition(
            isr=self.isr[leader] | {follower},
            partition_epoch=self.known_partition_epoch[leader],
            joining=follower,
            broker_epoch=self.remote_broker_epoch[leader][follower],
        )

    @action
    def leader_ask_to_shrink_isr(self, leader: Replica, follower: Replica):
        """A follower has lagged for replica.lag.time.max.ms: the leader asks to remove it."""
        require(self.lagging)
        require(self.leads(leader))
        require(follower != leader)
        require(follower in self.isr[leader])
        require(self.may_ask(leader))
        require(self.remote_end[leader][follower] < len(self.log[leader]))
        self.pending[leader] = AlterPartition(
            isr=self.isr[leader] - {follower},
            partition_epoch=self.known_partition_epoch[leader],
            joining=None,
            broker_epoch=0,
        )

    @action
    def controller_handle_alter_partition(self, leader: Replica):
        """The controller grants a request of the leader that is based on the newest partition epoch.

        It rejects other requests (INVALID_UPDATE_VERSION) without effect: the leader waits for newer metadata.
        """
        request = self.pending[leader]
        require(request is not None)
        require(self.quorum.leader == leader and self.is_true_leader(leader))
        require(request.partition_epoch == self.partition_epoch)
        require(self.partition_epoch < self.max_partition_epoch)
        if request.joining is not None and not self.is_eligible(request.joining, request.broker_epoch):
            self.pending[leader] = None  # INELIGIBLE_REPLICA: the leader keeps the ISR that it knows
        else:
            self.write_isr(request.isr)

    def is_eligible(self, replica, broker_epoch):
        """Return whether the controller admits a replica to the ISR."""
        return (self.fenced_may_join or replica not in self.fenced) and (
            not self.checks_broker_epochs or broker_epoch == self.broker_epoch[replica]
        )

    def write_isr(self, isr):
        """Write an ISR to the metadata in a new partition epoch. `Elections` adds the eligible leader replicas."""
        self.partition_epoch += 1
        self.quorum.isr = isr

    @action
    def leader_learn_isr(self, leader: Replica):
        """The leader gets newer metadata of its leader epoch, which also answers its request."""
        require(self.leads(leader) and self.is_true_leader(leader))
        require(self.quorum.leader == leader)
        require(self.known_partition_epoch[leader] < self.partition_epoch)
        self.known_partition_epoch[leader] = self.partition_epoch
        self.isr[leader] = self.quorum.isr
        self.pending[leader] = None
        self.advance_high_watermark(leader)

    @reachable
    def follower_asks_to_come_back(self):
        """If the ISR may shrink and grow again, a follower that has left it catches up."""
        may_come_back = self.lagging and self.max_partition_epoch > 1
        return not may_come_back or any(self.is_joining(leader) for leader in Replica)

    def is_joining(self, leader):
        """Return whether a leader asks to add a replica."""
        request = self.pending[leader]
        return request is not None and request.joining is not None
