"""The work of one level as a Spark job, or in the driver's process if it is small; and its interruption."""

from __future__ import annotations

import functools
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from checker.engines.native.kernels.batch import BatchCode
from checker.errors import OutputError, UserError
from spark_analysis.background_job import collected
from spark_analysis.explore.level_tasks import LevelWork, PartitionInput, TaskReport, damaged_runs, run_task
from spark_analysis.explore.row_files import CandidateFile, StoredRun
from spark_analysis.job_errors import job_error
from spark_analysis.session import LazySession, is_connected
from spark_analysis.task_map import mapped, result_of
from traces.storage import Location

_POLL_SECONDS = 0.2

CANDIDATES_BEFORE_SPARK, CANDIDATES_BEFORE_JOB = 1 << 20, 1 << 16
"""The number of candidates of a level above which Spark starts, and above which a started Spark gets a job.

Below, the driver processes the level itself. One core takes a second for a million candidates. The start of Java and of
Python workers takes 8 seconds of a core, a job about 0.1.
"""

DRIVER_PARTITIONS, DRIVER_STATES = 64, 1 << 22
"""The greatest number of partitions for which the driver processes a level itself, and of stored states once Spark has
started: the parts of runs that it maps into memory count as its own.
"""

CANDIDATES_IN_TASK = 1 << 16
"""A level has a task for about so many candidates, if its partitions are more."""

BYTES_TO_VERIFY = 1 << 28
"""The size of the states up to which the driver verifies a checkpoint itself."""

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Interrupted(Exception):  # noqa: N818 - not an error: the user stopped the run
    """The job was cancelled because the run was."""


@dataclass(frozen=True)
class LevelStep:
    """One step of an exploration: the fields of `LevelWork` that differ from level to level, and the partitions."""

    level: int
    inputs: list[PartitionInput]
    candidates: tuple[CandidateFile, ...] | None
    next_partitions: int | None
    state_mask: int
    step_mask: int


class Jobs:
    """Runs the jobs of one exploration.

    `durable`: the tasks on executors wait until their files are on the disk. The session starts at the first job.
    """

    def __init__(
        self, session: LazySession, code: BatchCode, folder: Location, cancelled: threading.Event, *, durable: bool
    ) -> None:
        self._session, self._code, self._folder = session, code, folder
        self._cancelled, self._durable = cancelled, durable
        self._token = secrets.token_hex(4)

    @property
    def cores(self) -> int:
        """The number of cores of the session."""
        return self._session.cores

    def run(self, step: LevelStep, candidates: int) -> tuple[list[TaskReport], bool]:
        """Process a level with a number of candidates; return the reports of its tasks in the order of partitions.

        Return also whether the new files are known to be on the disk.
        """
        inputs = step.inputs
        if self._is_for_driver(inputs, candidates):
            try:
                reports = [run_task(self._work(step, durable=False), inputs)]
            except OSError as error:
                raise OutputError(f"the states in {self._folder} cannot be processed: {error.strerror}") from None
            return _successful(reports), False
        work = self._work(step, durable=self._durable)
        tasks = min(len(inputs), max(self.cores, -(-candidates // CANDIDATES_IN_TASK)))
        bounds = [len(inputs) * task // tasks for task in range(tasks + 1)]
        groups = [inputs[start:end] for start, end in pairwise(bounds)]
        return _successful(self._on_executors(functools.partial(run_task, work), groups, step.level)), self._durable

    def _is_for_driver(self, inputs: list[PartitionInput], candidates: int) -> bool:
        if len(inputs) > DRIVER_PARTITIONS:
            return False
        if not self._session.is_started:
            return candidates <= CANDIDATES_BEFORE_SPARK
        stored = sum(run.count for given in inputs for run in given.runs)
        return candidates <= CANDIDATES_BEFORE_JOB and stored <= DRIVER_STATES

    def damaged_runs(self, runs: Sequence[StoredRun], row_bytes: int) -> list[str]:
        """Return the names of the runs whose files do not have the content that was written."""
        folder = str(self._folder)
        if sum(run.count for run in runs) * row_bytes <= BYTES_TO_VERIFY:
            return damaged_runs(folder, runs)
        groups = [runs[start :: 4 * self.cores] for start in range(min(len(runs), 4 * self.cores))]
        damaged = self._on_executors(functools.partial(damaged_runs, folder), groups, 0)
        return [name for names in damaged for name in names]

    def _work(self, step: LevelStep, *, durable: bool) -> LevelWork:
        return LevelWork(
            code=self._code,
            folder=str(self._folder),
            token=self._token,
            level=step.level,
            partitions=len(step.inputs),
            candidates=step.candidates,
            next_partitions=step.next_partitions,
            state_mask=step.state_mask,
            step_mask=step.step_mask,
            durable=durable,
        )

    def _on_executors(self, task: Callable[[Item], Answer], items: Sequence[Item], level: int) -> list[Answer]:
        """Return the answers of one task for each item, in their order."""
        spark, work = self._session.spark, f"explore level {level + 1}"
        if not is_connected(spark):
            return self._by_rdd(task, items, work)
        rows = collected(spark, lambda: mapped(spark, task, items, len(items)), work, self._cancelled)
        if rows is None:
            raise Interrupted
        return [result_of(row) for row in rows]

    def _by_rdd(self, task: Callable[[Item], Answer], items: Sequence[Item], work: str) -> list[Answer]:
        """Return the answers of one task for each item: without the planner of queries, which costs 5 s of a core."""
        context = self._session.spark.sparkContext
        try:
            with self._interruptible():
                return context.parallelize(items, len(items)).map(task).collect()
        except Exception as error:
            # Spark reports a cancelled job as an ordinary failure, so the event decides.
            if self._cancelled.is_set():
                raise Interrupted from None
            raise job_error(error, work) from error

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Cancel the jobs started within the block as soon as the run is cancelled."""
        context = self._session.spark.sparkContext
        group, done = f"exploration-{id(self)}", threading.Event()

        def watch() -> None:
            # Cancels again and again: a job that starts after the first call would not be cancelled by it.
            while not done.wait(_POLL_SECONDS):
                if self._cancelled.is_set():
                    context.cancelJobGroup(group)

        context.setJobGroup(group, "breadth-first exploration")
        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()


def _successful(reports: Sequence[TaskReport | UserError]) -> list[TaskReport]:
    """Return the reports; raise the first error among them."""
    for report in reports:
        if isinstance(report, UserError):
            raise report
    return [report for report in reports if isinstance(report, TaskReport)]
