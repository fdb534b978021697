"""Validation of recorded traces on Spark: each task validates some of them and writes one row for each."""

from __future__ import annotations

import dataclasses
import gc
import inspect
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.errors import InputError, UserError
from checker.frontend import compile_spec
from checker.ir.digest import digest_of
from checker.run import registry
from checker.run.scratch_folders import scratch_folder
from spark_analysis.background_job import collected
from spark_analysis.job_errors import spark_errors_as_input_errors
from spark_analysis.local_paths import literal_path
from spark_analysis.session import cores_of, master_url, opened
from spark_analysis.validate.grouped_logs import group_traces
from spark_analysis.validate.verdict_parts import VerdictParts, log_version, open_verdicts
from traces.storage import Location, RemotePath, files_below, local_copy, location_of
from traces.validate.events import UnparsedTrace, read_log
from traces.validate.task import RunningValidation, ValidationTask, load_mapping, unreadable
from traces.validate.totals import Row, ValidationTotals, verdict_row

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

TRACES = "trace string, file string, events array<string>, lines array<int>"
"""Input of a task: `events` as JSON with the line of each. If `events` is null, the task reads the file itself."""

_VERDICT = """trace string, file string, verdict string, constants string, events int, steps int, seen int, blank int,
widest int, line int, event string, candidates int, cause string, reasons array<string>, limits array<string>,
skipped string, violated string, unchecked array<string>, forgotten int, tried string, caught string,
survivors array<string>, unread array<string>, message string"""

_WRITTEN = "part int, summary string, error string"

_PARTS_PER_CORE = 4
"""Parts for each core: a core that finishes early takes another one."""

_BYTES_IN_PART, _MOST_PARTS = 4 << 20, 10_000
"""About the size of the logs of a part, of which the work is lost if its task dies; and the limit of their number."""

_BATCH = 1000

_WANTED = 'it needs the columns "trace" (text) and "events" (a list of JSON texts)'


def validate_on_spark(
    task: ValidationTask,
    logs: Sequence[Location],
    by: str = "",
    *,
    master: str | None = None,
    out: Location | None = None,
    write: Callable[[Row], None] | None = None,
    spark: SparkSession | None = None,
    cancelled: threading.Event | None = None,
) -> ValidationTotals:
    """Validate logs and return their totals; with the folder `out`, keep a row for each trace in Parquet there.

    A log is a file of events (of many traces with `by`), or Parquet with the columns `trace` and `events`, a list of
    JSON texts. The same validation into the same folder is resumed. `write` is called with each row. After `cancelled`
    is set, the totals are those of the parts that were finished. `spark` is an open session to use, which stays open.
    Raises InputError if Parquet cannot be read, and the errors of `session`.
    """
    if out is None:
        if not master_url(master).startswith("local"):
            raise InputError(
                "on a cluster, validate needs --out DIR: a folder or URL for the verdicts of all executors"
            )
        with scratch_folder("verdicts") as folder:
            options: dict[str, Any] = {"master": master, "write": write, "spark": spark, "cancelled": cancelled}
            return validate_on_spark(task, logs, by, out=folder, **options)
    if spark is None:
        with opened(master, name="tidemark validate") as own:
            return validate_on_spark(task, logs, by, out=out, write=write, spark=own, cancelled=cancelled)
    task = dataclasses.replace(task, target=registry.absolute_target(task.target), mapping=_absolute(task.mapping))
    cancelled = cancelled or threading.Event()
    files = [file for log in logs for file in _files_of(log)]
    parts = open_verdicts(out.absolute(), _identity(task, files, by), _number_of_parts(spark, files))
    before = parts.done()
    written = collected(spark, lambda: _write(spark, task, logs, by, parts, before), "validate the traces", cancelled)
    if written is not None:
        parts.remove_unfinished()
    summary = ValidationTotals()
    summary.is_interrupted = written is None
    for row in written or ():
        if row.error is not None:
            raise InputError(row.error)
        summary.merge(ValidationTotals.from_json(json.loads(row.summary)))
    for number in parts.done() if written is None else before:
        for verdict in parts.rows(number):
            summary.add(verdict)
    if write is not None:
        for verdict in parts.all_rows():
            write(verdict)
    return summary


