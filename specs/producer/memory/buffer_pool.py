"""The producer's bounded memory: a pool from which threads take buffers, and wait in line when it is empty."""

from checker.language import (
    Constant,
    Domain,
    Enum,
    Map,
    Range,
    Scenario,
    Seq,
    SetOf,
    Spec,
    action,
    invariant,
    reachable,
    require,
    step_invariant,
)


class Thread(Domain):
    """A thread of the application that calls `send`."""

    size, prefix = "threads", "t"


class Size(Range):
    """How much memory a buffer needs, in units: one unit is the smallest difference that matters."""

    low, high = 1, "memory"


class Pool(Spec, abstract=True):
    """A bounded pool with a free list, and a first-come line of threads that wait for memory.

    Memory is in three places: `free_buffers` buffers of `pooled_size` on the free list, `non_pooled` units that belong
    to no buffer, and what threads have. Each waiting thread has a condition of its own; `signalled` are those whose
    condition was signalled and who have not run since. `gathered` is what a waiting thread has set aside so far.

    Source: Apache Kafka, BufferPool.
    """

    threads = Constant(2, at_least=1)
    memory = Constant(2, at_least=1)  # buffer.memory
    pooled_size = Constant(1, at_least=1)  # batch.size
    timeouts = Constant(0, at_least=0)  # how many waits end because max.block.ms has passed, or by an interrupt

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
        """Return how much memory nobody has."""
        return self.non_pooled + self.free_buffers * self.pooled_size

    def free_up(self, size: int):
        """Break up pooled buffers until there are `size` units outside the free list, or no buffer is left."""
        missing = max(size - self.non_pooled, 0)
        broken_up = min((missing + self.pooled_size - 1) // self.pooled_size, self.free_buffers)
        self.free_buffers -= broken_up
        self.non_pooled += broken_up * self.pooled_size

    def take_at_once(self, size: int):
        """Take memory without waiting, and return whether there was enough. It passes by those who wait in line."""
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
        """Set aside for a waiting thread what there is, and return whether it has all that it needs.

        A thread that has all leaves the line.
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
        """End a wait without a buffer: `allocate` ends with an exception, but its `finally` still runs."""
        self.non_pooled += self.gathered[thread]
        self.gathered[thread] = 0
        self.leave_line(thread)
        self.pass_signal_on()

    def leave_line(self, thread: Thread):
        """Take a thread out of the line. A signal that came too late for it is gone."""
        self.signalled.discard(thread)
        self.waiters.pop(self.waiters.index(thread))

    def signal_first_waiter(self):
        """Signal the thread that has waited longest."""
        if len(self.waiters) > 0:
            self.signalled.add(self.waiters[0])

    def pass_signal_on(self):
        """Whoever ends `allocate` while memory is left signals the next in line."""
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
        """Refuse further allocations, and signal everybody who waits so that they notice (KAFKA-9449)."""
        self.pool_closed = True
        self.signalled = set(self.waiters)


class Stage(Enum):
    """Where a thread stands."""

    OUTSIDE = "outside"
    WAITING = "waiting"
    HOLDING = "holding"


class BufferPool(Pool):
    """Threads allocate buffers of any size and give them back, while others wait, time out or close the pool.

    A thread makes `allocations` allocations. Nothing but a dead end keeps one waiting: how long max.block.ms is does
    not matter, only that `timeouts` of the waits end by it. The same path ends an interrupted wait.

    Source: Apache Kafka, BufferPool.allocate, deallocate and close; KAFKA-3651, KAFKA-4840, KAFKA-9449.
    """

    allocations = Constant(1, at_least=1)
    closes = Constant(False)
    brokers_answer = Constant(True)  # where they do not, no buffer ever comes back
    spurious_wakeups = Constant(0, at_least=0)  # Java's Condition.await may return without a signal

    stage = Map(Thread, Stage)
    size = Map(Thread, Size)
    left = Map(Thread, Range(0, "allocations"))
    spurious_left = Range(0, "spurious_wakeups")

    def init(self):
        super().init()
        for thread in Thread:
            self.left[thread] = self.allocations
        self.spurious_left = self.spurious_wakeups

    def end(self, thread: Thread):
        """Leave the pool, with all that a thread remembers of its allocation forgotten."""
        self.stage[thread] = Stage.OUTSIDE
        self.size[thread] = 1

    @action
    def allocate(self, thread: Thread, size: Size):
        """A thread asks for a buffer: it gets one, joins the line, or is refused because the pool is closed."""
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
        """A signalled thread runs: it takes what there is, and goes on waiting if that is not enough."""
        require(self.stage[thread] == Stage.WAITING and thread in self.signalled)
        self.look_again(thread)

    @action
    def wake_spuriously(self, thread: Thread):
        """A thread runs that nobody signalled: Java allows it."""
        require(self.spurious_left > 0)
        require(self.stage[thread] == Stage.WAITING and thread not in self.signalled)
        self.spurious_left -= 1
        self.look_again(thread)

    def look_again(self, thread: Thread):
        """Go once through the loop of `allocate`."""
        if self.pool_closed:
            self.give_up(thread)
            self.end(thread)
        elif self.gather(thread, self.size[thread]):
            self.stage[thread] = Stage.HOLDING

    @action
    def time_out(self, thread: Thread):
        """A wait ends because its time has passed, perhaps just after the thread was signalled."""
        require(self.stage[thread] == Stage.WAITING and self.timeouts_left > 0)
        self.timeouts_left -= 1
        self.give_up(thread)
        self.end(thread)

    @action
    def deallocate(self, thread: Thread):
        """A buffer comes back, because its batch was answered."""
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
        """Nobody waits, so nothing need happen any more: only a state in which somebody waits can be a dead end."""
        require(all(self.stage[thread] != Stage.WAITING for thread in Thread))

    @invariant(says="{self.available()} of {self.memory} units are in the pool, the rest is not with the threads")
    def memory_is_conserved(self):
        """What is in the pool, what threads hold and what they have gathered is all the memory there is."""
        held = sum(self.size[thread] for thread in Thread if self.stage[thread] == Stage.HOLDING)
        gathered = sum(self.gathered[thread] for thread in Thread)
        return self.available() + held + gathered == self.memory

    @invariant(says="{thread} is in the line {self.waiters} too often, or not at all")
    def line_is_who_waits(self):
        """A thread is in the line once while it waits, else not."""
        return all(self.waiters.count(thread) == (1 if self.stage[thread] == Stage.WAITING else 0) for thread in Thread)

    @invariant
    def first_in_line_knows(self):
        """If there is enough memory for the first in line, it has been signalled: no signal is ever lost."""
        if len(self.waiters) == 0:
            return True
        first = self.waiters[0]
        return first in self.signalled or self.size[first] - self.gathered[first] > self.available()

    @invariant(says="{thread} gathers memory and is not the first in line")
    def one_gathers_at_a_time(self):
        """Nobody but the first in line sets memory aside, so two cannot wait for each other's part."""
        return all(self.gathered[thread] == 0 or self.waiters[0] == thread for thread in Thread)

    @step_invariant
    def line_is_first_come(self, old):
        """Those who stay in line keep their order."""
        stayed = [thread for thread in old.waiters if thread in self.waiters]
        return self.waiters[: len(stayed)] == stayed

    @reachable
    def two_wait(self):
        """There is a line."""
        return len(self.waiters) == 2

    @reachable
    def memory_comes_in_parts(self):
        """Somebody waits with a part of what it needs."""
        return any(self.gathered[thread] > 0 for thread in Thread)

    @reachable
    def free_list_is_used(self):
        """A pooled buffer has come back and can be used again."""
        return self.free_buffers > 0


class TimedOutWaiterStaysInLine(BufferPool):
    """Before KAFKA-3651 (0.10.0): a wait that timed out left its condition in the line, and the next signal went to it.

    Source: Apache Kafka, BufferPool before commit 6856c5c214.
    """

    def give_up(self, thread: Thread):
        """Give back what was gathered, and stay in line."""
        self.non_pooled += self.gathered[thread]
        self.gathered[thread] = 0
        self.signalled.discard(thread)
        self.pass_signal_on()


class TimedOutWaiterKeepsItsPart(BufferPool):
    """Before KAFKA-4840 (0.11): a wait that timed out kept what it had gathered, and the pool shrank for good.

    Source: Apache Kafka, BufferPool before commit c43eb856d1.
    """

    def give_up(self, thread: Thread):
        """Forget what was gathered."""
        self.gathered[thread] = 0
        self.leave_line(thread)
        self.pass_signal_on()


class TimedOutWaiterSwallowsSignal(BufferPool):
    """Before KAFKA-4840 (0.11): only a successful `allocate` signalled the next in line.

    A signal that reached a thread whose time had just passed was gone.

    Source: Apache Kafka, BufferPool before commit c43eb856d1.
    """

    def give_up(self, thread: Thread):
        """Give back what was gathered, and tell nobody."""
        self.non_pooled += self.gathered[thread]
        self.gathered[thread] = 0
        self.leave_line(thread)


class EverybodyIsSignalled(BufferPool):
    """Not Kafka: everybody in line is signalled when memory comes back, instead of the first only.

    Then two threads may each gather a part, and each waits for the part of the other.
    """

    def signal_first_waiter(self):
        """Signal all."""
        self.signalled = set(self.waiters)


class CloseLeavesWaiters(BufferPool):
    """Before KAFKA-9449 (2.4.1): closing the producer did not reach a thread that waited for memory.

    Source: Apache Kafka, KafkaProducer.close and BufferPool before commit 80438f7b1a.
    """

    def close_pool(self):
        """Refuse further allocations, and signal nobody."""
        self.pool_closed = True


SMALL = dict(threads=3, memory=2, timeouts=1)
LARGER = dict(threads=3, memory=3, timeouts=2, allocations=2)
TWO_EACH = dict(threads=3, memory=2, allocations=2)
CLOSED = dict(threads=2, memory=1, closes=True, brokers_answer=False)

scenarios = [
    Scenario(
        BufferPool,
        "small",
        SMALL,
        deadlock=True,
        description="Three threads share two units; one wait times out: no memory is lost and nobody waits for ever.",
    ),
    Scenario(
        BufferPool, "larger", LARGER, deadlock=True, description="The same with more memory, time-outs and allocations."
    ),
    Scenario(
        BufferPool,
        "four_threads",
        dict(threads=4, memory=3, timeouts=2, allocations=2),
        deadlock=True,
        description="The same with four threads.",
    ),
    Scenario(
        BufferPool,
        "pooled_buffers_of_two_units",
        dict(threads=3, memory=5, pooled_size=2, timeouts=1),
        deadlock=True,
        description="Buffers of the pooled size are broken up for larger ones, and put together again.",
    ),
    Scenario(
        BufferPool,
        "closed_while_brokers_are_down",
        dict(threads=3, memory=2, closes=True, brokers_answer=False),
        properties=["memory_is_conserved", "line_is_who_waits", "first_in_line_knows", "two_wait"],
        deadlock=True,
        description="Everybody who waits for memory learns that the producer was closed.",
    ),
    Scenario(
        BufferPool,
        "spurious_wakeup",
        TWO_EACH | dict(spurious_wakeups=1),
        properties=["memory_is_conserved"],
        expect={"deadlock": 8},
        deadlock=True,
        description="The second in line wakes for no reason and takes a part: two threads wait for each other's part.",
    ),
    Scenario(
        TimedOutWaiterStaysInLine,
        "signal_to_nobody",
        SMALL,
        properties=["memory_is_conserved"],
        expect={"deadlock": 6},
        deadlock=True,
        description="Memory is returned, the signal goes to a thread that has left, and the next one waits forever.",
    ),
    Scenario(
        TimedOutWaiterKeepsItsPart,
        "pool_shrinks",
        SMALL,
        expect={"memory_is_conserved": 7},
        description="A thread gathers a part of what it needs, times out, and the part is gone.",
    ),
    Scenario(
        TimedOutWaiterSwallowsSignal,
        "signal_swallowed",
        SMALL,
        properties=["memory_is_conserved"],
        expect={"deadlock": 6},
        deadlock=True,
        description="Memory is returned as the first waiter times out; the next is not signalled and waits forever.",
    ),
    Scenario(
        EverybodyIsSignalled,
        "two_halves",
        TWO_EACH,
        properties=["memory_is_conserved"],
        expect={"deadlock": 10},
        deadlock=True,
        description="Two threads are signalled at once, each takes a half, and both wait for ever.",
    ),
    Scenario(
        CloseLeavesWaiters,
        "closed_while_brokers_are_down",
        CLOSED,
        properties=["memory_is_conserved"],
        expect={"deadlock": 4},
        deadlock=True,
        description="The producer is closed, no broker answers, and a thread waits for memory that never comes.",
    ),
]
