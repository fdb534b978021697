"""The report of a soak, from kept logs of real brokers."""

import json
from collections import Counter
from contextlib import nullcontext
from dataclasses import asdict, replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest

from checker.cli.app import main
from checker.errors import InputError
from checker.output import styled_lines
from kafka_tools.lab.recording import soak, soak_command, soak_report
from kafka_tools.lab.recording.soak import SoakPlan, SoakRound
from kafka_tools.lab.recording.soak_command import status_of
from kafka_tools.lab.recording.soak_report import (
    SPEC,
    SoakWindow,
    cover,
    read_soak,
    report_lines,
    validate_windows,
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


def test_a_partition_that_cannot_be_recorded_is_named(tmp_path, monkeypatch):
    def refused(logs, partition):
        raise InputError(f"{partition} has no leader")

    monkeypatch.setattr(soak_report, "record_partition", refused)
    report = windows(tmp_path)
    assert report.unrecorded == {"experiment-0": "experiment-0 has no leader"} and status_of(report) == 3
    assert report.windows == [] and (tmp_path / "windows.jsonl").read_text() == ""


def test_a_soak_whose_windows_all_conform_ends_as_expected(tmp_path):
    report = windows(tmp_path)
    report.rows = [{"trace": "experiment-0", "verdict": "conforms", "line": None}]
    assert status_of(report) == 0
    report.rows.append({"trace": "experiment-1", "verdict": "undecided", "line": None})
    assert status_of(report) == 3


def test_windows_are_validated_and_covered_before_the_report_is_written(tmp_path, monkeypatch, capsys):
    calls = []
    for name in ("validate_windows", "cover", "write_report"):
        monkeypatch.setattr(soak_command, name, lambda report, *given, name=name: calls.append((name, *given)))
    soak, out = tmp_path / "soak", tmp_path / "again"
    extract("failover-4.3.1", soak / "cluster")
    (soak / "soak.json").write_text(json.dumps({"plan": asdict(SoakPlan("4.3.1", 1, 1)), "rounds": [asdict(ROUND)]}))
    assert soak_command.record_soak_again(soak, out, "local[2]") == 3, "no window has a verdict"
    assert calls == [("validate_windows", out, "local[2]"), ("cover", out), ("write_report", out)]
    assert "validating 1 rounds on Spark" in capsys.readouterr().err and (out / "windows.jsonl").exists()
    monkeypatch.setattr(soak_command, "SoakRun", lambda plan, *_: SimpleNamespace(run=lambda: [ROUND]))
    monkeypatch.setattr(soak_command, "_examine", lambda *given: given)
    run = soak_command.run_soak(SoakPlan("4.3.1", 1, 1), tmp_path / "new", "local")
    assert run == (SoakPlan("4.3.1", 1, 1), [ROUND], tmp_path / "new", tmp_path / "new", "local")


def test_the_windows_of_a_folder_are_validated_by_partition(tmp_path, monkeypatch):
    def validated(task, logs, by, *, master, out, write):
        assert (task.target, logs, by, master, out) == (
            SPEC,
            (tmp_path / "windows.jsonl",),
            "trace",
            "local[2]",
            tmp_path,
        )
        write({"trace": "experiment-0", "verdict": "conforms"})

    monkeypatch.setattr("spark_analysis.validate.validation.validate_on_spark", validated)
    report = windows(tmp_path)
    validate_windows(report, tmp_path, "local[2]")
    assert report.rows == [{"trace": "experiment-0", "verdict": "conforms"}]


class Lab:
    """Stands for the cluster, a producer and a client: it notes what they are asked, and its replicas are in sync."""

    def __init__(self, monkeypatch, seed=1):
        self.asked, self.slept, self.now = [], [], [0.0]
        self.nodes = [SimpleNamespace(number=number, state="running") for number in (1, 2, 3)]
        self.direct, self.bootstrap, self.isrs = "direct", "bootstrap", [[1, 2, 3]] * 3
        self.notes = SimpleNamespace(write=lambda kind, topic: self.asked.append((kind, topic)))
        for name in ("kill", "stop", "pause", "start", "resume"):
            ask = lambda nodes, name=name: self.asked.append((name, [node.number for node in nodes]))  # noqa: E731
            setattr(self, name, ask)
        monkeypatch.setattr(soak, "time", SimpleNamespace(monotonic=self._later, sleep=self.slept.append))
        monkeypatch.setattr(soak, "create_topic", lambda *given: self.asked.append(("create", *given)))
        self.run = soak.SoakRun(SoakPlan("4.3.1", 1, seed), Path("soak"), lambda text: None)
        self.run.cluster = self
        monkeypatch.setattr(self.run, "_producer", lambda this: self)
        monkeypatch.setattr(self.run, "_admin", lambda: self)
        self.sent, self.flushed = [], []

    def _later(self):
        self.now[0] += 1
        return self.now[0]

    def produce(self, topic, value, partition, on_delivery):
        self.sent.append((topic, value, partition))
        on_delivery(None if partition else "failed", None)

    def poll(self, seconds):
        assert 0 <= seconds <= 0.3

    def flush(self, seconds):
        self.flushed.append(seconds)

    def list_topics(self, topic, timeout):
        partitions = {number: SimpleNamespace(isrs=isr) for number, isr in enumerate(self.isrs)}
        return SimpleNamespace(topics={topic: SimpleNamespace(partitions=partitions)})

    def delete_topics(self, topics):
        self.asked.append(("delete", topics))
        return {topics[0]: SimpleNamespace(exception=lambda: None)}


@pytest.mark.parametrize(
    ("fault", "asked", "sends", "shortest", "longest"),
    [
        ("kill", [("kill", [2]), ("start", [2])], 1, 0, 7),
        ("stop", [("stop", [2]), ("start", [2])], 1, 0, 7),
        ("pause", [("pause", [2]), ("resume", [2])], 1, 4, 9),
        ("short pause", [("pause", [2]), ("resume", [2])], 1, 0.2, 2),
        ("cut off suffix", [("pause", [1, 3]), ("kill", [2]), ("resume", [1, 3]), ("start", [2])], 2, 8.7, 8.7),
        ("none", [], 0, 0, 0),
    ],
)
def test_a_fault_of_a_broker_and_its_end(monkeypatch, fault, asked, sends, shortest, longest):
    lab, this = Lab(monkeypatch), SoakRound("soak-1", "1", 1)
    lab.run._fault(fault, lab.nodes[1], lab, this)
    assert lab.asked == asked and shortest <= sum(lab.slept) <= longest
    # Each time two records to each of three partitions, of which the first one fails here.
    assert (this.sent, this.acknowledged) == (6 * sends, 4 * sends)
    assert lab.sent[:4] == [("soak-1", f"r{n}", (n - 1) % 3) for n in range(1, 5)] * bool(sends)


def test_a_round_ends_when_all_replicas_are_in_sync(monkeypatch):
    lab = Lab(monkeypatch)
    lab.nodes[2].state = "stopped"
    this = SoakRound("soak-1", "1", 1)
    assert lab.run._heal(this) and lab.asked == [("resume", [1, 2, 3]), ("start", [3])] and lab.slept == []
    lab.isrs = [[1, 2, 3], [1, 2], [1, 2, 3]]
    assert not lab.run._heal(this) and len(lab.slept) == 59
    with pytest.raises(InputError, match="the replicas of soak-1 are not in sync after 60 s"):
        lab.run._create(this)
    assert ("create", "direct", "soak-1", [[1, 2, 3], [2, 3, 1], [3, 1, 2]], {"min.insync.replicas": "1"}) in lab.asked


def test_rounds_are_chosen_by_the_seed(monkeypatch):
    rounds = {}
    for seed in (1, 1, 2):
        lab = Lab(monkeypatch, seed)
        for _ in range(40):
            lab.run._round()
        rounds.setdefault(seed, []).append(lab.run.rounds)
    (first, again), (other,) = rounds[1], rounds[2]
    assert first == again != other and [this.topic for this in first] == [f"soak-{n}" for n in range(1, 41)]
    assert {(this.acks, this.min_insync_replicas) for this in first} == {("all", 1), ("all", 2), ("1", 1)}
    assert {len(this.faults) for this in first} == {1, 2} and all(this.is_healed for this in first)
    faults = {(this.acks, fault.rstrip(" 123")) for this in first for fault in this.faults}
    # With acks=all, nobody may lose the suffix of a leader that is cut off.
    usual = {*soak.FAULTS} - {"cut off suffix"}
    assert faults == {("1", "cut off suffix"), *((acks, fault) for acks in ("1", "all") for fault in usual)}
    assert {fault[-1] for this in first for fault in this.faults if fault != "none"} == {"1", "2", "3"}
    assert lab.asked[-2:] == [("ending", "soak-40"), ("delete", ["soak-40"])] and lab.flushed == [60] * 40


@pytest.mark.parametrize(("interrupted", "rounds"), [(None, 12), (3, 2), (1, 0)])
def test_rounds_follow_until_the_time_is_over_or_an_interrupt(monkeypatch, interrupted, rounds):
    """Here a round takes five seconds of the minute."""
    lab = Lab(monkeypatch)
    monkeypatch.setattr(soak, "admin_client", lambda: None)
    monkeypatch.setattr(soak, "Cluster", SimpleNamespace(create=lambda *given, **options: lab))
    monkeypatch.setattr(soak, "running", nullcontext)
    del lab.run.cluster

    def flush(seconds):
        lab.flushed.append(seconds)
        if len(lab.flushed) == interrupted:
            raise KeyboardInterrupt

    lab.flush = flush
    assert len(lab.run.run()) == rounds


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
    many = replace(report, rows=report.rows * 13)
    assert text_of(many, tmp_path).count("<guard>") == 12
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
