"""The broker's network layer: processors, request queue, handlers, and a channel muted until its response is sent.

Source: SocketServer (Processor), RequestChannel, KafkaRequestHandler, Selector and KafkaChannel of Apache Kafka.
Scenarios: entries N1, P9 and P12 of docs/producer.md.
"""

from checker.language import Bug, Constant, Domain, Map, Option, Range, Scenario, Seq, SetOf, Struct
from checker.language.drawing import Arrow, Channel, Drawing, Event, Lane, Log
from checker.language.roles import action, invariant, reachable, require
from specs.producer.plain import sender
from specs.producer.plain.sender import Error, Node, Offset, Partition, RecordId, Request, Response, Sender
from specs.scenario_forms import violates


class Connection(Range):
    """The number of a connection, in the order in which the client opens them; it uses the newest."""

    low, high = 0, "disconnects + restarts + refusals * (acks == '0')"


class Handler(Domain):
    """A thread of the request handler pool (num.io.threads)."""

    size, prefix = "handlers", "h"


class Received(Struct):
    """A request between the processor that read it and its response (RequestChannel.Request)."""

    connection: Connection
    partition: Partition
    records: SetOf(RecordId)
    shows = "{records} of connection {connection}"


class Parked(Struct):
    """An append with acks=all that waits for replication (DelayedProduce)."""

    connection: Connection
    records: SetOf(RecordId)
    base: Offset
    shows = "{records} of connection {connection}, offset {base}"


