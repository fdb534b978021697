"""What acks is good for: one partition, its replicas, an application that believes its acknowledgements.

Scenarios: entries P6, P7 and P8 of docs/producer.md. How replicas really agree is the family `replication`; here a
follower copies its leader's log faultlessly, and an election is one step.
"""

from checker.language import (
    Arrow,
    Channel,
    Constant,
    Domain,
    Drawing,
    Lane,
    Log,
    Map,
    Option,
    Range,
    Scenario,
    Seq,
    SetOf,
    Spec,
    action,
    invariant,
    reachable,
    require,
)


class RecordId(Range):
    """Records are numbered in the order in which the application sends them."""

    low, high = 1, "records"


class Broker(Domain):
    """A replica of the partition."""

    size, prefix = "brokers", "n"


class Acks(Spec):
    """A producer that sends each record once, and a leader that may fail before its followers have caught up.

    acks=0 acknowledges what is written to the socket, acks=1 what the leader has appended, acks=all what is below the
    high watermark. Only acks=all asks min.insync.replicas (Partition.appendRecordsToLeader, DelayedProduce).
    """

    records = Constant(1, at_least=1)
    brokers = Constant(2, at_least=2)
    acks = Constant("1", one_of=("0", "1", "all"))
    min_insync_replicas = Constant(1, at_least=1)
    unclean_elections = Constant(False)  # unclean.leader.election.enable
    strict_min_isr = Constant(True)  # KAFKA-15583 (3.7): the high watermark waits for min.insync.replicas
    starts_in_sync = Constant(True)  # whether the ISR is everybody at first, or the leader alone
    crashes = Constant(1, at_least=0)

    sent = Range(0, "records")
    socket = Seq(RecordId, "records")  # written to the leader, which has not read it
    waiting = SetOf(RecordId)  # appended with acks=all, not yet acknowledged
    acked = SetOf(RecordId)
    log = Map(Broker, Seq(RecordId, "records"))
    leader = Option(Broker)
    isr = SetOf(Broker)
    alive = SetOf(Broker)
    high_watermark = Range(0, "records")  # the leader's
    consumed = Seq(RecordId, "records")  # what a consumer has read
    crashes_left = Range(0, "crashes")

    draws = Drawing(
        Lane("producer", facts={"sent": "last record sent"}, boxes={"acked": "acknowledged"}),
        Lane(
            "partition",
            members={"isr": "ISR", "alive": "alive"},
            crowned={"leader": "leader"},
            boxes={"socket": "requests to the leader", "waiting": "waiting for the high watermark"},
            facts={"leader": "leader", "isr": "ISR", "high_watermark": "high watermark"},
        ),
        Lane("broker", each=Broker, logs=(Log("log", colour=".", called=("record",)),)),
        Lane("consumer", logs=(Log("consumed", end="position", colour=".", called=("record",)),)),
        channels=(Channel("socket", "producer", "partition"),),
        arrows=(
            Arrow("leader_append", "'partition'", "leader", "append"),
            Arrow("follower_fetch", "leader", "follower", "fetch"),
        ),
    )

    def init(self):
        """The first broker leads, everybody is alive, nothing was sent."""
        self.leader = Broker[0]
        self.isr = set(Broker) if self.starts_in_sync else {Broker[0]}
        self.alive = set(Broker)
        self.crashes_left = self.crashes

    # The producer.

    @action
    def producer_send(self):
        """Write the next record to the leader's socket: with acks=0 that is success."""
        require(self.leader is not None)
        require(self.sent < self.records)
        self.sent += 1
        self.socket.append(self.sent)
        if self.acks == "0":
            self.acked.add(self.sent)

    # The leader.

    @action
    def leader_append(self):
        """Read a request and append it: with acks=1 that is success."""
        require(self.leader is not None)
        require(len(self.socket) > 0)
        require(self.acks != "all" or len(self.isr) >= self.min_insync_replicas)
        record = self.socket.pop(0)
        self.log[self.leader].append(record)
        if self.acks == "1":
            self.acked.add(record)
        elif self.acks == "all":
            self.waiting.add(record)

    @action
    def leader_refuse(self):
        """NOT_ENOUGH_REPLICAS: acks=all, and too few replicas are in sync to append at all."""
        require(self.leader is not None)
        require(len(self.socket) > 0)
        require(self.acks == "all" and len(self.isr) < self.min_insync_replicas)
        self.socket.pop(0)

    @action
    def leader_increment_high_watermark(self):
        """Everybody in sync has fetched the next record from this leader."""
        require(self.leader is not None)
        require(not self.strict_min_isr or len(self.isr) >= self.min_insync_replicas)
        require(self.high_watermark < len(self.log[self.leader]))
        require(all(self.has_fetched(broker, self.high_watermark + 1) for broker in self.isr))
        self.high_watermark += 1

    def has_fetched(self, broker, end):
        """Whether a broker has the leader's first records, up to offset `end`."""
        return self.log[broker][:end] == self.log[self.leader][:end]

    @action
    def leader_acknowledge(self):
        """Answer appends with acks=all below the high watermark. Source: Partition.checkEnoughReplicasReachOffset."""
        require(self.leader is not None)
        require(len(self.isr) >= self.min_insync_replicas)
        for record in self.log[self.leader][: self.high_watermark]:
            if record in self.waiting:
                self.acked.add(record)
        require(any(record in self.waiting for record in self.log[self.leader][: self.high_watermark]))
        self.waiting = self.waiting - self.acked

    @action
    def leader_shrink_isr(self, follower: Broker):
        """A follower has lagged for replica.lag.time.max.ms."""
        require(self.leader is not None)
        require(follower in self.isr and follower != self.leader)
        require(follower not in self.alive or len(self.log[follower]) < len(self.log[self.leader]))
        self.isr.discard(follower)

    @action
    def leader_expand_isr(self, follower: Broker):
        """A follower has caught up."""
        require(self.leader is not None)
        require(follower in self.alive and follower not in self.isr)
        require(self.log[follower] == self.log[self.leader])
        self.isr.add(follower)

    # The others.

    @action
    def follower_fetch(self, follower: Broker):
        """A follower copies the next record."""
        require(self.leader is not None)
        require(follower in self.alive and follower != self.leader)
        require(len(self.log[follower]) < len(self.log[self.leader]))
        self.log[follower].append(self.log[self.leader][len(self.log[follower])])

    @action
    def consumer_fetch(self):
        """A consumer reads the next record below the high watermark."""
        require(self.leader is not None)
        require(len(self.consumed) < min(self.high_watermark, len(self.log[self.leader])))
        self.consumed.append(self.log[self.leader][len(self.consumed)])

    @action
    def broker_crash(self, broker: Broker):
        """A broker stops; its log stays. With the leader go the requests that it had not answered."""
        require(self.crashes_left > 0)
        require(broker in self.alive)
        self.crashes_left -= 1
        self.alive.discard(broker)
        if self.leader == broker:
            self.leader = None
            self.socket.clear()
            self.waiting.clear()

    @action
    def broker_restart(self, broker: Broker):
        """A broker comes back; if there is a leader, it truncates its log to what it shares with the leader's."""
        require(broker not in self.alive)
        self.alive.add(broker)
        if self.leader is not None:
            self.truncate(broker, self.leader)

    @action
    def controller_elect(self, broker: Broker):
        """Elect a live member of the ISR; uncleanly any live broker where no member of the ISR is alive."""
        require(self.leader is None)
        require(broker in self.alive)
        if broker not in self.isr:
            require(self.unclean_elections)
            require(not any(member in self.alive for member in self.isr))
            self.isr = {broker}
        self.leader = broker
        self.high_watermark = min(self.high_watermark, len(self.log[broker]))
        for follower in self.alive:
            self.truncate(follower, broker)

    def truncate(self, follower, leader):
        """Cut the follower's log where it leaves the leader's."""
        shared = 0
        for offset in range(min(len(self.log[follower]), len(self.log[leader]))):
            if self.log[follower][: offset + 1] == self.log[leader][: offset + 1]:
                shared = offset + 1
        del self.log[follower][shared:]

    # Properties.

    @invariant(says="acknowledged {self.acked}, the leader {self.leader} holds {self.log}")
    def no_acked_loss(self):
        """Whoever leads has every acknowledged record in its log, or (acks=0) still in its socket."""
        return self.leader is None or all(
            record in self.log[self.leader] or record in self.socket for record in self.acked
        )

    @invariant(says="consumed {self.consumed}, the leader {self.leader} holds {self.log}")
    def reads_are_stable(self):
        """What a consumer has read is in the log of whoever leads."""
        return self.leader is None or self.consumed == self.log[self.leader][: len(self.consumed)]

    @invariant(says="in sync {self.isr}, logs {self.log}, high watermark {self.high_watermark}")
    def in_sync_have_committed(self):
        """Every member of the ISR has everything below the leader's high watermark."""
        return self.leader is None or all(self.has_fetched(broker, self.high_watermark) for broker in self.isr)

    @reachable
    def every_record_acknowledged(self):
        """All records are acknowledged."""
        return len(self.acked) == self.records

    @reachable
    def another_broker_leads(self):
        """Where brokers crash, the leadership moves."""
        return self.crashes == 0 or (self.leader is not None and self.leader != Broker[0])


