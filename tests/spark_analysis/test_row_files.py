"""Files of rows: round trips, the partitions of hashes, and damage to any byte."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from checker.engines.native.kernels.row_kernels import HASH_RANGE, RowFilter, RowTable, SortedRows, row_kernels
from spark_analysis.explore.row_files import (
    DamagedFileError,
    StoredRun,
    is_whole_run,
    map_run,
    partition_of,
    range_of,
    read_candidates,
    write_candidates,
    write_run,
)

PARTITIONS = 3


def some_rows(count: int) -> SortedRows:
    table = RowTable(row_kernels(2), count)
    table.add_rows(np.random.default_rng(3).integers(0, 2**60, (count, 4), np.uint64))
    return table.sorted()


def write(path: Path, rows: SortedRows, parts: int = 1) -> StoredRun:
    filtered = RowFilter.empty(len(rows))
    filtered.add(row_kernels(2), rows.rows)
    digest = write_run(path, np.array_split(rows.rows, parts), filtered.words, durable=True)
    return StoredRun("run", 0, len(rows), digest, 0, HASH_RANGE)


def candidates_in(path: Path) -> list[np.ndarray]:
    return [read_candidates(path, partition, PARTITIONS, 4) for partition in range(PARTITIONS)]


@given(some.integers(1, 10_000), some.integers(0, HASH_RANGE - 1))
def test_each_hash_is_in_the_range_of_its_partition(partitions: int, half: int) -> None:
    low, high = range_of(partition_of(half, partitions), partitions)
    assert low <= half < high
    # A partition that is split consists of the new ones.
    assert range_of(2 * partition_of(half, partitions), 2 * partitions)[0] == low


@pytest.mark.parametrize("count", [0, 1, 200])
def test_round_trip(tmp_path: Path, count: int) -> None:
    rows = some_rows(count)
    run = write(tmp_path / "run", rows, 2)
    assert is_whole_run(tmp_path / "run", run)
    mapped, filtered = map_run(tmp_path / "run", run, 4)
    assert mapped.tolist() == rows.rows.tolist()
    assert len(row_kernels(2).subtract(SortedRows(rows.rows.copy(), rows.hashes.copy()), mapped, filtered)) == 0
    file = write_candidates(tmp_path / "candidates", rows, PARTITIONS, durable=False)
    assert (file.name, file.count) == ("candidates", count)
    parts = candidates_in(tmp_path / "candidates")
    assert np.concatenate(parts).tolist() == rows.rows.tolist()
    halves = rows.hashes >> np.uint64(32)
    owners = [partition_of(half, PARTITIONS) for half in halves.tolist()]
    assert [len(part) for part in parts] == [owners.count(partition) for partition in range(PARTITIONS)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["candidates", "run"]


def test_damage_to_any_byte_is_found(tmp_path: Path) -> None:
    rows = some_rows(6)
    run = write(tmp_path / "run", rows)
    write_candidates(tmp_path / "candidates", rows, PARTITIONS, durable=False)
    for path in (tmp_path / "run", tmp_path / "candidates"):
        content = path.read_bytes()
        damaged = [bytes([*content[:at], content[at] ^ 1 << at % 8, *content[at + 1 :]]) for at in range(len(content))]
        for changed in [*damaged, content[:-1], content + b"\0" * 32 if path.name == "run" else content[:40]]:
            path.write_bytes(changed)
            if path.name == "run":
                assert not is_whole_run(path, run)
            else:
                with pytest.raises(DamagedFileError, match="is missing, truncated or changed"):
                    candidates_in(path)
    (tmp_path / "run").unlink()
    assert not is_whole_run(tmp_path / "run", run)
    with pytest.raises(DamagedFileError):
        map_run(tmp_path / "run", run, 4)


def test_a_run_of_the_wrong_size_is_not_mapped(tmp_path: Path) -> None:
    run = replace(write(tmp_path / "run", some_rows(5)), count=6)
    with pytest.raises(DamagedFileError, match=f"^{tmp_path}/run is missing, truncated or changed: remove"):
        map_run(tmp_path / "run", run, 4)