class BrokerNetwork(Sender):
    """One producer without idempotence and one broker with handler threads that share a request queue.

    The processor of a connection reads one request at a time, queues it, and mutes the channel until the response is
    sent. Selector.poll requires this, because any handler may take any request. `mute_until` is the end of the mute:
    "response_sent" as in Kafka; "handled" when the handler is done, although an append with acks=all may still wait for
    replicas; "never" for a broker without mute.

    When a connection closes, its requests are not removed. A request in the queue or in a handler is executed. One that
    the processor has not read may be read or not (SocketServerTest, outstanding receives of a closed connection).
    """

    nodes = Constant(1, at_least=1, at_most=1)
    acks = Constant("all", one_of=("0", "1", "all"))
    handlers = Constant(2, at_least=1)
    queue_size = Constant(2, at_least=1)  # queued.max.requests
    mute_until = Constant("response_sent", one_of=("response_sent", "handled", "never"))
    refusals = Constant(0, at_least=0)

    connection = Connection
    socket = Map(Connection, Seq(Request, "max(max_in_flight, (records + resends) * (acks == '0'))"))
    muted_channels = SetOf(Connection)
    request_queue = Seq(Received, "queue_size")
    handling = Map(Handler, Option(Received))
    purgatory = Seq(Parked, "max_in_flight * (disconnects + restarts + 1)")
    responses = Seq(Response, "max_in_flight")  # on the newest connection
    refusals_left = Range(0, "refusals")

    draws = Drawing(
        Lane("application", facts={"sent": "last record sent"}, boxes={"future": "future of each record"}),
        Lane("producer", boxes={"queue": "queued batches", "in_flight": "in flight, oldest first"},
            facts={"connection": "its connection"}),
        Lane("socket of connection", each=Connection, boxes={"socket": "requests to be read"}),
        Lane("network", boxes={"request_queue": "request queue", "purgatory": "waiting for replicas",
            "responses": "responses"}, facts={"muted_channels": "muted connections"}),
        Lane("handler", each=Handler, boxes={"handling": "at work on"}),
        Lane("partition", each=Partition, logs=(Log("log", colour=".", called=("record",)),)),
        channels=(
            Channel("socket", "producer", "network", lost=("processor_discard", "handler_refuse")),
            Channel("responses", "network", "producer", lost=("connection_closed", "producer_restart"),
                says=sender.ANSWER),
        ), arrows=(Arrow("handler_take", "'network'", "handler", sender.records_of("request_queue[0]")),),
    ).with_events(
        *sender.SENDER_EVENTS,
        Event("receive_response", "The producer reads the response to " + sender.records_of("responses[0]") +
            ": {str(responses[0].error).replace('none', 'success')}"),
        Event("processor_receive",
            "The processor reads " + sender.records_of("socket[connection][0]") + " from connection {connection}{', "
                "and mutes the channel' if mute_until != 'never' else ', which is not muted while another request is "
                "handled' if 'connection' in str(handling) else ''}", "", "'network'"),
        Event("processor_discard", "The processor discards the requests of connection {connection}, which is closed",
            "discard", "'network'", "disconnect"),
        Event("handler_take", "{handler} takes " + sender.records_of("request_queue[0]"), "", "handler"),
        Event("handler_append", "{handler} handles " + sender.records_of("handling[handler]"), "", "handler"),
        Event("handler_refuse", "{handler} refuses " + sender.records_of("handling[handler]") +
            ": too few replicas are in sync", "refuses", "handler", "refusal"),
        Event("purgatory_complete", "Replicas have " + sender.records_of("purgatory[0]") + ", which is answered", "",
            "'network'"))  # fmt: skip

    def init(self):
        """All faults may happen."""
        super().init()
        self.refusals_left = self.refusals

    # The client's end of the connection.

    def transmit(self, node, request):
        """Write a request to the newest connection."""
        self.socket[self.connection].append(request)

    def disconnect(self, node):
        """Open another connection; lose the responses that the client has not read."""
        self.connection += 1
        self.responses.clear()

    def may_reach_log(self, record):
        """Return whether a request with this record is in a socket, in the request queue or in a handler."""
        return (
            any(record in request.records for connection in Connection for request in self.socket[connection])
            or any(record in received.records for received in self.request_queue)
            or any(self.is_handling_record(handler, record) for handler in Handler)
        )

    def is_handling_record(self, handler, record):
        """Return whether a handler has a request with this record."""
        return self.handling[handler] is not None and record in self.handling[handler].records

    @action
    def receive_response(self):
        """The client reads the next response. Source: NetworkClient.handleCompletedReceives."""
        require(len(self.responses) > 0)
        response = self.responses.pop(0)
        self.receive(Node[0], response)

    # The processor of a connection.

    @action
    def processor_receive(self, connection: Connection):
        """The processor queues a request and mutes the channel. Source: Processor.processCompletedReceives."""
        require(len(self.socket[connection]) > 0)
        require(connection not in self.muted_channels)
        require(len(self.request_queue) < self.queue_size)
        request = self.socket[connection].pop(0)
        self.request_queue.append(Received(connection=connection, partition=request.partition, records=request.records))
        if self.mute_until != "never":
            self.muted_channels.add(connection)

    @action
    def processor_discard(self, connection: Connection):
        """The processor finds a connection closed and discards the requests left in its socket."""
        require(connection != self.connection)
        require(len(self.socket[connection]) > 0)
        self.socket[connection].clear()

    def send_response(self, connection, response):
        """Send a response and unmute; drop it if the connection is closed. Source: Processor.sendResponse.

        With acks=0 only unmute; an error closes the connection (KafkaApis.handleProduceRequest).
        """
        if self.acks == "0" and response.error != Error.NONE:
            self.close_channel(connection)
        elif self.acks != "0" and connection == self.connection:
            self.responses.append(response)
        self.muted_channels.discard(connection)

    def close_channel(self, connection):
        """Close a connection from the broker's end, with the requests that were not read."""
        self.socket[connection].clear()
        if connection == self.connection:
            self.disconnect(Node[0])
            self.fail_in_flight(Node[0])

    # The handlers.

    @action
    def handler_take(self, handler: Handler):
        """An idle handler takes the oldest request of the queue, of any connection."""
        require(self.handling[handler] is None)
        require(len(self.request_queue) > 0)
        received = self.request_queue.pop(0)
        self.handling[handler] = received

    @action
    def handler_append(self, handler: Handler):
        """A handler appends; with acks=all the response waits for replication. Source: ReplicaManager.appendRecords."""
        require(self.handling[handler] is not None)
        received = self.handling[handler]
        self.handling[handler] = None
        response = self.append(Request(partition=received.partition, records=received.records))
        if self.acks == "all" and response.error == Error.NONE:
            self.purgatory.append(Parked(connection=received.connection, records=received.records, base=response.base))
            if self.mute_until == "handled":
                self.muted_channels.discard(received.connection)
        else:
            self.send_response(received.connection, response)

    @action
    def handler_refuse(self, handler: Handler):
        """A handler refuses a request with a retriable error: too few replicas are in sync."""
        require(self.refusals_left > 0)
        require(self.handling[handler] is not None)
        received = self.handling[handler]
        self.handling[handler] = None
        self.refusals_left -= 1
        request = Request(partition=received.partition, records=received.records)
        self.send_response(received.connection, self.refused(request, Error.NOT_ENOUGH_REPLICAS))

    @action
    def purgatory_complete(self):
        """The high watermark passes the oldest waiting append, and its response is sent."""
        require(len(self.purgatory) > 0)
        parked = self.purgatory.pop(0)
        response = Response(records=parked.records, error=Error.NONE, base=parked.base)
        self.send_response(parked.connection, response)

    # Properties.

    @invariant(
        says="the response of {self.responses[i].records} answers the request of {self.in_flight[node][i].records}"
    )
    def responses_matched_in_order(self):
        """The next response answers the oldest request in flight, as the client assumes (InFlightRequests)."""
        return all(
            self.responses[i].records == self.in_flight[node][i].records
            for node in Node
            for i in range(len(self.responses))
        )

    @invariant(says="queued {self.request_queue}, handled {self.handling}, waiting {self.purgatory}")
    def one_request_of_a_connection_at_work(self):
        """If channels are muted until the response, at most one request of a connection is being processed."""
        return self.mute_until != "response_sent" or all(
            self.at_work(connection) == (1 if connection in self.muted_channels else 0) for connection in Connection
        )

    def at_work(self, connection):
        """Return the number of requests of a connection that were read and not answered."""
        queued = sum(1 for received in self.request_queue if received.connection == connection)
        handled = sum(1 for handler in Handler if self.is_handling(handler, connection))
        return queued + handled + sum(1 for parked in self.purgatory if parked.connection == connection)

    def is_handling(self, handler, connection):
        """Return whether a handler is processing a request of this connection."""
        return self.handling[handler] is not None and self.handling[handler].connection == connection

    @reachable
    def requests_are_pipelined(self):
        """If several requests may be in flight, one waits in the socket while another is being processed."""
        return self.max_in_flight == 1 or (self.at_work(0) > 0 and len(self.socket[0]) > 0)

    @reachable
    def a_closed_connection_is_at_work(self):
        """If connections may close, a request outlives its connection."""
        return self.disconnects == 0 or any(
            self.at_work(connection) > 0 for connection in Connection if connection != self.connection
        )


