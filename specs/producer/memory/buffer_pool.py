"""The producer's bounded memory: a pool of buffers, for which threads wait in a queue when it is empty."""

from checker.language import Constant, Drawing, Enum, Event, Lane, Map, Range, Scenario, Seq, SetOf, Spec
from checker.language.roles import action, invariant, reachable, require, step_invariant
from specs.producer.values import Thread


class Size(Range):
    """The size of a buffer in units, the smallest difference that matters."""

    low, high = 1, "memory"


class Pool(Spec, abstract=True):
    """A bounded pool with a free list, and a first-in-first-out queue of threads that wait for memory.

    Memory is in three places: `free_buffers` buffers of `pooled_size` on the free list, `non_pooled` units without a
    buffer, and the threads. Each waiting thread has its condition. `signalled` has the threads whose condition was
    signalled and that have not run since. `gathered` is the memory that a waiting thread has set aside so far.

    Source: Apache Kafka, BufferPool.
    """

    threads = Constant(2, at_least=1)
    memory = Constant(2, at_least=1)  # buffer.memory
    pooled_size = Constant(1, at_least=1)  # batch.size
    timeouts = Constant(0, at_least=0)  # waits that end by max.block.ms or by an interrupt

    free_buffers = Range(0, "memory // pooled_size")
    non_pooled = Range(0, "memory")
    waiters = Seq(Thread, "threads")
    signalled = SetOf(Thread)
    gathered = Map(Thread, Range(0, "memory"))
    pool_closed = bool
    timeouts_left = Range(0, "timeouts")

    def init(self):
        self.non_pooled = self.memory
        self.timeouts_left = self.timeouts

    def available(self):
        """Return the memory that no thread has."""
        return self.non_pooled + self.free_buffers * self.pooled_size

    def free_up(self, size: int):
        """Break up pooled buffers until `size` units are outside the free list, or no buffer is left."""
        missing = max(size - self.non_pooled, 0)
        broken_up = min((missing + self.pooled_size - 1) // self.pooled_size, self.free_buffers)
        self.free_buffers -= broken_up
        self.non_pooled += broken_up * self.pooled_size

    def take_at_once(self, size: int):
        """Take memory without waiting and return whether there was enough. Waiting threads are overtaken."""
        if size == self.pooled_size and self.free_buffers > 0:
            self.free_buffers -= 1
        elif self.available() >= size:
            self.free_up(size)
            self.non_pooled -= size
        else:
            return False
        self.pass_signal_on()
        return True

    def gather(self, thread: Thread, size: int):
        """Set aside the available memory for a waiting thread and return whether it has all that it needs.

        A thread with all its memory leaves the queue.
        """
        if self.gathered[thread] == 0 and size == self.pooled_size and self.free_buffers > 0:
            self.free_buffers -= 1
            self.gathered[thread] = size
        else:
            self.free_up(size - self.gathered[thread])
            got = min(size - self.gathered[thread], self.non_pooled)
            self.non_pooled -= got
            self.gathered[thread] += got
        self.signalled.discard(thread)
        if self.gathered[thread] < size:
            return False
        self.gathered[thread] = 0
        self.leave_line(thread)
        self.pass_signal_on()
        return True

    def give_up(self, thread: Thread):
        """End a wait without a buffer: `allocate` throws an exception, but its `finally` clauses run."""
        self.non_pooled += self.gathered[thread]
        self.gathered[thread] = 0
        self.leave_line(thread)
        self.pass_signal_on()

    def leave_line(self, thread: Thread):
        """Remove a thread from the queue. A signal that came too late is lost."""
        self.signalled.discard(thread)
        self.waiters.pop(self.waiters.index(thread))

    def signal_first_waiter(self):
        """Signal the thread that has waited longest."""
        if len(self.waiters) > 0:
            self.signalled.add(self.waiters[0])

    def pass_signal_on(self):
        """Signal the next waiter if memory is left, at the end of `allocate`."""
        if self.available() > 0:
            self.signal_first_waiter()

    def give_back(self, size: int):
        """Return a buffer to the pool: to the free list if it is of the pooled size."""
        if size == self.pooled_size:
            self.free_buffers += 1
        else:
            self.non_pooled += size
        self.signal_first_waiter()

    def close_pool(self):
        """Refuse further allocations and signal every waiting thread (KAFKA-9449)."""
        self.pool_closed = True
        self.signalled = set(self.waiters)


class Stage(Enum):
    """The state of a thread."""

    OUTSIDE = "outside"
    WAITING = "waiting"
    HOLDING = "holding"


class BufferPool(Pool):
    """Threads allocate and return buffers of any size, while others wait, time out or close the pool.

    A thread makes `allocations` allocations. Only a dead end keeps a thread waiting: the length of max.block.ms does
    not matter, and `timeouts` waits end by it. An interrupted wait ends on the same path.

    Source: Apache Kafka, BufferPool.allocate, deallocate and close; KAFKA-3651, KAFKA-4840, KAFKA-9449.
    """

    allocations = Constant(1, at_least=1)
    closes = Constant(False)
    brokers_answer = Constant(True)  # if they do not, no buffer is returned
    spurious_wakeups = Constant(0, at_least=0)  # Java's Condition.await may return without a signal

    stage = Map(Thread, Stage)
    size = Map(Thread, Size)
    left = Map(Thread, Range(0, "allocations"))
    spurious_left = Range(0, "spurious_wakeups")

    draws = Drawing(
        Lane("thread", each=Thread, facts={"stage": "stage", "size": "size", "gathered": "gathered"}),
        Lane("pool", boxes={"waiters": "waiting", "signalled": "signalled"}, facts={"pool_closed": "closed"}),
        gains={"waiters": "the queue for memory gets", "signalled": "is signalled:"},
    ).with_events(
        Event("init", "No thread has asked for memory; the pool has {memory} unit{'' if memory == 1 else 's'}"),
        Event("allocate", "{thread} asks for {size} unit{'' if size == 1 else 's'} of memory, and "
            "{'is refused, as the producer is closed' if pool_closed else 'gets it' if available() >= size else "
            "'waits: ' + str(available()) + ' are free'}", "", "thread"),
        Event("wake", "{thread}, which was signalled, takes the available memory", "wakes up", "thread"),
        Event("wake_spuriously", "{thread} runs without a signal, as Java allows", "runs", "thread"),
        Event("time_out", "max.block.ms passes for {thread}", "timeout", "thread", "timeout"),
        Event("deallocate", "The batch of {thread} is answered, and its buffer is returned", "returned", "thread"),
        Event("close", "The producer is closed{' while ' * min(len(waiters), 1)}{', '.join(str(t) for t in waiters)}"
            "{' waits for memory' * min(len(waiters), 1)}", "closed", "'pool'", "shutdown"),
    )  # fmt: skip

    def init(self):
        super().init()
        for thread in Thread:
            self.left[thread] = self.allocations
        self.spurious_left = self.spurious_wakeups

    def end(self, thread: Thread):
        """Reset a thread after its allocation."""
        self.stage[thread] = Stage.OUTSIDE
        self.size[thread] = 1

    @action
    def allocate(self, thread: Thread, size: Size):
        """A thread allocates a buffer, joins the queue, or is refused because the pool is closed."""
        require(self.stage[thread] == Stage.OUTSIDE and self.left[thread] > 0)
        self.left[thread] -= 1
        if not self.pool_closed:
            self.size[thread] = size
            if self.take_at_once(size):
                self.stage[thread] = Stage.HOLDING
            else:
                self.stage[thread] = Stage.WAITING
                self.waiters.append(thread)

    @action
    def wake(self, thread: Thread):
        """A signalled thread runs, takes the available memory, and waits again if that is not enough."""
        require(self.stage[thread] == Stage.WAITING and thread in self.signalled)
        self.look_again(thread)

    @action
    def wake_spuriously(self, thread: Thread):
        """A thread runs without a signal, as Java allows."""
        require(self.spurious_left > 0)
        require(self.stage[thread] == Stage.WAITING and thread not in self.signalled)
        self.spurious_left -= 1
        self.look_again(thread)

    def look_again(self, thread: Thread):
        """Run one iteration of the loop of `allocate`."""
        if self.pool_closed:
            self.give_up(thread)
            self.end(thread)
        elif self.gather(thread, self.size[thread]):
            self.stage[thread] = Stage.HOLDING

    @action
    def time_out(self, thread: Thread):
        """A wait times out, possibly just after the thread was signalled."""
        require(self.stage[thread] == Stage.WAITING and self.timeouts_left > 0)
        self.timeouts_left -= 1
        self.give_up(thread)
        self.end(thread)

    @action
    def deallocate(self, thread: Thread):
        """A buffer is returned because its batch was answered."""
        require(self.stage[thread] == Stage.HOLDING and self.brokers_answer)
        self.give_back(self.size[thread])
        self.end(thread)

    @action
    def close(self):
        """The producer is closed."""
        require(self.closes and not self.pool_closed)
        self.close_pool()

    @action
    def rest(self):
        """No thread waits. This step keeps such a state from being a dead end."""
        require(all(self.stage[thread] != Stage.WAITING for thread in Thread))

    @invariant(says="{self.available()} of {self.memory} units are in the pool, and the threads do not have the rest")
    def memory_is_conserved(self):
        """The memory in the pool, held by threads and gathered by threads is all memory."""
        held = sum(self.size[thread] for thread in Thread if self.stage[thread] == Stage.HOLDING)
        gathered = sum(self.gathered[thread] for thread in Thread)
        return self.available() + held + gathered == self.memory

    @invariant(says="{thread} is in the queue {self.waiters} too often or not at all")
    def queue_holds_the_waiting_threads(self):
        """A thread is in the queue exactly once while it waits, and otherwise not at all."""
        return all(self.waiters.count(thread) == (1 if self.stage[thread] == Stage.WAITING else 0) for thread in Thread)

    @invariant
    def no_signal_is_lost(self):
        """If there is enough memory for the first waiter, it has been signalled: no signal is lost."""
        if len(self.waiters) == 0:
            return True
        first = self.waiters[0]
        return first in self.signalled or self.size[first] - self.gathered[first] > self.available()

    @invariant(says="{thread} gathers memory but is not the first waiter")
    def only_the_first_waiter_gathers(self):
        """Only the first waiter sets memory aside, so two threads cannot wait for each other's part."""
        return all(self.gathered[thread] == 0 or self.waiters[0] == thread for thread in Thread)

    @step_invariant
    def queue_keeps_its_order(self, old):
        """The threads that stay in the queue keep their order."""
        stayed = [thread for thread in old.waiters if thread in self.waiters]
        return self.waiters[: len(stayed)] == stayed

    @reachable
    def two_wait(self):
        """Two threads wait."""
        return len(self.waiters) == 2

    @reachable
    def memory_comes_in_parts(self):
        """A thread waits with a part of its memory."""
        return any(self.gathered[thread] > 0 for thread in Thread)

    @reachable
    def free_list_is_used(self):
        """A pooled buffer was returned and can be reused."""
        return self.free_buffers > 0


class TimedOutWaiterStaysInLine(BufferPool):
    """Before KAFKA-3651 (0.10.0): a wait that timed out left its condition in the queue, and got the next signal.

    Source: Apache Kafka, BufferPool before commit 6856c5c214.
    """

    def give_up(self, thread: Thread):
        """Return the gathered memory and stay in the queue."""
        self.non_pooled += self.gathered[thread]
        self.gathered[thread] = 0
        self.signalled.discard(thread)
        self.pass_signal_on()


class TimedOutWaiterKeepsItsPart(BufferPool):
    """Before KAFKA-4840 (0.11): a wait that timed out kept its gathered memory, and the pool shrank permanently.

    Source: Apache Kafka, BufferPool before commit c43eb856d1.
    """

    def give_up(self, thread: Thread):
        """Lose the gathered memory."""
        self.gathered[thread] = 0
        self.leave_line(thread)
        self.pass_signal_on()


class TimedOutWaiterSwallowsSignal(BufferPool):
    """Before KAFKA-4840 (0.11): only a successful `allocate` signalled the next waiter.

    A signal to a thread that had just timed out was lost.

    Source: Apache Kafka, BufferPool before commit c43eb856d1.
    """

    def give_up(self, thread: Thread):
        """Return the gathered memory without a signal."""
        self.non_pooled += self.gathered[thread]
        self.gathered[thread] = 0
        self.leave_line(thread)


class EveryWaiterIsSignalled(BufferPool):
    """Not Kafka: every waiting thread is signalled when memory is returned, instead of the first only.

    Two threads may then each gather a part, and each waits for the other's part.
    """

    def signal_first_waiter(self):
        """Signal all waiting threads."""
        self.signalled = set(self.waiters)


class CloseLeavesWaiters(BufferPool):
    """Before KAFKA-9449 (2.4.1): the close of the producer did not wake a thread that waited for memory.

    Source: Apache Kafka, KafkaProducer.close and BufferPool before commit 80438f7b1a.
    """

    draws = BufferPool.draws.with_events(
        Event("close", "The producer is closed, and does not wake who waits for memory{': '[:2 * len(waiters)]}"
            "{', '.join(str(t) for t in waiters)}", "closed", "'pool'", "shutdown"),
    )  # fmt: skip

    def close_pool(self):
        """Refuse further allocations without a signal."""
        self.pool_closed = True


SMALL = dict(threads=3, memory=2, timeouts=1)
LARGER = dict(threads=3, memory=3, timeouts=2, allocations=2)
TWO_EACH = dict(threads=3, memory=2, allocations=2)
CLOSED = dict(threads=2, memory=1, closes=True, brokers_answer=False)

scenarios = [
    Scenario(BufferPool, "small", SMALL, deadlock=True,
        description="Three threads share two units, one wait times out: no memory is lost, no thread waits forever."),
    Scenario(BufferPool, "larger", LARGER, deadlock=True,
        description="The same with more memory, timeouts and allocations."),
    Scenario(BufferPool, "four_threads", dict(threads=4, memory=3, timeouts=2, allocations=2), deadlock=True,
        description="The same with four threads."),
    Scenario(BufferPool, "pooled_buffers_of_two_units", dict(threads=3, memory=5, pooled_size=2, timeouts=1),
        deadlock=True, description="Buffers of the pooled size are broken up for larger ones, and pooled again."),
    Scenario(BufferPool, "closed_while_brokers_are_down", dict(threads=3, memory=2, closes=True, brokers_answer=False),
        properties=["memory_is_conserved", "queue_holds_the_waiting_threads", "no_signal_is_lost", "two_wait"],
        deadlock=True, description="Every thread that waits for memory is woken when the producer is closed."),
    Scenario(BufferPool, "spurious_wakeup", TWO_EACH | dict(spurious_wakeups=1), properties=["memory_is_conserved"],
        expect={"deadlock": 8}, deadlock=True,
        description="The second waiter wakes spuriously and takes a part: two threads wait for each other's part."),
    Scenario(TimedOutWaiterStaysInLine, "signal_to_nobody", SMALL, properties=["memory_is_conserved"],
        expect={"deadlock": 6}, deadlock=True,
        description="Memory is returned, the signal goes to a thread that has left, and the next one waits forever."),
    Scenario(TimedOutWaiterKeepsItsPart, "pool_shrinks", SMALL, expect={"memory_is_conserved": 7},
        description="A thread gathers a part of its memory and times out, and the part is lost."),
    Scenario(TimedOutWaiterSwallowsSignal, "signal_swallowed", SMALL, properties=["memory_is_conserved"],
        expect={"deadlock": 6}, deadlock=True,
        description="Memory is returned as the first waiter times out; the next is not signalled and waits forever."),
    Scenario(EveryWaiterIsSignalled, "two_halves", TWO_EACH, properties=["memory_is_conserved"],
        expect={"deadlock": 10}, deadlock=True,
        description="Two threads are signalled at once, each takes a half, and both wait forever."),
    Scenario(CloseLeavesWaiters, "closed_while_brokers_are_down", CLOSED, properties=["memory_is_conserved"],
        expect={"deadlock": 4}, deadlock=True,
        description="The producer is closed, no broker answers, and a thread waits for memory that never comes."),
]  # fmt: skip
