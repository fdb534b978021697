"""Appending to the accumulator while memory is short: the double-checked append, the sender, flush and close."""

from checker.language import Constant, Drawing, Enum, Event, Lane, Map, Range, Scenario, Seq, SetOf
from checker.language.roles import action, invariant, reachable, require
from specs.producer.memory.buffer_pool import Pool, Thread
from specs.producer.values import Partition


class BatchId(Range):
    """A batch; there are at most as many batches as buffers."""

    low, high = 0, "memory - 1"


class At(Enum):
    """The position of a thread in `send`."""

    OUTSIDE = "outside"
    WITHOUT_BATCH = "without batch"  # the first try found no room: a buffer is needed
    WAITING = "waiting"  # for memory
    WITH_BUFFER = "with buffer"
    IN_QUEUE = "in queue"  # the second try: the thread has the queue's lock and the producer was open


class Flush(Enum):
    """The state of a call of `flush`."""

    NOT_CALLED = "not called"
    WAITING = "waiting"
    DONE = "done"


class Closing(Enum):
    """The state of a call of `close`. FORCED: its timeout has passed, and the sender aborts the remaining batches."""

    OPEN = "open"
    CLOSING = "closing"
    FORCED = "forced"
    CLOSED = "closed"


class Sender(Enum):
    """The state of the sender thread. ABORTING to STOPPED are the forced close: copy and abort the incomplete batches.

    The sender repeats this while a thread is appending (AGAIN), and once more after that (LAST). IN_CALLBACK: a
    callback of the application blocks the thread (`flush_and_close`).
    """

    RUNNING = "running"
    ABORTING = "aborting"
    AGAIN = "again"
    LAST = "last"
    STOPPED = "stopped"
    IN_CALLBACK = "in a callback"


