"""`validate` and `record`: text, files, exit status and wrong input."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
RETRY = str(ROOT / "examples" / "retry.py")

MAPPING = """
from traces.validate import Mapping, Observation, PossibleStep, event

class Retrying(Mapping):
    skips = ("note",)

    @event("sent")
    def sent(self, found):
        return PossibleStep("send").after({"log": found["log"]})

    @event("acked")
    def acked(self, found):
        return PossibleStep("acknowledge").before({"acknowledged": found["record"]})
"""

GOOD = [
    {"event": "sent", "log": [0], "run": 1},
    {"event": "note"},
    {"event": "acked", "record": 0, "run": 1},
]
BAD = [*GOOD, {"event": "acked", "record": 1, "run": 1}]


@pytest.fixture
def validate(checker, tmp_path):
    mapping = tmp_path / "mapping.py"
    mapping.write_text(MAPPING)

    def call(*logs, options=()):
        files = []
        for number, log in enumerate(logs):
            files.append(tmp_path / f"log{number}.jsonl")
            text = log if isinstance(log, str) else "".join(json.dumps(event) + "\n" for event in log)
            files[-1].write_text(text)
        return checker("validate", RETRY, *files, "--mapping", mapping, *options)

    return call


def test_a_log_that_conforms(validate):
    outcome = validate(GOOD)
    assert outcome.status == 0 and outcome.err == ""
    assert "log0.jsonl: conforms  (retry/retry)" in outcome.out
    assert "3 events: 2 taken as steps, 0 observed, 1 skipped (note 1)" in outcome.out


def test_a_log_that_is_rejected(validate):
    outcome = validate(GOOD, BAD)
    assert outcome.status == 1
    assert "log1.jsonl: rejected at line 4" in outcome.out
    assert 'line 4: {"event": "acked", "record": 1, "run": 1}' in outcome.out
    assert "acknowledge(): require(self.acknowledged in self.log) is false (retry.py:" in outcome.out
    assert "retry/retry: 2 traces: 1 conforms, 1 rejected" in outcome.out


def test_a_shown_violation_fails(validate):
    outcome = validate([GOOD[0], {"event": "sent", "log": [0, 0]}])
    assert outcome.status == 1
    assert "shows a violation of no_duplicate: every candidate state after line 2" in outcome.out


def test_json_and_report(validate, tmp_path):
    outcome = validate(GOOD, BAD, options=("--json", "-", "--out", tmp_path / "out"))
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert [(row["verdict"], row["line"], row["steps"]) for row in rows] == [("conforms", None, 2), ("rejected", 4, 2)]
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["verdicts"] == {"conforms": 1, "rejected": 1} and report["skipped"] == {"note": 2}
    assert report["clusters"][0]["cause"].startswith("acked: acknowledge: require(self.acknowledged in self.log)")
    for ending in ("txt", "json", "html"):
        assert (tmp_path / "out" / f"log1.{ending}").read_text()
    page = (tmp_path / "out" / "report.html").read_text()
    assert (
        "2 recorded traces validated against retry/retry" in page and "require(self.acknowledged in self.log)" in page
    )


def test_many_traces_in_one_file(validate):
    events = [event | {"run": run} for run in (1, 2) for event in (GOOD if run == 1 else BAD)]
    mixed = sorted(events, key=lambda event: event["event"] == "note")
    outcome = validate(mixed, options=("--by", "run"))
    assert outcome.status == 1
    assert "2 traces: 1 conforms, 1 rejected" in outcome.out and "2: rejected at line 5" in outcome.out
    assert validate([{"event": "note"}], options=("--by", "run")).err.endswith(
        'the event has no "run", which names its trace\n'
    )


def test_no_trace_is_no_verdict(validate):
    """An empty log without `--by` is refused too: nothing of it conforms."""
    outcome = validate([], options=("--by", "run"))
    assert outcome.status == 2 and "nothing was validated" in outcome.err
    assert validate([]).status == 2


def test_controls_are_counted(validate):
    outcome = validate(GOOD, options=("--controls", "10"))
    assert outcome.status == 0 and "controls: 4 of 4 rejected" in outcome.out


def test_a_mapping_that_accepts_everything_fails_its_controls(validate, tmp_path):
    lax = tmp_path / "lax.py"
    lax.write_text(
        MAPPING.replace('PossibleStep("send").after({"log": found["log"]})', "Observation({})").replace(
            'PossibleStep("acknowledge").before({"acknowledged": found["record"]})', "Observation({})"
        )
    )
    outcome = validate(GOOD, options=("--controls", "10", "--mapping", lax))
    assert outcome.status == 1 and "no control was rejected: the mapping accepts everything" in outcome.out


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        ('{"event": "sent", "log": [0]}\n{"event": \n', "log0.jsonl:2: this is not JSON: Expecting value"),
        ("[1]\n", "log0.jsonl:1: an event is a JSON object"),
        ("", "it has no events"),
        ('{"event": "note"}\n', "every event is skipped"),
        ('{"event": "other"}\n', 'log0.jsonl:1: Retrying has no method for the event other: add @event("other")'),
        ('{"event": "sent"}\n', "log0.jsonl:1: the event has no 'log', which Retrying.sent reads"),
    ],
)
def test_an_unreadable_log_does_not_prevent_the_others(validate, log, sentence):
    outcome = validate(log, GOOD)
    assert outcome.status == 2 and sentence in outcome.err
    assert "log1.jsonl: conforms" in outcome.out and "1 conforms, 1 unreadable" in outcome.out


def test_wrong_names(checker, validate, tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps(GOOD[0]) + "\n")
    for arguments, sentence in (
        (("replication", log, "--mapping", "x.py"), "replication has several specs; name one of"),
        ((RETRY, tmp_path / "none.jsonl", "--mapping", "x.py"), "there is no log"),
        ((RETRY, log, "--mapping", "x.py"), "there is no file x.py"),
        ((RETRY, log), "Missing option '--mapping'"),
    ):
        outcome = checker("validate", *arguments)
        assert outcome.status == 2 and sentence in outcome.err, outcome
    both = validate(GOOD, options=("--engine", "python", "--master", "local[1]"))
    assert both.status == 2 and "--master needs --engine spark, not python" in both.err
    assert "retry has no constant records" in validate(GOOD, options=("--set", "records=3")).err


def test_record_rejects_an_unknown_fault(checker, tmp_path):
    outcome = checker("record", tmp_path / "log.jsonl", "--fault", "explode@1")
    assert outcome.status == 2 and "--fault explode@1: write FAULT@N" in outcome.err


@pytest.mark.skipif(importlib.util.find_spec("confluent_kafka") is None, reason="confluent-kafka is not installed")
def test_record_writes_a_log_and_prints_the_command_to_validate_it(checker, tmp_path):
    log = tmp_path / "logs" / "one.jsonl"
    outcome = checker("record", log, "--records", "1", "--delay", "1", "--fault", "refuse@9")
    assert "refuse@9 did not happen" in outcome.err
    assert outcome.status == 0 and "1 record in 1 request, 1 delivered" in outcome.out
    *_, command = outcome.out.strip().splitlines()
    assert checker(*command.split()[3:]).status == 0
    refused = checker("record", log, "--producer", "idempotent", "--acks", "1")
    assert refused.status == 2 and "librdkafka refuses the settings" in refused.err


def test_a_folder_of_logs(checker, validate, tmp_path):
    validate(GOOD, BAD)
    outcome = checker("validate", RETRY, tmp_path, "--mapping", tmp_path / "mapping.py")
    assert outcome.status == 1 and "2 traces: 1 conforms, 1 rejected" in outcome.out
    (tmp_path / "empty").mkdir()
    outcome = checker("validate", RETRY, tmp_path / "empty", "--mapping", tmp_path / "mapping.py")
    assert outcome.status == 2 and "has no logs: their names end with .jsonl or .parquet" in outcome.err
    (tmp_path / "empty" / "below").mkdir()
    (tmp_path / "empty" / "below" / "more.parquet").touch()
    (tmp_path / "empty" / "one.jsonl").touch()
    outcome = checker("validate", RETRY, tmp_path / "empty", "--mapping", tmp_path / "mapping.py")
    assert outcome.status == 2 and "that end with .jsonl and with .parquet: name one kind" in outcome.err


def test_an_interrupt_reports_the_validated_logs(validate, monkeypatch):
    from traces.validate.task import RunningValidation

    whole = RunningValidation.outcome

    def stopped(self, recorded):
        if recorded.name.endswith("log1.jsonl"):
            raise KeyboardInterrupt
        return whole(self, recorded)

    monkeypatch.setattr(RunningValidation, "outcome", stopped)
    outcome = validate(GOOD, GOOD)
    assert outcome.status == 3
    assert "1 trace: 1 conforms" in outcome.out and "interrupted: some logs were not validated" in outcome.out


def test_a_rejected_long_log_shows_what_the_states_number(checker, tmp_path):
    recorded = ROOT / "tests/kafka_tools/lab/recorded/plain-forty-records.jsonl"
    lines = recorded.read_text().splitlines()
    last = max(n for n, line in enumerate(lines) if '"delivered"' in line)
    found = json.loads(lines[last])
    lines[last] = json.dumps(found | {"offset": found["offset"] + 1})
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(lines) + "\n")
    words = ["validate", "producer/plain_producer", str(log), "--mapping", "kafka_tools.lab.librdkafka.plain"]
    shown = checker(*words, "--out", str(tmp_path / "out"))
    assert shown.status == 1 and f"rejected at line {last + 1}" in shown.out
    assert re.search(r"finished records are forgotten. Below, record 1 is record \d+ of the log", shown.out)
    assert not list((tmp_path / "out").glob("log*")), "no behaviour explains the whole log"
