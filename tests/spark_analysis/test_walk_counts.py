"""Counts of walks by this machine and by Spark, compared with counting one by one."""

import random
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from checker.errors import UserError
from spark_analysis.report import partial_counts as counting
from spark_analysis.report.local_source import LocalWalkSource
from spark_analysis.report.partial_counts import partial_counts, summed
from spark_analysis.report.spark_source import SparkWalkSource, reading
from spark_analysis.report.walk_counts import WalkOutcome, count_walks
from spark_analysis.report.walk_source import OutcomeSpacing, actions_of
from spark_analysis.walks import state_tallies
from spark_analysis.walks.digests import write_digest
from spark_analysis.walks.local_simulation import write_walks
from spark_analysis.walks.records import STATES, STEPS, VIOLATIONS, WALKS, part_path, part_paths, read_parts, read_walks
from spark_analysis.walks.walk_request import run_of_request
from tests.spark_analysis.walks.walked import SOURCE, request, simulated, spec_file, walks_in
from tests.support.object_store import object_store
from traces.storage import location_of


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    sweep = ("size=1,3", "careful=true,false")
    with pytest.MonkeyPatch.context() as patch:
        # Parts of one configuration visit more states, and count a smaller share of them.
        patch.setattr(state_tallies, "MOST_TALLIED", 20)
        return walks_in(tmp_path_factory.mktemp("counts"), scenario=None, sweep=sweep, walks=700, steps=True)


@pytest.fixture(params=["local", "spark"], name="source_of")
def sources(request):
    """Return a function that makes a source of all walks in a folder."""

    def source(run, folder):
        if request.param == "local":
            return LocalWalkSource(folder, run, range(run.parts))
        return SparkWalkSource(request.getfixturevalue("spark"), folder, run, range(run.parts))

    return source


def table_of(run, folder, kind=WALKS):
    return pa.concat_tables(read_parts(part_paths(folder, run, kind)))


def counted_one_by_one(table):
    """Return for each instance and branch the number of walks and of steps, and the first walk."""
    found = defaultdict(lambda: [0, 0, 1 << 62])
    for row in table.to_pylist():
        actions = np.frombuffer(row["actions"], "<u2").tolist()
        keys = [(counting.INSTANCE, row["configuration"], instance) for instance in actions]
        bits = int.from_bytes(row["branches"], "little")
        keys += [(counting.BRANCH, row["configuration"], bit) for bit in range(bits.bit_length()) if bits >> bit & 1]
        for key, times in Counter(keys).items():
            entry = found[key]
            entry[0] += 1
            entry[1] += times if key[0] == counting.INSTANCE else 0
            entry[2] = min(entry[2], row["walk"])
    return dict(found)


def test_partial_counts_are_independent_of_order_and_batches(walked):
    run, folder = walked
    table = table_of(run, folder).select(list(counting.COLUMNS))
    digests = {found.spec_digest for found in run.configurations}
    chance = random.Random(3)
    results = []
    for size in (97, 5000):
        order = list(range(len(table)))
        chance.shuffle(order)
        batches = table.take(order).combine_chunks().to_batches(max_chunksize=size)
        results.append(set(summed(partial_counts(digests, batches, actions=actions_of(run)))))
    assert results[0] == results[1]
    inside = {
        (row.what, row.configuration, row.key): [row.walks, row.takes, row.first]
        for row in results[0]
        if row.what in (counting.INSTANCE, counting.BRANCH)
    }
    assert inside == counted_one_by_one(table)
    assert sum(row.walks for row in results[0] if row.what == counting.FOREIGN) == 0
    other = digests - {run.configurations[0].spec_digest}
    foreign = [
        row for row in summed(partial_counts(other, batches, actions=actions_of(run))) if row.what == counting.FOREIGN
    ]
    assert [row.walks for row in foreign] == [700]


