"""The tasks of the executors for one level: expansion of a partition's frontier, and insertion of received states.

A partition is a range of hashes, so a state always belongs to the same partition. A partition has one sorted run of
states for each level. The run is written once and never moves; only candidates are sent. Sent rows are (key, target,
content): `key` makes Spark choose the task of partition `target`, and `content` holds many packed states. A row with
target REPORT holds JSON for the driver. Reports are sent together with the data, so that the reports of a repeated or
duplicate task count once.
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from checker.engines.native.batch import BatchCode, BatchEngine, ExpandedBatch
from spark_analysis.explore.state_columns import (
    StateColumns,
    concatenated_states,
    distinct,
    open_run,
    stored_mask,
    write_run,
)

ROW = "key long, target int, content binary"
REPORTED = "report string"
REPORT = -1

MOST_GATHERED = 1 << 20
"""Number of candidates that a task collects before it removes duplicates and sends them."""

FRONTIER_CHUNK = 1 << 16
"""Number of frontier states in one call of the kernel."""


@dataclass(frozen=True)
class LevelTask:
    """The input of a level's tasks: the folder, the expanded level, the properties to check.

    `level` is -1 for the insertion of the initial states, as level 0. With `keys[p]`, Spark chooses the task of
    partition p.
    """

    code: Any
    folder: str
    level: int
    keys: tuple[int, ...]
    state_mask: int
    step_mask: int

    @property
    def batch(self) -> BatchEngine:
        """The spec's batch code, compiled once in each process."""
        return _compiled(self.code.value)

    @property
    def partitions(self) -> int:
        """The number of partitions."""
        return len(self.keys)

    def run(self, partition: int, level: int) -> Path:
        """Return the file of a partition's states of a level."""
        return run_path(Path(self.folder), partition, level)


@functools.lru_cache(maxsize=4)
def _compiled(code: BatchCode) -> BatchEngine:
    return BatchEngine(code)


def run_path(folder: Path, partition: int, level: int) -> Path:
    """Return the file of a partition's states of a level; the initial states are level 0."""
    return folder / f"part-{partition:05}" / f"level-{level:05}.arrow"


def partition_of(hashed: int, partitions: int) -> int:
    """Return the partition that a hash belongs to."""
    return (hashed >> 32) * partitions >> 32


def starts_of(hashes: np.ndarray, partitions: int) -> list[int]:
    """Return the start of each partition in ascending hashes, and the end: partitions + 1 positions."""
    # The same formula as `partition_of`: the high 32 bits, scaled to the number of partitions. The product fits into 64
    # bits, and owners ascend with the hashes.
    owners = (hashes >> np.uint64(32)) * np.uint64(partitions) >> np.uint64(32)
    return [int(start) for start in np.searchsorted(owners, np.arange(partitions + 1, dtype=np.uint64))]


def partition_rows(states: StateColumns, keys: Sequence[int]) -> Iterator[tuple[int, int, bytes]]:
    """Yield a row for each partition with some of the states, which are sorted by hash."""
    starts = starts_of(states.hashes, len(keys))
    for target, key in enumerate(keys):
        part = states[starts[target] : starts[target + 1]]
        if len(part):
            yield key, target, part.to_bytes()


# Expanding.


