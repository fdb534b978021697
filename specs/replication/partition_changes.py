"""How the KRaft controller changes a partition: it completes reassignments, keeps eligible replicas, and elects."""

from specs.replication.eligible_replicas import eligible_replicas, is_clean_choice
from specs.replication.replica_set_state import Broker, ReplicaSetState


class PartitionChanges(ReplicaSetState, abstract=True):
    """The rules by which one record changes the partition.

    Kafka's controller elects in the order of the replicas. Here that is the order of the brokers' numbers, and those
    that are being removed come last.

    Source: PartitionChangeBuilder.build.
    """

    def change(self, isr):
        """Change the ISR, complete a reassignment, and elect a leader if the present one may not lead."""
        self.change_and_drop(isr, set())

    def change_and_drop(self, isr, unclean):
        """Change the ISR; brokers that were not shut down cleanly are not eligible any more."""
        self.build_record(isr, unclean, self.unclean_elections)

    def build_record(self, isr, unclean, elects_uncleanly):
        """Change the ISR; if no leader can be elected cleanly, one may be elected uncleanly."""
        former_isr, former_elr, former_leader = self.isr, self.elr, self.leader
        min_isr = self.effective_min_isr()
        self.isr = isr
        self.complete_reassignment(former_isr | former_elr)
        if self.has_elr:
            self.elr = eligible_replicas(former_elr, former_isr, self.isr, min_isr) - unclean
        if self.eligible_are_replicas:
            self.elr = self.elr & self.replicas
        self.elect(elects_uncleanly, min_isr)
        if not self.has_elr:
            keeps = self.keeps_elr_without_leader and self.leader is None
            self.elr = self.elr - self.isr if keeps else set()
            if len(self.isr) == 0:
                # Without the feature the last member stays in the ISR.
                self.isr = former_isr
        self.remember_leader(former_isr, former_leader)
        self.listed = (self.listed - (former_elr - self.elr)) | (self.elr - former_elr)
        # A broker that runs deletes the log of a replica that it has no more.
        self.complete = self.complete - (self.active - self.replicas)
        if len(self.isr) >= self.min_insync_replicas:
            self.is_replicated = True
        elif len(self.replicas) < self.min_insync_replicas:
            self.is_replicated = False
        if not self.is_reassigning() and self.asked == self.replicas:
            self.asked = set()

    def effective_min_isr(self):
        """Return min.insync.replicas as the controller applies it. Source: getTopicEffectiveMinIsr."""
        replicas = self.replicas_of_partition_0 if self.replicas_of_partition_0 > 0 else len(self.replicas)
        return min(self.min_isr, replicas)

    def complete_reassignment(self, copies):
        """Remove the replicas that a reassignment replaces, once the new ones are in the ISR.

        `copies` are the former members of ISR and ELR.
        Source: PartitionReassignmentReplicas.maybeCompleteReassignment.
        """
        kept = self.isr - self.removing
        awaited = self.adding if self.awaits_removed else self.adding - self.removing
        is_running = self.is_reassigning()
        removes_more = len(self.adding) < len(self.removing)
        awaits_all = self.awaits == "all" or (self.awaits == "added_or_all" and removes_more)
        if self.completes_with_min_isr_only:
            # Those that a smaller ISR makes eligible count as well.
            left = kept | (copies & (self.replicas - self.removing))
            min_isr = min(self.min_isr, len(self.replicas - self.removing))
            is_running = is_running and (len(left) >= min_isr or len(copies) < min_isr)
        has_added = awaited <= kept or self.awaits == "all"
        has_all = self.replicas - self.removing <= kept
        if is_running and len(kept) > 0 and has_added and (has_all or not awaits_all):
            self.replicas = self.replicas - self.removing
            self.isr = kept
            self.adding = set()
            self.removing = set()

    def elect(self, elects_uncleanly, min_isr):
        """Keep the leader or elect one: from the ISR, the ELR, as the last known leader, or uncleanly.

        Source: electAnyLeader, tryElection.
        """
        if self.leader is not None and self.may_be_elected(self.leader):
            return
        self.leader = None
        for broker in self.in_order(self.replicas):
            if self.leader is None and self.may_be_elected(broker):
                self.leader = broker
        if self.leader is not None:
            if self.leader in self.elr:
                self.isr = {self.leader}
                self.elr.discard(self.leader)
                if not self.clears_leaderless and min_isr == 1:
                    # The ELR may be of a time when min.insync.replicas was higher.
                    self.elr = set()
            return
        has_elr = self.has_elr or self.keeps_elr_without_leader
        if has_elr and len(self.isr) == 0 and len(self.elr) == 0:
            self.elect_last_known()
        if self.leader is None and elects_uncleanly:
            self.elect_uncleanly()

    def in_order(self, replicas):
        """Return replicas in the order of elections: those that are being removed come last."""
        staying = [broker for broker in Broker if broker in replicas and broker not in self.removing]
        return staying + [broker for broker in Broker if broker in replicas and broker in self.removing]

    def may_be_elected(self, broker):
        """Return whether a clean election may choose a broker. Source: isValidNewLeader."""
        return broker in self.replicas and broker in self.active and is_clean_choice(broker, self.isr, self.elr)

    def elect_last_known(self):
        """Elect the last known leader if it is active.

        The controller looks up the directory of the replica, and throws an exception if it is no replica.
        Source: canElectLastKnownLeader, PartitionRegistration.directory.
        """
        if self.last_known is not None and (self.last_known in self.active or not self.last_known_is_active):
            if self.last_known in self.replicas:
                self.leader = self.last_known
                self.isr = {self.last_known}
            elif not self.last_known_is_replica:
                self.has_failed = True

    def elect_uncleanly(self):
        """Elect any active replica: what it lacks is lost, as the setting allows."""
        for broker in self.in_order(self.replicas):
            if self.leader is None and broker in self.active:
                self.leader = broker
        if self.leader is not None:
            self.isr = {self.leader}
            self.elr = set()
            self.complete.add(self.leader)

    def remember_leader(self, former_isr, former_leader):
        """Remember the leader when the ISR becomes empty, and forget it once another one leads.

        Source: maybeUpdateLastKnownLeader.
        """
        if self.has_elr and len(self.isr) == 0 and len(former_isr) > 0:
            if former_leader is not None:
                self.last_known = former_leader
            elif self.remembers_last_member and len(former_isr) == 1:
                for broker in former_isr:
                    self.last_known = broker
        elif self.leader is not None and (self.has_elr or self.keeps_elr_without_leader):
            self.last_known = None
        if self.last_known_is_replica and self.last_known is not None and self.last_known not in self.replicas:
            self.last_known = None