class SequenceCheckedBroker(BrokerNetwork):
    """The same broker with sequence checks: it recognises a zombie's batch and does not append it again."""

    requeue = Constant("in_order", one_of=("in_order",))
    acks = Constant("all", one_of=("all",))
    restarts = Constant(0, at_most=0)
    resends = Constant(0, at_most=0)

    def is_sequence_checked(self):
        """Return True: the broker checks the sequence of a batch."""
        return True


scenarios = [
    Bug("n1_no_mute", BrokerNetwork, {"no_reorder": 11}, size=dict(max_in_flight=2),
        larger=dict(records=3, max_in_flight=3, handlers=3), faulty=dict(acks="1", mute_until="never"), deadlock=True,
        fixed_name="n1_fixed_mute",
        description="N1: two handlers take two requests of one connection, and the second appends first.",
        remedy="N1 with the channel muted until the response is sent."),
    Bug("n1_mute_until_handled", BrokerNetwork, {"responses_matched_in_order": 11, "ack_true": 14},
        size=dict(max_in_flight=2, refusals=1), faulty=dict(mute_until="handled"),
        promises=["responses_matched_in_order", "ack_true", "one_request_of_a_connection_at_work"], deadlock=True,
        fixed_name="n1_fixed_mute_refusal",
        description="N1: a channel unmuted too early answers its second request first; the client mixes up answers.",
        remedy="N1 with mute and a refusal: every response meets its request (the retry still reorders: P1)."),
    Bug("p12_zombie_request", BrokerNetwork, {"no_duplicate": 11, "no_late_copy": 17}, size=dict(disconnects=1),
        larger=dict(records=3, disconnects=2, retries=2), faulty=dict(acks="1"), deadlock=True,
        fixed_name="p12_fixed_by_sequences", fixed_spec=SequenceCheckedBroker,
        description="P12: a request outlives its connection; with one in flight, the retry and the next overtake it.",
        remedy="P12 with sequences: the broker recognises the second copy and does not append it."),
    Scenario(SequenceCheckedBroker, "p12_fixed_by_sequences_in_flight_2",
        dict(records=4, max_in_flight=2, disconnects=2, refusals=1, retries=2), deadlock=True,
        description="P12 with sequences, two in flight, four records, two lost connections and a refusal."),
    violates(BrokerNetwork, "p12_zombie_without_retries", dict(acks="1", disconnects=1, retries=0), {"no_reorder": 12},
        "P12 with retries=0: the first record fails, the second is appended, and then the zombie."),
    violates(BrokerNetwork, "p12_zombie_with_acks_0", dict(acks="0", disconnects=1, retries=0), {"no_reorder": 14},
        "P12 with acks=0: a request succeeds before it is read, and the next one overtakes it."),
    violates(BrokerNetwork, "p9_zombie_of_a_predecessor",
        dict(records=1, acks="1", retries=0, restarts=1, read_back=True), {"no_duplicate": 12},
        "P9: a successor reads the log and sends while a handler still has its predecessor's request."),
]  # fmt: skip
