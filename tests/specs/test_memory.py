"""The producer's memory step by step: the cases of Kafka's BufferPoolTest and RecordAccumulatorTest."""

import pytest

from checker.errors import SpecError
from checker.language import BoundsError
from checker.testing import is_enabled, play
from specs.producer.memory.append import Append, Sender
from specs.producer.memory.buffer_pool import BufferPool
from specs.producer.memory.buffer_reuse import BufferFreedAtExpiry, BufferReuse


def available(spec, state):
    return state.non_pooled + state.free_buffers * spec.pooled_size


def shown(value):
    return str(value)


# The pool: BufferPoolTest.


def test_pooled_buffer_returns_to_the_free_list():
    """BufferPoolTest.testSimple: memory shrinks, grows again, and the buffer of the pooled size is kept for reuse."""
    spec = BufferPool(threads=1, memory=4, pooled_size=1, allocations=2)
    state = play(spec, "allocate t1 1")
    assert (state.non_pooled, available(spec, state)) == (3, 3)
    state = play(spec, "deallocate t1", state=state)
    assert (state.non_pooled, state.free_buffers, available(spec, state)) == (3, 1, 4)
    state = play(spec, "allocate t1 1", state=state)
    assert (state.non_pooled, state.free_buffers) == (3, 0)


def test_buffer_of_another_size_is_not_kept():
    """BufferPoolTest.testSimple, last part: a buffer that is not of the pooled size does not go to the free list."""
    spec = BufferPool(threads=1, memory=4, allocations=2)
    state = play(spec, "allocate t1 1", "deallocate t1", "allocate t1 2", "deallocate t1")
    assert (state.non_pooled, state.free_buffers, available(spec, state)) == (3, 1, 4)


def test_all_memory_can_be_allocated_and_no_more():
    """BufferPoolTest.testCantAllocateMoreMemoryThanWeHave: a request for more than all memory is refused."""
    spec = BufferPool(threads=1, memory=2)
    assert shown(play(spec, "allocate t1 2").stage) == "{t1: holding}"
    with pytest.raises((SpecError, BoundsError)):
        play(spec, "allocate t1 3")


def test_free_list_is_broken_up_for_a_large_buffer():
    """BufferPool.freeUp: pooled buffers make room for a larger one, no more of them than needed."""
    spec = BufferPool(threads=3, memory=6, pooled_size=2, allocations=2)
    state = play(spec, "allocate t1 2", "allocate t2 2", "allocate t3 2")
    state = play(spec, "deallocate t1", "deallocate t2", "deallocate t3", state=state)
    assert (state.non_pooled, state.free_buffers) == (0, 3)
    state = play(spec, "allocate t1 3", state=state)
    assert (state.non_pooled, state.free_buffers) == (1, 1)


def test_allocation_waits_for_returned_memory():
    """BufferPoolTest.testDelayedAllocation: a request for all memory waits until the last unit is returned."""
    spec = BufferPool(threads=2, memory=5)
    state = play(spec, "allocate t1 1", "allocate t2 5")
    assert shown(state.stage) == "{t1: holding, t2: waiting}"
    assert not is_enabled(spec, state, "wake t2")
    state = play(spec, "deallocate t1", "wake t2", state=state)
    assert shown(state.stage) == "{t1: outside, t2: holding}"
    assert available(spec, state) == 0


def test_wait_ends_without_a_buffer():
    """BufferPoolTest.testBufferExhaustedExceptionIsThrown, testBlockTimeout: a wait may time out."""
    spec = BufferPool(threads=2, memory=2, timeouts=1)
    state = play(spec, "allocate t1 1", "allocate t2 2", "time_out t2")
    assert shown(state.stage) == "{t1: holding, t2: outside}"


def test_timed_out_waiter_leaves_the_queue_and_returns_its_memory():
    """BufferPoolTest.testCleanupMemoryAvailabilityWaiterOnBlockTimeout (KAFKA-3651): no waiter, no memory lost."""
    spec = BufferPool(threads=2, memory=2, timeouts=1)
    state = play(spec, "allocate t1 1", "allocate t2 2", "time_out t2")
    assert len(state.waiters) == 0
    assert available(spec, state) == 1


