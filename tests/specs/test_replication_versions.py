"""The switches of replication by release follow the table of rules, and so do the bugs of the catalogue."""

import pytest

from checker.run import registry
from specs.kafka_releases import RELEASES
from specs.kafka_versions import catalogue_entry
from specs.replication.by_version import scenario_name
from specs.replication.partition import Partition
from specs.replication.versions import replication_rules

SUPPORTED = RELEASES[RELEASES.index("2.0.0") :]

FAULTY = {
    "R1": dict(truncation="high_watermark"),
    "R4": dict(epoch_on_election=False),
    "R5": dict(fences_fetches=False, fences_questions=False),
    "R6": dict(follows_by_leader_id=True),
    "R7": dict(joins_at_epoch_start=False),
    "R8": dict(counts_diverging_fetch=True, truncation="on_fetch"),
    "R9": dict(high_watermark_before_truncation=True, truncation="on_fetch"),
    "R10": dict(checks_broker_epochs=False),
    "R11": dict(eligible_leader_replicas=False),
    "R13": dict(strict_min_isr=False),
    "R14": dict(sends_lazily=True, refuses_newer_records=False),
    "R16": dict(forgets_first_epoch=True),
    "R20": dict(registration_leaves_isr=False),
    "KAFKA-10706": dict(truncates_cache_at_end=False),
    "KAFKA-15510": dict(forgets_last_epoch=True),
    "KAFKA-19522": dict(elects_fenced_last_leader=True),
    "KIP-841": dict(fenced_may_join=True),
}
"""The switches that are a bug of the catalogue."""


@pytest.mark.parametrize("entry", FAULTY)
def test_a_release_has_the_faulty_rules_of_its_bugs(entry):
    having = [release for release in SUPPORTED if FAULTY[entry].items() <= replication_rules(release).items()]
    assert having == [release for release in SUPPORTED if catalogue_entry(entry).exists_in(release)]


@pytest.mark.parametrize("entry", [name for name in FAULTY if "-" not in name])
def test_the_switches_are_those_of_the_catalogue(entry):
    """Each faulty rule of a bug is one of a scenario that shows it."""
    scenarios = [
        scenario
        for found in registry.load_family("replication").entries
        for scenario in found.scenarios
        if found.spec is Partition and scenario.name.startswith(f"{entry.lower()}_") and scenario.expect != "holds"
    ]
    found = [scenario.spec(**scenario.constants).constants.items() for scenario in scenarios]
    assert all(any(item in constants for constants in found) for item in FAULTY[entry].items())


def test_rules_are_constants_of_the_spec():
    defaults = Partition().constants
    assert all(name in defaults for name in replication_rules("4.4.0"))


def test_the_default_rules_are_those_of_4_0_1_except_where_a_switch_is_off_to_save_states():
    defaults, rules = Partition().constants, replication_rules("4.0.1")
    assert {name for name, value in rules.items() if defaults[name] != value} == {
        "answers_across_epochs",
        "controller",
        "elects_fenced_last_leader",
        "keeps_followers",
        "moves_epochs_without_records",
        "sends_lazily",
    }


def test_names_of_scenarios():
    names = {"0.10.2.0": "kafka_0_10_2", "0.11.0.0": "kafka_0_11", "2.8.0": "kafka_2_8", "3.9.1": "kafka_3_9_1"}
    assert {release: scenario_name(release) for release in names} == names
