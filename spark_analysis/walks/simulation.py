"""Generation of random walks on Spark: executors write the parts of a run.

An executor compiles a configuration once. It returns only the numbers of the parts that it has written. Existing parts
are not generated again, so a repeated task or a resumed run continues with the missing parts.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from checker.errors import InputError, UserError
from checker.run import registry
from spark_analysis.background_job import collected
from spark_analysis.session import cores_of, opened
from spark_analysis.walks.records import WalkRun
from spark_analysis.walks.writing import close_run_folder, open_run_folder
from traces.storage import Location, location_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

TASKS_PER_CORE = 4
"""Number of tasks for each core. With several, a core that finishes early takes another task."""

_WRITTEN = "part int, error string"


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
    tasks = partitions or min(len(missing), TASKS_PER_CORE * cores_of(spark))
    # An executor may run in another folder.
    shipped = dataclasses.replace(run, target=registry.absolute_target(run.target))
    write = partial(_write_parts, shipped, str(folder.absolute()), missing)

    def frame() -> DataFrame:
        return spark.range(0, len(missing), 1, tasks).mapInArrow(write, _WRITTEN)

    for row in collected(spark, frame, "generate the walks", cancelled, on_poll) or ():
        if row.error is not None:
            raise InputError(row.error)


def _write_parts(
    run: WalkRun, folder: str, missing: list[int], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Write missing parts on an executor; permanent failures are returned so that Spark does not retry."""
    import pyarrow as pa

    from spark_analysis.walks.parts import write_walks_of_part

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