def test_interrupted_waiters_leave_the_queue_in_any_order():
    """BufferPoolTest.testCleanupMemoryAvailabilityWaiterOnInterruption.

    First one of two waiters leaves, then the other.
    """
    spec = BufferPool(threads=3, memory=2, timeouts=2)
    state = play(spec, "allocate t1 1", "allocate t2 2", "allocate t3 2")
    assert shown(state.waiters) == "[t2, t3]"
    state = play(spec, "time_out t2", state=state)
    assert shown(state.waiters) == "[t3]"
    state = play(spec, "time_out t3", state=state)
    assert len(state.waiters) == 0


def test_failed_wait_returns_its_gathered_memory():
    """BufferPoolTest.testCleanupMemoryAvailabilityOnMetricsException (KAFKA-4840): its part is not lost."""
    spec = BufferPool(threads=3, memory=2, timeouts=1)
    state = play(spec, "allocate t1 1", "allocate t2 1", "allocate t3 2", "deallocate t1", "wake t3")
    assert (state.gathered.items_in_order()[2], available(spec, state)) == (1, 0)
    state = play(spec, "time_out t3", state=state)
    assert available(spec, state) == 1
    assert spec.holds("memory_is_conserved", state)


def test_late_signal_goes_to_the_next_waiter():
    """BufferPool.allocate, the outer `finally`: a waiter that times out just after its signal passes it on."""
    spec = BufferPool(threads=3, memory=2, timeouts=1)
    state = play(spec, "allocate t1 1", "allocate t2 2", "allocate t3 2", "deallocate t1")
    assert shown(state.signalled) == "{t2}"
    state = play(spec, "time_out t2", state=state)
    assert shown(state.signalled) == "{t3}"


def test_closed_pool_refuses_allocations_and_accepts_returned_buffers():
    """BufferPoolTest.testCloseAllocations: no allocation after close, but buffers can be returned."""
    spec = BufferPool(threads=2, memory=10, closes=True)
    state = play(spec, "allocate t1 1", "close", "allocate t2 1")
    assert shown(state.stage) == "{t1: holding, t2: outside}"
    assert available(spec, play(spec, "deallocate t1", state=state)) == 10


def test_close_wakes_every_waiting_thread():
    """BufferPoolTest.testCloseNotifyWaiters (KAFKA-9449): two threads wait, and close ends both waits."""
    spec = BufferPool(threads=3, memory=1, closes=True)
    state = play(spec, "allocate t1 1", "allocate t2 1", "allocate t3 1", "close", "wake t3", "wake t2")
    assert len(state.waiters) == 0
    assert shown(state.stage) == "{t1: holding, t2: outside, t3: outside}"
    assert available(spec, play(spec, "deallocate t1", state=state)) == 1


# The append, flush and close: RecordAccumulatorTest.


def append_batch(thread="t1", partition=0):
    return [f"send {thread} {partition}", f"allocate {thread}", f"try_again {thread}", f"append {thread}"]


def test_full_batch_is_ready_and_half_full_is_not():
    """RecordAccumulatorTest.testFull: nothing is ready until the batch is full; then it is drained."""
    spec = Append(sends=2)
    state = play(spec, *append_batch())
    assert not is_enabled(spec, state, "drain 0")
    state = play(spec, "send t1 0", "drain 0", state=state)
    assert shown(state.in_flight) == "{0}"


def test_linger_makes_a_batch_ready():
    """RecordAccumulatorTest.testLinger: a batch that is not full is sent once linger.ms has passed."""
    spec = Append(sends=2, lingers=False)
    assert is_enabled(spec, play(spec, *append_batch()), "drain 0")


def test_waiting_for_memory_makes_batches_ready():
    """RecordAccumulator.ready, `exhausted`: a thread that waits for memory makes a half full batch ready."""
    spec = Append(sends=1, partitions=2, memory=1)
    state = play(spec, *append_batch("t1", 0), "send t2 1")
    assert not is_enabled(spec, state, "drain 0")
    assert is_enabled(spec, play(spec, "allocate t2", state=state), "drain 0")


def test_second_try_uses_the_other_threads_batch():
    """RecordAccumulator.appendNewBatch: another thread has created the batch, so the buffer returns to the pool."""
    spec = Append(threads=2, memory=2)
    state = play(spec, "send t1 0", "send t2 0", "allocate t1", "allocate t2", "try_again t1", "append t1")
    assert available(spec, state) == 0
    state = play(spec, "try_again t2", "append t2", state=state)
    assert shown(state.records) == "{0: 2, 1: 0}"
    assert available(spec, state) == 1