def states_one_by_one(run, folder):
    """Return for each configuration and state the walks that visited it after their first step."""
    visited = defaultdict(lambda: defaultdict(set))
    for row in table_of(run, folder, STEPS).to_pylist():
        visited[row["walk"] // run.walks][row["state"]].add(row["walk"])
    return visited


def test_states_are_counted_exactly_in_their_part_of_the_hash_space(walked, source_of):
    run, folder = walked
    found = count_walks(source_of(run, folder)).states
    scales = {number: growth.saturation.scale for number, growth in found.items()}
    assert min(scales.values()) == 1 < max(scales.values())
    for number, visited in states_one_by_one(run, folder).items():
        limit = 2**64 // scales[number]
        own = {state: walks for state, walks in visited.items() if state < limit}
        growth = found[number]
        # Every walk begins in the one initial state, and steps may lead back to it.
        initial = growth.saturation.sampled - len(own)
        assert initial in (0, 1)
        assert growth.saturation.once == sum(len(walks) == 1 for walks in own.values())
        assert sum(growth.first_visited.values()) == growth.saturation.sampled
        if initial:
            first = Counter((min(walks) % run.walks).bit_length() for walks in own.values()) + Counter({0: 1})
            assert growth.first_visited == first
            assert growth.saturation.visits == sum(map(len, own.values())) + run.walks


def test_more_walks_do_not_coarsen_the_count_of_states(tmp_path):
    """The sampling of a part depends on its states: that of many walks is the one of few."""
    file, found = spec_file(tmp_path), []
    for walks in (1000, 60_000):
        run = run_of_request(request(file, walks=walks))
        folder = simulated(tmp_path / str(walks), run)
        found.append(count_walks(LocalWalkSource(folder, run, range(run.parts))).states[0].saturation)
    small, large = found
    assert small.scale == large.scale == 1 and small.sampled <= large.sampled
    assert large.once <= small.once and large.visits > 50 * small.visits


def test_counts_equal_the_rows(source_of, walked):
    run, folder = walked
    table = table_of(run, folder)
    found = count_walks(source_of(run, folder))
    names = [name for name in WalkOutcome._fields if name != "walks"]
    outcomes = Counter(tuple(row[name] for name in names) for row in table.to_pylist())
    assert {tuple(outcome[:-1]): outcome.walks for outcome in found.outcomes} == outcomes
    assert found.walks == dict.fromkeys(range(4), 700) and found.foreign == 0
    expected = counted_one_by_one(table)
    for configuration, taken in found.taken.items():
        for instance, entry in taken.items():
            walks, takes, first = expected[counting.INSTANCE, configuration, instance]
            assert (entry.walks, entry.takes, entry.first) == (walks, takes, first)
    for configuration, branches in found.branches.items():
        for bit, walks in branches.items():
            assert walks == expected[counting.BRANCH, configuration, bit][0]


def test_each_pattern_names_the_walk_with_the_earliest_violation(source_of, walked):
    run, folder = walked
    rows = [row for row in table_of(run, folder).to_pylist() if row["verdict"] != "holds"]
    found = count_walks(source_of(run, folder))
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
    assert sorted(read_walks(folder, run, wanted)) == sorted(wanted)


def test_rows_are_selected_by_number(source_of, walked):
    run, folder = walked
    rows = [row for row in table_of(run, folder).to_pylist() if row["verdict"] != "holds"]
    outcomes = {(row["configuration"], row["verdict"], row["property"], row["violated"]) for row in rows}
    spacings = [OutcomeSpacing(*outcome, 4) for outcome in sorted(outcomes)]
    chosen = {row["walk"] for row in rows[:3]} | {0}
    found = source_of(run, folder).violating_rows(spacings, chosen)
    expected = [row for row in rows if row["walk"] % 4 == 0 or row["walk"] in chosen]
    assert sorted(row["walk"] for row in found) == [row["walk"] for row in expected]
    by_walk = {row["walk"]: row for row in expected}
    assert all(by_walk[row["walk"]][name] == value for row in found for name, value in row.items())
    assert source_of(run, folder).violating_rows([], {row["walk"] for row in rows}) == []


def test_damaged_part_is_named(source_of, tmp_path):
    run, folder = walks_in(tmp_path)
    for kind, use in ((STATES, "state_groups"), (WALKS, "partial_counts")):
        path = part_path(folder, kind, 1)
        content = bytearray(path.read_bytes())
        column = pq.read_metadata(path).row_group(0).column(1)
        first = column.dictionary_page_offset or column.data_page_offset
        content[first : first + 30] = bytes(30)
        path.write_bytes(bytes(content))
        write_digest(path, path)
        with pytest.raises(UserError, match=rf"{path} is damaged"):
            getattr(source_of(run, folder), use)()


def test_walks_in_a_store_are_counted_like_those_in_a_folder(tmp_path):
    run, folder = walks_in(tmp_path)
    expected = LocalWalkSource(folder, run, range(run.parts))
    digests = {found.spec_digest for found in run.configurations}
    with object_store("counts") as url:
        store = location_of(f"{url}/walks")
        assert write_walks(run, store)
        local = LocalWalkSource(store, run, range(run.parts))
        # The work of Spark's tasks.
        numbers = pa.RecordBatch.from_pydict({"number": list(range(run.parts))})
        walks = list(reading(str(store), WALKS)([numbers]))
        states = pa.Table.from_batches(reading(str(store), STATES)([numbers]))
        assert local.partial_counts() == expected.partial_counts()
        assert local.state_groups() == expected.state_groups()
    counts = partial_counts(digests, walks, actions=actions_of(run))
    assert set(summed(counts)) == set(expected.partial_counts())
    assert states.schema.field("state").type == pa.decimal128(20, 0)
    assert len(states) == len(table_of(run, folder, STATES))


def test_violations_of_walks_that_go_on_are_counted(source_of, tmp_path):
    source = SOURCE.replace(
        "    @reachable",
        "    @invariant\n    def not_full(self):\n        return len(self.queue) < self.size\n\n    @reachable",
    )
    run = run_of_request(request(spec_file(tmp_path, source), walks=700, beyond=True))
    folder = simulated(tmp_path / "walks", run)
    found = count_walks(source_of(run, folder))
    rows = table_of(run, folder, VIOLATIONS).to_pylist()
    walks = table_of(run, folder)
    assert len(rows) > len(walks.filter(pc.equal(walks["verdict"].cast("string"), "violated"))) > 0
    times = Counter((row["configuration"], 1 << row["bit"], row["violated_at"]) for row in rows)
    assert {time[:-1]: time.walks for time in found.times} == times
    passed = Counter()
    lengths = {row["walk"]: row["length"] for row in walks.to_pylist()}
    for row in rows:
        for step in range(row["violated_at"] + 1, lengths[row["walk"]] + 1):
            passed[row["configuration"], None, step, 1 << row["bit"]] += 1
    assert {row[:-1]: row.walks for row in found.passed if row.action is None} == passed
    local = count_walks(LocalWalkSource(folder, run, range(run.parts)))
    assert (set(found.passed), set(found.exposed)) == (set(local.passed), set(local.exposed))
    patterns = Counter((1 << row["bit"], row["fingerprint"], row["instance"]) for row in rows)
    assert {(row.violated, row.fingerprint, row.instance): row.walks for row in found.patterns} == patterns
