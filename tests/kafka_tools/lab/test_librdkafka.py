"""librdkafka's recorded runs against the producer specs: what conforms, what differs and where, and a live run."""

import dataclasses
import importlib.util
import itertools
import struct
from pathlib import Path

import pytest

from checker.errors import UserError
from kafka_tools.lab.librdkafka import wire_format
from kafka_tools.lab.librdkafka.recorder import InjectedFault, RecordingSetup, record
from traces.validate.events import RecordedEvent, RecordedTrace, read_log
from traces.validate.task import RunningValidation, ValidationTask
from traces.validate.verdict import TraceVerdict

RECORDED = Path(__file__).parent / "recorded"
PLAIN = ValidationTask("producer/plain_producer", "kafka_tools.lab.librdkafka.plain", engine="python")
IDEMPOTENT = ValidationTask("producer/idempotent_producer", "kafka_tools.lab.librdkafka.idempotent", engine="python")


@pytest.fixture(scope="module")
def validations() -> dict[str, RunningValidation]:
    return {"plain": RunningValidation(PLAIN), "idempotent": RunningValidation(IDEMPOTENT)}


def outcome_of(validations: dict[str, RunningValidation], name: str) -> TraceVerdict:
    kind = "plain" if name.startswith("plain") else "idempotent"
    return validations[kind].outcome(read_log(RECORDED / f"{name}.jsonl"))


def contents(name: str) -> list[int]:
    return read_log(RECORDED / f"{name}.jsonl").events[-1].found["records"]


@pytest.mark.parametrize(
    ("name", "violated"),
    [
        ("plain-clean", set()),
        ("plain-rejected", set()),
        ("plain-response-lost", {"no_duplicate", "no_late_copy"}),
        ("plain-two-in-flight-refused", {"no_gap", "no_reorder", "no_late_copy"}),
        ("idempotent-clean", set()),
        ("idempotent-request-lost", set()),
        ("idempotent-one-in-flight-refused", set()),
    ],
)
def test_recordings_that_conform(validations, name, violated):
    outcome = outcome_of(validations, name)
    assert (outcome.verdict, outcome.violated.keys(), outcome.limits) == ("conforms", violated, frozenset())


@pytest.mark.parametrize(
    ("name", "line", "cause"),
    [
        ("plain-one-in-flight-refused", 7, "request: sender_drain: wire[n1][len(wire[n1]) - 1].records"),
        ("plain-too-large", 6, "failed: seen: future[1]"),
        ("plain-retries-uncounted", 5, "request: sender_drain: require(len(self.queue[partition]) > 0) is false"),
        ("idempotent-refused", 14, "delivered: seen: batch[p1][0]"),
        ("idempotent-response-lost", 13, "response: handle_produce: requests[p1][handled(p1) - 1].offset"),
        ("idempotent-five-in-flight-responses-lost", 17, "request: drain: require(self.can_drain(partition)) is false"),
        ("transactional-response-lost", 13, "response: handle_produce: requests[p1][handled(p1) - 1].offset"),
        ("transactional-refused", 16, "failed: seen: batch[p1][2].outcome"),
    ],
)
def test_recordings_that_do_not_conform(validations, name, line, cause):
    outcome = outcome_of(validations, name)
    assert (outcome.verdict, outcome.rejection.line) == ("rejected", line)
    assert outcome.rejection.cause.startswith(cause)


def test_refused_record_that_is_reported_as_delivered():
    """The run conforms to a client with implicit acknowledgements and a broker of 2.5 to 4.4: it loses record 1."""
    validation = RunningValidation(dataclasses.replace(IDEMPOTENT, target="producer/implicit_acks"))
    outcome = validation.outcome(read_log(RECORDED / "idempotent-refused.jsonl"))
    assert (outcome.verdict, outcome.limits) == ("conforms", frozenset())
    assert outcome.violated.keys() == {"no_acked_loss", "no_gap", "sequences_contiguous"}


def test_the_number_of_differences():
    assert contents("plain-one-in-flight-refused") == [2, 1, 3], "reordered with one request in flight"
    assert contents("idempotent-refused") == [2, 3, 4], "record 1 was delivered and is not there"
    assert contents("idempotent-response-lost") == [1, 2, 2, 3, 4], "no sequence was checked"


def test_both_engines_agree():
    for task, name in ((PLAIN, "plain-retries-uncounted"), (IDEMPOTENT, "idempotent-refused")):
        log = read_log(RECORDED / f"{name}.jsonl")
        native = RunningValidation(ValidationTask(task.target, task.mapping, engine="native"))
        assert native.outcome(log) == RunningValidation(task).outcome(log)


