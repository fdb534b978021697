"""Which partitions a drain takes: mute, backoff, request size and drain index. Entry P14 of docs/producer.md."""

from checker.language import Bug, Constant, Map, Range, SetOf, Spec, action, invariant, reachable, require
from specs.producer.plain.application import Partition


class Node(Range):
    """Nodes are numbered from 0; each leads as many partitions as any other."""

    low, high = 0, "nodes - 1"


class Drain(Spec):
    """The queues of a producer as counts of batches, and the drain that makes one request for one node of them.

    A drain goes once around the node's partitions, from a stored index, takes at most one batch of each, and ends
    early when the request is full, or at a retry of an idempotent producer that has to wait for an earlier batch.
    Source: RecordAccumulator.drainBatchesForOneNode, shouldBackoff, shouldStopDrainBatchesForPartition; KAFKA-13834.
    """

    nodes = Constant(1, at_least=1)
    partitions = Constant(2, at_least=1)  # of all nodes: a multiple of `nodes`
    batches = Constant(1, at_least=1)  # in a queue at most
    request_size = Constant(1, at_least=1)  # max.request.size, in batches
    index_per_node = Constant(True)  # since 3.3; before, all nodes shared one, which ran ahead of where a drain stopped
    waiting_retries = Constant(False)  # whether a retry may have to wait for an earlier batch
    skip_waiting = Constant(False)  # whether a drain goes on past such a retry, as Kafka's does not

    queue = Map(Partition, Range(0, "batches"))
    muted = SetOf(Partition)
    backing_off = SetOf(Partition)  # the first batch is a retry whose backoff is not over
    waiting = SetOf(Partition)  # the first batch is a retry that waits for an earlier batch
    drain_index = Map(Node, Range(0, "partitions - 1"))
    drained = SetOf(Partition)  # by the last drain
    passed_over = Map(Partition, Range(0, "partitions + 1"))  # how many drains in turn left a sendable batch behind

    def partitions_per_node(self):
        """How many partitions a node leads."""
        return self.partitions // self.nodes

    def partition_at(self, node, position):
        """The partition at a position in the list of those that a node leads."""
        return node * self.partitions_per_node() + position

    def is_sendable(self, partition):
        """Whether a drain that comes by takes a batch, if it has room."""
        is_held = partition in self.muted or partition in self.backing_off or partition in self.waiting
        return self.queue[partition] > 0 and not is_held

    # What happens to a queue.

    @action
    def application_send(self, partition: Partition):
        """A batch more, at the end."""
        require(self.queue[partition] < self.batches)
        self.queue[partition] += 1

    @action
    def reenqueue(self, partition: Partition):
        """A batch comes back to the head of its queue and is not sent again before its backoff is over."""
        require(self.queue[partition] < self.batches)
        self.queue[partition] += 1
        self.backing_off.add(partition)

    @action
    def backoff_ends(self, partition: Partition):
        """The time is over, or the partition's leader epoch has changed since the last attempt (KIP-951)."""
        require(partition in self.backing_off)
        self.backing_off.discard(partition)

    @action
    def mute(self, partition: Partition):
        """A batch of the partition is in flight, and only one may be."""
        require(partition not in self.muted)
        self.muted.add(partition)

    @action
    def unmute(self, partition: Partition):
        """That batch is complete."""
        require(partition in self.muted)
        self.muted.discard(partition)

    @action
    def retry_waits(self, partition: Partition):
        """The first batch has a sequence, and an earlier one of the partition is in flight."""
        require(self.waiting_retries)
        require(self.queue[partition] > 0)
        self.waiting.add(partition)

    @action
    def retry_is_next(self, partition: Partition):
        """The earlier batch is complete."""
        require(partition in self.waiting)
        self.waiting.discard(partition)

    # The sender.

    def is_ready(self, node):
        """Whether the node leads a partition with something to send, a retry that waits included. Source: ready()."""
        return any(
            self.is_sendable(partition) or partition in self.waiting - self.muted - self.backing_off
            for partition in Partition
            if partition // self.partitions_per_node() == node
        )

    @action
    def drain(self, node: Node):
        """Make a request: once around the partitions of a ready node."""
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
        """The next drain starts where this one ends; before 3.3, one further, and on whatever node comes next."""
        if self.index_per_node:
            self.drain_index[node] = position
        else:
            for other in Node:
                self.drain_index[other] = (position + 1) % self.partitions_per_node()

    def count_passed_over(self, node):
        """Count the drains in turn that left a partition behind although it had something to send."""
        for position in range(self.partitions_per_node()):
            partition = self.partition_at(node, position)
            if self.is_sendable(partition) and partition not in self.drained:
                self.passed_over[partition] = min(self.passed_over[partition] + 1, self.partitions + 1)
            else:
                self.passed_over[partition] = 0

    # Properties.

    @invariant(says="{partition} was passed over {self.passed_over[partition]} times")
    def no_starvation(self):
        """A partition with something to send is passed over by fewer drains in turn than its node has partitions."""
        return all(self.passed_over[partition] < self.partitions_per_node() for partition in Partition)

    @invariant
    def request_size_is_kept(self):
        """A request has no more batches than fit."""
        return len(self.drained) <= self.request_size

    @reachable
    def request_is_full(self):
        """A request has as many batches as fit, or one of each partition of a node."""
        return len(self.drained) == min(self.request_size, self.partitions_per_node())


scenarios = [
    Bug(
        "p14_starvation",
        Drain,
        {"no_starvation": 6},
        larger=dict(partitions=3),
        faulty=dict(index_per_node=False),
        description="P14 (KAFKA-13834): the index skips what did not fit, and every drain takes the busy partition.",
        fixed_name="p14_fixed_index_per_node",
        remedy="P14: since 3.3 each node has an index; the next drain starts at the partition that did not fit.",
    ),
    Bug(
        "p14_retry_that_waits",
        Drain,
        {"no_starvation": 6},
        size=dict(waiting_retries=True),
        larger=dict(partitions=3, waiting_retries=True),
        fixed=dict(skip_waiting=True),
        description="P14: a retry that has to wait ends the drain of its node; the next drain starts with it again.",
        fixed_name="p14_fixed_retry_that_waits",
        remedy="P14: if a drain continues past a waiting retry, the other partitions get their turn.",
    ),
]
