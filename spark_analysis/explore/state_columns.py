"""Sorted columns of packed states with their origins: in memory, sent between executors, and on disk.

On disk, a run of states is an uncompressed Arrow IPC file of one record batch. It is memory-mapped, so that a search
reads only the pages that it needs. Columns: `hash` (uint64), `state` (the packed words, little-endian), `parent`
(uint64: the hash of the state that it was first reached from) and `instance` (uint16: the action instance of that
step).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checker.engines.native.explore.memory_layout import INITIAL_INSTANCE
from checker.engines.native.explore.search_store import Words

__all__ = [
    "INITIAL_INSTANCE",
    "StateColumns",
    "concatenated_states",
    "distinct",
    "locate",
    "open_run",
    "stored_mask",
    "write_run",
]


@dataclass(frozen=True)
class StateColumns:
    """n states: `hashes` (n,), `words` (n, k), `parents` (n,) and `instances` (n,); initial states have no parent."""

    hashes: Words
    words: Words
    parents: Words
    instances: NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.hashes)

    def __getitem__(self, which: slice | NDArray[np.bool_] | NDArray[np.intp]) -> StateColumns:
        return StateColumns(self.hashes[which], self.words[which], self.parents[which], self.instances[which])

    def to_bytes(self) -> bytes:
        """Return the states without their hashes, column by column, little-endian."""
        return b"".join(part.tobytes() for part in (self.words, self.parents, self.instances))

    @classmethod
    def from_bytes(cls, content: bytes | memoryview, hashes_of: Callable[[Words], Words], words: int) -> StateColumns:
        """Return the states from the bytes of `to_bytes`."""
        # Bytes of a state: its words, 8 for the parent and 2 for the instance. The hash is computed again rather than
        # sent.
        count = len(content) // (8 * words + 10)
        numbers = np.frombuffer(content, np.uint64, count * (words + 1))
        instances = np.frombuffer(content, np.uint16, count, offset=8 * count * (words + 1))
        states = numbers[: count * words].reshape(count, words)
        return cls(hashes_of(states), states, numbers[count * words :], instances)


def concatenated_states(parts: Sequence[StateColumns]) -> StateColumns:
    """Return the states of all parts, of which there is at least one."""
    return StateColumns(
        np.concatenate([part.hashes for part in parts]),
        np.concatenate([part.words for part in parts]),
        np.concatenate([part.parents for part in parts]),
        np.concatenate([part.instances for part in parts]),
    )


def distinct(states: StateColumns) -> StateColumns:
    """Return each state once, by ascending hash and words, with its least origin (by parent, then instance).

    Whole states are compared, so different states with the same hash are all kept.
    """
    if not len(states):
        return states
    # The usual case: no two different states have the same hash, and sorting one column is enough.
    ordered = states[np.argsort(states.hashes, kind="stable")]
    alike = ordered.hashes[1:] == ordered.hashes[:-1]
    same = alike & (ordered.words[1:] == ordered.words[:-1]).all(axis=1)
    # Two different states have the same hash. Copies of one state need not be adjacent now, so the words are sorted
    # too.
    if (alike != same).any():
        # `lexsort` takes the least significant key first, hence the reversed words, with the hashes last.
        ordered = states[np.lexsort((*states.words.T[::-1], states.hashes))]
        alike = ordered.hashes[1:] == ordered.hashes[:-1]
        same = alike & (ordered.words[1:] == ordered.words[:-1]).all(axis=1)
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    if len(starts) == len(ordered):
        return ordered
    parents = np.minimum.reduceat(ordered.parents, starts)
    lengths = np.diff(np.append(starts, len(ordered)))
    # Two steps, because the least instance counts only among the copies with the least parent.
    is_least = ordered.parents == np.repeat(parents, lengths)
    # INITIAL_INSTANCE is the greatest number of the type, so it never wins against an instance.
    instances = np.minimum.reduceat(np.where(is_least, ordered.instances, INITIAL_INSTANCE), starts)
    return StateColumns(ordered.hashes[starts], ordered.words[starts], parents, instances.astype(np.uint16))


def stored_mask(states: StateColumns, run: StateColumns) -> NDArray[np.bool_]:
    """Return which states are in a run, as a mask (n,); both must be in the order of `distinct`."""
    found = np.zeros(len(states), np.bool_)
    searched = np.arange(len(states))
    # All states at once, in place of a loop over states. The loop below runs once, unless hashes are equal.
    at = np.searchsorted(run.hashes, states.hashes)
    while len(searched):
        inside = at < len(run)
        searched, at = searched[inside], at[inside]
        alike = run.hashes[at] == states.hashes[searched]
        searched, at = searched[alike], at[alike]
        same = (run.words[at] == states.words[searched]).all(axis=1)
        found[searched[same]] = True
        # Another state has the same hash: compare with the next state of the run.
        searched, at = searched[~same], at[~same] + 1
    return found


def locate(run: StateColumns, hashed: int) -> range:
    """Return the positions of the states with this hash in a run."""
    wanted = np.uint64(hashed)
    return range(int(np.searchsorted(run.hashes, wanted)), int(np.searchsorted(run.hashes, wanted, side="right")))


def write_run(path: Path, states: StateColumns) -> int:
    """Write states to a file atomically, and return its size in bytes.

    All attempts of a task write the same content, so their order does not matter.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    kind = pa.binary(8 * states.words.shape[1])
    batch = pa.record_batch(
        {
            "hash": pa.array(states.hashes),
            "state": pa.FixedSizeBinaryArray.from_buffers(
                kind, len(states), [None, pa.py_buffer(np.ascontiguousarray(states.words))]
            ),
            "parent": pa.array(states.parents),
            "instance": pa.array(states.instances),
        }
    )
    try:
        with partial.open("wb") as file:
            with pa.ipc.new_file(file, batch.schema) as writer:
                writer.write_batch(batch)
            file.flush()
            os.fsync(file.fileno())
            size = file.tell()
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return size


def open_run(path: Path, words: int) -> StateColumns:
    """Return the states of a memory-mapped file; raise OSError or pyarrow.ArrowInvalid if it is missing or damaged."""
    batch = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
    if not len(batch):
        empty = np.empty(0, np.uint64)
        return StateColumns(empty, empty.reshape(0, words), empty, np.empty(0, np.uint16))
    hashes, states, parents, instances = batch.columns
    packed = np.frombuffer(states.buffers()[1], np.uint64, len(batch) * words)
    return StateColumns(hashes.to_numpy(), packed.reshape(-1, words), parents.to_numpy(), instances.to_numpy())
