"""A function applied to items by the tasks of Spark, by DataFrames: Spark Connect has no other interface."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

Item = TypeVar("Item")
Result = TypeVar("Result")


def mapped(spark: SparkSession, work: Callable[[Item], Result], items: Sequence[Item], tasks: int) -> DataFrame:
    """Return a frame with a row for `work(item)` of each item, in their order, for `result_of`.

    `tasks` is the number of tasks, each for adjacent items. Work, items and results must be picklable.
    """
    # Each task gets all items, and builds only its own.
    pickled = [pickle.dumps(item) for item in items]

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                result = pickle.dumps(work(pickle.loads(pickled[number])))
                yield pa.RecordBatch.from_arrays([pa.array([result], pa.binary())], ["result"])

    return spark.range(0, len(pickled), 1, max(tasks, 1)).mapInArrow(run, "result BINARY")


def result_of(row: Row) -> Any:
    """Return the result in a row of `mapped`."""
    return pickle.loads(row["result"])
