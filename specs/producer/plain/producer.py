"""The producer without idempotence, with brokers that answer each connection in order, and its bugs.

Scenarios: entries P1 to P5, P9 and P11 of docs/producer.md. `specs.producer.plain.sequence_checked` has the remedy.
"""

from checker.language import Bug, Constant, Map, Range, Scenario, Seq, action, invariant, reachable, require
from checker.language.drawing import Arrow, Channel, Drawing, Event, Lane, Log
from specs.producer.plain import sender
from specs.producer.plain.sender import SENDER_EVENTS, Error, Node, Partition, Request, Response, Sender, records_of
from specs.scenario_forms import violates

_RECORDS = records_of("wire[node][0]")


class PlainProducer(Sender):
    """One producer without idempotence and one or two brokers that serve each connection in order.

    A broker reads the requests of a connection one by one: SocketServer mutes the channel until the response, see
    specs.broker.network. When the connection closes, the requests that the broker has not read are lost, and so are
    the responses that the client has not read. A new leader has the whole log: specs.producer.acks models its loss.
    """

    refusals = Constant(0, at_least=0)  # retriable errors, nothing appended
    late_refusals = Constant(0, at_least=0)  # NOT_ENOUGH_REPLICAS_AFTER_APPEND, acks=all only
    rejections = Constant(0, at_least=0)  # errors that are not retriable
    leader_moves = Constant(0, at_least=0)

    wire = Map(Node, Seq(Request, "max(max_in_flight, records + resends)"))
    responses = Map(Node, Seq(Response, "max_in_flight"))
    refusals_left = Range(0, "refusals")
    late_refusals_left = Range(0, "late_refusals")
    rejections_left = Range(0, "rejections")
    leader_moves_left = Range(0, "leader_moves")

    draws = Drawing(
        Lane("application", facts={"sent": "last record sent"}, boxes={"future": "future of each record"}),
        Lane("producer", boxes={"queue": "queued batches", "in_flight": "in flight, oldest first"},
            facts={"known_leader": "leader in its metadata", "muted": "muted"}),
        Lane("broker", each=Node, boxes={"wire": "requests to be read", "responses": "responses to be read"}),
        Lane("partition", each=Partition, logs=(Log("log", colour=".", called=("record",)),),
            facts={"leader": "led by"}),
        channels=(
            Channel("wire", "producer", "broker", lost=("connection_closed", "producer_restart")),
            Channel("responses", "broker", "producer", lost=("connection_closed", "producer_restart"),
                says=sender.ANSWER),
        ),
        arrows=(
            Arrow("application_send", "'application'", "'producer'", "record {record}"),
            Arrow("application_resend", "'application'", "'producer'", "record {record} again"),
            Arrow("broker_append", "node", "f'partition {wire[node][0].partition}'", "append"),
            Arrow("broker_refuse_after_append", "node", "f'partition {wire[node][0].partition}'", "append"),
        ),
    ).with_events(
        *SENDER_EVENTS,
        Event("metadata_update", "The producer learns that {leader[partition]} leads partition {partition}"),
        Event("receive_response", "The producer reads the response to " + records_of("responses[node][0]") +
            ": {str(responses[node][0].error).replace('none', 'success')}"
            "{', and queues the retry behind the batches that wait' if requeue == 'tail' and str(responses["
            "node][0].error) != 'none' and can_retry(in_flight[node][0], responses[node][0].error) and "
            "len(queue[in_flight[node][0].partition]) > 0 else ''}"),
        Event("broker_append", "{node} {'appends' if not is_sequence_checked() else 'recognises' if "
            "is_duplicate(wire[node][0]) else 'appends' if follows(wire[node][0]) else 'refuses'} " + _RECORDS),
        Event("broker_refuse", "{node} refuses " + _RECORDS + ": too few replicas are in sync", "refuses", "node",
            "refusal"),
        Event("broker_refuse_after_append", "{node} appends " + _RECORDS +
            ", and then answers NOT_ENOUGH_REPLICAS_AFTER_APPEND", "appends, refuses", "node", "refusal"),
        Event("broker_reject", "{node} rejects " + _RECORDS + " permanently", "rejects", "node", "refusal"),
        Event("broker_finds_batch_too_large", "{node} refuses " + _RECORDS + ": the batch is too large", "too large",
            "node", "refusal"),
        Event("broker_is_not_leader", "{node} refuses " + _RECORDS + ": it no longer leads", "not leader", "node",
            "refusal"),
        Event("leader_moves_to", "{node}, which has the whole log, becomes the leader of partition {partition}",
            "leads partition {partition}", "node", "election"))  # fmt: skip

    def init(self):
        """All faults may happen."""
        super().init()
        self.refusals_left = self.refusals
        self.late_refusals_left = self.late_refusals
        self.rejections_left = self.rejections
        self.leader_moves_left = self.leader_moves

    # The connections.

    def transmit(self, node, request):
        """Write a request to the connection to `node`."""
        self.wire[node].append(request)

    def disconnect(self, node):
        """Lose the requests that the broker has not read and the responses that the client has not read."""
        self.wire[node].clear()
        self.responses[node].clear()

    def may_reach_log(self, record):
        """Return whether a request with this record may still reach a log."""
        return any(record in request.records for node in Node for request in self.wire[node])

    @action
    def receive_response(self, node: Node):
        """The client reads the next response of a connection. Source: NetworkClient.handleCompletedReceives."""
        require(len(self.responses[node]) > 0)
        response = self.responses[node].pop(0)
        self.receive(node, response)

    # The brokers.

    def respond(self, node, response):
        """Send a response; with acks=0 only an error, which disconnects. Source: KafkaApis.handleProduceRequest."""
        if self.acks != "0":
            self.responses[node].append(response)
        elif response.error != Error.NONE:
            self.disconnect(node)
            self.fail_in_flight(node)

    def takes(self, request):
        """Return whether a batch is within max.message.bytes."""
        return len(request.records) <= self.broker_limit

    @action
    def broker_append(self, node: Node):
        """The leader appends the batch of the next request and responds."""
        require(len(self.wire[node]) > 0)
        request = self.wire[node].pop(0)
        require(self.leader[request.partition] == node and self.takes(request))
        response = self.append(request)
        self.respond(node, response)

    @action
    def broker_refuse(self, node: Node):
        """The leader cannot append at present, for example because too few replicas are in sync."""
        require(self.refusals_left > 0)
        require(len(self.wire[node]) > 0)
        request = self.wire[node].pop(0)
        require(self.leader[request.partition] == node)
        self.refusals_left -= 1
        self.respond(node, self.refused(request, Error.NOT_ENOUGH_REPLICAS))

    @action
    def broker_refuse_after_append(self, node: Node):
        """The leader appends, then finds too few replicas in sync: a retriable error, and the data stay."""
        require(self.acks == "all")
        require(self.late_refusals_left > 0)
        require(len(self.wire[node]) > 0)
        request = self.wire[node].pop(0)
        require(self.leader[request.partition] == node and self.takes(request))
        self.late_refusals_left -= 1
        response = self.append(request)
        require(response.error == Error.NONE)
        self.respond(node, self.refused(request, Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND))

    @action
    def broker_reject(self, node: Node):
        """The broker answers with an error that is not retriable."""
        require(self.rejections_left > 0)
        require(len(self.wire[node]) > 0)
        request = self.wire[node].pop(0)
        self.rejections_left -= 1
        self.respond(node, self.refused(request, Error.TOPIC_AUTHORIZATION_FAILED))

    @action
    def broker_finds_batch_too_large(self, node: Node):
        """The leader finds the batch too large. Source: UnifiedLog.append, RecordTooLargeException."""
        require(len(self.wire[node]) > 0)
        request = self.wire[node].pop(0)
        require(self.leader[request.partition] == node and not self.takes(request))
        self.respond(node, self.refused(request, Error.MESSAGE_TOO_LARGE))

    @action
    def broker_is_not_leader(self, node: Node):
        """The broker of the request is no longer the leader."""
        require(len(self.wire[node]) > 0)
        request = self.wire[node].pop(0)
        require(self.leader[request.partition] != node)
        self.respond(node, self.refused(request, Error.NOT_LEADER_OR_FOLLOWER))

    # Leadership and metadata.

    @action
    def leader_moves_to(self, partition: Partition, node: Node):
        """Another broker, with the whole log, becomes the leader."""
        require(self.leader_moves_left > 0)
        require(self.leader[partition] != node)
        self.leader_moves_left -= 1
        self.leader[partition] = node

    @action
    def metadata_update(self, partition: Partition):
        """The client updates its metadata, after an error or after metadata.max.age.ms."""
        require(self.known_leader[partition] != self.leader[partition])
        self.known_leader[partition] = self.leader[partition]

    # Properties.

    @invariant(
        says="the response of {self.responses[node][i].records} "
        "answers the request of {self.in_flight[node][i].records}"
    )
    def responses_matched_in_order(self):
        """The next response of a connection answers its oldest request in flight."""
        return all(
            self.responses[node][i].records == self.in_flight[node][i].records
            for node in Node
            for i in range(len(self.responses[node]))
        )

    @reachable
    def a_retry_is_sent(self):
        """If errors are allowed, a batch is sent again."""
        cannot_fail = self.refusals + self.late_refusals + self.disconnects + self.leader_moves == 0
        return (
            cannot_fail
            or self.retries == 0
            or any(batch.attempts > 0 for node in Node for batch in self.in_flight[node])
        )


