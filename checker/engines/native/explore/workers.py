"""Threads that run kernels on the shards, and interrupts deferred to the end of a round."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from checker.run.interrupts import SignalEvent

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


class Workers:
    """A fixed number of workers: the calling thread and the threads of a pool."""

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError(f"{count} workers: at least one is needed")
        self.count = count
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def run(self, work: Callable[[], None], in_parallel: bool) -> None:
        """Call `work` in every worker (`in_parallel`) or once; return, or raise its error, after all calls."""
        if not in_parallel or self.count == 1:
            work()
            return
        # Small explorations never need a second thread, and start faster without the import.
        from concurrent.futures import ThreadPoolExecutor, wait

        if self._pool is None:
            # One thread fewer than workers: the calling thread works too instead of waiting.
            self._pool = ThreadPoolExecutor(self.count - 1, "explorer")
        others = [self._pool.submit(work) for _ in range(1, self.count)]
        try:
            work()
        finally:
            # Also if this thread failed: the others still write to the shards, so the memory must not be used or
            # released yet.
            wait(others)
        for other in others:
            other.result()


@contextmanager
def deferred_interrupts() -> Iterator[threading.Event]:
    """Make Ctrl-C set the yielded event inside the block, instead of raising KeyboardInterrupt.

    This happens only in the main thread and if Python's own handler is installed; otherwise the event is never set.
    """
    interrupted = SignalEvent()

    def note(number: int, frame: FrameType | None) -> None:
        interrupted.set()

    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        # An embedding program's own handler stays in force, and only the main thread may install one.
        yield interrupted
        return
    previous = signal.signal(signal.SIGINT, note)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, previous)
