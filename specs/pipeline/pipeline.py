"""The whole pipeline: producer, partition, consumer, and the guarantees that an application depends on."""

from dataclasses import replace

from checker.language import Constant, Map, Option, Range, Seq, action, invariant, reachable, require
from checker.language.drawing import Arrow, Channel, Drawing, Event, Lane, Log
from specs.broker.sequence_rules import Error
from specs.pipeline.delivery_timeout import ExpiringProducer
from specs.pipeline.failures import CAPACITY, Entry
from specs.pipeline.partition import Broker, RecordId

_TRUNCATIONS = (
    "{', and the other brokers truncate their logs to what they share with its log'"
    " if any(log[other] != log[broker][:len(log[other])] for other in alive) else ''}"
)
"""The end of the sentence of an election after which followers truncate their logs."""


_UNANSWERED = (
    "{{' before an answer about record ' + ', '.join(str(batch.record) for batch in handled) + ' arrives'"
    " if {}len(handled) > 0 else ''}}"
)
"""The end of a sentence about a connection that closes, to be formatted with a further condition."""

_ENDS_CONNECTION = ("connection_close", "producer_restart", "broker_crash", "broker_lose_power",
    "all_brokers_lose_power")  # fmt: skip
"""The actions that lose the requests that no broker handles afterwards."""


def _without_bookkeeping(*events):
    """Return events that leave out what their sentences say: who leads and lives, and where a request waits."""
    said = ("queue", "handled", "late", "stranded", "leader", "alive")
    return tuple(replace(event, leaves_out=(*event.leaves_out, *said)) for event in events)


