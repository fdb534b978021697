"""Logs with many traces each, read and grouped by Spark: a field of the events names their trace."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from checker.data_files import open_data
from checker.errors import InputError
from spark_analysis.local_paths import literal_path
from traces.storage import MOST_LOG_BYTES, Location, RemotePath, location_of, read_location
from traces.validate.events import trace_name

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

_ROWS = 10_000

_NAMED = "trace string, file string, line int, text string, error string"


def group_traces(spark: SparkSession, files: Sequence[Location], by: str) -> DataFrame:
    """Return a row for each trace of some files: trace, file, events and the line number of each.

    Executors read the files: each a range of bytes of a file that all of them have under the same path, or a whole file
    of a store. Raises InputError for the first line that is no event with the field `by`, and for a file that cannot be
    read.
    """
    from pyspark import StorageLevel
    from pyspark.sql import functions

    local = [path for path in files if isinstance(path, Path)]
    remote = [path for path in files if isinstance(path, RemotePath)]
    for path in local:
        _require_readable(path)
    # By the shown name, which may be relative: errors and verdicts contain it.
    shown = {str(path.resolve()): str(path) for path in local}
    frames = [_lines(spark, list(shown)).mapInArrow(_Naming(by, shown), _NAMED)] if local else []
    if remote:
        frames.append(_remote_lines(spark, remote, by))
    named = reduce(lambda some, more: some.unionByName(more), frames).persist(StorageLevel.DISK_ONLY)
    wrong = named.where("error IS NOT NULL").orderBy("file", "line").head()
    if wrong is not None:
        raise InputError(wrong.error, file=wrong.file, line=wrong.line, text=wrong.text)
    in_order = functions.sort_array(functions.collect_list(functions.struct("line", "text")))
    grouped = named.groupBy("trace", "file").agg(in_order.alias("found"))
    return grouped.select(
        "trace", "file", functions.col("found.text").alias("events"), functions.col("found.line").alias("lines")
    )


def _require_readable(path: Path) -> None:
    try:
        open_data(path).close()
    except OSError as error:
        raise InputError(f"the log {path} cannot be read: {error.strerror}") from None


def _lines(spark: SparkSession, paths: list[str]) -> DataFrame:
    """Return the lines of files as bytes, with the number of each.

    Spark reads a large file in blocks. The number of a line is the number of lines in the blocks before, plus its place
    in its own block, whose rows have consecutive ids.
    """
    from pyspark.sql import Window, functions

    block = ["uri", "start"]
    rows = spark.read.option("lineSep", "\n").text([literal_path(path) for path in paths])
    lines = rows.select(
        functions.col("value").cast("binary").alias("bytes"),
        functions.col("_metadata.file_path").alias("uri"),
        functions.col("_metadata.file_block_start").alias("start"),
        functions.monotonically_increasing_id().alias("id"),
    )
    blocks = lines.groupBy(*block).agg(functions.min("id").alias("first"), functions.count("*").alias("lines"))
    before = Window.partitionBy("uri").orderBy("start").rowsBetween(Window.unboundedPreceding, -1)
    base = functions.coalesce(functions.sum("lines").over(before), functions.lit(0))
    numbered = lines.join(functions.broadcast(blocks.withColumn("base", base)), block)
    number = functions.col("base") + functions.col("id") - functions.col("first") + 1
    return numbered.select("uri", number.cast("int").alias("line"), "bytes")


def _remote_lines(spark: SparkSession, files: Sequence[RemotePath], by: str) -> DataFrame:
    """Return the rows of the lines of files in a store."""
    rows = [(str(path),) for path in files]
    frame = spark.createDataFrame(rows, "file string").repartition(len(rows))
    return frame.mapInArrow(partial(_read_lines, by), _NAMED)


def _read_lines(by: str, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow

    for batch in batches:
        for name in batch.column(0).to_pylist():
            lines = read_location(location_of(name), MOST_LOG_BYTES).split(b"\n")
            whole = lines if lines[-1] else lines[:-1]
            lines_of_file = [{"uri": name, "line": number, "bytes": text} for number, text in enumerate(whole, 1)]
            naming = _Naming(by, {name: name})
            for start in range(0, len(lines_of_file), _ROWS):
                yield from naming(iter([pyarrow.RecordBatch.from_pylist(lines_of_file[start : start + _ROWS])]))


class _Naming:
    """The work of a task: the name of each line's trace, or the error of the line.

    `shown` has the names to show, by the whole path of a local file and by the URL of one in a store.
    """

    def __init__(self, by: str, shown: dict[str, str]):
        self._by, self._shown = by, shown

    def __call__(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        texts = [(name, pyarrow.string()) for name in ("trace", "file", "text", "error")]
        schema = pyarrow.schema([*texts[:2], ("line", pyarrow.int32()), *texts[2:]])
        for batch in batches:
            rows = [self._row(each) for each in batch.to_pylist()]
            yield pyarrow.RecordBatch.from_pylist([row for row in rows if row is not None], schema)

    def _file(self, uri: str) -> str:
        """Return the name to show: that of a URL in a store, or that of the path of a `file:` URI."""
        if uri in self._shown:
            return self._shown[uri]
        path = os.path.realpath(unquote(urlsplit(uri).path))
        return self._shown.get(path, path)

    def _row(self, row: dict[str, Any]) -> dict[str, Any] | None:
        """Return the row of a line; None for a blank line."""
        file, line = self._file(row["uri"]), row["line"]
        try:
            text = row["bytes"].decode("utf-8-sig" if line == 1 else "utf-8")
        except UnicodeDecodeError as error:
            return {"file": file, "line": line, "text": "", "error": f"this is not text in UTF-8: {error.reason}"}
        if not text or text.isspace():
            return None
        try:
            return {"trace": trace_name(text, self._by, file, line), "file": file, "line": line, "text": text}
        except InputError as error:
            return {"file": file, "line": line, "text": error.text, "error": error.message}
