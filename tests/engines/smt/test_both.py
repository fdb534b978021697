"""Engine `both`: explorer and Z3 agree on all small scenarios: verdicts, lengths, reachables and deadlocks."""

import pytest
from liveness_toys import Retry

from checker.engines import both
from checker.engines.native import engine
from checker.engines.python import explorer
from checker.engines.smt.lowering.expressions import SymbolicExpressions
from checker.engines.smt.lowering.statements import SymbolicStatements
from checker.language import Range, Spec, action, invariant, reachable, require
from checker.run import registry
from checker.run.expectation import checked_properties, stop_for
from checker.run.ledger import NEVER, default_path, read
from checker.run.plan import Plan

TINY = dict(max_states=30, longest=2)
SMALL = dict(max_states=100, longest=5)
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


SCENARIOS = [
    pytest.param(scenario, id=name, marks=() if fits(name, **TINY) else pytest.mark.slow)
    for family in registry.families()
    for entry in family.entries
    for scenario in entry.scenarios
    if fits(name := f"{entry.name}/{scenario.name}", **SMALL)
]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_engines_agree_on_small_scenarios(scenario, monkeypatch):
    monkeypatch.setattr(both, "TOTAL_SECONDS", SECONDS)
    names = checked_properties(scenario)
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
    with pytest.raises(both.EngineDisagreementError, match=f"internal error: .*({what})"):
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
    with pytest.raises(both.EngineDisagreementError, match="internal error"):
        both.explore(Counter(), PLAN)


def test_the_interpreter_decides_liveness_again(monkeypatch):
    spec = Retry(batches=1).with_fairness({"deliver": "weak"})
    plan = Plan(("is_done",), stop="all")
    found = both.explore(spec, plan)
    assert found.engine.endswith("; liveness compared with the interpreter")
    assert [violation.length for violation in found.violations] == [2]
    holds = Retry(batches=1)
    monkeypatch.setattr(explorer, "explore", lambda _, plan: engine.explore(holds, plan))
    with pytest.raises(both.EngineDisagreementError, match="finds a counterexample of 2 states, the interpreter none"):
        both.explore(spec, plan)


def test_liveness_of_a_large_configuration_is_not_compared(monkeypatch):
    monkeypatch.setattr(both, "MAX_LIVENESS_STATES", 3)
    assert both.explore(Retry(batches=1), Plan(("is_done",))).engine.endswith("; too large to compare liveness")
