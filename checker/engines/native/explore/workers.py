"""Threads that run kernels on the shards, and interrupts deferred to the end of a round."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType, TracebackType

from checker.run.interrupts import SignalEvent

Work = Callable[[], None]


class Workers:
    """A fixed number of workers: the calling thread, and other threads that start when they are first needed."""

    # Not `concurrent.futures`: importing it takes a tenth of a short exploration, for it imports `logging`.

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError(f"{count} workers: at least one is needed")
        self.count = count
        self._others: list[_Worker] = []

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for other in self._others:
            other.end()

    def run(self, work: Work, in_parallel: bool) -> None:
        """Call `work` in every worker (`in_parallel`) or once; return, or raise its error, after all calls."""
        if not in_parallel or self.count == 1:
            work()
            return
        while len(self._others) < self.count - 1:
            self._others.append(_Worker(f"explorer-{len(self._others) + 1}"))
        for other in self._others:
            other.begin(work)
        errors: list[BaseException | None] = []
        try:
            work()
        finally:
            # Also if this thread failed: the others still write to the shards, so the memory must not be used or
            # released yet.
            errors += [other.finish() for other in self._others]
        for error in errors:
            if error is not None:
                raise error


class _Worker:
    """A thread that does one piece of work after the other."""

    def __init__(self, name: str) -> None:
        self._given: SimpleQueue[Work | None] = SimpleQueue()
        self._done: SimpleQueue[BaseException | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while (work := self._given.get()) is not None:
            try:
                work()
            except BaseException as error:
                self._done.put(error)
            else:
                self._done.put(None)

    def begin(self, work: Work) -> None:
        """Let the thread begin a piece of work."""
        self._given.put(work)

    def finish(self) -> BaseException | None:
        """Wait until the work has ended; return its error, or the interrupt that arrived meanwhile."""
        interrupt: BaseException | None = None
        while True:
            try:
                return self._done.get() or interrupt
            except KeyboardInterrupt as found:
                interrupt = found

    def end(self) -> None:
        """End the thread."""
        self._given.put(None)
        self._thread.join()


@contextmanager
def defer_interrupts() -> Iterator[threading.Event]:
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
