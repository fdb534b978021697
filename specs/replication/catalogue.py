"""Bugs of Kafka's replication protocol, each with its fix. docs/replication.md describes them.

Every switch that a bug does not name has its default, the rule of Kafka 4.0, so that the faulty rule alone causes the
violation. `versions` has the rules of each Kafka version.
"""

from checker.language import Bug, Scenario
from specs.replication.partition import Partition
from specs.scenario_forms import violates

SMALL = dict(replicas=2, log_size=1, max_records=1, max_leader_epoch=1, lagging=False)
RESTARTS = dict(SMALL, crashes=2, quick_restarts=True)
RESTARTS_LARGER = dict(RESTARTS, log_size=2, max_records=2, max_leader_epoch=2, max_partition_epoch=4)
ELECTIONS = dict(crashes=0, preferred_elections=True, late_requests=False)
"""Leadership moves although no broker fails, and no fetch arrives late: the shortest schedules."""

DIVERGENCE = ["counted_followers_agree", "truncation_makes_progress", "leader_is_not_fenced", "another_replica_leads"]
"""The properties that hold even if records are lost by an unclean election or by a power failure of every holder."""

truncation = [
    # r1: without fetches that outlive their follower, which hide the story in a schedule of the same length.
    Bug("r1_truncate_to_high_watermark", Partition, violates={"no_acked_loss": 13}, size=RESTARTS,
        larger=RESTARTS_LARGER, faulty=dict(truncation="high_watermark", late_requests=False),
        fixed=dict(truncation="kip101"),
        description="KIP-101, first scenario: a follower whose high watermark is one fetch late restarts, truncates, "
            "and is elected.", remedy="KIP-101: a follower truncates to the end of its last leader epoch."),
    Bug("r2_divergence_after_power_failure", Partition, violates={"counted_followers_agree": 19},
        size=dict(SMALL, max_records=2, max_leader_epoch=2, max_partition_epoch=3, power_failures=1),
        larger=dict(SMALL, log_size=2, max_records=2, max_leader_epoch=2, max_partition_epoch=4)
        | dict(power_failures=2, crashes=2),
        faulty=dict(truncation="high_watermark"), fixed=dict(truncation="kip101"), promises=DIVERGENCE,
        description="KIP-101, second scenario: one broker loses its page cache and leads; the other keeps its log.",
        remedy="KIP-101: a follower truncates to the end of its last leader epoch."),
    Bug("r3_fast_elections", Partition, violates={"counted_followers_agree": 18},
        size=dict(replicas=2, max_records=3, max_partition_epoch=5, crashes=2)
        | dict(unclean_elections=True, late_requests=False),
        larger=dict(replicas=2, log_size=3, max_records=3, max_leader_epoch=3, max_partition_epoch=6, crashes=3)
        | dict(unclean_elections=True, late_requests=False),
        faulty=dict(truncation="kip101"), fixed=dict(truncation="kip279"), promises=DIVERGENCE,
        description="KIP-279: the leader never had the follower's epoch; its next epoch begins past the record that "
        "differs.",
        remedy="KIP-279: the leader's answer names the epoch, and the follower asks again with an earlier one."),
    Bug("r4_no_epoch_on_election", Partition, violates={"no_acked_loss": 18},
        size=dict(ELECTIONS, replicas=2, max_leader_epoch=3, max_partition_epoch=3, lagging=False),
        larger=dict(ELECTIONS, replicas=2, max_records=3, max_leader_epoch=4, max_partition_epoch=4, lagging=False),
        faulty=dict(truncation="kip279", epoch_on_election=False), fixed=dict(truncation="kip279"),
        description="KAFKA-7415: a leader that has written nothing has no cache entry for its epoch, and its follower "
            "truncates a committed record.", remedy="KAFKA-7415: a leader's epoch begins with its election."),
    violates(Partition, "r4_divergence",
        dict(replicas=2, log_size=1, max_leader_epoch=2, max_partition_epoch=5, crashes=2, unclean_elections=True)
        | dict(truncation="kip279", epoch_on_election=False, late_requests=False, starts_in_sync=False, acks="1"),
        {"counted_followers_agree": 14},
        "KAFKA-7415 after an unclean election: the leader answers before its first write, and logs diverge."),
    Bug("r4_cache_is_not_truncated", Partition, violates={"truncation_makes_progress": 10},
        size=SMALL | dict(ELECTIONS, max_leader_epoch=2), faulty=dict(truncates_cache_at_end=False),
        description="KAFKA-10706: the log is not too long, but its last epoch is wrong: every fetch diverges again.",
        remedy="KAFKA-10706: the epoch cache is truncated even if the log is not."),
    Bug("r6_same_leader_id", Partition, violates={"counted_followers_agree": 17},
        size=dict(ELECTIONS, replicas=3, log_size=1, lagging=False),
        larger=dict(ELECTIONS, replicas=3, log_size=1, max_leader_epoch=3, max_partition_epoch=3, lagging=False),
        faulty=dict(truncation="kip279", follows_by_leader_id=True), fixed=dict(truncation="kip279"),
        description="KAFKA-7164: a follower misses an epoch, already follows the leader of the next one, and does not "
            "truncate.", remedy="KAFKA-7164: a follower truncates in every new leader epoch."),
    Bug("r16_forgets_epoch_zero", Partition, violates={"no_acked_loss": 13}, size=RESTARTS, larger=RESTARTS_LARGER
        | dict(late_checkpoints=True), faulty=dict(forgets_first_epoch=True),
        description="KAFKA-10432: recovery omits epoch 0 from the cache, and the follower truncates to its high "
            "watermark.", remedy="KAFKA-10432: recovery rebuilds the cache with epoch 0."),
    Scenario(Partition, "r16_forgets_last_epoch",
        RESTARTS_LARGER | dict(preferred_elections=True, forgets_last_epoch=True),
        description="KAFKA-15510: an empty answer makes the follower forget its last epoch; this alone violates "
        "nothing."),
    Bug("moved_log_loses_epochs", Partition, violates={"truncation_makes_progress": 8},
        size=SMALL | dict(ELECTIONS, max_leader_epoch=2, log_moves=1), faulty=dict(moves_epochs_without_records=False),
        description="KAFKA-15608: a leader moves its log to another directory and loses the epochs without records. "
        "Its follower is out of range in every fetch.",
        remedy="KAFKA-20961 (open): the moved log keeps every leader epoch."),
]  # fmt: skip

