"""The constants that a recording needs: its batches, and as many faults of each kind as it shows."""

import pytest

from kafka_tools.lab.recording.passed_batches import PassedBatches

NO_FAULTS = {"max_refusals": 0, "max_rejections": 0, "max_late_acks": 0, "max_disconnects": 0, "max_abandoned": 0}


def request(number, epoch=0):
    return {"event": "request", "records": [number], "epoch": epoch, "sequence": number - 1}


def response(error):
    return {"event": "response", "records": [1], "error": error}


@pytest.mark.parametrize(
    ("events", "counted"),
    [
        ([response("none")], {}),
        ([response("not enough replicas")] * 2, {"max_refusals": 2}),
        # The leader may have appended the batch of such an answer, or not.
        ([response("request timed out")], {"max_refusals": 1, "max_late_acks": 1}),
        ([response("invalid record")], {"max_rejections": 1}),
        ([{"event": "closed"}, response("none")], {"max_disconnects": 1, "max_abandoned": 1}),
    ],
)
def test_the_faults_of_a_recording_are_counted(events, counted):
    constants = PassedBatches().constants([request(1), *events])
    assert {name: constants[name] for name in NO_FAULTS} == NO_FAULTS | counted


def test_the_sizes_of_a_recording():
    constants = PassedBatches().constants([request(1), request(2), request(3, epoch=4)])
    assert (constants["batches"], constants["log_size"]) == (3, 4)
    assert (constants["max_epoch"], constants["max_sequence"]) == (5, 7)
