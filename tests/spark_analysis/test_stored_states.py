"""Sorted columns of states, compared with Python sets and dictionaries; many states share a hash."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from spark_analysis.explore.level_expansion import partition_of, partition_rows, starts_of
from spark_analysis.explore.state_columns import (
    StateColumns,
    concatenated_states,
    distinct,
    locate,
    open_run,
    stored_mask,
    write_run,
)

HASHES = 5


def hashes_of(words: np.ndarray) -> np.ndarray:
    """Return a poor hash with values in the whole range."""
    return words.sum(axis=1) % np.uint64(HASHES) * np.uint64(2**64 // HASHES)


def states_of(rows: list[tuple[int, int, int, int]]) -> StateColumns:
    """Return states of two words, with a parent and an instance each."""
    words = np.array([row[:2] for row in rows], np.uint64).reshape(-1, 2)
    parents, instances = (np.array([row[column] for row in rows]) for column in (2, 3))
    return StateColumns(hashes_of(words), words, parents.astype(np.uint64), instances.astype(np.uint16))


def rows_in(states: StateColumns) -> list[tuple[int, int, int, int]]:
    pairs = zip(states.words.tolist(), states.parents.tolist(), states.instances.tolist(), strict=True)
    return [(*words, parent, instance) for words, parent, instance in pairs]


number = some.integers(0, 4)
tables = some.lists(some.tuples(number, number, number, number), max_size=40).map(states_of)


def ordered(states: StateColumns) -> list[tuple[int, ...]]:
    return [(hashed, *words) for hashed, words in zip(states.hashes.tolist(), states.words.tolist(), strict=True)]


@given(tables)
def test_distinct_keeps_each_state_once_with_its_least_origin(states: StateColumns) -> None:
    least: dict[tuple[int, int], tuple[int, int]] = {}
    for a, b, parent, instance in rows_in(states):
        least[a, b] = min(least.get((a, b), (parent, instance)), (parent, instance))
    found = distinct(states)
    assert {(a, b): (parent, instance) for a, b, parent, instance in rows_in(found)} == least
    assert len(found) == len(least)
    assert ordered(found) == sorted(ordered(found))


@given(tables, tables)
def test_stored_states_are_found(states: StateColumns, visited: StateColumns) -> None:
    states, visited = distinct(states), distinct(visited)
    inside = set(map(tuple, visited.words.tolist()))
    assert stored_mask(states, visited).tolist() == [tuple(words) in inside for words in states.words.tolist()]
    for hashed in visited.hashes.tolist():
        found = [visited.hashes[position] for position in locate(visited, hashed)]
        assert found == [hashed] * visited.hashes.tolist().count(hashed)


@given(tables, some.integers(1, 9))
def test_partition_rows_hold_all_states_by_ranges_of_hashes(states: StateColumns, partitions: int) -> None:
    states = distinct(states)
    starts = starts_of(states.hashes, partitions)
    for partition in range(partitions):
        mine = states.hashes[starts[partition] : starts[partition + 1]].tolist()
        assert all(partition_of(hashed, partitions) == partition for hashed in mine)
    rows = list(partition_rows(states, [target * 10 for target in range(partitions)]))
    assert all(key == target * 10 for key, target, _ in rows)
    arrived = [StateColumns.from_bytes(content, hashes_of, 2) for _, _, content in rows]
    assert [row for part in arrived for row in rows_in(part)] == rows_in(states)
    if arrived:
        assert concatenated_states(arrived).hashes.tolist() == states.hashes.tolist()


@settings(deadline=None, max_examples=30)
@given(states=tables)
def test_run_on_disk_round_trip(states: StateColumns, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("run") / "part" / "level.arrow"
    states = distinct(states)
    size = write_run(path, states)
    assert path.stat().st_size == size
    assert [entry.name for entry in path.parent.iterdir()] == ["level.arrow"]
    found = open_run(path, 2)
    assert rows_in(found) == rows_in(states)
    assert found.hashes.tolist() == states.hashes.tolist()


def test_truncated_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "level.arrow"
    size = write_run(path, states_of([(1, 2, 3, 4)] * 100))
    with path.open("r+b") as file:
        file.truncate(size - 100)
    with pytest.raises(pa.ArrowInvalid):
        open_run(path, 2)
