"""Premises that no state satisfies, in every form of a premise."""

from pathlib import Path

import pytest

from checker.engines.native import engine
from checker.evidence import native_evidence
from checker.evidence.native_evidence import explore
from checker.frontend import compile_spec
from checker.run.plan import Plan
from tests.evidence.toys import Guarded, Implications


def unmet(spec, properties=None):
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


def test_exactly_the_unmet_premises_are_found():
    assert unmet(Implications()) == EXPECTED


def test_message_and_line_of_an_unmet_premise():
    result = explore(Implications(), Plan(("seldom_or", "seldom_step")))
    state, step = [finding for finding in result.findings if finding.kind == "premise_never_true"]
    assert state.message == "seldom_or is vacuous for `self.x > 5`: no reachable state satisfies this premise"
    assert step.message == "seldom_step is vacuous for `old.x > 4`: no step satisfies this premise"
    assert "not self.x > 5 or self.x == 7" in Path(state.file).read_text().splitlines()[state.line - 1]


def test_search_for_premises_changes_no_verdict_and_no_count():
    plan = Plan(("often_or", "often_step"))
    plain, with_findings = engine.explore(Implications(), plan), explore(Implications(), plan)
    assert plain.distinct_states == with_findings.distinct_states
    assert plain.generated_states == with_findings.generated_states
    assert (with_findings.verdict, with_findings.reached) == ("holds", {})


def test_premise_is_evaluated_only_where_its_property_is():
    assert unmet(Guarded()) == {}


def test_true_premise_does_not_stop_the_exploration():
    result = explore(Implications(), Plan(("often_or", "often_step"), stop="first"))
    assert result.ended == "complete"
    awaited = explore(Implications(), Plan(("often_or",), stop=frozenset({"often_or"})))
    assert awaited.ended == "complete"


def test_more_premises_than_property_bits(monkeypatch):
    names = list(EXPECTED)
    for most in (len(names), len(names) + 1, len(names) + 3):
        monkeypatch.setattr(native_evidence, "MOST_PROPERTIES", most)
        assert unmet(Implications(), names) == EXPECTED


@pytest.mark.parametrize("name", ["one_of_two_ways"])
def test_disjunction_of_conclusions_has_no_premise(name):
    from checker.evidence.premises import premises_of

    assert [premise.text for premise in premises_of(compile_spec(Implications(), [name]))] == []
