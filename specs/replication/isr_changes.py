"""How the ISR shrinks and grows: the leader asks with AlterPartition, the controller decides (KIP-497)."""

from checker.language import Constant, Map, SetOf, action, reachable, require
from specs.replication.acknowledging import Acknowledging, AlterPartition, BrokerEpoch, PartitionEpoch
from specs.replication.leader_epochs import Offset
from specs.replication.state import Replica


class IsrChanges(Acknowledging, abstract=True):
    """AlterPartition with partition epochs: one request of a leader at a time, granted, refused, or delayed for good.

    What the leader asked for counts at once for its high watermark (the maximal ISR). It learns of the new ISR from the
    metadata, whenever it gets it. The request carries the leader's epoch, which is the one that it is in: a leader that
    enters another one, or dies, drops its request, which the controller would refuse.

    Source: KIP-497, KIP-841 (`fenced_may_join`), KIP-903 (`checks_broker_epochs`), KAFKA-7128
    (`joins_at_epoch_start`); Partition.maybeExpandIsr and maybeShrinkIsr,
    ReplicationControlManager.validateAlterPartitionData.
    """

    joins_at_epoch_start = Constant(True)
    fenced_may_join = Constant(False)
    checks_broker_epochs = Constant(True)
    lagging = Constant(True)  # whether a follower may lag for longer than replica.lag.time.max.ms

    # Of the controller: its version of the partition, which brokers it has fenced, and their registrations.
    partition_epoch = PartitionEpoch
    fenced = SetOf(Replica)
    broker_epoch = Map(Replica, BrokerEpoch)

    # Of the leader: the version that it knows, where its epoch began, and the others' broker epochs in their fetches.
    known_partition_epoch = Map(Replica, PartitionEpoch)
    epoch_start = Map(Replica, Offset)
    remote_broker_epoch = Map(Replica, Map(Replica, BrokerEpoch))

    def may_ask(self, leader):
        """Return whether a leader has no request under way, and the bound leaves room for a change."""
        return self.pending[leader] is None and self.known_partition_epoch[leader] < self.max_partition_epoch

    def ask_to_join(self, leader, follower):
        """A fetch has shown how far a follower is: where it is far enough, ask to take it in."""
        if (
            follower not in self.isr[leader]
            and self.may_ask(leader)
            and self.remote_end[leader][follower] >= self.high_watermark[leader]
            and (not self.joins_at_epoch_start or self.remote_end[leader][follower] >= self.epoch_start[leader])
        ):
            self.ask_for(leader, follower)

    def ask_for(self, leader, follower):
        """Ask to take a follower in, with the broker epoch that it fetched with."""
        self.pending[leader] = AlterPartition(
            isr=self.isr[leader] | {follower},
            partition_epoch=self.known_partition_epoch[leader],
            joining=follower,
            broker_epoch=self.remote_broker_epoch[leader][follower],
        )

    @action
    def leader_ask_to_shrink_isr(self, leader: Replica, follower: Replica):
        """A follower has lagged for replica.lag.time.max.ms: the leader asks to take it out."""
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
        """The controller grants a request of the leader that is based on its newest version of the partition.

        Others are refused, and that changes nothing: the leader waits for the newer metadata (INVALID_UPDATE_VERSION).
        """
        request = self.pending[leader]
        require(request is not None)
        require(self.quorum.leader == leader and self.is_true_leader(leader))
        require(request.partition_epoch == self.partition_epoch)
        require(self.partition_epoch < self.max_partition_epoch)
        if request.joining is not None and not self.is_eligible(request.joining, request.broker_epoch):
            self.pending[leader] = None  # INELIGIBLE_REPLICA: the leader goes back to the ISR that it knows
        else:
            self.write_isr(request.isr)

    def is_eligible(self, replica, broker_epoch):
        """Return whether the controller lets a replica into the ISR."""
        return (self.fenced_may_join or replica not in self.fenced) and (
            not self.checks_broker_epochs or broker_epoch == self.broker_epoch[replica]
        )

    def write_isr(self, isr):
        """Make `isr` the one in the metadata, in a new partition epoch."""
        self.partition_epoch += 1
        self.quorum.isr = isr

    @action
    def leader_learn_isr(self, leader: Replica):
        """The leader gets the newer metadata of its leader epoch; what it had asked for is answered with that."""
        require(self.leads(leader) and self.is_true_leader(leader))
        require(self.quorum.leader == leader)
        require(self.known_partition_epoch[leader] < self.partition_epoch)
        self.known_partition_epoch[leader] = self.partition_epoch
        self.isr[leader] = self.quorum.isr
        self.pending[leader] = None
        self.advance_high_watermark(leader)

    @reachable
    def follower_asks_to_come_back(self):
        """Where the ISR may shrink and grow again, a follower that has left it catches up."""
        may_come_back = self.lagging and self.max_partition_epoch > 1
        return not may_come_back or any(self.is_joining(leader) for leader in Replica)

    def is_joining(self, leader):
        """Return whether a leader asks to take somebody in."""
        request = self.pending[leader]
        return request is not None and request.joining is not None
