"""Variants of the append with one bug each, and one proposed repair."""

from checker.language import Scenario
from specs.producer.memory.append import ALWAYS, CLOSED, SMALL, Append, Sender
from specs.producer.memory.buffer_pool import Thread


class UnusedBufferIsKept(Append):
    """Not Kafka: a thread that finds room at the second try loses its allocated buffer.

    RecordAccumulator.append returns it in a `finally` clause.
    """

    def give_unused_buffer_back(self):
        """Lose the buffer."""


class ShortMemoryIsNotPressing(Append):
    """Not Kafka: `ready` ignores the threads that wait for memory (`exhausted` in batchReady)."""

    def memory_is_short(self):
        """Return False."""
        return False


class BlockedThreadWakesSender(Append):
    """A proposal: a thread that joins the queue for memory wakes the sender, which sends lingering batches."""

    def begin_waiting(self, thread: Thread):
        """Join the queue for memory and wake the sender."""
        super().begin_waiting(thread)
        self.asleep = False


class FlushForgetsInFlight(Append):
    """Not Kafka: `flush` waits for the batches in the queues, but not for those in flight."""

    def flushed_batches(self):
        """Return the batches in the queues."""
        return self.incomplete() - self.in_flight


class ClosedIsSeenOnce(Append):
    """Not Kafka: a thread tests `closed` at the first try, but not again when it has its buffer.

    The closing sender may have visited the queues by then.
    """

    def closed_at_second_try(self):
        """Return False."""
        return False


class AbortDoesNotWait(Append):
    """Not Kafka: a forced close aborts twice, and ignores threads that are appending.

    RecordAccumulator counts these threads in appendsInProgress.
    """

    def must_abort_again(self):
        """Return False."""
        return False


class AbortSkipsTheLast(Append):
    """Not Kafka: a forced close waits until no thread is appending, and does not abort once more after that."""

    def after_aborting(self):
        """Return the final state."""
        return Sender.STOPPED


TWO_QUEUES = dict(threads=2, sends=1, partitions=2, memory=1)

scenarios = [
    Scenario(UnusedBufferIsKept, "buffer_lost", SMALL, expect={"memory_is_conserved": 9},
        description="Two threads allocate for one queue, one creates the batch, and the other's buffer is lost."),
    Scenario(ShortMemoryIsNotPressing, "batch_lingers", TWO_QUEUES, properties=ALWAYS, expect={"deadlock": 7},
        deadlock=True,
        description="The only buffer is in a lingering batch that is not full, and a thread waits for its memory."),
    Scenario(Append, "blocked_thread_and_sleeping_sender", TWO_QUEUES | dict(sender_sleeps=True), properties=ALWAYS,
        expect={"deadlock": 8}, deadlock=True,
        description="The sender sleeps for linger.ms although a thread waits for memory: the wait does not wake it."),
    Scenario(BlockedThreadWakesSender, "same_size", TWO_QUEUES | dict(sender_sleeps=True), properties=ALWAYS,
        deadlock=True, description="With the wake-up the lingering batch is sent and the thread gets its memory."),
    Scenario(BlockedThreadWakesSender, "larger", SMALL | dict(partitions=2, sender_sleeps=True), deadlock=True,
        description="The same with two buffers and two records of each thread."),
    Scenario(FlushForgetsInFlight, "flush_returns_early", SMALL | dict(flushes=True),
        expect={"flush_completes_earlier_batches": 9},
        description="With a batch in flight, flush returns before the batch is complete."),
    Scenario(ClosedIsSeenOnce, "append_after_close", CLOSED, expect={"every_future_is_completed": 7},
        description="A thread has its buffer; the producer is closed, the sender ends, and the thread still appends."),
    Scenario(AbortDoesNotWait, "append_during_abort", CLOSED, expect={"every_future_is_completed": 10},
        description="A thread saw an open producer; a forced close completes; then the thread adds its batch."),
    Scenario(AbortSkipsTheLast, "append_between_copy_and_count", CLOSED, expect={"every_future_is_completed": 9},
        description="A thread adds its batch after the list was copied, and leaves before the threads are counted."),
]  # fmt: skip
