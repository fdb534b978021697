"""Violations by cause: walks whose shrunk traces violate the same part of a property by the same actions.

Walks that end alike are one shape (`traces.walks.records.pattern_fingerprint`). The first walk of each of the most
frequent shapes is shrunk. Shapes that shrink to the same property, the same failing conjunct and the same set of
actions have one cause.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from checker.errors import UserError
from checker.language.spec import Spec
from checker.run.result import Violation
from spark_analysis.report.walk_counts import ViolationPattern
from traces.failed_conjunct import false_conjunct
from traces.schedule import calls_of
from traces.shrink import ShorteningSearch, ShrunkViolation, reduce, search_shorter
from traces.walks.replay_walk import violation_from_row

MOST_SHAPES = 200
"""Of how many shapes the first walk is shrunk by leaving steps out."""

MOST_CAUSES = 24
"""For how many causes the shortest trace is searched for."""


class ViolationCause(NamedTuple):
    """What makes two violations alike; `kind` tells a false property from one that cannot be evaluated."""

    property: str
    kind: str
    conjunct: int | None
    actions: tuple[str, ...]


@dataclass(frozen=True)
class CauseCluster:
    """The walks with one cause; `walks` counts them by configuration, `shapes` how many fingerprints they have.

    `walk` of `configuration` is the one whose trace was shrunk.
    """

    cause: ViolationCause
    walks: Mapping[int, int]
    shapes: int
    configuration: int
    walk: int
    shrunk: ShrunkViolation

    @property
    def count(self) -> int:
        """All its walks."""
        return sum(self.walks.values())


@dataclass(frozen=True)
class CauseClusters:
    """All causes, the most frequent first, and the walks of shapes too rare to be looked at."""

    found: tuple[CauseCluster, ...]
    rare_walks: int = 0
    rare_shapes: int = 0


@dataclass(frozen=True)
class _Group:
    """Walks of one fingerprint that violate a property, represented by the one that does so soonest."""

    name: str
    walks: dict[int, int]
    first: ViolationPattern

    @property
    def count(self) -> int:
        return sum(self.walks.values())


def representatives(shapes: Sequence[ViolationPattern], properties: Sequence[str]) -> list[_Group]:
    """Return the fingerprints with their walks, the most frequent first.

    Walks whose last state violates several properties stand for each of them; `properties` are those of the run.
    """
    gathered: dict[tuple[str, str, int], list[ViolationPattern]] = defaultdict(list)
    for shape in shapes:
        for name in _violated(shape, properties):
            gathered[name, shape.verdict, shape.fingerprint].append(shape)
    groups = []
    for (name, _, _), found in gathered.items():
        walks: dict[int, int] = defaultdict(int)
        for shape in found:
            walks[shape.configuration] += shape.walks
        first = min(found, key=lambda shape: (shape.violated_at, shape.walk))
        groups.append(_Group(name, dict(sorted(walks.items())), first))
    return sorted(groups, key=lambda group: (-group.count, group.name, group.first.walk))


def _violated(shape: ViolationPattern, properties: Sequence[str]) -> list[str]:
    if shape.verdict == "error":
        return [shape.property]
    return [name for bit, name in enumerate(properties) if shape.violated >> bit & 1]


def cluster_by_cause(
    shapes: Sequence[ViolationPattern],
    properties: Sequence[str],
    read_rows: Callable[[Sequence[int]], Mapping[int, dict[str, Any]]],
    spec_of: Callable[[int], Spec],
    max_states: int,
) -> CauseClusters:
    """Gather shapes by their causes; `properties` are those of the run.

    `read_rows` returns the rows of some walks by number, `spec_of` the spec of a configuration. `max_states` bounds
    each search for a shortest trace.
    """
    groups = representatives(shapes, properties)
    looked_at, rare = groups[:MOST_SHAPES], groups[MOST_SHAPES:]
    rows = read_rows(sorted({group.first.walk for group in looked_at}))
    reduced = []
    for group in looked_at:
        spec = spec_of(group.first.configuration)
        found = violation_from_row(spec, rows[group.first.walk], group.name)
        short = reduce(spec, found)
        shrunk = ShrunkViolation(short, found.length, short.length, "rarer causes are not searched")
        reduced.append(_cluster_of(spec, group.walks, 1, group.first, shrunk))
    searched = [
        _searched(spec_of(found.configuration), found, max_states) if number < MOST_CAUSES else found
        for number, found in enumerate(_merged(reduced))
    ]
    return CauseClusters(tuple(_merged(searched)), sum(group.count for group in rare), len(rare))


def _cluster_of(
    spec: Spec, walks: Mapping[int, int], shapes: int, first: ViolationPattern, shrunk: ShrunkViolation
) -> CauseCluster:
    return CauseCluster(cause_of(spec, shrunk.violation), walks, shapes, first.configuration, first.walk, shrunk)


def cause_of(spec: Spec, violation: Violation) -> ViolationCause:
    """Return what a shrunk violation is caused by."""
    conjunct = None
    if violation.kind in ("invariant", "step_invariant"):
        old = violation.trace[-2].state if violation.kind == "step_invariant" else None
        conjunct = false_conjunct(spec, violation.property, violation.trace[-1].state, old)
    actions = {call.action for call in calls_of(violation)}
    return ViolationCause(violation.property, violation.kind, conjunct, tuple(sorted(actions)))


def _merged(clusters: Sequence[CauseCluster]) -> list[CauseCluster]:
    """Return clusters of the same cause as one each, which shows the shortest trace; the most frequent first."""
    gathered: dict[ViolationCause, list[CauseCluster]] = defaultdict(list)
    for found in clusters:
        gathered[found.cause].append(found)
    merged = []
    for same in gathered.values():
        walks: dict[int, int] = defaultdict(int)
        for found in same:
            for configuration, count in found.walks.items():
                walks[configuration] += count
        best = min(same, key=lambda found: (found.shrunk.violation.length, not found.shrunk.is_shortest, found.walk))
        shapes = sum(found.shapes for found in same)
        merged.append(dataclasses.replace(best, walks=dict(sorted(walks.items())), shapes=shapes))
    return sorted(merged, key=lambda found: (-found.count, found.cause.property, found.walk))


def _searched(spec: Spec, found: CauseCluster, max_states: int) -> CauseCluster:
    """Return a cluster with the shortest trace by its actions alone: by others it would be another cause."""
    try:
        search = _search(spec, found, max_states)
    except UserError as error:
        search = ShorteningSearch(None, error.message)
    violation = search.found or found.shrunk.violation
    shrunk = dataclasses.replace(found.shrunk, violation=violation, limit=search.limit)
    return dataclasses.replace(found, cause=cause_of(spec, violation), shrunk=shrunk)


def _search(spec: Spec, found: CauseCluster, max_states: int) -> ShorteningSearch:
    """Search for the shortest trace of a cause: one that also takes the action that broke the property.

    Where the same actions break it sooner without that one, it is looked for without what breaks it there.
    """
    violation, actions = found.shrunk.violation, set(found.cause.actions)
    search = search_shorter(spec, violation, max_states, actions)
    if search.found is None or _breaker(violation) in cause_of(spec, search.found).actions:
        return search
    left = actions - {_breaker(search.found)}
    again = search_shorter(spec, violation, max_states, left, or_as_short=True)
    if again.found is not None and _breaker(violation) in cause_of(spec, again.found).actions:
        return again
    return ShorteningSearch(None, f"without {_breaker(violation)}, these actions violate it sooner")


def _breaker(violation: Violation) -> str:
    """Return the action that violates; nothing where the initial state does."""
    calls = calls_of(violation)
    return calls[-1].action if calls else ""
