"""The small scenarios of the client and broker families, by the interpreter.

`python -m checker run` checks all scenarios with the native engine.
"""

from pathlib import Path

import pytest

from checker.run import ledger, registry
from checker.testing import SpecChecks

FAMILIES = ("broker", "consumer", "producer")
MAX_STATES, MAX_LENGTH = 500, 10
"""Bounds of a small scenario: distinct states if it holds, states of the longest counterexample if not."""

RECORDS = ledger.read(Path(__file__).parents[2] / "specs" / "ledger.toml")


def is_small(name):
    """Return whether the interpreter needs less than about a second for a scenario."""
    record = RECORDS[name]
    lengths = [length for length in record.violations.values() if isinstance(length, int)]
    return max(lengths) <= MAX_LENGTH if lengths else (record.distinct_states or 0) <= MAX_STATES


SCENARIOS = {
    f"{entry.name}/{scenario.name}": scenario
    for family in FAMILIES
    for entry in registry.load_family(family).entries
    for scenario in entry.scenarios
}


def test_scenarios_have_distinct_names():
    entries = [entry for family in FAMILIES for entry in registry.load_family(family).entries]
    assert len(SCENARIOS) == sum(len(entry.scenarios) for entry in entries)


@pytest.mark.parametrize("name", [name for name in SCENARIOS if is_small(name)])
def test_scenario_has_its_expected_verdict(name):
    SpecChecks(engine="python").check_scenario(SCENARIOS[name], name)
