"""The idempotent producer's connections to its brokers, and their faults.

Each partition's leader is a broker with one connection. Sources: `Sender`, `NetworkClient`, `InFlightRequests`,
`UnifiedLog` of Apache Kafka; see `transaction_manager` for the client and `specs.broker.producer_state` for the broker.
"""

from checker.language import Constant, Map, Option, Range, Seq, Struct, action, replace, require
from checker.language.drawing import Channel, Drawing, Event, Lane, Log
from specs.broker.producer_state import Batch, BatchId, Error, Offset, Partition
from specs.producer.idempotent.transaction_manager import Outcome, TransactionManager

_OF = "{' of ' + str(partition) if partitions > 1 else ''}"


class Request(Struct):
    """A produce request in transit with its batch as it was sent; after the answer, the response."""

    batch: Batch
    answered: bool
    error: Error
    offset: Option(Offset)
    shows = "{batch} {error}"


_CLIENT, _LEADER = "f'client of {partition}'", "f'leader of {partition}'"
"""The lanes of a partition's connection."""


class IdempotentConnection(TransactionManager, abstract=True):
    """Requests in flight from the client to the leader of each partition, and their faults.

    A response is sent when the batch is committed: replication is not part of this spec.
    """

    max_in_flight = Constant(5, at_least=1)
    first_sequence = Constant(0, at_least=0)
    """If it is above 0, batch 0 is in the log and acknowledged, and the next sequence is this one."""
    max_refusals = Constant(0, at_least=0)
    max_rejections = Constant(0, at_least=0)
    max_late_acks = Constant(0, at_least=0)
    max_disconnects = Constant(0, at_least=0)
    max_abandoned = Constant(0, at_least=0)
    max_restarts = Constant(0, at_least=0)
    max_timeouts = Constant(0, at_least=0)
    max_state_expiries = Constant(0, at_least=0)
    expiry_waits = Constant(False)

    requests = Map(Partition, Seq(Request, "max_in_flight"))
    abandoned = Map(Partition, Option(Batch))
    refusals = Range(0, "max_refusals")
    rejections = Range(0, "max_rejections")
    late_acks = Range(0, "max_late_acks")
    disconnects = Range(0, "max_disconnects")
    abandonments = Range(0, "max_abandoned")
    restarts = Range(0, "max_restarts")
    timeouts = Range(0, "max_timeouts")
    state_expiries = Range(0, "max_state_expiries")

    draws = Drawing(
        Lane("producer", facts={"epoch": "producer epoch", "rewrite": "epoch bump due for"}),
        Lane("client of", each=Partition, boxes={"queue": "queued batches", "in_flight": "in flight",
            "batch": "futures"}, facts={"partition_epoch": "epoch", "next_sequence": "next sequence",
            "last_acked": "last acknowledged sequence", "unresolved": "unresolved"}),
        Lane("leader of", each=Partition, logs=(Log("log", colour="id", called=("b",)),),
            boxes={"requests": "requests and, answered, responses", "cached": "remembered batches"},
            facts={"producer_epoch": "producer epoch", "abandoned": "being handled, connection closed"}),
        channels=(
            Channel("requests", "client of", "leader of", lost=("disconnect", "disconnect_while_handling",
                "restart_broker", "move_leader"), answered="answered", says="{'answer to ' * message.answered}batch "
                    "{message.batch.id}{(' (seq ' + str(message.batch.sequence) + ')') * (not message.answered)}{': ' "
                    "* message.answered}{(str(message.error) if str(message.error) != 'none' else 'success') * "
                    "message.answered}"),
        ),
    ).with_events(
        Event("init", "{batches} batch{'es' * (batches > 1)} for each partition in the client's queue"),
        Event("drain", "The client sends batch {queue[partition][0]}" + _OF),
        Event("receive_response", "The client reads the response to batch {requests[partition][0].batch.id}" + _OF +
            ": {str(requests[partition][0].error).replace('none', 'success')}"),
        Event("bump_epoch", "The producer takes epoch {epoch + 1}: the batches in flight of {', '.join(str(p) for p in "
            "rewrite)} get sequences from 0 on", "epoch {epoch + 1}", "'producer'", "new epoch"),
        Event("resolve_sequences", "No batch is in flight, and the client looks for a gap in its sequences"),
        Event("delivery_timeout", "delivery.timeout.ms passes for the oldest batch of {partition}, which fails",
            "delivery timeout", _CLIENT, "timeout"),
        Event("handle_produce",
            "{'The leader recognises batch ' if is_duplicate(partition, unhandled(partition)) else 'The leader appends "
                "batch ' if str(check(partition, unhandled(partition))) == 'none' else 'The leader refuses batch "
                "'}{unhandled(partition).id}" + _OF + "{' as a duplicate' if is_duplicate(partition, "
                "unhandled(partition)) else ', sequence ' + str(unhandled(partition).sequence)}{'' if is_duplicate("
                "partition, unhandled(partition)) or str(check(partition, unhandled(partition))) == 'none' else "
                "': ' + str(check(partition, unhandled(partition))) + ('' if 'order' not in str(check(partition, "
                "unhandled(partition))) or len(cached[partition]) == 0 else ': its epoch is new, and begins with "
                "sequence 0' if unhandled(partition).epoch > producer_epoch[partition] else ': it remembers only "
                "sequence ' + ', '.join(str(c.sequence) for c in cached[partition]) + ', and expects ' + "
                "str(expected_sequence(partition)))}",
            "{'duplicate' if is_duplicate(partition, unhandled(partition)) else '' if str(check(partition, "
                "unhandled(partition))) == 'none' else 'refuses'}", _LEADER,
            "{'refusal' if not is_duplicate(partition, unhandled(partition)) and str(check(partition, "
                "unhandled(partition))) != 'none' else ''}"),
        Event("append_but_time_out", "The leader appends batch {unhandled(partition).id}" + _OF + ", but replication "
            "is late, and the request times out", "appends, but too late", _LEADER, "timeout"),
        Event("refuse_as_not_leader", "The broker refuses batch {unhandled(partition).id}" + _OF + ": it does not know "
            "yet that it leads (NOT_LEADER_OR_FOLLOWER)", "refuses: not leader", _LEADER, "refusal"),
        Event("reject_permanently", "The broker rejects batch {unhandled(partition).id}" + _OF + " permanently "
            "(INVALID_RECORD)", "rejects", _LEADER, "refusal"),
        Event("disconnect", "The connection to the leader is lost, with the requests and responses in flight",
            "connection lost", _CLIENT, "disconnect"),
        Event("disconnect_while_handling", "The connection is lost while the leader handles batch "
            "{unhandled(partition).id}", "connection lost", _CLIENT, "disconnect"),
        Event("handle_abandoned", "The leader handles batch {abandoned[partition].id}, whose connection is closed",
            "handles, cannot answer", _LEADER),
        Event("restart_broker", "The broker restarts: connections and requests are lost, and it remembers only the "
            "last {'batch' if snapshot_batches == 1 else str(snapshot_batches) + ' batches'} of its snapshot",
            "restart", _LEADER, "restart"),
        Event("expire_producer_state", "The leader forgets the producer: producer.id.expiration.ms has passed since "
            "its last append", "forgets the producer", _LEADER, "lost state"),
    )  # fmt: skip

    def init(self):
        super().init()
        if self.first_sequence > 0:
            for p in Partition:
                self.acknowledge_one_batch(p)

    def acknowledge_one_batch(self, partition):
        """Append and acknowledge a first batch, whose sequence is the one before `first_sequence`."""
        self.append_unchecked(partition, Batch(id=0, epoch=0, sequence=self.first_sequence - 1, records=1))
        self.queue[partition].pop(0)
        self.finish(partition, 0, Outcome.ACKED, 0)
        self.next_sequence[partition] = self.first_sequence
        self.last_acked[partition] = self.first_sequence - 1

    # The client.

    @action
    def drain(self, partition: Partition):
        """The sender takes the first batch of the queue, assigns a sequence if it has none, and sends it."""
        require(len(self.requests[partition]) < self.max_in_flight)
        require(self.can_drain(partition))
        b = self.queue[partition].pop(0)
        if not self.has_sequence(partition, b):
            self.assign_sequence(partition, b)
        self.batch[partition][b].reset = False
        self.transmit(partition, b)

    def transmit(self, partition, b):
        """Add a request to the end of the connection."""
        self.requests[partition].append(
            Request(batch=self.to_send(partition, b), answered=False, error=Error.NONE, offset=None)
        )

    @action
    def receive_response(self, partition: Partition):
        """The client reads the response to its oldest request."""
        require(len(self.requests[partition]) > 0)
        require(self.requests[partition][0].answered)
        request = self.requests[partition].pop(0)
        self.complete(partition, request.batch.id, request.error, request.offset)

    @action
    def bump_epoch(self):
        """The sender's next iteration bumps the epoch, if a bump was requested."""
        require(len(self.rewrite) > 0)
        self.bump()

    @action
    def resolve_sequences(self, partition: Partition):
        """No batch of the partition is in flight any more: its expired batches were appended, or there is a gap."""
        require(self.unresolved[partition] is not None)
        require(len(self.in_flight[partition]) == 0)
        self.resolve(partition)

    @action
    def delivery_timeout(self, partition: Partition):
        """delivery.timeout.ms passes for the oldest batch, queued or in flight."""
        require(self.timeouts < self.max_timeouts)
        require(len(self.rewrite) == 0)
        require(any(self.is_pending(partition, b) for b in BatchId))
        self.timeouts += 1
        self.expire_batch(partition, min(b for b in BatchId if self.is_pending(partition, b)))

    def is_pending(self, partition, b):
        """Return whether the future of the batch is incomplete."""
        return self.batch[partition][b].outcome == Outcome.PENDING

    # The broker handles the requests of a connection one by one.

    def handled(self, partition):
        """Return the number of answered requests of the connection, which are the oldest ones."""
        return sum(1 for request in self.requests[partition] if request.answered)

    def answer(self, partition, error, offset):
        """Answer the first unanswered request."""
        position = self.handled(partition)
        require(position < len(self.requests[partition]))
        self.requests[partition][position] = replace(
            self.requests[partition][position], answered=True, error=error, offset=offset
        )

    def unhandled(self, partition):
        """Return the batch of the first unanswered request; there must be one."""
        return self.requests[partition][self.handled(partition)].batch

    def has_unhandled(self, partition):
        """Return whether a request waits for the broker."""
        return self.handled(partition) < len(self.requests[partition])

    @action
    def handle_produce(self, partition: Partition):
        """The leader appends the batch, recognises a duplicate, or refuses its epoch or sequence."""
        require(self.has_unhandled(partition))
        answer = self.append_from_client(partition, self.unhandled(partition))
        self.answer(partition, answer.error, answer.offset)

    @action
    def append_but_time_out(self, partition: Partition):
        """The leader appends the batch, but replication is late: the response is REQUEST_TIMED_OUT."""
        require(self.late_acks < self.max_late_acks)
        require(self.has_unhandled(partition))
        answer = self.append_from_client(partition, self.unhandled(partition))
        require(answer.error == Error.NONE)
        self.late_acks += 1
        self.answer(partition, Error.REQUEST_TIMED_OUT, None)

    @action
    def refuse_as_not_leader(self, partition: Partition):
        """The broker does not know yet that it is the leader: NOT_LEADER_OR_FOLLOWER, nothing appended."""
        require(self.refusals < self.max_refusals)
        require(self.has_unhandled(partition))
        self.refusals += 1
        self.answer(partition, Error.NOT_LEADER_OR_FOLLOWER, None)

    @action
    def reject_permanently(self, partition: Partition):
        """The broker permanently rejects the batch: INVALID_RECORD."""
        require(self.rejections < self.max_rejections)
        require(self.has_unhandled(partition))
        self.rejections += 1
        self.answer(partition, Error.INVALID_RECORD, None)

    @action
    def disconnect(self, partition: Partition):
        """The connection closes; the requests that the broker has not read and the responses in transit are lost."""
        require(self.disconnects < self.max_disconnects)
        require(len(self.requests[partition]) > 0)
        self.disconnects += 1
        self.drop_connection(partition)

    def drop_connection(self, partition):
        """Complete every request in flight as disconnected, the oldest first, as `NetworkClient` does."""
        lost = self.requests[partition]
        self.requests[partition].clear()
        for request in lost:
            self.complete(partition, request.batch.id, Error.NETWORK_EXCEPTION, None)

    @action
    def disconnect_while_handling(self, partition: Partition):
        """The connection closes, but the broker continues with the request that it has read."""
        require(self.abandonments < self.max_abandoned)
        require(self.abandoned[partition] is None)
        require(self.has_unhandled(partition))
        self.abandonments += 1
        self.abandoned[partition] = self.unhandled(partition)
        self.drop_connection(partition)

    @action
    def handle_abandoned(self, partition: Partition):
        """The broker executes a request of a closed connection, without a response."""
        require(self.abandoned[partition] is not None)
        batch = self.abandoned[partition]
        self.append_from_client(partition, batch)
        self.abandoned[partition] = None

    @action
    def restart_broker(self, partition: Partition):
        """The leader restarts with its log; its producer state is that of the snapshot at the log's end."""
        require(self.restarts < self.max_restarts)
        self.restarts += 1
        self.abandoned[partition] = None
        self.drop_connection(partition)
        self.take_snapshot(partition)
        self.reload(partition)

    @action
    def expire_producer_state(self, partition: Partition):
        """producer.id.expiration.ms passes after the producer's last append."""
        require(self.state_expiries < self.max_state_expiries)
        require(self.producer_epoch[partition] is not None)
        require(self.may_expire(partition))
        self.state_expiries += 1
        self.forget(partition)

    def may_expire(self, partition):
        """Return whether the state may expire; with `expiry_waits` only while no batch is in flight.

        This is the fix: producer.id.expiration.ms is longer than delivery.timeout.ms, so no batch is being retried.
        """
        return not self.expiry_waits or len(self.in_flight[partition]) == 0

    def faults(self):
        """Return the number of faults so far."""
        return (
            self.refusals
            + self.rejections
            + self.late_acks
            + self.disconnects
            + self.abandonments
            + self.restarts
            + self.timeouts
            + self.state_expiries
        )
