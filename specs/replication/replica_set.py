"""The replica set changes: reassignments, eligible leader replicas, settings, feature levels and disks.

One partition under a KRaft controller. `replica_set_state` has its state and the switches, `partition_changes` the
rules of one change, this module the events and the properties.
"""

from checker.language import choose, subsets
from checker.language.roles import action, invariant, reachable, require
from specs.replication.partition_changes import PartitionChanges
from specs.replication.replica_set_drawing import DRAWING
from specs.replication.replica_set_state import Broker, MinIsr


class ReplicaSet(PartitionChanges):
    """A partition whose replica set changes, at the level of the controller.

    A log has every acknowledged record, or it does not count. A broker stops or dies and is fenced in one step; it
    starts, registers and is unfenced in one step. Elections are part of the step that makes them necessary, as in
    Kafka, where both are one record.

    Source: ReplicationControlManager, PartitionChangeBuilder, PartitionReassignmentReplicas,
    PartitionReassignmentRevert; KIP-966, KIP-455, KIP-858.
    """

    draws = DRAWING

    # Records and the ISR.

    @action
    def produce(self):
        """Records with acks=all are acknowledged once every member of the ISR has them."""
        require(self.leader is not None and self.leader in self.complete and self.complete != self.isr)
        require(len(self.isr) >= min(self.min_isr, len(self.replicas)))
        self.complete = self.isr
        self.is_replicated = len(self.isr) >= self.min_insync_replicas

    @action
    def follower_join(self, broker: Broker):
        """A follower has copied the leader's log and joins the ISR. Source: alterPartition."""
        require(self.leader is not None and broker in self.active & self.replicas and broker not in self.isr)
        if self.leader in self.complete:
            self.complete.add(broker)
        else:
            self.complete.discard(broker)
        self.change(self.isr | {broker})

    @action
    def leader_shrink_isr(self, broker: Broker):
        """The leader removes a follower that has lagged for replica.lag.time.max.ms. Source: alterPartition."""
        require(self.lagging and self.leader is not None and broker != self.leader and broker in self.isr)
        self.change(self.isr - {broker})

    # Failures.

    def leave(self, broker):
        """Fence a broker, and remove it from the ISR. Source: handleBrokerFenced, handleBrokerInControlledShutdown."""
        self.active.discard(broker)
        if broker in self.isr:
            self.change(self.isr - {broker})

    @action
    def broker_stop(self, broker: Broker):
        """A broker shuts down cleanly: its log is complete when it starts again."""
        require(self.stops and broker in self.active)
        self.stopped_cleanly.add(broker)
        self.leave(broker)

    @action
    def broker_crash(self, broker: Broker):
        """A broker's process dies, and its log survives; the controller fences it."""
        require(self.crashes_left > 0 and broker in self.active)
        self.crashes_left -= 1
        self.leave(broker)

    @action
    def broker_lose_power(self, broker: Broker):
        """A broker's machine dies, and its log was in the page cache only; the controller fences it."""
        require(self.power_failures_left > 0 and broker in self.active and self.is_replicated)
        self.power_failures_left -= 1
        self.complete.discard(broker)
        self.leave(broker)

    def lose_disk(self, broker):
        """Take a stopped broker's disk with the replica away."""
        require(self.disk_losses_left > 0 and broker in self.replicas and broker not in self.active)
        require(self.is_replicated and broker not in self.without_disk)
        self.disk_losses_left -= 1
        self.complete.discard(broker)

    @action
    def operator_remove_disk(self, broker: Broker):
        """A stopped broker's disk fails, and its directory is taken out of log.dirs.

        The remaining directories have the marks of a clean shutdown. Source: LogManager, CleanShutdownFileHandler.
        """
        self.lose_disk(broker)
        self.without_disk.add(broker)

    @action
    def operator_replace_disk(self, broker: Broker):
        """A stopped broker's disk fails, and an empty one takes its place: it has no mark of a clean shutdown."""
        self.lose_disk(broker)
        self.stopped_cleanly.discard(broker)

    @action
    def broker_start(self, broker: Broker):
        """A broker starts, creates the logs that it lacks, registers, and is unfenced.

        It deletes the log of a replica that it has no more. Source: registerBroker, handleBrokerShutdown,
        handleAssignReplicasToDirs, handleBrokerUnfenced.
        """
        require(broker not in self.active)
        has_lost_log = self.missing_directory_is_unclean and broker in self.without_disk
        is_unclean = broker not in self.stopped_cleanly or has_lost_log
        self.stopped_cleanly.discard(broker)
        self.without_disk.discard(broker)
        if broker not in self.replicas:
            self.complete.discard(broker)
        if is_unclean and self.is_deleted and broker in self.listed:
            # generateLeaderAndIsrUpdates throws an exception: the topic of the list does not exist.
            self.has_failed = True
        elif is_unclean and (broker in self.isr or broker in self.listed):
            self.change_and_drop(self.isr - {broker}, {broker})
        if not self.has_failed:
            self.active.add(broker)
            if self.leader is None and not self.is_deleted:
                self.change(self.isr)

    # Operators.

    @action
    def operator_reassign(self):
        """An operator asks for other replicas; a reassignment that is running is replaced."""
        target = choose(subsets(Broker))
        self.reassign(target)

    def reassign(self, target):
        """Add the replicas of the target that are missing, and mark the others as replicas to remove.

        With a stale ELR the request may fail: the controller looks up the directory of a replica that is added only
        now. Source: changePartitionReassignment.
        """
        require(self.reassignments_left > 0 and not self.is_deleted)
        require(self.smallest_target <= len(target) and len(target) <= self.largest_target)
        require(target != self.replicas or self.is_reassigning())
        added = target - self.replicas
        require(len(self.isr) > 0 or not any(broker in self.elr and broker in self.active for broker in added))
        self.reassignments_left -= 1
        removed = self.replicas - target
        if self.replaces_removing:
            self.removing = removed
            self.adding = self.adding | added
        else:
            self.removing = removed if len(removed) > 0 else self.removing
            self.adding = added if len(added) > 0 else self.adding
        self.replicas = self.replicas | target
        self.asked = target
        self.build_record(self.isr, unclean=set(), elects_uncleanly=False)

    @action
    def operator_cancel(self):
        """An operator cancels a reassignment: the added replicas go.

        If none of the others is in sync, this needs unclean elections. Source: cancelPartitionReassignment.
        """
        require(self.is_reassigning())
        replicas = self.replicas - self.adding
        isr = self.isr - self.adding
        require(len(replicas) > 0 and (len(isr) > 0 or self.unclean_elections))
        require(self.unclean_elections or self.keeps_enough_copies(replicas))
        if len(isr) == 0:
            isr = {self.in_order(replicas)[0]}
            self.complete.add(self.in_order(replicas)[0])
        self.replicas = replicas
        self.adding = set()
        self.removing = set()
        self.asked = set()
        self.change(isr)

    def keeps_enough_copies(self, replicas):
        """Return whether a cancellation leaves min.insync.replicas copies, if there are as many now."""
        copies = self.isr if self.cancels == "isr" else self.isr | self.elr
        min_isr = min(self.min_isr, len(replicas))
        return self.cancels == "always" or len(copies & replicas) >= min_isr or len(copies) < min_isr

    @action
    def operator_move_log(self, broker: Broker):
        """An operator moves a log to another directory of its broker. Source: handleAssignReplicasToDirs."""
        require(self.log_moves_left > 0 and broker in self.active & self.replicas)
        self.log_moves_left -= 1
        if not self.log_move_keeps_elr:
            self.listed = self.listed - self.elr
            self.elr = set()

    @action
    def operator_set_min_isr(self, value: MinIsr):
        """An operator changes min.insync.replicas: the eligible replicas are those of the old value, and are dropped.

        Source: createClearElrRecordsAsNeeded, replay(ClearElrRecord), removeTopicElrs.
        """
        require(self.setting_changes_left > 0 and not self.is_deleted)
        require(value != self.min_isr and value <= self.replication_factor)
        self.setting_changes_left -= 1
        self.min_isr = value
        is_clearing = self.clears_eligible == "always" or (self.clears_eligible == "with_feature" and self.has_elr)
        if is_clearing and (self.leader is not None or self.clears_leaderless):
            if self.clears_lists:
                self.listed = self.listed - self.elr
            self.elr = set()
            self.last_known = None

    @action
    def operator_change_feature(self):
        """An operator changes the level of the feature eligible.leader.replicas.version; no partition changes."""
        require(self.feature_changes_left > 0)
        self.feature_changes_left -= 1
        self.has_elr = not self.has_elr

    @action
    def operator_delete_topic(self):
        """An operator deletes the topic: the brokers' lists lose the members of the ELR. Source: RemoveTopicRecord."""
        require(self.deletions_left > 0)
        self.deletions_left -= 1
        self.is_deleted = True
        self.listed = self.listed - self.elr
        self.replicas = set()
        self.adding = set()
        self.removing = set()
        self.isr = set()
        self.elr = set()
        self.complete = set()
        self.asked = set()
        self.without_disk = set()
        self.last_known = None
        self.leader = None

    # Properties.

    @invariant(says="the ELR is {self.elr}, and the replicas are {self.replicas}")
    def eligible_replicas_are_replicas(self):
        """Every eligible leader replica is a replica."""
        return self.elr <= self.replicas

    @invariant(says="the ISR is {self.isr}, the ELR {self.elr}, the replicas are {self.replicas}")
    def isr_is_of_replicas(self):
        """The ISR has replicas only, and none of them is also in the ELR; a leader is in the ISR."""
        is_disjoint = len(self.isr & self.elr) == 0
        return self.isr <= self.replicas and is_disjoint and (self.leader is None or self.leader in self.isr)

    @invariant(says="{self.leader} leads, and only {self.active} are active")
    def leader_is_active(self):
        """The leader runs and is not fenced."""
        return self.leader is None or self.leader in self.active

    @invariant(says="the ISR is {self.isr}, the ELR {self.elr}, the replicas are {self.replicas}")
    def enough_copies_are_electable(self):
        """Fewer than min.insync.replicas members of ISR and ELR are left only after as many failures.

        KIP-966 promises it for records that were written with the settings of now, and without unclean elections.
        """
        copies = len((self.isr | self.elr) & self.replicas) + self.failures()
        has_promise = self.keeps_settings() and self.is_replicated and not self.unclean_elections
        return copies >= min(self.min_isr, len(self.replicas)) or not has_promise

    def failures(self):
        """Return how many processes, machines and disks have failed."""
        crashes = self.crashes - self.crashes_left
        power_failures = self.power_failures - self.power_failures_left
        return crashes + power_failures + self.disk_losses - self.disk_losses_left

    @invariant(says="{broker} runs and lacks acknowledged records: the ISR is {self.isr}, the ELR {self.elr}")
    def members_are_complete(self):
        """Every member of the ISR and of the ELR that runs has every acknowledged record."""
        return all(broker in self.complete for broker in Broker if broker in (self.isr | self.elr) & self.active)

    @invariant(says="{self.leader} leads without acknowledged records, and {self.complete} have them")
    def no_acked_loss(self):
        """The leader has every acknowledged record."""
        return self.leader is None or self.leader in self.complete

    @invariant(says="every replica runs, and none may lead: the ISR is {self.isr}, the ELR {self.elr}")
    def active_replicas_have_a_leader(self):
        """If every replica is active, one of them leads."""
        return self.leader is not None or self.is_deleted or not self.replicas <= self.active

    @invariant(says="every replica is in sync, and the controller still adds {self.adding} and removes {self.removing}")
    def reassignment_completes(self):
        """No reassignment is running if all replicas are in the ISR: no later event would complete it."""
        return not (self.is_reassigning() and self.leader is not None and self.replicas <= self.isr)

    @invariant(says="the operator asked for {self.asked}, and the reassignment has ended with {self.replicas}")
    def reassignment_ends_as_asked(self):
        """A reassignment that has ended has the replicas that the operator asked for."""
        return self.is_reassigning() or len(self.asked) == 0

    @invariant(says="the ELR is {self.elr}, and the lists of {self.listed} have the partition")
    def lists_match_the_elr(self):
        """The brokers that have the partition in their list of eligible partitions are its ELR."""
        return self.listed == self.elr

    @invariant(says="an exception made the active controller resign, and the next one gets the same request")
    def controller_answers(self):
        """No request makes the active controller resign."""
        return not self.has_failed

    # Guards: evidence that something happens.

    @reachable
    def another_broker_leads(self):
        """If brokers stop, the leadership moves."""
        return not self.stops or self.leader == Broker[1]

    @reachable
    def replicas_change(self):
        """If there are reassignments, one ends with other replicas."""
        has_ended = not self.is_reassigning() and not self.is_deleted
        return self.reassignments == 0 or (Broker[0] not in self.replicas and has_ended)

    @reachable
    def eligible_replica_exists(self):
        """If brokers stop and the feature is on, a replica is eligible."""
        return not self.stops or not self.eligible_leader_replicas or len(self.elr) > 0
