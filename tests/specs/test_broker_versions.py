"""The broker's rules by version: the values that the table of releases gives, and where scenarios use them."""

import pytest

from checker.run import registry
from specs.broker.producer_state import ProducerState
from specs.broker.versions import KAFKA_1_0, KAFKA_1_1, KAFKA_2_5, KAFKA_4_5, producer_state

NOT_RELEASED = {"never_held"}
"""The values of `no_state` that no released broker has; 4.4 is the last release."""


@pytest.mark.parametrize(
    ("releases", "cache_size", "no_state", "old_sequence"),
    [
        (("0.11",), 1, "full", "out_of_order"),
        (("1.0", "1.0.1"), 5, "unknown_producer_id", "duplicate"),
        (("1.0.2", "1.1", "2.0", "2.1", "2.4", "2.4.1"), 5, "unknown_producer_id", "out_of_order"),
        (("2.5", "2.5.1", "2.8", "3.0", "3.9.1", "4.0", "4.1", "4.2", "4.3.1", "4.4"), 5, "any", "out_of_order"),
        (("4.5",), 5, "never_held", "out_of_order"),
    ],
)
def test_rules_of_a_release(releases, cache_size, no_state, old_sequence):
    """ProducerStateEntry, ProducerAppendInfo.checkSequence and ProducerStateManager of these releases."""
    expected = dict(cache_size=cache_size, no_state=no_state, old_sequence=old_sequence)
    assert [producer_state(release) for release in releases] == [expected] * len(releases)


def test_constants_are_those_of_their_release():
    assert [producer_state(v) for v in ("1.0", "1.1", "4.4", "4.5")] == [KAFKA_1_0, KAFKA_1_1, KAFKA_2_5, KAFKA_4_5]


def test_defaults_are_the_rules_of_the_last_release():
    defaults = {name: ProducerState.declared_constants[name].default for name in producer_state("4.4")}
    assert defaults == producer_state("4.4")


def test_scenarios_with_an_unreleased_rule_say_so():
    scenarios = [
        scenario
        for family in registry.families()
        for entry in family.entries
        for scenario in entry.scenarios
        if entry.spec(**scenario.constants).constants.get("no_state") in NOT_RELEASED
    ]
    assert scenarios
    assert all("unreleased" in scenario.description for scenario in scenarios)
