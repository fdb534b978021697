"""Access to single states of an exploration on disk, for counterexamples and for comparison of engines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from checker.engines.native.explore.memory_layout import INITIAL_INSTANCE
from checker.engines.native.kernels.batch import BatchEngine
from checker.engines.native.kernels.row_kernels import instances_of, levels_of, row_kernels
from checker.engines.native.llvm.word_arrays import Words
from spark_analysis.explore.checkpoint import ExplorationTotals, StoredLevels
from spark_analysis.explore.row_files import RUNS, StoredRun, map_run, partition_of
from traces.storage import Location


class StoredStates:
    """A `StateStore` over the runs of a checkpoint. Ids number the requested states."""

    def __init__(self, folder: Location, levels: StoredLevels, totals: ExplorationTotals, batch: BatchEngine) -> None:
        self._folder, self._levels, self._totals, self._batch = folder, levels, totals, batch
        self._kernels = row_kernels(batch.words)
        self._ids: dict[tuple[int, tuple[int, ...]], int] = {}
        self._named: list[tuple[int, tuple[int, ...]]] = []

    @property
    def memory_bytes(self) -> int:
        """The size of the states on disk, in bytes."""
        return 8 * self._kernels.row_words * self._totals.states

    def id_of(self, level: int, words: list[int]) -> int:
        """Return the id of a state of a level."""
        named = level, tuple(words)
        if named not in self._ids:
            self._ids[named] = len(self._named)
            self._named.append(named)
        return self._ids[named]

    def find(self, words: Sequence[int] | Words) -> int | None:
        """Return the id of the state with these words (words,), or None if it is not stored."""
        sought = [int(word) for word in words]
        for row in self._alike(self._hash(sought)):
            # The hash finds candidates; only equal words identify the state.
            if self._words(row) == sought:
                return self.id_of(_level(row), sought)
        return None

    def words_of(self, state_id: int) -> list[int]:
        """Return a state's words."""
        return list(self._named[state_id][1])

    def origin_of(self, state_id: int) -> tuple[int, int] | None:
        """Return the state from which a state was first reached, and the action instance; None for an initial state."""
        level, packed = self._named[state_id]
        words = list(packed)
        for row in self._alike(self._hash(words)):
            if self._words(row) != words:
                continue
            instance = int(instances_of(row)[0])
            if instance == INITIAL_INSTANCE:
                return None
            return self._parent(level - 1, int(row[0, -2]), instance, words), instance
        raise AssertionError("a state of a complete level is missing in the runs")

    def all_states(self) -> Words:
        """Return a copy of all states (distinct, words), level by level."""
        rows = np.concatenate([self._rows(run) for run in self._levels.all_runs()])
        return rows[np.argsort(levels_of(rows), kind="stable"), : self._batch.words]

    def distinct_per_instance(self) -> list[int]:
        """Return the number of states that each action instance reached first (instances,)."""
        return self._totals.distinct

    def _parent(self, level: int, hashed: int, instance: int, words: list[int]) -> int:
        """Return the id of the state with this hash from which the action instance leads to `words`.

        Of several such states with the same hash, the first in the order of their words is taken.
        """
        for row in self._alike(hashed):
            if _level(row) != level:
                continue
            # Parents are stored by hash. If two states share it, the expansion shows which of them has the successor.
            expanded = self._batch.expand(row[:, : self._batch.words])
            if expanded.states[expanded.instances == instance].tolist() == [words]:
                return self.id_of(level, self._words(row))
        raise AssertionError("the parent of a state is missing in the runs")

    def _alike(self, hashed: int) -> Iterator[Words]:
        """Yield the rows (1, words + 2) of the states with this hash."""
        for run in self._levels.runs[partition_of(hashed >> 32, self._levels.partitions)]:
            rows = self._rows(run)
            position = self._kernels.lower_bound(rows, hashed)
            while position < len(rows) and self._hash(self._words(rows[position : position + 1])) == hashed:
                yield rows[position : position + 1]
                position += 1

    def _hash(self, words: list[int]) -> int:
        return int(self._batch.hashes(np.array([words], np.uint64))[0])

    def _rows(self, run: StoredRun) -> Words:
        return map_run(self._folder / RUNS / run.name, run, self._kernels.row_words)[0]

    def _words(self, row: Words) -> list[int]:
        words: list[int] = row[0, : self._batch.words].tolist()
        return words


def _level(row: Words) -> int:
    return int(levels_of(row)[0])