@pytest.mark.parametrize(
    ("kind", "name"), [("plain", "plain-response-lost"), ("idempotent", "idempotent-request-lost")]
)
def test_mappings_reject_changed_logs(kind, name):
    task = {"plain": PLAIN, "idempotent": IDEMPOTENT}[kind]
    validation = RunningValidation(dataclasses.replace(task, controls=30))
    log = read_log(RECORDED / f"{name}.jsonl")
    controls = validation.controls(log, validation.outcome(log))
    # The path of a log chooses its controls: one may be a list that the next test allows.
    altered = [survivor.change for survivor in controls.survivors if survivor.kind == "altered"]
    assert all(change.startswith("unanswered [3] instead of [2, 3]") for change in altered)
    assert controls.tried["altered"] - len(altered) == controls.rejected["altered"] > 5
    assert controls.rejected["dropped"] > 0 and controls.rejected["swapped"] > 0
    assert {survivor.why for survivor in controls.survivors if survivor.kind != "altered"} <= {
        "the spec allows both orders",
        "the spec allows the other events without it",
        "it is an observation, and without it validation checks less",
    }


@pytest.mark.parametrize(
    ("name", "allowed"), [("plain-response-lost", [[2, 3], [3]]), ("idempotent-request-lost", [[2]])]
)
def test_any_other_list_of_unanswered_requests_is_rejected(validations, name, allowed):
    """A client may lack the last answers that the proxy has passed on, so that a list may be without the first ones."""
    log = read_log(RECORDED / f"{name}.jsonl")
    (place,) = [n for n, one in enumerate(log.events) if one.found["event"] == "closed"]
    conforming = []
    for changed in (list(items) for size in range(4) for items in itertools.product(range(5), repeat=size)):
        closed = RecordedEvent(place + 1, log.events[place].found | {"unanswered": changed})
        edited = dataclasses.replace(log, events=(*log.events[:place], closed, *log.events[place + 1 :]))
        if validations[name.partition("-")[0]].outcome(edited).verdict == "conforms":
            conforming.append(changed)
    assert sorted(conforming) == allowed


@pytest.mark.parametrize("version", [3, 7, 8])
def test_the_wire_format(version):
    def varint(number: int) -> bytes:
        return bytes([number << 1])

    value = b"42"
    record_body = bytes([0]) + varint(0) + varint(0) + bytes([1]) + varint(len(value)) + value + varint(0)
    header = struct.pack(">qiibIhiqqqhii", 0, 0, 0, 2, 0, 0, 0, 0, 0, 9, 3, 7, 1)
    batch = header + varint(len(record_body)) + record_body
    front = struct.pack(">hhi", 0, version, 5) + struct.pack(">h", 1) + b"c" + struct.pack(">hhi", -1, -1, 1000)
    topic = struct.pack(">i", 1) + struct.pack(">h", 1) + b"t" + struct.pack(">iii", 1, 0, len(batch))
    request = wire_format.produce_request(front + topic + batch)
    assert request == wire_format.ProduceRequest(
        5, -1, wire_format.RecordBatch((b"42",), producer_id=9, epoch=3, sequence=7)
    )
    answer = struct.pack(">ii", 5, 1) + struct.pack(">h", 1) + b"t" + struct.pack(">iihq", 1, 0, 19, -1)
    assert wire_format.produce_response(answer, version) == wire_format.ProduceResponse(5, 19, -1)


def test_an_unknown_fault_is_an_error():
    for text in ("refuse", "refuse@0", "explode@1", "refuse@x"):
        with pytest.raises(UserError, match=f"--fault {text}: write FAULT@N"):
            InjectedFault.parse(text)


@pytest.mark.skipif(importlib.util.find_spec("confluent_kafka") is None, reason="confluent-kafka is not installed")
@pytest.mark.parametrize(
    ("setup", "verdict"),
    [
        (RecordingSetup(records=3, faults=(InjectedFault("reject", 2),), delay_ms=10), "conforms"),
        (
            RecordingSetup("idempotent", records=3, max_in_flight=1, faults=(InjectedFault("refuse", 2),), delay_ms=10),
            "conforms",
        ),
        (
            RecordingSetup(
                "idempotent", records=2, max_in_flight=1, faults=(InjectedFault("lose-response", 1),), delay_ms=10
            ),
            "rejected",
        ),
    ],
)
def test_a_live_producer_is_recorded_and_validated(validations, setup, verdict):
    events = record(setup)
    assert events[0]["event"] == "configured" and events[-1]["event"] == "log"
    live = RecordedTrace("live", "live", tuple(RecordedEvent(line, found) for line, found in enumerate(events, 1)))
    assert validations[setup.producer].outcome(live).verdict == verdict, events


def test_another_log_is_an_error(validations):
    other = RecordedTrace("other", "other.jsonl", (RecordedEvent(1, {"event": "send", "record": 1}),))
    outcome = validations["plain"].outcome(other)
    assert outcome.verdict == "unreadable"
    assert outcome.message.startswith("other.jsonl: PlainClient.constants finds no constants in its events, at ")
    assert outcome.message.endswith("plain.py:30: StopIteration")


def test_recording_without_confluent_kafka(monkeypatch):
    monkeypatch.setattr("kafka_tools.lab.librdkafka.mock_cluster.importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"recording needs confluent-kafka, .*pip install 'tidemark\[record\]'"):
        record(RecordingSetup())
