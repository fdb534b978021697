"""Engine `both`: explorer and Z3 agree on all small scenarios: verdicts, lengths, reachables and deadlocks."""

import dataclasses

import pytest

from checker.engines import both
from checker.engines.native import engine
from checker.engines.python import explorer
from checker.engines.smt import fair_steps, lassos
from checker.engines.smt.lowering.expressions import SymbolicExpressions
from checker.engines.smt.lowering.statements import SymbolicStatements
from checker.explain.lassos import lasso_violation
from checker.language import Range, Spec, action, invariant, reachable, require
from checker.run import registry
from checker.run.expectation import properties_to_check, stop_for
from checker.run.ledger import NEVER, default_path, read
from checker.run.plan import Plan
from tests.liveness_toys import Retry

TINY = dict(max_states=30, longest=2)
SMALL = dict(max_states=100, longest=5)
LOWERED_SLOWLY = ("transactions/coordinator", "transactions/transactions")
"""Specs that take a second each to lower: the slow and exhaustive tests compare all their small scenarios."""
SECONDS = 0.5
"""Time after which the search of one scenario does not go on to longer traces."""

LEDGER = read(default_path())


def fits(name, max_states, longest):
    """Return whether a scenario has at most `max_states`, or only counterexamples of at most `longest` states."""
    record = LEDGER.get(name)
    if record is None:
        return False
    if record.distinct_states is not None:
        return record.distinct_states <= max_states
    lengths = [length for length in record.violations.values() if length != NEVER]
    return bool(lengths) and max(lengths) <= longest


def small_scenarios():
    """Yield the small scenarios as parameters of a test; the usual suite takes one tiny scenario of each spec."""
    for family in registry.families():
        for entry in family.entries:
            is_first = True
            for scenario in entry.scenarios:
                if fits(name := f"{entry.name}/{scenario.name}", **SMALL):
                    is_usual = is_first and entry.name not in LOWERED_SLOWLY and fits(name, **TINY)
                    is_first &= not is_usual
                    yield pytest.param(scenario, id=name, marks=() if is_usual else pytest.mark.sampled(3))


@pytest.mark.parametrize("scenario", list(small_scenarios()))
def test_the_engines_agree_on_small_scenarios(scenario, monkeypatch):
    monkeypatch.setattr(both, "TOTAL_SECONDS", SECONDS)
    monkeypatch.setattr(both, "LASSO_SECONDS", SECONDS)
    names = properties_to_check(scenario)
    plan = Plan(names, stop=stop_for(scenario.expect), deadlock="deadlock" in names)
    both.explore(scenario.configured_spec(), plan)


class Counter(Spec):
    """Counts to three by one or two, then deadlocks."""

    number = Range(0, 3)

    @action
    def add(self, amount: Range(1, 2)):
        require(self.number + amount <= 3)
        self.number += amount

    @invariant
    def is_small(self):
        return self.number < 4

    @reachable
    def is_two(self):
        return self.number == 2

    @reachable
    def is_five(self):
        return self.number == 5


PLAN = Plan(("is_small", "is_two", "is_five", "deadlock"), stop="all", deadlock=True)


def test_the_engines_agree_on_reachables_and_deadlocks():
    result = both.explore(Counter(), PLAN)
    assert result.reached == {"is_two": 2}
    assert {(v.property, v.length) for v in result.violations} == {("deadlock", 3), ("is_five", 0)}


def _never_required(self, node):
    """Ignore a `require`."""


def _always_false(self, node):
    return False


@pytest.mark.parametrize(
    ("lowering", "method", "bug", "what"),
    [
        (SymbolicStatements, "require", _never_required, "bounds"),
        (SymbolicExpressions, "comparison", _always_false, "is_small|is_two|deadlock"),
    ],
)
def test_a_bug_in_the_lowering_is_an_internal_error(monkeypatch, lowering, method, bug, what):
    monkeypatch.setattr(lowering, method, bug)
    with pytest.raises(both.EngineDisagreementError, match=f"disagree.*({what})"):
        both.explore(Counter(), PLAN)


