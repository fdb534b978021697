"""A sample of violating walks, each shrunk by a task: the input of causes and of their shares.

The walks of a configuration that violate a property are a *stratum*. The sample of a stratum are the walks whose number
is a multiple of its spacing. The outcome of a walk does not depend on its number, so the sample is random. The first
walks of frequent patterns are shrunk as well. They find rare causes and short traces, and belong to no sample.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.run.result import Violation
from spark_analysis.report.violation_causes import ViolationCause, cause_of, failure_of
from spark_analysis.report.walk_counts import ViolationPattern, WalkFailure, WalkOutcome, failures_of
from spark_analysis.report.walk_source import OutcomeSpacing, WalkSource
from spark_analysis.walks.records import WalkRun, configured_spec
from spark_analysis.walks.row_violations import violation_from_row
from traces.schedule import Executor, Target
from traces.shrink import reduce

SAMPLED_WALKS = 400
"""The least size of the sample of a violated property, if so many walks violate it.

The sample has less than twice as many walks, or less than twice `FEWEST` in each configuration.
"""

FEWEST = 25
"""The least size of the sample of a configuration, if so many of its walks violate the property."""

MOST_PATTERNS = 200
"""Number of patterns of which the first walk is shrunk, in addition to the samples."""

_WALKS_IN_TASK = 50
_OUTCOME = ("configuration", "ending", "verdict", "property", "violated")


class Stratum(NamedTuple):
    """The walks of a configuration with one failure."""

    failure: WalkFailure
    configuration: int


class ShrunkWalk(NamedTuple):
    """A violating walk whose steps were removed one by one as long as the same property stays violated.

    `length` is the number of states left.
    """

    stratum: Stratum
    walk: int
    cause: ViolationCause
    length: int
    is_sampled: bool


@dataclasses.dataclass(frozen=True)
class ShrunkWalks:
    """The shrunk walks by number; `population` and `sampled` count the walks of each stratum, all and sampled ones."""

    walks: Sequence[ShrunkWalk] = ()
    population: Mapping[Stratum, int] = dataclasses.field(default_factory=dict)
    sampled: Mapping[Stratum, int] = dataclasses.field(default_factory=dict)


def population_of(outcomes: Sequence[WalkOutcome], properties: Sequence[str]) -> dict[Stratum, int]:
    """Return the number of walks of each stratum; a walk whose last state violates two properties counts twice."""
    counts: Counter[Stratum] = Counter()
    for outcome in outcomes:
        for failure in failures_of(outcome, properties):
            counts[Stratum(failure, outcome.configuration)] += outcome.walks
    return dict(sorted(counts.items()))


def spacings_of(population: Mapping[Stratum, int]) -> dict[Stratum, int]:
    """Return the distance between the numbers of sampled walks for each stratum: a power of two, 1 for all walks."""
    strata = Counter(stratum.failure for stratum in population)
    spacings = {}
    for stratum, walks in population.items():
        wanted = max(FEWEST, SAMPLED_WALKS // strata[stratum.failure])
        spacings[stratum] = 1 << max(0, (walks // wanted).bit_length() - 1)
    return spacings


def first_walks(patterns: Sequence[ViolationPattern], properties: Sequence[str]) -> set[int]:
    """Return the first walk of the most frequent patterns of each failure, at most `MOST_PATTERNS` in all.

    Every failure has its turn: a rare one is not displaced by many patterns of a frequent one.
    """
    walks: Counter[tuple[WalkFailure, int]] = Counter()
    first: dict[tuple[WalkFailure, int], tuple[int, int]] = {}
    for pattern in patterns:
        for failure in failures_of(pattern, properties):
            key = failure, pattern.fingerprint
            walks[key] += pattern.walks
            first[key] = min(first.get(key, (pattern.violated_at, pattern.walk)), (pattern.violated_at, pattern.walk))
    ranked: dict[WalkFailure, int] = defaultdict(int)
    in_turn = []
    for key, count in sorted(walks.items(), key=lambda item: (-item[1], item[0])):
        in_turn.append((ranked[key[0]], -count, first[key][1]))
        ranked[key[0]] += 1
    return {walk for _, _, walk in sorted(in_turn)[:MOST_PATTERNS]}


def shrink_walks(
    source: WalkSource, run: WalkRun, outcomes: Sequence[WalkOutcome], patterns: Sequence[ViolationPattern]
) -> ShrunkWalks:
    """Shrink a sample of the walks that `count_walks` counted; raise InputError if a task cannot load the spec.

    `outcomes` and `patterns` are those of the configurations whose walks to shrink. Tasks load the spec of `run`.
    """
    population = population_of(outcomes, run.properties)
    spacings = spacings_of(population)
    chosen = first_walks(patterns, run.properties)
    rows = source.violating_rows(_outcome_spacings(run, outcomes, spacings), chosen)
    rows.sort(key=lambda row: row["walk"])
    pieces = [rows[first : first + _WALKS_IN_TASK] for first in range(0, len(rows), _WALKS_IN_TASK)]
    shrunk = source.map(partial(_shrink_rows, run, spacings, chosen), pieces, "shrink the walks")
    walks = sorted(chain.from_iterable(shrunk), key=lambda shrunk_walk: (shrunk_walk.walk, shrunk_walk.stratum))
    sampled = Counter(shrunk_walk.stratum for shrunk_walk in walks if shrunk_walk.is_sampled)
    return ShrunkWalks(walks, population, {stratum: sampled[stratum] for stratum in population})


def _outcome_spacings(
    run: WalkRun, outcomes: Sequence[WalkOutcome], spacings: Mapping[Stratum, int]
) -> list[OutcomeSpacing]:
    """Return the spacing of each outcome: the least one of its failures."""
    return sorted(
        {
            OutcomeSpacing(
                outcome.configuration,
                outcome.verdict,
                str(outcome.property),
                outcome.violated,
                min(
                    spacings[Stratum(failure, outcome.configuration)]
                    for failure in failures_of(outcome, run.properties)
                ),
            )
            for outcome in outcomes
            if outcome.verdict != "holds"
        }
    )


def _shrink_rows(
    run: WalkRun, spacings: Mapping[Stratum, int], chosen: set[int], rows: Sequence[dict[str, Any]]
) -> list[ShrunkWalk]:
    """Return a shrunk walk for each failure of each walk that is sampled or chosen."""
    reducers: dict[int, _Reducer] = {}
    shrunk: list[ShrunkWalk] = []
    for row in rows:
        number = row["configuration"]
        if number not in reducers:
            reducers[number] = _Reducer(configured_spec(run, number))
        shrunk += _shrunk_walks(reducers[number], row, run.properties, spacings, chosen)
    return shrunk


@dataclasses.dataclass(frozen=True)
class _Reducer:
    """Shrinks walks of one spec. Walks to the same violation share an executor, which caches their steps."""

    spec: Spec
    _executors: dict[tuple[Target, State], Executor] = dataclasses.field(default_factory=dict)

    def reduced(self, violation: Violation) -> tuple[Violation, ViolationCause]:
        """Return a violation by a part of the schedule, and its cause."""
        target, initial = Target.of(violation), violation.trace[0].state
        executor = self._executors.setdefault((target, initial), Executor(self.spec, target, initial))
        short = reduce(self.spec, violation, executor)
        return short, cause_of(self.spec, short, executor)


def _shrunk_walks(
    reducer: _Reducer, row: dict[str, Any], properties: Sequence[str], spacings: Mapping[Stratum, int], chosen: set[int]
) -> Iterator[ShrunkWalk]:
    spec = reducer.spec
    outcome = WalkOutcome(**{name: row[name] for name in _OUTCOME}, length=0, walks=1)
    for failure in failures_of(outcome, properties):
        stratum = Stratum(failure, row["configuration"])
        is_sampled = row["walk"] % spacings[stratum] == 0
        if not is_sampled and row["walk"] not in chosen:
            continue
        violation = violation_from_row(spec, row, None if failure.is_error else failure.name)
        short, cause = reducer.reduced(violation)
        yield ShrunkWalk(
            Stratum(failure_of(cause), row["configuration"]),
            row["walk"],
            cause,
            short.length,
            is_sampled,
        )
