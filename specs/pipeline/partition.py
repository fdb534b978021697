"""One replicated partition without message delays: leader, followers, ISR and elections.

`failures` adds power failures and eligible leader replicas, `producer_state` what a leader remembers of a producer,
`producer` and `pipeline` the clients at both ends, and `specs.producer.acks` a producer that sends each record once.
The family `replication` models how replicas really agree. docs/guarantees.md describes how the models differ.
"""

from checker.language import Constant, Domain, Map, Option, Range, Seq, SetOf, Spec
from checker.language.roles import action, invariant, reachable, require


class RecordId(Range):
    """A record, numbered in the order in which the application sends them."""

    low, high = 1, "records"


class Broker(Domain):
    """A broker with a replica of the partition."""

    size, prefix = "replication_factor", "n"


class Partition(Spec, abstract=True):
    """A leader, its followers, and a controller that elects a leader if none is alive.

    A follower copies its leader's log without error, the leader knows every log, and an election is one step with the
    truncations that follow it. The high watermark rises in the step in which the last member of the ISR gets a record.

    A subclass has a producer that fills `requests` and `acked`, and a consumer that fills `consumed`. It may override
    the types of `log`, `requests`, `consumed` and `high_watermark`, and these rules: `advance_high_watermark`,
    `leave_isr`, `lead_from_outside_isr`, `stop`, `lose_connection`, `leader_has`.

    Source: Partition, PartitionChangeBuilder of Apache Kafka; KAFKA-15583 (`strict_min_isr`).
    """

    records = Constant(2, at_least=1)
    replication_factor = Constant(3, at_least=1)
    acks = Constant("all", one_of=("0", "1", "all"))
    min_insync_replicas = Constant(2, at_least=1)
    unclean_elections = Constant(False)  # unclean.leader.election.enable
    strict_min_isr = Constant(True)  # KAFKA-15583 (3.7): the high watermark waits for min.insync.replicas
    broker_crashes = Constant(0, at_least=0)  # number of times that a broker's process dies; its log survives
    other_records = Constant(False)  # the log has records of other producers too, behind which a follower may lag

    log = Map(Broker, Seq(RecordId, "records"))
    leader = Option(Broker)
    isr = SetOf(Broker)
    alive = SetOf(Broker)
    high_watermark = Range(0, "records")  # of the leader
    broker_crashes_left = Range(0, "broker_crashes")

    requests = Seq(RecordId, "records")  # on the producer's connection, not yet read by the leader
    acked = SetOf(RecordId)
    consumed = Seq(RecordId, "records")  # the records below the consumer's position

    def init(self):
        """The first broker leads, every broker is alive and in sync, the log is empty."""
        self.leader = Broker[0]
        self.isr = set(Broker)
        self.alive = set(Broker)
        self.broker_crashes_left = self.broker_crashes

    # The leader.

    def min_isr(self):
        """Return the required size of the ISR: since 3.7 at most the number of replicas (effectiveMinIsr)."""
        if self.strict_min_isr:
            return min(self.min_insync_replicas, self.replication_factor)
        return self.min_insync_replicas

    def has_too_few_replicas(self):
        """Return whether acks=all is refused: NOT_ENOUGH_REPLICAS. Source: Partition.appendRecordsToLeader."""
        return self.acks == "all" and len(self.isr) < self.min_isr()

    def shared_with_leader(self, broker):
        """Return the number of records at the start of a broker's log that the leader's log has too."""
        return self.shared_with(self.log[self.leader], broker)

    def shared_with(self, log, broker):
        """Return the number of records at the start of a broker's log that another log has too."""
        shared = 0
        for offset in range(min(len(self.log[broker]), len(log))):
            if self.log[broker][: offset + 1] == log[: offset + 1]:
                shared = offset + 1
        return shared

    def advance_high_watermark(self):
        """Raise the high watermark to the records that the whole ISR has. Source: Partition.maybeIncrementLeaderHW."""
        if self.leader is not None and (not self.strict_min_isr or len(self.isr) >= self.min_isr()):
            in_all_logs = min(self.shared_with_leader(broker) for broker in self.isr)
            self.high_watermark = max(self.high_watermark, in_all_logs)

    def leave_isr(self, broker):
        """Remove a broker from the ISR."""
        self.isr.discard(broker)

    @action
    def leader_shrink_isr(self, follower: Broker):
        """The leader removes a follower that is dead or has lagged for replica.lag.time.max.ms."""
        require(self.leader is not None)
        require(follower in self.isr and follower != self.leader)
        lags = self.other_records or len(self.log[follower]) < len(self.log[self.leader])
        require(follower not in self.alive or lags)
        self.leave_isr(follower)
        self.advance_high_watermark()

    @action
    def leader_expand_isr(self, follower: Broker):
        """The leader adds a follower that has caught up."""
        require(self.leader is not None)
        require(follower in self.alive and follower not in self.isr)
        require(self.log[follower] == self.log[self.leader])
        self.isr.add(follower)
        self.advance_high_watermark()

    @action
    def follower_fetch(self, follower: Broker):
        """A follower copies the next record."""
        require(self.leader is not None)
        require(follower in self.alive and follower != self.leader)
        require(len(self.log[follower]) < len(self.log[self.leader]))
        self.log[follower].append(self.log[self.leader][len(self.log[follower])])
        self.advance_high_watermark()

    # Crashes, and the controller.

    def stop(self, broker):
        """Stop a broker. If it leads, its connection to the producer closes."""
        self.alive.discard(broker)
        if self.leader == broker:
            self.leader = None
            self.lose_connection()

    def lose_connection(self):
        """Fail the requests that the leader has not answered."""
        self.requests.clear()

    @action
    def broker_crash(self, broker: Broker):
        """A broker's process dies; its log stays complete."""
        require(self.broker_crashes_left > 0 and broker in self.alive)
        self.broker_crashes_left -= 1
        self.stop(broker)
        self.advance_high_watermark()

    @action
    def broker_restart(self, broker: Broker):
        """A broker restarts; if a leader is alive, it truncates its log to the part that it shares with the leader."""
        require(broker not in self.alive)
        self.alive.add(broker)
        if self.leader is not None:
            self.truncate(broker, self.log[self.leader])

    def truncate(self, broker, leader_log):
        """Truncate a follower's log to the part that it shares with the leader's log."""
        del self.log[broker][self.shared_with(leader_log, broker) :]

    def lead_from_outside_isr(self, broker):
        """Make a broker outside the ISR its only member; allowed by unclean elections only."""
        require(self.unclean_elections)
        self.isr = {broker}

    @action
    def controller_elect(self, broker: Broker):
        """The controller elects a live member of the ISR; if none is alive, `lead_from_outside_isr` decides.

        Source: PartitionChangeBuilder.electAnyLeader.
        """
        require(self.leader is None and broker in self.alive)
        if broker not in self.isr:
            require(not any(member in self.alive for member in self.isr))
            self.lead_from_outside_isr(broker)
        self.become_leader(broker)

    def become_leader(self, broker):
        """Make a broker the leader; its followers truncate their logs, a former leader among them."""
        self.leader = broker
        self.high_watermark = min(self.high_watermark, len(self.log[broker]))
        leader_log = self.log[broker]
        for follower in self.alive:
            self.truncate(follower, leader_log)
        self.advance_high_watermark()

    # Properties.

    def leader_has(self, record):
        """Return whether the leader's log has a record."""
        return record in self.log[self.leader]

    def is_unread(self, record):
        """Return whether a request with a record is on the connection."""
        return record in self.requests

    @invariant(
        says="record {record} was acknowledged, and the log of the leader {self.leader} is {self.log[self.leader]}"
    )
    def no_acked_loss(self):
        """The leader has every acknowledged record in its log, or (acks=0) in an unread request."""
        return self.leader is None or all(self.is_unread(record) or self.leader_has(record) for record in self.acked)

    @invariant(
        says="the consumer has read {self.consumed}, and the log of the leader {self.leader} is {self.log[self.leader]}"
    )
    def reads_are_stable(self):
        """The leader's log has every record that the consumer has read, at the same offset."""
        return self.leader is None or self.consumed == self.log[self.leader][: len(self.consumed)]

    @reachable
    def every_record_acknowledged(self):
        """All records are acknowledged."""
        return len(self.acked) == self.records

    @reachable
    def another_broker_leads(self):
        """If brokers may crash, the leadership moves."""
        return self.broker_crashes == 0 or (self.leader is not None and self.leader != Broker[0])
