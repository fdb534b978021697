"""Exploration on Spark: breadth-first, level by level, with the states on disk in partitions by hash.

Each level is one job. A task merges the candidates of its partitions, stores the new states among them as the next
level, checks them, and expands them; their successors are the candidates for the level after that. Visited states never
move; only candidates do, by files in the folder of the states. The driver processes small levels itself, and a space of
small levels starts no Java. Counts, levels, verdicts and the lengths of counterexamples equal those of the native
engine. A run ends only at the end of a level.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from checker.engines.native.explore.exploration import Exploration, FoundFailure, FoundViolation, Outcome, StoredStep
from checker.engines.native.explore.lowered_spec import require_sizes
from checker.engines.native.explore.memory_layout import OUT_OF_BOUNDS_BIT
from checker.engines.native.explore.results import ResultBuilder, failure_of_init, initial_states, property_mask
from checker.engines.native.kernels.batch import BatchCode, BatchEngine, compile_batch
from checker.engines.native.kernels.row_kernels import RowTable, row_kernels
from checker.engines.native.lowering.state_layout import StateLayout
from checker.errors import BoundsError, OutputError, SpecError
from checker.explain.violations import wrong_starts
from checker.frontend import compile_spec
from checker.ir.digest import digest_of
from checker.language.interpreter import State
from checker.language.liveness import check_liveness, liveness_names
from checker.language.roles import STEP_ROLES, Role
from checker.language.spec import Spec
from checker.run.memory import peak_memory
from checker.run.plan import DEADLOCK, ExplorationProgress, Plan
from checker.run.result import Result
from checker.run.scratch_folders import scratch_folder
from spark_analysis.explore.checkpoint import (
    Checkpoint,
    CheckpointLocation,
    ExplorationIdentity,
    ExplorationTotals,
    StoredLevels,
    open_checkpoint,
)
from spark_analysis.explore.jobs import CANDIDATES_BEFORE_SPARK, Interrupted, Jobs, LevelStep
from spark_analysis.explore.level_tasks import ExpansionReport, InsertedPartition, PartitionInput
from spark_analysis.explore.row_files import CANDIDATES, RUNS, CandidateFile, DamagedFileError, write_candidates
from spark_analysis.explore.stored_states import StoredStates
from spark_analysis.session import LazySession
from traces.storage import Location

PARTITIONS_A_CORE = 2
"""Partitions for each core, when the first jobs are near. With fewer, cores would be idle at the end of a level."""

CANDIDATES_IN_PARTITION = 1 << 22
"""The number of candidates of a level above which the partitions of the next one are halved.

