"""Guarantees of the `acks` setting: one partition, its replicas, an application that relies on acknowledgements.

Scenarios: entries P6, P7 and P8 of docs/producer.md. The partition is the one of the family `pipeline`; the family
`replication` models how replicas really agree.
"""

from checker.language import Bug, Constant, Range, SetOf, action, invariant, require
from checker.language.drawing import Arrow, Channel, Drawing, Event, Lane, Log
from specs.pipeline.partition import Broker, Partition, RecordId
from specs.scenario_forms import violates


class Acks(Partition):
    """A producer that sends each record once, and a leader that may fail before its followers have caught up.

    acks=0 acknowledges a request that is written to the connection, acks=1 a record that the leader has appended,
    acks=all a record below the high watermark. Only acks=all depends on min.insync.replicas.

    Unlike in the pipeline, the leader raises its high watermark and answers in steps of their own, a dead broker stays
    in the ISR until the leader removes it, and followers may lag any number of times.

    Source: Partition.appendRecordsToLeader, DelayedProduce.
    """

    records = Constant(1, at_least=1)
    replication_factor = Constant(2, at_least=2)
    acks = Constant("1", one_of=("0", "1", "all"))
    min_insync_replicas = Constant(1, at_least=1)
    broker_crashes = Constant(1, at_least=0)
    starts_in_sync = Constant(True)  # whether the ISR has every replica at first, or the leader alone

    sent = Range(0, "records")
    waiting = SetOf(RecordId)  # appended with acks=all, not yet acknowledged

    draws = Drawing(
        Lane("producer", facts={"sent": "last record sent"}, boxes={"acked": "acknowledged"}),
        Lane("partition", members={"isr": "ISR", "alive": "alive"}, crowned={"leader": "leader"},
            boxes={"requests": "requests to the leader", "waiting": "waiting for the high watermark"},
            facts={"leader": "leader", "isr": "ISR", "high_watermark": "high watermark"}),
        Lane("broker", each=Broker, logs=(Log("log", colour=".", called=("record",)),)),
        Lane("consumer", logs=(Log("consumed", end="position", colour=".", called=("record",)),)),
        channels=(Channel("requests", "producer", "partition"),),
        arrows=(
            Arrow("leader_append", "'partition'", "leader", "append"),
            Arrow("follower_fetch", "leader", "follower", "fetch"),
        ),
        item_labels={"acked": "record {}"},
        gains={"acked": "success is reported for"},
    ).with_events(
        Event("producer_send", "The producer sends record {sent + 1}"),
        Event("leader_append", "{leader} appends record {requests[0]}"),
        Event("leader_refuse", "{leader} refuses record {requests[0]}: too few replicas are in sync", "refuses",
            "leader", "refusal"),
        Event("leader_increment_high_watermark", "{leader} commits record {log[leader][high_watermark]}, which every "
            "member of the ISR has", "commit", "leader"),
        Event("leader_acknowledge", "{leader} answers the requests below its high watermark", "", "leader"),
        Event("leader_shrink_isr", "{'Slow' if follower in alive else 'Dead'} {follower} leaves the ISR", at="leader"),
        Event("follower_fetch", "{follower} copies record {log[leader][len(log[follower])]} from {leader}"),
        Event("broker_crash", "The process of {broker} dies; its log survives", "crash", "broker", "crash"),
        Event("controller_elect", "The controller elects {broker}{', which is not in the ISR (unclean)' if broker not "
            "in isr else ''}", "elected", "broker", "election"),
        Event("consumer_fetch", "The consumer reads record {log[leader][len(consumed)]} from {leader}"),
    )  # fmt: skip

    def init(self):
        """The first broker leads, every broker is alive, nothing was sent."""
        super().init()
        if not self.starts_in_sync:
            self.isr = {Broker[0]}

    # The producer.

    @action
    def producer_send(self):
        """Write the next record to the connection; with acks=0 this is success."""
        require(self.leader is not None)
        require(self.sent < self.records)
        self.sent += 1
        self.requests.append(self.sent)
        if self.acks == "0":
            self.acked.add(self.sent)

    def lose_connection(self):
        """Drop every request that the leader has not answered: the producer does not retry."""
        self.requests.clear()
        self.waiting.clear()

    # The leader.

    @action
    def leader_append(self):
        """Read a request and append its record; with acks=1 this is success."""
        require(self.leader is not None)
        require(len(self.requests) > 0)
        require(not self.has_too_few_replicas())
        record = self.requests.pop(0)
        self.log[self.leader].append(record)
        if self.acks == "1":
            self.acked.add(record)
        elif self.acks == "all":
            self.waiting.add(record)

    @action
    def leader_refuse(self):
        """NOT_ENOUGH_REPLICAS: with acks=all, too few replicas are in sync to append."""
        require(self.leader is not None)
        require(len(self.requests) > 0)
        require(self.has_too_few_replicas())
        self.requests.pop(0)

    def advance_high_watermark(self):
        """Do nothing: `leader_increment_high_watermark` is a step of its own."""

    @action
    def leader_increment_high_watermark(self):
        """The leader commits the next record, which every member of the ISR has fetched."""
        require(self.leader is not None)
        require(not self.strict_min_isr or len(self.isr) >= self.min_isr())
        require(self.high_watermark < len(self.log[self.leader]))
        require(all(self.shared_with_leader(broker) > self.high_watermark for broker in self.isr))
        self.high_watermark += 1

    @action
    def leader_acknowledge(self):
        """Answer appends with acks=all below the high watermark. Source: Partition.checkEnoughReplicasReachOffset."""
        require(self.leader is not None)
        require(len(self.isr) >= self.min_isr())
        for record in self.log[self.leader][: self.high_watermark]:
            if record in self.waiting:
                self.acked.add(record)
        require(any(record in self.waiting for record in self.log[self.leader][: self.high_watermark]))
        self.waiting = self.waiting - self.acked

    # The consumer.

    @action
    def consumer_fetch(self):
        """A consumer reads the next record below the high watermark."""
        require(self.leader is not None)
        require(len(self.consumed) < min(self.high_watermark, len(self.log[self.leader])))
        self.consumed.append(self.log[self.leader][len(self.consumed)])

    @invariant(says="in sync {self.isr}, logs {self.log}, high watermark {self.high_watermark}")
    def in_sync_have_committed(self):
        """Every member of the ISR has every record below the leader's high watermark."""
        return self.leader is None or all(self.shared_with_leader(broker) >= self.high_watermark for broker in self.isr)


