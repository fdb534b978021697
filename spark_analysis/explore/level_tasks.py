"""The tasks of one level: insertion of a partition's candidates, and expansion of its new states.

A partition is a range of hashes. A task handles adjacent partitions: it removes duplicates from their candidates,
removes the states that are stored in earlier runs (the newest run first), stores the rest, checks it, and expands it.
The successors of all these states are candidates for the next level. Their files are sorted by hash, so that the next
level's tasks read adjacent rows.

A run is merged with the one before it, unless that is more than twice as large. Therefore the number of a partition's
runs is at most the binary logarithm of the number of its states.
"""

from __future__ import annotations

import errno
import functools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from checker.engines.native.kernels.batch import BatchCode, BatchEngine, ExpandedBatch
from checker.engines.native.kernels.row_kernels import (
    HASH_RANGE,
    ORIGIN_WORDS,
    RowFilter,
    RowTable,
    SortedRows,
    instances_of,
    levels_of,
    row_kernels,
)
from checker.engines.native.llvm.word_arrays import Words
from checker.errors import OutputError, UserError
from spark_analysis.explore.row_files import (
    CANDIDATES,
    RUNS,
    CandidateFile,
    DamagedFileError,
    StoredRun,
    is_whole_run,
    map_run,
    range_of,
    read_candidates,
    write_candidates,
    write_run,
)
from traces.storage import Location, StorageError, location_of

MOST_GATHERED = 1 << 20
"""The number of successors that a task collects before it writes them to a file."""

ROWS_AT_ONCE = 1 << 17
"""About the number of rows that are inserted or merged at once: their table fits into a processor's cache."""

LARGER_RUN = 2
"""A run is merged with the run before it if that has at most so many times as many rows."""

FRONTIER_CHUNK = 1 << 12
"""The number of states in one call of the kernel: their successors fit into a processor's cache."""

_NOT_WRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES}
"""Errors that another attempt of a task would meet too."""


@dataclass(frozen=True)
class PartitionInput:
    """A partition and its runs, from the oldest to the newest."""

    partition: int
    runs: tuple[StoredRun, ...]


@dataclass(frozen=True)
class LevelWork:
    """What all tasks of a level have in common.

    `level` is the inserted level, with its `candidates` (None: it is already stored, and only to be expanded). New
    files have names with `token`, which differs in every run of a driver, so that a task that outlives its driver
    cannot replace them. `next_partitions`: the number of partitions of the next level, or None if the level is not to
    be expanded.
    """

    code: BatchCode
    folder: str
    token: str
    level: int
    partitions: int
    candidates: tuple[CandidateFile, ...] | None
    next_partitions: int | None
    state_mask: int
    step_mask: int
    durable: bool = True

    @property
    def batch(self) -> BatchEngine:
        """The spec's batch code, compiled once in each process."""
        return _compile(self.code)

    def candidates_in(self, file: CandidateFile, partition: int) -> Words:
        """Return the candidates for a partition in a file; raise DamagedFileError if they are damaged."""
        path = self.path(CANDIDATES, file.name)
        return read_candidates(path, partition, self.partitions, self.batch.words + ORIGIN_WORDS)

    def path(self, kind: str, name: str) -> Location:
        """Return the path of a run or a candidate file."""
        return location_of(self.folder) / kind / name


@functools.lru_cache(maxsize=4)
def _compile(code: BatchCode) -> BatchEngine:
    return BatchEngine(code)


@dataclass(frozen=True)
class InsertedPartition:
    """The result of an insertion: number of new states, their numbers by action instance, and first findings by bit.

    `run` holds the new states and the rows of the runs named in `merged`; it is None without new states. `received`:
    the bytes of the candidates.
    """

    partition: int
    count: int
    run: StoredRun | None
    merged: frozenset[str]
    by_instance: dict[int, int]
    states: dict[int, list[int]]
    received: int


@dataclass
class ExpansionReport:
    """The result of an expansion: successors by action instance, and the first finding of each kind, by packed words.

    `steps`: by property bit, the state, the action instance and the successor. `failure`: a state and the action
    instance that left its bounds in it. The first one is that with the least hash.
    """

    generated: dict[int, int] = field(default_factory=dict)
    steps: dict[int, tuple[list[int], int, list[int]]] = field(default_factory=dict)
    deadlock: list[int] | None = None
    failure: tuple[list[int], int] | None = None

    def add(self, later: ExpansionReport) -> None:
        """Add the report of later partitions."""
        for instance, count in later.generated.items():
            self.generated[instance] = self.generated.get(instance, 0) + count
        for bit, step in later.steps.items():
            self.steps.setdefault(bit, step)
        self.deadlock = later.deadlock if self.deadlock is None else self.deadlock
        self.failure = later.failure if self.failure is None else self.failure

    def add_batch(self, states: Words, expanded: ExpandedBatch) -> None:
        """Add the successors of the next states (n, words)."""
        batch = ExpansionReport(_nonzero(np.bincount(expanded.instances)))
        for bit, position in _first_of_bits(expanded.steps).items():
            old = states[expanded.parents[position]].tolist()
            batch.steps[bit] = old, int(expanded.instances[position]), expanded.states[position].tolist()
        if len(expanded.deadlocked):
            batch.deadlock = states[expanded.deadlocked[0]].tolist()
        if expanded.failures.any():
            position = int(np.argmax(expanded.failures > 0))
            batch.failure = states[position].tolist(), int(expanded.failed[position])
        self.add(batch)


