"""Kafka's rules by release: where they begin, which bugs they open and close, what conflicts with idempotence.

tests/golden/kafka_changes.json has the evidence; `test_kafka_changes` compares the table with it.
"""

import re

import pytest

from specs.kafka_releases import RELEASES, describe_releases, find_release, release_line, release_number
from specs.kafka_versions import (
    ACKS_ALL_BY_DEFAULT,
    CHANGES,
    IDEMPOTENT_BY_DEFAULT,
    REFUSES_DEFAULT_IN_CONFLICT,
    Change,
    catalogue_entry,
    controller_modes,
    fixed_bugs,
    idempotence_conflicts,
)
from specs.producer.plain.configured import VERSIONS, ConfiguredProducer


@pytest.mark.parametrize(
    ("change", "releases"),
    [
        (ACKS_ALL_BY_DEFAULT, "3.0.0 to 4.4.0"),
        (IDEMPOTENT_BY_DEFAULT, "3.0.1 to 3.0.2, 3.1.1 to 4.4.0"),
        (REFUSES_DEFAULT_IN_CONFLICT, "4.0.0 to 4.4.0"),
    ],
    ids=lambda value: value.ticket if isinstance(value, Change) else None,
)
def test_releases_that_have_a_change(change, releases):
    """3.0.0 and 3.1.0 declare idempotence by default and leave it off (KAFKA-13598)."""
    assert describe_releases([version for version in VERSIONS if change.applies_to(version)]) == releases


def test_a_patch_release_is_later_than_its_minor_release():
    assert release_number("3.0") == release_number("3.0.0") < release_number("3.0.1") < release_number("3.10")


def test_releases_are_in_order():
    numbers = [release_number(release) for release in RELEASES]
    assert numbers == sorted(set(numbers))


def test_a_line_begins_with_its_first_release():
    """Patch levels count up from 0 without a gap: a missing release would be called unknown."""
    for line in {release_line(release) for release in RELEASES}:
        numbers = [release_number(release) for release in RELEASES if release_line(release) == line]
        patches = [number[3] if len(line) == 3 else number[2] for number in numbers]
        assert patches == list(range(len(patches)))


@pytest.mark.parametrize("version", ["", "3", "3.x", "3.7.0.0.0", "3.7.", "-1.0"])
def test_what_is_not_a_version(version):
    with pytest.raises(ValueError, match="is not a version"):
        find_release(version)


def test_ranges_of_releases():
    assert describe_releases(["3.0.0", "2.8.2", "3.0.2", "2.8.1"]) == "2.8.1 to 3.0.0, 3.0.2"


def test_every_change_is_described():
    parts = {"producer", "consumer", "broker", "controller", "connect", "streams"}
    parts |= {"producer and broker", "consumer and broker", "broker and controller"}
    for name, change in CHANGES.items():
        assert re.fullmatch(r"(KIP|KAFKA)-\d+(, part \d)?", change.ticket), name
        assert change.since in RELEASES or release_number(change.since) > release_number(RELEASES[-1]), name
        assert set(change.backports) <= set(RELEASES), name
        assert all(release_number(patch) < release_number(change.since) for patch in change.backports), name
        assert all(release_line(patch) != release_line(change.since) for patch in change.backports), name
        assert change.concerns in parts, name


def test_a_change_reaches_later_patches_of_its_branches_alone():
    change = Change("", "KAFKA-1", "3.9.1", backports=("3.7.2",))
    assert [
        version for version in ("3.7.1", "3.7.2", "3.8.1", "3.9.0", "3.9.2", "4.0.0") if change.applies_to(version)
    ] == [
        "3.7.2",
        "3.9.2",
        "4.0.0",
    ]


