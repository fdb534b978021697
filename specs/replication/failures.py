"""Failures of brokers: crashes, power failures, shutdowns, restarts, and high-watermark checkpoints."""

from checker.language import Map, Range, SetOf, action, require
from specs.replication.elections import Elections
from specs.replication.leader_epochs import Offset
from specs.replication.state import Replica


class Failures(Elections, abstract=True):
    """Crashes, power failures, shutdowns and restarts, each at most as often as a constant says.

    A crash loses a broker's memory; its log survives in the page cache. A power failure loses the page cache too: a
    broker does not flush before it acknowledges, so any suffix of the log may be lost.

    A broker that restarts registers with a new broker epoch, has the high watermark of its checkpoint (default: the
    last one), and knows no leader until it has read the metadata. Normally the controller has fenced it before. With
    `quick_restarts` it returns before it is missed, as was possible with ZooKeeper.

    Source: LogManager's checkpoints, ClusterControlManager.registerBroker; KIP-966 (detection of unclean shutdowns).
    """

    crashes_left = Range(0, "crashes")
    power_failures_left = Range(0, "power_failures")
    shutdowns_left = Range(0, "shutdowns")
    checkpoint = Map(Replica, Offset)
    stopped_cleanly = SetOf(Replica)

    def init(self):
        """Start with every failure still to come."""
        super().init()
        self.crashes_left = self.crashes
        self.power_failures_left = self.power_failures
        self.shutdowns_left = self.shutdowns

    def stop(self, broker):
        """Stop a broker: its memory, the requests in flight to it, and their answers are lost."""
        self.alive.discard(broker)
        self.step_down(broker)
        self.leader[broker] = None
        self.leader_epoch[broker] = -1
        self.stop_fetching(broker)
        for other in Replica:
            if self.fetches[other] is not None and self.fetches[other].leader == broker:
                self.fetches[other] = None
            if self.questions[other] is not None and self.questions[other].leader == broker:
                self.questions[other] = None

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
    def broker_shut_down(self, broker: Replica):
        """A broker that does not lead shuts down cleanly: it leaves the ISR, then marks its log as complete."""
        require(broker in self.alive and broker not in self.fenced)
        require(self.shutdowns_left > 0)
        require(self.quorum.leader != broker)
        self.shutdowns_left -= 1
        self.fenced.add(broker)
        self.take_out(broker)
        self.stop(broker)
        self.stopped_cleanly.add(broker)

    @action
    def broker_restart(self, broker: Replica):
        """A broker restarts and registers with the controller."""
        require(broker not in self.alive)
        require(self.quick_restarts or broker in self.fenced)
        self.alive.add(broker)
        self.fenced.discard(broker)
        if self.max_broker_epoch > 0:
            self.broker_epoch[broker] += 1
        if self.late_checkpoints:
            self.high_watermark[broker] = min(self.checkpoint[broker], len(self.log[broker]))
        if self.forgets_first_epoch:
            self.epoch_starts[broker] = [found for found in self.epoch_starts[broker] if found.epoch > 0]
        if self.eligible_leader_replicas:
            self.detect_unclean_shutdown(broker)

    def detect_unclean_shutdown(self, broker):
        """Remove a broker without the mark of a clean shutdown from ISR and ELR: it may have lost records."""
        if broker not in self.stopped_cleanly:
            self.take_out(broker)
            self.eligible.discard(broker)
        self.stopped_cleanly.discard(broker)

    @action
    def broker_checkpoint(self, broker: Replica):
        """A broker writes its high watermark to disk, as it does at intervals."""
        require(self.late_checkpoints)
        require(broker in self.alive)
        require(self.checkpoint[broker] != self.high_watermark[broker])
        self.checkpoint[broker] = self.high_watermark[broker]

    @action
    def broker_reconnect(self, broker: Replica):
        """A live broker that was fenced reaches the controller again."""
        require(self.session_timeouts)
        require(broker in self.alive and broker in self.fenced)
        self.fenced.discard(broker)
