"""Mutation campaigns: explorations of every mutant of a spec in separate processes, compared with the original."""

from __future__ import annotations

import functools
import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field

from checker.errors import UserError
from checker.evidence.mutation.injection import mutated
from checker.evidence.mutation.mutants import Mutant, mutants_of
from checker.evidence.mutation.verdicts import MutantRun, MutantVerdict, mutant_run_of, verdict_of
from checker.language.fairness import Fairness
from checker.language.spec import Spec
from checker.run import registry
from checker.run.plan import DEADLOCK, Plan
from checker.run.process_pool import end_with_parent
from checker.run.result import Result

STATES_FACTOR = 4
"""A mutant is explored up to this many times the states of the original."""

FEWEST_STATES = 2_000
"""Lower bound on the limit of states of a mutant."""

SECONDS_A_MUTANT = 20.0
"""Time limit of a mutant."""


@dataclass(frozen=True)
class _MutatedSpec:
    """A spec and its mutants, which modify the functions of exactly this class."""

    spec: type[Spec]
    mutants: list[Mutant]


@functools.lru_cache(maxsize=1)
def _mutated_spec(target: str) -> _MutatedSpec:
    # Cached, because every load of a spec file creates a new module with new functions.
    spec = registry.select_spec(target).spec
    return _MutatedSpec(spec, mutants_of(spec))


@dataclass(frozen=True)
class MutationTask:
    """The subject of a campaign: a spec by its name on the command line, its constants, and the properties to check.

    `fair` has the changes of fairness that a scenario makes.
    """

    target: str
    constants: tuple[tuple[str, int | bool | str], ...]
    properties: tuple[str, ...]
    fair: tuple[tuple[str, Fairness | str | None], ...] = ()

    def spec(self) -> Spec:
        """Return the spec with its constants set; raise UserError if the name is unknown."""
        return _mutated_spec(self.target).spec(**dict(self.constants)).with_fairness(dict(self.fair))


@dataclass
class MutationReport:
    """The results of a campaign: the run of the original, the mutants in source order, and the verdict of each.

    `outcomes` maps the indices of the explored mutants to their verdicts. `total` counts all mutants.
    """

    task: MutationTask
    original: MutantRun
    mutants: list[Mutant]
    total: int
    outcomes: dict[int, MutantVerdict] = field(default_factory=dict)
    seconds: float = 0.0

    def with_status(self, status: str) -> list[tuple[Mutant, MutantVerdict]]:
        """Return the mutants with a status, and their verdicts."""
        pairs = ((self.mutants[number], outcome) for number, outcome in sorted(self.outcomes.items()))
        return [(mutant, outcome) for mutant, outcome in pairs if outcome.status == status]

    @property
    def kills(self) -> Mapping[str, int]:
        """The number of mutants that each property kills, including properties that kill none."""
        counts = dict.fromkeys(self.task.properties, 0)
        for outcome in self.outcomes.values():
            for name in outcome.killed_by:
                counts[name] = counts.get(name, 0) + 1
        return counts

    @property
    def sole_kills(self) -> Mapping[str, int]:
        """The number of mutants that only this property kills, for each property."""
        counts = dict.fromkeys(self.kills, 0)
        for outcome in self.outcomes.values():
            if len(outcome.killed_by) == 1:
                counts[outcome.killed_by[0]] += 1
        return counts


def run_campaign(
    task: MutationTask, *, workers: int, most: int | None = None, on_progress: Callable[[int, int], None] | None = None
) -> MutationReport:
    """Explore the original and its mutants, and return the report.

    `most` limits the number of mutants, spread evenly over the spec. `on_progress(done, total)` is called after each
    mutant. Raises SpecError if the original cannot be explored.
    """
    started = time.perf_counter()
    _mutated_spec.cache_clear()
    original = mutant_run_of(_explore(task.spec(), task, max_states=None, seconds=None))
    mutants = _mutated_spec(task.target).mutants
    chosen = _spread(len(mutants), most)
    report = MutationReport(task, original, mutants, len(mutants))
    for done, (number, outcome) in enumerate(_outcomes(task, original, chosen, workers), 1):
        report.outcomes[number] = outcome
        if on_progress is not None:
            on_progress(done, len(chosen))
    report.seconds = time.perf_counter() - started
    return report


def _spread(count: int, most: int | None) -> list[int]:
    """Return the indices of `most` of `count` mutants, spread evenly: the first mutants are all of one method."""
    if most is None or most >= count:
        return list(range(count))
    return sorted({position * count // most for position in range(most)})


def _outcomes(
    task: MutationTask, original: MutantRun, chosen: list[int], workers: int
) -> Iterator[tuple[int, MutantVerdict]]:
    # "spawn" because this process may have threads, which do not survive a fork. Processes because a mutant changes
    # the spec for its whole process.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, end_with_parent) as pool:
        futures = {pool.submit(try_mutant, task, original, number): number for number in chosen}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def try_mutant(task: MutationTask, original: MutantRun, number: int) -> MutantVerdict:
    """Explore one mutant, by its index, and return its verdict."""
    mutant = _mutated_spec(task.target).mutants[number]
    started = time.perf_counter()
    most = max(STATES_FACTOR * original.distinct_states, FEWEST_STATES)
    with mutated(mutant.method.function, mutant.mutation.tree):
        try:
            found = mutant_run_of(_explore(task.spec(), task, max_states=most, seconds=SECONDS_A_MUTANT))
        except UserError as error:
            return MutantVerdict("invalid", (), error.message, None, time.perf_counter() - started)
    return verdict_of(original, found, time.perf_counter() - started)


def _explore(spec: Spec, task: MutationTask, max_states: int | None, seconds: float | None) -> Result:
    from checker.engines.native.engine import explore

    plan = Plan(
        properties=tuple(name for name in task.properties if name != DEADLOCK),
        stop="all",
        max_states=max_states,
        deadlock=DEADLOCK in task.properties,
        quick=True,
    )
    if seconds is None:
        return explore(spec, plan)
    timer = threading.Timer(seconds, plan.cancelled.set)
    timer.start()
    try:
        return explore(spec, plan)
    finally:
        timer.cancel()
