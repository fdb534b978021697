"""Validation of recorded traces on Spark: each task validates some of them and returns one row for each."""

from __future__ import annotations

import dataclasses
import gc
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.errors import InputError, UserError
from checker.run import registry
from spark_analysis.session import opened
from spark_analysis.validate.grouped_logs import grouped_traces
from traces.validate.events import UnparsedTrace, read_log
from traces.validate.task import RunningValidation, ValidationTask, unreadable
from traces.validate.totals import Row, ValidationTotals, verdict_row

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

VERDICTS = "verdicts.parquet"
"""File of the rows of all traces in the report's folder; see `traces.validate.totals.verdict_row`."""

TRACES = "trace string, file string, events array<string>, lines array<int>"
"""Input of a task: `events` as JSON with the line of each. If `events` is null, the task reads the file itself."""

_VERDICT = """trace string, file string, verdict string, constants string, events int, steps int, seen int, blank int,
widest int, line int, event string, candidates int, cause string, reasons array<string>, limits array<string>,
skipped string, violated string, tried string, caught string, survivors array<string>, unread array<string>,
message string"""

_TASKS_PER_CORE = 4
_BATCH = 1000


def validate_on_spark(
    task: ValidationTask,
    logs: tuple[Path, ...],
    by: str = "",
    *,
    master: str | None = None,
    out: Path | None = None,
    write: Callable[[Row], None] | None = None,
    spark: SparkSession | None = None,
) -> ValidationTotals:
    """Validate logs and return their totals; with the folder `out`, write a row for each trace to Parquet there.

    A log is a file of events (of many traces with `by`), or Parquet with the columns `trace` and `events`, a list of
    JSON texts. `write` is called with each row. `spark` is an open session to use, which stays open. Raises InputError
    if Parquet cannot be read, and the errors of `session`.
    """
    if spark is None:
        with opened(master, name="tidemark validate") as own:
            return validate_on_spark(task, logs, by, out=out, write=write, spark=own)
    task = dataclasses.replace(task, target=registry.absolute_target(task.target), mapping=_absolute(task.mapping))
    with _spark_errors_as_input_errors():
        verdicts = _traces(spark, logs, by).mapInArrow(lambda batches: _validated(task, batches), _VERDICT)
        rows = _kept(spark, verdicts, out)
        summary = ValidationTotals()
        for partial in rows.mapInArrow(_partial_totals, "summary string").collect():
            summary.merge(ValidationTotals.from_json(json.loads(partial.summary)))
        if write is not None:
            for row in rows.orderBy("trace", "file").toLocalIterator():
                write(row.asDict())
        return summary


def _kept(spark: SparkSession, verdicts: DataFrame, out: Path | None) -> DataFrame:
    """Return the rows of verdicts, which are computed once: from `out`, or else from the disks of the executors."""
    from pyspark import StorageLevel

    if out is None:
        return verdicts.persist(StorageLevel.DISK_ONLY)
    kept = str(out.resolve() / VERDICTS)
    verdicts.write.mode("overwrite").parquet(kept)
    return spark.read.parquet(kept)


def _absolute(name: str) -> str:
    """Return the name of a mapping with the whole path of its file: an executor may run in another folder."""
    path, ending, rest = name.partition(".py")
    return f"{Path(path + ending).resolve()}{rest}" if ending else name


@contextmanager
def _spark_errors_as_input_errors() -> Iterator[None]:
    """Raise errors of a Spark job as InputError with one sentence, for a truncated input or a full disk."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        text = str(error)
        file = re.search(r"(/[^\s:]*\.parquet)", text)
        if file is not None and "not a Parquet file" in text:
            raise InputError(f"{file.group(1)} is not a complete Parquet file") from None
        causes = re.findall(r"(?:Error|Exception): ([^\n]+)", text) or text.strip().splitlines()[:1]
        raise InputError(f"Spark could not validate the traces: {causes[-1]}") from None


# Input.


def _traces(spark: SparkSession, logs: tuple[Path, ...], by: str) -> DataFrame:
    """Return all traces, distributed over the tasks."""
    datasets = [path for path in logs if path.is_dir() or path.suffix == ".parquet"]
    files = [path for path in logs if path not in datasets]
    frames = [_dataset(spark, path) for path in datasets]
    if files and by:
        frames.append(grouped_traces(spark, files, by))
    elif files:
        rows = [(str(path), str(path.resolve()), None, None) for path in files]
        frames.append(spark.createDataFrame(rows, TRACES))
    traces = frames[0]
    for frame in frames[1:]:
        traces = traces.unionByName(frame)
    return traces.repartition(spark.sparkContext.defaultParallelism * _TASKS_PER_CORE)


def _dataset(spark: SparkSession, path: Path) -> DataFrame:
    from pyspark.errors import PySparkException
    from pyspark.sql import functions

    wanted = 'it needs the columns "trace" (text) and "events" (a list of JSON texts)'
    try:
        found = spark.read.parquet(str(path.resolve()))
    except PySparkException as error:
        raise InputError(f"{path} cannot be read as Parquet ({str(error).splitlines()[0][:200]}): {wanted}") from None
    types = dict(found.dtypes)
    if types.get("trace") != "string" or types.get("events") != "array<string>":
        shown = ", ".join(f"{name} {kind}" for name, kind in types.items())
        raise InputError(f"{path} has the columns {shown}: {wanted}")
    if "lines" not in types:
        found = found.withColumn("lines", functions.lit(None).cast("array<int>"))
    if "file" not in types:
        found = found.withColumn("file", functions.lit(str(path)))
    return found.select("trace", "file", "events", functions.col("lines").cast("array<int>").alias("lines"))


# On the executors.

_known: dict[str, RunningValidation] = {}
"""The validations of this worker process with their caches; a worker runs several tasks."""


def _validated(task: ValidationTask, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    from pyarrow import RecordBatch

    validation = _known.get(repr(task))
    if validation is None:
        validation = _known[repr(task)] = RunningValidation(task)
    for batch in batches:
        for start in range(0, batch.num_rows, _BATCH):
            rows = [_row(validation, found) for found in batch.slice(start, _BATCH).to_pylist()]
            # Cached objects live until the end: exclude them from garbage collection.
            gc.freeze()
            yield RecordBatch.from_pylist(rows, _arrow_schema())


def _row(validation: RunningValidation, found: dict[str, Any]) -> Row:
    """Validate one trace; an unreadable trace also gives a row."""
    name, file, texts = found["trace"], found["file"], found["events"]
    try:
        if texts is None:
            recorded = read_log(Path(file))
        else:
            recorded = UnparsedTrace(name, file, texts, found["lines"] or list(range(1, len(texts) + 1))).recorded()
    except UserError as error:
        return verdict_row(unreadable(name, file, error))
    outcome = validation.outcome(recorded)
    return verdict_row(outcome, validation.controls(recorded, outcome))


def _arrow_schema() -> pyarrow.Schema:
    """Return `_VERDICT` as an Arrow schema."""
    import pyarrow

    kinds = {"string": pyarrow.string(), "int": pyarrow.int32(), "array<string>": pyarrow.list_(pyarrow.string())}
    columns = [column.split() for column in _VERDICT.replace("\n", " ").split(",")]
    return pyarrow.schema([(name, kinds[kind]) for name, kind in columns])


def _partial_totals(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    from pyarrow import RecordBatch

    summary = ValidationTotals()
    for batch in batches:
        for row in batch.to_pylist():
            summary.add(row)
    yield RecordBatch.from_pylist([{"summary": json.dumps(summary.to_json())}])
