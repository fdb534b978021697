"""7. The controller: fencing and elections."""

from checker.language.roles import action, require
from specs.replication.eligible_replicas import eligible_replicas, is_clean_choice
from specs.replication.partition_state import IsrChange, PartitionVariables
from specs.replication.state import LeaderAndIsr, Replica


class ControllerElections(PartitionVariables, abstract=True):
    """The controller changes the leader and the ISR.

    The controller fences a broker that it believes dead, and removes it from the ISR. If the broker led, the first
    electable replica in the order of assignment leads in a new leader epoch, or no replica does. Without eligible
    leader replicas the last member of the ISR stays in it. With them (`eligible_leader_replicas`) the ISR may
    become empty: a replica that left the ISR while it was below min.insync.replicas has every committed record, and
    may lead. A broker that was not shut down cleanly may have lost records, and leaves both sets when it registers
    again. If both are empty, the last known leader may lead.

    Source: ReplicationControlManager, PartitionChangeBuilder; KIP-966.
    """

    def change(self, leader, isr):
        """Write leader, ISR and eligible leader replicas in a new partition epoch.

        Source: PartitionChangeBuilder.build, maybePopulateTargetElr, maybeUpdateLastKnownLeader.
        """
        require(self.partition_epoch < self.max_partition_epoch)
        self.partition_epoch += 1
        if self.eligible_leader_replicas:
            if len(isr) > 0:
                self.last_known_leader = None
            elif self.quorum.leader is not None:
                self.last_known_leader = self.quorum.leader
            min_isr = self.effective_min_isr(self.has_new_min_isr)
            self.eligible = eligible_replicas(self.eligible, self.quorum.isr, isr, min_isr)
        self.quorum = LeaderAndIsr(leader=leader, isr=isr)
        if self.remembered_changes > 0:
            if len(self.changes) == self.remembered_changes:
                del self.changes[0]
            self.changes.append(
                IsrChange(partition_epoch=self.partition_epoch, leader_epoch=len(self.requests) - 1, isr=isr)
            )

    def elect(self, leader, isr):
        """Start a leader epoch with this leader, or none, and this ISR.

        Source: PartitionChangeBuilder.tryElection, PartitionRegistration.merge.
        """
        require(len(self.requests) <= self.max_leader_epoch)
        if not self.late_metadata:
            self.forget_metadata(len(self.requests) - 1)
        self.requests.append(LeaderAndIsr(leader=leader, isr=isr))
        self.change(leader, isr)

    def forget_metadata(self, epoch):
        """Erase the metadata of an epoch on which no broker can act any more (`may_act_on`).

        It only saves states: two states that differ in nothing but such an epoch become one.
        """
        self.requests[epoch] = LeaderAndIsr(leader=None, isr=set())

    def is_electable(self, replica):
        """Return whether a clean election may choose a replica."""
        return replica not in self.fenced and is_clean_choice(replica, self.quorum.isr, self.eligible)

    @action
    def controller_fence(self, broker: Replica):
        """The controller fences a broker whose session has timed out.

        Source: ReplicationControlManager.handleBrokerFenced.
        """
        require(broker not in self.fenced)
        require(self.session_timeouts or broker not in self.alive)
        self.fenced.add(broker)
        self.take_out(broker)

    def take_out(self, broker):
        """Remove a broker from the ISR, and replace it if it leads.

        Source: ReplicationControlManager.generateLeaderAndIsrUpdates.
        """
        isr = self.quorum.isr - {broker}
        if len(isr) == 0 and not self.eligible_leader_replicas:
            isr = self.quorum.isr
        if self.quorum.leader == broker:
            self.replace_leader(isr)
        elif isr != self.quorum.isr:
            self.change(self.quorum.leader, isr)

    def replace_leader(self, isr):
        """Elect the first unfenced replica of an ISR or, if it is empty, of the eligible replicas; or no leader.

        With KRaft a partition without a leader is in a leader epoch of its own.
        """
        for replica in Replica:
            if replica not in self.fenced and is_clean_choice(replica, isr, self.eligible):
                self.elect(replica, isr | {replica})
                return
        if self.controller == "kraft":
            self.elect(None, isr)
        else:
            self.change(None, isr)

    @action
    def controller_elect(self, replica: Replica):
        """The controller elects an electable replica if the partition has no leader or another one is preferred.

        Source: ReplicationControlManager.handleBrokerUnfenced, maybeBalancePartitionLeaders.
        """
        require(self.quorum.leader is None or self.preferred_elections)
        require(self.quorum.leader != replica)
        require(self.is_electable(replica))
        self.elect(replica, self.quorum.isr | {replica})

    @action
    def controller_elect_uncleanly(self, replica: Replica):
        """If no replica is electable, any unfenced replica becomes the leader, alone in the ISR.

        No replica is eligible then: another one may have records that the new leader lacks.
        Source: PartitionChangeBuilder.electAnyLeader, maybeUpdateRecordElr; unclean.leader.election.enable.
        """
        require(self.unclean_elections)
        require(self.quorum.leader is None)
        require(replica not in self.fenced)
        require(not any(self.is_electable(other) for other in Replica))
        self.elect(replica, {replica})
        self.eligible = set()

    @action
    def controller_elect_last_known(self, replica: Replica):
        """If the ISR and the eligible replicas are both empty, the last known leader may lead again.

        Source: PartitionChangeBuilder.canElectLastKnownLeader; KIP-966, KAFKA-19522.
        """
        require(self.eligible_leader_replicas)
        require(self.quorum.leader is None)
        require(replica not in self.fenced or self.elects_fenced_last_leader)
        require(len(self.quorum.isr) == 0 and len(self.eligible) == 0)
        require(self.last_known_leader == replica)
        self.elect(replica, {replica})

    @action
    def controller_assign_directory(self, broker: Replica):
        """A broker reports that it has the partition on a new disk, and the controller records it.

        A broker reports it also before it has registered again, with the broker epoch of its last registration. That
        one does not have the disk, so the controller takes it for a failed disk: the replica leaves the ISR, although
        its broker is not fenced.

        Source: AssignmentsManager.maybeSendAssignments, ReplicationControlManager.handleAssignReplicasToDirs;
        KIP-858, KAFKA-17190.
        """
        require(broker in self.new_disks)
        require(broker in self.alive)
        self.new_disks.discard(broker)
        self.change(self.quorum.leader, self.quorum.isr)
        if broker in self.unregistered:
            self.take_out(broker)

    @action
    def operator_change_min_isr(self):
        """An operator changes min.insync.replicas. The eligible replicas are those of the old value, and are dropped.

        Source: ConfigurationControlManager.createClearElrRecordsAsNeeded, ReplicationControlManager.replay.
        """
        require(self.new_min_insync_replicas > 0 and not self.has_new_min_isr)
        self.has_new_min_isr = True
        if self.clears_eligible:
            self.eligible = set()
            self.last_known_leader = None

    @action
    def broker_learn_min_isr(self, broker: Replica):
        """A broker reads the new min.insync.replicas in the metadata log, after everything that is before it there.

        Source: BrokerMetadataPublisher.onMetadataUpdate, DynamicConfigPublisher.
        """
        require(self.has_new_min_isr and broker not in self.knows_new_min_isr)
        require(broker in self.alive and self.leader_epoch[broker] == len(self.requests) - 1)
        require(not self.leads(broker) or self.known_partition_epoch[broker] == self.partition_epoch)
        self.knows_new_min_isr.add(broker)
