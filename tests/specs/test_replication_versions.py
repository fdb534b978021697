"""The switches of replication by release follow the table of rules, and so do the bugs of the catalogue."""

import pytest

from checker.language import SpecError
from checker.run import registry
from specs.kafka_releases import RELEASES, release_number
from specs.kafka_versions import CONTROLLER_NAMES, KRAFT, ZOOKEEPER, catalogue_entry, controller_modes
from specs.replication.by_version import scenario_name
from specs.replication.partition import Partition
from specs.replication.versions import replication_rules

SUPPORTED = [
    (release, controller) for release in RELEASES[RELEASES.index("2.0.0") :] for controller in controller_modes(release)
]

FAULTY = {
    "R1": dict(truncation="high_watermark"),
    "R4": dict(epoch_on_election=False),
    "R5": dict(fences_fetches=False, fences_questions=False),
    "R6": dict(follows_by_leader_id=True),
    "R7": dict(joins_at_epoch_start=False),
    "R8": dict(counts_diverging_fetch=True, truncation="on_fetch"),
    "R9": dict(high_watermark_before_truncation=True, truncation="on_fetch"),
    "R10": dict(checks_broker_epochs=False),
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
    having = [mode for mode in SUPPORTED if FAULTY[entry].items() <= replication_rules(*mode).items()]
    assert having == [mode for mode in SUPPORTED if catalogue_entry(entry).exists_in(*mode)]


MODES_DIFFER_BY = {
    release: ["checks_broker_epochs"] if release_number(release) >= release_number("3.5.0") else []
    for release in RELEASES
    if len(controller_modes(release)) > 1
}


def test_the_modes_of_a_release_differ_by_kip_903_alone():
    """Every other rule with a release from 3.3 to 3.9 is in code that both controllers share, or in both of them."""
    for release, names in MODES_DIFFER_BY.items():
        zookeeper, kraft = (replication_rules(release, controller) for controller in CONTROLLER_NAMES)
        assert {name for name in kraft if kraft[name] != zookeeper[name]} == {"controller", *names}, release


@pytest.mark.parametrize(("release", "controller"), [("3.2.3", KRAFT), ("2.8.0", KRAFT), ("4.0.0", ZOOKEEPER)])
def test_a_release_has_no_rules_in_a_mode_that_it_lacks(release, controller):
    with pytest.raises(ValueError, match=f"Kafka {release} runs with .*, not with {controller}"):
        replication_rules(release, controller)


@pytest.mark.parametrize(("release", "assumed"), [("3.2.3", ZOOKEEPER), ("3.7.0", ZOOKEEPER), ("4.0.0", KRAFT)])
def test_the_mode_of_rules_without_one(release, assumed):
    assert replication_rules(release) == replication_rules(release, assumed)


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
        "checks_broker_epochs",
        "controller",
        "elects_fenced_last_leader",
        "keeps_followers",
        "moves_epochs_without_records",
        "sends_lazily",
    }


def test_names_of_scenarios():
    names = {"0.10.2.0": "kafka_0_10_2", "0.11.0.0": "kafka_0_11", "2.8.0": "kafka_2_8", "4.0.1": "kafka_4_0_1"}
    assert {release: scenario_name(release) for release in names} == names
    assert scenario_name("3.9.1", KRAFT) == "kafka_3_9_1_kraft"
    with pytest.raises(ValueError, match="which one"):
        scenario_name("3.9.1")


def test_registrations_are_counted_where_they_are_checked():
    """The switch never has no effect: there are as many broker epochs as restarts, and fewer are refused."""
    failures = dict(crashes=2, power_failures=1, shutdowns=1)
    Partition(**failures, checks_broker_epochs=True, max_broker_epoch=4)
    with pytest.raises(SpecError, match="every_registration_has_a_broker_epoch"):
        Partition(**failures, checks_broker_epochs=True, max_broker_epoch=3)
