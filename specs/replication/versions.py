"""The rules of replication by Kafka version: values for the switches of `Partition`.

Each version is the one before it with what changed; the default of every switch is what Kafka 4.0 does.
"""

KAFKA_0_10_2 = dict(
    truncation="high_watermark",
    epoch_on_election=False,
    truncates_cache_at_end=False,
    follows_by_leader_id=True,
    fences_fetches=False,
    fences_questions=False,
    joins_at_epoch_start=False,
    fenced_may_join=True,
    checks_broker_epochs=False,
    strict_min_isr=False,
    refuses_newer_records=False,
)
"""Followers truncate to their high watermark."""

KAFKA_0_11 = KAFKA_0_10_2 | dict(truncation="kip101")
"""KIP-101: followers truncate to the end of their last epoch."""

KAFKA_2_0 = KAFKA_0_11 | dict(truncation="kip279")
"""KIP-279: the answer names the epoch too."""

KAFKA_2_0_1 = KAFKA_2_0 | dict(epoch_on_election=True, follows_by_leader_id=False)
"""KAFKA-7415: an epoch begins with the election. KAFKA-7164: a new epoch is a reason to truncate."""

KAFKA_2_1 = KAFKA_2_0_1 | dict(fences_fetches=True, fences_questions=True, joins_at_epoch_start=True)
"""KIP-320: requests carry the leader epoch. KAFKA-7128: who joins the ISR has what the leader began with."""

KAFKA_2_7 = KAFKA_2_1 | dict(
    truncation="on_fetch",
    truncates_cache_at_end=True,
    counts_diverging_fetch=True,
    high_watermark_before_truncation=True,
)
"""Truncation on fetch (KIP-595), with the faults that it came with. KAFKA-10706."""

KAFKA_3_0 = KAFKA_2_7 | dict(counts_diverging_fetch=False)
"""KAFKA-13141: a diverging fetch is no progress."""

KAFKA_3_3 = KAFKA_3_0 | dict(fenced_may_join=False)
"""KIP-841: who is fenced does not join the ISR."""

KAFKA_3_5 = KAFKA_3_3 | dict(checks_broker_epochs=True, high_watermark_before_truncation=False)
"""KIP-903: the ISR takes in a broker with the epoch that it fetched with. KAFKA-14704."""

KAFKA_3_7 = KAFKA_3_5 | dict(strict_min_isr=True)
"""KAFKA-15583: below min.insync.replicas the high watermark waits."""

KAFKA_4_1 = KAFKA_3_7 | dict(refuses_newer_records=True, eligible_leader_replicas=True)
"""KAFKA-18723 (4.0). KIP-966: eligible leader replicas, on by default for new clusters, an option in 4.0."""
