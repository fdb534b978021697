"""Experiments that are proposed for the counterexamples of scenarios."""

import json
from pathlib import Path

import pytest

from checker.cli.app import main
from kafka_tools.experiments.experiment import Experiment, read_experiment
from kafka_tools.lab.cluster.producer_schedule import producer_schedule
from kafka_tools.lab.cluster.schedule import TraceCall


def trace_of(scenario: str, folder: Path) -> Path:
    main(["run", scenario, "--engine", "python", "--out", str(folder)])
    (found,) = [path for path in folder.glob("*.json") if ".itf." not in path.name]
    return found


def proposed(scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Experiment:
    trace = trace_of(scenario, tmp_path / "traces")
    capsys.readouterr()
    assert main(["experiment", str(tmp_path / "new.toml"), "--from", str(trace)]) == 0
    printed = capsys.readouterr().out
    assert (tmp_path / "new.toml").read_text() in printed and "cannot force" not in printed
    return read_experiment(str(tmp_path / "new.toml"))


@pytest.mark.parametrize(
    ("scenario", "known"),
    [
        ("producer/plain_producer/p3_duplicate_on_lost_ack", "p3-lost-response"),
        ("producer/plain_producer/p9_duplicate_by_restart", "p9-producer-restart"),
    ],
)
def test_schedules_equal_those_of_known_experiments(tmp_path, capsys, scenario, known):
    found = proposed(scenario, tmp_path, capsys)
    expected = read_experiment(known)
    assert found.steps == expected.steps and found.entry == expected.entry
    assert found.expects_harm and found.producer["enable.idempotence"] == "false"


def test_a_restart_of_the_broker(tmp_path, capsys):
    found = proposed("producer/idempotent_producer/i7_restart", tmp_path, capsys)
    assert " ".join(found.steps) == " ".join(read_experiment("i7-restart").steps).replace("3", "2")
    assert found.producer["enable.idempotence"] == "true" and found.expect == {"duplicated": "1 or more"}


@pytest.mark.parametrize(
    ("scenario", "steps", "topic"),
    [
        (
            "producer/acks/p7_acks_1_loss_on_failover",
            ["pause 2", "sleep 2", "send 1", "await acknowledged 2", "kill 1", "resume 2", "await leader 2", "finish"],
            {"min.insync.replicas": "2"},
        ),
        (
            "producer/acks/p6_acks_0_loss",
            ["pause 1", "sleep 2", "send 1", "await acknowledged 2", "kill 1", "await leader 2", "finish"],
            {"min.insync.replicas": "1"},
        ),
        (
            "replication/partition/r12_unclean_election",
            ["stop 2", "sleep 2", "send 1", "await acknowledged 2", "kill 1", "start 2", "await leader 2", "finish"],
            {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"},
        ),
    ],
)
def test_a_failover(tmp_path, capsys, scenario, steps, topic):
    found = proposed(scenario, tmp_path, capsys)
    assert list(found.steps) == ["send 1", "await acknowledged 1", "sleep 1", *steps]
    assert (found.brokers, found.replicas, found.topic) == (3, (1, 2), topic)
    assert found.expect == {"lost": "1 or more"}


def calls(*actions: str) -> list[TraceCall]:
    return [TraceCall(number, action, {}, {}, {}) for number, action in enumerate(actions, start=2)]


def test_messages_that_are_lost_in_different_ways_are_named_by_number():
    trace = calls("drain", "handle_produce", "receive_response", "drain", "handle_produce", "drain", "disconnect")
    found = producer_schedule(trace, {"max_in_flight": 2}, idempotent=True)
    assert found.steps[2:] == [
        *("send 1", "await acknowledged 2"),
        *("lose Produce responses @3", "lose Produce requests @4", "send 2", "await lost 2"),
        *("cut", "forward", "restore", "finish"),
    ]
    assert found.unforced == []


def test_steps_that_cannot_be_forced_are_named():
    trace = calls("drain", "refuse_as_not_leader", "disconnect", "drain", "disconnect")
    found = producer_schedule(trace, {}, idempotent=False)
    assert found.unforced == [
        "step 3, refuse_as_not_leader()",
        "step 6, disconnect(): the time of a fault while a retry is in flight",
    ]


def test_wrong_input(tmp_path, capsys):
    trace = trace_of("producer/plain_producer/p3_duplicate_on_lost_ack", tmp_path / "traces")
    damaged = tmp_path / "damaged.json"
    content = json.loads(trace.read_text())
    content["steps"][3]["state"] = content["steps"][2]["state"]
    damaged.write_text(json.dumps(content))
    new = tmp_path / "new.toml"
    for words, message in (
        ([str(new), "--from", str(damaged)], "step 4, broker_append(n1), cannot be replayed"),
        ([str(new), "--from", str(tmp_path / "none")], "cannot be read"),
        ([str(new), "--from", str(trace), "--kafka", "4.3.1"], "--from runs nothing"),
        (["new", "--from", str(trace)], "a new file whose name ends in .toml"),
        ([str(damaged.with_suffix(".toml")), "--from", str(trace)], "exists: name a new file"),
    ):
        damaged.with_suffix(".toml").write_text("")
        assert main(["experiment", *words]) == 2
        assert message in capsys.readouterr().err
        assert not new.exists()


def test_a_spec_without_schedules(tmp_path, capsys):
    trace = trace_of("producer/drain/p14_starvation", tmp_path / "traces")
    assert main(["experiment", str(tmp_path / "new.toml"), "--from", str(trace)]) == 2
    assert "schedules exist for producer/plain_producer, " in capsys.readouterr().err
