"""Liveness of the buffer pool: every wait for memory ends if the system does not stop.

docs/producer.md, section "Liveness", describes the scenarios.
"""

from checker.language import Bug, Scenario, leads_to
from specs.producer.memory import buffer_pool
from specs.producer.memory.buffer_pool import CLOSED, SMALL, TWO_EACH, BufferPool, Stage, Thread


class BufferPoolLiveness(BufferPool):
    """The buffer pool with the property that every wait ends. The only promise is that the system does not stop.

    Source: Apache Kafka, BufferPool.allocate, deallocate and close.
    """

    fair_next = "weak"

    def waits(self, thread):
        """Return whether a thread waits for memory."""
        return self.stage[thread] == Stage.WAITING

    @leads_to("waits", says="{thread} waits for ever; the queue is {self.waiters}")
    def wait_ends(self, thread: Thread):
        """A thread that waits gets its memory, or gives up."""
        return self.stage[thread] != Stage.WAITING


class StaysInLineLiveness(BufferPoolLiveness, buffer_pool.TimedOutWaiterStaysInLine):
    """The same if a thread whose wait timed out stays in the queue."""


class SwallowsSignalLiveness(BufferPoolLiveness, buffer_pool.TimedOutWaiterSwallowsSignal):
    """The same if a thread whose wait timed out does not pass its signal on."""


class EveryWaiterIsSignalledLiveness(BufferPoolLiveness, buffer_pool.EveryWaiterIsSignalled):
    """The same if every waiting thread is signalled."""


class CloseLeavesWaitersLiveness(BufferPoolLiveness, buffer_pool.CloseLeavesWaiters):
    """The same if close wakes no thread."""


ENDS = ["wait_ends"]


def endless_wait(name, spec, length, size, description):
    """Return a bug after which a thread waits for ever, with Kafka's pool as the remedy."""
    return Bug(name, spec, {"wait_ends": length}, size, fixed_spec=BufferPoolLiveness, promises=ENDS,
        description=description, remedy="With Kafka's rule every wait ends at the same size.")  # fmt: skip


scenarios = [
    endless_wait("timed_out_waiter_stays_in_line", StaysInLineLiveness, 6, SMALL,
        "The signal goes to a thread that has left."),
    endless_wait("timed_out_waiter_swallows_signal", SwallowsSignalLiveness, 6, SMALL,
        "The next thread gets no signal."),
    endless_wait("every_waiter_is_signalled", EveryWaiterIsSignalledLiveness, 10, TWO_EACH,
        "Two threads each gather a half, and wait for the other half."),
    endless_wait("close_leaves_waiters", CloseLeavesWaitersLiveness, 4, CLOSED,
        "KAFKA-9449: the producer is closed, no broker answers, and no memory comes."),
    Scenario(BufferPoolLiveness, "spurious_wakeup", dict(threads=3, memory=2, spurious_wakeups=1), properties=ENDS,
        expect={"wait_ends": 7},
        description="The second waiter wakes spuriously and takes a part: two threads wait for each other's part."),
]  # fmt: skip
