"""Causes of violations: groups of walks that violate the same part of a property by the same actions when shrunk.

A walk is shrunk by removing steps (`shrunk_walks`). For each frequent cause, the explorer then searches for the
shortest trace by its actions alone; causes that become equal are merged. The number of walks with a cause is estimated
from the samples.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from checker.errors import UserError
from checker.language.spec import Spec
from checker.run.result import Violation
from spark_analysis.report.shrunk_walks import ShrunkWalk, ShrunkWalks
from spark_analysis.report.violation_causes import ViolationCause, breaker, cause_of, failure_of
from spark_analysis.report.walk_counts import WalkFailure
from spark_analysis.report.walk_source import WalkSource
from spark_analysis.walks.records import WalkRun, configured_spec
from spark_analysis.walks.row_violations import violation_from_row
from spark_analysis.walks.statistics import EstimatedCount, SampledStratum, estimate_count
from traces.shrink import ShorteningSearch, ShrunkViolation, reduce, search_shorter

Member = TypeVar("Member")

MOST_SEARCHED = 24
"""Number of causes for which the shortest trace is searched: the most frequent ones, and the first of each property."""

MOST_CAUSES = 60
"""Number of causes in a report: the most frequent ones, and the first of each property."""


@dataclass(frozen=True)
class CauseCluster:
    """The walks with one cause. The shrunk trace is that of `walk`, a walk of `configuration`.

    `walks` is their estimated number, `by_configuration` the same for each configuration with such walks.
    `shrunk_walks` are those that were shrunk.
    """

    cause: ViolationCause
    walks: EstimatedCount
    by_configuration: Mapping[int, EstimatedCount]
    shrunk_walks: tuple[ShrunkWalk, ...]
    configuration: int
    walk: int
    shrunk: ShrunkViolation


@dataclass(frozen=True)
class CauseClusters:
    """The causes, the most frequent first, and the number of rarer ones with the estimated number of their walks."""

    found: tuple[CauseCluster, ...] = ()
    rarer: int = 0
    rarer_walks: int = 0


@dataclass(frozen=True)
class _Group:
    """Walks with the same cause; `shrunk` is the trace of the walk `first`, once it is known."""

    cause: ViolationCause
    walks: tuple[ShrunkWalk, ...]
    first: ShrunkWalk
    shrunk: ShrunkViolation | None = None


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
    searched = first_and_frequent(groups, _failure, MOST_SEARCHED)
    with_rows = _with_rows(searched, read_rows)
    search = partial(_search_shorter, run, max_states)
    merged = _merge(source.map(search, with_rows, "search for shorter traces"))
    known = {group.cause for group in searched}
    merged = _absorb(merged, [group for group in groups if group.cause not in known])
    ordered = _by_frequency(merged, shrunk)
    shown = first_and_frequent(ordered, _failure, MOST_CAUSES)
    with_rows = _with_rows([group for group in shown if group.shrunk is None], read_rows)
    reduced = iter(source.map(partial(_reduce, run), with_rows, "shrink the walks"))
    clusters = [_cluster(group if group.shrunk is not None else next(reduced), shrunk) for group in shown]
    shown_causes = {group.cause for group in shown}
    rarer = [group for group in ordered if group.cause not in shown_causes]
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


def _with_rows(
    groups: Sequence[_Group], read_rows: Callable[[Sequence[int]], Mapping[int, dict[str, Any]]]
) -> list[tuple[_Group, dict[str, Any]]]:
    """Return each group with the row of its first walk."""
    rows = read_rows(sorted({group.first.walk for group in groups}))
    return [(group, rows[group.first.walk]) for group in groups]


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


def _merge(groups: Sequence[_Group]) -> list[_Group]:
    """Merge groups with the same cause and keep the shortest trace."""
    gathered: dict[ViolationCause, list[_Group]] = defaultdict(list)
    for group in groups:
        gathered[group.cause].append(group)
    return [
        dataclasses.replace(min(same, key=_trace_order), walks=tuple(walk for group in same for walk in group.walks))
        for same in gathered.values()
    ]


def _trace_order(group: _Group) -> tuple[int, bool, int]:
    assert group.shrunk is not None
    return group.shrunk.violation.length, not group.shrunk.is_shortest, group.first.walk


def _absorb(groups: Sequence[_Group], rest: Sequence[_Group]) -> list[_Group]:
    """Add the walks of each remaining group to a found cause that its actions include, if there is one.

    A search by the actions of the remaining group would find a trace that is at most as long as that of the found
    cause, in a configuration in which walks have that cause.
    """
    joined = {group.cause: group for group in groups}
    left = []
    for group in rest:
        fitting = [other for other in groups if _includes(group, other)]
        if not fitting:
            left.append(group)
            continue
        cause = min(fitting, key=_trace_order).cause
        joined[cause] = dataclasses.replace(joined[cause], walks=joined[cause].walks + group.walks)
    return [*joined.values(), *left]


def _includes(group: _Group, other: _Group) -> bool:
    assert other.shrunk is not None
    return (
        failure_of(other.cause) == _failure(group)
        and set(other.cause.actions) <= set(group.cause.actions)
        and group.first.breaker in other.cause.actions
        and other.shrunk.violation.length <= group.first.length
        and {walk.stratum for walk in group.walks} <= {walk.stratum for walk in other.walks}
    )


def _search_shorter(run: WalkRun, max_states: int, with_row: tuple[_Group, dict[str, Any]]) -> _Group:
    """Return a group with the shortest trace by its actions alone: other actions would be another cause."""
    group, row = with_row
    spec = configured_spec(run, group.first.stratum.configuration)
    short, found_length = _reduce_violation(spec, group, row)
    try:
        search = _search(spec, short, set(group.cause.actions), max_states)
    except UserError as error:
        search = ShorteningSearch(None, error.message)
    violation = search.found or short
    shrunk = ShrunkViolation(violation, found_length, short.length, search.limit)
    return _Group(cause_of(spec, violation), group.walks, group.first, shrunk)


def _reduce(run: WalkRun, with_row: tuple[_Group, dict[str, Any]]) -> _Group:
    """Return a group with the trace that the removal of steps left."""
    group, row = with_row
    spec = configured_spec(run, group.first.stratum.configuration)
    short, found_length = _reduce_violation(spec, group, row)
    shrunk = ShrunkViolation(short, found_length, short.length, "no search was made for a rarer cause")
    return dataclasses.replace(group, shrunk=shrunk)


def _reduce_violation(spec: Spec, group: _Group, row: dict[str, Any]) -> tuple[Violation, int]:
    """Return the shrunk violation of a group's first walk, and the number of states before the removal of steps."""
    failure = failure_of(group.cause)
    violation = violation_from_row(spec, row, None if failure.is_error else failure.name)
    return reduce(spec, violation), violation.length


def _search(spec: Spec, violation: Violation, actions: set[str], max_states: int) -> ShorteningSearch:
    """Search for the shortest trace of a cause, which must include the action that broke the property.

    If the same actions break the property earlier without that action, search again without the action that breaks it
    there.
    """
    search = search_shorter(spec, violation, max_states, actions)
    if search.found is None or breaker(violation) in cause_of(spec, search.found).actions:
        return search
    left = actions - {breaker(search.found)}
    again = search_shorter(spec, violation, max_states, left, or_as_short=True)
    if again.found is not None and breaker(violation) in cause_of(spec, again.found).actions:
        return again
    return ShorteningSearch(None, f"these actions violate it earlier without {breaker(violation)}")


def _cluster(group: _Group, shrunk: ShrunkWalks) -> CauseCluster:
    assert group.shrunk is not None
    first = group.first
    configurations = sorted({walk.stratum.configuration for walk in group.walks})
    by_configuration = {number: _estimate(group, shrunk, number) for number in configurations}
    return CauseCluster(
        group.cause,
        _estimate(group, shrunk),
        by_configuration,
        group.walks,
        first.stratum.configuration,
        first.walk,
        group.shrunk,
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
