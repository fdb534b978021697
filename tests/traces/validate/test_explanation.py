"""The behaviour that explains a trace: the spec allows it, and it takes the recorded steps."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.validate.toys import Wire, WireLog, recorded, walk
from traces.replay import replay
from traces.validate.explanation import explaining_behaviour
from traces.validate.mapping import PossibleStep
from traces.validate.moves import moves_of
from traces.validate.observations import Observer
from traces.validate.rejections import reasons_of
from traces.validate.validator import Validator


@pytest.fixture(scope="module")
def validator() -> Validator:
    return Validator(moves_of(Wire(), "python", ()), WireLog())


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_behaviour_takes_the_recorded_steps(validator, seed):
    trace = walk(Wire(), seed)
    found = explaining_behaviour(validator, trace)
    replay(Wire(), found)
    taken = [(step.action, step.arguments) for step in found.trace if step.action not in (None, "lose")]
    sent = {"sent": "send", "received": "receive"}
    recorded_steps = [sent[event.found["event"]] for event in trace.events if event.found["event"] in sent]
    assert [action for action, _ in taken] == recorded_steps
    assert found.explanation == "This behaviour explains the whole trace."


def test_behaviour_ends_before_the_first_unexplained_event(validator):
    sent = [{"event": "sent", "number": number} for number in (0, 1)]
    looked = {"event": "looked", "stored": [1], "colour": "red"}
    found = explaining_behaviour(
        validator, recorded(*sent, {"event": "received"}, looked, {"event": "sent", "number": 0})
    )
    actions = [step.action for step in found.trace]
    assert (
        actions[0] is None and sorted(actions[1:]) == ["lose", "receive", "send", "send"] and actions[-1] == "receive"
    )
    assert found.explanation.endswith("explains the trace up to line 4; no step explains the next event.")


def test_behaviour_takes_several_silent_steps_in_a_row(validator):
    sent = [{"event": "sent", "number": number} for number in (0, 1)]
    looked = [{"event": "looked", "wire": wire} for wire in ([0, 1], [])]
    found = explaining_behaviour(validator, recorded(*sent, *looked))
    assert [step.action for step in found.trace] == [None, "send", "send", "lose", "lose"]


@pytest.mark.parametrize("candidates", [39, 40, 41])
def test_reasons_are_those_of_at_most_40_candidates(validator, candidates):
    keys, step = tuple(validator.moves.initial()) * candidates, PossibleStep("send", number=3)
    (reason,) = reasons_of(validator.moves, Observer(validator.spec), keys[:candidates], (step,))
    assert reason.count == min(candidates, 40)