The next level may have several times as many. A task holds those of one partition in memory.
"""

_MOST_GROWTH = 8
"""A level is expected to have at most so many times as many candidates as the one before."""

COMMIT_SECONDS = 1.0
"""The time between two manifests while the driver processes levels itself: small levels take less than a manifest."""


@dataclass(frozen=True)
class _Compiled:
    """A compiled spec for executors and driver; bit i of every mask stands for names[i]."""

    spec: Spec
    names: list[str]
    identity: ExplorationIdentity
    code: BatchCode
    layout: StateLayout
    batch: BatchEngine

    def state_of(self, words: Any) -> State:
        """Return the state of packed words (k,)."""
        return self.layout.state_of(words)

    def mask(self, *roles: Role) -> int:
        """Return the bits of the properties of some roles."""
        return property_mask(self.spec, self.names, *roles)


def explore(
    spec: Spec, plan: Plan, session: LazySession, *, checkpoint: Location | None = None, partitions: int = 1
) -> Result:
    """Explore a spec on Spark, or resume its checkpoint, and return the result like the native engine.

    `checkpoint` is a folder that the driver and all executors see, or a URL; it keeps the last complete level. None
    stands for a temporary folder of this machine. `partitions` is the number of partitions of the states at the
    beginning; they are split as the levels grow. The result has no findings, and liveness properties are undecided.
    Raises UserError if the spec is outside the language, the checkpoint belongs to another exploration or is damaged,
    the disk is full, or a task fails at every attempt.
    """
    if spec.names_of(Role.VIEW):
        raise SpecError(f"{spec.name} has a view, which the engine spark does not support: use --engine native")
    started = time.perf_counter()
    liveness = liveness_names(spec, plan.properties)
    check_liveness(spec, liveness)
    compiled = _compile(spec, [name for name in plan.properties if name != DEADLOCK and name not in liveness])
    compile_seconds = time.perf_counter() - started
    plan = replace(plan, workers=1)
    try:
        initial = initial_states(spec)
    except BoundsError:
        return failure_of_init("spark", spec, plan, compile_seconds)
    if starts := wrong_starts(spec, compiled.names, initial):
        failed = failure_of_init("spark", spec, plan, compile_seconds)
        return replace(failed, violations=starts, distinct_states=len(initial), levels=(len(initial),))
    durable = checkpoint is not None
    with _folder(checkpoint) as folder, open_checkpoint(folder, compiled.identity, durable=durable) as kept:
        jobs = Jobs(session, compiled.code, folder, plan.cancelled, durable=durable)
        search = _SparkSearch(compiled, plan, kept, jobs)
        search.load(initial, partitions)
        outcome = search.run()
        explored = search.exploration(outcome)
        plan = replace(plan, workers=session.cores if session.is_started else 1)
        builder = ResultBuilder("spark", spec, compiled.state_of, plan, compiled.names, explored)
        result = builder.result(compile_seconds)
        if result.ended != "violation":
            why = "the spark engine does not decide liveness properties: use --engine native"
            result.undecided = dict.fromkeys(liveness, why)
        return result


def _compile(spec: Spec, names: list[str]) -> _Compiled:
    program = compile_spec(spec, names)
    require_sizes(program, names)
    digest = digest_of(program)
    code, layout = compile_batch(program)
    identity = ExplorationIdentity(type(spec).name, dict(spec.constants), names, digest, layout.words)
    return _Compiled(spec, names, identity, code, layout, BatchEngine(code))


@contextmanager
def _folder(checkpoint: Location | None) -> Iterator[Location]:
    if checkpoint is not None:
        yield checkpoint.resolve()
        return
    with scratch_folder("states") as folder:
        yield folder


class _SparkSearch:
    """An exploration in progress: the totals and files up to the last complete level, and the next steps."""

    def __init__(self, compiled: _Compiled, plan: Plan, checkpoint: Checkpoint, jobs: Jobs) -> None:
        self._compiled, self._plan, self._checkpoint, self._jobs = compiled, plan, checkpoint, jobs
        self._kernels = row_kernels(compiled.batch.words)
        instances = compiled.code.instances
        self.totals = ExplorationTotals([], [0] * instances, [0] * instances)
        self._levels = StoredLevels([()], (), ExpansionReport())
        self._state_mask = compiled.mask(Role.INVARIANT, Role.REACHABLE)
        self._step_mask = compiled.mask(*STEP_ROLES)
        self._started = time.perf_counter()
        self._committed = time.perf_counter()
        self._files_are_on_disk = True

    def load(self, initial: list[State], partitions: int) -> None:
        """Take the checkpoint, or start with the initial states; raise DamagedFileError if a stored run is damaged."""
        loaded = self._checkpoint.load()
        if loaded is None:
            self._levels.split(partitions)
            self._levels.candidates = (self._initial_candidates(initial),)
            self._files_are_on_disk = False
            return
        self.totals, self._levels = loaded
        # The time of the earlier runs counts too.
        self._started -= self.totals.seconds
        damaged = self._jobs.damaged_runs(self._levels.all_runs(), 8 * self._kernels.row_words)
        if damaged:
            raise DamagedFileError(self._checkpoint.folder / RUNS / min(damaged))

    def run(self) -> Outcome:
        """Explore until no state is left or there is a reason to stop; return the outcome."""
        outcome = None
        try:
            while outcome is None:
                outcome = self._outcome() if self.totals.levels else None
                if outcome is None:
                    self._advance()
        except Interrupted:
            outcome = "interrupted"
        if self.totals.levels:
            self._commit()
        return outcome

    def _advance(self) -> None:
        """Insert and expand the next level; only expand the last one if an earlier run ended without that."""
        levels, totals = self._levels, self.totals
        inserts = levels.candidates is not None
        level = len(totals.levels) - (0 if inserts else 1)
        candidates = sum(file.count for file in levels.candidates or ()) if inserts else totals.levels[-1]
        is_last = self._plan.max_depth is not None and level + 1 >= self._plan.max_depth
        partitions = self._partitions_after(candidates)
        # A property that was found in an earlier level is not checked again: the first finding is the shortest one.
        seen = sum(1 << bit for bit in totals.found)
        seen_in_steps = seen | sum(1 << bit for bit in levels.expanded.steps if bit != OUT_OF_BOUNDS_BIT)
        step = LevelStep(
            level=level,
            inputs=[PartitionInput(partition, runs) for partition, runs in enumerate(levels.runs)],
            candidates=levels.candidates,
            next_partitions=None if is_last else partitions,
            state_mask=self._state_mask & ~seen,
            step_mask=self._step_mask & ~seen_in_steps,
        )
        reports, files_are_on_disk = self._jobs.run(step, candidates)
        if inserts:
            self._take_expanded(levels.expanded, level - 1)
            self._take_inserted([inserted for report in reports for inserted in report.inserted], level)
        expanded = ExpansionReport()
        for report in reports:
            expanded.add(report.expanded)
        levels.expanded = expanded
        levels.candidates = None if is_last else tuple(file for report in reports for file in report.candidates)
        levels.split(partitions)
        self._files_are_on_disk &= files_are_on_disk
        if files_are_on_disk or time.perf_counter() - self._committed >= COMMIT_SECONDS:
            self._commit()
        if inserts:
            self._report_progress()

    def _partitions_after(self, candidates: int) -> int:
        """Return the number of partitions for the level after one with so many candidates."""
        partitions = self._levels.partitions
        if partitions == 1 and candidates * _MOST_GROWTH > CANDIDATES_BEFORE_SPARK:
            partitions = PARTITIONS_A_CORE * self._jobs.cores
        while candidates > partitions * CANDIDATES_IN_PARTITION:
            partitions *= 2
        return partitions

    def _commit(self) -> None:
        self.totals.seconds = time.perf_counter() - self._started
        self._checkpoint.commit(self.totals, self._levels, files_are_on_disk=self._files_are_on_disk)
        self._files_are_on_disk = True
        self._committed = time.perf_counter()

    def exploration(self, outcome: Outcome) -> Exploration:
        """Return the exploration with its violations and its states."""
        totals, reachable_mask = self.totals, self._compiled.mask(Role.REACHABLE)
        store = StoredStates(self._checkpoint.folder, self._levels, totals, self._compiled.batch)
        places = {bit: _violation(store, place) for bit, place in totals.found.items()}
        failure, deadlock = totals.failure, totals.deadlock
        return Exploration(
            distinct=totals.states,
            generated=(totals.levels or [0])[0] + sum(totals.generated),
            levels=[count for count in totals.levels if count],
            outcome=outcome,
            seconds=time.perf_counter() - self._started,
            violations={bit: where for bit, where in places.items() if not reachable_mask >> bit & 1},
            reached={bit: where for bit, where in places.items() if reachable_mask >> bit & 1},
            error=None if failure is None else _failure(store, failure),
            property_error=None if totals.property_failure is None else _violation(store, totals.property_failure),
            deadlock=None if deadlock is None else store.id_of(deadlock.level, deadlock.words),
            generated_per_instance=totals.generated,
            store=store,
        )

    def _initial_candidates(self, states: list[State]) -> CandidateFile:
        """Write the initial states as the candidates for level 0."""
        words = np.array([self._compiled.layout.encode(state.values) for state in states], np.uint64)
        table = RowTable(self._kernels, len(words))
        table.add_rows(self._kernels.initial_rows(words))
        path = self._checkpoint.folder / CANDIDATES / "initial"
        try:
            return write_candidates(path, table.sorted(), self._levels.partitions, durable=False)
        except OSError as error:
            raise OutputError(f"the states cannot be written to {path.parent.parent}: {error.strerror}") from None

    def _take_inserted(self, reports: list[InsertedPartition], level: int) -> None:
        """Add the reports of a new level, which are in the order of partitions."""
        totals, runs = self.totals, self._levels.runs
        for report in reports:
            _add(totals.distinct, report.by_instance)
            for bit, words in report.states.items():
                self._find(bit, CheckpointLocation(level, words))
            if report.run is not None:
                kept = (run for run in runs[report.partition] if run.name not in report.merged)
                runs[report.partition] = (*kept, report.run)
        totals.levels.append(sum(report.count for report in reports))
        totals.sent_bytes.append(sum(report.received for report in reports))
        written = sum(report.run.count for report in reports if report.run is not None)
        totals.written_bytes.append(8 * self._kernels.row_words * written)

    def _take_expanded(self, report: ExpansionReport, level: int) -> None:
        """Add the report on the expansion of a level."""
        totals = self.totals
        _add(totals.generated, report.generated)
        if totals.failure is None and report.failure is not None:
            words, instance = report.failure
            totals.failure = CheckpointLocation(level, words, instance)
        if totals.deadlock is None and report.deadlock is not None:
            totals.deadlock = CheckpointLocation(level, report.deadlock)
        for bit, (words, instance, successor) in report.steps.items():
            self._find(bit, CheckpointLocation(level, words, instance, successor))

    def _find(self, bit: int, place: CheckpointLocation) -> None:
        totals = self.totals
        # Bit 63 is not a property, but says that the evaluation of one left its bounds.
        if bit == OUT_OF_BOUNDS_BIT:
            totals.property_failure = totals.property_failure or place
        else:
            totals.found.setdefault(bit, place)

    def _outcome(self) -> Outcome | None:
        """Return why to stop after this level, or None; reasons have the same priority as in the native engine."""
        totals, plan = self.totals, self._plan
        # The same order of tests as in the native search, so that both engines give the same outcome.
        if totals.failure is not None or totals.property_failure is not None:
            return "error"
        violated = {self._compiled.names[bit] for bit in totals.found}
        violated -= {name for name in violated if self._compiled.spec.roles[name] is Role.REACHABLE}
        if plan.deadlock and totals.deadlock is not None:
            violated.add(DEADLOCK)
        if plan.is_satisfied_by(violated):
            return "stopped"
        if not totals.levels[-1]:
            return "complete"
        if plan.cancelled.is_set():
            return "interrupted"
        if plan.max_states is not None and totals.states >= plan.max_states:
            return "max_states"
        if plan.max_depth is not None and len(totals.levels) >= plan.max_depth:
            return "max_depth"
        return None

    def _report_progress(self) -> None:
        if self._plan.on_progress is None:
            return
        totals = self.totals
        generated = totals.levels[0] + sum(totals.generated)
        counts = (len(totals.levels), totals.states, generated, totals.levels[-1])
        seconds = time.perf_counter() - self._started
        self._plan.on_progress(ExplorationProgress(*counts, seconds, peak_memory()))


def _add(totals: list[int], counts: dict[int, int]) -> None:
    for position, count in counts.items():
        totals[position] += count


def _violation(store: StoredStates, place: CheckpointLocation) -> FoundViolation:
    state = store.id_of(place.level, place.words)
    if place.instance is None:
        return FoundViolation(state)
    assert place.successor is not None, "a step has a successor"
    return FoundViolation(state, StoredStep(place.instance, place.successor))


def _failure(store: StoredStates, place: CheckpointLocation) -> FoundFailure:
    assert place.instance is not None
    # The site is unknown here; the interpreter determines the failed expression when it rebuilds the trace.
    return FoundFailure(store.id_of(place.level, place.words), place.instance, site=0)
