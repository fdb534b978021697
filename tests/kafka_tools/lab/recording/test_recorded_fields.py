"""Every field of every kind of recording is compared, or its mapping names it unused: edits of each field."""

import copy
import json
import lzma
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from checker.errors import InputError
from kafka_tools.lab.librdkafka.answer_consistency import AnswerConsistency
from kafka_tools.lab.recording.recorder import as_json, record_partition
from tests.kafka_tools.lab.recording.kept_cluster import logs_of
from traces.validate.controls import unread_fields
from traces.validate.events import RecordedEvent, RecordedTrace
from traces.validate.task import RunningValidation, ValidationTask
from traces.validate.validator import Validator

KEPT, RECORDED = Path(__file__).with_name("kept"), Path(__file__).parents[1] / "recorded"
PASSED, IDEMPOTENT, PLAIN, PARTITION = "passed_batches", "idempotent", "plain", "partition"

KINDS = {
    PASSED: ("producer/idempotent_producer", "kafka_tools.lab.recording.passed_batches"),
    IDEMPOTENT: ("producer/idempotent_producer", "kafka_tools.lab.librdkafka.idempotent"),
    PLAIN: ("producer/plain_producer", "kafka_tools.lab.librdkafka.plain"),
    "failover": ("producer/idempotent_failover/i7_failover", "kafka_tools.lab.recording.idempotent"),
    "answers": ("broker/leader_state/i7_restart", "kafka_tools.lab.recording.leader_state"),
    PARTITION: ("replication/partition", "kafka_tools.lab.recording.partition"),
}
"""The spec and the mapping of each kind of recording."""

MAY_CONFORM = {
    (PASSED, "response.base_offset"): "other producers' records may lie between two batches",
    (PASSED, "request.content"): "of a batch that was sent once, nothing is known about the digest",
    (PLAIN, "failed.error"): "a client has errors of its own, with names of its own",
    (PARTITION, "received.high_watermark"): "an answer to a fetch may have an earlier high watermark",
}
"""Values that the spec allows too."""

SETS = ("isr", "followers", "unanswered")
"""Fields whose order says nothing."""


@cache
def validation(kind):
    return RunningValidation(ValidationTask(*KINDS[kind]))


def trace_of(events):
    return RecordedTrace("kept", "kept", tuple(RecordedEvent(line, found) for line, found in enumerate(events, 1)))