@dataclass(frozen=True)
class TaskReport:
    """The results of a task: of each of its partitions, of the expansion of all, and the candidate files it wrote."""

    inserted: list[InsertedPartition]
    expanded: ExpansionReport
    candidates: list[CandidateFile]


def run_task(work: LevelWork, inputs: Sequence[PartitionInput]) -> TaskReport | UserError:
    """Insert and expand adjacent partitions. Return an error that would occur again: Spark repeats a task that raises.

    The files are written before the report is returned, and have the same content at every attempt.
    """
    try:
        return _run(work, inputs)
    except StorageError:
        # Another attempt may find the store again.
        raise
    except UserError as error:
        return error
    except OSError as error:
        if error.errno not in _NOT_WRITABLE:
            raise
        return OutputError(f"the states cannot be written to {work.folder}: {os.strerror(error.errno or 0)}")


def damaged_runs(folder: str, runs: Sequence[StoredRun]) -> list[str]:
    """Return the names of the runs whose files do not have the content that was written."""
    return [run.name for run in runs if not is_whole_run(location_of(folder) / RUNS / run.name, run)]


def _run(work: LevelWork, inputs: Sequence[PartitionInput]) -> TaskReport:
    inserted = []
    successors = _Successors(work, inputs[0].partition)
    for given in inputs:
        runs = _PartitionRuns(work, given)
        if work.candidates is None:
            states = runs.states_of(work.level)
        else:
            report, states = runs.insert([work.candidates_in(file, given.partition) for file in work.candidates])
            inserted.append(report)
        if work.next_partitions is not None:
            successors.expand(states)
    return TaskReport(inserted, successors.report, successors.finish())