def test_flush_makes_ready_and_waits_for_the_answer():
    """RecordAccumulatorTest.testFlush: a lingering batch is ready after flush; flush ends when it is complete."""
    spec = Append(flushes=True)
    state = play(spec, *append_batch(), "flush", "drain 0")
    assert not is_enabled(spec, state, "end_flush")
    assert is_enabled(spec, play(spec, "answer 0", state=state), "end_flush")


def test_flush_waits_for_batches_in_flight():
    """KafkaProducerTest.testFlushCompleteSendOfInflightBatches: flush also waits for a batch that was sent before."""
    spec = Append(flushes=True)
    state = play(spec, *append_batch(), "send t1 0", "drain 0", "flush")
    assert not is_enabled(spec, state, "end_flush")


def test_flush_does_not_wait_for_later_batches():
    """RecordAccumulator.awaitFlushCompletion waits for a copy of the incomplete batches, not for those added later."""
    spec = Append(flushes=True, batch_size=1)
    state = play(spec, *append_batch("t1"), "flush", *append_batch("t2"), "drain 0", "answer 0")
    assert is_enabled(spec, state, "end_flush")


def test_forced_close_aborts_everything_incomplete():
    """RecordAccumulatorTest.testAbortIncompleteBatches.

    Batches in queues and in flight fail, and their memory is returned.
    """
    spec = Append(closes=True, close_timeout=True, batch_size=1)
    state = play(spec, *append_batch("t1"), *append_batch("t2"), "drain 0", "close", "close_times_out")
    state = play(spec, "copy_incomplete", "abort", "abort_the_last", state=state)
    assert (state.settled, available(spec, state)) == (2, 2)
    assert state.sender == Sender.STOPPED


def test_close_drains_lingering_batches():
    """RecordAccumulator.batchReady, `closed`: after close the sender sends a half full batch before it ends."""
    spec = Append(closes=True)
    state = play(spec, *append_batch(), "close")
    assert not is_enabled(spec, state, "stop")
    assert is_enabled(spec, play(spec, "drain 0", "answer 0", state=state), "stop")


def test_send_after_close_is_refused():
    """RecordAccumulator.tryAppend: a record after close is refused, and its buffer is returned."""
    spec = Append(closes=True)
    state = play(spec, "send t1 0", "allocate t1", "close", "try_again t1")
    assert (state.settled, available(spec, state)) == (1, 2)


def test_forced_close_is_not_stuck_with_a_full_pool():
    """RecordAccumulator.abortIncompleteBatches, its second reason.

    Threads that are blocked on a full pool are released.
    """
    spec = Append(threads=2, sends=1, memory=1, partitions=2, closes=True, close_timeout=True)
    state = play(spec, *append_batch("t1", 0), "send t2 1", "allocate t2", "close", "close_times_out")
    state = play(spec, "copy_incomplete", "abort", state=state)
    assert not is_enabled(spec, state, "copy_incomplete")
    state = play(spec, "wake t2", "copy_incomplete", "abort", "abort_the_last", "end_close", state=state)
    assert (state.settled, available(spec, state)) == (2, 1)


# Expiry and reuse: KAFKA-19012.


def test_buffer_of_an_expired_batch_stays_until_the_answer():
    """Sender.failExpiredBatches since KAFKA-19012.

    After an expiry in flight, the buffer is free only after the request.
    """
    spec = BufferReuse(records=2)
    state = play(spec, "append 0 buf1", "send 0", "expire 0")
    assert not is_enabled(spec, state, "append 1 buf1")
    assert is_enabled(spec, play(spec, "write 0", "answer 0", state=state), "append 1 buf1")


def test_buffer_of_a_batch_that_expires_in_the_queue_is_free_at_once():
    """RecordAccumulatorTest.testExpiredBatches: a batch that was never sent returns its buffer when it expires."""
    spec = BufferReuse(records=2)
    assert is_enabled(spec, play(spec, "append 0 buf1", "expire 0"), "append 1 buf1")


def test_buffer_is_returned_once():
    """KAFKA-7501: an answer to a batch that has expired does not free its buffer a second time."""
    spec = BufferFreedAtExpiry(records=2)
    state = play(spec, "append 0 buf1", "send 0", "expire 0", "append 1 buf1", "write 0", "answer 0")
    assert len(state.free) == 0
