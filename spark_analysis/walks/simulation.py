"""Generation of random walks on Spark: executors write the parts of a run.

An executor compiles a configuration once. It returns only the numbers of the parts that it has written. Existing parts
are not generated again, so a repeated task or a resumed run continues with the missing parts.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from checker.errors import InputError, UserError
from checker.run import registry
from spark_analysis.job_errors import job_error
from spark_analysis.session import cores_of, opened
from traces.storage import Location, location_of
from traces.walks.records import WalkRun
from traces.walks.writing import close_run_folder, open_run_folder

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

TASKS_PER_CORE = 4
"""Number of tasks for each core. With several, a core that finishes early takes another task."""

_POLL_SECONDS = 0.1
_CANCEL_SECONDS = 30
_WRITTEN = "part int, error string"
_TAG = "tidemark-walks"


def simulate(
    run: WalkRun,
    folder: Location,
    *,
    master: str | None = None,
    partitions: int | None = None,
    cancelled: threading.Event | None = None,
    on_poll: Callable[[], None] = lambda: None,
    spark: SparkSession | None = None,
) -> bool:
    """Generate the missing walks of a run; return whether the run is complete.

    All executors must be able to write to `folder`: the URL of an object store, or a folder that they share.
    `partitions` is the number of Spark tasks. `on_poll` is called from this thread several times a second, the first
    time after Spark has started. `cancelled` is checked equally often and stops the run between two parts. `spark` is a
    session to use instead of a new one on `master`. Raises UserError if the folder holds something else, Spark cannot
    start, or a part cannot be written.
    """
    missing = open_run_folder(folder, run)
    if missing:
        stop = cancelled or threading.Event()
        if spark is not None:
            _walk(spark, run, folder, missing, partitions, stop, on_poll)
        else:
            with opened(master) as own:
                _walk(own, run, folder, missing, partitions, stop, on_poll)
    return close_run_folder(folder, run)


def _walk(
    spark: SparkSession,
    run: WalkRun,
    folder: Location,
    missing: list[int],
    partitions: int | None,
    cancelled: threading.Event,
    on_poll: Callable[[], None],
) -> None:
    if cancelled.is_set():
        return
    job = _Job(spark, run, folder, missing, partitions)
    job.start()
    try:
        while job.is_alive():
            job.join(_POLL_SECONDS)
            on_poll()
            if cancelled.is_set():
                break
    finally:
        job.cancel()
    if not cancelled.is_set():
        job.raise_error()


class _Job(threading.Thread):
    """The Spark job in a separate thread; the main thread shows progress and handles Ctrl-C."""

    def __init__(self, spark: SparkSession, run: WalkRun, folder: Location, missing: list[int], partitions: int | None):
        super().__init__(daemon=True)
        self._spark, self._missing = spark, missing
        cores = cores_of(spark)
        self._tasks = partitions or min(len(missing), TASKS_PER_CORE * cores if cores else len(missing))
        # An executor may run in another folder.
        shipped = dataclasses.replace(run, target=registry.absolute_target(run.target))
        self._function = partial(_write_parts, shipped, str(folder.absolute()), missing)
        self._rows: list[Any] = []
        self._error: Exception | None = None

    def run(self) -> None:
        """Write the parts; keep an error for `raise_error`."""
        try:
            # Of this thread: the tag marks the jobs that it starts.
            self._spark.addTag(_TAG)
            numbers = self._spark.range(0, len(self._missing), 1, self._tasks)
            self._rows = numbers.mapInArrow(self._function, _WRITTEN).collect()
        except Exception as error:
            self._error = error

    def cancel(self) -> None:
        """Cancel the job if it still runs, and wait for its end."""
        ends = time.monotonic() + _CANCEL_SECONDS
        # Repeat the request: Spark ignores it for a job that is not submitted yet.
        while self.is_alive() and time.monotonic() < ends:
            self._spark.interruptTag(_TAG)
            self.join(timeout=_POLL_SECONDS)

    def raise_error(self) -> None:
        """Raise InputError if a part was not written."""
        if self._error is not None:
            raise job_error(self._error, "generate the walks")
        for row in self._rows:
            if row.error is not None:
                raise InputError(row.error)


def _write_parts(
    run: WalkRun, folder: str, missing: list[int], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Write missing parts on an executor; permanent failures are returned so that Spark does not retry."""
    import pyarrow as pa

    from traces.walks.parts import write_walks_of_part

    for batch in batches:
        for position in batch.column(0).to_pylist():
            number, error = missing[position], None
            try:
                write_walks_of_part(run, location_of(folder), number)
            except UserError as raised:
                error = str(raised)
            except OSError as raised:
                error = f"{folder} cannot be written: {raised.strerror or raised}"
            yield pa.RecordBatch.from_arrays(
                [pa.array([number], pa.int32()), pa.array([error], pa.string())], ["part", "error"]
            )
