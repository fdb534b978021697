"""A recording of real brokers: it conforms, and damaged copies are rejected at the damaged line."""

import json

import pytest

from kafka_tools.lab.recording.partition import RecordedPartition
from specs.replication.partition import Partition
from tests.kafka_tools.lab.cluster.real_brokers import run_on_real_brokers
from traces.validate.events import RecordedEvent, RecordedTrace
from traces.validate.moves import InterpretedMoves
from traces.validate.validator import Validator

TWO_BROKERS = """
brokers = 2
steps = ["send 1", "await acknowledged 1", "sleep 1", "send 2", "await acknowledged 3", "sleep 1", "finish"]

[expect]
acknowledged = 3
duplicated = 0
"""

DAMAGE = {
    "appended": {"high_watermark": 3},
    "fetch": {"offset": 0},
    "handled_fetch": {"high_watermark": 0},
    "received": {"end": 2},
}
"""What is wrong in a copy: for each event, other values of the last one."""


def trace_of(events):
    return RecordedTrace("real", "real", tuple(RecordedEvent(n, found) for n, found in enumerate(events, 1)))


@pytest.mark.slow
def test_a_recording_of_real_brokers_conforms_and_damaged_copies_do_not(tmp_path, capsys):
    file = tmp_path / "two-brokers.toml"
    file.write_text(TWO_BROKERS)
    run_on_real_brokers(str(file), "4.3.1", tmp_path / "out", "--record")
    assert "lines that look like an event and could not be parsed: 0" in capsys.readouterr().out
    events = [json.loads(line) for line in (tmp_path / "out" / "partition.jsonl").read_text().splitlines()]
    mapping = RecordedPartition()
    validator = Validator(InterpretedMoves(Partition(**mapping.constants(events)), ()), mapping)
    outcome = validator.validate(trace_of(events))
    assert outcome.verdict == "conforms" and not outcome.limits
    for event, change in DAMAGE.items():
        position = max(n for n, found in enumerate(events) if found["event"] == event and found.get("end", 3) == 3)
        damaged = [*events[:position], {**events[position], **change}, *events[position + 1 :]]
        outcome = validator.validate(trace_of(damaged))
        assert (outcome.verdict, outcome.rejection.line) == ("rejected", position + 1), event
