"""A Spark job in a thread of its own, so that the main thread shows progress and handles Ctrl-C."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from spark_analysis.job_errors import job_error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_POLL_SECONDS = 0.1
_CANCEL_SECONDS = 30


def collected(
    spark: SparkSession,
    frame: Callable[[], DataFrame],
    work: str,
    cancelled: threading.Event,
    on_poll: Callable[[], None] = lambda: None,
) -> list[Any] | None:
    """Return the rows of a frame; None if the job was cancelled before its end.

    `frame` makes it, in the thread of the job. `on_poll` is called from this thread several times a second. Raises
    UserError if the job fails, with the name of its work.
    """
    if cancelled.is_set():
        return None
    job = _BackgroundJob(spark, frame)
    job.start()
    try:
        while job.is_alive() and not cancelled.is_set():
            job.join(_POLL_SECONDS)
            on_poll()
    finally:
        job.cancel()
    if job.rows is None and cancelled.is_set():
        return None
    if isinstance(job.error, Exception):
        raise job_error(job.error, work) from None
    return job.rows


class _BackgroundJob(threading.Thread):
    """The thread of a job: its rows, or its error."""

    def __init__(self, spark: SparkSession, frame: Callable[[], DataFrame]) -> None:
        super().__init__(daemon=True)
        self._spark, self._frame, self._tag = spark, frame, f"tidemark-{id(self)}"
        self.rows: list[Any] | None = None
        self.error: Exception | None = None

    def run(self) -> None:
        """Run the job."""
        try:
            # Of this thread: it marks the jobs that the thread starts.
            self._spark.addTag(self._tag)
            self.rows = self._frame().collect()
        except Exception as error:
            self.error = error

    def cancel(self) -> None:
        """Cancel the job if it still runs, and wait for its end."""
        ends = time.monotonic() + _CANCEL_SECONDS
        # Repeat the request: Spark ignores it for a job that is not submitted yet.
        while self.is_alive() and time.monotonic() < ends:
            self._spark.interruptTag(self._tag)
            self.join(timeout=_POLL_SECONDS)
