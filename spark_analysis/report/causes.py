"""Causes of violations: groups of walks that violate the same part of a property by the same actions when shrunk.

Walks with similar ends have one pattern (`traces.walks.records.pattern_fingerprint`). The first walk of each of the
most frequent patterns is shrunk. Patterns that shrink to the same property, the same false conjunct and the same set of
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
from traces.walks.row_violations import violation_from_row

MOST_PATTERNS = 200
"""Number of patterns of which the first walk is shrunk by removing steps."""

MOST_CAUSES = 24
"""Number of causes for which the shortest trace is searched."""


class ViolationCause(NamedTuple):
    """The cause of a violation; `kind` distinguishes a false property from one that cannot be evaluated."""

    property: str
    kind: str
    conjunct: int | None
    actions: tuple[str, ...]


@dataclass(frozen=True)
class CauseCluster:
    """The walks with one cause: `walks` counts them by configuration, `patterns` counts their fingerprints.

    The shrunk trace is that of `walk`, a walk of `configuration`.
    """

    cause: ViolationCause
    walks: Mapping[int, int]
    patterns: int
    configuration: int
    walk: int
    shrunk: ShrunkViolation

    @property
    def count(self) -> int:
        """The number of walks in all configurations."""
        return sum(self.walks.values())


@dataclass(frozen=True)
class CauseClusters:
    """All causes, the most frequent first, and the numbers of walks and of patterns too rare to be shrunk."""

    found: tuple[CauseCluster, ...]
    rare_walks: int = 0
    rare_patterns: int = 0


@dataclass(frozen=True)
class _Group:
    """Walks of one fingerprint that violate a property, represented by the one with the earliest violation."""

    name: str
    walks: dict[int, int]
    first: ViolationPattern

    @property
    def count(self) -> int:
        return sum(self.walks.values())


def representatives(patterns: Sequence[ViolationPattern], properties: Sequence[str]) -> list[_Group]:
    """Return the walks grouped by fingerprint, the most frequent first; `properties` are those of the run.

    Walks whose last state violates several properties belong to a group for each of them.
    """
    gathered: dict[tuple[str, str, int], list[ViolationPattern]] = defaultdict(list)
    for pattern in patterns:
        for name in _violated(pattern, properties):
            gathered[name, pattern.verdict, pattern.fingerprint].append(pattern)
    groups = []
    for (name, _, _), found in gathered.items():
        walks: dict[int, int] = defaultdict(int)
        for pattern in found:
            walks[pattern.configuration] += pattern.walks
        first = min(found, key=lambda pattern: (pattern.violated_at, pattern.walk))
        groups.append(_Group(name, dict(sorted(walks.items())), first))
    return sorted(groups, key=lambda group: (-group.count, group.name, group.first.walk))


def _violated(pattern: ViolationPattern, properties: Sequence[str]) -> list[str]:
    if pattern.verdict == "error":
        return [pattern.property]
    return [name for bit, name in enumerate(properties) if pattern.violated >> bit & 1]


def cluster_by_cause(
    patterns: Sequence[ViolationPattern],
    properties: Sequence[str],
    read_rows: Callable[[Sequence[int]], Mapping[int, dict[str, Any]]],
    spec_of: Callable[[int], Spec],
    max_states: int,
) -> CauseClusters:
    """Group patterns by cause; `properties` are those of the run.

    `read_rows` returns the rows of some walks by number, `spec_of` the spec of a configuration. `max_states` bounds
    each search for a shortest trace.
    """
    groups = representatives(patterns, properties)
    examined, rare = groups[:MOST_PATTERNS], groups[MOST_PATTERNS:]
    rows = read_rows(sorted({group.first.walk for group in examined}))
    reduced = []
    for group in examined:
        spec = spec_of(group.first.configuration)
        found = violation_from_row(spec, rows[group.first.walk], group.name)
        short = reduce(spec, found)
        shrunk = ShrunkViolation(short, found.length, short.length, "no search was made for a rarer cause")
        reduced.append(_cluster_of(spec, group.walks, 1, group.first, shrunk))
    searched = [
        _searched(spec_of(found.configuration), found, max_states) if number < MOST_CAUSES else found
        for number, found in enumerate(_merged(reduced))
    ]
    return CauseClusters(tuple(_merged(searched)), sum(group.count for group in rare), len(rare))


def _cluster_of(
    spec: Spec, walks: Mapping[int, int], patterns: int, first: ViolationPattern, shrunk: ShrunkViolation
) -> CauseCluster:
    return CauseCluster(cause_of(spec, shrunk.violation), walks, patterns, first.configuration, first.walk, shrunk)


def cause_of(spec: Spec, violation: Violation) -> ViolationCause:
    """Return the cause of a shrunk violation."""
    conjunct = None
    if violation.kind in ("invariant", "step_invariant"):
        old = violation.trace[-2].state if violation.kind == "step_invariant" else None
        conjunct = false_conjunct(spec, violation.property, violation.trace[-1].state, old)
    actions = {call.action for call in calls_of(violation)}
    return ViolationCause(violation.property, violation.kind, conjunct, tuple(sorted(actions)))


def _merged(clusters: Sequence[CauseCluster]) -> list[CauseCluster]:
    """Merge clusters with the same cause, keeping the shortest trace; return them with the most frequent first."""
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
        patterns = sum(found.patterns for found in same)
        merged.append(dataclasses.replace(best, walks=dict(sorted(walks.items())), patterns=patterns))
    return sorted(merged, key=lambda found: (-found.count, found.cause.property, found.walk))


def _searched(spec: Spec, found: CauseCluster, max_states: int) -> CauseCluster:
    """Return a cluster with the shortest trace by its actions alone: other actions would be another cause."""
    try:
        search = _search(spec, found, max_states)
    except UserError as error:
        search = ShorteningSearch(None, error.message)
    violation = search.found or found.shrunk.violation
    shrunk = dataclasses.replace(found.shrunk, violation=violation, limit=search.limit)
    return dataclasses.replace(found, cause=cause_of(spec, violation), shrunk=shrunk)


def _search(spec: Spec, found: CauseCluster, max_states: int) -> ShorteningSearch:
    """Search for the shortest trace of a cause, which must include the action that broke the property.

    If the same actions break the property earlier without that action, search again without the action that breaks it
    there.
    """
    violation, actions = found.shrunk.violation, set(found.cause.actions)
    search = search_shorter(spec, violation, max_states, actions)
    if search.found is None or _breaker(violation) in cause_of(spec, search.found).actions:
        return search
    left = actions - {_breaker(search.found)}
    again = search_shorter(spec, violation, max_states, left, or_as_short=True)
    if again.found is not None and _breaker(violation) in cause_of(spec, again.found).actions:
        return again
    return ShorteningSearch(None, f"these actions violate it earlier without {_breaker(violation)}")


def _breaker(violation: Violation) -> str:
    """Return the action that violates the property; an empty string for the initial state."""
    calls = calls_of(violation)
    return calls[-1].action if calls else ""