def expand(work: LevelTask, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Expand the frontiers of the given partitions (column `id`); yield candidates and a report for each."""
    for batch in batches:
        for partition in batch.column(0).to_pylist():
            yield from _expand_partition(work, partition)


def _expand_partition(work: LevelTask, partition: int) -> Iterator[pa.RecordBatch]:
    frontier = open_run(work.run(partition, work.level), work.batch.words)
    report = _ExpansionReport(partition, frontier, work.batch.instances)
    gathered: list[StateColumns] = []
    at = 0
    while at < len(frontier):
        found = work.batch.expand(frontier.words[at : at + FRONTIER_CHUNK], work.step_mask)
        report.add(at, found)
        # The parent is sent as its hash: it has no number that holds across partitions.
        parents = frontier.hashes[at : at + found.taken][found.parents]
        gathered.append(StateColumns(found.hashes, found.states, parents, found.instances))
        at += found.taken
        if sum(map(len, gathered)) >= MOST_GATHERED:
            # Removing duplicates here saves sending them; those between tasks are removed when they are inserted.
            yield from _deduplicated(work, gathered)
            gathered.clear()
    yield from _deduplicated(work, gathered)
    key = work.keys[partition]
    # The empty row makes the partition's own task write a run, even if it receives no candidate.
    yield to_batch([(key, partition, b""), (key, REPORT, json.dumps(report.content).encode())])


def _deduplicated(work: LevelTask, gathered: list[StateColumns]) -> Iterator[pa.RecordBatch]:
    if any(map(len, gathered)):
        yield to_batch(partition_rows(distinct(concatenated_states(gathered)), work.keys))


def to_batch(rows: Iterable[tuple[int, int, bytes]]) -> pa.RecordBatch:
    """Return at least one row as a record batch to send."""
    keys, targets, contents = zip(*rows, strict=True)
    return pa.record_batch(
        {
            "key": pa.array(keys, pa.int64()),
            "target": pa.array(targets, pa.int32()),
            "content": pa.array(contents, pa.binary()),
        }
    )


class _ExpansionReport:
    """The results of expanding a partition's frontier: counts, and the first finding of each kind in sorted order."""

    def __init__(self, partition: int, frontier: StateColumns, instances: int):
        self._frontier = frontier
        self._generated = np.zeros(instances, np.int64)
        self._steps: dict[int, Any] = {}
        self._first: dict[str, Any] = {"steps": self._steps}
        self._partition = partition

    def add(self, at: int, found: ExpandedBatch) -> None:
        """Add the results of a chunk that starts at position `at` of the frontier."""
        self._generated += np.bincount(found.instances, minlength=len(self._generated))
        if "deadlock" not in self._first and len(found.deadlocked):
            self._first["deadlock"] = self._words(at + int(found.deadlocked[0]))
        if "failure" not in self._first and found.failures.any():
            position = int(np.flatnonzero(found.failures)[0])
            self._first["failure"] = [self._words(at + position), int(found.failed[position])]
        for bit, position in _first_of_bits(found.steps).items():
            if bit not in self._steps:
                old = self._words(at + int(found.parents[position]))
                self._steps[bit] = [old, int(found.instances[position]), found.states[position].tolist()]

    @property
    def content(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return {"expanded": self._partition, "generated": _counts(self._generated), **self._first}

    def _words(self, position: int) -> list[int]:
        words: list[int] = self._frontier.words[position].tolist()
        return words


def _first_of_bits(bits: np.ndarray) -> dict[int, int]:
    """Return, for each bit that is set somewhere, the first position where it is set."""
    seen = int(np.bitwise_or.reduce(bits)) if len(bits) else 0
    return {bit: int(np.argmax(bits >> np.uint64(bit) & np.uint64(1))) for bit in range(64) if seen >> bit & 1}


def _counts(numbers: np.ndarray) -> dict[int, int]:
    """Return the nonzero counts by position."""
    return {int(position): int(numbers[position]) for position in np.flatnonzero(numbers)}


# Inserting.


def insert(work: LevelTask, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Store the new candidates as the next level, and check them; yield reports.

    Every partition receives at least an empty row and writes a run. A missing run has therefore been lost.
    """
    candidates: dict[int, list[StateColumns]] = {}
    received: Counter[int] = Counter()
    for batch in batches:
        targets, contents = batch.column(1).to_pylist(), batch.column(2)
        for target, content in zip(targets, contents, strict=True):
            if target == REPORT:
                yield _reported(content.as_py().decode())
                continue
            received[target] += len(content.as_buffer())
            parts = candidates.setdefault(target, [])
            parts.append(StateColumns.from_bytes(content.as_buffer(), work.batch.hashes, work.batch.words))
            if len(parts) > 1 and sum(map(len, parts)) >= MOST_GATHERED:
                parts[:] = [distinct(concatenated_states(parts))]
    for target, parts in candidates.items():
        report = _insert_partition(work, target, distinct(concatenated_states(parts)))
        yield _reported(json.dumps(report | {"received": received[target]}))


def _insert_partition(work: LevelTask, partition: int, states: StateColumns) -> dict[str, Any]:
    # All earlier levels, and not only the last two: an action may lead back to any of them.
    for level in range(work.level + 1):
        states = states[~stored_mask(states, open_run(work.run(partition, level), work.batch.words))]
    bits = work.batch.check(states.words, work.state_mask)
    # Initial states have the number INITIAL_INSTANCE, which the slice drops.
    by_instance = np.bincount(states.instances, minlength=work.batch.instances)[: work.batch.instances]
    size = write_run(work.run(partition, work.level + 1), states)
    return {
        "inserted": partition,
        "count": len(states),
        "bytes": size,
        "by_instance": _counts(by_instance),
        "states": {bit: states.words[position].tolist() for bit, position in _first_of_bits(bits).items()},
    }


def _reported(report: str) -> pa.RecordBatch:
    return pa.record_batch({"report": pa.array([report], pa.string())})
