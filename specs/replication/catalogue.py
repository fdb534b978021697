"""Faults of replication that Kafka has had, each beside its repair; docs/replication-messages.md tells their stories.

Every other rule is today's, so that what fails, fails by this one; `versions` has the rules as they were together.
"""

from checker.language import Scenario
from specs.replication.partition import Partition

SMALL = dict(replicas=2, log_size=1, max_records=1, max_leader_epoch=1, lagging=False)
RESTARTS = dict(SMALL, crashes=2, quick_restarts=True)
RESTARTS_LARGER = dict(RESTARTS, log_size=2, max_records=2, max_leader_epoch=2, max_partition_epoch=4)
ELECTIONS = dict(crashes=0, preferred_elections=True, late_requests=False)
"""The leadership moves though nobody fails, and nobody hears of a fetch late: the shortest stories, in their order."""

DIVERGENCE = ["counted_followers_agree", "truncation_makes_progress", "leader_is_not_fenced", "another_replica_leads"]
"""What holds even where records are lost: by unclean elections, or with the power of everybody who had them."""


def entry(name, faulty, fixed, size, larger, violates, description, promises=None):
    """Return the scenarios of a fault: the faulty rule, and the fixed one at the same size and at a larger one."""
    mended = f"Mended: {description}"
    found = [
        Scenario(Partition, name, size | faulty, expect=violates, properties=list(violates), description=description),
        Scenario(Partition, f"{name}_fixed", size | fixed, properties=promises, description=mended),
    ]
    if larger is not None:
        found.append(
            Scenario(Partition, f"{name}_fixed_larger", larger | fixed, properties=promises, description=mended)
        )
    return found


truncation = [
    *entry(
        "r1_truncate_to_high_watermark",
        dict(truncation="high_watermark"),
        dict(truncation="kip101"),
        RESTARTS,
        RESTARTS_LARGER,
        {"no_acked_loss": 13},
        "KIP-101, first scenario: a follower whose high watermark is one fetch late restarts, truncates, and leads.",
    ),
    *entry(
        "r2_divergence_after_power_failure",
        dict(truncation="high_watermark"),
        dict(truncation="kip101"),
        dict(SMALL, max_records=2, max_leader_epoch=2, max_partition_epoch=3, power_failures=1),
        dict(SMALL, log_size=2, max_records=2, max_leader_epoch=2, max_partition_epoch=4, power_failures=2, crashes=2),
        {"counted_followers_agree": 19},
        "KIP-101, second scenario: one broker loses its page cache and leads; the other keeps its log.",
        promises=DIVERGENCE,
    ),
    *entry(
        "r3_fast_elections",
        dict(truncation="kip101"),
        dict(truncation="kip279"),
        dict(replicas=2, max_records=3, max_partition_epoch=5, crashes=2, unclean_elections=True, late_requests=False),
        dict(replicas=2, log_size=3, max_records=3, max_leader_epoch=3, max_partition_epoch=6, crashes=3)
        | dict(unclean_elections=True, late_requests=False),
        {"counted_followers_agree": 18},
        "KIP-279: the leader never had the follower's epoch; the next one begins past the record that differs.",
        promises=DIVERGENCE,
    ),
    *entry(
        "r4_no_epoch_on_election",
        dict(truncation="kip279", epoch_on_election=False),
        dict(truncation="kip279"),
        dict(ELECTIONS, replicas=2, max_leader_epoch=3, max_partition_epoch=3, lagging=False),
        dict(ELECTIONS, replicas=2, max_records=3, max_leader_epoch=4, max_partition_epoch=4, lagging=False),
        {"no_acked_loss": 18},
        "KAFKA-7415: a leader that has written nothing has no newer epoch, and its follower loses what is committed.",
    ),
    Scenario(
        Partition,
        "r4_divergence",
        dict(replicas=2, log_size=1, max_leader_epoch=2, max_partition_epoch=5, crashes=2, unclean_elections=True)
        | dict(truncation="kip279", epoch_on_election=False, late_requests=False, starts_in_sync=False, acks="1"),
        expect={"counted_followers_agree": 14},
        properties=["counted_followers_agree"],
        description="KAFKA-7415 after an unclean election: asked before it writes, the leader does not know.",
    ),
    *entry(
        "r4_cache_is_not_truncated",
        dict(truncates_cache_at_end=False),
        {},
        SMALL | dict(ELECTIONS, max_leader_epoch=2),
        None,
        {"truncation_makes_progress": 10},
        "KAFKA-10706: the log is not too long, its last epoch is: the follower is told to truncate again and again.",
    ),
    *entry(
        "r6_same_leader_id",
        dict(truncation="kip279", follows_by_leader_id=True),
        dict(truncation="kip279"),
        dict(ELECTIONS, replicas=3, log_size=1, lagging=False),
        dict(ELECTIONS, replicas=3, log_size=1, max_leader_epoch=3, max_partition_epoch=3, lagging=False),
        {"counted_followers_agree": 17},
        "KAFKA-7164: a follower misses an epoch; it knows the leader of the next one already, and does not truncate.",
    ),
    *entry(
        "r16_forgets_epoch_zero",
        dict(forgets_first_epoch=True),
        {},
        RESTARTS,
        RESTARTS_LARGER | dict(late_checkpoints=True),
        {"no_acked_loss": 13},
        "KAFKA-10432: recovery leaves epoch 0 out of the cache, and the follower truncates to its high watermark.",
    ),
    Scenario(
        Partition,
        "r16_forgets_last_epoch",
        RESTARTS_LARGER | dict(preferred_elections=True, forgets_last_epoch=True),
        description="KAFKA-15510: an empty answer makes the follower forget its last epoch: no harm by itself.",
    ),
]

