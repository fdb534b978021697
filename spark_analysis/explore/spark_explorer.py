"""Exploration on Spark: breadth-first, level by level, with the states on disk in partitions by hash.

Each level is one job. Its first half expands the frontier of each partition and sends the successors to their
partitions. Its second half compares them with the runs of the partition, stores the new states as the run of the next
level, and checks them. Visited states never move; only candidates are sent. Counts, levels, verdicts and the lengths of
counterexamples equal those of the native engine. A run ends only at the end of a level.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from checker.engines.native.batch import BatchCode, BatchEngine, compile_batch
from checker.engines.native.explore.exploration import Exploration, FoundFailure, FoundViolation, Outcome, StoredStep
from checker.engines.native.explore.memory_layout import OUT_OF_BOUNDS_BIT
from checker.engines.native.lowering.state_layout import StateLayout
from checker.engines.native.results import ResultBuilder, failed_init, initial_states, property_mask, require_sizes
from checker.errors import BoundsError, InputError, SpecError
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
from spark_analysis.explore.checkpoint import (
    Checkpoint,
    CheckpointLocation,
    ExplorationIdentity,
    ExplorationTotals,
    open_checkpoint,
)
from spark_analysis.explore.jobs import Interrupted, Jobs
from spark_analysis.explore.state_columns import INITIAL_INSTANCE, StateColumns, distinct
from spark_analysis.explore.stored_states import StoredStates

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS_A_CORE = 2
"""Default number of partitions for each core of the session. With fewer, cores would be idle at the end of a level."""


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
    spec: Spec, plan: Plan, spark: SparkSession, *, checkpoint: Path | None = None, partitions: int | None = None
) -> Result:
    """Explore a spec on Spark, or resume its checkpoint, and return the result like the native engine.

    `checkpoint` is a folder that the driver and all executors see; it keeps every complete level. None stands for a
    temporary folder of this machine. `partitions` is the number of partitions of the states; an existing checkpoint
    keeps its number. The result has no findings, and liveness properties are undecided. Raises UserError if the spec is
    outside the language, the checkpoint belongs to another exploration or is damaged, or a task fails at every attempt.
    """
    if spec.names_of(Role.VIEW):
        raise SpecError(f"{spec.name} has a view, which the engine spark does not support: use --engine native")
    cores = spark.sparkContext.defaultParallelism
    plan = replace(plan, workers=cores)
    started = time.perf_counter()
    liveness = liveness_names(spec, plan.properties)
    check_liveness(spec, liveness)
    compiled = _compile(spec, [name for name in plan.properties if name != DEADLOCK and name not in liveness])
    compile_seconds = time.perf_counter() - started
    try:
        initial = initial_states(spec)
    except BoundsError:
        return failed_init("spark", spec, plan, compile_seconds)
    if starts := wrong_starts(spec, compiled.names, initial):
        failed = failed_init("spark", spec, plan, compile_seconds)
        return replace(failed, violations=starts, distinct_states=len(initial), levels=(len(initial),))
    count = partitions or PARTITIONS_A_CORE * cores
    with _folder(checkpoint) as folder, open_checkpoint(folder, compiled.identity, count) as kept:
        search = _SparkSearch(compiled, plan, kept, kept.totals())
        with Jobs(spark, compiled.code, folder, kept.partitions, plan.cancelled) as jobs:
            outcome = search.run(jobs, initial)
        found = search.exploration(outcome)
        builder = ResultBuilder("spark", spec, compiled.state_of, plan, compiled.names, found)
        result = builder.result(compile_seconds)
        if result.ended != "violation":
            why = "the spark engine does not decide liveness properties: use --engine native"
            result.undecided = dict.fromkeys(liveness, why)
        return result


def _compile(spec: Spec, names: list[str]) -> _Compiled:
    program = compile_spec(spec, names)
    require_sizes(spec, program, names)
    digest = digest_of(program)
    code, layout = compile_batch(program)
    identity = ExplorationIdentity(type(spec).name, dict(spec.constants), names, digest, layout.words)
    return _Compiled(spec, names, identity, code, layout, BatchEngine(code))


@contextmanager
def _folder(checkpoint: Path | None) -> Iterator[Path]:
    if checkpoint is not None:
        yield checkpoint.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="tidemark-states-") as name:
        yield Path(name)


class _SparkSearch:
    """An exploration in progress: the totals up to the last complete level, and the next steps."""

    def __init__(self, compiled: _Compiled, plan: Plan, checkpoint: Checkpoint, totals: ExplorationTotals | None):
        self._compiled, self._plan, self._checkpoint = compiled, plan, checkpoint
        instances = compiled.code.instances
        self.totals = totals or ExplorationTotals([], [0] * instances, [0] * instances)
        self._state_mask = compiled.mask(Role.INVARIANT, Role.REACHABLE)
        self._step_mask = compiled.mask(*STEP_ROLES)
        # The time of the earlier runs of a checkpoint counts too.
        self._started = time.perf_counter() - self.totals.seconds

    def run(self, jobs: Jobs, initial: list[State]) -> Outcome:
        """Explore until no state is left or there is a reason to stop; return the outcome."""
        try:
            if not self.totals.levels:
                self._take(jobs.initial(self._packed(initial), self._state_mask))
            while (outcome := self._outcome()) is None:
                # A property that was found in an earlier level is not checked again: the first finding is the shortest
                # one.
                seen = sum(1 << bit for bit in self.totals.found)
                level = len(self.totals.levels) - 1
                masks = self._state_mask & ~seen, self._step_mask & ~seen
                self._take(jobs.level(level, self.totals.levels[-1], *masks))
        except Interrupted:
            return "interrupted"
        return outcome

    def exploration(self, outcome: Outcome) -> Exploration:
        """Return the exploration with its violations and its states."""
        totals, reachable_mask = self.totals, self._compiled.mask(Role.REACHABLE)
        store = StoredStates(self._checkpoint, totals, self._compiled.batch)
        found = {bit: _violation(store, place) for bit, place in totals.found.items()}
        failure, deadlock = totals.failure, totals.deadlock
        return Exploration(
            distinct=totals.states,
            generated=(totals.levels or [0])[0] + sum(totals.generated),
            levels=[count for count in totals.levels if count],
            outcome=outcome,
            seconds=time.perf_counter() - self._started,
            violations={bit: where for bit, where in found.items() if not reachable_mask >> bit & 1},
            reached={bit: where for bit, where in found.items() if reachable_mask >> bit & 1},
            error=None if failure is None else _failure(store, failure),
            property_error=None if totals.property_failure is None else _violation(store, totals.property_failure),
            deadlock=None if deadlock is None else store.id_of(deadlock.level, deadlock.words),
            generated_per_instance=np.array(totals.generated, np.int64),
            store=store,
        )

    def _packed(self, states: list[State]) -> StateColumns:
        words = np.array([self._compiled.layout.encode(state.values) for state in states], np.uint64)
        none = np.zeros(len(words), np.uint64)
        initial = np.full(len(words), INITIAL_INSTANCE, np.uint16)
        return distinct(StateColumns(self._compiled.batch.hashes(words), words, none, initial))

    def _take(self, reports: list[dict[str, Any]]) -> None:
        """Add the reports of a job to the totals, and commit the level that it wrote."""
        totals = self.totals
        level = len(totals.levels)
        # By partition: Spark returns the reports in any order, and the first finding must not depend on it.
        expanded = sorted((report for report in reports if "expanded" in report), key=lambda report: report["expanded"])
        inserted = sorted((report for report in reports if "inserted" in report), key=lambda report: report["inserted"])
        # A repeated task must not count twice and a lost one must not be missed, so each partition reports exactly
        # once.
        if len(inserted) != self._checkpoint.partitions:
            raise InputError(
                f"only {len(inserted)} of {self._checkpoint.partitions} partitions sent a report: run again"
            )
        for report in expanded:
            _add(totals.generated, report["generated"])
            self._take_expanded(report, level - 1)
        for report in inserted:
            _add(totals.distinct, report["by_instance"])
            for bit, words in report["states"].items():
                self._find(int(bit), CheckpointLocation(level, words))
        totals.levels.append(sum(report["count"] for report in inserted))
        totals.shuffled_bytes.append(sum(report["received"] for report in inserted))
        totals.written_bytes.append(sum(report["bytes"] for report in inserted))
        totals.seconds = time.perf_counter() - self._started
        self._checkpoint.commit(totals, {report["inserted"]: (report["count"], report["bytes"]) for report in inserted})
        self._report_progress()

    def _take_expanded(self, report: dict[str, Any], level: int) -> None:
        """Take the first finding of each kind from the report of a partition; reports are in the order of hashes."""
        totals = self.totals
        if totals.failure is None and "failure" in report:
            words, instance = report["failure"]
            totals.failure = CheckpointLocation(level, words, instance)
        if totals.deadlock is None and "deadlock" in report:
            totals.deadlock = CheckpointLocation(level, report["deadlock"])
        for bit, (words, instance, successor) in report["steps"].items():
            self._find(int(bit), CheckpointLocation(level, words, instance, successor))

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
        if plan.satisfied_by(violated):
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
        self._plan.on_progress(ExplorationProgress(*counts, totals.seconds, peak_memory()))


def _add(totals: list[int], counts: dict[str, int]) -> None:
    for position, count in counts.items():
        totals[int(position)] += count


def _violation(store: StoredStates, place: CheckpointLocation) -> FoundViolation:
    state = store.id_of(place.level, place.words)
    if place.instance is None:
        return FoundViolation(state)
    return FoundViolation(state, StoredStep(place.instance, np.array(place.successor, np.uint64)))


def _failure(store: StoredStates, place: CheckpointLocation) -> FoundFailure:
    assert place.instance is not None
    # The site is unknown here; the interpreter determines the failed expression when it rebuilds the trace.
    return FoundFailure(store.id_of(place.level, place.words), place.instance, site=0)
