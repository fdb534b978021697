"""Premises that no state makes true, in each form that a premise has."""

from pathlib import Path

import pytest

from checker.engines.native import engine
from checker.evidence import native
from checker.evidence.native import explore
from checker.frontend import compile_spec
from checker.run.plan import Plan
from tests.evidence.toys import Guarded, Implications


def idle(spec, properties=None):
    result = explore(spec, Plan(tuple(properties or spec.properties), stop="all"))
    assert result.verdict == "holds"
    return {
        finding.subject: finding.message.partition("`")[2].partition("`")[0]
        for finding in result.findings
        if finding.kind == "premise_never_true"
    }


EXPECTED = {
    "seldom_or": "self.x > 5",
    "seldom_conditional": "self.x == 4",
    "seldom_implies": "self.x == 6",
    "seldom_early_return": "self.x >= 5",
    "seldom_all": "entry in self.log[node]",
    "seldom_filter": "self.x == 3",
    "seldom_inside": "self.x == 1 and len(self.log[node]) > 0",
    "seldom_never_both": "self.x == 5",
    "seldom_in_helper": "len(self.log[node]) > 1",
    "seldom_loop": "entry in self.log[node]",
    "seldom_branch": "self.x == 7",
    "seldom_step": "old.x > 4",
}


def test_idle_premises_and_no_others():
    assert idle(Implications()) == EXPECTED


def test_the_words_and_the_line():
    result = explore(Implications(), Plan(("seldom_or", "seldom_step")))
    state, step = [finding for finding in result.findings if finding.kind == "premise_never_true"]
    assert state.message == "seldom_or is vacuous for `self.x > 5`: no reachable state satisfies this premise"
    assert step.message == "seldom_step is vacuous for `old.x > 4`: no step satisfies this premise"
    assert "not self.x > 5 or self.x == 7" in Path(state.file).read_text().splitlines()[state.line - 1]


def test_the_verdict_and_the_counts_are_those_without_evidence():
    plan = Plan(("often_or", "often_step"))
    plain, judged = engine.explore(Implications(), plan), explore(Implications(), plan)
    assert (plain.distinct_states, plain.generated_states) == (judged.distinct_states, judged.generated_states)
    assert (judged.verdict, judged.reached) == ("holds", {})


def test_a_premise_is_not_evaluated_where_its_property_is_not():
    assert idle(Guarded()) == {}


def test_a_true_premise_does_not_end_a_run_that_waits_for_a_violation():
    result = explore(Implications(), Plan(("often_or", "often_step"), stop="first"))
    assert result.ended == "complete"
    awaited = explore(Implications(), Plan(("often_or",), stop=frozenset({"often_or"})))
    assert awaited.ended == "complete"


def test_more_premises_than_there_are_bits(monkeypatch):
    names = list(EXPECTED)
    for most in (len(names), len(names) + 1, len(names) + 3):
        monkeypatch.setattr(native, "MOST_PROPERTIES", most)
        assert idle(Implications(), names) == EXPECTED


@pytest.mark.parametrize("name", ["one_of_two_ways"])
def test_a_choice_is_no_implication(name):
    from checker.evidence.premises import premises_of

    assert [premise.text for premise in premises_of(compile_spec(Implications(), [name]))] == []
