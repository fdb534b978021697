"""The sender's loop of a transactional producer: requests to the coordinator, and the poll that reads responses (I16).

Source: Apache Kafka, Sender.runOnce and maybeSendAndPollTransactionalRequest, NetworkClient.leastLoadedNode and
InFlightRequests.canSendMore, of 2.6 and 2.7; KAFKA-10520.
"""

from checker.language import Bug, Constant, Drawing, Enum, Event, Lane, Map, Range, Scenario, Seq, Spec, Struct, replace
from checker.language.roles import action, invariant, reachable, require
from specs.producer.values import Node


class Kind(Enum):
    """The kinds of requests that share the connections."""

    METADATA = "metadata"
    PRODUCE = "produce"
    COORDINATOR = "coordinator"  # FindCoordinator of a transaction, which any node can answer


class Request(Struct):
    """A request in flight, and whether its response waits in the socket."""

    kind: Kind
    answered: bool
    shows = "{kind}"


class SenderPoll(Spec):
    """One sender sends metadata, produce and coordinator requests over one connection for each node.

    A round of the loop sends a coordinator request if one is due, and otherwise batches. Responses are read in `poll`
    only. If a coordinator request is due and every connection is full, 2.6 sleeps for retry.backoff.ms and begins the
    next round without a poll. A sleep changes nothing, so that an endless loop of sleeps is a dead end here.
    """

    nodes = Constant(1, at_least=1)
    max_in_flight = Constant(1, at_least=1)
    batches = Constant(1, at_least=0)
    metadata_updates = Constant(1, at_least=0)
    lookups = Constant(1, at_least=0)
    """How often the producer needs to find its coordinator."""
    polls_without_node = Constant(True)

    in_flight = Map(Node, Seq(Request, "max_in_flight"))
    batches_left = Range(0, "batches")
    updates_left = Range(0, "metadata_updates")
    lookups_left = Range(0, "lookups")
    lookup_is_due = bool

    draws = Drawing(
        Lane("sender", facts={"lookup_is_due": "coordinator request due"}),
        Lane("node", each=Node, boxes={"in_flight": "in flight"}),
    ).with_events(
        Event("init", "No request is in flight"),
        Event("need_coordinator", "The producer needs to find its coordinator", "lookup due", "'sender'"),
        Event("send_coordinator_request", "The sender asks {node} for the coordinator", "", "node"),
        Event("send_batch", "The sender sends a batch to {node}", "batch", "node"),
        Event("poll_sends_metadata_request", "A poll sends a metadata request to {node}", "metadata", "node"),
        Event("poll_reads_response", "A poll reads the oldest response of {node}", "", "node"),
        Event("answer", "{node} answers its oldest request, and the answer waits for a poll", "answers", "node"),
    )  # fmt: skip

    def init(self):
        self.batches_left = self.batches
        self.updates_left = self.metadata_updates
        self.lookups_left = self.lookups

    def has_room(self, node):
        """Return whether the node can take a request. Source: `InFlightRequests.canSendMore`."""
        return len(self.in_flight[node]) < self.max_in_flight

    def is_in_flight(self, kind):
        """Return whether a request of a kind is in flight."""
        return any(request.kind == kind for n in Node for request in self.in_flight[n])

    def polls(self):
        """Return whether the current round reaches a poll."""
        if not self.lookup_is_due or self.is_in_flight(Kind.COORDINATOR):
            return True
        return self.polls_without_node or any(self.has_room(n) for n in Node)

    def send(self, node, kind):
        """Send a request on a connection with room."""
        require(self.has_room(node))
        self.in_flight[node].append(Request(kind=kind, answered=False))

    @action
    def need_coordinator(self):
        """The producer needs its coordinator: it starts, or the coordinator has moved."""
        require(self.lookups_left > 0 and not self.lookup_is_due)
        self.lookups_left -= 1
        self.lookup_is_due = True

    @action
    def send_coordinator_request(self, node: Node):
        """A round sends the request that is due to a node with room, and ends with a poll."""
        require(self.lookup_is_due and not self.is_in_flight(Kind.COORDINATOR))
        self.send(node, Kind.COORDINATOR)

    @action
    def send_batch(self, node: Node):
        """A round without a coordinator request sends a batch."""
        require(self.batches_left > 0 and not self.lookup_is_due)
        self.send(node, Kind.PRODUCE)
        self.batches_left -= 1

    @action
    def poll_sends_metadata_request(self, node: Node):
        """A poll sends the metadata request that is due."""
        require(self.polls() and self.updates_left > 0 and not self.is_in_flight(Kind.METADATA))
        self.send(node, Kind.METADATA)
        self.updates_left -= 1

    @action
    def poll_reads_response(self, node: Node):
        """A poll reads the oldest response of a connection."""
        require(self.polls())
        require(len(self.in_flight[node]) > 0 and self.in_flight[node][0].answered)
        request = self.in_flight[node].pop(0)
        if request.kind == Kind.COORDINATOR:
            self.lookup_is_due = False

    @action
    def answer(self, node: Node):
        """The broker answers the oldest request."""
        position = sum(1 for request in self.in_flight[node] if request.answered)
        require(position < len(self.in_flight[node]))
        self.in_flight[node][position] = replace(self.in_flight[node][position], answered=True)

    @action
    def rest(self):
        """Everything is sent and answered."""
        require(self.is_done())

    def is_done(self):
        """Return whether nothing is left to send or to answer."""
        left = self.batches_left + self.updates_left + self.lookups_left
        return left == 0 and not self.lookup_is_due and all(len(self.in_flight[n]) == 0 for n in Node)

    @invariant(says="{self.in_flight}")
    def one_coordinator_request(self):
        """At most one coordinator request is in flight, and only while one is due."""
        waiting = sum(1 for n in Node for request in self.in_flight[n] if request.kind == Kind.COORDINATOR)
        return waiting <= (1 if self.lookup_is_due else 0)

    @reachable
    def everything_answered(self):
        """Every request was sent and answered."""
        return self.is_done()

    @reachable
    def every_connection_is_full(self):
        """A coordinator request is due while no node has room."""
        return self.lookup_is_due and not any(self.has_room(n) for n in Node)


TWO_NODES = dict(nodes=2, batches=3, metadata_updates=2, lookups=2)

scenarios = [
    Bug("i16_metadata_in_flight", SenderPoll, {"deadlock": 4}, size=dict(batches=0),
        larger=dict(TWO_NODES, max_in_flight=2), faulty=dict(polls_without_node=False), deadlock=True,
        fixed_name="i16_fixed",
        description="One broker, one in flight: a lookup waits for the metadata response, which no poll reads.",
        remedy="I16 since 2.7: a round without a free node polls."),
    Scenario(SenderPoll, "i16_every_pipeline_full",
        dict(TWO_NODES, batches=5, max_in_flight=2, polls_without_node=False), expect={"deadlock": 10}, deadlock=True,
        description="The same with more brokers and requests in flight, if every connection is full."),
]  # fmt: skip
