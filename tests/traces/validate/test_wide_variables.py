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

    @action
    def change_last(self, number: Range(0, 9)):
        require(len(self.line) == 10)
        self.line[9] = number


class WideLog(Mapping):
    @event("appended")
    def appended(self, found):
        return PossibleStep("append", number=found["number"])

    @event("changed")
    def changed(self, found):
        return PossibleStep("change_last", number=found["number"])

    @event("looked")
    def looked(self, found):
        return Observation({"line": found["line"]})


@pytest.mark.parametrize("engine", ["python", "native"])
@pytest.mark.parametrize(("last", "verdict"), [(7, "conforms"), (8, "rejected")])
def test_every_item_is_compared(engine, last, verdict):
    events = [{"event": "appended", "number": number} for number in range(10)]
    events.append({"event": "looked", "line": list(range(10))})
    # The two states differ in the last word alone.
    events += [{"event": "changed", "number": 7}, {"event": "looked", "line": [*range(9), last]}]
    outcome = Validator(moves_of(Wide(), engine, ()), WideLog()).validate(recorded(*events))
    assert outcome.verdict == verdict
    assert (outcome.steps, outcome.seen) == (11, 2 if verdict == "conforms" else 1)
