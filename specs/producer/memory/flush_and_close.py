"""Liveness of `flush`, `close` and `send` on batches: which promises each call needs to return.

docs/producer.md, section "Flush and close return", describes the scenarios.
"""

from checker.language import Bug, Constant, Event, Scenario, action, leads_to, require
from specs.producer.memory.append import CLOSED, SMALL, Append, At, BatchId, Closing, Flush, Partition, Sender
from specs.producer.memory.append_faults import TWO_QUEUES, BlockedThreadWakesSender, ShortMemoryIsNotPressing
from specs.producer.memory.buffer_pool import Thread
from specs.producer.memory.split import SplitAppend
from specs.scenario_forms import without_each


class AppendLiveness(Append):
    """The accumulator with the properties that `flush`, `close` and `send` return, and that batches are completed.

    The scenarios promise that some of the actions are fair.

    Source: Apache Kafka, KafkaProducer.flush and close, RecordAccumulator.awaitFlushCompletion, Sender.run.
    """

    def flush_waits(self):
        """Return whether a thread is in `flush`."""
        return self.flush_state == Flush.WAITING

    @leads_to("flush_waits", says="flush never returns; it waits for batches {self.flush_awaits}")
    def flush_returns(self):
        """A call of `flush` returns."""
        return not self.flush_waits()

    def is_closing(self):
        """Return whether a thread is in `close`."""
        return self.closing == Closing.CLOSING or self.closing == Closing.FORCED

    @leads_to("is_closing", says="close never returns; the sender is {self.sender}")
    def close_returns(self):
        """A call of `close` returns."""
        return self.closing == Closing.CLOSED

    def is_sending(self, thread):
        """Return whether a thread is in `send`."""
        return self.at[thread] != At.OUTSIDE

    @leads_to("is_sending", says="{thread} never returns from send; it is {self.at[thread]}")
    def send_returns(self, thread: Thread):
        """A call of `send` returns."""
        return not self.is_sending(thread)

    def exists(self, batch):
        """Return whether a batch is queued or in flight."""
        return self.records[batch] > 0

    @leads_to("exists", says="batch {batch} is never completed")
    def batch_is_completed(self, batch: BatchId):
        """Every batch is completed."""
        return not self.exists(batch)


class BlockedThreadWakesSenderLiveness(AppendLiveness, BlockedThreadWakesSender):
    """The same if a thread that waits for memory wakes the sender."""


class ShortMemoryIsNotPressingLiveness(AppendLiveness, ShortMemoryIsNotPressing):
    """The same if threads that wait for memory do not make batches ready."""


class SplitAppendLiveness(AppendLiveness, SplitAppend):
    """The same with batches that are split."""


class ExpiringAppend(AppendLiveness):
    """The same with delivery.timeout.ms. The request of a batch in flight has ended by then (request.timeout.ms).

    Source: Sender.sendProducerData, RecordAccumulator.expiredBatches.
    """

    @action
    def expire(self, batch: BatchId):
        """delivery.timeout.ms passes: the sender fails a batch, queued or in flight."""
        require(self.sender == Sender.RUNNING and self.closing != Closing.FORCED and self.records[batch] > 0)
        require(not any(batch in self.queue[partition] and self.is_locked(partition) for partition in Partition))
        for partition in Partition:
            self.queue[partition] = [other for other in self.queue[partition] if other != batch]
        self.complete(batch)
        self.asleep = False


class FlushInCallback(AppendLiveness):
    """A callback calls `flush`. Callbacks run in the sender's thread, before their batch is completed.

    Source: KafkaProducer.flush, ProducerBatch.completeFutureAndFireCallbacks; KAFKA-10790.
    """

    flush_is_refused = Constant(True)
    """Whether `flush` throws a KafkaException in the sender's thread: since 4.1. In 4.0 it only logs an error."""

    draws = AppendLiveness.draws.with_events(
        Event("flush_in_callback", "A broker answers batch {batch}, whose callback calls flush{', which is refused' if "
            "flush_is_refused else ' and waits in the sender thread'}", "flush", "'sender'"),
    )  # fmt: skip

    @action
    def flush_in_callback(self, batch: BatchId):
        """A broker answers, and the callback of the batch calls `flush`."""
        require(self.sender == Sender.RUNNING and self.closing != Closing.FORCED and batch in self.in_flight)
        require(self.flush_state == Flush.NOT_CALLED)
        if self.flush_is_refused:
            self.complete(batch)
            self.asleep = False
        else:
            self.flush_state = Flush.WAITING
            self.flush_awaits = self.incomplete()
            self.sender = Sender.IN_CALLBACK


FLUSH = dict(append="weak", drain="weak", answer="weak", end_flush="weak")
"""A thread in the queue finishes its append, the sender drains, brokers answer, and the flushing thread runs."""

CLOSE = dict(append="weak", drain="weak", answer="weak", stop="weak", end_close="weak")
"""The same for `close`: the sender also ends when it has nothing left."""

