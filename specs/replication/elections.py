"""The controller: fencing of brokers, clean and unclean elections, eligible leader replicas."""

from checker.language import Option, SetOf, action, invariant, reachable, require
from specs.replication.roles import Roles
from specs.replication.state import LeaderAndIsr, Replica


class Elections(Roles, abstract=True):
    """Fencing and elections.

    The controller fences a broker that it believes dead, and removes it from the ISR. If the broker led, the first
    electable replica in the order of assignment leads in a new leader epoch, or no replica does. Without eligible
    leader replicas the last member of the ISR stays in it.

    With them (`eligible_leader_replicas`, KIP-966) the ISR may become empty. A replica that left the ISR while it was
    below min.insync.replicas has every committed record, and may lead. A broker that was not shut down cleanly may have
    lost records, and leaves both sets when it registers again. If both are empty, the last known leader may lead.

    Source: PartitionChangeBuilder, ReplicationControlManager; KIP-966.
    """

    eligible = SetOf(Replica)
    last_known_leader = Option(Replica)

    def is_electable(self, replica):
        """Return whether a clean election may choose a replica: in the ISR or, if that is empty, eligible."""
        return replica not in self.fenced and (
            replica in self.quorum.isr or (len(self.quorum.isr) == 0 and replica in self.eligible)
        )

    def elect(self, replica, isr):
        """Start a leader epoch with this leader and ISR."""
        require(len(self.requests) <= self.max_leader_epoch)
        if not self.late_metadata:
            self.requests[len(self.requests) - 1] = LeaderAndIsr(leader=None, isr=set())  # never acted on
        self.requests.append(LeaderAndIsr(leader=replica, isr=isr))
        self.change(replica, isr)

    def change(self, leader, isr):
        """Write leader, ISR and eligible leader replicas in a new partition epoch."""
        require(self.partition_epoch < self.max_partition_epoch)
        self.partition_epoch += 1
        if self.eligible_leader_replicas:
            if len(isr) > 0:
                self.last_known_leader = None
            elif self.quorum.leader is not None:
                self.last_known_leader = self.quorum.leader
            if len(isr) >= self.min_insync_replicas:
                self.eligible = set()
            else:
                self.eligible = (self.eligible | self.quorum.isr) - isr
        self.quorum = LeaderAndIsr(leader=leader, isr=isr)

    def write_isr(self, isr):
        """Write an ISR that the leader has asked for."""
        self.change(self.quorum.leader, isr)

    @action
    def controller_fence(self, broker: Replica):
        """The controller fences a broker whose session has timed out."""
        require(broker not in self.fenced)
        require(self.session_timeouts or broker not in self.alive)
        self.fenced.add(broker)
        self.take_out(broker)

    def take_out(self, broker):
        """Remove a broker from the ISR, and replace it if it leads."""
        isr = self.quorum.isr - {broker}
        if len(isr) == 0 and not self.eligible_leader_replicas:
            isr = self.quorum.isr
        if self.quorum.leader == broker:
            self.replace_leader(isr)
        elif isr != self.quorum.isr:
            self.change(self.quorum.leader, isr)

    def replace_leader(self, isr):
        """Elect the first unfenced replica of an ISR or, if it is empty, of the eligible replicas; or no leader."""
        for replica in Replica:
            if replica not in self.fenced and (replica in isr or (len(isr) == 0 and replica in self.eligible)):
                self.elect(replica, isr | {replica})
                return
        self.change(None, isr)

    @action
    def controller_elect(self, replica: Replica):
        """The controller elects an electable replica if the partition has no leader or another one is preferred."""
        require(self.quorum.leader is None or self.preferred_elections)
        require(self.quorum.leader != replica)
        require(self.is_electable(replica))
        self.elect(replica, self.quorum.isr | {replica})

    @action
    def controller_elect_uncleanly(self, replica: Replica):
        """If no replica is electable, any unfenced replica becomes the leader, alone in the ISR."""
        require(self.unclean_elections)
        require(self.quorum.leader is None)
        require(replica not in self.fenced)
        require(not any(self.is_electable(other) for other in Replica))
        self.elect(replica, {replica})

    @action
    def controller_elect_last_known(self, replica: Replica):
        """If the ISR and the eligible replicas are both empty, the last known leader may lead again (KIP-966)."""
        require(self.eligible_leader_replicas)
        require(self.quorum.leader is None)
        require(replica not in self.fenced or self.elects_fenced_last_leader)
        require(len(self.quorum.isr) == 0 and len(self.eligible) == 0)
        require(self.last_known_leader == replica)
        self.elect(replica, {replica})

    @invariant(says="{self.quorum.leader} leads in the metadata although it is fenced")
    def leader_is_not_fenced(self):
        """The leader in the metadata is not fenced."""
        return self.quorum.leader is None or self.quorum.leader not in self.fenced

    @invariant(says="{self.quorum.leader} leads in the metadata, and its ISR there is {self.quorum.isr}")
    def leader_is_in_sync(self):
        """A leader is a member of its ISR: in the metadata, and in its own view."""
        return (self.quorum.leader is None or self.quorum.leader in self.quorum.isr) and all(
            leader in self.isr[leader] for leader in Replica if self.leads(leader)
        )

    @reachable
    def another_replica_leads(self):
        """If another epoch is within the bound, the leadership moves."""
        return self.max_leader_epoch == 0 or any(
            self.is_true_leader(replica) and self.leader_epoch[replica] > 0 for replica in Replica
        )
