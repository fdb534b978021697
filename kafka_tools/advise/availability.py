"""Whether writes succeed while brokers are down."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_tools.advise.cluster import ClusterConfig
from kafka_tools.advise.effective_config import EffectiveConfig
from specs.kafka_versions import MIN_ISR_CAPPED


@dataclass(frozen=True)
class Availability:
    """Whether writes can succeed while one broker is down, and while two brokers are down."""

    with_one_down: bool
    with_two_down: bool


def availability_of(cluster: ClusterConfig, config: EffectiveConfig) -> Availability:
    """Return the availability of a cluster.

    A leader needs one broker, `acks=all` needs min.insync.replicas of them. Source: Partition.appendRecordsToLeader.
    """
    replicas, needed = int(config["replication.factor"]), 1
    if config["acks"] == "all":
        needed = int(config["min.insync.replicas"])
        if MIN_ISR_CAPPED.applies_to(cluster.version):
            needed = min(needed, replicas)
    return Availability(replicas - 1 >= needed, replicas - 2 >= needed)
