"""Folders of walks: their rows describe the walks, and errors are one sentence."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checker.engines.native.walk.walker import MOST_WEIGHT, walk_seeds
from checker.errors import UserError
from checker.run.plan import DEADLOCK
from spark_analysis.report.readable_parts import readable_parts
from spark_analysis.walks.digests import digest_path, write_digest
from spark_analysis.walks.parts import write_walks_of_part
from spark_analysis.walks.records import (
    SCHEMAS,
    STATES,
    STEPS,
    VIOLATIONS,
    WALK_SCHEMA,
    WALKS,
    missing_parts,
    part_path,
    part_paths,
    pattern_fingerprint,
    read_parts,
    read_run,
    read_walk,
    spec_of,
)
from spark_analysis.walks.row_violations import violation_from_row
from spark_analysis.walks.state_tallies import largest_hash, merge_tallies, sampling_of
from spark_analysis.walks.walk_request import run_of_request
from spark_analysis.walks.walk_totals import add_totals, read_totals
from spark_analysis.walks.writing import close_run_folder, open_run_folder
from tests.spark_analysis.walks.walked import SOURCE, request, simulated, spec_file, walks_in


def rows_of(folder: Path) -> list[dict]:
    run = read_run(folder)
    return [row for table in read_parts(part_paths(folder, run)) for row in table.to_pylist()]


def test_rows_replay_on_the_interpreter(tmp_path: Path) -> None:
    run, folder = walks_in(tmp_path, walks=300, depth=6, sampling=2)
    assert read_run(folder) == run
    spec = spec_of(run, 0)
    [condition] = run.configurations[0].conditions
    assert (condition.file, condition.text) == ("queueing.py", "at == 0")
    names = [action.name for action in run.configurations[0].actions]
    by_instance = ["send", "take", "take", "overtake"]
    assert names == ["send", "take", "overtake"]
    found = Counter()
    for number, row in enumerate(rows_of(folder)):
        assert row["walk"] == number
        assert row["seed"] == walk_seeds(7, number, 1)[0]
        state = spec.initial_states()[row["initial"]]
        instances = np.frombuffer(row["actions"], "<u2").tolist()
        for instance in instances:
            assert spec.holds("in_order", state)
            state = next(found.state for found in spec.successors(state) if found.instance == instance)
        is_violated = not spec.holds("in_order", state)
        found[row["ending"]] += 1
        assert row["length"] == len(instances)
        assert row["verdict"] == ("violated" if is_violated else "holds")
        assert row["property"] == ("in_order" if is_violated else None)
        assert row["conjunct"] == (1 if is_violated else None)
        assert row["violated_at"] == (len(instances) if is_violated else None)
        assert row["violated"] == (1 if is_violated else 0)
        last = [by_instance[instance] for instance in instances]
        assert row["fingerprint"] == (pattern_fingerprint("in_order", 1, last) if is_violated else None)
        assert row["coverage"] == bytes([sum(1 << instance for instance in set(instances))])
        assert row["branches"] == bytes([(1 in instances) | (2 in instances) << 1])
        assert json.loads(row["constants"]) == spec.constants
    assert found.keys() == {"violation", "depth"}


def test_parts_depend_on_the_run_and_their_number_alone(tmp_path: Path) -> None:
    run, folder = walks_in(tmp_path)
    other = tmp_path / "other"
    for number in reversed(open_run_folder(other, run)):
        write_walks_of_part(run, other, number)
    assert run.parts == 3
    for kind in (WALKS, STATES):
        for number in range(run.parts):
            assert part_path(folder, kind, number).read_bytes() == part_path(other, kind, number).read_bytes()


def test_run_is_resumed_with_missing_parts(tmp_path: Path) -> None:
    run, folder = walks_in(tmp_path, steps=True, walks=2000)
    whole = rows_of(folder)
    part_path(folder, WALKS, 1).unlink()
    part_path(folder, STEPS, 2).unlink()
    part_path(folder, STATES, 3).unlink()
    (folder / WALKS / ".part-000001.parquet.123.abc").write_bytes(b"what a process that died has left")
    assert missing_parts(folder, run) == [1, 2, 3]
    with pytest.raises(UserError, match="lacks 3 of 4 parts: run the same simulate command again"):
        part_paths(folder, run)
    untouched = part_path(folder, WALKS, 0).stat().st_mtime_ns
    simulated(folder, run)
    assert close_run_folder(folder, run)
    assert rows_of(folder) == whole
    assert part_path(folder, WALKS, 0).stat().st_mtime_ns == untouched
    assert not list((folder / WALKS).glob(".part*"))


def test_run_without_parts_is_resumed(tmp_path: Path) -> None:
    run = run_of_request(request(spec_file(tmp_path)))
    folder = tmp_path / "walks"
    (folder / WALKS).mkdir(parents=True)
    (folder / ".run.json.123").write_text("{")
    assert open_run_folder(folder, run) == [0, 1, 2]


def test_steps(tmp_path: Path) -> None:
    run, folder = walks_in(tmp_path, steps=True)
    steps = pa.concat_tables(read_parts(part_paths(folder, run, STEPS))).to_pylist()
    walks = rows_of(folder)
    assert len(steps) == sum(walk["length"] for walk in walks)
    position = 0
    for walk in walks:
        for number, instance in enumerate(np.frombuffer(walk["actions"], "<u2").tolist(), 1):
            step = steps[position]
            assert (step["walk"], step["step"], step["instance"]) == (walk["walk"], number, instance)
            assert step["action"] == ["send", "take", "take", "overtake"][instance] and 1 <= step["enabled"] <= 4
            position += 1


def test_only_what_a_walk_may_lack_is_null() -> None:
    optional = {
        WALKS: {"scenario", "property", "conjunct", "violated_at", "failed_instance", "fingerprint"},
        VIOLATIONS: {"conjunct", "instance"},
    }
    for kind, schema in SCHEMAS.items():
        assert {field.name for field in schema if field.nullable} == optional.get(kind, set())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"actions": b"\0\0\0"}, "half of a number"),
        ({"initial": 1}, "has no initial state 1"),
        ({"initial": -1}, "has no initial state -1"),
        ({"actions": b"\0\0\2\0\2\0"}, "step 2, action instance 2, is not enabled"),
        ({"actions": b"\0\0\x09\0"}, "step 2, action instance 9, is not enabled"),
    ],
)
def test_a_row_that_the_spec_does_not_allow_is_refused(tmp_path: Path, change: dict, message: str) -> None:
    run, folder = walks_in(tmp_path, walks=10)
    with pytest.raises(UserError, match=message):
        violation_from_row(spec_of(run, 0), rows_of(folder)[0] | change)


def test_the_states_of_a_part_have_a_sampling(tmp_path: Path) -> None:
    _, folder = walks_in(tmp_path, walks=10, sampling=2)
    path = part_path(folder, STATES, 0)
    assert sampling_of(path) == 2 and largest_hash(2) == 2**62 - 1
    table = pq.read_table(path)
    for metadata in ({}, {"sampling": "many"}, {"sampling": "-1"}, {"sampling": "64"}):
        pq.write_table(table.replace_schema_metadata(metadata), path)
        with pytest.raises(UserError, match=r"part-000000.parquet .*: remove it and simulate again"):
            sampling_of(path)
    pq.write_table(table.replace_schema_metadata({"sampling": "63"}), path)
    assert sampling_of(path) == 63
    assert [numbers.tolist() for numbers in merge_tallies([path], 63)] == [[], []]


def test_totals_equal_the_rows(tmp_path: Path) -> None:
    run, folder = walks_in(tmp_path, sweep=("careful=true,false",), scenario="", deadlock=True)
    assert [found.constants["careful"] for found in run.configurations] == [True, False]
    rows = rows_of(folder)
    summary = add_totals(read_totals(path) for path in part_paths(folder, run))
    assert summary.walks == len(rows) == 2400
    assert summary.steps == sum(row["length"] for row in rows)
    assert summary.verdicts == Counter(row["verdict"] for row in rows)
    assert summary.violated["in_order"] == sum(row["violated"] & 1 for row in rows)
    bit = run.properties.index(DEADLOCK)
    stuck = [row for row in rows if row["violated"] >> bit & 1]
    assert summary.violated[DEADLOCK] == len(stuck) > 0
    assert {row["property"] for row in stuck} == {DEADLOCK} and {row["ending"] for row in stuck} == {"deadlock"}
    assert summary.reached["is_full"] == sum(row["reached"] >> run.properties.index("is_full") & 1 for row in rows) > 0
    careful = [row for row in rows if row["configuration"] == 0]
    assert all(row["property"] != "in_order" for row in careful)
    assert [row["walk"] for row in rows] == list(range(2400))
    assert read_walk(folder, run, 1700) == rows[1700]


def test_bounds_errors_are_named(tmp_path: Path) -> None:
    source = SOURCE.replace(
        "        require(len(self.queue) < self.size)\n        self.queue.append", "        self.queue.append"
    )
    run = run_of_request(request(spec_file(tmp_path, source)))
    folder = simulated(tmp_path / "walks", run)
    errors = [row for row in rows_of(folder) if row["verdict"] == "error"]
    assert errors
    for row in errors:
        assert (row["property"], row["ending"], row["failed_instance"], row["conjunct"]) == ("send", "bounds", 0, None)
    assert add_totals(read_totals(path) for path in part_paths(folder, run)).errors == {"send": len(errors)}
    row = errors[0]
    last = [["send", "take", "take", "overtake"][instance] for instance in np.frombuffer(row["actions"], "<u2")]
    assert row["fingerprint"] == pattern_fingerprint("send", None, [*last, "send"])


def test_changed_spec_is_refused(tmp_path: Path) -> None:
    run, folder = walks_in(tmp_path, walks=10)
    file = spec_file(
        tmp_path, "# A comment, and lines moved.\n\n" + SOURCE.replace('"""Put the next', '"""Puts the next')
    )
    spec_of(read_run(folder), 0)
    spec_file(tmp_path, SOURCE.replace("self.sent < 4)", "self.sent < 3)"))
    with pytest.raises(UserError, match="has changed since these walks were made"):
        spec_of(read_run(folder), 0)
    with pytest.raises(UserError, match="holds walks of another version of queueing/queue"):
        open_run_folder(folder, run_of_request(request(file, walks=10)))
    spec_file(tmp_path, SOURCE.replace("in_order", "ordered"))
    with pytest.raises(UserError, match="has no property in_order now"):
        spec_of(read_run(folder), 0)
    assert run.configurations[0].spec_digest
    # A run that was edited may also name an action.
    with pytest.raises(UserError, match="has no property send now"):
        spec_of(replace(run, properties=("send",)), 0)


def test_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    run, folder = walks_in(tmp_path, walks=10)
    with pytest.raises(UserError, match="its seed is 7, not 8"):
        open_run_folder(folder, run_of_request(request(spec_file(tmp_path), walks=10, seed=8)))
    full = tmp_path / "full"
    full.mkdir()
    (full / "letter.txt").write_text("mine")
    with pytest.raises(UserError, match="exists and holds no walks"):
        open_run_folder(full, run)
    with pytest.raises(UserError, match=r"it has no run.json"):
        read_run(full)
    with pytest.raises(UserError, match="has no steps"):
        part_paths(folder, run, STEPS)
    with pytest.raises(UserError, match="has no walk 10: its walks are numbered from 0 to 9"):
        read_walk(folder, run, 10)
    content = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(dict(reversed(content.items()))))
    assert read_run(folder) == run
    for change, message in (
        ({"version": 9}, "has version 9"),
        ({"format": "x"}, "does not describe a run"),
        ({"seed": 1}, "was changed, its digest differs"),
        ({"walks": 10**12}, "walks must be at most"),
        ({"more": 1}, 'has the unknown key "more"'),
    ):
        (folder / "run.json").write_text(json.dumps(content | change))
        with pytest.raises(UserError, match=message):
            read_run(folder)
    (folder / "run.json").write_text("[" * 5000)
    with pytest.raises(UserError, match=r"nested too deeply|cannot be read"):
        read_run(folder)
    del content["seed"]
    (folder / "run.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match="is not complete"):
        read_run(folder)
    (folder / "run.json").write_text("{")
    with pytest.raises(UserError, match="cannot be read"):
        read_run(folder)


def test_damaged_parts_are_refused(tmp_path: Path) -> None:
    run, folder = walks_in(tmp_path)
    path = part_path(folder, WALKS, 1)
    good = path.read_bytes()
    path.write_bytes(good[: len(good) // 2])
    for read in (lambda: part_paths(folder, run), lambda: read_totals(path), lambda: read_walk(folder, run, 501)):
        with pytest.raises(UserError, match="is truncated or"):
            read()
    # Any changed bit is found, also in the totals of the metadata and where Parquet does not see it.
    for position in range(4, len(good), len(good) // 40):
        path.write_bytes(good[:position] + bytes([good[position] ^ 1]) + good[position + 1 :])
        for read in (lambda: part_paths(folder, run), lambda: read_totals(path), lambda: read_walk(folder, run, 501)):
            with pytest.raises(UserError, match="simulate again"):
                read()
    damaged = bytearray(good)
    damaged[200 : len(good) // 2] = bytes(len(good) // 2 - 200)
    path.write_bytes(damaged)
    write_digest(path, path)
    with pytest.raises(UserError, match="is damaged"):
        list(read_parts(part_paths(folder, run)))
    table = pq.read_table(pa.BufferReader(good))
    pq.write_table(table.slice(0, 3), path)
    write_digest(path, path)
    with pytest.raises(UserError, match="has 3 walks, not 500"):
        part_paths(folder, run)
    partly = readable_parts(folder, run)
    assert partly.numbers == (0, 2) and partly.missing == () and "has 3 walks, not 500" in partly.damaged[0]
    pq.write_table(table.append_column("more", table["walk"]), path)
    write_digest(path, path)
    with pytest.raises(UserError, match="see more columns"):
        part_paths(folder, run)
    pq.write_table(table.drop_columns(["conjunct"]), path)
    write_digest(path, path)
    with pytest.raises(UserError, match="another schema than version 3 of the walks': see conjunct"):
        part_paths(folder, run)
    pq.write_table(table.replace_schema_metadata({**WALK_SCHEMA.metadata, b"version": b"9"}), path)
    write_digest(path, path)
    with pytest.raises(UserError, match="has version 9 of the walks' schema; this program reads 3"):
        part_paths(folder, run)
    pq.write_table(pa.table({"a": [1]}), path)
    write_digest(path, path)
    with pytest.raises(UserError, match="has version none"):
        part_paths(folder, run)
    digest_path(path).unlink()
    path.write_bytes(good)
    with pytest.raises(UserError, match=r"the digest of .* cannot be read"):
        part_paths(folder, run)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(sweep=("size",)), "write NAME=VALUE,VALUE"),
        (dict(sweep=("size=1,,2",)), "write NAME=VALUE,VALUE"),
        (dict(sweep=("size=1,1",)), "a value is given twice"),
        (dict(sweep=("size=1", "size=2")), "size is given twice"),
        (dict(sweep=("length=1",)), "has no constant length"),
        (dict(sweep=("size=0",)), "size"),
        (dict(settings=("size=many",)), "size must be an integer"),
        (dict(weights=("send",)), "write ACTION=N"),
        (dict(weights=("send=0",)), "from 1 to"),
        (dict(weights=(f"send={MOST_WEIGHT + 1}",)), "from 1 to"),
        (dict(weights=("post=2",)), "has no action post"),
        (dict(properties=("ordered",)), "unknown property ordered: did you mean in_order"),
        (dict(scenario="slow"), "has no scenario slow"),
    ],
)
def test_wrong_requests_are_refused(tmp_path: Path, options: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        run_of_request(request(spec_file(tmp_path), **options))


def test_run_of_a_request(tmp_path: Path) -> None:
    file = spec_file(tmp_path)
    run = run_of_request(request(file))
    assert (run.scenario, run.expected, run.properties) == ("hasty", ["in_order"], ("in_order", "is_full"))
    assert run_of_request(request(file, scenario="careful")).expected == "holds"
    assert run_of_request(request(file, scenario="")).scenario == "hasty"
    assert run_of_request(request(file, properties=("is_full",))).expected == "holds"
    own = run_of_request(request(file, settings=("size=2",)))
    assert (own.scenario, own.expected, own.configurations[0].constants["size"]) == (None, None, 2)
    weighted = run_of_request(request(file, bias="rare", weights=("send=3",)))
    weights = {action.name: action.weight for action in weighted.configurations[0].actions}
    assert weights["send"] == 3 and max(weights.values()) > 1
    assert run_of_request(request(file, weights=(f"send={MOST_WEIGHT}",))).weights == {"send": MOST_WEIGHT}
    # Whoever names the deadlock too gets it last, and no expectation: the scenario says nothing about it.
    stuck = run_of_request(request(file, properties=("deadlock", "in_order")))
    assert (stuck.properties, stuck.expected) == (("in_order", "deadlock"), None)
    assert run_of_request(request(file, deadlock=True)).properties == ("in_order", "is_full", "deadlock")
    for walks, depth, part in ((1, 40, 500), (16_000, 40, 500), (16_001, 40, 501), (50_000_000, 40, 200_000)):
        assert run_of_request(request(file, walks=walks, depth=depth)).part == part
    assert run_of_request(request(file, walks=5_000_000, depth=60_000)).part == 133