class Append(Pool):
    """Threads send records to a bounded accumulator; a sender drains, completes and frees the batches.

    A thread that finds no room in the last batch of a queue releases the queue's lock, allocates a buffer, possibly
    after a wait, and tries again. If another thread has created the batch, the buffer is returned. Each buffer is one
    unit of memory, and a batch has room for `batch_size` records. A batch that is not full waits for more records
    (linger.ms) for the whole run, unless `lingers` is off, so only the rules of `ready` can send it.

    Source: Apache Kafka, RecordAccumulator.append, appendNewBatch, batchReady, beginFlush, awaitFlushCompletion and
    abortIncompleteBatches, Sender.run, KafkaProducer.flush and close.
    """

    partitions = Constant(1, at_least=1)
    batch_size = Constant(2, at_least=1)
    sends = Constant(2, at_least=1)  # sends of each thread
    lingers = Constant(True)
    sender_sleeps = Constant(False)  # an idle sender sleeps until it is woken
    flushes = Constant(False)
    closes = Constant(False)
    close_timeout = Constant(False)  # whether the timeout of `close` may pass

    at = Map(Thread, At)
    to = Map(Thread, Partition)
    unsent = Map(Thread, Range(0, "sends"))
    settled = Range(0, "threads * sends")  # records with a complete future or an exception

    queue = Map(Partition, Seq(BatchId, "memory"))
    records = Map(BatchId, Range(0, "batch_size"))  # 0: the batch does not exist
    in_flight = SetOf(BatchId)

    sender = Sender
    asleep = bool
    to_abort = SetOf(BatchId)
    flush_state = Flush
    flush_awaits = SetOf(BatchId)
    appended_before_flush = SetOf(BatchId)
    closing = Closing

    draws = Drawing(
        Lane("thread", each=Thread, facts={"at": "in send", "unsent": "to send"}),
        Lane("accumulator", boxes={"queue": "queue", "flush_awaits": "flush waits for"},
            facts={"flush_state": "flush", "closing": "close", "records": "records of batches"}),
        Lane("sender", boxes={"in_flight": "in flight"}, facts={"sender": "thread"}),
    ).with_events(
        Event("init", "No thread has sent a record"),
        Event("send", "{thread} calls send for partition {partition}", "send", "thread"),
        Event("allocate", "{thread} allocates a buffer", "", "thread"),
        Event("time_out", "max.block.ms passes: send of {thread} throws", "timeout", "thread", "timeout"),
        Event("try_again", "{thread} has a buffer, and takes the lock of the queue", "", "thread"),
        Event("append", "{thread} appends its record to a batch", "append", "thread"),
        Event("drain", "The sender sends batch {queue[partition][0]}", "sends batch", "'sender'"),
        Event("answer", "A broker answers batch {batch}, which is complete", "answer", "'sender'"),
        Event("flush", "A thread calls flush, which waits for batches {str(incomplete())}", "flush", "'accumulator'"),
        Event("end_flush", "flush returns", "flush returns", "'accumulator'"),
    )  # fmt: skip

    def init(self):
        super().init()
        for thread in Thread:
            self.unsent[thread] = self.sends

    # Queues and batches.

    def is_closed(self):
        """Return whether the accumulator is closed."""
        return self.closing != Closing.OPEN

    def is_locked(self, partition: Partition):
        """Return whether a thread has the lock of a partition's queue."""
        return any(self.at[thread] == At.IN_QUEUE and self.to[thread] == partition for thread in Thread)

    def has_room(self, partition: Partition):
        """Return whether the last batch of a queue takes another record."""
        length = len(self.queue[partition])
        return length > 0 and self.records[self.queue[partition][length - 1]] < self.batch_size

    def add_to_last_batch(self, partition: Partition):
        """Append a record to the last batch of a queue; wake the sender if the batch is now full."""
        batch = self.queue[partition][len(self.queue[partition]) - 1]
        self.records[batch] += 1
        if self.records[batch] == self.batch_size:
            self.asleep = False

    def add_batch(self, partition: Partition):
        """Append a new batch with one record, and wake the sender."""
        batch = min(batch for batch in BatchId if self.records[batch] == 0)
        self.records[batch] = 1
        self.queue[partition].append(batch)
        self.asleep = False

    def incomplete(self):
        """Return the batches with incomplete futures: in queues and in flight."""
        return {batch for batch in BatchId if self.records[batch] > 0}

    def complete(self, batch: BatchId):
        """Complete the futures of a batch, and free its buffer."""
        self.settled += self.records[batch]
        self.records[batch] = 0
        self.in_flight.discard(batch)
        self.flush_awaits.discard(batch)
        self.appended_before_flush.discard(batch)
        self.give_back(1)

    def append_is_in_progress(self):
        """Return whether a thread is inside RecordAccumulator.append."""
        return any(self.at[thread] != At.OUTSIDE for thread in Thread)

    # The application's threads.

    def refuse(self, thread: Thread):
        """End a `send` with an exception."""
        self.at[thread] = At.OUTSIDE
        self.to[thread] = 0
        self.settled += 1

    def leave(self, thread: Thread):
        """End a `send`: the record is in a batch."""
        self.at[thread] = At.OUTSIDE
        self.to[thread] = 0

    def give_unused_buffer_back(self):
        """Return a buffer that is not needed."""
        self.give_back(1)

    def closed_at_second_try(self):
        """Return whether the second try finds the accumulator closed."""
        return self.is_closed()

    @action
    def send(self, thread: Thread, partition: Partition):
        """A thread sends: the first try appends to the last batch if it has room and the queue is not locked."""
        require(self.at[thread] == At.OUTSIDE and self.unsent[thread] > 0 and not self.is_locked(partition))
        self.unsent[thread] -= 1
        if self.is_closed():
            self.settled += 1
        elif self.has_room(partition):
            self.add_to_last_batch(partition)
        else:
            self.at[thread] = At.WITHOUT_BATCH
            self.to[thread] = partition

    @action
    def allocate(self, thread: Thread):
        """A thread allocates a buffer, without the queue's lock."""
        require(self.at[thread] == At.WITHOUT_BATCH)
        if self.pool_closed:
            self.refuse(thread)
        elif self.take_at_once(1):
            self.at[thread] = At.WITH_BUFFER
        else:
            self.begin_waiting(thread)

    def begin_waiting(self, thread: Thread):
        """Join the queue for memory."""
        self.at[thread] = At.WAITING
        self.waiters.append(thread)

    @action
    def wake(self, thread: Thread):
        """A signalled thread runs and takes memory."""
        require(self.at[thread] == At.WAITING and thread in self.signalled)
        if self.pool_closed:
            self.give_up(thread)
            self.refuse(thread)
        elif self.gather(thread, 1):
            self.at[thread] = At.WITH_BUFFER

    @action
    def time_out(self, thread: Thread):
        """max.block.ms passes: `send` throws BufferExhaustedException."""
        require(self.at[thread] == At.WAITING and self.timeouts_left > 0)
        self.timeouts_left -= 1
        self.give_up(thread)
        self.refuse(thread)

    @action
    def try_again(self, thread: Thread):
        """The second try begins: the thread takes the queue's lock and tests whether the producer was closed."""
        require(self.at[thread] == At.WITH_BUFFER and not self.is_locked(self.to[thread]))
        if self.closed_at_second_try():
            self.give_back(1)
            self.refuse(thread)
        else:
            self.at[thread] = At.IN_QUEUE

    @action
    def append(self, thread: Thread):
        """The second try ends: the thread appends to a batch that another thread created, or to a new one."""
        require(self.at[thread] == At.IN_QUEUE)
        if self.has_room(self.to[thread]):
            self.add_to_last_batch(self.to[thread])
            self.give_unused_buffer_back()
        else:
            self.add_batch(self.to[thread])
        self.leave(thread)

    # The sender.

    def memory_is_short(self):
        """Return whether threads wait for memory, which makes every batch ready."""
        return len(self.waiters) > 0

    def is_ready(self, partition: Partition):
        """Return whether the first batch of a queue can be sent."""
        if len(self.queue[partition]) == 0:
            return False
        is_full = self.records[self.queue[partition][0]] == self.batch_size or len(self.queue[partition]) > 1
        is_pressed = self.is_closed() or self.flush_state == Flush.WAITING or self.memory_is_short()
        return is_full or is_pressed or not self.lingers

    @action
    def drain(self, partition: Partition):
        """The sender sends the first batch of a partition."""
        require(self.sender == Sender.RUNNING and not self.asleep and self.closing != Closing.FORCED)
        require(self.is_ready(partition) and not self.is_locked(partition))
        batch = self.queue[partition].pop(0)
        self.in_flight.add(batch)

    @action
    def answer(self, batch: BatchId):
        """A broker answers, which also wakes the sender."""
        require(self.sender == Sender.RUNNING and self.closing != Closing.FORCED and batch in self.in_flight)
        self.complete(batch)
        self.asleep = False

    @action
    def sleep(self):
        """The sender has nothing to send, and sleeps until it is woken or an answer arrives."""
        require(self.sender_sleeps and self.sender == Sender.RUNNING and not self.asleep)
        require(self.closing == Closing.OPEN and not any(self.is_ready(partition) for partition in Partition))
        self.asleep = True

    @action
    def stop(self):
        """After `close` the sender ends its loop when no batch is queued or in flight."""
        require(self.sender == Sender.RUNNING and self.closing == Closing.CLOSING)
        require(all(len(self.queue[partition]) == 0 and not self.is_locked(partition) for partition in Partition))
        require(len(self.in_flight) == 0)
        self.sender = Sender.STOPPED

    @action
    def copy_incomplete(self):
        """A forced close starts or repeats: the sender copies the list of incomplete batches, without a lock.

        A repetition without incomplete batches while a thread appends is not a step: it changes nothing.
        """
        require(self.closing == Closing.FORCED)
        require(self.sender == Sender.RUNNING or self.sender == Sender.AGAIN)
        require(self.sender == Sender.RUNNING or len(self.incomplete()) > 0 or not self.append_is_in_progress())
        self.to_abort = self.incomplete()
        self.sender = Sender.ABORTING

    @action
    def abort(self):
        """The sender aborts the copied batches, under their queues' locks, then tests whether a thread is appending."""
        require(self.sender == Sender.ABORTING)
        require(all(not self.is_locked(partition) for partition in Partition) or len(self.to_abort) == 0)
        self.abort_all()
        self.sender = Sender.AGAIN if self.must_abort_again() else self.after_aborting()

    def must_abort_again(self):
        """Return whether the forced close has to repeat."""
        return self.append_is_in_progress()

    def after_aborting(self):
        """Return the sender's next state when no thread is appending: it aborts once more."""
        return Sender.LAST

    @action
    def abort_the_last(self):
        """No thread is appending any more: the sender aborts the last thread's batch and ends."""
        require(self.sender == Sender.LAST)
        self.to_abort = self.incomplete()
        self.abort_all()
        self.sender = Sender.STOPPED

    def abort_all(self):
        """Fail the futures of the copied batches, take the batches out of the queues, and free their buffers."""
        for partition in Partition:
            self.queue[partition] = [batch for batch in self.queue[partition] if batch not in self.to_abort]
        for batch in BatchId:
            if batch in self.to_abort:
                self.complete(batch)
        self.to_abort.clear()

    # Flush and close.

    def flushed_batches(self):
        """Return the batches that `flush` waits for: all incomplete ones, in flight or not."""
        return self.incomplete()

    @action
    def flush(self):
        """A thread calls `flush`, which makes every batch ready and waits for those that are incomplete now."""
        require(self.flushes and self.flush_state == Flush.NOT_CALLED)
        self.flush_state = Flush.WAITING
        self.flush_awaits = self.flushed_batches()
        self.appended_before_flush = self.incomplete()
        self.asleep = False

    @action
    def end_flush(self):
        """`flush` returns."""
        require(self.flush_state == Flush.WAITING and len(self.flush_awaits) == 0)
        self.flush_state = Flush.DONE

    @action
    def close(self):
        """A thread calls `close`: appends are refused, threads that wait for memory and the sender are woken."""
        require(self.closes and self.closing == Closing.OPEN)
        self.closing = Closing.CLOSING
        self.close_pool()
        self.asleep = False

    @action
    def close_times_out(self):
        """The timeout of `close` passes before the sender has stopped."""
        require(self.close_timeout and self.closing == Closing.CLOSING and self.sender != Sender.STOPPED)
        self.closing = Closing.FORCED
        self.asleep = False

    @action
    def end_close(self):
        """`close` returns, because the sender has stopped."""
        require(self.sender == Sender.STOPPED and self.closing != Closing.CLOSED)
        self.closing = Closing.CLOSED

    @action
    def rest(self):
        """No thread waits. This step keeps such a state from being a dead end."""
        require(not self.append_is_in_progress() and self.flush_state != Flush.WAITING)
        require(self.closing == Closing.OPEN or self.closing == Closing.CLOSED)

    # Properties.

    @invariant(says="{self.available()} of {self.memory} buffers are in the pool, and the rest is lost")
    def memory_is_conserved(self):
        """Each buffer is in the pool, in a batch, or held by a thread."""
        with_threads = sum(
            1 for thread in Thread if self.at[thread] == At.WITH_BUFFER or self.at[thread] == At.IN_QUEUE
        )
        return self.available() + with_threads + len(self.incomplete()) == self.memory

    @invariant
    def every_send_is_accounted_for(self):
        """Each record is unsent, in a pending `send`, in a batch, or settled."""
        unsent = sum(self.unsent[thread] for thread in Thread)
        on_the_way = sum(1 for thread in Thread if self.at[thread] != At.OUTSIDE)
        in_batches = sum(self.records[batch] for batch in BatchId)
        return unsent + on_the_way + in_batches + self.settled == self.threads * self.sends

    @invariant(says="the sender has stopped, and the futures of batch {batch} never complete")
    def every_future_is_completed(self):
        """When the sender has stopped, every appended record has succeeded or failed."""
        return all(self.sender != Sender.STOPPED or self.records[batch] == 0 for batch in BatchId)

    @invariant(says="flush returned before batches {self.appended_before_flush} were complete")
    def flush_completes_earlier_batches(self):
        """When `flush` returns, every batch that had records at its call is complete."""
        return self.flush_state != Flush.DONE or len(self.appended_before_flush) == 0

    @reachable
    def thread_waits_for_memory(self):
        """A thread waits for memory."""
        return len(self.waiters) > 0

    @reachable
    def another_thread_made_the_batch(self):
        """A thread with a buffer finds room in a batch that another thread has created."""
        return any(self.at[thread] == At.IN_QUEUE and self.has_room(self.to[thread]) for thread in Thread)

    @reachable
    def everything_is_answered(self):
        """All records are settled while the producer is open."""
        return self.settled == self.threads * self.sends and self.closing == Closing.OPEN


