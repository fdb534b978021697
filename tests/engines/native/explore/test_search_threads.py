"""The threads of a search: all of them have ended their work when `run` returns or raises."""

import signal
import threading
import time

import pytest

from checker.engines.native.explore.workers import Workers


@pytest.mark.parametrize(("count", "in_parallel", "calls"), [(1, True, 1), (3, False, 1), (3, True, 3)])
def test_every_worker_does_the_work_once(count, in_parallel, calls):
    threads = []
    with Workers(count) as team:
        for _ in range(2):
            # Each waits for the others, so the threads differ.
            barrier = threading.Barrier(calls)
            team.run(lambda barrier=barrier: threads.append((barrier.wait(10), threading.get_ident())), in_parallel)
    assert len(threads) == 2 * calls
    assert len({thread for _, thread in threads}) == calls
    assert {thread for _, thread in threads} & {thread.ident for thread in threading.enumerate()} == {
        threading.get_ident()
    }


@pytest.mark.parametrize("fails_here", [True, False])
def test_an_error_is_raised_after_all_work(fails_here):
    ended = []

    def work():
        if (threading.current_thread() is threading.main_thread()) == fails_here:
            raise OSError("the work failed")
        time.sleep(0.1)
        ended.append(1)

    with Workers(2) as team:
        with pytest.raises(OSError, match="the work failed"):
            team.run(work, in_parallel=True)
        assert ended == [1]
        team.run(lambda: ended.append(2), in_parallel=True)
        assert ended == [1, 2, 2]


def test_an_interrupt_is_raised_after_all_work():
    ended = []

    def work():
        if threading.current_thread() is not threading.main_thread():
            time.sleep(0.1)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            time.sleep(0.2)
            ended.append(1)

    with Workers(3) as team:
        with pytest.raises(KeyboardInterrupt):
            team.run(work, in_parallel=True)
        assert ended == [1, 1]


def test_no_worker_is_refused():
    with pytest.raises(ValueError, match="at least one is needed"):
        Workers(0)
