"""Recordings of four soaks: partitions of which an earlier recorder or spec rejected an event, with their log lines.

The fast tests check what the recorder makes of the lines. The slow one validates all partitions of one configuration.
"""

import pytest

from kafka_tools.lab.recording.broker_log import Observed
from kafka_tools.lab.recording.partition import RecordedPartition
from kafka_tools.lab.recording.partition_events import PartitionEvents
from kafka_tools.lab.recording.recorder import as_json, record_partition
from specs.replication.partition import Partition
from tests.kafka_tools.lab.recording.kept_cluster import logs_of
from traces.validate.events import RecordedEvent, RecordedTrace
from traces.validate.moves import NativeMoves
from traces.validate.validator import Validator

ONE_REPLICA = (
    *("soak-11-1", "soak-18-2", "soak-76-0", "soak-77-0", "soak-83-2", "soak-90-2"),
    *("soak-66-1", "soak-91-0", "soak-146-1"),
)
"""Partitions with acks=all and min.insync.replicas=1."""


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    found = {}
    for name in ("soak-4.3.1", "soak-2-4.3.1", "soak-3-4.3.1", "soak-4-4.3.1"):
        logs = logs_of(name, folder)
        assert not logs.unparsed
        found |= {partition: as_json(record_partition(logs, partition).events) for partition in logs.partitions}
    assert len(found) == 24
    return found


def named(events, kind, **fields):
    """Return the events of a kind with these values, with their positions."""
    return [
        (number, event)
        for number, event in enumerate(events)
        if event["event"] == kind and fields.items() <= event.items()
    ]


def changes(events):
    return [(event["partition_epoch"], event["cause"]) for _, event in named(events, "changed")]


def test_a_count_has_a_fetch_from_its_offset(kept):
    """Also if the count that the fetch answers left no line, and both lines have the same millisecond."""
    for events in kept.values():
        asked = {}
        for event in events:
            if event["event"] == "fetch":
                asked.setdefault((event["broker"], event["leader"]), set()).add(event["offset"])
            elif event["event"] == "handled_fetch":
                assert event["end"] in asked[event["follower"], event["broker"]]


def test_a_high_watermark_is_the_end_of_a_counted_log(kept):
    """Also if the thread of another count, or of an append, has written the line."""
    for events in kept.values():
        high_watermark, ends = {}, {}
        for event in events:
            if event["event"] not in ("leading", "handled_fetch", "appended"):
                continue
            leader, known = event["broker"], ends.setdefault(event["broker"], {})
            known[event.get("follower", leader)] = event["end"]
            before = high_watermark.get(leader, 0)
            if event["event"] != "leading" and event["high_watermark"] > before:
                raised_by_other = event["event"] == "appended" and event["high_watermark"] == event["end"]
                assert event["high_watermark"] in known.values() and not raised_by_other
            high_watermark[leader] = event["high_watermark"]


def test_a_count_of_another_thread_has_raised_the_high_watermark(kept):
    ((number, _),) = named(kept["soak-116-0"], "handled_fetch", follower="b2", end=5, high_watermark=5)
    assert kept["soak-116-0"][number + 1]["high_watermark"] == 5
    assert named(kept["soak-21-0"], "handled_fetch", follower="b2", end=1, high_watermark=1)
    assert named(kept["soak-106-1"], "handled_fetch", follower="b2", end=7, high_watermark=10)


def test_a_change_has_the_cause_of_the_controller_that_made_it(kept):
    # A former controller that was paused has logged the same change, because it fenced the follower.
    assert changes(kept["soak-11-1"])[0] == (1, "alter_partition")
    # Two controllers have logged different changes of partition epoch 1.
    (first,) = (event for _, event in named(kept["soak-90-2"], "changed", partition_epoch=1))
    assert first["isr"] == ["b1", "b2"] and first["cause"] == "alter_partition"
    # The election of the preferred leader leaves no line with a cause, less than a second after another change.
    assert changes(kept["soak-95-2"])[2:4] == [(3, "fenced"), (4, "unknown")]


def test_a_leader_decides_before_it_submits_its_request(kept):
    ((asked, _),) = named(kept["soak-18-2"], "asked_to_shrink", followers=["b2"])
    ((counted, _),) = named(kept["soak-18-2"], "handled_fetch", follower="b2", end=1)
    assert asked < counted


def test_a_registration_of_an_unfenced_broker_fences_it(kept):
    events = kept["soak-20-0"]
    ((registered, _),) = named(events, "registered", broker="b3")
    assert events[registered - 1] | {"time": 0} == {
        "event": "changed",
        "cause": "fenced",
        "broker": "b3",
        "isr": ["b1", "b2"],
        "leader": "b1",
        "leader_epoch": 0,
        "partition_epoch": 1,
        "time": 0,
    }


def test_a_truncated_follower_asks_from_an_earlier_offset_again(kept):
    events = kept["soak-106-2"]
    ((truncated, _),) = named(events, "truncated", broker="b3", end=1)
    steps = ("fetch", "handled_fetch")
    again = [event for event in events[truncated:] if event["event"] in steps and "b3" in event.values()]
    offsets = [event.get("offset", event.get("end")) for event in again]
    assert offsets[4:8] == [2, 2, 3, 3]


def test_a_controller_that_was_paused_fences_no_broker(kept):
    # Broker 1 was the controller, and logs that it fences b3 four milliseconds after a pause of several seconds.
    assert [number for number, _ in named(kept["soak-15-0"], "fenced", broker="b3")] == [31]