@pytest.mark.parametrize(
    ("name", "releases"),
    [
        ("R4", "0.11.0.0 to 2.0.0"),
        ("R8", "2.8.0"),
        ("R14", "0.10.0.0 to 3.9.0, 4.0.0"),
        ("KAFKA-19522", "4.0.0 to 4.0.2"),
        ("P10", "3.0.0, 3.1.0"),
        ("P13", "2.8.0 to 3.9.1, 4.0.0 to 4.0.1, 4.1.0 to 4.1.1"),
        ("C5", "2.4.0 to 2.8.2"),
        ("I2", "2.5.0 to 4.4.0"),
        ("I7", "2.5.0 to 4.4.0"),
    ],
)
def test_releases_that_have_a_bug(name, releases):
    assert describe_releases(catalogue_entry(name).releases) == releases


def test_fixed_bugs_name_each_branch():
    entries = {entry.name: entry for entry in fixed_bugs("2.8.0")}
    assert entries["R8"].fixed_in == ["2.7.2", "2.8.1", "3.0.0"]
    assert "I2" not in entries
    assert "R7" not in entries


@pytest.mark.parametrize("settings", [("0", None, None), ("1", None, None), (None, 0, None), (None, None, 6)])
def test_conflicts_are_those_of_the_configured_producer(settings):
    acks, retries, in_flight = settings
    given = dict(acks=acks, retries=retries, max_in_flight=in_flight)
    spec = ConfiguredProducer(**{name: value for name, value in given.items() if value is not None})
    assert len(idempotence_conflicts(*settings)) == 1
    with spec.bound():
        assert spec.conflicts()


@pytest.mark.parametrize("settings", [(None, None, None), ("all", 1, 5)])
def test_settings_without_conflict(settings):
    assert idempotence_conflicts(*settings) == []


@pytest.mark.parametrize(
    ("name", "releases", "fixes"),
    [
        ("R10", "0.10.0.0 to 3.4.1, with ZooKeeper 3.5.0 to 3.9.2", "4.0.0, with KRaft 3.5.0"),
        ("KIP-841", "0.10.0.0 to 3.2.3", "3.3.0"),
        ("R24", "2.1.0 to 2.3.1", "2.4.0"),
        ("C8", "with KRaft 3.7.0 to 3.7.2", "3.8.0"),
        ("C10", "4.0.0 to 4.4.0, with KRaft 3.7.0 to 3.9.2", ""),
    ],
)
def test_bugs_of_one_controller_mode(name, releases, fixes):
    """KIP-903 and the consumer protocol need KRaft; KAFKA-14140 did KIP-841 for ZooKeeper in the same release."""
    entry = catalogue_entry(name)
    assert (entry.description_of_releases, entry.description_of_fixes) == (releases, fixes)


def test_controller_modes():
    modes = {release: controller_modes(release) for release in ("3.2.3", "3.3.0", "3.9.2", "4.0.0")}
    assert modes == {
        "3.2.3": ("zookeeper",),
        "3.3.0": ("zookeeper", "kraft"),
        "3.9.2": ("zookeeper", "kraft"),
        "4.0.0": ("kraft",),
    }


def test_a_change_that_needs_kraft_is_in_no_release_without_it():
    """Every change of the controllers and of the consumer protocol from 3.3 on says whether it needs KRaft."""
    both = [release for release in RELEASES if len(controller_modes(release)) > 1]
    needing = {
        name
        for name, change in CHANGES.items()
        if any(change.applies_to(release, "kraft") and not change.applies_to(release, "zookeeper") for release in both)
    }
    assert needing == {
        "CHECKS_BROKER_EPOCHS",
        "CONSUMER_PROTOCOL_EARLY_ACCESS",
        "PARTITION_EPOCHS_SURVIVE",
        "REPORT_FREES_PARTITIONS",
        "RETRIES_WITH_LATEST_POSITION",
        "SHRINK_KEEPS_LEADER_EPOCH",
    }
    assert all(not change.applies_to("3.2.3") for change in CHANGES.values() if change.controller == "kraft")


def test_fixed_bugs_of_one_controller_mode():
    names = {mode: {entry.name for entry in fixed_bugs("3.7.0", mode)} for mode in controller_modes("3.7.0")}
    assert names["zookeeper"] - names["kraft"] == {"R10"}
    assert names["kraft"] - names["zookeeper"] == {"C8", "C9", "C12", "C13"}
