"""Which partitions a drain takes: mute, backoff, request size and drain index. Entry P14 of docs/producer.md."""

from checker.language import Bug, Constant, Drawing, Event, Lane, Map, Range, SetOf, Spec
from checker.language.roles import action, invariant, reachable, require
from specs.producer.plain.application import Partition


class Node(Range):
    """The number of a node, from 0; all nodes lead the same number of partitions."""

    low, high = 0, "nodes - 1"


class Drain(Spec):
    """The queues of a producer as counts of batches, and the drain that makes one request for a node.

    A drain visits each of the node's partitions once, from a stored index, and takes at most one batch of each. It ends
    early when the request is full, or at a retry of an idempotent producer that has to wait for an earlier batch.
    Source: RecordAccumulator.drainBatchesForOneNode, shouldBackoff, shouldStopDrainBatchesForPartition; KAFKA-13834.
    """

    nodes = Constant(1, at_least=1)
    partitions = Constant(2, at_least=1)  # of all nodes: a multiple of `nodes`
    batches = Constant(1, at_least=1)  # the capacity of a queue
    request_size = Constant(1, at_least=1)  # max.request.size, in batches
    index_per_node = Constant(True)  # since 3.3; before, all nodes shared an index, which skipped what did not fit
    waiting_retries = Constant(False)  # whether a retry may have to wait for an earlier batch
    skip_waiting = Constant(False)  # whether a drain continues past such a retry; Kafka's does not

    queue = Map(Partition, Range(0, "batches"))
    muted = SetOf(Partition)
    backing_off = SetOf(Partition)  # the first batch is a retry whose backoff is not over
    waiting = SetOf(Partition)  # the first batch is a retry that waits for an earlier batch
    drain_index = Map(Node, Range(0, "partitions - 1"))
    drained = SetOf(Partition)  # the partitions of the last drain
    passed_over = Map(Partition, Range(0, "partitions + 1"))  # consecutive drains that skipped a sendable batch

    draws = Drawing(
        Lane("partition", each=Partition, facts={"queue": "queued", "passed_over": "passed over"}),
        Lane("sender", facts={"drain_index": "next drain starts at"},
            boxes={"drained": "last drain", "muted": "muted", "backing_off": "backing off", "waiting": "waits"}),
    ).with_events(
        Event("application_send", "The application fills a batch of partition {partition}", "fills a batch",
            "f'partition {partition}'"),
        Event("retry_waits", "The first batch of partition {partition} is a retry that waits for an earlier one",
            "retry waits", "f'partition {partition}'"),
        Event("drain", "The sender makes a request of up to {request_size} batch{'es' * (request_size > 1)} for node "
            "{node} from partition {partition_at(node, drain_index[node] % partitions_per_node())} on: it takes one "
            "of partition {first_taken(node)}{', and the next request starts behind the last one visited, even if "
            "that had no room' * (not index_per_node)}", "takes a batch of partition {first_taken(node)}", "'sender'"),
    )  # fmt: skip

    def partitions_per_node(self):
        """Return the number of partitions that a node leads."""
        return self.partitions // self.nodes

    def partition_at(self, node, position):
        """Return the partition at a position in the list of a node's partitions."""
        return node * self.partitions_per_node() + position

    def is_sendable(self, partition):
        """Return whether a drain with room takes a batch of the partition."""
        is_held = partition in self.muted or partition in self.backing_off or partition in self.waiting
        return self.queue[partition] > 0 and not is_held

    def first_taken(self, node):
        """Return the first partition of which a drain takes a batch, None if it takes no batch."""
        start, size = self.drain_index[node], self.partitions_per_node()
        visited = [self.partition_at(node, (start + step) % size) for step in range(size)]
        return next((partition for partition in visited if self.is_sendable(partition)), None)

    # The queues.

    @action
    def application_send(self, partition: Partition):
        """The application fills a batch, which goes to the end of the queue."""
        require(self.queue[partition] < self.batches)
        self.queue[partition] += 1

    @action
    def reenqueue(self, partition: Partition):
        """A batch returns to the head of its queue, to be sent after its backoff."""
        require(self.queue[partition] < self.batches)
        self.queue[partition] += 1
        self.backing_off.add(partition)

    @action
    def backoff_ends(self, partition: Partition):
        """The backoff ends by time, or because the partition's leader epoch has changed (KIP-951)."""
        require(partition in self.backing_off)
        self.backing_off.discard(partition)

    @action
    def mute(self, partition: Partition):
        """A batch of the partition is in flight, and no other may be."""
        require(partition not in self.muted)
        self.muted.add(partition)

    @action
    def unmute(self, partition: Partition):
        """The batch in flight is complete."""
        require(partition in self.muted)
        self.muted.discard(partition)

    @action
    def retry_waits(self, partition: Partition):
        """The first batch is a retry with a sequence, and an earlier batch of the partition is in flight."""
        require(self.waiting_retries)
        require(self.queue[partition] > 0)
        self.waiting.add(partition)

    @action
    def retry_is_next(self, partition: Partition):
        """The earlier batch is complete, so the retry may be sent."""
        require(partition in self.waiting)
        self.waiting.discard(partition)

    # The sender.

    def is_ready(self, node):
        """Return whether the node leads a partition with data, waiting retries included. Source: ready()."""
        return any(
            self.is_sendable(partition) or partition in self.waiting - self.muted - self.backing_off
            for partition in Partition
            if partition // self.partitions_per_node() == node
        )

    @action
    def drain(self, node: Node):
        """The sender makes a request for a ready node, with one visit to each of its partitions."""
        require(self.is_ready(node))
        self.drained.clear()
        start = self.drain_index[node] % self.partitions_per_node()
        for step in range(self.partitions_per_node()):
            position = (start + step) % self.partitions_per_node()
            partition = self.partition_at(node, position)
            self.store_index(node, position)
            if self.queue[partition] > 0 and partition not in self.muted | self.backing_off:
                is_waiting = partition in self.waiting
                if len(self.drained) == self.request_size or (is_waiting and not self.skip_waiting):
                    break
                if not is_waiting:
                    self.drained.add(partition)
                    self.queue[partition] -= 1
        self.count_passed_over(node)

    def store_index(self, node, position):
        """Store the index at which the next drain starts: here; before 3.3 one further, and for every node."""
        if self.index_per_node:
            self.drain_index[node] = position
        else:
            for other in Node:
                self.drain_index[other] = (position + 1) % self.partitions_per_node()

    def count_passed_over(self, node):
        """Count the consecutive drains that skipped a partition with data."""
        for position in range(self.partitions_per_node()):
            partition = self.partition_at(node, position)
            if self.is_sendable(partition) and partition not in self.drained:
                self.passed_over[partition] = min(self.passed_over[partition] + 1, self.partitions + 1)
            else:
                self.passed_over[partition] = 0

    # Properties.

    @invariant(says="{self.passed_over[partition]} consecutive drains skipped partition {partition}")
    def no_starvation(self):
        """Fewer consecutive drains skip a partition with data than its node has partitions."""
        return all(self.passed_over[partition] < self.partitions_per_node() for partition in Partition)

    @invariant
    def request_size_is_kept(self):
        """A request has at most `request_size` batches."""
        return len(self.drained) <= self.request_size

    @reachable
    def request_is_full(self):
        """A request is full, or has one batch of each partition of a node."""
        return len(self.drained) == min(self.request_size, self.partitions_per_node())


scenarios = [
    Bug("p14_starvation", Drain, {"no_starvation": 6}, larger=dict(partitions=3), faulty=dict(index_per_node=False),
        fixed_name="p14_fixed_index_per_node",
        description="P14 (KAFKA-13834): the index skips what did not fit, and every drain takes the busy partition.",
        remedy="P14: since 3.3 each node has an index; the next drain starts at the partition that did not fit."),
    Bug("p14_retry_that_waits", Drain, {"no_starvation": 6}, size=dict(waiting_retries=True),
        larger=dict(partitions=3, waiting_retries=True), fixed=dict(skip_waiting=True),
        fixed_name="p14_fixed_retry_that_waits",
        description="P14: a retry that has to wait ends the drain of its node; the next drain starts with it again.",
        remedy="P14: if a drain continues past a waiting retry, the other partitions get their turn."),
]  # fmt: skip