scenarios = [
    Scenario(
        Acks,
        "p6_acks_0_loss",
        dict(acks="0"),
        expect={"no_acked_loss": 4},
        properties=["no_acked_loss"],
        description="P6: success is reported when the request is written; the leader dies before it reads it.",
    ),
    Scenario(
        Acks,
        "p7_acks_1_loss_on_failover",
        dict(acks="1", min_insync_replicas=2),
        expect={"no_acked_loss": 5},
        properties=["no_acked_loss"],
        description="P7: the leader acknowledges and dies before its follower has fetched; the election is clean.",
    ),
    Scenario(
        Acks,
        "p7_fixed_acks_all",
        dict(acks="all", min_insync_replicas=2, crashes=2),
        description="P6 and P7 with acks=all and min.insync.replicas=2: no acknowledged record is lost.",
    ),
    Scenario(
        Acks,
        "p7_fixed_acks_all_larger",
        dict(acks="all", min_insync_replicas=2, records=2, brokers=3, crashes=2),
        description="P6 and P7 with acks=all, two records, three brokers, two crashes.",
    ),
    Scenario(
        Acks,
        "p8_min_isr_ignored_by_acks_1",
        dict(acks="1", min_insync_replicas=2, unclean_elections=True, starts_in_sync=False),
        expect={"no_acked_loss": 5},
        properties=["no_acked_loss"],
        description="P8: min.insync.replicas=2 does not keep acks=1 from being acknowledged by the leader alone.",
    ),
    Scenario(
        Acks,
        "p8_min_isr_1",
        dict(acks="all", min_insync_replicas=1, unclean_elections=True, starts_in_sync=False),
        expect={"no_acked_loss": 7},
        properties=["no_acked_loss"],
        description="P8: acks=all with min.insync.replicas=1 is acks=1 once the leader is alone in the ISR.",
    ),
    Scenario(
        Acks,
        "p8_fixed_acks_all",
        dict(acks="all", min_insync_replicas=2, unclean_elections=True, starts_in_sync=False, crashes=2),
        description="P8 with acks=all: a leader alone in the ISR refuses writes, so an unclean election loses nothing.",
    ),
    Scenario(
        Acks,
        "p8_fixed_acks_all_larger",
        dict(acks="all", min_insync_replicas=2, records=2, unclean_elections=True, crashes=3),
        description="P8 with acks=all, two records, three crashes.",
    ),
    Scenario(
        Acks,
        "p8_unclean_beyond_min_isr",
        dict(acks="all", min_insync_replicas=2, brokers=3, unclean_elections=True, crashes=2),
        expect={"no_acked_loss": 10},
        properties=["no_acked_loss"],
        description="P8: with more brokers than min.insync.replicas, an unclean election loses acknowledged records.",
    ),
    Scenario(
        Acks,
        "p8_read_then_lost",
        dict(acks="1", min_insync_replicas=2, unclean_elections=True, strict_min_isr=False, starts_in_sync=False),
        expect={"reads_are_stable": 7},
        properties=["reads_are_stable"],
        description="P8 before 3.7: the leader alone moves the high watermark, a consumer reads, the record is lost.",
    ),
    Scenario(
        Acks,
        "p8_fixed_strict_min_isr",
        dict(acks="1", min_insync_replicas=2, unclean_elections=True, crashes=2),
        properties=["reads_are_stable", "in_sync_have_committed", "another_broker_leads"],
        description="P8 since 3.7 (KAFKA-15583): below min.insync.replicas a leader commits nothing, so reads stay.",
    ),
    Scenario(
        Acks,
        "p8_fixed_strict_min_isr_larger",
        dict(acks="1", min_insync_replicas=2, records=2, unclean_elections=True, crashes=3),
        properties=["reads_are_stable", "in_sync_have_committed", "another_broker_leads"],
        description="P8 since 3.7, two records, three crashes.",
    ),
]
