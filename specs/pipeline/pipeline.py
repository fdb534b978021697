"""The whole pipeline: producer, partition, consumer, and the guarantees that an application depends on."""

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
    action,
    invariant,
    reachable,
    require,
)
from specs.pipeline.failures import CAPACITY, Entry, FailingPartition, Session
from specs.pipeline.partition import Broker, RecordId


class Pipeline(FailingPartition):
    """An application sends records in order; a producer writes them to a partition; a consumer processes them.

    The producer has one connection to the leader, which reads and handles its requests of one record each in order (the
    broker mutes the connection while it handles a request). A request that fails with a retriable error is sent again
    without limit, unless `retries` is off. The leader recognises an idempotent producer's duplicates by session and
    record. A producer that restarts sends every record again that was not acknowledged.

    Source: Sender, RecordAccumulator.reenqueue, KafkaChannel, UnifiedLog.
    """

    idempotent = Constant(True)  # enable.idempotence, in effect
    retries = Constant(True)  # retries > 0
    late_requests = Constant(False)  # a broker may handle requests that it had not read when the connection closed
    consumer = Constant("none", one_of=("none", "commits_first", "commits_last", "auto_commit", "background"))
    auto_offset_reset = Constant("latest", one_of=("earliest", "latest", "none"))
    consumer_crashes = Constant(0, at_least=0)

    # The producer.
    sent = Range(0, "records")  # the last record of the application
    queue = Seq(RecordId, "records")
    requests = Seq(RecordId, "max_in_flight")
    handled = Option(RecordId)  # appended, not yet answered
    late = Seq(Entry, "max_in_flight * (lost_responses + producer_restarts)")  # requests of closed connections
    session = Session
    lost_responses_left = Range(0, "lost_responses")
    producer_restarts_left = Range(0, "producer_restarts")

    # The consumer.
    consumed = Seq(Entry, CAPACITY)
    in_hand = Option(RecordId)  # returned to the application, not yet processed
    committed = Option(Range(0, CAPACITY))
    processed = Map(RecordId, Range(0, 2))  # number of times; 2 means more than once
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
            boxes={"requests": "unread requests", "handled": "appended, not answered", "late": "late requests"},
            facts={"high_watermark": "high watermark"},
        ),
        Lane("broker", each=Broker, logs=(Log("log", colour=".", called=("record",)),)),
        Lane(
            "consumer",
            logs=(Log("consumed", end="position", colour=".", called=("record",)),),
            boxes={"in_hand": "in hand"},
            facts={"committed": "committed offset"},
        ),
        channels=(Channel("requests", "producer", "partition", lost=("connection_close", "producer_restart")),),
        arrows=(
            Arrow("leader_append", "'partition'", "leader", "append"),
            Arrow("leader_acknowledge", "'partition'", "'producer'", "success"),
            Arrow("follower_fetch", "leader", "follower", "fetch"),
            Arrow("consumer_poll", "leader", "'consumer'", "poll"),
        ),
    )

    def init(self):
        """Start with nothing sent, and with every failure still to come."""
        super().init()
        self.lost_responses_left = self.lost_responses
        self.producer_restarts_left = self.producer_restarts
        self.consumer_crashes_left = self.consumer_crashes

    # The producer.

    @action
    def application_send(self):
        """The application hands over the next record."""
        require(self.sent < self.records)
        self.sent += 1
        self.queue.append(self.sent)

    @action
    def producer_write(self):
        """The producer writes the first record of its queue to the connection; with acks=0 this is success."""
        require(self.leader is not None and len(self.queue) > 0)
        require(len(self.requests) + (0 if self.handled is None else 1) < self.max_in_flight)
        record = self.queue.pop(0)
        self.requests.append(record)
        if self.acks == "0":
            self.acked.add(record)

    def send_again(self, record):
        """Put a record back into the queue after a retriable error.

        An idempotent producer keeps the order of sequence numbers; another one puts the record at the head.
        """
        if self.acks == "0" or not self.retries:
            return
        place = 0
        if self.idempotent:
            place = len([other for other in self.queue if other < record])
        self.queue.insert(place, record)

    def lose_connection(self):
        """Fail every request in flight, the oldest first. Source: NetworkClient, InFlightRequests.clearAll."""
        if self.handled is not None:
            record = self.handled
            self.handled = None
            self.send_again(record)
        for request in self.requests:
            self.send_again(request)
        self.requests.clear()

    @action
    def connection_close(self):
        """A response is lost or late: the producer closes the connection, with every request on it."""
        require(self.lost_responses_left > 0 and self.leader is not None)
        require(len(self.requests) > 0 or self.handled is not None)
        self.lost_responses_left -= 1
        self.keep_late_requests()
        self.lose_connection()

    def keep_late_requests(self):
        """Keep the requests on the connection: a live leader may still handle them (entry P12 of docs/producer.md)."""
        if self.late_requests:
            for request in self.requests:
                self.late.append(Entry(record=request, session=self.session))

    @action
    def producer_restart(self):
        """The producer's process dies; its successor sends again every record that was not acknowledged."""
        require(self.producer_restarts_left > 0)
        self.producer_restarts_left -= 1
        self.keep_late_requests()
        self.requests.clear()
        self.handled = None
        self.session += 1
        self.queue = [record for record in RecordId if record <= self.sent and record not in self.acked]

    def stop(self, broker):
        """Stop a broker. A leader's late requests are lost with it."""
        if self.leader == broker:
            self.late.clear()
        super().stop(broker)

    # The leader's answers.

    def is_known(self, entry):
        """Return whether the leader's log has an idempotent producer's record: it is answered, not appended."""
        return self.idempotent and entry in self.log[self.leader]

    def is_out_of_sequence(self, entry):
        """Return whether an idempotent producer's record is not the next one of its session.

        If the log has no record of the session, every record is in sequence. A record is missing if its producer still
        has to send it. Source: ProducerAppendInfo.checkSequence, KIP-360.
        """
        if not self.idempotent:
            return False
        known = [other for other in self.log[self.leader] if other.session == entry.session]
        missing = entry.session == self.session and any(record < entry.record for record in self.queue)
        return len(known) > 0 and (missing or any(other.record > entry.record for other in known))

    @action
    def leader_append(self):
        """The leader reads the next request and appends its record, unless the log has it; acks=0 gets no answer."""
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
    def leader_refuse(self):
        """The leader appends nothing: too few replicas are in sync, or the sequence has a gap. The producer retries."""
        require(self.leader is not None and self.handled is None and len(self.requests) > 0)
        entry = Entry(record=self.requests[0], session=self.session)
        require(self.has_too_few_replicas() or self.is_out_of_sequence(entry))
        record = self.requests.pop(0)
        self.send_again(record)

    @action
    def leader_acknowledge(self):
        """Answer an append: with acks=1 at once, with acks=all below the high watermark. Source: DelayedProduce."""
        require(self.leader is not None and self.handled is not None)
        entry = Entry(record=self.handled, session=self.session)
        require(self.acks == "1" or (not self.has_too_few_replicas() and self.is_committed(entry)))
        self.acked.add(self.handled)
        self.handled = None

    def is_committed(self, entry):
        """Return whether a record is below the high watermark."""
        return entry in self.log[self.leader][: self.high_watermark]

    @action
    def leader_refuse_after_append(self):
        """NOT_ENOUGH_REPLICAS_AFTER_APPEND: the record stays in the log, and the producer retries."""
        require(self.leader is not None and self.handled is not None)
        require(self.has_too_few_replicas())
        record = self.handled
        self.handled = None
        self.send_again(record)

    @action
    def leader_append_late(self):
        """The leader handles a request of a closed connection; the producer does not wait for an answer."""
        require(self.leader is not None and len(self.late) > 0)
        require(not self.has_too_few_replicas())
        entry = self.late.pop(0)
        if not self.is_known(entry) and not self.is_out_of_sequence(entry):
            self.log[self.leader].append(entry)
            self.advance_high_watermark()

    # The consumer.

    @action
    def consumer_poll(self):
        """Return the next record below the high watermark; with auto-commit, commit the earlier ones first."""
        require(self.consumer != "none" and self.leader is not None and self.in_hand is None)
        require(len(self.consumed) < self.high_watermark)
        if self.consumer == "auto_commit":
            self.committed = len(self.consumed)
        entry = self.log[self.leader][len(self.consumed)]
        self.consumed.append(entry)
        self.in_hand = entry.record
        if self.consumer == "commits_first":
            self.committed = len(self.consumed)

    @action
    def application_process(self):
        """The application processes the returned record, with every effect outside of Kafka."""
        require(self.in_hand is not None)
        record = self.in_hand
        self.processed[record] = min(2, self.processed[record] + 1)
        self.in_hand = None

    @action
    def consumer_commit(self):
        """Commit the position: after processing, or (librdkafka's timer) at any moment."""
        # A timer may fire at any moment. Commits that no successor can read are left out: they only add states.
        by_timer = self.consumer == "background" and self.consumer_crashes_left > 0
        require(by_timer or (self.consumer == "commits_last" and self.in_hand is None))
        require(self.committed != len(self.consumed))
        self.committed = len(self.consumed)

    @action
    def consumer_crash(self):
        """The consumer dies; its successor starts at the committed offset, or as auto.offset.reset says."""
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
        """Set the position, at most to the end of the log."""
        self.consumed = self.log[self.leader][:position]

    # The guarantees.

    def leader_has(self, record):
        """Return whether the leader's log has a record, sent by any session."""
        return any(entry.record == record for entry in self.log[self.leader])

    @invariant(says="the leader {self.leader} holds {self.log}")
    def no_duplicate(self):
        """DUP: no record is twice in the leader's log."""
        return self.leader is None or all(
            len([entry for entry in self.log[self.leader] if entry.record == record]) <= 1 for record in RecordId
        )

    @invariant(says="record {later} precedes the first copy of record {earlier} in {self.log}")
    def no_reorder(self):
        """REORDER: the leader's log has the first copies of the records in the order in which they were sent."""
        return self.leader is None or all(
            not self.precedes(later, earlier) for earlier in RecordId for later in RecordId if earlier < later
        )

    def precedes(self, later, earlier):
        """Return whether both records are in the leader's log, and the first copy of `later` comes first."""
        records = [entry.record for entry in self.log[self.leader]]
        return later in records and earlier in records and records.index(later) < records.index(earlier)

    @invariant(says="position {len(self.consumed)}, processed {self.processed}")
    def no_gap(self):
        """GAP: every record below the consumer's position was processed, or is in the application's hands."""
        return all(self.processed[entry.record] > 0 or self.in_hand == entry.record for entry in self.consumed)

    @invariant(says="processed {self.processed}")
    def no_reprocessing(self):
        """DUP at the consumer: no record is processed twice that is only once in the log."""
        return all(
            self.processed[record] < 2 or len([entry for entry in self.consumed if entry.record == record]) > 1
            for record in RecordId
        )

    @reachable
    def every_record_processed(self):
        """If there is a consumer, all records are processed."""
        return all(self.processed[record] > 0 for record in RecordId)

    # Availability: whether a write can succeed while brokers are down.

    def can_acknowledge_with(self, down):
        """Return whether the leader can acknowledge an appended record with `down` brokers down."""
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