class _PartitionRuns:
    """The runs of one partition while a task works on it."""

    def __init__(self, work: LevelWork, given: PartitionInput) -> None:
        self._work, self._partition, self._runs = work, given.partition, given.runs
        self._kernels = row_kernels(work.batch.words)
        self._low, self._high = range_of(given.partition, work.partitions)

    def insert(self, received: list[Words]) -> tuple[InsertedPartition, SortedRows]:
        """Store the new states among the received candidates; return the report and the new states."""
        work = self._work
        stored = [self._map(run) for run in self._runs]
        total = sum(map(len, received))
        parts = [self._new(rows, low, high, stored) for low, high, rows in self._slices(received, total)]
        rows, hashes = [part.rows for part in parts], [part.hashes for part in parts]
        states = SortedRows(np.concatenate(rows), np.concatenate(hashes))
        run, merged = self._store(states.rows, stored) if len(states) else (None, frozenset[str]())
        bits = work.batch.check(states.rows[:, : work.batch.words], work.state_mask)
        by_instance = np.bincount(instances_of(states.rows), minlength=work.batch.instances)[: work.batch.instances]
        report = InsertedPartition(
            partition=self._partition,
            count=len(states),
            run=run,
            merged=merged,
            by_instance=_nonzero(by_instance),
            states={
                bit: states.rows[position, : work.batch.words].tolist()
                for bit, position in _first_of_bits(bits).items()
            },
            received=sum(part.nbytes for part in received),
        )
        return report, states

    def states_of(self, level: int) -> SortedRows:
        """Return the stored states of a level, which is the newest one."""
        for run in self._runs:
            if run.level == level:
                rows, _ = self._map(run)
                rows = rows[levels_of(rows) == level]
                return SortedRows(rows, self._work.batch.hashes(rows[:, : self._work.batch.words]))
        return SortedRows(np.empty((0, self._kernels.row_words), np.uint64), np.empty(0, np.uint64))

    def _new(self, received: list[Words], low: int, high: int, stored: list[tuple[Words, RowFilter]]) -> SortedRows:
        """Return the distinct rows that are not stored; their hashes have high halves from `low` to below `high`."""
        table = RowTable(self._kernels, sum(map(len, received)), low, high)
        for rows in received:
            table.add_rows(rows)
        new = table.sorted()
        # An action often leads back to a recent state, so the newest run removes most of them, and is small.
        for rows, filtered in reversed(stored):
            new = self._kernels.subtract(new, rows, filtered)
        return new

    def _store(self, new: Words, stored: list[tuple[Words, RowFilter]]) -> tuple[StoredRun, frozenset[str]]:
        """Write the new states as a run, merged with the newest runs that are not much larger."""
        merged, total = [], len(new)
        for run, (rows, _) in zip(reversed(self._runs), reversed(stored), strict=True):
            if len(rows) > LARGER_RUN * total:
                break
            if not is_whole_run(self._work.path(RUNS, run.name), run):
                raise DamagedFileError(self._work.path(RUNS, run.name))
            merged.append((run, rows))
            total += len(rows)
        name = f"{self._work.level:05}-{self._partition:05}-{self._work.token}"
        parts = [new, *(rows for _, rows in merged)]
        filtered = RowFilter.empty(total, self._low, self._high)

        def sort_parts() -> Iterator[Words]:
            for _, _, slices in self._slices(parts, total):
                part = functools.reduce(self._kernels.merge, slices)
                filtered.add(self._kernels, part)
                yield part

        path = self._work.path(RUNS, name)
        digest = write_run(path, sort_parts(), filtered.words, durable=self._work.durable)
        stored_run = StoredRun(name, self._work.level, total, digest, self._low, self._high)
        return stored_run, frozenset(run.name for run, _ in merged)

    def _map(self, run: StoredRun) -> tuple[Words, RowFilter]:
        """Return the rows of a run that belong to this partition, and the filter of the run."""
        rows, filtered = map_run(self._work.path(RUNS, run.name), run, self._kernels.row_words)
        if (run.low, run.high) == (self._low, self._high):
            return rows, filtered
        # The run was written before the partitions were split.
        return self._between(rows, self._low, self._high), filtered

    def _between(self, rows: Words, low: int, high: int) -> Words:
        """Return the sorted rows whose hashes have high halves from `low` to below `high`."""
        start, end = (
            len(rows) if bound == HASH_RANGE else self._kernels.lower_bound(rows, bound << 32) for bound in (low, high)
        )
        return rows[start:end]

    def _slices(self, arrays: list[Words], total: int) -> Iterator[tuple[int, int, list[Words]]]:
        """Yield ascending ranges of hashes, with about ROWS_AT_ONCE rows each, and the rows of each array in them."""
        size = self._high - self._low
        pieces = min(size, max(1, -(-total // ROWS_AT_ONCE)))
        bounds = [self._low + size * piece // pieces for piece in range(pieces + 1)]
        for low, high in pairwise(bounds):
            yield low, high, [self._between(rows, low, high) for rows in arrays]


class _Successors:
    """The successors of a task's new states: collected without duplicates, and written when they are many."""

    def __init__(self, work: LevelWork, first: int) -> None:
        self._work, self._first = work, first
        self._kernels = row_kernels(work.batch.words)
        self._table: RowTable | None = None
        self._files: list[CandidateFile] = []
        self.report = ExpansionReport()

    def expand(self, states: SortedRows) -> None:
        """Expand new states, in the order of their hashes."""
        batch, at = self._work.batch, 0
        packed = np.ascontiguousarray(states.rows[:, : batch.words])
        while at < len(states):
            chunk = slice(at, at + FRONTIER_CHUNK)
            expanded = batch.expand(packed[chunk], self._work.step_mask)
            self.report.add_batch(packed[chunk], expanded)
            table = self._room_for(len(expanded.states), 4 * len(states))
            table.add_successors(expanded, states.hashes[chunk], self._work.level + 1)
            at += expanded.taken

    def finish(self) -> list[CandidateFile]:
        """Write the rest, and return all files."""
        if self._table is not None and self._table.count:
            self._write(self._table)
        self._table = None
        return self._files

    def _room_for(self, more: int, expected: int) -> RowTable:
        """Return a table with room for more successors; `expected`: about the number of all of them."""
        if self._table is None or self._table.count + more > self._table.capacity:
            self.finish()
            self._table = RowTable(self._kernels, max(more, min(MOST_GATHERED, expected)))
        return self._table

    def _write(self, table: RowTable) -> None:
        work = self._work
        assert work.next_partitions is not None
        name = f"{work.level + 1:05}-{self._first:05}-{len(self._files):03}-{work.token}"
        path = work.path(CANDIDATES, name)
        self._files.append(write_candidates(path, table.sorted(), work.next_partitions, durable=work.durable))


def _first_of_bits(bits: Words) -> dict[int, int]:
    """Return, for each bit that is set somewhere, the first position where it is set."""
    seen = int(np.bitwise_or.reduce(bits)) if len(bits) else 0
    return {bit: int(np.argmax(bits >> np.uint64(bit) & np.uint64(1))) for bit in range(64) if seen >> bit & 1}


def _nonzero(numbers: Any) -> dict[int, int]:
    """Return the nonzero counts by position."""
    return {int(position): int(numbers[position]) for position in np.flatnonzero(numbers)}
