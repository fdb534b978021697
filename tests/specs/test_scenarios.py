"""The small scenarios of the client and broker families, by the interpreter.

The usual suite takes the smallest one of each spec, expectation and set of violated properties, unless that is large;
the slow tests take the others. `python -m checker run` checks all scenarios with the native engine.
"""

from pathlib import Path

import pytest

from checker.run import ledger, registry
from checker.testing import SpecChecks

FAMILIES = ("broker", "consumer", "producer")
MAX_STATES, MAX_LENGTH = 500, 10
"""Bounds of a small scenario: distinct states if it holds, states of the longest counterexample if not."""
MAX_USUAL_STATES, MAX_USUAL_LENGTH = 200, 8
"""Bounds of both for the usual suite: a violation of liveness is found after all states."""

RECORDS = ledger.read(Path(__file__).parents[2] / "specs" / "ledger.toml")


def size_of(name):
    """Return the length of the longest counterexample of a scenario, 0 if there is none, and its distinct states."""
    record = RECORDS[name]
    lengths = [length for length in record.violations.values() if isinstance(length, int)]
    return max(lengths, default=0), record.distinct_states or 0


def is_small(name):
    """Return whether the interpreter needs less than about a second for a scenario."""
    length, states = size_of(name)
    return length <= MAX_LENGTH if length else states <= MAX_STATES


def is_usual(name):
    length, states = size_of(name)
    return length <= MAX_USUAL_LENGTH and states <= MAX_USUAL_STATES


def small_scenarios():
    """Return the small scenarios as parameters of a test."""
    smallest = {}
    for name in sorted(filter(is_small, SCENARIOS), key=size_of):
        entry, _, _ = name.rpartition("/")
        outcome = entry, str(SCENARIOS[name].expect), frozenset(RECORDS[name].violations)
        smallest.setdefault(outcome, name)
    usual = {name for name in smallest.values() if is_usual(name)}
    return [pytest.param(name, marks=() if name in usual else pytest.mark.slow) for name in SCENARIOS if is_small(name)]


SCENARIOS = {
    f"{entry.name}/{scenario.name}": scenario
    for family in FAMILIES
    for entry in registry.load_family(family).entries
    for scenario in entry.scenarios
}


def test_scenarios_have_distinct_names():
    entries = [entry for family in FAMILIES for entry in registry.load_family(family).entries]
    assert len(SCENARIOS) == sum(len(entry.scenarios) for entry in entries)


@pytest.mark.parametrize("name", small_scenarios())
def test_scenario_has_its_expected_verdict(name):
    SpecChecks(engine="python").check_scenario(SCENARIOS[name], name)
