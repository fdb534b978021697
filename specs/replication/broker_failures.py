"""8. Failures of brokers: crashes, power failures, lost disks, shutdowns, restarts."""

from checker.language.roles import action, require
from specs.replication.partition_state import IsrChange, Offset, PartitionVariables
from specs.replication.state import Replica


class BrokerFailures(PartitionVariables, abstract=True):
    """Failures, each of which happens at most as often as a constant says.

    A crash loses a broker's memory; its log survives in the page cache. A power failure loses the page cache too: a
    broker does not flush before it acknowledges, so any suffix of the log may be lost.
    """

    @action
    def broker_crash(self, broker: Replica):
        """A broker's process dies; its log survives."""
        require(broker in self.alive)
        require(self.crashes_left > 0)
        self.crashes_left -= 1
        self.stop(broker)

    @action
    def broker_lose_power(self, broker: Replica, kept: Offset):
        """A broker's machine dies; the log from offset `kept` on was in the page cache only, and is lost."""
        require(broker in self.alive)
        require(self.power_failures_left > 0)
        require(kept < len(self.log[broker]))
        require(self.power_failures_in_isr or broker not in self.quorum.isr)
        self.power_failures_left -= 1
        self.stop(broker)
        self.truncate(broker, kept)

    @action
    def broker_lose_disk(self, broker: Replica):
        """A stopped broker loses its disk: the log, its epochs, the checkpoint, and the mark of a clean shutdown."""
        require(broker not in self.alive)
        require(self.disk_losses_left > 0)
        self.disk_losses_left -= 1
        self.truncate(broker, 0)
        self.epoch_starts[broker] = []
        self.checkpoint[broker] = 0
        self.stopped_cleanly.discard(broker)
        if self.assigns_directories:
            self.new_disks.add(broker)

    @action
    def broker_shut_down(self, broker: Replica):
        """A broker that does not lead shuts down cleanly: it leaves the ISR, then marks its log as complete.

        A broker that led, or was fenced, has left the ISR before (`controller_fence`, with `session_timeouts`).

        Source: BrokerLifecycleManager (controlled shutdown), CleanShutdownFileHandler.
        """
        require(broker in self.alive)
        require(broker not in self.fenced or self.session_timeouts)
        require(self.shutdowns_left > 0)
        require(self.quorum.leader != broker)
        self.shutdowns_left -= 1
        self.fenced.add(broker)
        self.take_out(broker)
        self.stop(broker)
        self.stopped_cleanly.add(broker)

    def stop(self, broker):
        """Stop a broker: its memory, the requests in flight to it, and their answers are lost."""
        self.alive.discard(broker)
        self.unregistered.discard(broker)
        self.read_at_start[broker] = None
        request = self.pending[broker]
        self.step_down(broker)
        if self.requests_of_dead_leaders:
            self.pending[broker] = request
        self.forget_followers(broker)
        self.led_since[broker] = 0
        self.leader[broker] = None
        self.leader_epoch[broker] = -1
        self.stop_fetching(broker)
        if self.fetches_of_former_connections > 0:
            self.leave_fetch(broker)
            self.fetches[broker] = None
            self.parked.discard(broker)
        for other in Replica:
            if self.fetches[other] is not None and self.fetches[other].leader == broker:
                self.fetches[other] = None
                self.parked.discard(other)
            if self.fetches_of_former_connections > 0:
                self.former_fetches[other] = [
                    request for request in self.former_fetches[other] if request.leader != broker
                ]
            if self.questions[other] is not None and self.questions[other].leader == broker:
                self.questions[other] = None

    @action
    def broker_restart(self, broker: Replica):
        """A broker restarts and registers with the controller. It knows no leader until it has read the metadata.

        Normally the controller has fenced it before. With `quick_restarts` it returns before it is missed. That was
        possible with ZooKeeper, since KIP-380 only if the controller moves as well. With KRaft a registered broker is
        fenced until it has read the metadata. Its high watermark is that of its checkpoint (default: the last one).

        Source: ClusterControlManager.registerBroker, OffsetCheckpointFile; KAFKA-10432.
        """
        require(broker not in self.alive)
        require(
            self.acts_before_registration
            or broker in self.fenced
            or (self.quick_restarts and self.registers_unfenced_broker())
        )
        self.alive.add(broker)
        if self.starts_behind:
            self.read_at_start[broker] = IsrChange(
                partition_epoch=self.partition_epoch, leader_epoch=len(self.requests) - 1, isr=self.quorum.isr
            )
        self.pending[broker] = None
        if self.late_checkpoints:
            self.high_watermark[broker] = min(self.checkpoint[broker], len(self.log[broker]))
        if self.forgets_first_epoch:
            self.epoch_starts[broker] = [found for found in self.epoch_starts[broker] if found.epoch > 0]
        if not self.keeps_epochs_without_records:
            self.epoch_starts[broker] = [
                found for found in self.epoch_starts[broker] if found.start < len(self.log[broker])
            ]
        if self.acts_before_registration:
            self.unregistered.add(broker)
        else:
            self.register(broker)

    @action
    def broker_register(self, broker: Replica):
        """The controller registers a restarted broker, after the session of its previous process has expired.

        Until then it answers DUPLICATE_BROKER_REGISTRATION, and the broker tries again.
        Source: ClusterControlManager.registerBroker, BrokerLifecycleManager.
        """
        require(broker in self.unregistered)
        require(broker in self.fenced)
        self.unregistered.discard(broker)
        self.register(broker)

    def register(self, broker):
        """Register a broker with the controller. Source: ClusterControlManager.registerBroker."""
        if self.controller == "kraft":
            self.fenced.add(broker)
        else:
            self.fenced.discard(broker)
        if self.checks_broker_epochs:
            self.broker_epoch[broker] += 1
        if self.eligible_leader_replicas:
            self.detect_unclean_shutdown(broker)

    def registers_unfenced_broker(self):
        """Return whether a restarted broker may register before the controller has taken it out of the ISR.

        KRaft rejects the registration until the session of the previous process has expired
        (DUPLICATE_BROKER_REGISTRATION). Up to 3.9 a registration after that, but before the broker was fenced, changed
        neither ISR nor leader. Source: ClusterControlManager.registerBroker; KAFKA-18106.
        """
        return self.controller == "zookeeper" or not self.registration_leaves_isr

    def detect_unclean_shutdown(self, broker):
        """Remove a broker without the mark of a clean shutdown from ISR and ELR: it may have lost records.

        Source: ReplicationControlManager.handleBrokerUncleanShutdown; KIP-966.
        """
        if broker not in self.stopped_cleanly:
            was_eligible = broker in self.eligible
            self.take_out(broker)
            self.eligible.discard(broker)
            if was_eligible and self.numbers_eligible_changes:
                self.change(self.quorum.leader, self.quorum.isr)
        self.stopped_cleanly.discard(broker)

    @action
    def broker_checkpoint(self, broker: Replica):
        """A broker writes its high watermark to disk, as it does at intervals.

        Source: ReplicaManager.checkpointHighWatermarks.
        """
        require(self.late_checkpoints)
        require(broker in self.alive)
        require(self.checkpoint[broker] != self.high_watermark[broker])
        self.checkpoint[broker] = self.high_watermark[broker]

    @action
    def broker_reconnect(self, broker: Replica):
        """A live broker that is fenced reaches the controller, which unfences it.

        With KRaft the broker has read the metadata up to its registration. It may lag behind everything after that.
        Source: BrokerHeartbeatManager.calculateNextBrokerState, ReplicationControlManager.handleBrokerUnfenced.
        """
        require(self.session_timeouts or self.controller == "kraft")
        require(broker in self.alive and broker in self.fenced and broker not in self.unregistered)
        require(self.controller == "zookeeper" or self.leader_epoch[broker] >= 0)
        self.fenced.discard(broker)

    @action
    def leader_move_log(self, leader: Replica):
        """A leader moves its log to another directory. The new log has the epochs of its records.

        A follower that moves its log reports an older epoch with its next fetch, which its leader knows.
        Source: ReplicaAlterLogDirsThread, LogManager.replaceCurrentWithFutureLog; KAFKA-15608, KAFKA-20961.
        """
        require(self.leads(leader))
        require(self.log_moves_left > 0)
        self.log_moves_left -= 1
        if not self.moves_epochs_without_records:
            self.epoch_starts[leader] = [
                found
                for found in self.epoch_starts[leader]
                if any(record.epoch == found.epoch for record in self.log[leader])
            ]