fetches = [
    *entry(
        "r5_zombie_follower",
        dict(truncation="kip279", fences_fetches=False),
        dict(truncation="kip279"),
        dict(ELECTIONS, replicas=3, log_size=1, max_partition_epoch=3, crashes=1, lagging=False),
        dict(ELECTIONS, replicas=3, log_size=1, max_records=3, max_partition_epoch=3, crashes=1, lagging=False),
        {"strong_isr": 17},
        "KIP-320: a follower that is two epochs behind fetches from the old leader, who leads again.",
    ),
    Scenario(
        Partition,
        "r5_question_without_epoch",
        dict(ELECTIONS, replicas=3, log_size=1, max_partition_epoch=3, crashes=1, lagging=False)
        | dict(truncation="kip279", fences_questions=False),
        expect={"strong_isr": 17},
        properties=["strong_isr"],
        description="KIP-320: a follower asks where to truncate before its leader knows that it leads.",
    ),
    *entry(
        "r7_joins_at_lagging_high_watermark",
        dict(truncation="kip279", joins_at_epoch_start=False),
        dict(truncation="kip279"),
        dict(ELECTIONS, replicas=3, log_size=1, max_records=1, max_partition_epoch=4),
        dict(ELECTIONS, replicas=3, log_size=1, max_records=2, max_partition_epoch=4),
        {"no_acked_loss": 18},
        "KAFKA-7128: a new leader's high watermark is behind, and a follower without what is committed joins the ISR.",
    ),
    *entry(
        "r8_counts_diverging_fetch",
        dict(counts_diverging_fetch=True),
        {},
        dict(replicas=2, log_size=1, max_partition_epoch=5, crashes=2),
        dict(replicas=2, log_size=2, max_records=3, max_partition_epoch=5, crashes=2),
        {"no_acked_loss": 14},
        "KAFKA-13141: the leader tells a follower that its log differs, and counts on it all the same.",
    ),
    *entry(
        "r9_high_watermark_before_truncation",
        dict(high_watermark_before_truncation=True),
        {},
        dict(replicas=2, log_size=1, max_leader_epoch=1, max_partition_epoch=4)
        | dict(consumers=True, reads_from_followers=True),
        dict(replicas=2, log_size=2, max_records=3, max_partition_epoch=4, crashes=2)
        | dict(consumers=True, reads_from_followers=True),
        {"reads_are_stable": 12},
        "KAFKA-14704: a follower takes the high watermark over first, and serves what it then cuts off.",
    ),
    *entry(
        "r14_newer_records_in_an_old_fetch",
        dict(sends_lazily=True, refuses_newer_records=False),
        dict(sends_lazily=True),
        dict(ELECTIONS, replicas=3, max_records=4, max_leader_epoch=1, max_partition_epoch=1, lagging=False),
        None,
        {"counted_followers_agree": 26},
        "KAFKA-18723: the bytes of an answer are read when they are sent, and by then they are of a newer epoch.",
    ),
    Scenario(
        Partition,
        "r14_older_records_in_an_old_fetch",
        dict(ELECTIONS, replicas=3, max_records=4, max_partition_epoch=2, lagging=False, sends_lazily=True),
        expect={"counted_followers_agree": 29},
        properties=["counted_followers_agree"],
        description="What KAFKA-18723 leaves open: the bytes that are sent are of an older epoch by then.",
    ),
]

scenarios = [*truncation, *fetches]