fetches = [
    Bug("r5_zombie_follower", Partition, violates={"strong_isr": 17},
        size=dict(ELECTIONS, replicas=3, log_size=1, max_partition_epoch=3, crashes=1, lagging=False),
        larger=dict(ELECTIONS, replicas=3, log_size=1, max_records=3, max_partition_epoch=3, crashes=1, lagging=False),
        faulty=dict(truncation="kip279", fences_fetches=False), fixed=dict(truncation="kip279"),
        description="KIP-320: a follower that is two epochs behind fetches from its old leader, which leads again.",
        remedy="KIP-320: the leader rejects a fetch of another leader epoch."),
    violates(Partition, "r5_question_without_epoch",
        dict(ELECTIONS, replicas=3, log_size=1, max_partition_epoch=3, crashes=1, lagging=False)
        | dict(truncation="kip279", fences_questions=False), {"strong_isr": 17},
        "KIP-320: a follower asks where to truncate before its leader has learned that it leads."),
    Bug("r7_joins_at_lagging_high_watermark", Partition, violates={"no_acked_loss": 18},
        size=dict(ELECTIONS, replicas=3, log_size=1, max_records=1, max_partition_epoch=4),
        larger=dict(ELECTIONS, replicas=3, log_size=1, max_records=2, max_partition_epoch=4),
        faulty=dict(truncation="kip279", joins_at_epoch_start=False), fixed=dict(truncation="kip279"),
        description="KAFKA-7128: a new leader's high watermark lags, and a follower without a committed record joins "
        "the ISR.",
        remedy="KAFKA-7128: a follower joins the ISR once it has the log with which the leader's epoch began."),
    Bug("r8_counts_diverging_fetch", Partition, violates={"no_acked_loss": 14},
        size=dict(replicas=2, log_size=1, max_partition_epoch=5, crashes=2),
        larger=dict(replicas=2, log_size=2, max_records=3, max_partition_epoch=5, crashes=2),
        faulty=dict(counts_diverging_fetch=True),
        description="KAFKA-13141: the leader reports to a follower that its log diverges, and still counts its fetch.",
        remedy="KAFKA-13141: a diverging fetch does not count as progress."),
    Bug("r9_high_watermark_before_truncation", Partition, violates={"reads_are_stable": 12},
        size=dict(replicas=2, log_size=1, max_leader_epoch=1, max_partition_epoch=4)
        | dict(consumers=True, reads_from_followers=True),
        larger=dict(replicas=2, log_size=2, max_records=3, max_partition_epoch=4, crashes=2)
        | dict(consumers=True, reads_from_followers=True), faulty=dict(high_watermark_before_truncation=True),
        description="KAFKA-14704: a follower adopts the high watermark first, and serves records that it then "
            "truncates.", remedy="KAFKA-14704: a follower truncates before it adopts the high watermark."),
    Bug("r14_newer_records_in_an_old_fetch", Partition, violates={"counted_followers_agree": 26},
        size=dict(ELECTIONS, replicas=3, max_records=4, max_leader_epoch=1, max_partition_epoch=1, lagging=False),
        faulty=dict(sends_lazily=True, refuses_newer_records=False), fixed=dict(sends_lazily=True),
        description="KAFKA-18723: an answer's bytes are read when they are sent, and by then belong to a newer epoch.",
        remedy="KAFKA-18723: a follower rejects records of a newer epoch than its own."),
    violates(Partition, "r14_answer_of_another_epoch",
        dict(ELECTIONS, replicas=3, max_records=4, max_partition_epoch=2, lagging=False, sends_lazily=True)
        | dict(drops_answers_of_other_epochs=False), {"counted_followers_agree": 22},
        "KAFKA-18723, its other half: the answer to a fetch of an earlier epoch of the same leader counts."),
    violates(Partition, "r14_older_records_in_an_old_fetch",
        dict(ELECTIONS, replicas=3, max_records=4, max_partition_epoch=2, lagging=False, sends_lazily=True),
        {"counted_followers_agree": 29},
        "What KAFKA-18723 leaves open: the bytes that are sent belong to an older epoch by then."),
]  # fmt: skip

scenarios = [*truncation, *fetches]
