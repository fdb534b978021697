"""The whole pipeline: producer, partition, consumer, and what the application may rely on."""

from checker.language import (
    Arrow,
    Channel,
    Constant,
    Drawing,
    Lane,
    Log,
    Map,
    Option,
    Range,
    Seq,
    SetOf,
    action,
    invariant,
    reachable,
    require,
)
from specs.pipeline.partition import CAPACITY, Broker, Entry, Partition, RecordId, Session


class Pipeline(Partition):
    """An application sends records in order; a producer writes them to a partition; a consumer processes them.

    The producer has one connection to the leader, on which requests of one record each are read and handled one by one
    (the broker mutes it while it handles a request). What fails retriably is sent again for as long as it takes,
    unless `retries` is off. An idempotent producer's copies are told by session and record. A producer that starts
    again sends what was not acknowledged. Source: Sender, RecordAccumulator.reenqueue, KafkaChannel, UnifiedLog.
    """

    acks = Constant("all", one_of=("0", "1", "all"))
    idempotent = Constant(True)  # enable.idempotence, in effect
    retries = Constant(True)  # retries > 0
    late_requests = Constant(False)  # a broker may still handle what it had not read when the connection closed
    consumer = Constant("none", one_of=("none", "commits_first", "commits_last", "auto_commit", "background"))
    auto_offset_reset = Constant("latest", one_of=("earliest", "latest", "none"))
    consumer_crashes = Constant(0, at_least=0)

    # The producer.
    sent = Range(0, "records")  # the last record of the application
    queue = Seq(RecordId, "records")
    requests = Seq(RecordId, "max_in_flight")  # on the connection, not yet read by the leader
    handled = Option(RecordId)  # appended, not yet answered
    late = Seq(Entry, "max_in_flight * (lost_responses + producer_restarts)")  # read from closed connections
    acked = SetOf(RecordId)
    session = Session
    lost_responses_left = Range(0, "lost_responses")
    producer_restarts_left = Range(0, "producer_restarts")

    # The consumer.
    read = Seq(Entry, CAPACITY)  # the records below its position
    in_hand = Option(RecordId)  # returned to the application, not yet processed
    committed = Option(Range(0, CAPACITY))
    processed = Map(RecordId, Range(0, 2))  # how often; 2: more than once
    consumer_crashes_left = Range(0, "consumer_crashes")

    draws = Drawing(
        Lane(
            "producer",
            facts={"sent": "last record sent"},
            boxes={"queue": "queued", "acked": "acknowledged"},
        ),
        Lane(
            "partition",
            members={"isr": "ISR", "alive": "alive"},
            crowned={"leader": "leader"},
            boxes={"requests": "requests to be read", "handled": "appended, to be answered", "late": "late requests"},
            facts={"high_watermark": "high watermark"},
        ),
        Lane("broker", each=Broker, logs=(Log("log", colour=".", called=("record",)),)),
        Lane(
            "consumer",
            logs=(Log("read", end="position", colour=".", called=("record",)),),
            boxes={"in_hand": "in hand"},
            facts={"committed": "committed offset"},
        ),
        channels=(Channel("requests", "producer", "partition", lost=("connection_closes", "producer_starts_again")),),
        arrows=(
            Arrow("leader_appends", "'partition'", "leader", "append"),
            Arrow("leader_acknowledges", "'partition'", "'producer'", "success"),
            Arrow("follower_fetches", "leader", "follower", "fetch"),
            Arrow("consumer_polls", "leader", "'consumer'", "poll"),
        ),
    )

    def init(self):
        """Failures to come."""
        super().init()
        self.lost_responses_left = self.lost_responses
        self.producer_restarts_left = self.producer_restarts
        self.consumer_crashes_left = self.consumer_crashes

    # The producer.

    @action
    def application_sends(self):
        """The application hands over the next record."""
        require(self.sent < self.records)
        self.sent += 1
        self.queue.append(self.sent)

    @action
    def producer_writes(self):
        """Write the first record of the queue to the connection: with acks=0 that is success."""
        require(self.leader is not None and len(self.queue) > 0)
        require(len(self.requests) + (0 if self.handled is None else 1) < self.max_in_flight)
        record = self.queue.pop(0)
        self.requests.append(record)
        if self.acks == "0":
            self.acked.add(record)

    def send_again(self, record):
        """A request failed retriably: back into the queue, an idempotent producer's in order, else to the head."""
        if self.acks == "0" or not self.retries:
            return
        place = 0
        if self.idempotent:
            place = len([other for other in self.queue if other < record])
        self.queue.insert(place, record)

    def lose_connection(self):
        """Every request in flight fails, the oldest first. Source: NetworkClient, InFlightRequests.clearAll."""
        if self.handled is not None:
            record = self.handled
            self.handled = None
            self.send_again(record)
        for request in self.requests:
            self.send_again(request)
        self.requests.clear()

    @action
    def connection_closes(self):
        """A response is lost, or late: the producer closes the connection with whatever is on it."""
        require(self.lost_responses_left > 0 and self.leader is not None)
        require(len(self.requests) > 0 or self.handled is not None)
        self.lost_responses_left -= 1
        self.keep_late_requests()
        self.lose_connection()

    def keep_late_requests(self):
        """What was on the connection may still be handled, if the leader lives (entry P12 of docs/producer.md)."""
        if self.late_requests:
            for request in self.requests:
                self.late.append(Entry(record=request, session=self.session))

    @action
    def producer_starts_again(self):
        """The producer's process dies; its successor sends again what was not acknowledged."""
        require(self.producer_restarts_left > 0)
        self.producer_restarts_left -= 1
        self.keep_late_requests()
        self.requests.clear()
        self.handled = None
        self.session += 1
        self.queue = [record for record in RecordId if record <= self.sent and record not in self.acked]

    def die(self, broker):
        """With a leader go the late requests that it had not handled."""
        if self.leader == broker:
            self.late.clear()
        super().die(broker)

    # The leader's answers.

    def has_too_few_replicas(self):
        """Whether acks=all is refused: NOT_ENOUGH_REPLICAS. Source: Partition.appendRecordsToLeader."""
        return self.acks == "all" and len(self.isr) < self.min_isr()

    def is_known(self, entry):
        """Whether an idempotent producer's record is in the leader's log already: it is answered, not appended."""
        return self.idempotent and entry in self.log[self.leader]

    def is_out_of_sequence(self, entry):
        """Whether an idempotent producer's record is not the next one; without any of its session every one is.

        A record is missing if its producer still has to send it. Source: ProducerAppendInfo.checkSequence, KIP-360.
        """
        if not self.idempotent:
            return False
        known = [other for other in self.log[self.leader] if other.session == entry.session]
        missing = entry.session == self.session and any(record < entry.record for record in self.queue)
        return len(known) > 0 and (missing or any(other.record > entry.record for other in known))

    @action
    def leader_appends(self):
        """Read the next request and append its record, unless it is there; with acks=0 there is no answer."""
        require(self.leader is not None and self.handled is None and len(self.requests) > 0)
        require(not self.has_too_few_replicas())
        entry = Entry(record=self.requests[0], session=self.session)
        require(not self.is_out_of_sequence(entry))
        record = self.requests.pop(0)
        if not self.is_known(entry):
            self.log[self.leader].append(entry)
            self.advance_high_watermark()
        if self.acks != "0":
            self.handled = record

    @action
    def leader_refuses(self):
        """Too few replicas are in sync to append at all, or the sequence has a hole: the request is sent again."""
        require(self.leader is not None and self.handled is None and len(self.requests) > 0)
        entry = Entry(record=self.requests[0], session=self.session)
        require(self.has_too_few_replicas() or self.is_out_of_sequence(entry))
        record = self.requests.pop(0)
        self.send_again(record)

    @action
    def leader_acknowledges(self):
        """Answer an append: with acks=1 at once, with acks=all below the high watermark. Source: DelayedProduce."""
        require(self.leader is not None and self.handled is not None)
        entry = Entry(record=self.handled, session=self.session)
        require(self.acks == "1" or (not self.has_too_few_replicas() and self.is_committed(entry)))
        self.acked.add(self.handled)
        self.handled = None

    def is_committed(self, entry):
        """Whether a record is below the high watermark."""
        return entry in self.log[self.leader][: self.high_watermark]

    @action
    def leader_refuses_after_append(self):
        """NOT_ENOUGH_REPLICAS_AFTER_APPEND: the record is in the log, and is sent again."""
        require(self.leader is not None and self.handled is not None)
        require(self.has_too_few_replicas())
        record = self.handled
        self.handled = None
        self.send_again(record)

    @action
    def leader_appends_late(self):
        """Handle a request of a connection that is closed; nobody waits for the answer."""
        require(self.leader is not None and len(self.late) > 0)
        require(not self.has_too_few_replicas())
        entry = self.late.pop(0)
        if not self.is_known(entry) and not self.is_out_of_sequence(entry):
            self.log[self.leader].append(entry)
            self.advance_high_watermark()

    # The consumer.

    @action
    def consumer_polls(self):
        """Return the next record below the high watermark; what earlier polls returned is committed where automatic."""
        require(self.consumer != "none" and self.leader is not None and self.in_hand is None)
        require(len(self.read) < self.high_watermark)
        if self.consumer == "auto_commit":
            self.committed = len(self.read)
        entry = self.log[self.leader][len(self.read)]
        self.read.append(entry)
        self.in_hand = entry.record
        if self.consumer == "commits_first":
            self.committed = len(self.read)

    @action
    def application_processes(self):
        """Process what was returned: whatever effect it has outside of Kafka, it has now."""
        require(self.in_hand is not None)
        record = self.in_hand
        self.processed[record] = min(2, self.processed[record] + 1)
        self.in_hand = None

    @action
    def consumer_commits(self):
        """Commit the position: after processing, or (librdkafka's timer) whether or not what it has is processed."""
        # A timer may fire at any moment: where nobody will read what it commits, that is left out.
        by_timer = self.consumer == "background" and self.consumer_crashes_left > 0
        require(by_timer or (self.consumer == "commits_last" and self.in_hand is None))
        require(self.committed != len(self.read))
        self.committed = len(self.read)

    @action
    def consumer_dies(self):
        """The consumer dies; its successor starts from the committed offset, or where there is none from the reset."""
        require(self.consumer_crashes_left > 0 and self.leader is not None)
        self.consumer_crashes_left -= 1
        self.in_hand = None
        if self.committed is not None:
            self.seek(self.committed)
        elif self.auto_offset_reset == "latest":
            self.seek(self.high_watermark)
        else:
            self.seek(0)

    def seek(self, position):
        """Set the position, no further than the log reaches."""
        self.read = self.log[self.leader][:position]

    # What the application relies on.

    @invariant(says="acknowledged {self.acked}, the leader {self.leader} holds {self.log}")
    def no_loss(self):
        """LOSS: whoever leads has every acknowledged record in its log, or (acks=0) still to read."""
        return self.leader is None or all(
            record in self.requests or any(entry.record == record for entry in self.log[self.leader])
            for record in self.acked
        )

    @invariant(says="the leader {self.leader} holds {self.log}")
    def no_duplicate(self):
        """DUP: no record is twice in the log of whoever leads."""
        return self.leader is None or all(
            len([entry for entry in self.log[self.leader] if entry.record == record]) <= 1 for record in RecordId
        )

    @invariant(says="record {later} stands before the first copy of record {earlier} in {self.log}")
    def no_reorder(self):
        """REORDER: records are in the log in the order in which they were sent, counting the first copy of each."""
        return self.leader is None or all(
            not self.stands_before(later, earlier) for earlier in RecordId for later in RecordId if earlier < later
        )

    def stands_before(self, later, earlier):
        """Whether both records are in the leader's log, and the first copy of `later` is first."""
        records = [entry.record for entry in self.log[self.leader]]
        return later in records and earlier in records and records.index(later) < records.index(earlier)

    @invariant(says="read {self.read}, the leader {self.leader} holds {self.log}")
    def reads_are_stable(self):
        """UNSTABLE: what the consumer has read is in the log of whoever leads."""
        return self.leader is None or self.read == self.log[self.leader][: len(self.read)]

    @invariant(says="position {len(self.read)}, processed {self.processed}")
    def no_gap(self):
        """GAP: whatever is below the consumer's position was processed, or is about to be."""
        return all(self.processed[entry.record] > 0 or self.in_hand == entry.record for entry in self.read)

    @invariant(says="processed {self.processed}")
    def no_reprocessing(self):
        """DUP at the consumer: no record is processed twice that is not twice in the log."""
        return all(
            self.processed[record] < 2 or len([entry for entry in self.read if entry.record == record]) > 1
            for record in RecordId
        )

    @reachable
    def every_record_acknowledged(self):
        """All records are acknowledged."""
        return len(self.acked) == self.records

    @reachable
    def another_broker_leads(self):
        """Where brokers die, the leadership moves."""
        return self.leader is not None and self.leader != Broker[0]

    @reachable
    def every_record_processed(self):
        """Where there is a consumer, all records are processed."""
        return all(self.processed[record] > 0 for record in RecordId)

    # What the settings cost: whether a write can still succeed while brokers are down.

    def can_acknowledge_with(self, down):
        """Whether the leader is about to acknowledge a record that was appended, with so many brokers down."""
        if self.leader is None or self.handled is None or len(self.alive) != self.replication_factor - down:
            return False
        entry = Entry(record=self.handled, session=self.session)
        return self.acks == "1" or (not self.has_too_few_replicas() and self.is_committed(entry))

    @reachable
    def writes_with_one_broker_down(self):
        """A write succeeds while one broker is down."""
        return self.can_acknowledge_with(1)

    @reachable
    def writes_with_two_brokers_down(self):
        """A write succeeds while two brokers are down."""
        return self.can_acknowledge_with(2)
