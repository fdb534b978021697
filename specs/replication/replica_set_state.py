"""The state of the model in which the replica set changes, its settings, and the events that may happen."""

from checker.language import Constant, Domain, Option, Range, SetOf, Spec, assume


class Broker(Domain):
    """A broker. The first ones have the replicas of the partition at first."""

    size, prefix = "brokers", "b"


class MinIsr(Range):
    """A value of min.insync.replicas."""

    low, high = 1, "brokers"


class ReplicaSetState(Spec, abstract=True):
    """One partition as the KRaft controller has it, and its logs; each of the constants below is a rule or a limit.

    The default of a rule is the remedy, so that a scenario shows one fault. No release has a remedy of C-1, C-2 and
    H-1 to H-11, but 3.8 to 4.2 have neither H-6 nor H-10.
    """

    brokers = Constant(4, at_least=2)
    replication_factor = Constant(3, at_least=1)
    min_insync_replicas = Constant(2, at_least=1)
    eligible_leader_replicas = Constant(True)  # eligible.leader.replicas.version=1 at first
    unclean_elections = Constant(False)  # unclean.leader.election.enable

    # Rules of reassignments.
    # PartitionReassignmentReplicas.maybeCompleteReassignment: which replicas a reassignment awaits in the ISR. Kafka
    # 3.3 to 3.7: those that it adds; 3.8 to 4.2: all that it asks for (KAFKA-15665); since 4.3: those that it adds, and
    # all if it removes more than it adds (KAFKA-19975).
    awaits = Constant("added_or_all", one_of=("added", "all", "added_or_all"))
    # H-10, the same method: a reassignment is not complete if it would leave fewer than min.insync.replicas copies in
    # ISR and ELR. Kafka 4.3 and 4.4: False.
    completes_with_min_isr_only = Constant(True)
    # C-1, PartitionChangeBuilder.maybePopulateTargetElr: eligible replicas are replicas. Kafka 4.0 to 4.4: False.
    eligible_are_replicas = Constant(True)
    # H-5, PartitionChangeBuilder.canElectLastKnownLeader, maybeUpdateLastKnownLeader: the last known leader is
    # forgotten once it is no replica any more. Kafka 4.0 to 4.4: False.
    last_known_is_replica = Constant(True)
    # H-6, the same method (before 3.8, and since 4.3): a reassignment awaits added replicas that it removes again.
    awaits_removed = Constant(False)
    # H-7, ReplicationControlManager.changePartitionReassignment: a reassignment that replaces another one has its own
    # replicas to remove, also if these are none. Kafka 3.3 to 4.4: False.
    replaces_removing = Constant(True)
    # H-8, PartitionReassignmentRevert: a cancellation is refused if fewer than min.insync.replicas copies would be left
    # in the ISR, or in ISR and ELR. Kafka 3.3 to 4.4: always allowed.
    cancels = Constant("isr_and_elr", one_of=("always", "isr", "isr_and_elr"))

    # Rules of settings.
    # C-2, ReplicationControlManager.getTopicEffectiveMinIsr: min.insync.replicas is at most the replication factor of
    # the topic's partition 0, and this is the number of its replicas; 0: of the partition itself. Kafka 4.0 to 4.4 have
    # the rule.
    replicas_of_partition_0 = Constant(0, at_least=0)
    # H-1, ReplicationControlManager.removeTopicElrs: a change of min.insync.replicas also clears the brokers' lists of
    # partitions for which they are eligible (brokersToElrs). Kafka 4.0 to 4.4: False.
    clears_lists = Constant(True)
    # H-2, ConfigurationControlManager.createClearElrRecordsAsNeeded: a change of min.insync.replicas clears the
    # eligible replicas of a partition without a leader too. Kafka 4.0 to 4.4: True.
    clears_leaderless = Constant(False)
    # The same method: whether a change of min.insync.replicas clears the eligible replicas. Kafka 3.7 to 3.9: never
    # (KAFKA-16540), where the feature is unfinished; 4.0 to 4.4: with the feature on (H-9).
    clears_eligible = Constant("always", one_of=("never", "with_feature", "always"))
    # H-3, PartitionChangeBuilder.maybeUpdateRecordElr: with the feature off, a partition without a leader keeps its
    # eligible replicas, and its last known leader may lead. Kafka 4.0 to 4.4: False.
    keeps_elr_without_leader = Constant(True)
    # H-11, PartitionChangeBuilder.maybeUpdateLastKnownLeader: if the ISR of a partition without a leader becomes empty,
    # as after the feature was switched on, its last member counts as the last known leader. Kafka 4.0 to 4.4: False.
    remembers_last_member = Constant(True)
    # KAFKA-19522, PartitionChangeBuilder.canElectLastKnownLeader: the last known leader leads only if it is active.
    # Kafka 4.0, and the unfinished feature since 3.7: False.
    last_known_is_active = Constant(True)

    # H-4, ClusterControlManager.registerBroker: a broker that registers without the directory of a replica has lost its
    # log, also after a clean shutdown. Kafka 4.0 to 4.4: False.
    missing_directory_is_unclean = Constant(True)
    # PR 20716, ReplicationControlManager.handleAssignReplicasToDirs: the report that a log is in another directory
    # keeps the eligible replicas. Kafka 4.0 to 4.2: False.
    log_move_keeps_elr = Constant(True)

    # Events: whether they may happen, or how often.
    stops = Constant(True)  # brokers may be shut down cleanly
    crashes = Constant(0, at_least=0)  # a process dies, its log survives
    power_failures = Constant(0, at_least=0)  # a machine dies, its log is lost
    disk_losses = Constant(0, at_least=0)  # a stopped broker loses its disk
    log_moves = Constant(0, at_least=0)  # an operator moves a log to another directory
    lagging = Constant(False)  # the leader may remove a follower that lags
    reassignments = Constant(0, at_least=0)
    smallest_target = Constant(3, at_least=1)  # how many replicas a reassignment asks for
    largest_target = Constant(3, at_least=1)
    setting_changes = Constant(0, at_least=0)  # of min.insync.replicas
    feature_changes = Constant(0, at_least=0)  # of eligible.leader.replicas.version
    deletions = Constant(0, at_least=0, at_most=1)  # of the topic

    # The registration of the partition.
    replicas = SetOf(Broker)
    adding = SetOf(Broker)
    removing = SetOf(Broker)
    isr = SetOf(Broker)
    elr = SetOf(Broker)
    last_known = Option(Broker)  # the last known leader (lastKnownElr)
    leader = Option(Broker)
    is_deleted = bool

    # What else the controller has.
    active = SetOf(Broker)  # brokers that run and are not fenced
    listed = SetOf(Broker)  # brokers whose list of partitions for which they are eligible has this one (brokersToElrs)
    min_isr = MinIsr
    has_elr = bool  # the feature is on
    has_failed = bool  # an exception has made the active controller resign

    # The brokers.
    stopped_cleanly = SetOf(Broker)
    without_disk = SetOf(Broker)  # stopped brokers whose disk is not in log.dirs any more
    complete = SetOf(Broker)  # brokers whose log has every acknowledged record

    # The records that are acknowledged are on min.insync.replicas members of the ISR, or were so since.
    is_replicated = bool

    asked = SetOf(Broker)  # the replicas that the last reassignment asked for, until it has ended so

    # Events that may still happen.
    crashes_left = Range(0, "crashes")
    power_failures_left = Range(0, "power_failures")
    disk_losses_left = Range(0, "disk_losses")
    log_moves_left = Range(0, "log_moves")
    reassignments_left = Range(0, "reassignments")
    setting_changes_left = Range(0, "setting_changes")
    feature_changes_left = Range(0, "feature_changes")
    deletions_left = Range(0, "deletions")

    def init(self):
        """All brokers are active, the first ones are replicas and in sync, and the first of them leads."""
        self.active = set(Broker)
        for number, broker in enumerate(Broker):
            if number < self.replication_factor:
                self.replicas.add(broker)
        self.isr = self.replicas
        self.complete = self.replicas
        self.is_replicated = self.replication_factor >= self.min_insync_replicas
        self.leader = Broker[0]
        self.min_isr = self.min_insync_replicas
        self.has_elr = self.eligible_leader_replicas
        self.crashes_left = self.crashes
        self.power_failures_left = self.power_failures
        self.disk_losses_left = self.disk_losses
        self.log_moves_left = self.log_moves
        self.reassignments_left = self.reassignments
        self.setting_changes_left = self.setting_changes
        self.feature_changes_left = self.feature_changes
        self.deletions_left = self.deletions

    def is_active(self, broker: Broker):
        """Return whether a broker runs and is not fenced."""
        return broker in self.active

    def is_reassigning(self):
        """Return whether a reassignment is running."""
        return len(self.adding) > 0 or len(self.removing) > 0

    @assume
    def elr_tolerates_the_losses(self):
        """If logs are lost, they and the crashes are fewer than min.insync.replicas, and the settings do not change."""
        losses = self.power_failures + self.disk_losses
        return losses == 0 or (losses + self.crashes < self.min_insync_replicas and self.keeps_settings())

    def keeps_settings(self):
        """Return whether the feature is on, and no setting changes."""
        return self.eligible_leader_replicas and self.setting_changes == 0 and self.feature_changes == 0

    def has_records(self, broker: Broker):
        """Return whether a broker's log has every acknowledged record."""
        return broker in self.complete
