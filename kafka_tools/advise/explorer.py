"""Surveys in parallel processes, with a cache and a progress line."""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.sharedctypes import Synchronized

from checker.run import process_pool
from checker.run.plan import ExplorationProgress
from kafka_tools.advise import survey as surveys
from kafka_tools.advise.answer_cache import AnswerCache
from kafka_tools.advise.survey import Explored, Found, PipelineExploration, PipelineExplorer, Survey

_TICK = 0.2
"""Seconds between two updates of the progress line."""


class ParallelExplorer:
    """Explores surveys in forked processes. `cache` may be None; `processes` is the largest number at a time."""

    def __init__(
        self, processes: int, max_states: int | None, cache: AnswerCache | None, cancelled: threading.Event
    ) -> None:
        self._processes, self._max_states = processes, max_states
        self._cache, self._cancelled = cache, cancelled
        # Shared with the forked processes, which add to them.
        context = multiprocessing.get_context("fork")
        self._states = context.Value("Q", 0)
        self._explorations = context.Value("Q", 0)
        self._shows = sys.stderr.isatty()

    def explore(self, asked: Sequence[Survey]) -> Iterator[Found]:
        """Yield the explorations of each survey, in order; after an interrupt they are fewer."""

        def run(number: int, cancelled: threading.Event) -> Found:
            return surveys.run(
                asked[number],
                self._max_states,
                cancelled,
                lambda explorer, exploration: self._explored(explorer, exploration, cancelled),
            )

        processes = max(1, min(self._processes, len(asked)))
        with self._progress_line():
            found = list(process_pool.results_in_order(len(asked), processes, run, self._cancelled))
        yield from found
        yield from ([] for _ in range(len(asked) - len(found)))

    def _explored(self, explorer: PipelineExplorer, asked: PipelineExploration, cancelled: threading.Event) -> Explored:
        found = None if self._cache is None else self._cache.load(explorer, asked)
        if found is None:
            found = explorer.explore(asked, cancelled, _Counting(self._states))
            if self._cache is not None:
                self._cache.store(explorer, asked, found)
        with self._explorations.get_lock():
            self._explorations.value += 1
        return found

    @contextmanager
    def _progress_line(self) -> Iterator[None]:
        """Show the progress on a terminal while the block runs."""
        if not self._shows:
            yield
            return
        finished = threading.Event()
        thread = threading.Thread(target=self._show, args=(finished,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            finished.set()
            thread.join()

    def _show(self, finished: threading.Event) -> None:
        started = time.monotonic()
        # The first wait outlasts the forks of the pool, so that no process is forked while this thread holds a lock.
        while not finished.wait(_TICK):
            counts = f"{self._explorations.value} explorations, {self._states.value:,} states"
            seconds = f"{time.monotonic() - started:.0f} s"
            print(f"\r\x1b[K{counts}, {seconds} (Ctrl-C shows the answers so far)", end="", file=sys.stderr, flush=True)
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class _Counting:
    """Adds the states of one exploration to a counter that processes share."""

    def __init__(self, states: Synchronized[int]) -> None:
        self._states, self._counted = states, 0

    def __call__(self, progress: ExplorationProgress) -> None:
        with self._states.get_lock():
            self._states.value += progress.distinct_states - self._counted
        self._counted = progress.distinct_states
