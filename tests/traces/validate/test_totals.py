"""Totals of many traces: sums and clusters that do not depend on the order, and the lines that traces are read from."""

import itertools
import json
from types import SimpleNamespace

import pytest

from checker.errors import InputError
from tests.traces.validate.toys import Wire, WireLog, recorded
from traces.validate.controls import ControlResults, SurvivingControl
from traces.validate.events import read_events, read_log, read_many
from traces.validate.forgetting import RecordWindow
from traces.validate.moves import moves_of
from traces.validate.totals import ValidationTotals, verdict_row
from traces.validate.validator import Validator
from traces.validate.verdict import Rejection, RejectionReason, TraceVerdict

CONTROLS = ControlResults(
    {"dropped": 3, "altered": 2},
    {"dropped": 2, "altered": 2},
    (SurvivingControl("dropped", 1, "without {}", "the spec allows it"),),
    ("sent.thread",),
)
SENT = [{"event": "sent", "number": number} for number in range(3)]


@pytest.fixture(scope="module")
def rows():
    validator = Validator(moves_of(Wire(), "python", ()), WireLog())
    traces = [
        recorded(SENT[0], {"event": "tick"}, SENT[1], name="good"),
        recorded(SENT[0], {"event": "looked", "stored": [], "colour": "red"}, name="observed"),
        recorded(SENT[1], name="late 1"),
        recorded(SENT[1], name="late 2"),
        recorded({"event": "received"}, name="early"),
    ]
    return [verdict_row(validator.validate(trace), None if number else CONTROLS) for number, trace in enumerate(traces)]


def total(rows):
    totals = ValidationTotals()
    for row in rows:
        totals.add(row)
    return totals


def test_the_sums(rows):
    totals = total(rows)
    assert totals.traces == 5 and totals.verdicts == {"conforms": 2, "rejected": 3}
    assert totals.totals == {"events": 8, "steps": 3, "seen": 1, "blank": 0}
    assert totals.skipped == {"tick": 1}
    assert totals.widest == max(row["widest"] for row in rows) > min(row["widest"] for row in rows)
    assert (totals.tried, totals.caught) == (CONTROLS.tried, CONTROLS.rejected)
    assert totals.survivors == {"the spec allows it": 1} and totals.unread == {"sent.thread"}


def test_a_summary_is_read_again(rows):
    totals = total(rows)
    totals.is_interrupted = True
    assert ValidationTotals.from_json(json.loads(json.dumps(totals.to_json()))) == totals


def test_the_largest_cluster_is_first(rows):
    clusters = total(rows).ranked()
    assert [(cluster.verdict, cluster.count) for cluster in clusters] == [("rejected", 2), ("rejected", 1)]
    assert [row["trace"] for row in clusters[0].examples] == ["late 1", "late 2"]
    assert "require(number == self.sent) is false" in clusters[0].cause and "receive" in clusters[1].cause


def test_the_order_and_the_parts_do_not_matter(rows):
    expected = total(rows)
    for order in itertools.islice(itertools.permutations(rows), 0, 120, 17):
        for part in range(6):
            merged = total(order[:part])
            merged.merge(total(order[part:]))
            assert merged == total(order)
        assert [(one.cause, one.count, one.examples) for one in merged.ranked()] == [
            (one.cause, one.count, one.examples) for one in expected.ranked()
        ]


def test_a_trace_that_met_a_limit_is_in_the_cluster_of_the_limit():
    def cause(**changed):
        row = (
            verdict_row(TraceVerdict("a", "a.jsonl", verdict="undecided", limits=frozenset(("window", "bounds"))))
            | changed
        )
        (cluster,) = total([row]).ranked()
        return cluster.cause

    assert cause() == "limits reached: bounds, window"
    assert cause(cause="send: take") == "limits reached: bounds, window; send: take"


def test_a_rejection_without_a_reason_has_its_event_as_the_cause():
    reason = RejectionReason("send(number=1)", "guard", "require(...)", "...", 1)
    causes = [Rejection(3, "sent", {}, 1, (), reasons).cause for reasons in ((), (reason,))]
    assert causes == ["sent", "sent: send: require(...)"]


def test_a_trace_that_was_not_read_has_no_states():
    assert total([verdict_row(TraceVerdict("a", "a.jsonl", verdict="unreadable", message="no"), None)]).widest == 0


def test_blank_lines_are_counted_and_have_numbers():
    events, blank = read_events(["", '{"event": "a"}\n', " \n", "\n", '{"event": "b"}'], "log.jsonl", 5)
    assert ([event.line for event in events], blank) == ([6, 9], 3)


@pytest.mark.parametrize("end", ["", "\n"])
def test_the_traces_of_a_file_have_their_lines(tmp_path, end):
    log = tmp_path / "log.jsonl"
    log.write_text('\ufeff{"run": 1, "n": 0}\n\n{"run": "b"}\n  \n{"run": 1, "n": 2}' + end, encoding="utf-8")
    found = list(read_many(log, "run"))
    assert [(raw.name, raw.file, raw.lines) for raw in found] == [("1", str(log), [1, 5]), ("b", str(log), [3])]
    trace = found[0].recorded()
    assert [(event.line, event.found) for event in trace.events] == [(1, {"run": 1, "n": 0}), (5, {"run": 1, "n": 2})]
    assert (trace.name, trace.file, trace.blank) == ("1", str(log), 0) and read_log(log).blank == 2
    assert [event.line for event in read_log(log).events] == [1, 3, 5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"at": 1}', 'the event has no "run", which names its trace'),
        ("[1]", "an event is a JSON object"),
        ("{" + "x" * 300, "this is not JSON"),
        ("[" * 100_000, "this is nested too deeply|this is not JSON"),
    ],
)
def test_a_line_that_is_no_event_is_named(tmp_path, text, message):
    log = tmp_path / "log.jsonl"
    log.write_text('{"run": 1}\n' + text + "\n")
    with pytest.raises(InputError, match=message) as caught:
        list(read_many(log, "run"))
    assert (caught.value.file, caught.value.line) == (str(log), 2) and len(caught.value.text or "") <= 200
    with pytest.raises(InputError, match="nowhere cannot be read"):
        read_log(tmp_path / "nowhere")
    log.write_bytes(b"\xff")
    with pytest.raises(InputError, match="is not text in UTF-8"):
        read_log(log)


def test_a_name_that_is_no_number_needs_no_room_in_a_window():
    """A log may have any value; the spec refuses it in a sentence."""
    forgetting = SimpleNamespace(
        total=lambda events: 9,
        named=lambda events: [["a", 4, True, None, 3.0, 5]],
        takes_identity=lambda fields: False,
        identities=lambda size: size,
    )
    assert RecordWindow(forgetting, 8, [{}])._oldest == [4, 10]
