"""The walks of a run, read by Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from spark_analysis.job_errors import spark_errors_as_input_errors
from spark_analysis.local_paths import literal_path
from spark_analysis.report.partial_counts import (
    COLUMNS,
    KEYS,
    PASSED_COLUMNS,
    VIOLATION_COLUMNS,
    PartialCount,
    count_passes,
    partial_counts,
    violation_counts,
)
from spark_analysis.report.walk_source import (
    ROW_COLUMNS,
    Item,
    OutcomeSpacing,
    Result,
    StateGroup,
    actions_of,
    samplings_of,
)
from spark_analysis.session import cores_of
from spark_analysis.task_map import mapped, result_of
from spark_analysis.walks.records import SCHEMAS, STATES, VIOLATIONS, WALKS, WalkRun, part_path, read_parts
from spark_analysis.walks.state_tallies import largest_hash
from traces.storage import Location, RemotePath, location_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_TYPES = {pa.int32(): "INT", pa.int64(): "LONG", pa.binary(): "BINARY", pa.string(): "STRING"}
"""Spark's names of types of Parquet. It has no unsigned numbers, and reads them as decimals."""

_PARTIAL_COUNTS = """what INT, configuration INT, ending STRING, verdict STRING, property STRING, violated LONG,
length INT, reached LONG, conjunct INT, fingerprint LONG, instance INT, key LONG, walks LONG, takes LONG, first LONG"""

_TASKS_PER_CORE = 2


class SparkWalkSource:
    """The parts with some numbers of a run in a folder, which all executors can read."""

    def __init__(self, spark: SparkSession, folder: Location, run: WalkRun, parts: Sequence[int]):
        self._spark, self._folder, self._run, self._parts = spark, folder.absolute(), run, list(parts)
        self.samplings = samplings_of(folder, run, parts)

    def partial_counts(self) -> list[PartialCount]:
        """Return the counts of all walks."""
        from pyspark.sql import functions

        digests = sorted({each.spec_digest for each in self._run.configurations})
        with spark_errors_as_input_errors("count the walks"):
            rows = self._table(WALKS).select(*COLUMNS)
            count = partial(partial_counts, digests, beyond=self._run.beyond, actions=actions_of(self._run))
            counted = rows.mapInArrow(count, _PARTIAL_COUNTS)
            if self._run.beyond:
                violations = self._table(VIOLATIONS).select(*VIOLATION_COLUMNS)
                counted = counted.unionAll(violations.mapInArrow(partial(violation_counts, digests), _PARTIAL_COUNTS))
                walks = self._table(WALKS).where("violated <> 0").select("walk", "length", "actions")
                violating = violations.join(walks, "walk").select(*PASSED_COLUMNS)
                passed = partial(count_passes, digests, actions_of(self._run))
                counted = counted.unionAll(violating.mapInArrow(passed, _PARTIAL_COUNTS))
            sums = functions.sum("walks"), functions.sum("takes"), functions.min("first")
            return [PartialCount(*row) for row in counted.groupBy(*KEYS).agg(*sums).collect()]

    def state_groups(self) -> list[StateGroup]:
        """Return the counts of all sampled states."""
        from pyspark.sql import functions

        with spark_errors_as_input_errors("count the states"):
            table = self._table(STATES).where(self._is_sampled())
            sums = functions.sum("walks").alias("walks"), functions.min("first_walk").alias("first")
            table.groupBy("configuration", "state").agg(*sums).createOrReplaceTempView("states")
            grouped = self._spark.sql(f"""
                SELECT configuration, IF(first = 0, 0, length(bin(first))) AS power, count(*), sum(walks),
                       count_if(walks = 1), count_if(walks = 2)
                FROM (SELECT configuration, walks, first % {self._run.walks} AS first FROM states)
                GROUP BY configuration, power
            """)
            return [StateGroup(*row) for row in grouped.collect()]

    def _is_sampled(self) -> Column:
        from pyspark.sql import functions

        largest = {number: str(largest_hash(sampling)) for number, sampling in self.samplings.items()}
        limits = functions.create_map(*(functions.lit(item) for pair in largest.items() for item in pair))
        column = functions.col("state")
        return column <= limits[functions.col("configuration")].cast("DECIMAL(20, 0)")

    def violating_rows(self, spacings: Sequence[OutcomeSpacing], chosen: set[int]) -> list[dict[str, Any]]:
        """Return the violating walks, by column, of which the number is in `chosen` or a multiple of their spacing."""
        from pyspark.sql import functions

        keys = OutcomeSpacing._fields[:-1]
        schema = "configuration INT, verdict STRING, property STRING, violated LONG, spacing LONG"
        with spark_errors_as_input_errors("read the walks"):
            spaced = self._spark.createDataFrame([tuple(spacing) for spacing in spacings], schema)
            walks = self._table(WALKS).where("verdict <> 'holds'").select(*ROW_COLUMNS)
            joined = walks.join(functions.broadcast(spaced), list(keys))
            wanted = joined.where((joined.walk % joined.spacing == 0) | joined.walk.isin(sorted(chosen)))
            return [row.asDict() for row in wanted.select(*ROW_COLUMNS).collect()]

    def map(self, work: Callable[[Item], Result], items: Sequence[Item], doing: str) -> list[Result]:
        """Return `work(item)` for each item, in the order of the items."""
        if not items:
            return []
        with spark_errors_as_input_errors(doing):
            tasks = min(len(items), _TASKS_PER_CORE * cores_of(self._spark))
            return [result_of(row) for row in mapped(self._spark, work, items, tasks).collect()]

    def _table(self, kind: str) -> DataFrame:
        """Return the rows of a kind of parts; with the schema, Spark opens no part to plan the job."""
        schema = ", ".join(f"{field.name} {_type_name(field.type)}" for field in SCHEMAS[kind])
        if isinstance(self._folder, RemotePath):
            # Tasks read the parts themselves: Spark may lack the connector for this store.
            numbers = self._spark.createDataFrame([(number,) for number in self._parts], "number INT")
            return numbers.repartition(len(self._parts)).mapInArrow(reading(str(self._folder), kind), schema)
        reader = self._spark.read.schema(schema)
        if len(self._parts) == self._run.parts:
            return reader.parquet(literal_path(self._folder / kind))
        return reader.parquet(*(literal_path(f"{part_path(self._folder, kind, number)}") for number in self._parts))


def reading(folder: str, kind: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the work of a task that reads the parts with some numbers."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            paths = [part_path(location_of(folder), kind, number) for number in batch.column(0).to_pylist()]
            for table in read_parts(paths):
                yield from _as_spark_reads(table).to_batches()

    return read


def _as_spark_reads(table: pa.Table) -> pa.Table:
    """Return a table with the types that Spark gives to columns of Parquet."""
    names = [(field.name, _plain(field.type)) for field in table.schema]
    kinds = [(name, pa.decimal128(20, 0) if pa.types.is_uint64(kind) else kind) for name, kind in names]
    return table.cast(pa.schema(kinds))


def _type_name(kind: pa.DataType) -> str:
    return _TYPES.get(_plain(kind), "DECIMAL(20, 0)")


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a dictionary, and any other type as it is."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind
