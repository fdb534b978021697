"""The rules of a release lose or take back a record only where an entry of the catalogue says so for its events."""

import pytest

from checker.engines.native.engine import explore
from checker.run.plan import Plan
from specs.hazards import known_hazards
from specs.kafka_versions import controller_modes
from specs.replication.by_version import TWO_REPLICAS
from specs.replication.partition import Partition
from specs.replication.versions import replication_rules

RELEASES = ["0.10.2.0", "0.11.0.0", "2.0.1", "2.1.1", "2.8.0", "2.8.1", "3.7.0", "4.4.0"]
EVENTS = {
    "leader-change": dict(crashes=0, max_leader_epoch=1),
    "leader-changes": dict(crashes=0),
    "crash": dict(crashes=1, preferred_elections=False),
    "crash-and-leader-change": dict(crashes=1, max_leader_epoch=1),
    "two-crashes": dict(crashes=2, preferred_elections=False, max_partition_epoch=5),
}
OUTCOMES = {"no_acked_loss": "loss", "reads_are_stable": "vanishing-reads"}
LEADER_ALONE = TWO_REPLICAS | dict(reads_from_followers=False)


@pytest.mark.slow
@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize(
    ("release", "controller"), [(release, mode) for release in RELEASES for mode in controller_modes(release)]
)
def test_a_release_has_an_entry_for_every_loss(release, controller, event):
    spec = Partition(**LEADER_ALONE | replication_rules(release, controller) | EVENTS[event])
    result = explore(spec, Plan(tuple(OUTCOMES), stop="all", quick=True))
    assert result.ended == "complete"
    config = {"acks": "all", "replication.factor": "2", "min.insync.replicas": "1", "controller": controller}
    for violation in result.violations:
        assert known_hazards(release, config, OUTCOMES[violation.property], frozenset({event}))
