"""Counts of walks: the input of a report, independent of the partitioning of the walks.

A source of walks only adds integers, and results are sorted. Therefore the number and order of partitions have no
effect, and Spark counts the same as processes of this machine.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from spark_analysis.report.partial_counts import (
    BRANCH,
    EXPOSED,
    FOREIGN,
    INSTANCE,
    OUTCOME,
    PASSED,
    PATTERN,
    VIOLATION,
    WALK_BITS,
    PartialCount,
)
from spark_analysis.report.walk_source import StateGroup, WalkSource
from spark_analysis.walks.statistics import Saturation


class WalkFailure(NamedTuple):
    """A failure of walks: a violated property, or something that leaves its type's bounds (`is_error`)."""

    name: str
    is_error: bool


class WalkOutcome(NamedTuple):
    """The number of walks of a configuration with the same end; see the columns in `spark_analysis.walks.records`."""

    configuration: int
    ending: str
    verdict: str
    property: str | None
    violated: int
    length: int
    walks: int


class ViolationTime(NamedTuple):
    """The number of walks of a configuration that violate a property first after `steps` steps.

    `violated` has the bit of the property.
    """

    configuration: int
    violated: int
    steps: int
    walks: int


class ExposedWalks(NamedTuple):
    """The walks of a configuration that take step `step` and have taken an action, given by its number, by then.

    `verdict` is None for all of them, else that of the walks which fail with this step.
    """

    configuration: int
    action: int
    step: int
    verdict: str | None
    property: str | None
    violated: int
    walks: int


class PassedWalks(NamedTuple):
    """The walks of a configuration that take step `step` after their first violation of a property.

    With an action, given by its number, those that have taken it by then. `violated` has the bit of the property.
    """

    configuration: int
    action: int | None
    step: int
    violated: int
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

    `foreign` is the number of walks of another version of the spec, which no other count includes. `times` are those of
    walks that go on after a violation; such walks are in `exposed` after it too, and in `passed`.
    """

    outcomes: list[WalkOutcome]
    reached: dict[int, dict[int, int]]
    patterns: list[ViolationPattern]
    taken: dict[int, dict[int, ActionCount]]
    branches: dict[int, dict[int, int]]
    states: dict[int, StateGrowth]
    foreign: int = 0
    walks: dict[int, int] = field(default_factory=dict)
    times: list[ViolationTime] = field(default_factory=list)
    exposed: list[ExposedWalks] = field(default_factory=list)
    passed: list[PassedWalks] = field(default_factory=list)


def failures_of(outcome: WalkOutcome | ViolationPattern | ExposedWalks, properties: Sequence[str]) -> list[WalkFailure]:
    """Return the failures of walks with this outcome; `properties` are those of the run.

    One state may violate several properties. A walk with --beyond may violate some before it ends with an error.
    """
    errors = [WalkFailure(str(outcome.property), True)] if outcome.verdict == "error" else []
    return [*(WalkFailure(name, False) for bit, name in enumerate(properties) if outcome.violated >> bit & 1), *errors]


def count_walks(source: WalkSource) -> WalkCounts:
    """Count the walks of a source; raise InputError if the data of a part is damaged."""
    kinds: dict[int, list[PartialCount]] = defaultdict(list)
    for row in source.partial_counts():
        kinds[row.what].append(row)
    return WalkCounts(
        _outcomes(kinds[OUTCOME]),
        _reachables(kinds[OUTCOME]),
        sorted((_pattern(row) for row in kinds[PATTERN]), key=lambda pattern: pattern.walk),
        _takes(kinds[INSTANCE]),
        _branches(kinds[BRANCH]),
        _states(source.state_groups(), source.samplings),
        sum(row.walks for row in kinds[FOREIGN]),
        _walks(kinds[OUTCOME]),
        sorted(_time(row) for row in kinds[VIOLATION]),
        [_exposure(row) for row in kinds[EXPOSED]],
        [_passes(row) for row in kinds[PASSED]],
    )


def _outcomes(rows: Iterable[PartialCount]) -> list[WalkOutcome]:
    counts: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        counts[row.configuration, row.ending, row.verdict, row.property, row.violated, row.length] += row.walks
    return sorted((WalkOutcome._make((*key, walks)) for key, walks in counts.items()), key=_in_order)


def _in_order(outcome: WalkOutcome) -> tuple[Any, ...]:
    return tuple(str(part) if part is None or isinstance(part, str) else part for part in outcome)


def _reachables(rows: Iterable[PartialCount]) -> dict[int, dict[int, int]]:
    reached: dict[int, Counter[int]] = defaultdict(Counter)
    for row in rows:
        assert row.reached is not None
        reached[row.configuration][row.reached] += row.walks
    return {configuration: dict(sorted(masks.items())) for configuration, masks in sorted(reached.items())}


def _walks(rows: Iterable[PartialCount]) -> dict[int, int]:
    walks: Counter[int] = Counter()
    for row in rows:
        walks[row.configuration] += row.walks
    return dict(sorted(walks.items()))


def _takes(rows: Sequence[PartialCount]) -> dict[int, dict[int, ActionCount]]:
    taken: dict[int, dict[int, ActionCount]] = defaultdict(dict)
    for row in sorted(rows, key=_by_key):
        taken[row.configuration][row.key or 0] = ActionCount(row.takes, row.walks, row.first)
    return dict(taken)


def _branches(rows: Sequence[PartialCount]) -> dict[int, dict[int, int]]:
    taken: dict[int, dict[int, int]] = defaultdict(dict)
    for row in sorted(rows, key=_by_key):
        taken[row.configuration][row.key or 0] = row.walks
    return dict(taken)


def _by_key(row: PartialCount) -> tuple[int, int]:
    return row.configuration, row.key or 0


def _states(groups: Sequence[StateGroup], samplings: Mapping[int, int]) -> dict[int, StateGrowth]:
    growth: dict[int, StateGrowth] = {}
    for number, sampling in samplings.items():
        own = sorted(group for group in groups if group.configuration == number)
        sampled, visits, once, twice = (sum(group[at] for group in own) for at in (2, 3, 4, 5))
        first_visited = {group.power: group.states for group in own}
        growth[number] = StateGrowth(Saturation(1 << sampling, sampled, visits, once, twice), first_visited)
    return growth


def _exposure(row: PartialCount) -> ExposedWalks:
    assert row.key is not None and row.length is not None
    return ExposedWalks(row.configuration, row.key, row.length, row.verdict, row.property, row.violated or 0, row.walks)


def _passes(row: PartialCount) -> PassedWalks:
    assert row.length is not None and row.violated is not None
    return PassedWalks(row.configuration, row.key, row.length, row.violated, row.walks)


def _time(row: PartialCount) -> ViolationTime:
    assert row.violated is not None and row.length is not None
    return ViolationTime(row.configuration, row.violated, row.length, row.walks)


def _pattern(row: PartialCount) -> ViolationPattern:
    assert row.verdict is not None and row.violated is not None and row.fingerprint is not None
    return ViolationPattern(
        configuration=row.configuration,
        verdict=row.verdict,
        property=str(row.property),
        violated=row.violated,
        conjunct=row.conjunct,
        fingerprint=row.fingerprint % 2**64,
        instance=row.instance,
        walks=row.walks,
        violated_at=row.first >> WALK_BITS,
        walk=row.first & (1 << WALK_BITS) - 1,
    )
