"""How brokers fail: they stop, lose what was not on disk, and start again with the high watermark that was."""

from checker.language import Constant, Map, Range, SetOf, action, require
from specs.replication.elections import Elections
from specs.replication.leader_epochs import Offset
from specs.replication.state import Replica


class Failures(Elections, abstract=True):
    """Crashes, power failures, shutdowns and restarts, at most as many as the constants say.

    A crash takes a broker's memory; its log survives in the page cache. A power failure takes the page cache too: what
    was not flushed is gone, and nothing is flushed before it is acknowledged, so any end of the log may be.

    A broker that starts again registers with a new broker epoch, has the high watermark of its checkpoint (by default:
    the one that it had), and knows no leader until it has read the metadata. As a rule the controller has fenced it
    before; with `quick_restarts` it is back before anybody noticed, as it could be with ZooKeeper.

    Source: LogManager's checkpoints, ClusterControlManager.registerBroker; KIP-966 (detection of unclean shutdowns).
    """

    crashes = Constant(1, at_least=0)
    power_failures = Constant(0, at_least=0)
    power_failures_in_isr = Constant(True)
    shutdowns = Constant(0, at_least=0)
    quick_restarts = Constant(False)
    forgets_first_epoch = Constant(False)  # KAFKA-10432: recovery rebuilds the cache without leader epoch 0
    late_checkpoints = Constant(False)  # whether the high watermark is written to disk now and then only

    crashes_left = Range(0, "crashes")
    power_failures_left = Range(0, "power_failures")
    shutdowns_left = Range(0, "shutdowns")
    checkpoint = Map(Replica, Offset)
    stopped_cleanly = SetOf(Replica)

    def init(self):
        """Begin as everybody does, with all failures to come."""
        super().init()
        self.crashes_left = self.crashes
        self.power_failures_left = self.power_failures
        self.shutdowns_left = self.shutdowns

    def stop(self, broker):
        """Let a broker forget what it has in memory; what is under way to it, or in answer to it, is lost."""
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
        """A broker stops; its log stays."""
        require(broker in self.alive)
        require(self.crashes_left > 0)
        self.crashes_left -= 1
        self.stop(broker)

    @action
    def broker_lose_power(self, broker: Replica, kept: Offset):
        """A broker stops, and loses its log from an offset on: all of that was in the page cache only."""
        require(broker in self.alive)
        require(self.power_failures_left > 0)
        require(kept < len(self.log[broker]))
        require(self.power_failures_in_isr or broker not in self.quorum.isr)
        self.power_failures_left -= 1
        self.stop(broker)
        self.truncate(broker, kept)

    @action
    def broker_shut_down(self, broker: Replica):
        """A broker that does not lead leaves in order: out of the ISR first, then its log is marked as complete."""
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
        """A broker starts again, and registers with the controller."""
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
        """A broker without the mark of a clean shutdown may have lost records: nobody counts on it any more."""
        if broker not in self.stopped_cleanly:
            self.take_out(broker)
            self.eligible.discard(broker)
        self.stopped_cleanly.discard(broker)

    @action
    def broker_checkpoint(self, broker: Replica):
        """A broker writes its high watermark to disk, as it does every few seconds."""
        require(self.late_checkpoints)
        require(broker in self.alive)
        require(self.checkpoint[broker] != self.high_watermark[broker])
        self.checkpoint[broker] = self.high_watermark[broker]

    @action
    def broker_reconnect(self, broker: Replica):
        """A broker that was fenced though it is alive is heard of again."""
        require(self.session_timeouts)
        require(broker in self.alive and broker in self.fenced)
        self.fenced.discard(broker)
