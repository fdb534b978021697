"""Counts of walks by numpy in a batch and by Spark over parts, compared with counting one by one."""

from __future__ import annotations

import random
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

from checker.errors import UserError
from spark_analysis.report import column_counts
from spark_analysis.report.walk_counts import WalkOutcome, count_walks, read_rows
from tests.traces.walks.walked import walks_in
from traces.walks.records import part_paths, read_parts


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    sweep = ("size=1,3", "careful=true,false")
    return walks_in(tmp_path_factory.mktemp("counts"), scenario=None, sweep=sweep, walks=700, sampling=1)


def table_of(run, folder):
    return pa.concat_tables(read_parts(part_paths(folder, run)))


def counted_one_by_one(table):
    found = defaultdict(lambda: [0, 0, 1 << 62])
    for row in table.to_pylist():
        actions = np.frombuffer(row["actions"], "<u2").tolist()
        keys = [(column_counts.INSTANCE, row["configuration"], instance) for instance in actions]
        keys += [
            (column_counts.STATE, row["configuration"], state) for state in np.frombuffer(row["sampled_states"], "<i8")
        ]
        bits = int.from_bytes(row["branches"], "little")
        keys += [
            (column_counts.BRANCH, row["configuration"], bit) for bit in range(bits.bit_length()) if bits >> bit & 1
        ]
        for key, times in Counter(keys).items():
            entry = found[key]
            entry[0] += 1
            entry[1] += times if key[0] == column_counts.INSTANCE else 0
            entry[2] = min(entry[2], row["walk"])
    return dict(found)


def test_column_counts_are_independent_of_order_and_batches(walked):
    table = table_of(*walked).select(list(column_counts.COLUMNS))
    expected = counted_one_by_one(table)
    chance = random.Random(3)
    for size in (1, 97, 5000):
        order = list(range(len(table)))
        chance.shuffle(order)
        found = defaultdict(lambda: [0, 0, 1 << 62])
        for batch in column_counts.counts(table.take(order).combine_chunks().to_batches(max_chunksize=size)):
            for row in batch.to_pylist():
                entry = found[row["what"], row["configuration"], row["key"]]
                entry[0] += row["walks"]
                entry[1] += row["takes"]
                entry[2] = min(entry[2], row["first"])
        assert found == expected


def test_repeated_visit_of_a_state_counts_once():
    visited = [[5, -7, 5, 5], [], [-7, 5]]
    columns = {
        "walk": [30, 10, 20],
        "configuration": [0, 0, 0],
        "actions": [b"\x01\x00\x01\x00", b"", b"\x01\x00"],
        "coverage": [b"\x02", b"\x00", b"\x02"],
        "sampled_states": [np.array(hashes, "<i8").tobytes() for hashes in visited],
        "branches": [b"\x80", b"\x00", b"\x81"],
    }
    kinds = {"walk": pa.int64(), "configuration": pa.int32()}
    batch = pa.RecordBatch.from_pydict(
        columns, pa.schema([(name, kinds.get(name, pa.binary())) for name in column_counts.COLUMNS])
    )
    rows = [tuple(row.values()) for found in column_counts.counts([batch]) for row in found.to_pylist()]
    assert sorted(rows) == [
        (column_counts.INSTANCE, 0, 1, 2, 3, 20),
        (column_counts.STATE, 0, -7, 2, 0, 20),
        (column_counts.STATE, 0, 5, 2, 0, 20),
        (column_counts.BRANCH, 0, 0, 1, 0, 20),
        (column_counts.BRANCH, 0, 7, 2, 0, 20),
    ]


def test_spark_counts_equal_the_rows(spark, walked):
    run, folder = walked
    table = table_of(run, folder)
    found = count_walks(spark, run, part_paths(folder, run))
    names = [name for name in WalkOutcome._fields if name != "walks"]
    outcomes = Counter(tuple(row[name] for name in names) for row in table.to_pylist())
    assert {tuple(outcome[:-1]): outcome.walks for outcome in found.outcomes} == outcomes
    assert found.walks == dict.fromkeys(range(4), 700) and found.foreign == 0
    expected = counted_one_by_one(table)
    for configuration, taken in found.taken.items():
        for instance, entry in taken.items():
            walks, takes, first = expected[column_counts.INSTANCE, configuration, instance]
            assert (entry.walks, entry.takes, entry.first) == (walks, takes, first)
    for configuration, branches in found.branches.items():
        for bit, walks in branches.items():
            assert walks == expected[column_counts.BRANCH, configuration, bit][0]
    for configuration, growth in found.states.items():
        own = {key[2]: entry for key, entry in expected.items() if key[:2] == (column_counts.STATE, configuration)}
        counts = [entry[0] for entry in own.values()]
        states = growth.saturation
        assert (states.sampled, states.visits) == (len(own), sum(counts))
        assert (states.once, states.twice) == (counts.count(1), counts.count(2))
        visited = Counter((entry[2] % 700).bit_length() for entry in own.values())
        assert growth.first_visited == visited


def test_each_pattern_names_the_walk_with_the_earliest_violation(spark, walked):
    run, folder = walked
    rows = [row for row in table_of(run, folder).to_pylist() if row["verdict"] != "holds"]
    found = count_walks(spark, run, part_paths(folder, run))
    assert sum(pattern.walks for pattern in found.patterns) == len(rows) > 0
    for pattern in found.patterns:
        same = [
            row
            for row in rows
            if (row["configuration"], row["fingerprint"]) == (pattern.configuration, pattern.fingerprint)
            and int.from_bytes(row["actions"][-2:], "little") == pattern.instance
        ]
        assert pattern.walks == len(same)
        assert (pattern.violated_at, pattern.walk) == min((row["violated_at"], row["walk"]) for row in same)
    wanted = [pattern.walk for pattern in found.patterns]
    assert sorted(read_rows(spark, wanted)) == sorted(wanted)


def test_damaged_part_is_named(spark, tmp_path):
    run, folder = walks_in(tmp_path)
    paths = part_paths(folder, run)
    content = bytearray(paths[1].read_bytes())
    content[200 : len(content) // 2] = bytes(len(content) // 2 - 200)
    paths[1].write_bytes(bytes(content))
    with pytest.raises(UserError, match=rf"{paths[1].name} is damaged"):
        count_walks(spark, run, paths)
