"""Controls: their kinds, their rejection, and the detection of a lax mapping."""

import random

import pytest

from tests.traces.validate.toys import Wire, WireLog, recorded
from traces.validate import Mapping, Observation, PossibleStep, event
from traces.validate.controls import _other_list, _other_value, _text, controls_of, try_controls
from traces.validate.events import RecordedEvent
from traces.validate.moves import moves_of
from traces.validate.validator import Validator

GOOD = recorded(
    {"event": "sent", "number": 0, "thread": "a"},
    {"event": "sent", "number": 1, "thread": "b"},
    {"event": "received", "newest": 1},
    {"event": "tick"},
    {"event": "looked", "stored": [1], "colour": "red"},
    {"event": "sent", "number": 2, "thread": "a"},
)


def test_controls_are_rejected_or_have_a_reason():
    found = try_controls(Validator(moves_of(Wire(), "python", ()), WireLog()), GOOD, 60, seed=1)
    assert found.tried == {"dropped": 4, "swapped": 4, "altered": 6}
    assert found.rejected["altered"] == 6 and found.rejected["swapped"] >= 2
    assert {(survivor.kind, survivor.line, survivor.why) for survivor in found.survivors} == {
        ("dropped", 5, "it is an observation, and without it validation checks less"),
        ("swapped", 5, "the spec allows both orders"),
    }
    assert found.unread == ("sent.thread",)


def test_a_control_changes_one_thing():
    given = [event.found for event in GOOD.events]
    for control in controls_of(WireLog(), GOOD, 60, 1):
        made = [event.found for event in control.recorded.events]
        if control.kind == "dropped":
            assert made in [given[:at] + given[at + 1 :] for at in range(len(given))]
            continue
        (one, other), *more = [pair for pair in zip(given, made, strict=True) if pair[0] != pair[1]]
        if control.kind == "swapped":
            assert more == [(other, one)]
        else:
            assert not more and sum(one[name] != other[name] for name in one) == 1


def test_equal_seeds_give_equal_controls():
    first, again, other = ([control.change for control in controls_of(WireLog(), GOOD, 9, seed)] for seed in (1, 1, 2))
    assert first == again != other and len(first) == 9


def test_mapping_that_accepts_everything_is_detected():
    class Lax(Mapping):
        skips = ("tick",)

        @event("sent", "received", "looked")
        def anything(self, found):
            return Observation({})

    found = try_controls(Validator(moves_of(Wire(), "python", ()), Lax()), GOOD, 60, seed=1)
    assert sum(found.rejected.values()) == 0 and sum(found.tried.values()) > 3
    assert "sent.number" in found.unread


def test_event_that_the_mapping_refuses_is_rejected():
    class Strict(Mapping):
        @event("sent")
        def sent(self, found):
            return PossibleStep("send", number={"first": 0, "second": 1}[found["number"]])

    trace = recorded({"event": "sent", "number": "first"}, {"event": "sent", "number": "second"})
    found = try_controls(Validator(moves_of(Wire(), "python", ()), Strict()), trace, 30, seed=1)
    assert found.tried == found.rejected


@pytest.mark.parametrize(("length", "ends"), [(100, '"}'), (101, "...")])
def test_the_text_of_a_long_event_is_cut(length, ends):
    text = _text(RecordedEvent(1, {"note": "x" * (length - len('{"note": ""}'))}))
    assert (len(text), text.endswith(ends)) == (100, True)


def test_equal_neighbours_are_not_swapped():
    sent, received = {"event": "sent", "number": 0}, {"event": "received"}
    trace = recorded(sent, sent, received, received, sent)
    for seed in range(9):
        swaps = [one.line for one in controls_of(WireLog(), trace, 20, seed) if one.kind == "swapped"]
        assert sorted(swaps) == [2, 4]


def test_another_value_is_one_that_the_trace_has_elsewhere():
    assert {_other_value("a", ["a", "b", ["c"]], random.Random(seed)) for seed in range(9)} == {"b"}
    assert _other_value("a", ["a"], random.Random(1)) == "a'"
    assert {_other_value(0, [], random.Random(seed)) for seed in range(9)} == {1}
    assert {_other_value(3, [], random.Random(seed)) for seed in range(9)} == {2, 4}
    assert (_other_value(True, [], random.Random(1)), _other_value(False, [], random.Random(1))) == (False, True)
    parts = [_other_value({"a": 1, "b": [2]}, [], random.Random(seed)) for seed in range(99)]
    assert {tuple(name for name in "ab" if part[name] != {"a": 1, "b": [2]}[name]) for part in parts} == {
        ("a",),
        ("b",),
    }


def test_another_list_differs_in_one_way():
    # Equal neighbours are never exchanged.
    made = {tuple(_other_list([1, 1, 2], random.Random(seed))) for seed in range(300)}
    longer, shorter, order = {(1, 1, 2, 2)}, {(1, 2), (1, 1)}, {(1, 2, 1)}
    other = {(0, 1, 2), (2, 1, 2), (1, 0, 2), (1, 2, 2), (1, 1, 1), (1, 1, 3)}
    assert made == longer | shorter | order | other
