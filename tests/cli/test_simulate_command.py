"""The command `simulate` without Spark: its output, its files, and the notes about the choice of steps."""

import json
import sys
from collections import Counter
from dataclasses import replace

import pytest

from checker.output.styled_lines import plain
from spark_analysis.commands import simulate_walks
from spark_analysis.commands.simulation_text import simulation_lines, texts_of_unexpected
from spark_analysis.walks.parts import write_walks_of_part
from spark_analysis.walks.records import read_run
from spark_analysis.walks.walk_request import WalkRequest, run_of_request
from spark_analysis.walks.walk_totals import WalkTotals
from spark_analysis.walks.writing import open_run_folder
from tests.spark_analysis.walks.walked import spec_file


@pytest.fixture
def target(tmp_path, monkeypatch):
    # Walks of this machine need no Spark, and must not import it.
    monkeypatch.setitem(sys.modules, "pyspark", None)
    return f"{spec_file(tmp_path)}/queue/hasty"


def test_walks_are_made_and_resumed(checker, target, tmp_path):
    command = ["simulate", target, "--traces", "1000", "--out", str(tmp_path / "walks")]
    outcome = checker(*command, "--json", str(tmp_path / "found.json"))
    assert outcome.status == 0
    assert "in_order violated" in outcome.out and "1,000 walks made" in outcome.out
    assert "Spark" not in outcome.out and "The choices" not in outcome.out
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["walks"] == 1000 and found["violated"]["in_order"] > 100
    run = read_run(tmp_path / "walks")
    assert (run.seed, run.depth, run.bias, run.sampling, run.steps, run.beyond) == (1, 40, "uniform", 0, False, False)
    assert run.properties == ("in_order", "is_full"), "no deadlock unless that is asked for"
    again = checker(*command)
    assert again.status == 0 and "all walks were made before" in again.out


def test_the_rate_is_that_of_the_new_walks(target, tmp_path, monkeypatch):
    """The clock runs from the first look at the parts; the walks of an earlier run do not count."""
    run, folder, now = run_of_request(WalkRequest(target, 1200, 12, 7)), tmp_path / "walks", [100.0]
    monkeypatch.setattr(simulate_walks.time, "monotonic", lambda: now[0])
    first, *rest = open_run_folder(folder, run)
    write_walks_of_part(run, folder, first)
    assert simulate_walks._stop_text(run, folder).startswith("interrupted: 500 of 1,200 walks are in ")
    watch = simulate_walks._PartWatcher(run, folder, "to start")
    watch.begin()
    assert (watch.walks, watch.made) == (500, "all walks were made before")
    for number, second in zip(rest, (102.0, 105.0), strict=True):
        now[0] = second
        watch.look_while_walking()
        write_walks_of_part(run, folder, number)
    now[0] = 106.0
    watch.look()
    assert watch.made == "700 walks made in 4.0 s (175 per second), 2.0 s to start"
    totals = watch.totals_of(run.configurations[0])
    assert (totals.walks, totals.failures) == (1200, watch.failures) and 0 < watch.failures < 1200


def test_a_table_has_a_row_for_each_failure(target):
    run = run_of_request(WalkRequest(target, 2000, 12, 7))
    bad = WalkTotals(
        2000, 30_000, violated=Counter(in_order=500, few=1000), errors=Counter(take=2), reached=Counter(is_full=1)
    )
    assert plain(simulation_lines(run, [bad])).splitlines() == [
        "queueing/queue/hasty  seed 7, walks of up to 12 steps",
        "",
        "walks   steps  violated",
        "2,000  30,000     1,000  few violated, 50% of the walks",
        "                    500  in_order violated, 25% of the walks",
        "                      2  take leaves its bounds, 0.1% of the walks",
        "",
        "few is violated, which is not expected",
        "take leaves its bounds, which is not expected",
    ]
    *_, missing, unreached = plain(simulation_lines(run, [WalkTotals(2000, 30_000)])).splitlines()
    assert missing == "no walk violates in_order, but exploration does" and unreached == "no walk reaches is_full"
    assert texts_of_unexpected(replace(run, expected="error"), bad) == ["in_order is violated", "few is violated"]


@pytest.mark.parametrize(
    ("options", "note"),
    [
        (["--bias", "rare"], "The choices are biased (rare): the rates are those of biased walks"),
        (["--weight", "send=3"], "The choices are weighted (send=3): the rates are those of weighted walks"),
    ],
)
def test_a_choice_that_is_not_uniform_is_named(checker, target, tmp_path, options, note):
    outcome = checker("simulate", target, "--traces", "200", "--out", str(tmp_path / "walks"), *options)
    assert outcome.status == 0 and note in outcome.out


def test_walks_and_their_report_by_one_command(checker, target, tmp_path):
    """The report is the one of the command `report`, without Spark."""
    walks, spec = tmp_path / "walks", target.removesuffix("/queue/hasty")
    outcome = checker("simulate", target, "--traces", "200", "--out", str(walks), "--report")
    assert outcome.status == 0
    assert "in_order violated" in outcome.out and "report/report.html" in outcome.out
    alone = checker("report", str(walks), "--spec", spec, "--out", str(tmp_path / "alone"))
    assert alone.status == 0
    assert (walks / "report/report.json").read_bytes() == (tmp_path / "alone/report.json").read_bytes()
    refused = checker("simulate", target, "--out", str(walks), "--report", "--json", "-")
    assert refused.status == 2 and "both write to the standard output" in refused.err
