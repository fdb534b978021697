"""Tallies of the states that walks visited: a row for each distinct state of a part, in place of one for each visit.

A part keeps at most `MOST_TALLIED` states. If its walks visit more, it keeps those of which the hash has `sampling`
leading zero bits, with the least `sampling` that suffices. The number of states decides that, and not the number of
walks: every state of a small space is kept, however many walks visit it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from checker.engines.native.walk.walker import Walks
from checker.errors import InputError
from spark_analysis.walks.records import STATE_SCHEMA, WalkConfiguration, read_parts
from traces.storage import Location, local_copy

MOST_TALLIED = 1 << 17
"""The most states that a part keeps: about 1.5 MB on disk."""

SAMPLING = b"sampling"
"""The key of a part's sampling in the metadata of its schema."""

_HASH_BITS = 64

Hashes = NDArray[np.uint64]
Numbers = NDArray[np.int64]


def state_table(configuration: WalkConfiguration, first: int, walks: Walks, sampling: int) -> pa.Table:
    """Return the tally of walks of a configuration, numbered from `first`, as rows of STATE_SCHEMA.

    `walks` have the hashes with `sampling` leading zero bits.
    """
    states = _distinct(walks.sampled)
    while len(states) > MOST_TALLIED:
        sampling += 1
        states = states[: np.searchsorted(states, _largest(sampling), side="right")]
    visits, first_walks = _tally(states, walks, sampling)
    columns = [np.full(len(states), configuration.number, np.int32), states, visits, first_walks + first]
    table = pa.table([pa.array(column) for column in columns], schema=STATE_SCHEMA)
    return table.replace_schema_metadata({**STATE_SCHEMA.metadata, SAMPLING: str(sampling)})


def largest_hash(sampling: int) -> int:
    """Return the largest hash that has `sampling` leading zero bits."""
    return (1 << _HASH_BITS - sampling) - 1


def sampling_of(part: Location) -> int:
    """Return the sampling of a part of `states`; raise InputError if its metadata has none."""
    try:
        sampling = int((pq.read_schema(local_copy(part)).metadata or {})[SAMPLING])
    except (pa.ArrowException, OSError, KeyError, ValueError):
        raise InputError(f"{part} is truncated or no part of states: remove it and simulate again") from None
    if not 0 <= sampling < _HASH_BITS:
        raise InputError(f"{part} has the sampling {sampling}: remove it and simulate again")
    return sampling


def merge_tallies(parts: Sequence[Path], sampling: int) -> tuple[Numbers, Numbers]:
    """Return for each state of some parts the number of walks that visited it, and the first such walk.

    States are those of which the hash has `sampling` leading zero bits, in the order of their hashes; the parts have at
    most this sampling.
    """
    largest = pa.scalar(largest_hash(sampling), pa.uint64())
    names = ["state", "walks", "first_walk"]
    tables = [table.filter(pa.compute.less_equal(table["state"], largest)) for table in read_parts(parts, names)]
    columns = [np.concatenate([np.asarray(table[name]) for table in tables]) for name in names]
    order = np.argsort(columns[0], kind="stable")
    states, walks, first = (column[order] for column in columns)
    starts = np.flatnonzero(_is_first(states))
    if not len(starts):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    return np.add.reduceat(walks, starts), np.minimum.reduceat(first, starts)


def _largest(sampling: int) -> np.uint64:
    return np.uint64(largest_hash(sampling))


def _distinct(hashes: Hashes) -> Hashes:
    # Not `np.unique`: sorting with vector instructions is several times as fast.
    ordered = np.sort(hashes)
    return ordered[_is_first(ordered)]


def _is_first(ordered: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Return which items of a sorted array differ from the one before."""
    is_first = np.ones(len(ordered), bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return is_first


def _tally(states: Hashes, walks: Walks, sampling: int) -> tuple[Numbers, Numbers]:
    """Return for each state the number of walks that visited it, and the position of the first one."""
    count = len(walks.lengths)
    rows = np.repeat(np.arange(count), np.diff(walks.sampled_ends, prepend=0))
    is_kept = walks.sampled <= _largest(sampling)
    positions = np.searchsorted(states, walks.sampled[is_kept])
    # A pair of a state and a walk as one number: repeated visits of a walk are equal numbers.
    pairs = np.sort(positions * count + rows[is_kept])
    pairs = pairs[_is_first(pairs)]
    visits = np.bincount(pairs // max(1, count), minlength=len(states)).astype(np.int64)
    return visits, pairs[np.cumsum(visits) - visits] % max(1, count)
