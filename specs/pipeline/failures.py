"""A partition whose brokers lose power, with fencing and eligible leader replicas."""

from checker.language import Constant, Map, Option, Range, Seq, SetOf, Struct, action, require
from specs.pipeline.partition import Broker, Partition, RecordId


class Session(Range):
    """The number of restarts of the producer's process before this one; each session has its own producer id."""

    low, high = 0, "producer_restarts"


EPOCHS = (
    "lost_responses + producer_restarts + broker_crashes + power_failures + blackouts + slow_followers + rejections"
    " + leader_moves + delivery_timeouts"
)
"""The largest producer epoch: a failure may leave a gap in the sequences, which the producer closes with an epoch."""


class ProducerEpoch(Range):
    """The epoch of a producer id; the producer itself increments it."""

    low, high = 0, EPOCHS


class Sequence(Range):
    """The sequence number of a batch, which has one record."""

    low, high = 0, "records - 1 + delivery_timeouts"


class Entry(Struct):
    """A record as it is sent and stored: with its producer's session, epoch and sequence; 0 without idempotence.

    `resend` is 1 if the application has sent the record again after a timeout.
    """

    record: RecordId
    session: Session
    epoch: ProducerEpoch
    sequence: Sequence
    resend: Range(0, "delivery_timeouts")
    shows = "r{record}(e{epoch} s{sequence})"


CAPACITY = (
    "records * (1 + producer_restarts) + slow_followers + delivery_timeouts + max_in_flight"
    " * (lost_responses + producer_restarts + broker_crashes + power_failures + blackouts + rejections + leader_moves)"
)
"""Capacity of a log: each failure may cause the records in flight to be appended once more."""


