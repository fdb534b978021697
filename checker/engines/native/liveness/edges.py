"""The steps between stored states that change the state, each state expanded at most once.

States have numbers: shard by shard, in the order of the store. The steps of a state follow one another:

    row        the states in the order in which they were expanded
    starts     row r has the steps starts[r] .. starts[r + 1] - 1
    targets    the number of the successor, or NOT_STORED
    instances  the action instance
"""

from __future__ import annotations

import math
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from checker.engines.native.explore.memory_layout import SHARD_BITS
from checker.engines.native.explore.search_store import SearchStore
from checker.engines.native.liveness.kernels import ExpandKernel
from checker.engines.native.llvm.word_arrays import Words
from checker.run.liveness import LivenessInterrupted

States = NDArray[np.int64]
Edges = NDArray[np.int64]

_BATCH = 1 << 15
"""States of a call of the kernel: enough to be worth a thread, few enough to notice an interrupt soon."""


class StateNumbers:
    """The numbers of the states of a store: shard by shard, in the order of the shard."""

    def __init__(self, store: SearchStore):
        counts = np.array(store.counts(), np.int64)
        self.count = int(counts.sum())
        self.offsets: Words = (np.cumsum(counts) - counts).astype(np.uint64)
        self._starts = self.offsets.astype(np.int64)

    def ids(self, numbers: States) -> NDArray[np.int64]:
        """Return the ids of states in the store by their numbers (n,)."""
        shards = np.searchsorted(self._starts, numbers, side="right") - 1
        return ((numbers - self._starts[shards]) << SHARD_BITS) | shards


class EdgeStore:
    """The steps of the states that were expanded so far. `expected` is the number of steps of all states, if known."""

    def __init__(
        self,
        kernel: ExpandKernel,
        store: SearchStore,
        numbers: StateNumbers,
        *,
        expected: int,
        workers: int,
        cancelled: threading.Event,
    ):
        self._kernel, self._store, self._numbers = kernel, store, numbers
        self._expected = expected
        self._workers, self._cancelled = workers, cancelled
        self._row_of: NDArray[np.int32] = np.full(numbers.count, -1, np.int32)
        # Pages of these arrays are resident only once they are written.
        self._starts: NDArray[np.int64] = np.zeros(numbers.count + 1, np.int64)
        self._targets: NDArray[np.uint32] = np.empty(max(1, expected), np.uint32)
        self._instances: NDArray[np.uint16] = np.empty(max(1, expected), np.uint16)
        self._rows = self._edges = 0

    def estimate_steps(self, states: States) -> int:
        """Return about how many steps some states (n,) have: a state that was not expanded has the average number."""
        is_new = self._row_of[states] < 0
        average = self._expected / max(1, self._numbers.count)
        return int(self.count_of(states[~is_new]).sum()) + math.ceil(np.count_nonzero(is_new) * average)

    def expand(self, states: States) -> None:
        """Expand the states (n,), each once, that were not expanded before."""
        new = states[self._row_of[states] < 0]
        if not len(new):
            return
        self._row_of[new] = np.arange(self._rows, self._rows + len(new), dtype=np.int32)
        ids = self._numbers.ids(new).astype(np.uint32)
        batches = [ids[start : start + _BATCH] for start in range(0, len(ids), _BATCH)]
        if self._workers == 1 or len(batches) == 1:
            for batch in batches:
                self._append(*self._steps(batch))
            return
        with ThreadPoolExecutor(self._workers, "liveness") as pool:
            # In rounds, so that few batches wait for being appended.
            for start in range(0, len(batches), 2 * self._workers):
                for steps in pool.map(self._steps, batches[start : start + 2 * self._workers]):
                    self._append(*steps)

    def _steps(self, ids: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint16]]:
        """Return the steps of a batch of states: their counts, targets and action instances."""
        if self._cancelled.is_set():
            raise LivenessInterrupted
        room = max(4 * len(ids), self._kernel.instances, 1)
        parts = []
        done = 0
        while done < len(ids):
            part = self._kernel.expand(self._store, self._numbers.offsets, ids[done:], room)
            parts.append(part)
            done += len(part[0])
        counts, targets, instances = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return counts, targets, instances

    def _append(self, counts: NDArray[np.uint32], targets: NDArray[np.uint32], instances: NDArray[np.uint16]) -> None:
        end = self._edges + len(targets)
        if end > len(self._targets):
            # Only an exploration that stopped at a limit has more steps than expected.
            self._targets = np.concatenate([self._targets, np.empty(end, np.uint32)])
            self._instances = np.concatenate([self._instances, np.empty(end, np.uint16)])
        self._targets[self._edges : end], self._instances[self._edges : end] = targets, instances
        ends = self._edges + np.cumsum(counts, dtype=np.int64)
        self._starts[self._rows + 1 : self._rows + 1 + len(counts)] = ends
        self._rows, self._edges = self._rows + len(counts), end

    def count_of(self, states: States) -> NDArray[np.int64]:
        """Return the number of steps of each of some expanded states (n,)."""
        rows = self._row_of[states]
        counts: NDArray[np.int64] = self._starts[rows + 1] - self._starts[rows]
        return counts

    def positions(self, states: States) -> Edges | slice:
        """Return the positions of the steps of some expanded states (n,), state by state.

        A slice if the states are in the order in which they were expanded: then no array is copied.
        """
        rows = self._row_of[states]
        if len(rows) and (np.diff(rows) == 1).all():
            return slice(int(self._starts[rows[0]]), int(self._starts[rows[-1] + 1]))
        return ranges(self._starts[rows], self._starts[rows + 1])

    def targets(self, positions: Edges | slice) -> NDArray[np.uint32]:
        """Return the numbers of the successors of the steps at some positions, or NOT_STORED. Do not change them."""
        return self._targets[positions]

    def instances(self, positions: Edges | slice) -> NDArray[np.uint16]:
        """Return the action instances of the steps at some positions. Do not change them."""
        return self._instances[positions]


def ranges(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers start .. end - 1 of each range (n,), one range after the other."""
    lengths = ends - starts
    total = int(lengths.sum())
    # The difference between a number and its place in the result is constant in each range.
    shifts = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    return shifts + np.arange(total)
