"""Traces that need a larger model than there can be."""

from __future__ import annotations

import pytest

from tests.traces.validate.toys import recorded
from traces.validate.task import RunningValidation, ValidationTask

SPEC = """from checker.language import Constant, Range, SetOf, Spec, action




class Bag(Spec):
    numbers = Constant(3, at_least=1)
    seen = SetOf(Range(1, "numbers"))

    @action
    def take(self, number: Range(1, "numbers")):
        self.seen.add(number)
"""

MAPPING = """from traces.validate import Mapping, PossibleStep, event


class Taken(Mapping):
    def constants(self, events):
        return {"numbers": max(found["number"] for found in events)}

    @event("taken")
    def taken(self, found):
        return PossibleStep("take", number=found["number"])
"""


@pytest.mark.parametrize(("number", "verdict"), [(64, "conforms"), (65, "undecided"), (0, "unreadable")])
def test_a_trace_with_too_many_records_is_undecided(number, verdict, tmp_path):
    (tmp_path / "bag.py").write_text(SPEC)
    (tmp_path / "taken.py").write_text(MAPPING)
    validation = RunningValidation(
        ValidationTask(f"{tmp_path / 'bag.py'}", f"{tmp_path / 'taken.py'}", engine="python")
    )
    outcome = validation.outcome(recorded({"event": "taken", "number": number}))
    assert outcome.verdict == verdict
    assert outcome.limits == (frozenset({"window"}) if verdict == "undecided" else frozenset())
