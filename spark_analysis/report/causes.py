"""Causes of violations: groups of walks that violate the same part of a property by the same last steps when shrunk.

A walk is shrunk by removing steps (`shrunk_walks`); its own shrunk trace decides its cause, and the shortest of these
traces represents the cause. For each frequent cause, the explorer then searches for a shorter trace by the actions of
that one, which is kept beside it if it has the same cause. The number of walks with a cause is estimated from samples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

from checker.errors import UserError
from checker.run.result import Violation
from spark_analysis.report.shrunk_walks import ShrunkWalk, ShrunkWalks
from spark_analysis.report.violation_causes import ViolationCause, cause_of, failure_of
from spark_analysis.report.walk_counts import WalkFailure
from spark_analysis.report.walk_source import WalkSource
from spark_analysis.walks.records import WalkRun, configured_spec
from spark_analysis.walks.row_violations import violation_from_row
from spark_analysis.walks.statistics import EstimatedCount, SampledStratum, estimate_count
from traces.schedule import calls_of
from traces.shrink import ShorteningSearch, reduce, search_shorter

Member = TypeVar("Member")

MOST_SEARCHED = 24
"""Number of causes for which the shortest trace is searched: the most frequent ones, and the first of each property."""

MOST_CAUSES = 60
"""Number of causes in a report: the most frequent ones, and the first of each property."""


@dataclass(frozen=True)
class CauseCluster:
    """The walks with one cause. `reduced` is what the removal of steps left of `walk`, a walk of `configuration`.

    `walks` is their estimated number, `by_configuration` the same for each configuration with such walks.
    `shrunk_walks` are those that were shrunk. `walk_length` is the number of states of the walk. `shortest` is a
    shortest trace with the same cause, if a search by the actions of `reduced` found one that is shorter. `limit` says
    why there may be a shorter one; it is empty if none is.
    """

    cause: ViolationCause
    walks: EstimatedCount
    by_configuration: Mapping[int, EstimatedCount]
    shrunk_walks: tuple[ShrunkWalk, ...]
    configuration: int
    walk: int
    walk_length: int
    reduced: Violation
    shortest: Violation | None
    limit: str


@dataclass(frozen=True)
class CauseClusters:
    """The causes, the most frequent first, and the number of rarer ones with the estimated number of their walks."""

    found: tuple[CauseCluster, ...] = ()
    rarer: int = 0
    rarer_walks: int = 0


class _Group(NamedTuple):
    """Shrunk walks with the same cause; the trace of the walk `first` is the shortest."""

    cause: ViolationCause
    walks: tuple[ShrunkWalk, ...]
    first: ShrunkWalk


class _Traces(NamedTuple):
    """The traces of a cause: see `CauseCluster`."""

    walk_length: int
    reduced: Violation
    shortest: Violation | None
    limit: str


def cluster_by_cause(
    shrunk: ShrunkWalks,
    source: WalkSource,
    run: WalkRun,
    read_rows: Callable[[Sequence[int]], Mapping[int, dict[str, Any]]],
    max_states: int,
) -> CauseClusters:
    """Group shrunk walks by cause.

    `read_rows` returns the rows of some walks by number. Tasks of `source` load the spec of `run` and search for the
    shortest traces; `max_states` bounds each search.
    """
    groups = _by_frequency(_group(shrunk.walks), shrunk)
    shown = first_and_frequent(groups, _failure, MOST_CAUSES)
    searched = {group.cause for group in first_and_frequent(groups, _failure, MOST_SEARCHED)}
    rows = read_rows(sorted({group.first.walk for group in shown}))
    tasks = [(group, rows[group.first.walk], max_states if group.cause in searched else 0) for group in shown]
    traces = source.map(partial(_traces, run), tasks, "search for shorter traces")
    clusters = [_cluster(group, of_group, shrunk) for group, of_group in zip(shown, traces, strict=True)]
    shown_causes = {group.cause for group in shown}
    rarer = [group for group in groups if group.cause not in shown_causes]
    return CauseClusters(tuple(clusters), len(rarer), sum(_estimate(group, shrunk).count for group in rarer))


def first_and_frequent(
    ordered: Sequence[Member], failure_of: Callable[[Member], WalkFailure], most: int
) -> list[Member]:
    """Return the first `most` members in their order, and the first member of each failure."""
    first: dict[WalkFailure, int] = {}
    for number, member in enumerate(ordered):
        first.setdefault(failure_of(member), number)
    chosen = set(first.values())
    others = [number for number in range(len(ordered)) if number not in chosen]
    chosen.update(others[: max(0, most - len(chosen))])
    return [member for number, member in enumerate(ordered) if number in chosen]


def _failure(group: _Group) -> WalkFailure:
    return failure_of(group.cause)


def _group(walks: Sequence[ShrunkWalk]) -> list[_Group]:
    gathered: dict[ViolationCause, list[ShrunkWalk]] = defaultdict(list)
    for walk in walks:
        gathered[walk.cause].append(walk)
    return [
        _Group(cause, tuple(same), min(same, key=lambda walk: (walk.length, walk.walk)))
        for cause, same in gathered.items()
    ]


def _by_frequency(groups: Sequence[_Group], shrunk: ShrunkWalks) -> list[_Group]:
    return sorted(groups, key=lambda group: (-_estimate(group, shrunk).count, group.cause.property, group.first.walk))


def _traces(run: WalkRun, task: tuple[_Group, dict[str, Any], int]) -> _Traces:
    """Return the traces of a cause from the row of its first walk; a limit of 0 states stands for no search."""
    group, row, max_states = task
    spec = configured_spec(run, group.first.stratum.configuration)
    failure = _failure(group)
    violation = violation_from_row(spec, row, None if failure.is_error else failure.name)
    reduced = reduce(spec, violation)
    if not max_states:
        return _Traces(violation.length, reduced, None, "no search was made")
    try:
        search = search_shorter(spec, reduced, max_states, {call.action for call in calls_of(reduced)})
    except UserError as error:
        search = ShorteningSearch(None, error.message)
    if search.found is None:
        return _Traces(violation.length, reduced, None, search.limit)
    if cause_of(spec, search.found) == group.cause:
        return _Traces(violation.length, reduced, search.found, "")
    limit = f"the shortest one by these actions, of {search.found.length} states, has another cause"
    return _Traces(violation.length, reduced, None, limit)


def _cluster(group: _Group, traces: _Traces, shrunk: ShrunkWalks) -> CauseCluster:
    first = group.first
    configurations = sorted({walk.stratum.configuration for walk in group.walks})
    by_configuration = {number: _estimate(group, shrunk, number) for number in configurations}
    walks = _estimate(group, shrunk)
    return CauseCluster(
        group.cause,
        walks,
        by_configuration,
        group.walks,
        first.stratum.configuration,
        first.walk,
        traces.walk_length,
        traces.reduced,
        traces.shortest,
        traces.limit,
    )


def _estimate(group: _Group, shrunk: ShrunkWalks, configuration: int | None = None) -> EstimatedCount:
    """Return the number of walks with a cause, in one or in all configurations.

    It is at least the number of the known ones: a first walk of a pattern may have a cause that no sampled walk has.
    """
    strata = [
        stratum
        for stratum in shrunk.population
        if stratum.failure == failure_of(group.cause) and configuration in (None, stratum.configuration)
    ]
    own = [walk for walk in group.walks if configuration in (None, walk.stratum.configuration)]
    hits = dict.fromkeys(strata, 0)
    for walk in own:
        hits[walk.stratum] += walk.is_sampled
    estimate = estimate_count(
        SampledStratum(shrunk.population[stratum], shrunk.sampled[stratum], hits[stratum]) for stratum in strata
    )
    known = len({walk.walk for walk in own})
    return EstimatedCount(max(estimate.count, known), max(estimate.low, known), max(estimate.high, known))
