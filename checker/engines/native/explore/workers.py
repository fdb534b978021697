"""Threads that work on the shards, and interrupts that wait for them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from types import FrameType, TracebackType


class Workers:
    """A fixed number of workers: the calling thread is the first of them, the others are threads of a pool."""

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError(f"{count} workers: at least one is needed")
        self.count = count
        self._pool = ThreadPoolExecutor(count - 1, "explorer") if count > 1 else None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def run(self, work: Callable[[], None], in_parallel: bool) -> None:
        """Call `work` from every worker, or once; return, or raise, when all of them have ended."""
        others = [self._pool.submit(work) for _ in range(1, self.count)] if self._pool and in_parallel else []
        try:
            work()
        finally:
            wait(others)
        for other in others:
            other.result()


@contextmanager
def deferred_interrupts() -> Iterator[threading.Event]:
    """Within the block an interrupt from the keyboard sets the event that is yielded, instead of raising.

    Only in the main thread, and only where Python's own handler is installed; elsewhere the event is never set.
    """
    interrupted = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        interrupted.set()

    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield interrupted
        return
    previous = signal.signal(signal.SIGINT, note)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, previous)