ORDER = ["no_reorder"]

scenarios = [
    Bug("p1_reorder_by_retry", PlainProducer, {"no_reorder": 10}, size=dict(refusals=1),
        larger=dict(records=4, refusals=2, retries=2), faulty=dict(max_in_flight=2), fixed=dict(max_in_flight=1),
        deadlock=True, fixed_name="p1_fixed_in_flight_1",
        description="P1: a broker refuses the first of two requests in flight and takes the second; the retry is last.",
        remedy="P1 with one request in flight: the retry is sent before any later batch of its partition."),
    Bug("p1_reorder_by_split", PlainProducer, {"no_reorder": 11},
        size=dict(records=3, batch_size=2, broker_limit=1, retries=0),
        larger=dict(records=4, batch_size=2, broker_limit=1, refusals=1), faulty=dict(max_in_flight=2),
        fixed=dict(max_in_flight=1), deadlock=True, fixed_name="p1_split_in_flight_1",
        description="P1 with retries=0: a batch that is too large is split and sent again regardless of retries.",
        remedy="P1 with one request in flight: the parts of a split batch stay ahead of later batches."),
    Bug("p2_reorder_by_reenqueue", PlainProducer, {"no_reorder": 10}, size=dict(max_in_flight=2, disconnects=1),
        larger=dict(records=3, max_in_flight=3, disconnects=2, retries=2), fixed=dict(requeue="in_order"),
        promises=[*ORDER, "every_record_succeeds", "a_retry_is_sent"], fixed_name="p2_fixed_requeue_in_order",
        description="P2: a connection closes under two requests; each batch is put at the queue's head, oldest first.",
        remedy="P2 with batches put back in the order of their records: a disconnect alone reorders nothing."),
    violates(PlainProducer, "p3_duplicate_on_lost_ack", dict(records=1, disconnects=1), {"no_duplicate": 7},
        "P3: the batch is appended, its response is lost with the connection, the retry is appended again."),
    Bug("p3_duplicate_after_append", PlainProducer, {"no_duplicate": 7}, size=dict(acks="all", late_refusals=1),
        faulty=dict(records=1), fixed=dict(retries=0, disconnects=1), deadlock=True, fixed_name="p3_no_retries",
        description="P3: NOT_ENOUGH_REPLICAS_AFTER_APPEND is retriable, although the batch is in the log.",
        remedy="P3 with retries=0: no duplicate, but a record may fail, whether it is in the log or not."),
    Bug("p4_reorder_when_leader_moves", PlainProducer, {"no_reorder": 13}, size=dict(nodes=2, leader_moves=1),
        larger=dict(records=4, nodes=2, leader_moves=2, retries=2), faulty=dict(mute_partitions=False), deadlock=True,
        fixed_name="p4_fixed_mute",
        description="P4 (KAFKA-3197): the cap is per connection; with one batch waiting, the new leader gets the next.",
        remedy="P4 with the partition muted while a batch of it is in flight."),
    Scenario(PlainProducer, "one_in_flight_keeps_the_order",
        dict(records=6, retries=2, nodes=2, refusals=2, leader_moves=2, rejections=1, delivery_timeouts=True),
        deadlock=True,
        description="P1, P4 and P11 with one request in flight and mute: six records and many faults keep the order."),
    Bug("p5_retry_behind_newer_batches", PlainProducer, {"no_reorder": 11}, size=dict(refusals=1),
        larger=dict(records=4, refusals=2, retries=2), faulty=dict(requeue="tail"), fixed=dict(requeue="in_order"),
        deadlock=True, fixed_name="p5_fixed_requeue_in_order",
        description="P5 (librdkafka#1092): the failed batch is queued behind newer ones.",
        remedy="P5 with the failed batch put back in the order of its records."),
    Bug("p9_duplicate_by_restart", PlainProducer, {"no_duplicate": 8}, size=dict(retries=0, restarts=1),
        larger=dict(records=3, retries=1, restarts=2, refusals=1), faulty=dict(records=1), fixed=dict(read_back=True),
        deadlock=True, fixed_name="p9_fixed_read_back",
        description="P9: the process dies between append and response; its successor sends the record again.",
        remedy="P9: the successor reads the log before it sends; no request of its predecessor is still in transit."),
    Bug("p11_timeout_is_not_a_refusal", PlainProducer, {"no_duplicate": 9},
        size=dict(retries=1, delivery_timeouts=True, refusals=1),
        larger=dict(records=4, batch_size=2, retries=2, delivery_timeouts=True, refusals=2),
        faulty=dict(retries=0, refusals=0, resends=1), deadlock=True, fixed_name="p11_fixed_no_resend",
        description="P11: delivery.timeout.ms fails a record in flight, the application sends it again, both arrive.",
        remedy="P11: the application does not resend a timed-out record: no duplicate, in the log or not."),
    violates(PlainProducer, "p11_sent_again_behind_the_next", dict(retries=0, delivery_timeouts=True, resends=1),
        {"no_late_copy": 10},
        "P11: with one request in flight the record that timed out is sent again after the next one."),
    Scenario(PlainProducer, "partitions_are_apart", dict(records=4, partitions=2, nodes=2, leader_moves=1, refusals=1),
        deadlock=True,
        description="Two partitions, one may move to another broker: each keeps its order, neither blocks the other."),
    violates(PlainProducer, "p9_duplicate_with_acks_0", dict(records=1, acks="0", restarts=1), {"no_duplicate": 10},
        "P9 with acks=0: the process dies between the last byte of the request and the callback."),
    Bug("p4_reorder_with_acks_0", PlainProducer, {"no_reorder": 14},
        size=dict(acks="0", nodes=2, leader_moves=1, disconnects=1),
        larger=dict(acks="0", records=4, nodes=2, leader_moves=1, disconnects=2, retries=2),
        faulty=dict(max_in_flight=2),
        promises=[*ORDER, "no_late_copy", "no_duplicate", "in_flight_bound", "muted_while_in_flight"], deadlock=True,
        fixed_name="p4_acks_0_in_flight_1",
        description="P4 with acks=0: the connection to the old leader closes before the whole request is written.",
        remedy="P4 with acks=0 and one request in flight: the partition is muted until the request is written."),
    violates(PlainProducer, "acks_0_leader_returns", dict(acks="0", nodes=2, leader_moves=2, retries=0),
        {"no_reorder": 13}, "With acks=0 and one in flight: a broker reads an older request when it leads again."),
    violates(PlainProducer, "acks_0_forgets", dict(acks="0", disconnects=1), {"no_acked_loss": 5},
        "P6, small: with acks=0 a written request counts as success; then the connection closes."),
]  # fmt: skip
