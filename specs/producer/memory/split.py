"""`flush` and batches that are split because they are too large for the broker (KAFKA-19479).

Sources (Apache Kafka): `Sender.completeBatch`, `ProducerBatch.split`, `RecordAccumulator.splitAndReenqueue` and
`awaitFlushCompletion`, `ProduceRequestResult.awaitAllDependents`.
"""

from checker.language import Bug, Constant, Event, Range, SetOf, action, reachable, require
from specs.producer.memory.append import ALWAYS, SMALL, Append, BatchId, Flush, Sender


class SplitAppend(Append):
    """A broker finds a batch of several records too large; the sender splits it and sends the parts.

    The parts stay one batch of this model: they are sent and answered together, and keep the buffer. In Kafka they have
    memory of their own outside the pool. A split completes the result for which `flush` waits.
    """

    partitions = Constant(1, at_least=1, at_most=1)
    awaits_parts = Constant(True)
    """Whether `flush` also waits for the parts of a batch that was split since."""
    max_splits = Constant(1, at_least=0)

    was_split = SetOf(BatchId)
    splits = Range(0, "max_splits")

    draws = Append.draws.with_events(
        Event("split", "Batch {batch} is too large, and its parts go back to the queue", "split", "'sender'",
            "refusal"),
    )  # fmt: skip

    @action
    def split(self, batch: BatchId):
        """A broker answers MESSAGE_TOO_LARGE: the parts go to the head of the queue."""
        require(self.sender == Sender.RUNNING and batch in self.in_flight and batch not in self.was_split)
        require(self.splits < self.max_splits and self.records[batch] > 1 and not self.is_locked(0))
        self.splits += 1
        self.in_flight.discard(batch)
        self.was_split.add(batch)
        self.queue[0].insert(0, batch)
        if not self.awaits_parts:
            self.flush_awaits.discard(batch)

    def complete(self, batch: BatchId):
        """Complete the futures of a batch; its number may be used again."""
        super().complete(batch)
        self.was_split.discard(batch)

    @reachable
    def flush_waits_for_parts(self):
        """`flush` waits for a batch that was split after its call."""
        return self.flush_state == Flush.WAITING and any(b in self.was_split for b in self.flush_awaits)


FLUSHED = SMALL | dict(flushes=True)

scenarios = [
    Bug("flush_misses_parts", SplitAppend, {"flush_completes_earlier_batches": 10}, size=FLUSHED,
        larger=FLUSHED | dict(threads=3, max_splits=2), faulty=dict(awaits_parts=False),
        promises=[*ALWAYS, "flush_waits_for_parts"], deadlock=True, fixed_name="flush_awaits_parts",
        description="KAFKA-19479: a batch is split during a flush, which returns before the parts are answered.",
        remedy="Since KAFKA-19479 a flush also waits for the parts of a batch that is split."),
]  # fmt: skip
