"""One level as one Spark job: expand, shuffle, insert; and its interruption."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from checker.language.errors import SpecError
from checker.native.batch import BatchCode
from spark_analysis.expansion import REPORTED, ROW, Work, expand, insert, rows_of
from spark_analysis.states import States

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SETTINGS = {
    # Rows that travel are large: the JVM must not gather thousands of them for Python.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "8",
    # A partition stays what it is, and rows are too few to be worth generating code for.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

_POLL_SECONDS = 0.2


class Interrupted(Exception):  # noqa: N818 - not an error: the run was asked to stop
    """The job was cancelled, as the run was."""


class Jobs:
    """Runs the jobs of one exploration in `partitions` partitions; a context, which gives back what Spark keeps."""

    def __init__(self, spark: SparkSession, code: BatchCode, folder: Path, partitions: int, cancelled: threading.Event):
        # A session of its own over the same context: settings of its own.
        self._spark = spark.newSession()
        for name, value in _SETTINGS.items():
            self._spark.conf.set(name, value)
        self._context = spark.sparkContext
        self._folder, self._partitions, self._cancelled = folder, partitions, cancelled
        self._code = self._context.broadcast(code)
        self._keys = _keys(self._spark, partitions)

    def __enter__(self) -> Jobs:
        return self

    def __exit__(self, *_: object) -> None:
        self._code.destroy()

    def initial(self, states: States, state_mask: int) -> list[dict[str, Any]]:
        """Insert the initial states, sorted by hash, as level 0, and return the reports of all partitions."""
        work = self._work(-1, state_mask, 0)
        empty = [(key, target, b"") for target, key in enumerate(self._keys)]
        rows = self._spark.createDataFrame([*rows_of(states, self._keys), *empty], ROW)
        return self._reports(work, rows)

    def level(self, level: int, state_mask: int, step_mask: int) -> list[dict[str, Any]]:
        """Expand a level, insert the next one, and return the reports of all partitions."""
        work = self._work(level, state_mask, step_mask)

        def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return expand(work, batches)

        rows = self._spark.range(0, self._partitions, 1, self._partitions).mapInArrow(task, ROW)
        return self._reports(work, rows)

    def _work(self, level: int, state_mask: int, step_mask: int) -> Work:
        return Work(self._code, str(self._folder), level, self._keys, state_mask, step_mask)

    def _reports(self, work: Work, rows: DataFrame) -> list[dict[str, Any]]:
        def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return insert(work, batches)

        inserted = rows.repartition(self._partitions, "key").mapInArrow(task, REPORTED)
        try:
            with self._interruptible():
                return [json.loads(row.report) for row in inserted.collect()]
        except Exception as error:
            if self._cancelled.is_set():
                raise Interrupted from None
            raise _failure(error, work.level) from error

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Cancel the jobs that are started within the block as soon as the run is to stop."""
        group, done = f"exploration-{id(self)}", threading.Event()

        def watch() -> None:
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


def _keys(spark: SparkSession, partitions: int) -> tuple[int, ...]:
    """Return for each partition a number that Spark's own hash sends to the task of the same number."""
    found: dict[int, int] = {}
    count = 16 * partitions
    while len(found) < partitions:
        for key, task in spark.range(0, count, 1, 1).selectExpr("id", f"pmod(hash(id), {partitions})").collect():
            found.setdefault(task, key)
        count *= 4
    return tuple(found[task] for task in range(partitions))


def _failure(error: Exception, level: int) -> SpecError:
    """Return why Spark gave up, from the last line of what a task raised."""
    causes = re.findall(r"^\s*(?:Caused by: )?((?:[\w.]*(?:Error|Exception))\b[^\n]*)", str(error), re.MULTILINE)
    cause = causes[-1].strip() if causes else str(error).strip().split("\n")[0]
    return SpecError(f"Spark gave up at level {level + 2} after several attempts: {cause}")