class Pipeline(ExpiringProducer):
    """An application sends records in order; a producer writes them to a partition; a consumer processes them.

    The leader reads and handles the requests of a connection in order: it reads the next one when it has sent the
    response to the last one (the broker mutes the connection until then). Responses arrive in order, a refusal at once.

    Source: KafkaChannel, Partition.appendRecordsToLeader, DelayedProduce, UnifiedLog.
    """

    consumer = Constant("none", one_of=("none", "commits_first", "commits_last", "auto_commit", "background"))
    auto_offset_reset = Constant("latest", one_of=("earliest", "latest", "none"))
    consumer_crashes = Constant(0, at_least=0)

    leader_is_new = bool  # it was elected, and has not handled a request yet
    consumed = Seq(Entry, CAPACITY)
    in_hand = Option(RecordId)  # returned to the application, not yet processed
    committed = Option(Range(0, CAPACITY))
    processed = Map(RecordId, Range(0, 2))  # number of times; 2 means more than once
    consumer_crashes_left = Range(0, "consumer_crashes")

    draws = Drawing(
        Lane("producer", facts={"sent": "last record sent", "unreported": "request without a callback (acks=0)"},
            boxes={"queue": "queued", "acked": "acknowledged", "failed": "failed"}),
        Lane("partition", members={"isr": "ISR", "alive": "alive"}, crowned={"leader": "leader"},
            boxes={"requests": "unread requests", "handled": "appended, not answered",
            "stranded": "at the former leader", "late": "late requests"}, facts={"high_watermark": "high watermark"}),
        Lane("broker", each=Broker, logs=(Log("log", colour=".", called=("record",)),)),
        Lane("consumer", logs=(Log("consumed", end="position", colour=".", called=("record",)),),
            boxes={"in_hand": "in hand"}, facts={"committed": "committed offset"}),
        channels=(Channel("requests", "producer", "partition", lost=_ENDS_CONNECTION, delayed="late"),),
        arrows=(
            Arrow("leader_append", "'partition'", "leader", "append"),
            Arrow("leader_acknowledge", "'partition'", "'producer'", "success"),
            Arrow("follower_fetch", "leader", "follower", "fetch"),
            Arrow("consumer_poll", "leader", "'consumer'", "poll"),
        ),
        events=_without_bookkeeping(
            Event("producer_write", "The producer sends record {queue[0] if len(queue) > 0 else sent + 1}"),
            Event("producer_finish_write", "The last byte of the request is written to the connection"),
            Event("producer_report_success", "The producer reports success for record {unreported.record}, which is "
                "written to the connection", leaves_out=("acked",)),
            Event("leader_append", "{leader} handles the request with record {requests[0].record}{', which it has "
                "already' if is_known(requests[0]) else ''}"),
            Event("leader_append_late", "{leader} handles the request with record {late[0].record}, which came over a "
                "closed connection{'' if appends(late[0]) else ', and does not append it'}"),
            Event("leader_refuse", "{leader} refuses record {requests[0].record}: {'too few replicas are in sync' if "
                "has_too_few_replicas() else error_of(requests[0]).name}{abort_text() if not has_too_few_replicas() "
                "and aborts_transaction(requests[0]) else ''}", "refuses", "leader", "refusal"),
            Event("leader_refuse_too_early", "{leader} does not know yet that it leads, and refuses record "
                "{requests[0].record} with NOT_LEADER_OR_FOLLOWER", "refuses", "leader", "refusal"),
            Event("leader_reject", "{leader} rejects record {requests[0].record} with an error that is not "
                "retriable{abort_text() if transactional else ''}", "rejects", "leader", "refusal",
                leaves_out=("failed",)),
            Event("leader_refuse_after_append", "{leader} answers NOT_ENOUGH_REPLICAS_AFTER_APPEND for record "
                "{handled[0].record}, which it keeps", "refuses", "leader", "refusal"),
            Event("former_leader_refuse", "The former leader refuses record {stranded[0].record}{', and the "
                "producer will send it again' if retries else ''}", "refuses", "'partition'", "refusal"),
            Event("leader_acknowledge", "{leader} acknowledges record {handled[0].record}{', and the producer takes "
                "the records before it, which it has yet to send again, for acknowledged' if implicit_acks and "
                "any(record < handled[0].record for record in queue) else ''}", leaves_out=("acked",)),
            Event("leader_shrink_isr", "{leader} removes {follower}, which lags{' behind records of other producers' "
                "if len(log[follower]) == len(log[leader]) else ''}, from the ISR", at="leader"),
            Event("leader_expand_isr", "{follower} catches up, and {leader} adds it to the ISR"),
            Event("follower_fetch", "{follower} copies the next record from {leader}"),
            Event("broker_crash", "The process of {broker} dies" + _UNANSWERED.format("broker == leader and "), "crash",
                "broker", "crash"),
            Event("broker_lose_power", "{str(broker) + ' stops, and its disk is lost' if empties_disks else 'The "
                "machine of ' + str(broker) + ' loses power'}" + _UNANSWERED.format("broker == leader and "),
                "{'disk lost' if empties_disks else 'power loss'}", "broker", "power loss"),
            Event("all_brokers_lose_power", "All machines lose power at once" + _UNANSWERED.format(""), "power loss",
                "'partition'", "power loss"),
            Event("broker_restart", "{broker} restarts{' with an empty disk' if empties_disks else ''}{', and "
                "truncates its log to what it shares with that of the leader ' + str(leader) if leader is not None and "
                "log[broker] != log[leader][:len(log[broker])] else ''}", "restart", "broker", "restart"),
            Event("controller_elect", "The controller elects {broker}" + _TRUNCATIONS, "elected", "broker", "election"),
            Event("controller_move_leader", "The controller moves the leadership from {leader} to {broker}" +
                _TRUNCATIONS, "elected", "broker", "election"),
            Event("connection_close", "The producer's connection closes" + _UNANSWERED.format("") +
                "{', and the leader may still handle the requests that it has received' if late_requests and "
                    "len(requests) > 0 else ''}", kind="disconnect", at="'producer'"),
            Event("producer_restart", "The producer's process dies, and its successor will send unacknowledged records "
                "again", kind="restart", at="'producer'"),
            Event("producer_bump_epoch", "The producer takes the next epoch, and numbers the records in flight from 0",
                "next epoch", "'producer'", "new epoch"),
            Event("producer_expire", "delivery.timeout.ms passes for record {oldest_pending()}{', which was not sent "
                "yet' if oldest_pending() > sent else ''}, and it fails with a TimeoutException{abort_text() if "
                "transactional else ''}", kind="timeout", at="'producer'", leaves_out=("sent", "failed")),
            Event("application_send_again", "The application sends record {expired} again, as a new record",
                at="'producer'"),
            Event("producer_resolve_sequences",
                "No record is in flight any more, and the producer looks for a gap in its sequences"),
            Event("consumer_poll", "A poll {'commits offset ' + str(len(consumed)) + ' and ' if consumer == "
                "'auto_commit' else ''}returns record {log[leader][len(consumed)].record} to the application{', which "
                "commits offset ' + str(len(consumed) + 1) if consumer == 'commits_first' else ''}",
                leaves_out=("consumed", "in_hand")),
            Event("consumer_commit", "The consumer commits offset {len(consumed)}", at="'consumer'"),
            Event("application_process", "The application processes record {in_hand}", at="'consumer'",
                leaves_out=("in_hand",)),
            Event("consumer_crash", "The consumer dies, and its successor {'begins at the committed offset ' + "
                "str(committed) if committed is not None else 'has no committed offset and ' + ('an operator sets it "
                "to ' if auto_offset_reset == 'none' else 'begins at ') + ('the log end ' + str(high_watermark) if "
                "auto_offset_reset == 'latest' else 'offset 0') + ' (auto.offset.reset=' + str(auto_offset_reset) + "
                "')'}", kind="crash", at="'consumer'", leaves_out=("consumed", "in_hand"))),
        gains={"acked": "before that, the producer gets the success of record",
            "failed": "the application gets an error for record"},
    )  # fmt: skip

    def init(self):
        """The first broker leads, every replica is in sync, and every log is empty."""
        super().init()
        self.consumer_crashes_left = self.consumer_crashes

    # The leader's answers.

    @action
    def leader_append(self):
        """The leader reads a request: it appends the record, or recognises an idempotent producer's duplicate."""
        require(self.leader is not None and len(self.requests) > 0)
        require(not self.has_too_few_replicas() and self.has_answered_all())
        batch = self.requests.pop(0)
        require(self.error_of(batch) == Error.NONE)
        self.leader_is_new = False
        if not self.is_known(batch):
            self.log[self.leader].append(batch)
            self.advance_high_watermark()
        if self.acks != "0":
            self.handled.append(batch)

    def has_answered_all(self):
        """Return whether the leader has sent the response to every request that it has handled."""
        if len(self.handled) == 0:
            return True
        if not self.idempotent:
            return False
        return self.may_answer(self.handled[len(self.handled) - 1])

    def may_answer(self, batch):
        """Return whether the leader may report success. Source: Partition.checkEnoughReplicasReachOffset."""
        return self.acks == "1" or (not self.has_too_few_replicas() and self.is_committed(batch))

    def is_committed(self, batch):
        """Return whether a batch is below the high watermark."""
        return batch in self.log[self.leader][: self.high_watermark]

    @action
    def leader_refuse(self):
        """The leader refuses a request: too few replicas are in sync, or its sequence is wrong; it is sent again."""
        require(self.leader is not None and len(self.handled) == 0 and len(self.requests) > 0)
        batch = self.requests.pop(0)
        if self.has_too_few_replicas():
            self.send_again(batch)
        else:
            require(self.error_of(batch) != Error.NONE)
            self.handle_sequence_error(batch, self.error_of(batch))
        self.leader_is_new = False

    @action
    def leader_refuse_too_early(self):
        """The new leader refuses with NOT_LEADER_OR_FOLLOWER: it has not learnt yet that it leads."""
        require(self.leader is not None and self.leader_is_new and len(self.requests) > 0)
        batch = self.requests.pop(0)
        self.receive_retriable_error(batch)

    @action
    def leader_reject(self):
        """The leader rejects a record permanently, as with INVALID_RECORD: the application gets an error."""
        require(self.rejections_left > 0)
        require(self.leader is not None and len(self.handled) == 0 and len(self.requests) > 0)
        self.rejections_left -= 1
        batch = self.requests.pop(0)
        self.fail(batch)

    def become_leader(self, broker):
        """Make a broker the leader, which has yet to learn about it."""
        super().become_leader(broker)
        self.leader_is_new = True

    @action
    def leader_acknowledge(self):
        """The leader acknowledges the record: with acks=1 at once, with acks=all below the high watermark.

        Source: DelayedProduce.
        """
        require(self.leader is not None and len(self.handled) > 0)
        # The leader has sent the first response before it read the second request.
        require(len(self.handled) > 1 or self.may_answer(self.handled[0]))
        batch = self.handled.pop(0)
        self.acknowledge(batch)

    @action
    def leader_refuse_after_append(self):
        """The leader answers NOT_ENOUGH_REPLICAS_AFTER_APPEND: the record stays, and the producer retries."""
        require(self.leader is not None and len(self.handled) == 1)
        require(self.has_too_few_replicas())
        batch = self.handled.pop(0)
        self.send_again(batch)

    @action
    def leader_append_late(self):
        """The leader handles a request of a closed connection; the producer does not wait for an answer."""
        require(self.leader is not None and len(self.late) > 0)
        require(not self.has_too_few_replicas())
        batch = self.late.pop(0)
        if self.appends(batch):
            self.log[self.leader].append(batch)
            self.advance_high_watermark()

    def appends(self, batch):
        """Return whether the leader appends a batch that arrives late."""
        return not self.is_known(batch) and self.error_of(batch) == Error.NONE

    # The consumer.

    @action
    def consumer_poll(self):
        """A poll returns the next record below the high watermark; automatic commits come first."""
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
        """The consumer commits its position: after processing, or (a timer, a background thread) at any moment."""
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

    @invariant(says="the log of the leader {self.leader} has record {record} twice: {self.log[self.leader]}")
    def no_duplicate(self):
        """No record is twice in the leader's log."""
        return self.leader is None or all(
            len([entry for entry in self.log[self.leader] if entry.record == record]) <= 1 for record in RecordId
        )

    @invariant(says="record {later} precedes the first copy of record {earlier} in the log {self.log[self.leader]}")
    def no_reorder(self):
        """The leader's log has the first copies of the records in the order in which they were sent."""
        return self.leader is None or all(
            not self.precedes(later, earlier) for earlier in RecordId for later in RecordId if earlier < later
        )

    def precedes(self, later, earlier):
        """Return whether both records are in the leader's log, and the first copy of `later` comes first."""
        records = [entry.record for entry in self.log[self.leader]]
        return later in records and earlier in records and records.index(later) < records.index(earlier)

    @invariant(
        says="record {later} is in the log {self.log[self.leader]}, and record {earlier} "
        "{'is not: its send failed' if earlier in self.failed else 'never will be: the leader refuses each retry'}"
    )
    def no_missing_earlier(self):
        """No record is in the leader's log while an earlier one is not and cannot be written any more.

        The earlier record has failed, or the leader refuses each of its retries (I2). The application may get an error.
        """
        return self.leader is None or all(
            not (self.leader_has(later) and not self.leader_has(earlier) and self.is_given_up(earlier))
            for earlier in RecordId
            for later in RecordId
            if earlier < later
        )

    def is_given_up(self, record):
        """Return whether a record that the application has not seen acknowledged will not be written."""
        return record not in self.acked and (
            record in self.failed or (self.is_stuck() and len(self.queue) > 0 and self.queue[0] == record)
        )

    @invariant(says="the producer repeats record {self.queue[0]} without end, and the leader {self.leader} refuses it")
    def no_endless_retry(self):
        """The leader does not refuse a record forever while the producer keeps sending it."""
        return not self.is_stuck()

    def is_stuck(self):
        """Return whether the leader refuses the one record that the producer may send, without an epoch bump.

        Nothing else is on the connection, so each retry is refused until another broker leads or the record expires.
        """
        if self.leader is None or not self.idempotent or self.bump_due or len(self.queue) == 0:
            return False
        if len(self.requests) + len(self.handled) + len(self.late) + len(self.stranded) > 0:
            return False
        if not self.has_sequence(self.queue[0]):
            return False
        batch = self.batch_of(self.queue[0])
        return self.error_of(batch) == Error.OUT_OF_ORDER_SEQUENCE_NUMBER and not self.finds_gap(batch)

    @invariant(says="record {entry.record} is below the consumer's position {len(self.consumed)} and was not processed")
    def no_gap(self):
        """Every record below the consumer's position was processed, or is in the application's hands."""
        return all(self.processed[entry.record] > 0 or self.in_hand == entry.record for entry in self.consumed)

    @invariant(says="record {record} was processed {self.processed[record]} times")
    def no_reprocessing(self):
        """DUP at the consumer: no record is processed twice that is only once in the log."""
        return all(
            self.processed[record] < 2 or len([entry for entry in self.consumed if entry.record == record]) > 1
            for record in RecordId
        )

    @invariant(says="record {record} may be acknowledged, and the brokers that have it are {self.brokers_with(record)}")
    def acknowledged_on_two_disks(self):
        """Loss of a disk: a record that may be acknowledged is on two brokers, so one of them keeps it."""
        return all(len(self.brokers_with(record)) > 1 for record in RecordId if self.may_be_acknowledged(record))

    def may_be_acknowledged(self, record):
        """Return whether the next answer of the leader may acknowledge a record; with acks=0 no answer is needed."""
        if self.acks == "0":
            return self.is_written and self.unreported is not None and self.unreported.record == record
        if self.leader is None or len(self.handled) == 0:
            return False
        return self.handled[0].record == record and self.may_answer(self.handled[0])

    def brokers_with(self, record):
        """Return the brokers whose logs have a record."""
        return {broker for broker in Broker if any(entry.record == record for entry in self.log[broker])}

    @reachable
    def every_record_processed(self):
        """If there is a consumer, all records are processed."""
        return all(self.processed[record] > 0 for record in RecordId)

    # Availability: whether a write can succeed while brokers are down.

    def can_acknowledge_with(self, down):
        """Return whether the leader can acknowledge an appended record with `down` brokers down."""
        return (
            self.leader is not None
            and len(self.handled) > 0
            and len(self.alive) == self.replication_factor - down
            and self.may_answer(self.handled[len(self.handled) - 1])
        )

    @reachable
    def writes_with_one_broker_down(self):
        """A write succeeds while one broker is down."""
        return self.can_acknowledge_with(1)

    @reachable
    def writes_with_two_brokers_down(self):
        """A write succeeds while two brokers are down."""
        return self.can_acknowledge_with(2)