def _files_of(log: Location) -> list[Location]:
    """Return the files of a log: the file itself, or all files of a data set, also those in its folders."""
    return files_below(log, "*") if log.is_dir() else [log]


def _number_of_parts(spark: SparkSession, files: Sequence[Location]) -> int:
    total = sum(file.size if isinstance(file, RemotePath) else file.stat().st_size for file in files)
    return min(_MOST_PARTS, max(_PARTS_PER_CORE * cores_of(spark), total // _BYTES_IN_PART))


def _identity(task: ValidationTask, files: Sequence[Location], by: str) -> dict[str, Any]:
    """Return what the verdicts depend on, as plain data."""
    validation = RunningValidation(task)
    constants = dict(validation.scenario.constants) if validation.scenario is not None else {}
    return {
        "task": dataclasses.asdict(task) | {"settings": dict(task.settings)},
        "spec": digest_of(compile_spec(validation.entry.spec(**(constants | dict(task.settings))))),
        "mapping": inspect.getsource(inspect.getmodule(type(load_mapping(task.mapping)))),  # type: ignore[arg-type]
        "by": by,
        "logs": [[str(file), log_version(file)] for file in files],
    }


def _absolute(name: str) -> str:
    """Return the name of a mapping with the whole path of its file: an executor may run in another folder."""
    path, ending, rest = name.partition(".py")
    return f"{Path(path + ending).resolve()}{rest}" if ending else name


def _write(
    spark: SparkSession,
    task: ValidationTask,
    logs: Sequence[Location],
    by: str,
    parts: VerdictParts,
    before: list[int],
) -> DataFrame:
    """Return the frame of which the rows report the parts that its tasks have written."""
    from pyspark.sql import functions

    with spark_errors_as_input_errors("read the traces"):
        traces = _traces(spark, logs, by)
        number = functions.pmod(functions.xxhash64("trace", "file"), functions.lit(parts.count)).cast("int")
        traces = traces.withColumn("part", number)
        if before:
            traces = traces.where(~functions.col("part").isin(before))
        traces = traces.repartition(parts.count, "part").sortWithinPartitions("part", "trace", "file")
        return traces.mapInArrow(partial(_write_parts, task, str(parts.folder), parts.count), _WRITTEN)


# Input.


def _traces(spark: SparkSession, logs: Sequence[Location], by: str) -> DataFrame:
    """Return all traces."""
    datasets = [path for path in logs if path.is_dir() or path.suffix == ".parquet"]
    files = [path for path in logs if path not in datasets]
    frames = [
        _remote_dataset(spark, path) if isinstance(path, RemotePath) else _dataset(spark, path) for path in datasets
    ]
    if files and by:
        frames.append(group_traces(spark, files, by))
    elif files:
        rows = [(str(path), str(path.resolve()), None, None) for path in files]
        frames.append(spark.createDataFrame(rows, TRACES))
    traces = frames[0]
    for frame in frames[1:]:
        traces = traces.unionByName(frame)
    return traces


def _remote_dataset(spark: SparkSession, path: RemotePath) -> DataFrame:
    """Return the traces of Parquet in a store, which the tasks read: Java may lack the classes for it."""
    rows = [(str(file),) for file in _files_of(path)]
    return spark.createDataFrame(rows, "file string").repartition(len(rows)).mapInArrow(_read_dataset, TRACES)


def _read_dataset(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow
    from pyarrow import parquet

    kinds = {"events": pyarrow.list_(pyarrow.string()), "lines": pyarrow.list_(pyarrow.int32())}
    names = ("trace", "file", "events", "lines")
    schema = pyarrow.schema([(name, kinds.get(name, pyarrow.string())) for name in names])
    for batch in batches:
        for name in batch.column(0).to_pylist():
            try:
                file = parquet.ParquetFile(local_copy(location_of(name)))
            except (pyarrow.ArrowException, OSError) as error:
                raise InputError(f"{name} cannot be read as Parquet ({str(error).splitlines()[0][:200]})") from None
            columns = file.schema_arrow.names
            if not {"trace", "events"} <= set(columns):
                raise InputError(f"{name} has the columns {', '.join(columns)}: {_WANTED}")
            for rows in file.iter_batches(_BATCH, columns=[column for column in columns if column in names]):
                given = {"file": name, "lines": None}
                yield pyarrow.RecordBatch.from_pylist([given | row for row in rows.to_pylist()], schema)


def _dataset(spark: SparkSession, path: Path) -> DataFrame:
    from pyspark.errors import PySparkException
    from pyspark.sql import functions

    try:
        # By default Spark leaves out the files of folders that are no partitions, without a word.
        frame = spark.read.option("recursiveFileLookup", "true").parquet(literal_path(path.resolve()))
    except PySparkException as error:
        raise InputError(f"{path} cannot be read as Parquet ({str(error).splitlines()[0][:200]}): {_WANTED}") from None
    types = dict(frame.dtypes)
    if types.get("trace") != "string" or types.get("events") != "array<string>":
        shown = ", ".join(f"{name} {kind}" for name, kind in types.items())
        raise InputError(f"{path} has the columns {shown}: {_WANTED}")
    if "lines" not in types:
        frame = frame.withColumn("lines", functions.lit(None).cast("array<int>"))
    if "file" not in types:
        frame = frame.withColumn("file", functions.lit(str(path)))
    return frame.select("trace", "file", "events", functions.col("lines").cast("array<int>").alias("lines"))


# On the executors.

_known: dict[str, RunningValidation] = {}
"""The validations of this worker process with their caches; a worker runs several tasks."""


def _write_parts(
    task: ValidationTask, folder: str, count: int, batches: Iterator[pyarrow.RecordBatch]
) -> Iterator[pyarrow.RecordBatch]:
    """Write the parts of a task; the rows of a part follow each other. Permanent failures are returned."""
    from pyarrow import RecordBatch

    parts = VerdictParts(location_of(folder), count)
    for number, rows in groupby(_validate(task, batches), key=itemgetter(0)):
        summary, error = ValidationTotals(), None
        try:
            _write_part(parts, number, [row for _, row in rows], summary)
        except UserError as raised:
            error = str(raised)
        except OSError as raised:
            error = f"{folder} cannot be written: {raised.strerror or raised}"
        written = {"part": number, "summary": json.dumps(summary.to_json()), "error": error}
        yield RecordBatch.from_pylist([written], _arrow_schema(_WRITTEN))


def _write_part(parts: VerdictParts, number: int, rows: list[Row], summary: ValidationTotals) -> None:
    from pyarrow import Table

    for row in rows:
        summary.add(row)
    parts.write(number, Table.from_pylist(rows, _arrow_schema(_VERDICT)))


def _validate(task: ValidationTask, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[tuple[int, Row]]:
    """Yield the number of the part and the row of each trace."""
    validation = _known.get(repr(task))
    if validation is None:
        validation = _known[repr(task)] = RunningValidation(task)
    for batch in batches:
        for start in range(0, batch.num_rows, _BATCH):
            for row in batch.slice(start, _BATCH).to_pylist():
                yield row["part"], _row(validation, row)
            # Cached objects live until the end: exclude them from garbage collection.
            gc.freeze()


def _row(validation: RunningValidation, row: dict[str, Any]) -> Row:
    """Validate one trace; an unreadable trace also gives a row."""
    name, file, texts = row["trace"], row["file"], row["events"]
    try:
        if texts is None:
            recorded = read_log(location_of(file))
        else:
            recorded = UnparsedTrace(name, file, texts, row["lines"] or list(range(1, len(texts) + 1))).recorded()
    except UserError as error:
        return verdict_row(unreadable(name, file, error))
    outcome = validation.outcome(recorded)
    return verdict_row(outcome, validation.controls(recorded, outcome))


def _arrow_schema(columns: str) -> pyarrow.Schema:
    """Return a schema of Spark as an Arrow schema."""
    import pyarrow

    kinds = {"string": pyarrow.string(), "int": pyarrow.int32(), "array<string>": pyarrow.list_(pyarrow.string())}
    pairs = [column.split() for column in columns.replace("\n", " ").split(",")]
    return pyarrow.schema([(name, kinds[kind]) for name, kind in pairs])
