"""Many runs at once: one process a core, each exploring with one worker, results in the order of the runs.

Compiling a spec is mostly Python, which threads of one process cannot share out.
"""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")

_cancelled = threading.Event()
"""Set in a worker process by Ctrl-C: its run ends and reports what it explored."""

_run: Callable[[int, threading.Event], Any] | None = None
"""In a worker process, what it runs; it came with the fork, since a closure cannot be sent."""


def in_order(
    count: int, processes: int, run: Callable[[int, threading.Event], Result], cancelled: threading.Event
) -> Iterator[Result]:
    """Yield `run(0, event)` to `run(count - 1, event)`, computed in forked processes; results must be picklable.

    Once `cancelled` is set no further run is begun; those under way see their own event set, and what they return is
    still yielded. An exception of a run is raised in its turn, and ends the iteration.
    """
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(processes, context, _begin, (run,)) as pool:
        # Few are handed out ahead, so that an interrupt leaves little to wait for.
        waiting: list[Future[Result]] = []
        following = 0
        try:
            while waiting or (following < count and not cancelled.is_set()):
                while following < count and len(waiting) < 2 * processes and not cancelled.is_set():
                    waiting.append(pool.submit(_call, following))
                    following += 1
                yield waiting.pop(0).result()
        finally:
            pool.shutdown(cancel_futures=True)


def _begin(run: Callable[[int, threading.Event], Any]) -> None:
    global _run
    _run = run

    def cancel(number: int, frame: FrameType | None) -> None:
        _cancelled.set()

    signal.signal(signal.SIGINT, cancel)


def _call(number: int) -> Any:
    assert _run is not None
    return _run(number, _cancelled)
