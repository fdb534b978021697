"""Surveys in parallel processes, with a cache and a progress line."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.sharedctypes import Synchronized
from typing import TYPE_CHECKING, TypeVar

from checker.language.spec import Spec
from checker.printable import quantity
from checker.run import process_pool
from checker.run.plan import ExplorationProgress
from kafka_tools.advise import pipeline_code
from kafka_tools.advise import survey as surveys
from kafka_tools.advise.answer_cache import AnswerCache
from kafka_tools.advise.survey import Explored, Found, ModelExploration, ModelExplorer, Survey, explorer_of

if TYPE_CHECKING:
    from checker.engines.native.shared_code import SharedCode

Returned = TypeVar("Returned")

_FEWEST_SURVEYS = 8
"""The number of surveys from which on processes save time: the start of one takes as long as most surveys."""

_MODULES = (
    "checker.engines.native.explore.lowered_spec",
    "checker.engines.native.explore.represented_traces",
    "checker.explain.failures",
)
"""Modules that explorations import when they first need them: this process does, and not each forked one."""

_TICK = 0.2
"""Seconds between two updates of the progress line."""


class ParallelExplorer:
    """Explores surveys in forked processes. `cache` may be None; `processes` is the largest number at a time."""

    many = False
    """Whether so many surveys follow that optimised machine code saves time. It is set before the first one."""

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
        with self._progress_line():
            answers = [surveys.run(survey, self._max_states, self._cancelled, self._from_cache) for survey in asked]
            left = [number for number, survey in enumerate(asked) if not self._is_whole(survey, answers[number])]
            if left:
                for name in _MODULES:
                    importlib.import_module(name)
            self._compile([explorer_of(asked[number].model).spec for number in left if asked[number].model.is_pipeline])

            def run(position: int, cancelled: threading.Event) -> Found:
                number = left[position]
                return surveys.run(
                    asked[number],
                    self._max_states,
                    cancelled,
                    lambda explorer, exploration: self._explore(explorer, exploration, cancelled),
                    answers[number],
                )

            for number, explored in zip(left, self._in_processes(len(left), run, _FEWEST_SURVEYS), strict=False):
                answers[number] = explored
        yield from answers

    def _is_whole(self, survey: Survey, known: Found) -> bool:
        return not any(surveys.explorations_of(survey, self._max_states, known))

    def _compile(self, specs: Sequence[Spec]) -> None:
        """Compile the code that some pipelines lack."""
        while (missing := pipeline_code.without_code(specs)) and not self._cancelled.is_set():

            def run(number: int, cancelled: threading.Event) -> SharedCode:
                return pipeline_code.compile_code(missing[number], for_many=self.many)

            for code in self._in_processes(len(missing), run, fewest=2):
                pipeline_code.add(code)

    def _in_processes(
        self, count: int, run: Callable[[int, threading.Event], Returned], fewest: int
    ) -> Iterator[Returned]:
        """Iterate over the results of some runs in forked processes; fewer than `fewest` stay in this process."""
        if count < fewest:
            yield from (run(number, self._cancelled) for number in range(count))
        else:
            yield from process_pool.results_in_order(count, min(self._processes, count), run, self._cancelled)

    def _from_cache(self, explorer: ModelExplorer, asked: ModelExploration) -> Explored | None:
        answer = None if self._cache is None else self._cache.load(explorer, asked)
        if answer is not None:
            self._count_exploration()
        return answer

    def _explore(self, explorer: ModelExplorer, asked: ModelExploration, cancelled: threading.Event) -> Explored:
        answer = explored(self._cache, explorer, asked, cancelled, _Counting(self._states))
        self._count_exploration()
        return answer

    def _count_exploration(self) -> None:
        with self._explorations.get_lock():
            self._explorations.value += 1

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
        # Processes are forked meanwhile, and a lock that this thread held would stay locked in them: the counters are
        # read without their locks, and the line is written without Python's buffer.
        states, explorations = self._states.get_obj(), self._explorations.get_obj()
        while not finished.wait(_TICK):
            seconds = time.monotonic() - started
            counts = f"{quantity(explorations.value, 'exploration')}, {quantity(states.value, 'state')}"
            self._write(f"{counts}, {seconds:.0f} s (Ctrl-C shows the answers so far)")
        self._write("")

    def _write(self, line: str) -> None:
        os.write(sys.stderr.fileno(), f"\r\x1b[K{line}".encode())


def explored(
    cache: AnswerCache | None,
    explorer: ModelExplorer,
    asked: ModelExploration,
    cancelled: threading.Event,
    on_progress: Callable[[ExplorationProgress], None] | None = None,
) -> Explored:
    """Return the result of an exploration from the cache, which may be None, or explore and store it there."""
    known = None if cache is None else cache.load(explorer, asked)
    if known is None:
        known = explorer.explore(asked, cancelled, on_progress)
        if cache is not None:
            cache.store(explorer, asked, known)
    return known


class _Counting:
    """Adds the states of one exploration to a counter that processes share."""

    def __init__(self, states: Synchronized[int]) -> None:
        self._states, self._counted = states, 0

    def __call__(self, progress: ExplorationProgress) -> None:
        with self._states.get_lock():
            self._states.value += progress.distinct_states - self._counted
        self._counted = progress.distinct_states
