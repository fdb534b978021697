"""Parallel runs in forked processes, with results in the order of the runs.

Processes and not threads: compiling a spec is mostly Python code, which threads of one process cannot run in parallel.
"""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from types import FrameType
from typing import Any, TypeVar

Returned = TypeVar("Returned")

_cancelled = threading.Event()
"""Set by Ctrl-C in a worker process: the run ends and reports what it explored."""

_run: Callable[[int, threading.Event], Any] | None = None
"""The function of a worker process. It is inherited through the fork, since a closure cannot be pickled."""


def results_in_order(
    count: int, processes: int, run: Callable[[int, threading.Event], Returned], cancelled: threading.Event
) -> Iterator[Returned]:
    """Iterate over `run(0, event)` to `run(count - 1, event)`, computed in forked processes; results must be picklable.

    After `cancelled` is set, no further run starts. The runs in progress see their event set, and their results are
    still returned. An exception of a run is raised in its place in the order, and ends the iteration.
    """
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(processes, context, _begin, (run,)) as pool:
        # Only a few runs are submitted in advance, so that an interrupt does not wait for many.
        waiting: list[Future[Returned]] = []
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
