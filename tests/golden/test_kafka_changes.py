"""The table of rules by release agrees with the history and the jars of Apache Kafka.

`kafka_changes.json` is the evidence; `collect_kafka_changes.py` collected it and describes how.
"""

import json
from pathlib import Path

from specs.kafka_releases import RELEASES
from specs.kafka_versions import CHANGES

EVIDENCE = json.loads((Path(__file__).parent / "kafka_changes.json").read_text())


def test_every_change_has_evidence():
    assert EVIDENCE.keys() == CHANGES.keys()


def test_the_table_agrees_with_the_evidence():
    for name, change in CHANGES.items():
        has, lacks = EVIDENCE[name]["with"], EVIDENCE[name]["without"]
        examined = [release for release in RELEASES if release in {*has, *lacks}]
        assert [release for release in examined if release in change.releases] == has, name
        # The first releases and one before them were examined.
        assert {first for first in (change.since, *change.backports) if first in RELEASES} <= set(has), name
        assert lacks or change.releases == list(RELEASES), name
