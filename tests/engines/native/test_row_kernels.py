"""Kernels on rows of states, compared with Python's dictionaries and sorting; many states share a hash."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from checker.engines.native.kernels import row_kernels as module
from checker.engines.native.kernels.row_kernels import HASH_RANGE, RowFilter, RowKernels, RowTable, SortedRows
from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import word

Row = tuple[int, int, int, int]

HASHES = [0, 1, 2**62, 2**62 + 1, 2**63, 2**64 - 1]


def poor_hash(builder: ir.IRBuilder, state: list[ir.Value]) -> ir.Value:
    """Return one of six hashes, by the first word, so that different states have equal and adjacent hashes."""
    value = word(0)
    for number, hashed in enumerate(HASHES):
        value = builder.select(builder.icmp_unsigned("==", state[0], word(number)), word(hashed), value)
    return value


@pytest.fixture(scope="module")
def kernels() -> RowKernels:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "state_hash", poor_hash)
        return RowKernels(2)


number = some.integers(0, 4)
rows_of_states = some.lists(some.tuples(some.integers(0, 5), number, number, number), max_size=40)
unique = some.sets(some.tuples(some.integers(0, 5), number), max_size=20)


def array(rows: list[Row]) -> np.ndarray:
    return np.array(rows, np.uint64).reshape(-1, 4)


def place(row: Row) -> tuple[int, int, int]:
    return HASHES[row[0]], *row[:2]


def in_order(states: set[tuple[int, int]]) -> list[Row]:
    return sorted(((*state, 7, 8) for state in states), key=place)


@settings(deadline=None)
@given(first=rows_of_states, second=rows_of_states)
def test_table_keeps_each_state_once_with_its_least_origin(
    kernels: RowKernels, first: list[Row], second: list[Row]
) -> None:
    least: dict[tuple[int, int], tuple[int, int]] = {}
    for a, b, parent, origin in [*first, *second]:
        least[a, b] = min(least.get((a, b), (parent, origin)), (parent, origin))
    table = RowTable(kernels, len(first) + len(second))
    table.add_rows(array(first))
    table.add_rows(array(second))
    found = table.sorted()
    assert found.rows.tolist() == [
        [*state, *least[state]] for state in sorted(least, key=lambda state: place((*state, 0, 0)))
    ]
    assert found.hashes.tolist() == [HASHES[row[0]] for row in found.rows.tolist()]


@settings(deadline=None)
@given(new=unique, stored=unique)
def test_subtract_and_merge(kernels: RowKernels, new: set[tuple[int, int]], stored: set[tuple[int, int]]) -> None:
    rows = array(in_order(new))
    sorted_new = SortedRows(rows, np.array([HASHES[row[0]] for row in rows.tolist()], np.uint64))
    filtered = RowFilter.empty(len(stored))
    filtered.add(kernels, array(in_order(stored)))
    left = kernels.subtract(sorted_new, array(in_order(stored)), filtered)
    assert left.rows.tolist() == [list(row) for row in in_order(new - stored)]
    assert left.hashes.tolist() == [HASHES[row[0]] for row in left.rows.tolist()]
    merged = kernels.merge(left.rows, array(in_order(stored)))
    assert merged.tolist() == [list(row) for row in in_order(new | stored)]


@settings(deadline=None)
@given(states=unique, hashed=some.sampled_from([*HASHES, 3, 2**62 - 1, 2**63 + 5]))
def test_lower_bound(kernels: RowKernels, states: set[tuple[int, int]], hashed: int) -> None:
    hashes = [HASHES[row[0]] for row in in_order(states)]
    assert kernels.lower_bound(array(in_order(states)), hashed) == sum(other < hashed for other in hashes)


def test_many_rows_of_a_narrow_range() -> None:
    """With the real hash, and a table for one partition of 64, the states come out in the order of their hashes."""
    kernels = RowKernels(1)
    states = np.arange(200_000, dtype=np.uint64).reshape(-1, 1)
    table = RowTable(kernels, len(states))
    table.add_rows(kernels.initial_rows(states))
    everything = table.sorted()
    assert len(everything) == len(states)
    assert (everything.hashes[1:] >= everything.hashes[:-1]).all()
    low, high = 5 * HASH_RANGE // 64, 6 * HASH_RANGE // 64
    start, end = (kernels.lower_bound(everything.rows, bound << 32) for bound in (low, high))
    part = everything.rows[start:end]
    assert 2_800 < len(part) < 3_500
    narrow = RowTable(kernels, len(part), low, high)
    narrow.add_rows(np.random.default_rng(7).permutation(part))
    assert (narrow.sorted().rows == part).all()


def test_filter_excludes_most_other_states_and_no_stored_one() -> None:
    kernels = RowKernels(1)
    states = np.arange(60_000, dtype=np.uint64).reshape(-1, 1)
    table = RowTable(kernels, len(states))
    table.add_rows(kernels.initial_rows(states[::2]))
    stored = table.sorted()
    filtered = RowFilter.empty(len(stored))
    filtered.add(kernels, stored.rows)
    table.add_rows(kernels.initial_rows(states[1::2]))
    # With another array in place of the stored rows, exactly the states that pass the filter are found in it.
    everything = table.sorted()
    left = kernels.subtract(SortedRows(everything.rows.copy(), everything.hashes.copy()), everything.rows, filtered)
    assert (left.rows[:, 0] % 2 == 1).all()
    assert 0.96 < len(left) / 30_000 < 1
    assert (kernels.subtract(everything, stored.rows, filtered).rows[:, 0] % 2 == 1).all()


def test_table_refuses_more_rows_than_it_has_room_for() -> None:
    kernels = RowKernels(1)
    table = RowTable(kernels, 2)
    table.add_rows(kernels.initial_rows(np.array([[1], [2]], np.uint64)))
    with pytest.raises(ValueError, match="a table for 2 rows cannot take 3"):
        table.add_rows(kernels.initial_rows(np.array([[1]], np.uint64)))
    with pytest.raises(ValueError, match="a table holds at most"):
        RowTable(kernels, 2**32)
