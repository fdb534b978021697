"""Parallel runs in forked processes, with results in the order of the runs.

Processes and not threads: compiling a spec is mostly Python code, which threads of one process cannot run in parallel.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from multiprocessing.context import ForkContext, ForkProcess
from operator import itemgetter
from types import FrameType
from typing import Any, TypeVar

from checker.run.interrupts import SignalEvent, interrupt_workers

Returned = TypeVar("Returned")

_INTERRUPT_SECONDS = 0.5
"""The seconds between two interrupts of workers that do not end."""

_SIGNALS = {signal.SIGINT, signal.SIGTERM}
"""The signals that end a run."""

_FILES_OF_A_POOL, _FILES_OF_A_PROCESS = 8, 4
"""Upper bounds of the files that a pool opens: its queues and the pipe that wakes it, and those of each process."""

_cancelled = SignalEvent()
"""Set by Ctrl-C in a worker process: the run ends and reports what it explored."""

_AHEAD = 32
"""The runs that are submitted in advance, for each process: they go on while the first of them takes long."""

_run: Callable[[int, threading.Event], Any] | None = None
"""The function of a worker process. It is inherited through the fork, since a closure cannot be pickled."""


class _WorkerProcess(ForkProcess):
    """A worker process. The pool terminates the others when one has died."""

    def terminate(self) -> None:
        """Kill the process: it ignores SIGTERM."""
        self.kill()


class _WorkerContext(ForkContext):
    """Forks worker processes."""

    Process = _WorkerProcess


def results_in_order(
    count: int,
    processes: int,
    run: Callable[[int, threading.Event], Returned],
    cancelled: threading.Event,
    died: Callable[[int], Returned] | None = None,
) -> Iterator[Returned]:
    """Iterate over `run(0, event)` to `run(count - 1, event)`, as `run_numbered` does, up to the first gap."""
    for expected, (number, result) in enumerate(run_numbered(count, processes, run, cancelled, died)):
        if number != expected:
            return
        yield result


def run_numbered(
    count: int,
    processes: int,
    run: Callable[[int, threading.Event], Returned],
    cancelled: threading.Event,
    died: Callable[[int], Returned] | None = None,
) -> Iterator[tuple[int, Returned]]:
    """Iterate over the numbers below `count` with `run(number, event)`, computed in forked processes, from 0 on.

    Results must be picklable.

    After `cancelled` is set, no further run starts. The runs in progress see their event set, and their results are
    still returned; the other numbers are left out. An exception of a run is raised in its place, and ends the
    iteration. If the iteration ends before its last result, the runs in progress see their event set too.

    If a process dies, or is interrupted alone before a run, the first run that started and has no result is repeated in
    a new process. If that dies too, `died` gives the result of the run (default: BrokenProcessPool is raised). The
    other runs continue.
    """
    left: Sequence[int] = range(count)
    awaited = deque(left)
    ready: dict[int, Returned] = {}

    def in_their_turn() -> Iterator[tuple[int, Returned]]:
        while awaited and awaited[0] in ready:
            number = awaited.popleft()
            yield number, ready.pop(number)

    while left and not cancelled.is_set():
        try:
            for number, result in _run_pool(left, processes, run, cancelled):
                ready[number] = result
                yield from in_their_turn()
            break
        except BrokenProcessPool:
            if cancelled.is_set():
                break
        first, *left = [number for number in awaited if number not in ready]
        try:
            ready.update(_run_pool([first], 1, run, cancelled))
        except BrokenProcessPool:
            if died is None:
                raise
            ready[first] = died(first)
        yield from in_their_turn()
    yield from sorted(ready.items(), key=itemgetter(0))


def _run_pool(
    numbers: Sequence[int], processes: int, run: Callable[[int, threading.Event], Returned], cancelled: threading.Event
) -> Iterator[tuple[int, Returned]]:
    """Yield numbers with their results, in order; before BrokenProcessPool is raised, all that are there."""
    _require_files(_FILES_OF_A_POOL + _FILES_OF_A_PROCESS * processes)
    with ProcessPoolExecutor(processes, _WorkerContext(), _begin, (run,)) as pool:
        waiting: dict[int, Future[list[Returned]]] = {}
        left = deque(numbers)
        try:
            for number in numbers:
                while left and len(waiting) < _AHEAD * processes and not cancelled.is_set():
                    following = left.popleft()
                    with _signals_blocked():
                        waiting[following] = pool.submit(_call, following)
                if cancelled.is_set():
                    # Those that have not started never will.
                    waiting = {number: future for number, future in waiting.items() if not future.cancel()}
                if number not in waiting:
                    continue
                results = _result(waiting[number], cancelled)
                del waiting[number]
                if not results and not cancelled.is_set():
                    raise BrokenProcessPool("a worker process was interrupted, but not the command")
                yield from ((number, result) for result in results)
        except BrokenProcessPool:
            for number, future in waiting.items():
                if future.done() and not future.cancelled() and future.exception() is None:
                    yield from ((number, result) for result in future.result())
            raise
        finally:
            with _interrupting():
                pool.shutdown(cancel_futures=True)


def _result(future: Future[list[Returned]], cancelled: threading.Event) -> list[Returned]:
    """Return the answer of `_call`; after `cancelled` is set, interrupt the workers until they end.

    A signal alone may be lost: a process that is just being forked is not yet listed, or has no handler yet.
    """
    while not wait([future], timeout=_INTERRUPT_SECONDS).done:
        if cancelled.is_set():
            interrupt_workers()
    return future.result()


@contextmanager
def _interrupting() -> Iterator[None]:
    """While this holds, which waits for all workers, interrupt them again and again: nothing needs their results."""
    is_over = threading.Event()

    def interrupt() -> None:
        while not is_over.wait(_INTERRUPT_SECONDS):
            interrupt_workers()

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block the signals that end a run. A process that is forked meanwhile gets them when it has its handlers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _require_files(count: int) -> None:
    """Raise OSError unless this process can open some more files: a pool that cannot would wait for ever."""
    with ExitStack() as opened:
        for _ in range(count):
            opened.callback(os.close, os.open(os.devnull, os.O_RDONLY))


def end_with_parent() -> None:
    """Make this worker process end when its parent does, even if the parent is killed."""
    threading.Thread(target=_await_parent, daemon=True).start()


def _await_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "only worker processes wait for their parent"
    # Returns when the parent's end of a pipe is closed.
    parent.join()
    os._exit(1)


def _begin(run: Callable[[int, threading.Event], Any]) -> None:
    global _run
    _run = run
    # The objects of the parent stay alive: collections in this process need not visit, and so copy, them.
    gc.freeze()
    end_with_parent()

    def cancel(number: int, frame: FrameType | None) -> None:
        _cancelled.set()

    signal.signal(signal.SIGINT, cancel)
    # `timeout` and systemd terminate all processes of a command. The parent passes a termination on as an interrupt, so
    # that the run in progress is reported.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # Blocked since the fork: with the handlers of the parent, a signal would be lost or end this process half begun.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


def _call(number: int) -> list[Any]:
    """Return the result of a run as the only item of a list; an empty list if Ctrl-C came first."""
    assert _run is not None
    return [] if _cancelled.is_set() else [_run(number, _cancelled)]
