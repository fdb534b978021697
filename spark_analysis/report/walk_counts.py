"""Counts of walks by Spark: the input of a report, independent of the partitioning of the walks.

Spark only adds integers, and results are sorted. Therefore the number and order of partitions have no effect.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from checker.errors import InputError
from spark_analysis.report import column_counts
from traces.walks.records import WalkRun
from traces.walks.statistics import Saturation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rows = list[tuple[Any, ...]]


class WalkFailure(NamedTuple):
    """A failure of walks: a violated property, or something that leaves its type's bounds (`is_error`)."""

    name: str
    is_error: bool


class WalkOutcome(NamedTuple):
    """The number of walks of a configuration with the same end; see the columns in `traces.walks.records`."""

    configuration: int
    ending: str
    verdict: str
    property: str | None
    violated: int
    length: int
    walks: int


class ViolationPattern(NamedTuple):
    """The violating walks of a configuration with one fingerprint and one last action instance.

    `walk` is the first of the walks with the earliest violation, which is after `violated_at` steps.
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


class ActionCount(NamedTuple):
    """The numbers of steps and of walks that took an action instance, and the first such walk."""

    takes: int
    walks: int
    first: int


@dataclass(frozen=True)
class StateGrowth:
    """The sampled states of a configuration; `first_visited[n]` counts those whose first walk has an n-bit number."""

    saturation: Saturation
    first_visited: dict[int, int]


@dataclass(frozen=True)
class WalkCounts:
    """All counts, by configuration; `branches` are also by bit of the column.

    `foreign` is the number of walks of another version of the spec, which no other count includes.
    """

    outcomes: list[WalkOutcome]
    reached: dict[int, dict[int, int]]
    patterns: list[ViolationPattern]
    taken: dict[int, dict[int, ActionCount]]
    branches: dict[int, dict[int, int]]
    states: dict[int, StateGrowth]
    foreign: int = 0
    walks: dict[int, int] = field(default_factory=dict)


def failures_of(found: WalkOutcome | ViolationPattern, properties: Sequence[str]) -> list[WalkFailure]:
    """Return the failures of walks with this outcome; `properties` are those of the run. One state may have several."""
    if found.verdict == "error":
        return [WalkFailure(str(found.property), True)]
    return [WalkFailure(name, False) for bit, name in enumerate(properties) if found.violated >> bit & 1]


_ENDS = """
    SELECT spec_digest, configuration, ending, verdict, property, violated, length, reached, count(*) AS walks
    FROM everything GROUP BY ALL
"""

# The last two bytes of `actions` are the last action instance, low byte first.
_PATTERNS = """
    SELECT configuration, verdict, property, violated, conjunct, CAST(fingerprint AS STRING) AS fingerprint,
           COALESCE(failed_instance, CAST(conv(
               hex(substring(actions, -1, 1)) || hex(substring(actions, -2, 1)), 16, 10) AS INT)) AS instance,
           count(*) AS walks, min(shiftleft(CAST(COALESCE(violated_at, length) AS BIGINT), {bits}) + walk) AS soonest
    FROM walks WHERE verdict <> 'holds' GROUP BY ALL
"""

_WALK_BITS = 47
"""Bits of a walk's number in `soonest`; the 16 bits above hold a number of steps.

The minimum of one integer takes a hash table. For the minimum of a structure, Spark sorts all violating rows.
"""

# Instances and branches keep their keys. Sampled states are grouped by the power of two of their first walk.
_CONTENTS = f"""
    SELECT what, configuration, number, count(*) AS keys, sum(walks) AS walks, sum(takes) AS takes, min(first) AS first,
           count_if(walks = 1) AS once, count_if(walks = 2) AS twice
    FROM (SELECT *, CASE WHEN what <> {column_counts.STATE} THEN key
                         WHEN first % {{walks}} = 0 THEN 0 ELSE length(bin(first % {{walks}})) END AS number
          FROM (SELECT what, configuration, key, sum(walks) AS walks, sum(takes) AS takes, min(first) AS first
                FROM counted GROUP BY ALL))
    GROUP BY ALL
