"""The producer's view of real brokers: I7 conforms to the models with the bug, and not to those with the repair."""

import json
import struct
from pathlib import Path
from types import SimpleNamespace

import pytest

from checker.cli.app import main
from checker.errors import InputError
from checker.output.styled_lines import plain
from kafka_tools.lab.cluster.messages import request_header
from kafka_tools.lab.cluster.producer_process import RecordFuture
from kafka_tools.lab.cluster.proxy import CLIENT, PassingRequest
from kafka_tools.lab.librdkafka.wire_format import produce_request, produce_response
from kafka_tools.lab.recording import recorded_experiment
from kafka_tools.lab.recording.produce_recorder import ProducerTraffic
from tests.kafka_tools.lab.recording.kept_cluster import extract

I7 = Path(__file__).with_name("kept") / "i7-rolling-restart.jsonl"
MODELS = (
    ("producer/idempotent_failover/i7_failover", "kafka_tools.lab.recording.idempotent"),
    ("broker/leader_state/i7_restart", "kafka_tools.lab.recording.leader_state"),
)


@pytest.mark.parametrize(("spec", "mapping"), MODELS)
def test_the_rolling_restart_conforms_to_the_model_with_the_bug(spec, mapping, capsys):
    assert main(["validate", spec, str(I7), "--mapping", mapping, "--controls", "30"]) == 0
    out = capsys.readouterr().out
    assert "conforms" in out and "shows a violation of" in out and "as the scenario expects" in out


@pytest.mark.parametrize(("spec", "mapping"), MODELS)
def test_the_model_with_the_repair_rejects_it(spec, mapping, capsys):
    assert main(["validate", spec, str(I7), "--mapping", mapping, "--set", "snapshot_batches=5"]) == 1
    out = capsys.readouterr().out
    assert "rejected at line 14" in out and '"error": "out of order sequence number"' in out


BATCH = struct.pack(">q i i b I h i q q q h i i", 0, 70, 0, 2, 0, 0, 0, 0, 0, 1000, 1, 7, 1)
RECORD = bytes([0, 0, 0, 1]) + bytes([4]) + b"r9" + bytes([0])


def request(version: int, partitions: int = 1) -> bytes:
    """Return a Produce request with the record r9 in a batch of producer 1000, epoch 1, sequence 7."""
    batch = BATCH + bytes([2 * len(RECORD)]) + RECORD
    topic = bytes(16) if version >= 13 else bytes([2]) + b"t"
    data = struct.pack(">hhih", 0, version, 5, 1) + b"p" + bytes([0])
    data += bytes([0]) + struct.pack(">hi", -1, 1000) + bytes([2]) + topic + bytes([1 + partitions])
    return data + struct.pack(">i", 0) + bytes([len(batch) + 1]) + batch + bytes([0, 0, 0])


def response(version: int, error: int, offset: int) -> bytes:
    topic = bytes(16) if version >= 13 else bytes([2]) + b"t"
    return struct.pack(">i", 5) + bytes([0, 2]) + topic + bytes([2]) + struct.pack(">ihq", 0, error, offset)


@pytest.mark.parametrize("version", [9, 12, 13])
def test_flexible_versions(version):
    found = produce_request(request(version))
    assert (found.correlation, found.acks, found.batch.values) == (5, -1, (b"r9",))
    assert (found.batch.producer_id, found.batch.epoch, found.batch.sequence) == (1000, 1, 7)
    assert produce_response(response(version, 45, -1), version).error == 45


def test_requests_that_cannot_be_recorded():
    with pytest.raises(InputError, match="version 2 cannot be recorded: the oldest is 3"):
        produce_request(request(2))
    with pytest.raises(InputError, match="2 partitions cannot be recorded"):
        produce_request(request(9, partitions=2))


def passing(broker: int, connection: int = 1) -> PassingRequest:
    data = request(12)
    return PassingRequest(connection, CLIENT, broker, 1, request_header(data), data)


def test_restarts_and_failovers():
    recorder = ProducerTraffic()
    recorder.forwarded(passing(1))
    recorder.answered(passing(1), response(12, 0, 4))
    recorder.closed(1, [passing(1)])
    time = "2026-11-22 18:00:00.000"
    notes = [{"event": "starting", "broker": broker, "time": time} for broker in (1, 2)]
    recorder._events[0]["time"] = 0
    recorder.forwarded(passing(2, connection=2))
    recorder._events[-1]["time"] = 10**14
    found = recorder.result(notes, [RecordFuture("r9", 4, "", 1), RecordFuture("r8", None, "Timeout", 1)], ["r9"], {})
    names = [event["event"] for event in found]
    assert names.count("failed_over") == 1 and names.count("restarted") == 1 and "leader_restarted" not in names
    assert names[-3:] == ["delivered", "failed", "log"] and found[-1]["records"] == [9]
    assert [event["broker"] for event in found if event["event"] == "restarted"] == [2]


def test_an_experiment_is_recorded_with_the_settings_of_its_producer(tmp_path, monkeypatch):
    extract("failover-4.3.1", tmp_path / "cluster")
    given = []

    class Traffic:
        def result(self, notes, futures, log, settings):
            given.append((len(notes) > 0, futures, log, settings))
            return [{"event": "sent"}, {"event": "log"}]

    def run_experiment(name, version, out, *, observer, finish, lib):
        given.append((name, version, lib, out, type(observer)))
        producer = {"acks": "-1", "max.in.flight.requests.per.connection": "2"}
        experiment = SimpleNamespace(kafka="4.3.1", producer=producer)
        lines = finish(SimpleNamespace(experiment=experiment, sent=[1, 2], futures=["f"], log=["r1"]), tmp_path)
        assert plain(lines).splitlines()[-1] == "  producer.jsonl: 2 events of the producer, as the proxies saw it"
        return 7

    monkeypatch.setattr(recorded_experiment, "ProducerTraffic", Traffic)
    monkeypatch.setattr(recorded_experiment, "run_experiment", run_experiment)
    assert recorded_experiment.record_experiment("i7-restart", "4.3.1", tmp_path, "build/libs") == 7
    settings = {"kafka": "4.3.1", "records": 2, "max_in_flight": 2, "acks": "-1"}
    assert given == [("i7-restart", "4.3.1", "build/libs", tmp_path, Traffic), (True, ["f"], ["r1"], settings)]
    created, *_ = map(json.loads, (tmp_path / "partition.jsonl").read_text().splitlines())
    assert (created["event"], created["acks"]) == ("created", "all")
    assert (tmp_path / "producer.jsonl").read_text() == '{"event": "sent"}\n{"event": "log"}\n'
    usual = SimpleNamespace(experiment=SimpleNamespace(kafka="4.3.1", producer={}), sent=[])
    assert recorded_experiment._settings(usual) == {"kafka": "4.3.1", "records": 0, "max_in_flight": 5, "acks": "all"}
