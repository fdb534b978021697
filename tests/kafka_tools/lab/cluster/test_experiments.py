"""Experiments: their files, their outcomes, and one on a real broker."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from checker.cli.app import main
from checker.errors import InputError, MissingExtraError
from kafka_tools.experiments.experiment import experiment_files, read_experiment
from kafka_tools.experiments.steps import STEPS
from kafka_tools.lab.cluster import all_experiments
from kafka_tools.lab.cluster.experiment_run import Outcome
from kafka_tools.lab.cluster.log_records import values_of
from kafka_tools.lab.cluster.process import started
from kafka_tools.lab.cluster.producer_process import ProducerCall, RecordFuture
from kafka_tools.lab.cluster.transaction_outcome import transaction_counts
from kafka_tools.pages.museum.entries import read_stories
from tests.audit.real_log import extract
from tests.kafka_tools.lab.cluster.real_brokers import run_on_real_brokers


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("path", experiment_files(), ids=lambda path: path.stem)
def test_known_experiments_are_right(path):
    experiment = read_experiment(path.stem)
    assert experiment.expect and experiment.steps[-1] == "finish"
    # An experiment without an entry tests the harness.
    assert experiment.entry in read_stories() or (not experiment.entry and not experiment.expects_harm)


def test_at_least_twelve_entries():
    assert len({read_experiment(path.stem).entry for path in experiment_files()}) >= 12


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("steps = [", "mine.toml: "),
        ("", "steps is a list of texts"),
        (f'steps = ["stop {"9" * 5000}"]', "a number of a step has up to nine digits"),
        (f'kafka = "{"9" * 5000}.1.2"\nsteps = ["finish"]', "is not like 4.3.1"),
        (f'steps = ["delay {"9" * 400}ms Produce"]', "a number of a step has up to nine digits"),
        (f'steps = ["sleep {"9" * 10}"]', "a number of a step has up to nine digits"),
        ('steps = ["explode"]', "explode is not a step: the steps are send N; "),
        ('steps = ["stop 2"]', "stop 2: the brokers are 1 to 1"),
        ('steps = ["cut 1 2"]', "cut 1 2: the brokers are 1 to 1"),
        ('steps = ["cut 1 1"]', "cut 1 1: name two brokers"),
        ('steps = ["lose Fish responses"]', "Fish is not a kind of messages"),
        ('steps = ["finish"]\nbrokers = 0', "brokers is a number from 1 to 7"),
        ('steps = ["finish"]\nbrokers = 8', "brokers is a number from 1 to 7"),
        ('steps = ["finish"]\nbrokers = true', "brokers is a number from 1 to 7"),
        ('steps = ["finish"]\npartitions = 1001', "partitions is a number from 1 to 1000"),
        ('steps = ["finish"]\nreplicas = [[1]]', "replicas is a list of brokers from 1 to 1"),
        ('steps = ["finish"]\nreplicas = [1.0]', "replicas is a list of brokers from 1 to 1"),
        ('steps = ["finish"]\nclient = ["java"]', "client is one of java"),
        ('steps = ["finish"]\nexpect = 1', "[expect] is a table"),
        ('steps = ["finish"]\nexpect = { lost = "1234567890 or more" }', "[expect] lost: it has numbers"),
        ('steps = ["finish"]\nreplicas = [2]', "replicas is a list of brokers"),
        ('steps = ["finish"]\nkafka = "2.8.0"', "Kafka 2.8.0 is not run here"),
        ('steps = ["finish"]\nkafka = "new"', "is not like 4.3.1"),
        ('steps = ["finish"]\nreleases = "4.0"', 'releases is a text such as "from 4.0" or "before 4.0", not 4.0'),
        ('steps = ["finish"]\nreleases = 0', 'releases is a text such as "from 4.0" or "before 4.0", not 0'),
        ('steps = ["finish"]\nreleases = "before 4.0"', "kafka is 4.3.1, and releases is before 4.0"),
        ('steps = ["finish"]\npartitions = 0', "partitions is a number from 1"),
        ('steps = ["begin", "finish"]', "begin: the producer has no transactional.id"),
        ('steps = ["send 1 to 1"]', "send 1 to 1: the partitions are 0 to 0"),
        ('steps = ["finish"]\n[expect]\ntorn = 1', "[expect] torn: the producer has no transactional.id"),
        ('steps = ["finish"]\nclient = "go"', "client is one of java, librdkafka, not go"),
        ('steps = ["finish"]\ncolour = 1', "unknown key colour"),
        ('steps = ["finish"]\n[expect]\nlost = "1"', "[expect] lost"),
        ('steps = ["finish"]\ntopic = 1', "[topic] is a table of settings"),
    ],
)
def test_wrong_files(tmp_path, text, message):
    with pytest.raises(InputError) as caught:
        read_experiment(written(tmp_path, text))
    assert message in str(caught.value)


def test_an_expectation_may_be_a_lower_bound(tmp_path):
    steps = 'steps = ["finish"]\n[expect]\n'
    outcome = Outcome(read_experiment(written(tmp_path, f'{steps}duplicated = "1 or more"\nlost = 0')))
    assert outcome.experiment.expects_harm
    assert outcome.differences == ["duplicated: 0, expected 1 or more"]
    outcome.log = ["r1", "r1", "r2", "r2"]
    assert outcome.differences == []
    assert not read_experiment(written(tmp_path, f"{steps}acknowledged = 3\nlost = 0")).expects_harm


def test_unknown_name():
    with pytest.raises(InputError, match="there is no experiment x: name a TOML file or one of faults-"):
        read_experiment("x")


def test_every_documented_step_is_read(tmp_path):
    examples = {
        "N|all": "1",
        "N": "1",
        "A": "1",
        "B": "2",
        "MSms": "5ms",
        "NAME": "r1",
        "SECONDS": "1",
        "P": "0",
        "begin|commit|abort": "abort",
        "MESSAGES": "Fetch responses @3 of broker 2",
        "lost|broken|delayed|duplicated|held": "held",
    }
    steps = [" ".join(examples.get(word, word) for word in step.split()) for step in STEPS]
    read = read_experiment(
        written(tmp_path, f'brokers = 2\nsteps = {json.dumps(steps)}\n[producer]\n"transactional.id" = "one"')
    )
    assert list(read.steps) == steps


def test_counts_of_an_outcome():
    outcome = Outcome(read_experiment("p3-lost-response"))
    outcome.sent = ["r1", "r2", "r3", "r4"]
    outcome.futures = [
        RecordFuture("r1", 0, "", 1),
        RecordFuture("r2", 5, "", 1),
        RecordFuture("r3", None, "Timeout", 1),
    ]
    outcome.log = ["r1", "r3", "r4", "r1"]
    assert outcome.counts == {
        "acknowledged": 2,
        "failed": 1,
        "duplicated": 1,
        "lost": 1,
        "failed_in_log": 1,
        "reordered": 0,
    }
    assert outcome.differences == ["lost: 1, expected 0"]


def test_counts_of_transactions():
    calls = [
        ProducerCall("initialize", (), ""),
        ProducerCall("begin", (), ""),
        ProducerCall("commit", ("r1",), ""),
        ProducerCall("begin", (), ""),
        ProducerCall("abort", ("r2", "r3"), ""),
        ProducerCall("begin", (), ""),
        ProducerCall("commit", ("r4",), ""),
        ProducerCall("begin", (), ""),
        ProducerCall("commit", ("r5",), "TimeoutException"),
    ]
    assert transaction_counts(calls, ["r1", "r2"], 1) == {
        "committed": 2,
        "aborted": 1,
        "refused_calls": 1,
        "aborted_read": 1,
        "committed_unread": 1,
        "torn": 1,
        "open_transactions": 1,
    }


def test_an_outcome_without_a_consumer_has_no_counts_of_transactions():
    outcome = Outcome(read_experiment("t3-late-commit"))
    outcome.other_logs = [["r3", "r2"]]
    outcome.sent = ["r1", "r2", "r3"]
    assert "torn" not in outcome.counts and outcome.counts["reordered"] == 1
    assert "torn: unknown, expected 1" in outcome.differences


def test_values_in_a_real_log(tmp_path):
    found = values_of(extract(tmp_path) / "restarted-0")
    assert found == ["warm-up", "A", "B", "C", "A", "B", "C"]


def test_a_process_is_known_by_its_start(tmp_path):
    process = started([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path / "out", ends_with_parent=True)
    assert process.is_alive and not type(process)(process.pid, process.started + 1).is_alive
    process.send(signal.SIGKILL)
    assert process.wait(10) and not process.is_alive


def test_a_process_ends_with_its_parent(tmp_path):
    script = (
        "import sys, time; from pathlib import Path; from kafka_tools.lab.cluster.process import started;"
        f"found = started([sys.executable, '-c', 'import time; time.sleep(60)'], Path({str(tmp_path / 'out')!r}),"
        " ends_with_parent=True); print(found.pid, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return
        if state == "Z":
            return
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    pytest.fail("the child outlived its parent")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["status", "{}"], "has no cluster: `python -m checker cluster up"),
        (["up", "{}", "1"], "up starts all brokers"),
        (["up", "{}", "--kafka", "2.0.0"], "Kafka 2.0.0 is not run here"),
        (["up", "{}", "--set", "x"], "write NAME=VALUE"),
        (["cut", "{}", "1", "2"], "has no cluster"),
        (["status", "{}", "--proxies"], "--proxies: only up takes it"),
        (["stop", "{}", "--brokers", "3"], "--brokers: only up takes it"),
    ],
)
def test_wrong_cluster_commands(tmp_path, capsys, arguments, message):
    assert main(["cluster", *(word.format(tmp_path) for word in arguments)]) == 2
    assert message in capsys.readouterr().err


def outcome_of(experiment, change):
    """Return an outcome that is as the experiment p3-lost-response expects, or with a change."""
    outcome = Outcome(experiment, sent=["r1", "r2"], log=["r1", "r2", "r2"])
    outcome.futures = [RecordFuture("r1", 0, "", 1), RecordFuture("r2", 2, "", 1)]
    return replace(outcome, **change)


FINE, DIFFERENT, UNDECIDED = {}, {"log": ["r1", "r2"]}, {"unfinished": "finish"}


@pytest.mark.parametrize(
    ("changes", "verdicts", "status"),
    [
        ((FINE, FINE), ("as expected", "as expected"), 0),
        ((UNDECIDED, FINE), ("undecided", "as expected"), 3),
        ((InputError("no Maven"), FINE), ("not run", "as expected"), 3),
        ((UNDECIDED, DIFFERENT), ("undecided", "not as expected"), 1),
        ((FINE, KeyboardInterrupt()), ("as expected", "not run"), 3),
    ],
    ids=["fine", "undecided", "not-run", "different", "interrupted"],
)
def test_all(monkeypatch, capsys, tmp_path, changes, verdicts, status):
    names = ("p3-lost-response", "p3-duplicated-request")
    given = dict(zip(names, changes, strict=True))

    def perform(experiment, out):
        change = given[experiment.name]
        if isinstance(change, BaseException):
            raise change
        return outcome_of(experiment, change)

    monkeypatch.setattr(all_experiments, "experiment_files", lambda: [Path(f"{name}.toml") for name in names])
    monkeypatch.setattr(all_experiments, "perform_experiment", perform)
    assert main(["experiment", "all", "--out", str(tmp_path / "out")]) == status
    printed = capsys.readouterr()
    for name, verdict in zip(names, verdicts, strict=True):
        assert re.search(rf"^{name} +P3 +4.3.1 +{verdict} +\d", printed.out, re.MULTILINE)
    assert "[1/2] p3-lost-response" in printed.err and "[2/2]" in printed.err
    assert f"that a broker showed: {int('as expected' in verdicts)}" in printed.out
    written = json.loads((tmp_path / "out" / "experiments.json").read_text())
    assert [each["verdict"] for each in written] == list(verdicts)


@pytest.mark.parametrize(
    ("version", "left_out"),
    [(None, []), ("3.9.2", ["t1-transaction-version-2"]), ("4.4.0", ["t1-hanging-transaction"])],
)
def test_all_leaves_out_what_describes_other_releases(monkeypatch, capsys, version, left_out):
    names = ("p3-lost-response", "t1-hanging-transaction", "t1-transaction-version-2")
    ran = []

    def perform(experiment, out):
        ran.append(experiment.name)
        return outcome_of(experiment, UNDECIDED)

    monkeypatch.setattr(all_experiments, "experiment_files", lambda: [Path(f"{name}.toml") for name in names])
    monkeypatch.setattr(all_experiments, "perform_experiment", perform)
    assert main(["experiment", "all", *(["--kafka", version] if version else [])]) == 3
    assert ran == [name for name in names if name not in left_out]
    shown = f"left out, because they describe other releases than {version}: {', '.join(left_out)}\n"
    assert (shown in capsys.readouterr().out) is bool(left_out)


def test_all_without_the_extra(monkeypatch, capsys):
    def perform(experiment, out):
        raise MissingExtraError("install it")

    monkeypatch.setattr(all_experiments, "perform_experiment", perform)
    assert main(["experiment", "all"]) == 2
    assert "install it" in capsys.readouterr().err


@pytest.mark.parametrize("package", ["crc32c", "confluent_kafka"])
def test_without_the_extra(package):
    """Listing needs no package of the extra; running names the one that is missing."""
    script = f"import sys; sys.modules[{package!r}] = None; from checker.cli.app import main; "
    done = [
        subprocess.run([sys.executable, "-c", script + f"sys.exit(main({words}))"], capture_output=True, text=True)
        for words in (["experiment", "list"], ["experiment", "p3-idempotent"])
    ]
    assert [each.returncode for each in done] == [0, 2]
    assert f"experiments need {package.replace('_', '-')}, which is not installed" in done[1].stderr


def test_list(capsys):
    assert main(["experiment", "list"]) == 0
    assert "i7-rolling-restart" in capsys.readouterr().out


@pytest.mark.slow
def test_restart_duplicates_records_on_a_real_broker(tmp_path, capsys):
    out = tmp_path / "out"
    run_on_real_brokers("i7-restart", "4.3.1", out, "--record")
    assert "as expected: entry I7 on Kafka 4.3.1" in capsys.readouterr().out
    outcome = json.loads((out / "outcome.json").read_text())
    assert outcome["log"] == ["r1", "r2", "r3", "r4", "r2", "r3", "r4"] and outcome["unfinished"] == ""
    assert main(["audit", str(out / "cluster" / "broker1" / "data" / "experiment-0")]) == 1
    assert "3 records are in the log twice" in capsys.readouterr().out
    assert main(["cluster", "status", str(out / "cluster")]) == 0
    assert "broker 1: stopped" in capsys.readouterr().out
    # The recording conforms to the model with the bug, and not to that with the repair.
    spec = ["broker/leader_state/i7_restart", str(out / "producer.jsonl")]
    validate = ["validate", *spec, "--mapping", "kafka_tools.lab.recording.leader_state"]
    assert main(validate) == 0 and main([*validate, "--set", "snapshot_batches=5"]) == 1
    assert '"error": "out of order sequence number"' in capsys.readouterr().out


@pytest.mark.slow
def test_a_late_record_hangs_a_transaction_on_a_real_broker(tmp_path, capsys):
    out = tmp_path / "out"
    run_on_real_brokers("t1-hanging-transaction", "3.9.2", out)
    outcome = json.loads((out / "outcome.json").read_text())
    assert outcome["log"] == ["r1", "r2"] and outcome["committed"] == ["r1"]
    capsys.readouterr()
    main(["audit", str(out / "cluster" / "broker1" / "data" / "experiment-0")])
    assert "the transaction that begins at offset 3 has no marker" in capsys.readouterr().out