def lines(path):
    text = lzma.decompress(path.read_bytes()).decode() if path.suffix == ".xz" else path.read_text()
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Return a conforming recording of each kind."""
    passed = [found for found in lines(KEPT / "passed-batches-4.3.1.jsonl.xz") if found["trace"] == "t3-0/3"]
    for found in passed:
        if found["event"] == "request":
            # The recorder of that time did not write the digest of the records, which are all different.
            found["content"] = str(found["records"])
    first = next(n for n, found in enumerate(passed) if found["event"] == "closed")
    logs = logs_of("failover-4.3.1", tmp_path_factory.mktemp("kept"))
    return {
        PASSED: passed[: first + 30],
        IDEMPOTENT: lines(RECORDED / "idempotent-request-lost.jsonl"),
        PLAIN: lines(RECORDED / "plain-rejected.jsonl"),
        "failover": lines(KEPT / "i7-rolling-restart.jsonl"),
        "answers": lines(KEPT / "i7-rolling-restart.jsonl"),
        PARTITION: as_json(record_partition(logs, "experiment-0").events),
    }


def other_values(value):
    """Return values that differ a little from a value of an event."""
    match value:
        case bool():
            return [not value]
        case int():
            return [value + 1, value - 1, value + 100]
        case str():
            return [f"{value}'"]
        case list():
            return [[*value, *(value[-1:] or [1])], value[:-1], value[::-1]]
        case dict():
            return [value | {name: other} for name in value for other in other_values(value[name])]
    return [1, "b1"]


def edits(events, mapping, per_field):
    """Yield the name of a field, and the events with another value of it: at some places, the last one included."""
    places = {}
    for position, found in enumerate(events):
        for name in found:
            if mapping.steps_of(found) is not None and name != mapping.field:
                places.setdefault(f"{found['event']}.{name}", []).append(position)
    for field, positions in sorted(places.items()):
        name = field.partition(".")[2]
        if {name, field} & set(mapping.unused):
            continue
        for position in {*positions[:: max(len(positions) // per_field, 1)], positions[-1]}:
            for value in other_values(events[position][name]):
                is_reordered = name in SETS and sorted(value) == sorted(events[position][name])
                if value != events[position][name] and not is_reordered:
                    edited = {**events[position], name: value}
                    yield field, value, position, [*events[:position], edited, *events[position + 1 :]]


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_read_or_named_unused(kind, recordings):
    mapping = validation(kind).mapping
    assert unread_fields(mapping, trace_of(recordings[kind])) == ()
    assert validation(kind).outcome(trace_of(recordings[kind])).verdict == "conforms"
    new = [{**found, "novel": 1} for found in recordings[kind]]
    assert {field.partition(".")[2] for field in unread_fields(mapping, trace_of(new))} == {"novel"}


@pytest.mark.parametrize(
    ("kind", "places"),
    [
        *((kind, 1) for kind in KINDS if kind not in (PASSED, PARTITION)),
        *(pytest.param(kind, 2, marks=pytest.mark.slow) for kind in KINDS),
    ],
)
def test_an_edit_of_any_field_is_rejected(kind, places, recordings):
    running, wrong = validation(kind), []
    for field, value, position, events in edits(recordings[kind], running.mapping, places):
        outcome = running.outcome(trace_of(events))
        if outcome.verdict == "conforms" and (kind, field) not in MAY_CONFORM:
            wrong.append((field, value, position + 1))
    assert wrong == []


def position_of(events, name, number):
    return [n for n, found in enumerate(events) if found["event"] == name][number]


def without(name, number):
    return lambda events: events.pop(position_of(events, name, number))


def twice(name, number):
    def edit(events):
        position = position_of(events, name, number)
        events.insert(position + 1, events[position])

    return edit


def swapped(name, first, second, *fields):
    """Return an edit that swaps two events, or some of their fields."""

    def edit(events):
        one, other = position_of(events, name, first), position_of(events, name, second)
        before, after = events[one], events[other]
        fields_of = fields or before.keys() | after.keys()
        events[one] = before | {field: after[field] for field in fields_of}
        events[other] = after | {field: before[field] for field in fields_of}

    return edit


def moved(name, number, to):
    return lambda events: events.insert(to, events.pop(position_of(events, name, number)))


@pytest.mark.parametrize(
    "edit",
    [
        without("request", 12),
        without("response", 12),
        twice("request", 13),
        twice("response", 13),
        swapped("request", 10, 11),
        swapped("request", 10, 11, "sequence"),
        swapped("request", 10, 11, "base_sequence"),
        swapped("request", 10, 11, "records"),
        swapped("response", 17, 18, "base_offset"),
        swapped("response", 17, 18, "before", "after"),
        swapped("response", 17, 18, "base_offset", "before", "after"),
        moved("response", 20, 0),
        lambda events: events.insert(50, events[position_of(events, "request", 2)]),
        lambda events: events.insert(50, {**events[position_of(events, "request", 2)], "content": "other"}),
    ],
)
def test_other_orders_of_events_are_rejected(recordings, edit):
    events = list(recordings[PASSED][:80])
    assert validation(PASSED).outcome(trace_of(events)).verdict == "conforms"
    edit(events)
    assert validation(PASSED).outcome(trace_of(events)).verdict == "rejected"


@pytest.mark.parametrize(
    ("unanswered", "verdict"),
    [
        ([138, 136, 137], "conforms"),
        # The client may lack the answer to the batch before.
        ([135, 136, 137, 138], "conforms"),
        ([134, 135, 136, 137, 138], "rejected"),
        ([134, 136, 137, 138], "rejected"),
        ([136, 137], "rejected"),
        ([136, 137, 138, 138], "rejected"),
    ],
)
def test_the_unanswered_batches_are_the_last_ones_of_the_connection(recordings, unanswered, verdict):
    events = list(recordings[PASSED])
    closed = position_of(events, "closed", 0)
    events[closed] = {**events[closed], "unanswered": unanswered}
    assert validation(PASSED).outcome(trace_of(events[: closed + 8])).verdict == verdict


def request(**fields):
    return {"event": "request", "records": [1], "producer_id": 7, "broker": 1, **fields}


@pytest.mark.parametrize(
    ("events", "text"),
    [
        ([request(), request(producer_id=8)], "the producer id is 8, before it was 7"),
        ([request(), request(broker=2)], "the request goes to broker 2, and 1 leads"),
        ([request(), {"event": "failed_over", "broker": 1}], "broker 1 does not lead next"),
        ([request(), {"event": "restarted", "broker": 2}, request()], "and 2 leads"),
        ([request(), {"event": "leader_restarted", "broker": 2}], "broker 2 does not lead"),
        ([request(), {"event": "closed", "broker": 2}], "the connection to broker 2 ends"),
        ([request(), {"event": "closed", "broker": 1, "unanswered": []}], "the requests without an answer are [1]"),
        ([{"event": "failed", "record": 1, "error": "invalid record"}], "no answer has that error"),
        ([{"event": "send", "record": 2}], "record 2 is sent after record 0"),
    ],
)
def test_events_of_a_producer_that_contradict_each_other(events, text):
    consistency = AnswerConsistency()
    *before, wrong = [consistency(found) for found in events]
    assert set(before) <= {None} and text in wrong


# Mistakes of a mapping. The log is innocent, so that its verdict is never `rejected`.


def mistakes(step):
    """Yield copies of a possible step with one mistake: a value of another kind, or a helper that is not called."""
    for part in ("arguments", "seen_before", "seen_after"):
        for name, observed in getattr(step, part).items():
            kinds = {bool: [1, "yes"], int: [str(observed), float(1)], str: [7, "nobody"], list: ["x", {}], dict: [[]]}
            for other in kinds.get(type(observed), []):
                yield f"{part}: {name} = {other!r}", altered(step, part, {name: other})
            if name.endswith(")") and part != "arguments":
                yield f"{part}: {name} without a call", altered(step, part, {name.rpartition("(")[0]: observed}, name)


def altered(step, part, changes, *removed):
    changed = copy.copy(step)
    kept = {name: value for name, value in getattr(step, part).items() if name not in removed}
    setattr(changed, part, kept | changes)
    return changed


class Mistaken:
    """A mapping that makes a mistake in one event."""

    def __init__(self, right, found, number, wrong):
        self._right, self._found, self._number, self._wrong = right, found, number, wrong

    def __getattr__(self, name):
        return getattr(self._right, name)

    def steps_of(self, found):
        steps = self._right.steps_of(found)
        if found != self._found or steps is None:
            return steps
        return (*steps[: self._number], self._wrong, *steps[self._number + 1 :])


@pytest.mark.parametrize("kind", KINDS)
def test_a_mistake_of_the_mapping_rejects_no_log(recordings, kind):
    # A model with all records has no room for more.
    events = recordings[kind][:30]
    running = validation(kind)
    right = running.mapping
    usual = running._validator(running._constants(trace_of(events)))
    first = {}
    for position, found in enumerate(events):
        for number, step in enumerate(right.steps_of(found) or ()):
            first.setdefault(
                (found["event"], str(step.action), *step.seen_before, *step.seen_after), (position, number)
            )
    verdicts = Counter()
    for position, number in list(first.values())[:12]:
        step = right.steps_of(events[position])[number]
        for what, wrong in mistakes(step):
            mistaken = Validator(usual.moves, Mistaken(right, events[position], number, wrong), usual.limits)
            try:
                verdict = mistaken.validate(trace_of(events[: position + 1])).verdict
            except InputError:
                verdict = "unreadable"
            assert verdict != "rejected", what
            verdicts[verdict] += 1
    # Where an event may be one of several steps, another one may explain it.
    assert verdicts["unreadable"] > max(5, verdicts["conforms"]), verdicts
