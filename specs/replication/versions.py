"""The rules of replication by Kafka version: values for the constants of `switches`.

Each version extends the one before it; the default of every switch is the rule of Kafka 4.0.
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
"""KAFKA-7415: an epoch begins with the election. KAFKA-7164: a follower truncates in every new epoch."""

KAFKA_2_1 = KAFKA_2_0_1 | dict(fences_fetches=True, fences_questions=True, joins_at_epoch_start=True)
"""KIP-320: requests carry the leader epoch. KAFKA-7128: a replica in the ISR has the log of the epoch's start."""

KAFKA_2_7 = KAFKA_2_1 | dict(
    truncation="on_fetch",
    truncates_cache_at_end=True,
    counts_diverging_fetch=True,
    high_watermark_before_truncation=True,
)
"""Truncation on fetch (KIP-595), with two bugs that it introduced. KAFKA-10706."""

KAFKA_3_0 = KAFKA_2_7 | dict(counts_diverging_fetch=False)
"""KAFKA-13141: a diverging fetch does not count as progress."""

KAFKA_3_3 = KAFKA_3_0 | dict(fenced_may_join=False)
"""KIP-841: a fenced replica does not join the ISR."""

KAFKA_3_5 = KAFKA_3_3 | dict(checks_broker_epochs=True, high_watermark_before_truncation=False)
"""KIP-903: a broker joins the ISR only with the broker epoch of its fetch. KAFKA-14704."""

KAFKA_3_7 = KAFKA_3_5 | dict(strict_min_isr=True)
"""KAFKA-15583: the high watermark waits for min.insync.replicas."""

KAFKA_4_1 = KAFKA_3_7 | dict(refuses_newer_records=True, eligible_leader_replicas=True)
"""KAFKA-18723 (4.0). KIP-966: eligible leader replicas, on by default for new clusters; an option in 4.0."""
