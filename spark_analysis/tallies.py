"""Walks counted by Spark: every number that a report rests on, the same however the walks are partitioned.

Only integers are added and only sorted rows come back, so neither the order of partitions nor their number shows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from checker.language.errors import SpecError
from spark_analysis import contents
from spark_analysis.statistics import Saturation
from traces.walks import Run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Outcome(NamedTuple):
    """How many walks of a configuration ended alike; see the columns in `traces.walks`."""

    configuration: int
    ending: str
    verdict: str
    property: str | None
    violated: int
    length: int
    walks: int


class Shape(NamedTuple):
    """The violating walks of a configuration with one fingerprint and one last action instance.

    `walk` is the first of those that violate soonest, after `violated_at` steps.
    """

    configuration: int
    verdict: str
    property: str
    violated: int
    conjunct: int | None
    fingerprint: int
    instance: int | None
    walks: int
    violated_at: int
    walk: int


class Taken(NamedTuple):
    """How often an action instance was taken, in how many walks, and the first of them."""

    takes: int
    walks: int
    first: int


@dataclass(frozen=True)
class Growth:
    """The sampled states of a configuration; `first_met` maps n to those that one of the walks up to 2^n met first."""

    saturation: Saturation
    first_met: dict[int, int]


@dataclass(frozen=True)
class Tallies:
    """All counts; `foreign` are the walks of another version of the spec, which are not among the others."""

    outcomes: list[Outcome]
    reached: dict[int, dict[int, int]]
    shapes: list[Shape]
    taken: dict[int, dict[int, Taken]]
    states: dict[int, Growth]
    foreign: int = 0
    walks: dict[int, int] = field(default_factory=dict)


_OUTCOMES = """
    SELECT configuration, ending, verdict, property, violated, length, count(*) AS walks
    FROM walks GROUP BY ALL ORDER BY ALL
"""

_REACHED = "SELECT configuration, reached, count(*) AS walks FROM walks GROUP BY ALL ORDER BY ALL"

# The last two bytes of the actions are the last action instance, its low byte first.
_SHAPES = """
    SELECT configuration, verdict, property, violated, conjunct, CAST(fingerprint AS STRING) AS fingerprint,
           COALESCE(failed_instance,
                    CAST(conv(hex(substring(actions, -1, 1)) || hex(substring(actions, -2, 1)), 16, 10) AS INT)) AS instance,
           count(*) AS walks, min(struct(COALESCE(violated_at, length) AS at, walk)) AS soonest
    FROM walks WHERE verdict <> 'holds' GROUP BY ALL ORDER BY ALL
"""  # noqa: E501

_SATURATION = f"""
    SELECT configuration, count(*) AS sampled, sum(walks) AS visits, count_if(walks = 1) AS once, count_if(walks = 2) AS twice
    FROM counted WHERE what = {contents.STATE} GROUP BY configuration
"""  # noqa: E501

_GROWTH = f"""
    SELECT configuration, IF(number = 0, 0, length(bin(number))) AS power, count(*) AS states
    FROM (SELECT configuration, first % {{walks}} AS number FROM counted WHERE what = {contents.STATE}) GROUP BY ALL
"""

_TAKEN = f"""
    SELECT configuration, key, takes, walks, first FROM counted WHERE what = {contents.INSTANCE} ORDER BY ALL
"""


def tally(spark: SparkSession, run: Run, paths: Sequence[Path]) -> Tallies:
    """Count the walks in some parts; raise SpecError where a part is damaged within."""
    with _damage_in_words():
        everything = spark.read.parquet(*map(str, paths))
        digests = sorted({found.spec_digest for found in run.configurations})
        own = everything.where(everything.spec_digest.isin(digests))
        own.createOrReplaceTempView("walks")
        foreign = everything.where(~everything.spec_digest.isin(digests)).count()
        outcomes = [Outcome(*row) for row in _rows(spark, _OUTCOMES)]
        totals: dict[int, int] = defaultdict(int)
        for outcome in outcomes:
            totals[outcome.configuration] += outcome.walks
        reached: dict[int, dict[int, int]] = defaultdict(dict)
        for configuration, mask, walks in _rows(spark, _REACHED):
            reached[configuration][mask] = walks
        shapes = [_shape(*row) for row in _rows(spark, _SHAPES)]
        counted = _counted(own)
        try:
            taken, states = _taken(spark), _states(spark, run)
        finally:
            counted.unpersist()
    return Tallies(outcomes, dict(reached), shapes, taken, states, foreign, dict(totals))


def _shape(*row: Any) -> Shape:
    """Return a row of `_SHAPES`; the fingerprint comes as text, for Spark's numbers are signed."""
    configuration, verdict, name, violated, conjunct, fingerprint, instance, walks, (at, walk) = row
    return Shape(configuration, verdict, name, violated, conjunct, int(fingerprint), instance, walks, at, walk)


def rows_of(spark: SparkSession, walks: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Return the rows of some of the walks that `tally` has counted, by number; what a trace is made of."""
    columns = ("walk", "initial", "ending", "verdict", "property", "failed_instance", "actions")
    with _damage_in_words():
        found = spark.table("walks").where(spark.table("walks").walk.isin(list(walks))).select(*columns).collect()
    return {row["walk"]: row.asDict() for row in found}


def _counted(walks: DataFrame) -> DataFrame:
    """Return what the binary columns hold, counted, as the view `counted`."""
    from pyspark.sql import functions

    partial = walks.select(*contents.COLUMNS).mapInArrow(contents.counts, contents.SQL_SCHEMA)
    counted = partial.groupBy("what", "configuration", "key").agg(
        functions.sum("walks").alias("walks"),
        functions.sum("takes").alias("takes"),
        functions.min("first").alias("first"),
    )
    counted.persist()
    counted.createOrReplaceTempView("counted")
    return counted


def _taken(spark: SparkSession) -> dict[int, dict[int, Taken]]:
    found: dict[int, dict[int, Taken]] = defaultdict(dict)
    for configuration, instance, takes, walks, first in _rows(spark, _TAKEN):
        found[configuration][instance] = Taken(takes, walks, first)
    return dict(found)


def _states(spark: SparkSession, run: Run) -> dict[int, Growth]:
    first_met: dict[int, dict[int, int]] = defaultdict(dict)
    for configuration, power, states in sorted(_rows(spark, _GROWTH.format(walks=run.walks))):
        first_met[configuration][power] = states
    scale = 1 << run.sampling
    return {row[0]: Growth(Saturation(scale, *row[1:]), first_met[row[0]]) for row in sorted(_rows(spark, _SATURATION))}


def _rows(spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(query).collect()]


@contextmanager
def _damage_in_words() -> Iterator[None]:
    """Raise what Spark says of a part that it cannot read as a sentence."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        told = str(error)
        file = re.search(r"(/[^\s:]*part-\d+\.parquet)", told)
        if file is None:
            raise SpecError(f"Spark could not count the walks: {told.strip().splitlines()[0]}") from None
        raise SpecError(f"{file.group(1)} is damaged: remove it and simulate again") from None
