"""Kafka's rules by release: where they begin, and what conflicts with idempotence."""

import pytest

from specs.kafka_versions import (
    ACKS_ALL_BY_DEFAULT,
    IDEMPOTENT_BY_DEFAULT,
    REFUSES_DEFAULT_IN_CONFLICT,
    Change,
    idempotence_conflicts,
    release_number,
)
from specs.producer.plain.configured import VERSIONS, ConfiguredProducer


@pytest.mark.parametrize(
    ("change", "releases"),
    [
        (ACKS_ALL_BY_DEFAULT, ["3.0.0", "3.0.1", "3.1.0", "3.1.1", "3.2.0", "4.0"]),
        (IDEMPOTENT_BY_DEFAULT, ["3.0.1", "3.1.1", "3.2.0", "4.0"]),
        (REFUSES_DEFAULT_IN_CONFLICT, ["4.0"]),
    ],
    ids=lambda value: value.ticket if isinstance(value, Change) else None,
)
def test_releases_that_have_a_change(change, releases):
    """3.0.0 and 3.1.0 declare idempotence by default and leave it off (KAFKA-13598)."""
    assert [version for version in VERSIONS if change.applies_to(version)] == releases


def test_a_patch_release_is_later_than_its_minor_release():
    assert release_number("3.0") == release_number("3.0.0") < release_number("3.0.1") < release_number("3.10")


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
