"""A reassignment that raises the leader epoch, and what clients learn of it (KAFKA-9212)."""

from checker.language import Bug, Constant, Option, Range, Spec, action, invariant, reachable, require
from checker.language.drawing import Drawing, Event, Lane


class LeaderEpoch(Range):
    """A leader epoch of the partition."""

    low, high = 0, "reassignments * 2"


class Reassignment(Spec):
    """The epochs of a partition that is reassigned, with a ZooKeeper controller, and a consumer that carries an epoch.

    The controller raises the leader epoch when it adds replicas and when it removes some. It sends the epoch in
    ZooKeeper to the leader (LeaderAndIsr), and the epoch in its memory to the metadata caches of all brokers
    (UpdateMetadata). The leader rejects a fetch with an older epoch than its own (FENCED_LEADER_EPOCH), and the
    consumer then asks any broker for metadata. A message that is in flight is replaced by a newer one.

    With KRaft both epochs are one record of the metadata log.

    Source: KAFKA-9212; KafkaController.updateLeaderEpoch, Partition.checkCurrentLeaderEpoch,
    Metadata.updateLastSeenEpochIfNewer.
    """

    reassignments = Constant(1, at_least=1)
    # KAFKA-9212 (2.4.0), KafkaController.updateLeaderEpoch: the controller keeps the epoch that it wrote to ZooKeeper.
    remembers_epoch = Constant(True)

    written = LeaderEpoch  # in ZooKeeper
    remembered = LeaderEpoch  # in the controller's memory
    is_ongoing = bool
    started = Range(0, "reassignments")
    leader_and_isr = Option(LeaderEpoch)  # in flight to the leader
    update_metadata = Option(LeaderEpoch)  # in flight to the brokers
    leader_epoch = LeaderEpoch  # at the leader
    cached = LeaderEpoch  # in the brokers' metadata caches
    consumer_epoch = LeaderEpoch

    draws = Drawing(
        Lane("controller", facts={"written": "epoch in ZooKeeper", "remembered": "epoch in memory"}),
        Lane("leader", facts={"leader_epoch": "leader epoch"}),
        Lane("brokers", facts={"cached": "epoch in the metadata cache"}),
        Lane("consumer", facts={"consumer_epoch": "leader epoch"}),
    ).with_events(
        Event("controller_add_replicas", "A reassignment starts: the controller writes leader epoch {written + 1} to "
            "ZooKeeper, sends it to the leader, and sends epoch {written + 1 if remembers_epoch else remembered} to "
            "the metadata caches", at="'controller'", leaves_out=("written", "remembered")),
        Event("controller_remove_replicas",
            "The new replicas are in sync: the controller removes old ones and sends leader epoch {written + 1} to the "
                "leader and to the metadata caches", at="'controller'", leaves_out=("written", "remembered")),
        Event("leader_receive", "The leader learns that its epoch is {leader_and_isr}", leaves_out=("leader_epoch",)),
        Event("brokers_receive", "The metadata caches of the brokers learn that the leader epoch is {update_metadata}",
            leaves_out=("cached",)),
        Event("consumer_refresh", "The consumer, whose fetches the leader fences, learns epoch {cached} from a broker",
            leaves_out=("consumer_epoch",)),
    )  # fmt: skip

    def send(self):
        """Send the epochs to the leader and to the metadata caches."""
        self.leader_and_isr = self.written
        self.update_metadata = self.remembered

    @action
    def controller_add_replicas(self):
        """A reassignment starts: the leader epoch rises, so that the leader learns of its new replicas."""
        require(self.started < self.reassignments and not self.is_ongoing)
        self.started += 1
        self.is_ongoing = True
        self.written += 1
        if self.remembers_epoch:
            self.remembered = self.written
        self.send()

    @action
    def controller_remove_replicas(self):
        """The new replicas are in sync: the controller removes old ones and elects a leader in a new epoch."""
        require(self.is_ongoing)
        self.is_ongoing = False
        self.written += 1
        self.remembered = self.written
        self.send()

    @action
    def leader_receive(self):
        """The leader learns its epoch."""
        require(self.leader_and_isr is not None)
        self.leader_epoch = self.leader_and_isr
        self.leader_and_isr = None

    @action
    def brokers_receive(self):
        """The metadata caches learn the epoch of the partition."""
        require(self.update_metadata is not None)
        self.cached = self.update_metadata
        self.update_metadata = None

    @action
    def consumer_refresh(self):
        """A fenced consumer asks a broker for metadata; it does not go back to an older epoch."""
        require(self.is_fenced() and self.cached > self.consumer_epoch)
        self.consumer_epoch = self.cached

    def is_fenced(self):
        """Return whether the leader rejects the consumer's fetches."""
        return self.consumer_epoch < self.leader_epoch

    @invariant(
        says="the leader is in epoch {self.leader_epoch}, and every broker tells the consumer that it is {self.cached}"
    )
    def fenced_consumer_can_refresh(self):
        """If no message is in flight, the brokers know the leader's epoch, so that a fenced consumer can learn it."""
        in_flight = self.leader_and_isr is not None or self.update_metadata is not None
        return in_flight or not self.is_fenced() or self.cached == self.leader_epoch

    @reachable
    def consumer_follows(self):
        """The consumer learns the epoch of the last reassignment."""
        return not self.is_ongoing and self.consumer_epoch == 2 * self.reassignments


scenarios = [
    Bug("r24_stale_epoch_in_the_caches", Reassignment, violates={"fenced_consumer_can_refresh": 4},
        larger=dict(reassignments=3), faulty=dict(remembers_epoch=False),
        description="KAFKA-9212: during a reassignment the brokers give clients an older epoch than the leader's, and "
        "the consumer is fenced until it ends.",
        remedy="KAFKA-9212: the controller remembers the leader epoch that it has written."),
]  # fmt: skip