ALONE = dict(min_insync_replicas=2, unclean_elections=True, starts_in_sync=False)
"""The leader is alone in the ISR at first, and unclean elections are allowed."""

READS = ["reads_are_stable", "in_sync_have_committed", "another_broker_leads"]

scenarios = [
    violates(Acks, "p6_acks_0_loss", dict(acks="0"), {"no_acked_loss": 4},
        "P6: success is reported when the request is written; the leader dies before it reads it."),
    Bug("p7_acks_1_loss_on_failover", Acks, violates={"no_acked_loss": 5},
        size=dict(min_insync_replicas=2, broker_crashes=2),
        larger=dict(min_insync_replicas=2, broker_crashes=2, records=2, replication_factor=3),
        faulty=dict(acks="1", broker_crashes=1), fixed=dict(acks="all"), fixed_name="p7_fixed_acks_all",
        description="P7: the leader acknowledges and dies before its follower has fetched; the election is clean.",
        remedy="P6 and P7 with acks=all and min.insync.replicas=2: no acknowledged record is lost."),
    Bug("p8_min_isr_ignored_by_acks_1", Acks, violates={"no_acked_loss": 5}, size=dict(ALONE, broker_crashes=2),
        larger=dict(min_insync_replicas=2, unclean_elections=True, broker_crashes=3, records=2),
        faulty=dict(acks="1", broker_crashes=1), fixed=dict(acks="all"), fixed_name="p8_fixed_acks_all",
        description="P8: with acks=1 the leader acknowledges alone, in spite of min.insync.replicas=2.",
        remedy="P8 with acks=all: a leader alone in the ISR refuses writes, so an unclean election loses no record."),
    violates(Acks, "p8_min_isr_1", dict(ALONE, acks="all", min_insync_replicas=1), {"no_acked_loss": 7},
        "P8: acks=all with min.insync.replicas=1 is acks=1 once the leader is alone in the ISR."),
    violates(Acks, "p8_unclean_beyond_min_isr",
        dict(acks="all", min_insync_replicas=2, replication_factor=3, unclean_elections=True, broker_crashes=2),
        {"no_acked_loss": 10},
        "P8: with more brokers than min.insync.replicas, an unclean election loses acknowledged records."),
    Bug("p8_read_then_lost", Acks, violates={"reads_are_stable": 7},
        size=dict(acks="1", min_insync_replicas=2, unclean_elections=True, broker_crashes=2),
        larger=dict(acks="1", min_insync_replicas=2, unclean_elections=True, broker_crashes=3, records=2),
        faulty=dict(strict_min_isr=False, starts_in_sync=False, broker_crashes=1), promises=READS,
        fixed_name="p8_fixed_strict_min_isr",
        description="P8 before 3.7: the leader alone raises the high watermark, a consumer reads, the record is lost.",
        remedy="P8 since 3.7 (KAFKA-15583): below min.insync.replicas a leader commits nothing, so reads stay."),
]  # fmt: skip
