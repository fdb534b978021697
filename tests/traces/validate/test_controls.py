"""Controls: their kinds, their rejection, and the detection of a lax mapping."""

from __future__ import annotations

from tests.traces.validate.toys import Wire, WireLog, recorded
from traces.validate import Mapping, Observation, PossibleStep, event
from traces.validate.controls import controls_of, try_controls
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
            return PossibleStep("send", number={0: 0, 1: 1}[found["number"]])

    trace = recorded({"event": "sent", "number": 0}, {"event": "sent", "number": 1})
    found = try_controls(Validator(moves_of(Wire(), "python", ()), Strict()), trace, 30, seed=1)
    assert found.tried == found.rejected
