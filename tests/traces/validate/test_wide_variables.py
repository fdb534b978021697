"""States whose variables take more than a word are decoded whole, also after many others."""

import pytest

from checker.language import Range, Seq, Spec, action, require
from tests.traces.validate.toys import recorded
from traces.validate import Mapping, Observation, PossibleStep, event
from traces.validate.moves import moves_of
from traces.validate.validator import Validator


class Wide(Spec):
    """A sequence of 120 bits."""

    line = Seq(Range(0, 4095), 10)

    @action
    def append(self, number: Range(0, 9)):
        require(len(self.line) < 10)
        self.line.append(number)


class WideLog(Mapping):
    @event("appended")
    def appended(self, found):
        return PossibleStep("append", number=found["number"])

    @event("looked")
    def looked(self, found):
        return Observation({"line": found["line"]})


@pytest.mark.parametrize("engine", ["python", "native"])
@pytest.mark.parametrize(("last", "verdict"), [(7, "conforms"), (8, "rejected")])
def test_every_item_is_compared(engine, last, verdict):
    numbers = [number % 10 for number in range(7, 17)]
    events = []
    for count in range(1, 11):
        events.append({"event": "appended", "number": numbers[count - 1]})
        events.append({"event": "looked", "line": numbers[:count]})
    events[-1] = {"event": "looked", "line": [last, *numbers[1:]]}
    outcome = Validator(moves_of(Wide(), engine, ()), WideLog()).validate(recorded(*events))
    assert outcome.verdict == verdict
    assert (outcome.steps, outcome.seen) == ((10, 10) if verdict == "conforms" else (10, 9))