def test_a_leader_learns_the_same_isr_twice(kept):
    events = kept["soak-77-0"]
    learnt, again = named(events, "learnt_isr", answered=True)[0][0], named(events, "learnt_isr_again")[0][0]
    asked = [number for number, _ in named(events, "asked_to_expand", follower="b2")]
    assert learnt < asked[0] < again < asked[1]


def test_a_change_that_its_controller_reverts_is_none(kept):
    # Broker 2 was paused when it had granted a request, fenced broker 1 after that, and reverted both changes.
    assert changes(kept["soak-66-1"]) == [(1, "alter_partition"), (2, "alter_partition")]
    ((_, granted),) = named(kept["soak-66-1"], "changed", partition_epoch=2)
    assert granted["isr"] == ["b1", "b2", "b3"] and granted["time"] == 13006


def test_an_append_raises_no_high_watermark_that_others_have_counted(kept):
    events = kept["soak-94-1"]
    ((appended, _),) = named(events, "appended", broker="b2", end=8, high_watermark=6)
    assert named(events, "handled_fetch", follower="b3", end=7, high_watermark=7)[0][0] == appended + 1


def test_a_high_watermark_before_the_end_of_a_broker_is_no_step_of_an_earlier_count(kept):
    # The leader was killed when it had raised the high watermark to 2, before it wrote the line of the count.
    ends = [event["high_watermark"] for _, event in named(kept["soak-2-1"], "handled_fetch", broker="b1", end=1)]
    assert ends == [0, 1]


def test_a_request_is_granted_before_its_leader_drops_it(kept):
    events = kept["soak-91-0"]
    ((asked, _),) = named(events, "asked_to_expand", follower="b2")
    assert [event["event"] for event in events[asked : asked + 3]] == [
        "asked_to_expand",
        "changed",
        "learnt_isr_again",
    ]


def test_a_leader_counts_and_asks_before_it_learns_the_isr_again(kept):
    events = kept["soak-172-0"]
    asked = named(events, "asked_to_expand", follower="b3")[0][0]
    assert events[asked - 1]["event"] == "handled_fetch" and events[asked - 1]["high_watermark"] == 2
    granted = named(events, "changed", partition_epoch=3)[0][0]
    again = next(number for number, _ in named(events, "learnt_isr_again") if number > asked)
    assert asked < granted < again and events[again]["high_watermark"] == 2


def test_a_leader_that_is_paused_while_it_asks_has_counted_before(kept):
    events = kept["soak-125-0"]
    ((asked, _),) = named(events, "asked_to_expand", follower="b3")
    counted = {"event": "handled_fetch", "broker": "b1", "follower": "b3", "end": 4, "high_watermark": 4, "time": 6548}
    assert events[asked - 1] == counted and events[asked]["time"] == 6548


def test_a_fetch_of_a_former_registration_is_answered(kept):
    events = kept["soak-146-1"]
    ((registered, _),) = named(events, "registered", broker="b3")
    ((received, _),) = named(events, "received", broker="b3", end=5)
    assert not [event for event in events[registered:received] if event.get("follower") == "b3"]
    assert named(events, "appended", end=5)[0][0] < received < named(events, "appended", end=6)[0][0]


REFUSED = {"error": "OPERATION_NOT_ATTEMPTED"}
ASKED = {"follower": 2}


@pytest.mark.parametrize(
    ("steps", "shown"),
    [
        (["asked", "rejected"], ["asked_to_expand", "rejected_isr"]),
        (["asked", "asked", "rejected"], ["asked_to_expand"]),
        (["asked", "granted", "asked", "rejected"], ["asked_to_expand", "changed"]),
    ],
)
def test_a_request_that_is_not_sent_is_no_step(steps, shown):
    """A broker sends no request while it has another one in flight, which the leader may have dropped."""
    granted = {"isr": [1, 2], "partition_epoch": 1, "cause": "alter_partition", "node": 1}
    kinds = {
        "asked": ("asked_to_expand", ASKED),
        "rejected": ("rejected_isr", REFUSED),
        "granted": ("changed", granted),
    }
    events = PartitionEvents("tide-0")
    first = {"replicas": [1, 2], "isr": [1], "leader": 1}
    leading = {"epoch": 0, "end": 0, "high_watermark": 0, "partition_epoch": 0, "isr": [1]}
    observed = [("created", first), ("leading", leading), *(kinds[step] for step in steps)]
    for time, (kind, fields) in enumerate(observed):
        events.take(Observed(time, 1, kind, "tide-0", fields))
    assert [event["event"] for event in events.result()][2:] == shown


@pytest.mark.slow
def test_recordings_of_a_soak_conform(kept):
    mapping = RecordedPartition()
    found = [mapping.constants(kept[name]) for name in ONE_REPLICA]
    bounds = ("log_size", *(name for name in found[0] if name.startswith("max_")))
    shared = found[0] | {name: max(each[name] for each in found) for name in bounds}
    shared |= {name: max(each[name] for each in found) for name in ("crashes", "shutdowns", "disk_losses")}
    validator = Validator(NativeMoves(Partition(**shared), ()), mapping)
    for name in ONE_REPLICA:
        events = tuple(RecordedEvent(number, event) for number, event in enumerate(kept[name], 1))
        outcome = validator.validate(RecordedTrace(name, name, events))
        assert outcome.verdict == "conforms", (name, outcome)
    # Without the rules that the soak has shown, the recordings that show them are rejected.
    strict = Validator(NativeMoves(Partition(**shared | {"learns_isr_twice": False}), ()), mapping)
    events = tuple(RecordedEvent(number, event) for number, event in enumerate(kept["soak-77-0"], 1))
    assert strict.validate(RecordedTrace("soak-77-0", "soak-77-0", events)).verdict == "rejected"
