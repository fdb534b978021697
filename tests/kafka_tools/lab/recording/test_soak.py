"""The report of a soak, from kept logs of real brokers."""

from __future__ import annotations

import json
from collections import Counter
from io import StringIO

import pytest

from checker.cli.app import main
from checker.output import styled_lines
from kafka_tools.lab.recording.soak import SoakPlan, SoakRound
from kafka_tools.lab.recording.soak_command import _examine, status_of
from kafka_tools.lab.recording.soak_report import (
    SoakWindow,
    cover,
    read_soak,
    report_lines,
    write_report,
    write_windows,
)
from tests.kafka_tools.lab.recording.kept_cluster import extract

ROUND = SoakRound("experiment", "1", 1, ["kill 1", "pause 3", "stop 3"], sent=10, acknowledged=10, is_healed=True)


def windows(tmp_path, rounds=(ROUND,)):
    cluster = extract("failover-4.3.1", tmp_path / "cluster")
    return write_windows(SoakPlan("4.3.1", 1, 1), rounds, cluster, tmp_path)


def text_of(report, folder):
    stream = StringIO()
    styled_lines.write(list(report_lines(report, folder)), stream)
    return stream.getvalue()


def test_windows_are_leader_epochs_of_partitions(tmp_path):
    report = windows(tmp_path)
    rows = [json.loads(text) for text in (tmp_path / "windows.jsonl").read_text().splitlines()]
    assert {row["trace"] for row in rows} == {"experiment-0"} and len(rows) == sum(report.events.values()) > 100
    assert rows[0]["acks"] == "1" and not report.unrecorded
    first, second = report.windows
    assert (first.leader_epoch, second.leader_epoch) == (0, 1) and first.first == 1 and second.last == len(rows)
    assert second.first == first.last + 1 and rows[first.last]["event"] == "changed"
    assert report.faults == Counter({"kill": 1, "pause": 1, "stop": 1})


def test_a_window_of_an_interrupted_round_is_named(tmp_path):
    report = windows(tmp_path, rounds=())
    assert report.unrecorded == {"experiment-0": "its round did not end"}
    assert "experiment-0 is not recorded: its round did not end" in text_of(report, tmp_path)
    assert status_of(report) == 3


def test_a_soak_whose_windows_all_conform_ends_as_expected(tmp_path):
    report = windows(tmp_path)
    report.rows = [{"trace": "experiment-0", "verdict": "conforms", "line": None}]
    assert status_of(report) == 0
    report.rows.append({"trace": "experiment-1", "verdict": "undecided", "line": None})
    assert status_of(report) == 3


def test_windows_are_validated_and_covered_before_the_report_is_written(tmp_path, monkeypatch, capsys):
    calls = []
    for name in ("validate_windows", "cover", "write_report"):
        monkeypatch.setattr(f"kafka_tools.lab.recording.soak_command.{name}", lambda *_, name=name: calls.append(name))
    extract("failover-4.3.1", tmp_path / "soak" / "cluster")
    assert _examine(SoakPlan("4.3.1", 1, 1), [ROUND], tmp_path / "soak", tmp_path, None) == 3, "no window has a verdict"
    assert calls == ["validate_windows", "cover", "write_report"]
    assert "validating 1 rounds on Spark" in capsys.readouterr().err


def test_windows_after_a_rejected_event_are_not_examined():
    window = SoakWindow("a-0", 1, 10, 20)
    verdicts = [window.verdict({"verdict": "rejected", "line": line}) for line in (9, 10, 20, 21)]
    assert verdicts == ["not examined", "rejected", "rejected", "conforms"]
    assert window.verdict({"verdict": "undecided", "line": 15}) == "undecided"
    assert window.verdict({"verdict": "unreadable", "line": None}) == "unreadable"
    assert window.verdict({"verdict": "conforms", "line": None}) == "conforms"


def test_a_rejected_window_is_in_the_report(tmp_path):
    report = windows(tmp_path)
    row = {"trace": "experiment-0", "verdict": "rejected", "line": 9, "event": "received", "cause": "<guard>"}
    report.rows = [{**row, "violated": "{}", "message": ""}]
    write_report(report, tmp_path)
    page = (tmp_path / "soak.html").read_text()
    assert "0 of 2 windows of real brokers conform" in page and "&lt;guard&gt;" in page and "<guard>" not in page
    assert "experiment-0, line 9 of windows.jsonl: <guard>" in text_of(report, tmp_path)
    assert status_of(report) == 1
    assert json.loads((tmp_path / "soak.json").read_text())["verdicts"] == {"rejected": 1, "not examined": 1}


def test_a_soak_is_read_again(tmp_path):
    report = windows(tmp_path)
    write_report(report, tmp_path)
    plan, rounds = read_soak(tmp_path)
    assert (plan, rounds) == (report.plan, report.rounds)
    again = tmp_path / "again"
    again.mkdir()
    assert write_windows(plan, rounds, tmp_path / "cluster", again).events == report.events
    assert (again / "windows.jsonl").read_text() == (tmp_path / "windows.jsonl").read_text()


@pytest.mark.parametrize(
    ("text", "out", "message"),
    [
        (None, "new", "cannot be read"),
        ("[1]", "new", "is not the report of a soak"),
        ('{"plan": {"kafka": "4.3.1"}, "rounds": []}', "new", "is not the report of a soak"),
        ("{}", "old", "would remove the logs"),
        ("{}", ".", "would remove the logs"),
    ],
)
def test_a_folder_that_cannot_be_recorded_again(text, out, message, tmp_path, capsys):
    soak = tmp_path / "old"
    soak.mkdir()
    if text is not None:
        (soak / "soak.json").write_text(text)
    assert main(["experiment", "soak", "--again", str(soak), "--out", str(tmp_path / out)]) == 2
    assert message in capsys.readouterr().err and soak.exists()


@pytest.mark.slow
def test_coverage_by_a_failover(tmp_path):
    report = windows(tmp_path)
    report.rows = [{"trace": "experiment-0", "verdict": "conforms", "line": None, "violated": '{"no_acked_loss": 9}'}]
    cover(report, tmp_path)
    assert status_of(report) == 0
    assert report.taken["leader_append"] == 10 and report.taken["broker_crash"] == 1
    assert "operator_change_min_isr" in report.never and "follower_receive" not in report.never
    assert 0 < len(report.missing) < report.outcomes
    shown = text_of(report, tmp_path)
    assert "windows: conforms 2" in shown and "by partitions: no_acked_loss 1" in shown
    assert "of the spec's if statements" in shown


@pytest.mark.parametrize(
    "words",
    [
        ["soak"],
        ["soak", "--record", "--out", "x"],
        ["soak", "--again", "x", "--out", "y", "--seed", "1"],
        ["i7-restart", "--minutes", "3"],
        ["list", "--seed", "1"],
        ["all", "--again", "x"],
    ],
)
def test_wrong_options(words, capsys):
    assert main(["experiment", *words]) == 2
    assert "error: " in capsys.readouterr().err
