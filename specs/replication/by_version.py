"""All rules of a Kafka version at one size: the properties that hold and those that fail."""

from checker.language import Scenario
from specs.replication.partition import Partition
from specs.replication.versions import KAFKA_0_10_2, KAFKA_0_11, KAFKA_2_0_1, KAFKA_2_1, KAFKA_2_7, KAFKA_3_0, KAFKA_4_1

SIZE = dict(replicas=2, max_records=3, max_partition_epoch=4, quick_restarts=True, preferred_elections=True) | dict(
    consumers=True, reads_from_followers=True, lagging=False
)
"""Two replicas, three leader epochs, one crash, preferred elections, a consumer that reads from any replica."""

PROMISES = [
    "no_acked_loss",
    "reads_are_stable",
    "strong_isr",
    "log_matching",
    "counted_followers_agree",
    "truncation_makes_progress",
]
GUARDS = ["record_is_acknowledged", "another_replica_leads", "everything_is_read"]


def version(name, rules, violates, description):
    """Return a version's scenario: it violates these properties, or all properties hold."""
    properties = list(violates) if violates else [*PROMISES, *GUARDS]
    return Scenario(
        Partition, name, SIZE | rules, expect=violates or "holds", properties=properties, description=description
    )


scenarios = [
    version(
        "kafka_0_10_2",
        KAFKA_0_10_2,
        dict(no_acked_loss=12, reads_are_stable=13, strong_isr=10, log_matching=13, counted_followers_agree=13),
        "Followers truncate to their high watermark.",
    ),
    version(
        "kafka_0_11",
        KAFKA_0_11,
        dict(reads_are_stable=16, strong_isr=14, log_matching=15, counted_followers_agree=14),
        "KIP-101: the leader answers for epochs that it never saw.",
    ),
    version("kafka_2_0_1", KAFKA_2_0_1, dict(strong_isr=14), "KIP-279: requests do not carry a leader epoch."),
    version("kafka_2_1", KAFKA_2_1, {}, "KIP-320: every request carries a leader epoch."),
    version(
        "kafka_2_7",
        KAFKA_2_7,
        dict(no_acked_loss=10, reads_are_stable=10, strong_isr=8, log_matching=9, counted_followers_agree=8),
        "Truncation on fetch, and a diverging fetch counts as progress (KAFKA-13141).",
    ),
    version(
        "kafka_3_0",
        KAFKA_3_0,
        dict(reads_are_stable=12, log_matching=11),
        "A follower adopts the high watermark before it truncates (KAFKA-14704).",
    ),
    version("kafka_4_1", KAFKA_4_1 | dict(max_broker_epoch=2), {}, "The rules of Kafka 4.1."),
]
