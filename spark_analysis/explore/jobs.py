"""Exploration of one level by one Spark job (expand, shuffle, insert), and its interruption.

The driver processes a small level itself, with the functions of the tasks: to start a job takes longer.
"""

from __future__ import annotations

import functools
import json
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from checker.engines.native.batch import BatchCode
from checker.errors import InputError, UserError
from spark_analysis.explore.level_expansion import REPORTED, ROW, LevelTask, expand, insert, partition_rows, to_batch
from spark_analysis.explore.state_columns import StateColumns

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SETTINGS = {
    # Rows are large: the JVM must not collect thousands of them for Python.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "8",
    # Partitions must not be merged. Rows are too few for code generation to pay off.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

_POLL_SECONDS = 0.2

DRIVER_STATES, DRIVER_PARTITIONS = 4096, 64
"""Limits for a level that the driver processes: number of states, number of partitions."""


Reports = list[dict[str, Any]]


class Interrupted(Exception):  # noqa: N818 - not an error: the user stopped the run
    """The job was cancelled because the run was."""


class Jobs:
    """Runs the jobs of one exploration; a context manager that frees the broadcast code at the end."""

    def __init__(self, spark: SparkSession, code: BatchCode, folder: Path, partitions: int, cancelled: threading.Event):
        # A new session over the same context has separate settings.
        self._spark = spark.newSession()
        for name, value in _SETTINGS.items():
            self._spark.conf.set(name, value)
        self._context = spark.sparkContext
        self._folder, self._partitions, self._cancelled = folder, partitions, cancelled
        self._code = self._context.broadcast(code)

    def __enter__(self) -> Jobs:
        return self

    def __exit__(self, *_: object) -> None:
        self._code.destroy()

    def initial(self, states: StateColumns, state_mask: int) -> Reports:
        """Insert the initial states, sorted by hash, as level 0, and return the reports of all partitions."""
        work = self._work(-1, state_mask, 0, range(self._partitions))
        # Every partition gets a row, as in `expand`, and so writes a run even if it has no state.
        empty = [(key, target, b"") for target, key in enumerate(work.keys)]
        return _parsed(insert(work, iter([to_batch([*partition_rows(states, work.keys), *empty])])))

    def level(self, level: int, states: int, state_mask: int, step_mask: int) -> Reports:
        """Expand a level of `states` states, insert the next level, and return the reports of all partitions."""
        if states <= DRIVER_STATES and self._partitions <= DRIVER_PARTITIONS:
            work = self._work(level, state_mask, step_mask, range(self._partitions))
            return _parsed(insert(work, expand(work, iter([pa.record_batch({"id": range(self._partitions)})]))))
        return self._reports(self._work(level, state_mask, step_mask, self._keys))

    def _work(self, level: int, state_mask: int, step_mask: int, keys: Sequence[int]) -> LevelTask:
        return LevelTask(self._code, str(self._folder), level, tuple(keys), state_mask, step_mask)

    @functools.cached_property
    def _keys(self) -> tuple[int, ...]:
        return _keys(self._spark, self._partitions)

    def _reports(self, work: LevelTask) -> Reports:
        def expanding(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return expand(work, batches)

        def inserting(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return insert(work, batches)

        count = self._partitions
        # One row and one task per partition: the row with id p makes its task expand partition p.
        candidates = self._spark.range(0, count, 1, count).mapInArrow(expanding, ROW)
        # Spark sends a row by the hash of `key`. `_keys` has found a key for each task, as Spark has no repartition by
        # number.
        inserted = candidates.repartition(count, "key").mapInArrow(inserting, REPORTED)
        try:
            with self._interruptible():
                return [json.loads(row.report) for row in inserted.collect()]
        except Exception as error:
            # Spark reports a cancelled job as an ordinary failure, so the event decides.
            if self._cancelled.is_set():
                raise Interrupted from None
            raise _failure(error, work.level) from error

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Cancel the jobs started within the block as soon as the run is cancelled."""
        group, done = f"exploration-{id(self)}", threading.Event()

        def watch() -> None:
            # Cancels again and again: a job that starts after the first call would not be cancelled by it.
            while not done.wait(_POLL_SECONDS):
                if self._cancelled.is_set():
                    self._context.cancelJobGroup(group)

        self._context.setJobGroup(group, "breadth-first exploration")
        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()


def _parsed(batches: Iterator[pa.RecordBatch]) -> Reports:
    return [json.loads(report) for batch in batches for report in batch.column(0).to_pylist()]


def _keys(spark: SparkSession, partitions: int) -> tuple[int, ...]:
    """Return for each partition a key that Spark's hash sends to the task with the partition's number."""
    found: dict[int, int] = {}
    count = 16 * partitions
    while len(found) < partitions:
        for key, task in spark.range(0, count, 1, 1).selectExpr("id", f"pmod(hash(id), {partitions})").collect():
            found.setdefault(task, key)
        count *= 4
    return tuple(found[task] for task in range(partitions))


def _failure(error: Exception, level: int) -> UserError:
    """Return why Spark gave up, from the last line of a task's exception."""
    causes = re.findall(r"^\s*(?:Caused by: )?((?:[\w.]*(?:Error|Exception))\b[^\n]*)", str(error), re.MULTILINE)
    cause = causes[-1].strip() if causes else str(error).strip().split("\n")[0]
    return InputError(f"Spark gave up at level {level + 2} after several attempts: {cause}")