@pytest.mark.parametrize(
    ("reached", "deadlocks"),
    [({}, True), ({"is_two": 3}, True), ({"is_two": 2, "is_five": 2}, True), ({"is_two": 2}, False)],
)
def test_a_wrong_result_of_the_explorer_is_an_internal_error(monkeypatch, reached, deadlocks):
    explore = engine.explore

    def wrong(spec, plan):
        result = explore(spec, plan)
        result.reached = reached
        result.violations = [v for v in result.violations if deadlocks or v.kind != "deadlock"]
        return result

    monkeypatch.setattr(engine, "explore", wrong)
    with pytest.raises(both.EngineDisagreementError, match="the engines disagree on"):
        both.explore(Counter(), PLAN)


WEAK = Retry(batches=1).with_fairness({"deliver": "weak"})
ONE_LASSO = Plan(("is_done",), stop="all")


def test_liveness_is_compared_with_the_interpreter_and_with_z3():
    found = both.explore(WEAK, ONE_LASSO)
    note = "; liveness compared with the interpreter and z3's lassos of up to 10 states"
    assert found.engine == f"native{note}"
    assert [violation.length for violation in found.violations] == [2]
    assert both.explore(Retry(batches=1), Plan(("is_done", "none_lost"))).engine == f"native{note}"


def test_liveness_of_a_large_configuration_is_compared_with_z3(monkeypatch):
    monkeypatch.setattr(both, "MAX_LIVENESS_STATES", 3)
    found = both.explore(WEAK, ONE_LASSO)
    note = "; liveness compared with z3's lassos of up to 10 states, not compared with the interpreter (over 3 states)"
    assert found.engine == f"native{note}"
    monkeypatch.setattr(fair_steps, "MAX_INSTANCES", 2)
    note = "; liveness not compared with the interpreter (over 3 states) and z3 (the fair actions of"
    assert both.explore(WEAK, ONE_LASSO).engine.startswith(f"native{note}")


def test_a_time_limit_ends_the_comparison_with_z3(monkeypatch):
    monkeypatch.setattr(both, "LASSO_SECONDS", 0.0)
    assert both.explore(WEAK, ONE_LASSO).engine.endswith("and z3's lassos of up to 0 states")


def test_a_wrong_decision_of_the_interpreter_is_an_internal_error(monkeypatch):
    explore, holds = explorer.explore, Retry(batches=1)
    monkeypatch.setattr(explorer, "explore", lambda _, plan: explore(holds, plan))
    with pytest.raises(both.EngineDisagreementError, match="finds a counterexample of 2 states, the interpreter none"):
        both.explore(WEAK, ONE_LASSO)


def missed(result):
    result.violations = []


def misplaced(result):
    # The loop of the lasso is entered one state later: its stem is too long.
    (found,) = result.violations
    trace = (*found.trace, found.trace[2])
    result.violations = [lasso_violation(WEAK, "is_done", (found.bindings[0][1],), trace, 2)]


def unfair(result):
    (found,) = result.violations
    result.violations = [dataclasses.replace(found, trace=found.trace[:2])]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (missed, "the explorer finds none, Z3 a counterexample of 2 states"),
        (misplaced, "the explorer finds a counterexample of 3 states, Z3 a counterexample of 2 states"),
        (unfair, "the lasso of is_done of .* is wrong: .* it is not weakly fair to deliver"),
    ],
)
def test_a_wrong_lasso_of_the_explorer_is_an_internal_error(monkeypatch, change, words):
    monkeypatch.setattr(both, "MAX_LIVENESS_STATES", 0)

    def wrong(spec, plan):
        result = engine.explore(spec, plan)
        change(result)
        return result

    with pytest.raises(both.EngineDisagreementError, match=words):
        both.explore(WEAK, ONE_LASSO, wrong)


def test_a_missed_lasso_of_z3_is_an_internal_error(monkeypatch):
    monkeypatch.setattr(both, "MAX_LIVENESS_STATES", 0)
    shape = lassos._LassoPath.shape
    monkeypatch.setattr(
        lassos._LassoPath, "shape", lambda self, is_same: [*shape(self, is_same), self.starts_at(self.last)]
    )
    with pytest.raises(both.EngineDisagreementError, match="a counterexample of 2 states, Z3 none"):
        both.explore(WEAK, ONE_LASSO)
