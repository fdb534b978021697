"""The constants of the message-level model: rules of Kafka by version, settings, and the events that may happen."""

from checker.language import Constant, assume
from specs.replication.state import PartitionState


class Switches(PartitionState, abstract=True):
    """Every constant of `Partition` besides the sizes of the published models; a switch that is off adds no states.

    Each rule names the proposal or bug that changed it and the class of Apache Kafka that has it. `versions` has the
    values of each release. The default is the rule of Kafka 4.0, or its remedy where Kafka has none yet. So a scenario
    shows one bug. The controller is ZooKeeper's by default, since it adds fewer states.
    """

    # Truncation and the leader-epoch cache.
    # LeaderEpochFileCache, AbstractFetcherThread.getOffsetTruncationState: by high watermark up to 0.10.2, KIP-101 in
    # 0.11, KIP-279 in 2.0, and in 2.8 KIP-279's rule with the leader's answer in a fetch response.
    truncation = Constant("on_fetch", one_of=("high_watermark", "kip101", "kip279", "on_fetch"))
    # KAFKA-7415, Partition.makeLeader: a new leader's epoch begins at its election, not with its first record.
    epoch_on_election = Constant(True)
    # KAFKA-10706, UnifiedLog.truncateTo: the cache is truncated even if the log is not.
    truncates_cache_at_end = Constant(True)
    # KAFKA-7897 (2.1.1), Partition.makeLeader: the cache has elections although records of formats before 0.11 carry no
    # epochs.
    caches_epochs_of_old_formats = Constant(False)
    records_carry_epochs = Constant(True)  # the message format is that of 0.11 or newer
    # KAFKA-15608 and KAFKA-20961 (open), LogManager.replaceCurrentWithFutureLog: a log that moves to another directory
    # keeps the leader epochs that have no records. Kafka: False.
    moves_epochs_without_records = Constant(True)
    # LogLoader.load: a restarted broker keeps the leader epochs of its cache that have no records. Kafka: False.
    keeps_epochs_without_records = Constant(True)
    # KAFKA-10432, LogSegment.recover: recovery rebuilds the cache without leader epoch 0.
    forgets_first_epoch = Constant(False)
    # KAFKA-15510, AbstractFetcherThread.processFetchRequest: an empty answer makes a follower forget its last epoch.
    forgets_last_epoch = Constant(False)

    # Appends and the high watermark.
    acks = Constant("all", one_of=("1", "all"))
    min_insync_replicas = Constant(1, at_least=1)
    new_min_insync_replicas = Constant(0, at_least=0)  # the value that an operator may change it to; 0: no change
    # KAFKA-15583 (3.7), Partition.maybeIncrementLeaderHW: the high watermark waits for min.insync.replicas.
    strict_min_isr = Constant(True)

    # Changes of the ISR.
    # KAFKA-7128, Partition.maybeExpandIsr: a follower joins only with the log with which the leader's epoch began.
    joins_at_epoch_start = Constant(True)
    # KIP-841 (3.3), ReplicationControlManager.validateAlterPartitionData: a fenced broker may join.
    fenced_may_join = Constant(False)
    # KIP-903 (3.5), ReplicationControlManager.validateAlterPartitionData: a stale broker epoch is rejected. Kafka with
    # KRaft: True.
    checks_broker_epochs = Constant(False)

    # Fetches.
    # KIP-320 (2.1), Partition.fetchRecords: a fetch of another leader epoch is rejected.
    fences_fetches = Constant(True)
    # KAFKA-13141, ReplicaManager: a diverging fetch counts as progress of the follower.
    counts_diverging_fetch = Constant(False)
    # KAFKA-14704, AbstractFetcherThread.processFetchRequest: the high watermark is adopted before the truncation.
    high_watermark_before_truncation = Constant(False)
    # KAFKA-18723: an answer's bytes are read from the leader's file when they are sent.
    sends_lazily = Constant(False)
    # KAFKA-18723 (3.9.1, 4.0.1), UnifiedLog.appendAsFollower: records of a newer epoch than the follower's are
    # rejected.
    refuses_newer_records = Constant(True)
    # KAFKA-18723, AbstractFetcherThread.processFetchRequest: the answer to a fetch of another epoch is dropped.
    drops_answers_of_other_epochs = Constant(True)
    # DelayedFetch, Partition.readRecords: a leader parks a fetch for which it has no record, and answers it later. An
    # answer has the high watermark from before its fetch was counted. Kafka: True. Without it a leader answers at once.
    parks_fetches = Constant(False)
    # Partition.fetchRecords: a leader reads its log and its high watermark, then counts the fetch. In between, a record
    # may arrive, and another fetch may raise the high watermark. Kafka: True. Otherwise it does both in one step.
    reads_before_counting = Constant(False)
    # Partition.isFollowerOutOfSync, Replica.resetReplicaState: a leader does not know the log end of a follower that
    # has not fetched in its leader epoch yet, and may remove it although both logs are empty. Kafka: True.
    lags_before_first_fetch = Constant(False)
    # MetadataLoader, Partition.handleAlterPartitionUpdate: a leader may learn a change of the ISR while newer ones
    # exist. How many changes are remembered for that. With 0 or 1 a leader learns the newest one only.
    remembered_changes = Constant(0, at_least=0)
    # Partition.makeLeader, handleAlterPartitionUpdate: a leader learns a granted change from the answer to its request,
    # and again from the metadata, which make it drop the next request. Kafka: True. Otherwise it learns it once.
    learns_isr_twice = Constant(False)
    # ReplicationControlManager.validateAlterPartitionData: the controller grants a request of a leader that has died
    # since and is not fenced yet. Kafka: True. Otherwise the request is lost.
    requests_of_dead_leaders = Constant(False)
    # Partition.isReplicaIsrEligible, KIP-841: a leader asks to add a follower that has caught up when its own
    # metadata do not show that one as fenced: with this fetch or a later one. Kafka: True. Otherwise it asks at once.
    asks_to_join_later = Constant(False)
    # Partition.maybeShrinkIsr: one request removes every follower that lags. Kafka: True. Otherwise one by one.
    removes_several = Constant(False)
    # Partition.maybeIncrementLeaderHW: the high watermark also waits for a follower outside the ISR that has caught up
    # within replica.lag.time.max.ms. Kafka: True.
    waits_for_joining = Constant(False)
    # KIP-392, Partition.fetchRecords: a consumer may read from followers.
    reads_from_followers = Constant(False)

    # Leaders and followers.
    # KIP-320 (2.1), Partition.lastOffsetForLeaderEpoch: a question of another leader epoch is rejected.
    fences_questions = Constant(True)
    # KAFKA-7164, Partition.makeFollower: a new epoch of the same leader does not make a follower truncate.
    follows_by_leader_id = Constant(False)
    # Partition.makeLeader, Replica.resetReplicaState: a leader that is elected again keeps its followers' log end
    # offsets. Kafka since 0.9: same_leader. A repair: consecutive_epochs.
    keeps_followers = Constant("never", one_of=("never", "consecutive_epochs", "same_leader"))
    # Partition.checkEnoughReplicasReachOffset: a leader that is elected again answers appends of its earlier epochs.
    answers_across_epochs = Constant(False)

    # Elections.
    unclean_elections = Constant(False)  # unclean.leader.election.enable
    # KIP-966, PartitionChangeBuilder: eligible leader replicas; an option in 4.0, on for new clusters since 4.1.
    eligible_leader_replicas = Constant(False)
    # KAFKA-19522 (fixed in 4.1), PartitionChangeBuilder.canElectLastKnownLeader: a fenced one may be elected.
    elects_fenced_last_leader = Constant(False)
    # ConfigurationControlManager: a change of min.insync.replicas clears the eligible leader replicas (ClearElrRecord).
    clears_eligible = Constant(True)
    # PartitionChangeBuilder.build: a change of the eligible leader replicas alone raises the partition epoch too.
    # Kafka: True.
    numbers_eligible_changes = Constant(False)

    # The delivery of metadata.
    # ReplicationControlManager, BrokerHeartbeatManager, MetadataLoader: with KRaft (the only mode since 4.0) brokers
    # learn that a partition has no leader, and a registered broker is fenced until it has read the metadata.
    controller = Constant("zookeeper", one_of=("zookeeper", "kraft"))
    # KAFKA-18106 (4.0), ClusterControlManager.registerBroker: KRaft takes a broker that registers again out of the ISR.
    registration_leaves_isr = Constant(True)

    # BrokerServer.startup, BrokerLifecycleManager: a restarted broker follows and fetches as soon as it has read the
    # metadata, also while the controller refuses its registration. Kafka with KRaft: True.
    acts_before_registration = Constant(False)
    # KIP-858, KAFKA-17190, ReplicationControlManager.handleAssignReplicasToDirs: a broker reports a replica on a new
    # disk, also before it has registered again. Kafka with KRaft since 3.9: True.
    assigns_directories = Constant(False)
    # BrokerServer.startup, MetadataLoader: a restarted broker acts on metadata up to an end that is not their end any
    # more: it may lead again in an epoch that ended after the restart. Needs `late_metadata` or `remembered_changes`.
    # Kafka with KRaft: True.
    starts_behind = Constant(False)

    # Events: whether they may happen, or how often.
    starts_in_sync = Constant(True)  # whether the ISR has every replica at first, or the leader alone
    lagging = Constant(True)  # a follower may lag for longer than replica.lag.time.max.ms
    late_requests = Constant(True)  # a fetch may arrive after its sender has entered another epoch or died
    # How many fetches of a follower may be in flight beside the present one: those to a former leader, and of a process
    # that has died. Each has a connection of its own. With 0, a fetch replaces the earlier one.
    fetches_of_former_connections = Constant(0, at_least=0)
    late_metadata = Constant(False)  # a replica may act on the metadata of an epoch that is not the newest
    late_checkpoints = Constant(False)  # the high watermark is written to disk at intervals only
    preferred_elections = Constant(False)  # leadership may move while the leader is alive
    session_timeouts = Constant(False)  # a broker that is alive may be fenced
    quick_restarts = Constant(False)  # a broker may register again before the controller has fenced it
    crashes = Constant(1, at_least=0)
    power_failures = Constant(0, at_least=0)
    power_failures_in_isr = Constant(True)  # members of the ISR may lose power too
    shutdowns = Constant(0, at_least=0)
    disk_losses = Constant(0, at_least=0)  # a stopped broker may lose its disk
    log_moves = Constant(0, at_least=0)  # a leader may move its log to another directory
    consumers = Constant(False)  # whether a consumer reads

    # Bounds.
    # How often brokers may register again, if the controller checks broker epochs; -1: as often as they may restart.
    max_broker_epoch = Constant(-1, at_least=-1)
    max_partition_epoch = Constant(2, at_least=0)

    @assume
    def every_registration_has_a_broker_epoch(self):
        """If the controller checks broker epochs, max_broker_epoch is -1 or crashes + power_failures + shutdowns."""
        restarts = self.crashes + self.power_failures + self.shutdowns
        return not self.checks_broker_epochs or self.max_broker_epoch == -1 or self.max_broker_epoch >= restarts
