"""The append under short memory, with one thing wrong at a time."""

from checker.language import Scenario
from specs.producer.memory.append import ALWAYS, CLOSED, SMALL, Append, Sender
from specs.producer.memory.buffer_pool import Thread


class UnusedBufferIsKept(Append):
    """Not Kafka: a thread that finds room at the second try forgets the buffer that it has allocated.

    RecordAccumulator.append gives it back in a `finally`.
    """

    def give_unused_buffer_back(self):
        """Forget the buffer."""


class ShortMemoryIsNotPressing(Append):
    """Not Kafka: `ready` does not look at the threads that wait for memory (the `exhausted` of batchReady)."""

    def memory_is_short(self):
        """Look at nothing."""
        return False


class BlockedThreadWakesSender(Append):
    """A proposal: a thread that joins the line for memory wakes the sender, so that it sends batches that linger."""

    def begin_waiting(self, thread: Thread):
        """Join the line for memory, and wake the sender."""
        super().begin_waiting(thread)
        self.asleep = False


class FlushForgetsInFlight(Append):
    """Not Kafka: `flush` waits for the batches in the queues, and not for those in flight."""

    def flushed_batches(self):
        """Return the batches in the queues."""
        return self.incomplete() - self.in_flight


class ClosedIsSeenOnce(Append):
    """Not Kafka: a thread that has passed the first look at `closed` does not look again when it has its buffer.

    The closing sender has looked at the queues by then.
    """

    def closed_at_second_try(self):
        """Do not look."""
        return False


class AbortDoesNotWait(Append):
    """Not Kafka: a forced close aborts what it finds, twice, without a look at threads that are appending.

    RecordAccumulator counts them in appendsInProgress for this.
    """

    def must_abort_again(self):
        """Never go round again."""
        return False


class AbortSkipsTheLast(Append):
    """Not Kafka: a forced close waits until nobody appends, and does not abort once more after that."""

    def after_aborting(self):
        """End at once."""
        return Sender.STOPPED


TWO_QUEUES = dict(threads=2, sends=1, partitions=2, memory=1)

scenarios = [
    Scenario(
        UnusedBufferIsKept,
        "buffer_lost",
        SMALL,
        expect={"memory_is_conserved": 9},
        description="Two threads allocate for the same queue, one makes the batch, the other's buffer is lost.",
    ),
    Scenario(
        ShortMemoryIsNotPressing,
        "batch_lingers",
        TWO_QUEUES,
        properties=ALWAYS,
        expect={"deadlock": 7},
        deadlock=True,
        description="The only buffer is in a batch that is not full and lingers, and a thread waits for its memory.",
    ),
    Scenario(
        Append,
        "blocked_thread_and_sleeping_sender",
        TWO_QUEUES | dict(sender_sleeps=True),
        properties=ALWAYS,
        expect={"deadlock": 8},
        deadlock=True,
        description="The sender sleeps out linger.ms although a thread waits for memory: blocking does not wake it.",
    ),
    Scenario(
        BlockedThreadWakesSender,
        "same_size",
        TWO_QUEUES | dict(sender_sleeps=True),
        properties=ALWAYS,
        deadlock=True,
        description="With the wake-up the lingering batch is sent and the thread gets its memory.",
    ),
    Scenario(
        BlockedThreadWakesSender,
        "larger",
        SMALL | dict(partitions=2, sender_sleeps=True),
        deadlock=True,
        description="The same with two buffers and two records of each thread.",
    ),
    Scenario(
        FlushForgetsInFlight,
        "flush_returns_early",
        SMALL | dict(flushes=True),
        expect={"flush_keeps_its_promise": 9},
        description="A batch is in flight, flush is called and returns, and the batch is not complete.",
    ),
    Scenario(
        ClosedIsSeenOnce,
        "append_after_close",
        CLOSED,
        expect={"no_future_is_left_open": 7},
        description="A thread has its buffer; the producer is closed, the sender ends, and the thread still appends.",
    ),
    Scenario(
        AbortDoesNotWait,
        "append_during_abort",
        CLOSED,
        expect={"no_future_is_left_open": 10},
        description="A thread saw an open producer; a forced close completes; then the thread adds its batch.",
    ),
    Scenario(
        AbortSkipsTheLast,
        "append_between_copy_and_count",
        CLOSED,
        expect={"no_future_is_left_open": 9},
        description="A thread adds its batch after the list was copied, and has left before such threads are counted.",
    ),
]