"""


def count_walks(spark: SparkSession, run: WalkRun, paths: Sequence[Path]) -> WalkCounts:
    """Count the walks in some parts; raise InputError if the data of a part is damaged."""
    digests = sorted({found.spec_digest for found in run.configurations})
    with spark_errors_as_input_errors():
        everything = spark.read.parquet(*map(str, paths))
        everything.createOrReplaceTempView("everything")
        own = everything.where(everything.spec_digest.isin(digests))
        own.createOrReplaceTempView("walks")
        counted = own.select(*column_counts.COLUMNS).mapInArrow(column_counts.counts, column_counts.SQL_SCHEMA)
        counted.createOrReplaceTempView("counted")
        ends = _rows(spark, _ENDS)
        found = _rows(spark, _PATTERNS.format(bits=_WALK_BITS))
        patterns = sorted((_pattern(*row) for row in found), key=lambda pattern: pattern.walk)
        inside = sorted(_rows(spark, _CONTENTS.format(walks=run.walks)))
    foreign = sum(row[-1] for row in ends if row[0] not in digests)
    ends = [row[1:] for row in ends if row[0] in digests]
    return WalkCounts(
        _outcomes(ends),
        _reached(ends),
        patterns,
        _taken([row[1:] for row in inside if row[0] == column_counts.INSTANCE]),
        _branches([row[1:] for row in inside if row[0] == column_counts.BRANCH]),
        _states([row[1:] for row in inside if row[0] == column_counts.STATE], 1 << run.sampling),
        foreign,
        _walks(ends),
    )


def _outcomes(ends: Rows) -> list[WalkOutcome]:
    counts: Counter[tuple[Any, ...]] = Counter()
    for *outcome, _, walks in ends:
        counts[tuple(outcome)] += walks
    return sorted((WalkOutcome._make((*key, walks)) for key, walks in counts.items()), key=_in_order)


def _in_order(outcome: WalkOutcome) -> tuple[Any, ...]:
    return tuple(str(part) if part is None or isinstance(part, str) else part for part in outcome)


def _reached(ends: Rows) -> dict[int, dict[int, int]]:
    found: dict[int, Counter[int]] = defaultdict(Counter)
    for configuration, *_, mask, walks in ends:
        found[configuration][mask] += walks
    return {configuration: dict(sorted(masks.items())) for configuration, masks in sorted(found.items())}


def _walks(ends: Rows) -> dict[int, int]:
    found: Counter[int] = Counter()
    for configuration, *_, walks in ends:
        found[configuration] += walks
    return dict(sorted(found.items()))


def _taken(inside: Rows) -> dict[int, dict[int, ActionCount]]:
    found: dict[int, dict[int, ActionCount]] = defaultdict(dict)
    for configuration, instance, _, walks, takes, first, _, _ in inside:
        found[configuration][instance] = ActionCount(takes, walks, first)
    return dict(found)


def _branches(inside: Rows) -> dict[int, dict[int, int]]:
    found: dict[int, dict[int, int]] = defaultdict(dict)
    for configuration, bit, _, walks, *_ in inside:
        found[configuration][bit] = walks
    return dict(found)


def _states(inside: Rows, scale: int) -> dict[int, StateGrowth]:
    found: dict[int, StateGrowth] = {}
    for configuration in sorted({row[0] for row in inside}):
        own = [row for row in inside if row[0] == configuration]
        sampled, visits, once, twice = (sum(row[at] for row in own) for at in (2, 3, 6, 7))
        found[configuration] = StateGrowth(
            Saturation(scale, sampled, visits, once, twice), {row[1]: row[2] for row in own}
        )
    return found


def _pattern(*row: Any) -> ViolationPattern:
    """Return a row of `_PATTERNS`; the fingerprint is text in it because Spark has no unsigned numbers."""
    configuration, verdict, name, violated, conjunct, fingerprint, instance, walks, soonest = row
    at, walk = soonest >> _WALK_BITS, soonest & (1 << _WALK_BITS) - 1
    return ViolationPattern(
        configuration, verdict, name, violated, conjunct, int(fingerprint), instance, walks, at, walk
    )


def read_rows(spark: SparkSession, walks: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Return the rows of some walks counted by `count_walks`, by number, with the columns needed for a trace."""
    columns = ("walk", "initial", "ending", "verdict", "property", "failed_instance", "actions")
    with spark_errors_as_input_errors():
        found = spark.table("walks").where(spark.table("walks").walk.isin(list(walks))).select(*columns).collect()
    return {row["walk"]: row.asDict() for row in found}


def _rows(spark: SparkSession, query: str) -> Rows:
    return [tuple(row) for row in spark.sql(query).collect()]


@contextmanager
def spark_errors_as_input_errors(work: str = "count the walks") -> Iterator[None]:
    """Raise Spark's errors, about unreadable parts and others, as InputError with one sentence that names the work."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        text = str(error)
        file = re.search(r"(/[^\s:]*part-\d+\.parquet)", text)
        if file is None:
            causes = re.findall(r"(?:Error|Exception): ([^\n]+)", text) or text.strip().splitlines()[:1]
            raise InputError(f"Spark could not {work}: {causes[-1]}") from None
        raise InputError(f"{file.group(1)} is damaged: remove it and simulate again") from None
