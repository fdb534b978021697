"""One replicated partition under failures of its brokers: the middle of the pipeline.

How replicas really agree is the family `replication`; here a follower copies its leader's log faultlessly, its leader
knows at once what it has, and an election with the truncation after it is one step.
"""

from checker.language import Constant, Domain, Map, Option, Range, Seq, SetOf, Spec, Struct, action, require


class RecordId(Range):
    """Records are numbered in the order in which the application sends them."""

    low, high = 1, "records"


class Session(Range):
    """The lives of the producer's process: each has a producer id of its own."""

    low, high = 0, "producer_restarts"


class Broker(Domain):
    """A replica of the partition."""

    size, prefix = "replication_factor", "n"


class Entry(Struct):
    """A record in a log, with the session of the producer that sent it."""

    record: RecordId
    session: Session
    shows = "r{record}"


CAPACITY = (
    "records * (1 + producer_restarts) + (lost_responses + producer_restarts) * max_in_flight"
    " + broker_crashes + power_losses + blackouts + slow_followers"
)
"""Of a log: each failure lets what it interrupts be appended once more."""


class Partition(Spec, abstract=True):
    """A leader, its followers, and a controller that fences who has died and elects.

    A follower that has died leaves the ISR at once (its last member stays), one that lags when the leader finds out.
    The high watermark is what every member of the ISR has; it waits for min.insync.replicas where `strict_min_isr`.
    With `eligible_leader_replicas` the ISR may become empty, and who left it below min.insync.replicas may still be
    elected, unless it has died since; where nobody may, the last known leader is, whatever it has lost (KIP-966).
    Source: Partition, PartitionChangeBuilder.
    """

    records = Constant(2, at_least=1)
    replication_factor = Constant(3, at_least=1)
    min_insync_replicas = Constant(2, at_least=1)
    unclean_elections = Constant(False)  # unclean.leader.election.enable
    strict_min_isr = Constant(True)  # KAFKA-15583 (3.7): the high watermark waits for min.insync.replicas
    eligible_leader_replicas = Constant(False)  # KIP-966; on for new clusters since 4.1
    flushes = Constant(False)  # log.flush.interval.messages=1: an append is on disk before it is answered
    max_in_flight = Constant(2, at_least=1)

    # Failures: how often each may happen.
    slow_followers = Constant(2, at_least=0)  # a live follower lags for replica.lag.time.max.ms
    broker_crashes = Constant(0, at_least=0)  # a broker's process dies; what it wrote is in the page cache
    power_losses = Constant(0, at_least=0)  # a broker's machine dies; what was not flushed is gone
    blackouts = Constant(0, at_least=0)  # the machines of all brokers die at once
    lost_responses = Constant(0, at_least=0)  # the producer's connection closes, with whatever is on it
    producer_restarts = Constant(0, at_least=0)  # the producer's process dies, and its successor goes on

    log = Map(Broker, Seq(Entry, CAPACITY))
    leader = Option(Broker)
    isr = SetOf(Broker)
    elr = SetOf(Broker)  # eligible leader replicas
    last_known_leader = Option(Broker)  # who emptied the ISR by dying
    alive = SetOf(Broker)
    high_watermark = Range(0, CAPACITY)  # the leader's
    slow_followers_left = Range(0, "slow_followers")
    broker_crashes_left = Range(0, "broker_crashes")
    power_losses_left = Range(0, "power_losses")
    blackouts_left = Range(0, "blackouts")

    def init(self):
        """The first broker leads, everybody is alive and in sync, nothing is written."""
        self.leader = Broker[0]
        self.isr = set(Broker)
        self.alive = set(Broker)
        self.slow_followers_left = self.slow_followers
        self.broker_crashes_left = self.broker_crashes
        self.power_losses_left = self.power_losses
        self.blackouts_left = self.blackouts

    def min_isr(self):
        """The number of replicas that must be in sync: since 3.7 never more than there are (effectiveMinIsr)."""
        if self.strict_min_isr:
            return min(self.min_insync_replicas, self.replication_factor)
        return self.min_insync_replicas

    # The leader.

    def advance_high_watermark(self):
        """Raise the high watermark to what everybody in sync has. Source: Partition.maybeIncrementLeaderHW."""
        if self.leader is not None and (not self.strict_min_isr or len(self.isr) >= self.min_isr()):
            everybodys = min(self.shared_with_leader(broker) for broker in self.isr)
            self.high_watermark = max(self.high_watermark, everybodys)

    def shared_with_leader(self, broker):
        """The number of records that a broker's log begins with in common with the leader's."""
        shared = 0
        for offset in range(min(len(self.log[broker]), len(self.log[self.leader]))):
            if self.log[broker][: offset + 1] == self.log[self.leader][: offset + 1]:
                shared = offset + 1
        return shared

    @action
    def leader_shrinks_isr(self, follower: Broker):
        """A live follower has lagged for replica.lag.time.max.ms."""
        require(self.leader is not None and self.slow_followers_left > 0)
        require(follower in self.isr and follower != self.leader)
        require(len(self.log[follower]) < len(self.log[self.leader]))
        self.slow_followers_left -= 1
        self.leave_isr(follower)
        self.advance_high_watermark()

    @action
    def leader_expands_isr(self, follower: Broker):
        """A follower has caught up."""
        require(self.leader is not None)
        require(follower in self.alive and follower not in self.isr)
        require(self.log[follower] == self.log[self.leader])
        self.isr.add(follower)
        if len(self.isr) >= self.min_isr():
            self.elr = set()
        self.elr.discard(follower)
        self.advance_high_watermark()

    @action
    def follower_fetches(self, follower: Broker):
        """A follower copies the next record."""
        require(self.leader is not None)
        require(follower in self.alive and follower != self.leader)
        require(len(self.log[follower]) < len(self.log[self.leader]))
        self.log[follower].append(self.log[self.leader][len(self.log[follower])])
        self.advance_high_watermark()

    # Failures of brokers, and the controller.

    def leave_isr(self, broker):
        """Take a broker out of the ISR; without eligible leader replicas its last member stays."""
        if broker in self.isr and (len(self.isr) > 1 or self.eligible_leader_replicas):
            self.isr.discard(broker)
            if self.eligible_leader_replicas and len(self.isr) < self.min_isr():
                self.elr.add(broker)
            if len(self.isr) == 0:
                self.last_known_leader = broker

    def die(self, broker):
        """A broker is gone, and with a leader the producer's connection to it."""
        self.alive.discard(broker)
        if self.leader == broker:
            self.leader = None
            self.lose_connection()
        self.leave_isr(broker)

    def lose_connection(self):
        """What becomes of the requests on the producer's connection: nothing here."""

    @action
    def broker_dies(self, broker: Broker):
        """A broker's process dies; its log stays whole."""
        require(self.broker_crashes_left > 0 and broker in self.alive)
        self.broker_crashes_left -= 1
        self.die(broker)
        self.advance_high_watermark()

    @action
    def broker_loses_power(self, broker: Broker, kept: Range(0, CAPACITY)):
        """A broker's machine dies; of its log the first `kept` records were on disk."""
        require(self.power_losses_left > 0 and broker in self.alive)
        require(kept <= len(self.log[broker]) and (not self.flushes or kept == len(self.log[broker])))
        self.power_losses_left -= 1
        self.die(broker)
        del self.log[broker][kept:]
        self.advance_high_watermark()

    @action
    def all_brokers_lose_power(self, kept: Range(0, CAPACITY)):
        """All machines die at once; of each log no more than the first `kept` records were on disk."""
        require(self.blackouts_left > 0 and len(self.alive) > 0)
        require(not self.flushes or all(kept >= len(self.log[broker]) for broker in Broker))
        self.blackouts_left -= 1
        for broker in Broker:
            if broker in self.alive:
                self.die(broker)
                del self.log[broker][kept:]

    @action
    def broker_restarts(self, broker: Broker):
        """A broker comes back; if there is a leader, it truncates its log to what it shares with the leader's.

        It did not shut down cleanly, as its registration shows: it is no longer eligible (KIP-966).
        """
        require(broker not in self.alive)
        self.alive.add(broker)
        self.elr.discard(broker)
        if self.leader is not None:
            del self.log[broker][self.shared_with_leader(broker) :]

    @action
    def controller_elects(self, broker: Broker):
        """Elect a live member of the ISR, or of the ELR where that is empty; else the last known leader, or uncleanly.

        Source: PartitionChangeBuilder.electAnyLeader.
        """
        require(self.leader is None and broker in self.alive)
        if broker not in self.isr:
            require(not any(member in self.alive for member in self.isr))
            if broker not in self.elr:
                require(not any(member in self.alive for member in self.elr))
                require(self.unclean_elections or (self.last_known_leader == broker and len(self.elr) == 0))
                self.elr = set()
            self.isr = {broker}
            self.elr.discard(broker)
            if self.min_isr() == 1:
                self.elr = set()
            self.last_known_leader = None
        self.leader = broker
        self.high_watermark = min(self.high_watermark, len(self.log[broker]))
        for follower in self.alive:
            del self.log[follower][self.shared_with_leader(follower) :]
        self.advance_high_watermark()