FORCED = dict(
    dict.fromkeys(("allocate", "wake", "try_again", "append"), "weak"),
    **dict.fromkeys(("close_times_out", "copy_incomplete", "abort", "abort_the_last", "end_close"), "weak"),
)
"""Promises of the client alone: threads leave `send`, the timeout of `close` passes, and the sender aborts the rest."""

SEND = dict(allocate="weak", wake="weak", try_again="weak", append="weak", drain="weak", answer="weak")
"""Promises that bring every thread out of `send`."""

EVERY = FLUSH | CLOSE | FORCED
"""All promises but those of faults: nothing that can go on stops."""

FLUSHED = SMALL | dict(flushes=True)
GRACEFUL = SMALL | dict(closes=True)
TIMED = SMALL | dict(closes=True, close_timeout=True, flushes=True)


def returns(call, name, size, fair, description, spec=AppendLiveness):
    """Return the scenario in which a call returns."""
    return Scenario(spec, name, size, fair=fair, properties=[f"{call}_returns"], description=description)


scenarios = [
    returns("flush", "flush_returns", FLUSHED, FLUSH, "Four weakly fair actions suffice for flush."),
    *without_each(AppendLiveness, FLUSHED, FLUSH, ["flush_returns"], {
        "append": (9, "A thread keeps the lock of a queue."), "drain": (6, "The sender never sends the batch."),
        "answer": (7, "No broker answers, and delivery.timeout.ms is infinite."),
    }, prefix="flush_"),
    returns("flush", "flush_ends_at_delivery_timeout", FLUSHED, dict(append="weak", end_flush="weak", expire="weak"),
        "No broker answers: flush returns after delivery.timeout.ms, even if nothing is drained.", ExpiringAppend),
    returns("flush", "flush_awaits_parts", FLUSHED, FLUSH,
        "Brokers find batches too large, and the sender splits them: flush returns.", SplitAppendLiveness),
    returns("close", "close_returns", GRACEFUL, CLOSE, "Five weakly fair actions suffice for close without a timeout."),
    *without_each(AppendLiveness, GRACEFUL, CLOSE, ["close_returns"], {
        "answer": (7, "No broker answers, and close has no timeout."), "stop": (2, "The sender never ends its loop."),
    }, prefix="close_"),
    returns("close", "close_ends_at_delivery_timeout", GRACEFUL,
        dict(append="weak", stop="weak", end_close="weak", expire="weak"),
        "No broker answers: close without a timeout returns after delivery.timeout.ms.", ExpiringAppend),
    returns("close", "close_with_timeout", TIMED, FORCED,
        "Close with a timeout needs promises of the client, not of brokers."),
    Scenario(AppendLiveness, "close_waits_for_appending_thread", CLOSED,
        fair={name: fairness for name, fairness in FORCED.items() if name != "try_again"}, properties=["close_returns"],
        expect={"close_returns": 7},
        description="The timeout of close does not bound its wait for threads that are appending."),
    Bug("flush_hangs_in_callback", FlushInCallback, {"flush_returns": 8}, size=FLUSHED,
        faulty=dict(flush_is_refused=False), fair=FLUSH, promises=["flush_returns"], fixed_name="flush_is_refused",
        description="KAFKA-10790: the sender's thread waits for a batch that only this thread can complete.",
        remedy="KAFKA-10790 since 4.1: flush throws in a callback."),
    Bug("close_hangs_after_callback", FlushInCallback, {"close_returns": 9}, size=CLOSED,
        faulty=dict(flush_is_refused=False), fair=EVERY, promises=["close_returns"], fixed_name="close_after_callback",
        description="KAFKA-10790: after its timeout close joins the sender's thread without one, and never returns.",
        remedy="KAFKA-10790 since 4.1: flush throws in a callback, and close returns."),
    returns("send", "send_returns", SMALL, SEND, "Six weakly fair actions bring every thread out of send."),
    Bug("batch_lingers", ShortMemoryIsNotPressingLiveness, {"send_returns": 7}, size=TWO_QUEUES, fair=SEND,
        promises=["send_returns"], fixed_name="short_memory_is_pressing", fixed_spec=AppendLiveness,
        description="A batch lingers in the only buffer, and a thread waits for memory for ever.",
        remedy="In Kafka a thread that waits for memory makes every batch ready."),
    Bug("sender_sleeps", AppendLiveness, {"send_returns": 8}, size=TWO_QUEUES | dict(sender_sleeps=True), fair=SEND,
        promises=["send_returns"], fixed_name="blocked_thread_wakes_sender",
        fixed_spec=BlockedThreadWakesSenderLiveness,
        description="Kafka's sender sleeps for linger.ms although a thread waits for memory.",
        remedy="A proposal: a thread that begins to wait for memory wakes the sender."),
    Scenario(AppendLiveness, "batches_are_completed", SMALL | dict(lingers=False),
        fair=dict(append="weak", drain="weak", answer="weak"), properties=["batch_is_completed"],
        description="Without linger.ms three weakly fair actions complete every batch."),
]  # fmt: skip
