"""Access to single states of an exploration on disk, for counterexamples and for comparison of engines."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from checker.engines.native.batch import BatchEngine
from checker.engines.native.explore.search_store import Words
from spark_analysis.explore.checkpoint import Checkpoint, ExplorationTotals
from spark_analysis.explore.level_expansion import partition_of, run_path
from spark_analysis.explore.state_columns import INITIAL_INSTANCE, StateColumns, locate, open_run


class StoredStates:
    """A `StateStore` over the runs of a checkpoint. Ids number the requested states."""

    def __init__(self, checkpoint: Checkpoint, totals: ExplorationTotals, batch: BatchEngine) -> None:
        self._checkpoint, self._totals, self._batch = checkpoint, totals, batch
        self._ids: dict[tuple[int, tuple[int, ...]], int] = {}
        self._named: list[tuple[int, tuple[int, ...]]] = []

    @property
    def memory_bytes(self) -> int:
        """The size of the states on disk, in bytes."""
        return sum(self._totals.written_bytes)

    def id_of(self, level: int, words: list[int]) -> int:
        """Return the id of a state of a level."""
        named = level, tuple(words)
        if named not in self._ids:
            self._ids[named] = len(self._named)
            self._named.append(named)
        return self._ids[named]

    def find(self, words: Words) -> int | None:
        """Return the id of the state with these words (words,), or None if it is not stored."""
        sought = [int(word) for word in words]
        for level in range(len(self._totals.levels)):
            # The hash finds candidates; only equal words identify the state.
            if any(run.words[position].tolist() == sought for run, position in self._alike(level, self._hash(sought))):
                return self.id_of(level, sought)
        return None

    def words_of(self, state_id: int) -> Words:
        """Return a copy of a state's words."""
        return np.array(self._named[state_id][1], np.uint64)

    def origin_of(self, state_id: int) -> tuple[int, int] | None:
        """Return the state from which a state was first reached, and the action instance; None for an initial state."""
        level, packed = self._named[state_id]
        words = list(packed)
        for run, position in self._alike(level, self._hash(words)):
            if run.words[position].tolist() != words:
                continue
            instance = int(run.instances[position])
            if instance == INITIAL_INSTANCE:
                return None
            return self._parent(level - 1, int(run.parents[position]), instance, words), instance
        raise AssertionError("a state of a complete level is missing in its run")

    def all_states(self) -> Words:
        """Return a copy of all states (distinct, words), level by level."""
        levels = range(len(self._totals.levels))
        parts = [self._run(partition, level) for level in levels for partition in range(self._checkpoint.partitions)]
        return np.concatenate([part.words for part in parts])

    def distinct_per_instance(self) -> NDArray[np.int64]:
        """Return the number of states that each action instance reached first (instances,)."""
        return np.array(self._totals.distinct, np.int64)

    def _parent(self, level: int, hashed: int, instance: int, words: list[int]) -> int:
        """Return the id of the state with this hash from which the action instance leads to `words`.

        Of several such states with the same hash, the first in the order of their words is taken.
        """
        for run, position in self._alike(level, hashed):
            # Parents are stored by hash. If two states share it, the expansion shows which of them has the successor.
            found = self._batch.expand(run.words[position : position + 1])
            if found.states[found.instances == instance].tolist() == [words]:
                return self.id_of(level, run.words[position].tolist())
        raise AssertionError("the parent of a state is missing in the previous level")

    def _alike(self, level: int, hashed: int) -> Iterator[tuple[StateColumns, int]]:
        """Yield the states of a level with this hash, as their run and the position in it."""
        run = self._run(partition_of(hashed, self._checkpoint.partitions), level)
        for position in locate(run, hashed):
            yield run, position

    def _hash(self, words: list[int]) -> int:
        return int(self._batch.hashes(np.array([words], np.uint64))[0])

    def _run(self, partition: int, level: int) -> StateColumns:
        return open_run(run_path(self._checkpoint.folder, partition, level), self._batch.words)
