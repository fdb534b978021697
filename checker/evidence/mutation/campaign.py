"""Mutation campaigns: explorations of every mutant of a spec in separate processes, compared with the original."""

from __future__ import annotations

import dataclasses
import functools
import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

from checker.engines.python.graph_digest import GraphDigest
from checker.errors import UserError
from checker.evidence.mutation.injection import mutated
from checker.evidence.mutation.mutants import Mutant, mutants_of
from checker.evidence.mutation.verdicts import MutantRun, MutantVerdict, mutant_run_of, verdict_of
from checker.frontend.liveness_typing import check_language
from checker.language.fairness import Fairness
from checker.language.spec import Spec
from checker.run import registry
from checker.run.account import account_of
from checker.run.plan import DEADLOCK, Plan
from checker.run.process_pool import end_with_parent
from checker.run.result import Result

STATES_FACTOR = 4
"""A mutant is explored up to this many times the states of the original."""

FEWEST_STATES = 2_000
"""Lower bound on the limit of states of a mutant."""

SECONDS_A_MUTANT = 20.0
"""Time limit of an exploration of a mutant."""

_TYPED_TOGETHER = 8
"""The mutants that a worker process types in one task."""


@dataclass(frozen=True)
class _MutatedSpec:
    """A spec and its mutants, which modify the functions of exactly this class."""

    spec: type[Spec]
    mutants: list[Mutant]


@functools.lru_cache(maxsize=1)
def _mutate(target: str) -> _MutatedSpec:
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
        return _mutate(self.target).spec(**dict(self.constants)).with_fairness(dict(self.fair))


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
    _mutate.cache_clear()
    original = mutant_run_of(_explore(task.spec(), task, max_states=None, seconds=None))
    candidates = _mutate(task.target).mutants
    with _pool(workers) as pool:
        numbers = _well_typed(pool, task, len(candidates))
        report = MutationReport(task, original, [candidates[number] for number in numbers], len(numbers))
        chosen = _spread(len(numbers), most)
        futures = {pool.submit(try_mutant, task, original, numbers[position]): position for position in chosen}
        for done, future in enumerate(as_completed(futures), 1):
            report.outcomes[futures[future]] = future.result()
            if on_progress is not None:
                on_progress(done, len(chosen))
    report.seconds = time.perf_counter() - started
    return report


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    # "spawn" because this process may have threads, which do not survive a fork. Processes because a mutant changes
    # the spec for its whole process.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, end_with_parent) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _well_typed(pool: ProcessPoolExecutor, task: MutationTask, count: int) -> list[int]:
    """Return the numbers of the candidates that are specs of the language: a change can give an expression no type."""
    starts = range(0, count, _TYPED_TOGETHER)
    batches = pool.map(type_mutants, [task] * len(starts), [range(start, start + _TYPED_TOGETHER) for start in starts])
    return [number for numbers in batches for number in numbers]


def type_mutants(task: MutationTask, numbers: range) -> list[int]:
    """Return those of some mutants, by their indices, that the front end takes."""
    return [number for number in numbers if _is_typed(task, number)]


def _is_typed(task: MutationTask, number: int) -> bool:
    mutants = _mutate(task.target).mutants
    if number >= len(mutants):
        return False
    mutant = mutants[number]
    names = [name for name in task.properties if name != DEADLOCK] if mutant.is_shared else []
    with mutated(mutant.method.function, mutant.mutation.tree):
        try:
            check_language(task.spec(), names)
        except UserError:
            return False
    return True


def _spread(count: int, most: int | None) -> list[int]:
    """Return the indices of `most` of `count` mutants, spread evenly: the first mutants are all of one method."""
    if most is None or most >= count:
        return list(range(count))
    return sorted({position * count // most for position in range(most)})


def try_mutant(task: MutationTask, original: MutantRun, number: int) -> MutantVerdict:
    """Explore one mutant, by its index, and return its verdict."""
    mutant = _mutate(task.target).mutants[number]
    started = time.perf_counter()
    most = max(STATES_FACTOR * original.distinct_states, FEWEST_STATES)

    def has_same_graph() -> bool | None:
        with mutated(mutant.method.function, mutant.mutation.tree):
            graph = _graph(task, most)
        expected = _original_graph(task, most)
        return None if graph is None or expected is None else graph == expected

    with mutated(mutant.method.function, mutant.mutation.tree):
        try:
            mutant_run = mutant_run_of(_explore(task.spec(), task, max_states=most, seconds=SECONDS_A_MUTANT))
        except UserError as error:
            return MutantVerdict("invalid", (), error.message, None, time.perf_counter() - started)
    outcome = verdict_of(original, mutant_run, has_same_graph)
    if outcome.status == "equivalent" and mutant.is_shared:
        # Its properties are other ones, although they have the same verdicts.
        outcome = dataclasses.replace(outcome, status="survived", why=f"{outcome.why}: only properties differ")
    return dataclasses.replace(outcome, seconds=time.perf_counter() - started)


def _graph(task: MutationTask, most: int) -> GraphDigest | None:
    from checker.engines.native.graph_digest import graph_digest

    cancelled = threading.Event()
    with _cancelling(cancelled, SECONDS_A_MUTANT):
        return graph_digest(task.spec(), max_states=most, cancelled=cancelled)


@functools.lru_cache(maxsize=1)
def _original_graph(task: MutationTask, most: int) -> GraphDigest | None:
    # Cached, because a worker process compares many mutants with the same original.
    return _graph(task, most)


def _explore(spec: Spec, task: MutationTask, max_states: int | None, seconds: float | None) -> Result:
    from checker.engines.native.engine import explore

    plan = Plan(
        properties=tuple(name for name in task.properties if name != DEADLOCK),
        stop="all",
        max_states=max_states,
        deadlock=DEADLOCK in task.properties,
        quick=True,
    )
    with _cancelling(plan.cancelled, seconds) if seconds is not None else nullcontext():
        result = explore(spec, plan)
    account_of(spec, task.properties, result)
    return result


@contextmanager
def _cancelling(cancelled: threading.Event, seconds: float) -> Iterator[None]:
    """Set an event if the block takes longer than some seconds."""
    timer = threading.Timer(seconds, cancelled.set)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