class FailingPartition(Partition, abstract=True):
    """A partition under every failure of its brokers, with logs in which a record may occur more than once.

    A broker that dies leaves the ISR at once; without eligible leader replicas the last member stays. A live follower
    leaves the ISR when the leader finds that it lags. The high watermark waits for min.insync.replicas if
    `strict_min_isr`.

    With `eligible_leader_replicas` the ISR may become empty. A broker that left it below min.insync.replicas may still
    be elected, unless it has died since. If no broker is eligible, the last known leader may be elected, even if it has
    lost records.

    Source: Partition, PartitionChangeBuilder; KIP-966.
    """

    eligible_leader_replicas = Constant(False)  # KIP-966; on for new clusters since 4.1
    flushes = Constant(False)  # log.flush.interval.messages=1: an append is on disk before it is answered
    empties_disks = Constant(False)  # a broker that loses power returns with an empty disk
    max_in_flight = Constant(2, at_least=1)

    # Failures: the number of times that each may happen.
    slow_followers = Constant(2, at_least=0)  # a live follower lags for replica.lag.time.max.ms
    power_failures = Constant(0, at_least=0)  # a broker's machine dies; records that were not flushed are lost
    blackouts = Constant(0, at_least=0)  # the machines of all brokers die at once
    leader_moves = Constant(0, at_least=0)  # the leadership moves, and the former leader lives
    lost_responses = Constant(0, at_least=0)  # the producer's connection closes, with every request on it
    producer_restarts = Constant(0, at_least=0)  # the producer's process dies, and its successor resumes
    delivery_timeouts = Constant(0, at_least=0, at_most=1)  # delivery.timeout.ms passes for a record
    rejections = Constant(0, at_least=0)  # the leader rejects a record with an error that is not retriable

    normalises = ("drop_logs_without_effect",)

    log = Map(Broker, Seq(Entry, CAPACITY))
    high_watermark = Range(0, CAPACITY)
    eligible = SetOf(Broker)  # the eligible leader replicas (ELR)
    last_known_leader = Option(Broker)  # the last member of the ISR, if the ISR became empty when it died
    slow_followers_left = Range(0, "slow_followers")
    power_failures_left = Range(0, "power_failures")
    blackouts_left = Range(0, "blackouts")
    leader_moves_left = Range(0, "leader_moves")

    def init(self):
        """Start with a complete ISR, and with every failure still to come."""
        super().init()
        self.slow_followers_left = self.slow_followers
        self.power_failures_left = self.power_failures
        self.blackouts_left = self.blackouts
        self.leader_moves_left = self.leader_moves

    # Brokers are interchangeable. `advise` has the engine explore one state for all that differ in their names, so the
    # spec needs no guards against symmetric states. The checker refuses an action or a property that names a broker or
    # depends on the order of brokers.

    # States that have the same effect are made equal. A counterexample is shown with the logs that Kafka keeps.

    def may_be_elected_outside_isr(self, broker):
        """Return whether a broker outside the ISR may be elected, with the log that it has."""
        return self.unclean_elections or broker in self.eligible or broker == self.last_known_leader

    def has_effect(self, broker):
        """Return whether the log of a broker outside the ISR has an effect before the broker rejoins the ISR."""
        return self.may_be_elected_outside_isr(broker) or self.forgets_at_restart(broker)

    def forgets_at_restart(self, broker):
        """Return whether a restart of a broker would make it forget something that has an effect."""
        return False

    def drop_logs_without_effect(self):
        """Empty the logs of brokers outside the ISR that have no effect: a broker fetches its log when it rejoins."""
        for broker in Broker:
            if broker not in self.isr and not self.has_effect(broker):
                self.log[broker].clear()

    @action
    def controller_elect(self, broker: Broker):
        """The controller elects a live member of the ISR; if none is alive, `lead_from_outside_isr` decides."""
        super().controller_elect(broker)
        self.drop_logs_without_effect()

    @action
    def follower_fetch(self, follower: Broker):
        """A follower copies the next record."""
        require(self.leader is not None)
        require(follower in self.isr or self.may_be_elected_outside_isr(follower))
        if self.brokers_cannot_fail():
            # The order in which followers catch up has no effect any more: the one that is ahead comes first.
            require(not any(self.lags(other) and self.is_ahead(other, follower) for other in Broker))
        super().follower_fetch(follower)

    def brokers_cannot_fail(self):
        """Return whether every failure of a broker has happened."""
        return (
            self.broker_crashes_left == 0
            and self.power_failures_left == 0
            and self.blackouts_left == 0
            and self.leader_moves_left == 0
            and self.slow_followers_left == 0
        )

    def lags(self, broker):
        """Return whether a live member of the ISR has a shorter log than the leader."""
        return broker in self.alive and broker in self.isr and len(self.log[broker]) < len(self.log[self.leader])

    def is_ahead(self, one, other):
        """Return whether a broker's log is longer than another's."""
        return len(self.log[one]) > len(self.log[other])

    # The ISR and the eligible leader replicas.

    def leave_isr(self, broker):
        """Remove a broker from the ISR; without eligible leader replicas the last member stays."""
        if broker in self.isr and (len(self.isr) > 1 or self.eligible_leader_replicas):
            self.isr.discard(broker)
            if self.eligible_leader_replicas and len(self.isr) < self.min_isr():
                self.eligible.add(broker)
            if len(self.isr) == 0:
                self.last_known_leader = broker
            if not self.eligible_leader_replicas:
                self.drop_logs_without_effect()

    @action
    def leader_shrink_isr(self, follower: Broker):
        """The leader removes a live follower that has lagged for replica.lag.time.max.ms."""
        require(self.slow_followers_left > 0)
        super().leader_shrink_isr(follower)
        self.slow_followers_left -= 1

    @action
    def leader_expand_isr(self, follower: Broker):
        """The leader adds a follower that has caught up; with min.insync.replicas in sync the ELR becomes empty."""
        require(self.leader is not None and follower in self.alive)
        if not self.may_be_elected_outside_isr(follower):
            # Where it is before it joins has no effect: it fetches the rest in the same step.
            self.log[follower] = self.log[self.leader]
        super().leader_expand_isr(follower)
        if len(self.isr) >= self.min_isr():
            self.eligible = set()
        self.eligible.discard(follower)
        self.drop_logs_without_effect()

    def lead_from_outside_isr(self, broker):
        """Make a broker outside the ISR its only member: an eligible one, or the last known leader, or uncleanly.

        Source: PartitionChangeBuilder.electAnyLeader.
        """
        if broker not in self.eligible:
            require(not any(member in self.alive for member in self.eligible))
            require(self.unclean_elections or (self.last_known_leader == broker and len(self.eligible) == 0))
            self.eligible = set()
        self.isr = {broker}
        self.eligible.discard(broker)
        if self.min_isr() == 1:
            self.eligible = set()
        self.last_known_leader = None

    # Failures.

    def stop(self, broker):
        """Stop a broker, and let it leave the ISR at once: the controller fences it."""
        super().stop(broker)
        self.leave_isr(broker)

    @action
    def broker_lose_power(self, broker: Broker, kept: Range(0, CAPACITY)):
        """A broker's machine dies; the first `kept` records of its log were on disk."""
        require(self.power_failures_left > 0 and broker in self.alive and kept <= len(self.log[broker]))
        require(kept == 0 if self.empties_disks else (not self.flushes or kept == len(self.log[broker])))
        self.power_failures_left -= 1
        self.stop(broker)
        del self.log[broker][kept:]
        self.advance_high_watermark()

    @action
    def all_brokers_lose_power(self, kept: Range(0, CAPACITY), last: Broker):
        """All machines die at once; of each log at most the first `kept` records were on disk.

        The controller fences the brokers in any order: `last` is the last member of the ISR.
        """
        require(self.blackouts_left > 0 and last in self.alive)
        require(last in self.isr or not any(member in self.alive for member in self.isr))
        require(not self.flushes or all(kept >= len(self.log[broker]) for broker in Broker))
        self.blackouts_left -= 1
        in_sync = self.isr
        for broker in Broker:
            if broker in self.alive:
                del self.log[broker][kept:]
        if self.leader is not None and self.leader != last:
            self.stop(self.leader)
        leaving = self.isr & (self.alive - {last})
        self.alive = {last}
        self.isr = self.isr - leaving
        if len(leaving) > 0 and not self.eligible_leader_replicas:
            self.drop_logs_without_effect()
        if self.eligible_leader_replicas and len(self.isr) < self.min_isr():
            # As one change of the ISR: who becomes eligible does not depend on the order.
            self.eligible = self.eligible | (in_sync - self.isr)
        self.stop(last)

    @action
    def controller_move_leader(self, broker: Broker):
        """The controller moves the leadership to another member of the ISR; the former leader lives, and truncates.

        A preferred leader election or a reassignment does that. Until the former leader has learnt of it, its log and
        that of the new leader do not affect each other: what it does then, it may have done before.

        Source: ReplicationControlManager.electLeader (PREFERRED), Partition.makeFollower.
        """
        require(self.leader_moves_left > 0 and self.leader is not None)
        require(broker in self.alive and broker in self.isr and broker != self.leader)
        self.leader_moves_left -= 1
        self.step_down()
        self.become_leader(broker)

    def step_down(self):
        """The leader becomes a follower; a subclass has the requests on its connection."""

    @action
    def broker_restart(self, broker: Broker):
        """A broker restarts. It registers after an unclean shutdown, and is no longer eligible (KIP-966)."""
        super().broker_restart(broker)
        self.eligible.discard(broker)
        self.drop_logs_without_effect()