SMALL = dict(threads=2, sends=2, memory=2)
LARGER = dict(threads=3, sends=2, memory=2)
ALWAYS = ["memory_is_conserved", "every_send_is_accounted_for", "every_future_is_completed",
    "flush_completes_earlier_batches"]  # fmt: skip
CLOSED = dict(threads=2, sends=1, memory=1, closes=True, close_timeout=True)

scenarios = [
    Scenario(Append, "small", SMALL, deadlock=True,
        description="Two threads share two buffers: no thread waits forever, and no buffer is lost."),
    Scenario(Append, "larger", LARGER, deadlock=True, description="The same with three threads."),
    Scenario(Append, "two_partitions", SMALL | dict(partitions=2, timeouts=1), deadlock=True,
        description="Two threads send to two partitions, and one wait for memory times out."),
    Scenario(Append, "flush", SMALL | dict(flushes=True, timeouts=1), deadlock=True,
        description="A thread flushes while others send and wait for memory: flush returns with every batch complete."),
    Scenario(Append, "close", SMALL | dict(closes=True), deadlock=True,
        description="The producer is closed while threads append and wait: each future completes, and close returns."),
    Scenario(Append, "close_with_timeout", SMALL | dict(closes=True, close_timeout=True, flushes=True), deadlock=True,
        description="The timeout of close passes: the rest is aborted, each future completes, flush and close return."),
    Scenario(Append, "flush_three_threads", dict(threads=3, sends=2, memory=3, partitions=2, timeouts=1, flushes=True),
        deadlock=True, description="Flush with three threads, three buffers and two partitions."),
    Scenario(Append, "close_three_threads", LARGER | dict(partitions=2, closes=True, close_timeout=True, flushes=True),
        deadlock=True,
        description="Flush and close, with or without its timeout, with three threads and two partitions."),
    Scenario(Append, "close_with_timeout_and_little_memory", CLOSED, properties=ALWAYS, deadlock=True,
        description="The same with one buffer, so that a thread waits for memory when the producer is closed."),
]  # fmt: skip
