"""The table of rules by release agrees with the history and the jars of Apache Kafka.

`kafka_changes.json` is the evidence; `collect_kafka_changes.py` collected it and describes how.
"""

import json
from pathlib import Path

import pytest

from specs.kafka_releases import RELEASES
from specs.kafka_versions import CHANGES

EVIDENCE = json.loads((Path(__file__).parent / "kafka_changes.json").read_text())


def test_every_change_has_evidence():
    assert EVIDENCE.keys() == CHANGES.keys()


@pytest.mark.parametrize("name", CHANGES)
def test_the_table_agrees_with_the_evidence(name):
    found = EVIDENCE[name]
    releases = CHANGES[name].releases
    examined = [release for release in RELEASES if release in {*found["with"], *found["without"]}]
    assert [release for release in examined if release in releases] == found["with"]


@pytest.mark.parametrize("name", CHANGES)
def test_the_first_releases_and_one_before_were_examined(name):
    change, found = CHANGES[name], EVIDENCE[name]
    assert {first for first in (change.since, *change.backports) if first in RELEASES} <= set(found["with"])
    assert found["without"] or change.releases == list(RELEASES)
