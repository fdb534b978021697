"""Replay of rows of walks: the trace equals the record and is shown like any other trace."""

import json
from pathlib import Path

import numpy as np
import pytest

from checker.cli.app import main
from spark_analysis.walks.records import part_paths, read_parts
from spark_analysis.walks.replay_walk import rebuild_walk
from spark_analysis.walks.walk_request import run_of_request
from tests.spark_analysis.test_report import TWO_CAUSES
from tests.spark_analysis.walks.walked import SOURCE, request, simulated, spec_file, spec_of_walks, walks_in
from traces import trace_file
from traces.replay import replay


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    return walks_in(tmp_path_factory.mktemp("rewalk"))


def rows(folder, run):
    return [row for table in read_parts(part_paths(folder, run)) for row in table.to_pylist()]


def test_replay_equals_the_record(walked):
    run, folder = walked
    for row in rows(folder, run)[::13]:
        replayed = rebuild_walk(folder, run, row["walk"])
        spec, found = replayed.spec, replayed.violation
        replay(spec, found)
        assert found.length == row["length"] + 1
        assert (found.kind == "walk") == (row["verdict"] == "holds")
        if row["verdict"] == "violated":
            assert (found.property, found.length - 1) == (row["property"], row["violated_at"])
            assert row["conjunct"] == 1


def test_replay_of_a_bounds_error(tmp_path):
    source = SOURCE.replace("        require(not self.careful and self.sent < 4)\n", "")
    run, folder = walks_in(tmp_path, scenario="careful", properties=("is_full",), walks=300)
    assert all(row["verdict"] == "holds" for row in rows(folder, run))
    (tmp_path / "loose").mkdir()
    file = spec_file(tmp_path / "loose", source)
    run = run_of_request(request(file, scenario="careful", properties=("is_full",), walks=300))
    folder = simulated(tmp_path / "loose" / "walks", run)
    row = next(row for row in rows(folder, run) if row["verdict"] == "error")
    replayed = rebuild_walk(folder, run, row["walk"])
    spec, found = replayed.spec, replayed.violation
    replay(spec, found)
    assert (found.kind, found.property) == ("bounds_error", row["property"])


def first(folder, run, verdict):
    return next(row["walk"] for row in rows(folder, run) if row["verdict"] == verdict)


def replaying(folder):
    return ["traces", "replay", str(folder), "--spec", str(spec_of_walks(folder))]


def test_walk_is_shown_and_written_as_a_trace_file(walked, tmp_path, capsys):
    run, folder = walked
    for verdict in ("violated", "holds"):
        walk = str(first(folder, run, verdict))
        assert main([*replaying(folder), "--walk", walk]) == 0
        shown = capsys.readouterr().out
        assert ("in_order is violated" if verdict == "violated" else "no property is violated") in shown
        file = tmp_path / f"{verdict}.json"
        assert main([*replaying(folder), "--walk", walk, "--format", "json", "--out", str(file)]) == 0
        assert main(["show", str(file), "--spec", str(spec_of_walks(folder))]) == 0
        assert f"traces replay {folder} --walk {walk}" in capsys.readouterr().out
        for format in ("html", "dot", "itf"):
            assert main([*replaying(folder), "--walk", walk, "--format", format]) == 0
            assert capsys.readouterr().out


def test_walk_is_shrunk(walked, tmp_path, capsys):
    run, folder = walked
    walk = str(max(row["walk"] for row in rows(folder, run) if row["verdict"] == "violated" and row["length"] > 5))
    file = tmp_path / "shrunk.json"
    assert main([*replaying(folder), "--walk", walk, "--shrink"]) == 0
    assert "by removing steps; every step left is necessary" in capsys.readouterr().out
    assert main([*replaying(folder), "--walk", walk, "--shortest"]) == 0
    shown = capsys.readouterr().out
    assert "no trace is shorter" in shown and f"--walk {walk} " in shown and " --shortest" in shown
    assert main([*replaying(folder), "--walk", walk, "--shortest", "--format", "json", "--out", str(file)]) == 0
    assert json.loads(file.read_text())["length"] == 3
    assert [step["action"] for step in trace_file.read_trace(file).steps][::2] == [None, "overtake"]


def test_a_walk_keeps_its_mechanism_when_shrunk(tmp_path, capsys):
    """A walk that swaps two numbers is out of order by the swap, although overtaking takes fewer steps."""
    run = run_of_request(request(spec_file(tmp_path, TWO_CAUSES), walks=400))
    folder = simulated(tmp_path / "walks", run)
    (settings,) = run.configurations
    swap = next(each for each in settings.actions if each.name == "swap")
    walk = str(
        next(
            row["walk"]
            for row in rows(folder, run)
            if row["verdict"] == "violated" and np.frombuffer(row["actions"], "<u2")[-1] == swap.first
        )
    )
    last = {}
    for option in ("--shrink", "--shortest"):
        file = tmp_path / f"{option}.json"
        options = ["--walk", walk, "--property", "in_order", option, "--format", "json", "--out", str(file)]
        assert main([*replaying(folder), *options]) == 0
        last[option] = trace_file.read_trace(file).steps[-1]["action"]
    assert last == {"--shrink": "swap", "--shortest": "overtake"}


def wrong(capsys, *arguments):
    folder, *options = arguments
    assert main([*replaying(folder), *map(str, options)]) == 2
    return capsys.readouterr().err


def test_wrong_requests_are_refused(walked, tmp_path, capsys):
    run, folder = walked
    assert "numbered from 0 to 1199" in wrong(capsys, folder, "--walk", 1200)
    assert "cannot be shrunk" in wrong(capsys, folder, "--walk", first(folder, run, "holds"), "--shrink")
    assert "choose one of them" in wrong(capsys, folder, "--walk", 0, "--shrink", "--shortest")
    assert "holds no walks" in wrong(capsys, tmp_path, "--walk", 0)


def test_walk_of_a_changed_spec_is_refused(tmp_path, capsys):
    _, folder = walks_in(tmp_path)
    spec_file(tmp_path, SOURCE.replace("self.sent += 1", "self.sent += 2", 1))
    assert "has changed since" in wrong(capsys, folder, "--walk", 0)


def test_damaged_part_is_named(tmp_path, capsys):
    _, folder = walks_in(tmp_path)
    part = next(Path(folder, "walks").iterdir())
    part.write_bytes(part.read_bytes()[:-100])
    number = int(part.stem.removeprefix("part-"))
    assert part.name in wrong(capsys, folder, "--walk", number * 500)
