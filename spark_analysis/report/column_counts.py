"""Counts from the binary columns of walks: action instances, sampled states and branches, by batches of rows.

This code runs on Spark's executors. A batch gives rows of partial counts, which Spark adds up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

COLUMNS = ("walk", "configuration", "actions", "coverage", "sampled_states", "branches")
"""The input columns, in this order."""

INSTANCE, STATE, BRANCH = 0, 1, 2
"""Kinds of rows: an action instance (`key`), a sampled state (`key`: its hash, as a signed number), or a side of a
condition (`key`: its bit in the column `branches`)."""

SQL_SCHEMA = "what int, configuration int, key long, walks long, takes long, first long"
SCHEMA = pa.schema(
    [("what", pa.int32()), ("configuration", pa.int32())]
    + [(name, pa.int64()) for name in ("key", "walks", "takes", "first")]
)
"""`walks`: number of walks; `takes`: number of steps (of an instance); `first`: the number of the first such walk."""

_MOST_BYTES = 1 << 22
"""Number of bytes of coverage that are unpacked to bits at once."""


def counts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the partial counts of batches of walks that have `COLUMNS`."""
    for batch in batches:
        configurations = np.asarray(batch.column(1))
        for number in np.unique(configurations):
            own = _in_order(batch.filter(pa.array(configurations == number)))
            walks = np.asarray(own.column(0))
            yield _rows(INSTANCE, number, *_instances(own, walks))
            yield _rows(STATE, number, *_states(own, walks))
            yield _rows(BRANCH, number, *_bits(own.column(5), walks))


def _in_order(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with its walks ascending: Spark reads files in any order."""
    walks = np.asarray(batch.column(0))
    is_sorted = bool(np.all(walks[1:] > walks[:-1]))
    return batch if is_sorted else batch.take(pa.array(np.argsort(walks)))


def _rows(what: int, configuration: int, *columns: NDArray[np.int64]) -> pa.RecordBatch:
    size = len(columns[0])
    constant = [np.full(size, value, np.int32) for value in (what, configuration)]
    return pa.RecordBatch.from_arrays([pa.array(column) for column in (*constant, *columns)], schema=SCHEMA)


def _instances(batch: pa.RecordBatch, walks: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Return for each action instance the number of walks and of steps that took it, and the first such walk."""
    keys, covered, _, first = _bits(batch.column(3), walks)
    taken, _ = _numbers(batch.column(2), np.dtype("<u2"))
    return keys, covered, np.bincount(taken, minlength=int(keys.max(initial=0)) + 1)[keys].astype(np.int64), first


def _bits(column: pa.Array, walks: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Return for each bit of a column the number of walks that set it, zeros for takes, and the first such walk."""
    packed, _ = _numbers(column, np.dtype("u1"))
    width = len(packed) // max(1, len(walks))
    covered = np.zeros(8 * width, np.int64)
    first = np.full(8 * width, np.iinfo(np.int64).max)
    rows = packed.reshape(len(walks), width)
    step = max(1, _MOST_BYTES // max(1, width))
    for start in range(0, len(walks), step):
        bits = np.unpackbits(rows[start : start + step], axis=1, bitorder="little").astype(bool)
        covered += bits.sum(axis=0)
        found = np.where(bits.any(axis=0), walks[start : start + step][bits.argmax(axis=0)], first)
        first = np.minimum(first, found)
    keys = np.flatnonzero(covered)
    return keys, covered[keys], np.zeros(len(keys), np.int64), first[keys]


def _states(batch: pa.RecordBatch, walks: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Return for each sampled state the number of walks that visited it; repeated visits of a walk count once."""
    hashes, rows = _numbers(batch.column(4), np.dtype("<i8"))
    order = np.lexsort((rows, hashes))
    hashes, rows = hashes[order], rows[order]
    is_new_state = np.ones(len(hashes), bool)
    is_new_state[1:] = hashes[1:] != hashes[:-1]
    is_new_row = is_new_state.copy()
    is_new_row[1:] |= rows[1:] != rows[:-1]
    starts = np.flatnonzero(is_new_state)
    visits = np.add.reduceat(is_new_row.astype(np.int64), starts) if len(starts) else np.zeros(0, np.int64)
    first = np.minimum.reduceat(walks[rows], starts) if len(starts) else np.zeros(0, np.int64)
    return hashes[starts], visits, np.zeros(len(starts), np.int64), first


def _numbers(column: pa.Array, kind: np.dtype) -> tuple[NDArray, NDArray[np.int64]]:  # type: ignore[type-arg]
    """Return the numbers in a binary column, concatenated, and the row of each number."""
    is_large = pa.types.is_large_binary(column.type)
    _, offsets, data = column.buffers()
    width = np.dtype(np.int64 if is_large else np.int32)
    ends = np.frombuffer(offsets, width, count=len(column) + 1, offset=column.offset * width.itemsize).astype(np.int64)
    content = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]] if data is not None else np.zeros(0, np.uint8)
    lengths = np.diff(ends) // kind.itemsize
    return content.copy().view(kind), np.repeat(np.arange(len(column)), lengths)
