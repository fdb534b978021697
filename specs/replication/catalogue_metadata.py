"""Bugs in how brokers learn the metadata and register with the controller, each with its remedy; see `catalogue`.

docs/findings.md describes R18 and R19, docs/replication.md the others.
"""

from checker.language import Bug, Scenario
from specs.replication.partition import Partition
from specs.scenario_forms import violates

MISSED_EPOCH = dict(replicas=3, log_size=1, max_records=1, max_leader_epoch=3, max_partition_epoch=3) | dict(
    crashes=0, preferred_elections=True, late_requests=False, lagging=False
)
"""Leadership moves three times; no broker fails, and the only delay is that of the metadata."""

REGISTERED_AGAIN = dict(replicas=2, log_size=1, max_records=1, max_partition_epoch=4, checks_broker_epochs=True) | dict(
    crashes=0, power_failures=1, preferred_elections=True, quick_restarts=True, min_insync_replicas=2, lagging=False
)
"""A broker loses its page cache, and registers again before the controller has fenced it."""

LOWERED = dict(replicas=2, log_size=1, max_records=1, max_leader_epoch=1, max_partition_epoch=5, crashes=0) | dict(
    min_insync_replicas=2, new_min_insync_replicas=1, session_timeouts=True, late_requests=False
)
"""An operator lowers min.insync.replicas from 2 to 1; the controller may fence a broker that is alive."""

DELIVERED = ["no_acked_loss", "reads_are_stable", "strong_isr", "counted_followers_agree"]
KEPT = ["no_acked_loss", "record_is_acknowledged", "another_replica_leads"]

scenarios = [
    Bug("r18_missed_leader_epoch", Partition, violates={"no_acked_loss": 26},
        size=dict(MISSED_EPOCH, answers_across_epochs=True),
        larger=dict(MISSED_EPOCH, answers_across_epochs=True, max_records=2, consumers=True),
        faulty=dict(keeps_followers="same_leader"), fixed=dict(keeps_followers="consecutive_epochs"),
        promises=[*DELIVERED, "record_is_acknowledged", "another_replica_leads"],
        description="A leader misses the epoch of another leader, is elected again, and counts a record that its "
        "follower has truncated in between.",
        remedy="A leader that has missed an epoch forgets what it knew of its followers' logs."),
    violates(Partition, "r18_committed_on_one_replica",
        dict(MISSED_EPOCH, max_leader_epoch=2, max_partition_epoch=2, keeps_followers="same_leader"),
        {"strong_isr": 24}, "R18: the high watermark passes a record that a member of the ISR does not have."),
    violates(Partition, "r18_counts_a_truncated_record",
        dict(MISSED_EPOCH, max_records=2, max_leader_epoch=2, max_partition_epoch=2, keeps_followers="same_leader"),
        {"counted_followers_agree": 20},
        "R18: the leader counts on a record, and its follower has another one at that offset."),
    violates(Partition, "r18_consumer_reads_a_lost_record",
        dict(MISSED_EPOCH, keeps_followers="same_leader", consumers=True), {"reads_are_stable": 27},
        "R18 without R19: no producer gets an answer, but a consumer reads the record that is lost."),
    Scenario(Partition, "r19_answers_across_epochs", dict(MISSED_EPOCH, answers_across_epochs=True, consumers=True),
        properties=[*DELIVERED, "record_is_acknowledged", "another_replica_leads"],
        description="R19: a leader that is elected again answers appends of its earlier epochs; this alone violates "
        "nothing."),
    Bug("r20_registered_again_in_the_isr", Partition, violates={"no_acked_loss": 10},
        size=dict(REGISTERED_AGAIN, controller="kraft"), faulty=dict(registration_leaves_isr=False), promises=KEPT,
        description="KAFKA-18106: a broker that lost its log registers again before it is fenced, and is still in the "
            "ISR.", remedy="KAFKA-18106: a registration takes the broker out of the ISR."),
    violates(Partition, "r20_registered_again_with_zookeeper", dict(REGISTERED_AGAIN, controller="zookeeper"),
        {"no_acked_loss": 10},
        "With ZooKeeper a broker that restarts before it is missed stays in the ISR, with any log; since 2.2 (KIP-380) "
        "only if the controller moves as well."),
    Bug("r21_lowered_min_isr", Partition, violates={"no_acked_loss": 9},
        size=dict(LOWERED, eligible_leader_replicas=True),
        larger=dict(LOWERED, eligible_leader_replicas=True, max_leader_epoch=2, max_partition_epoch=6),
        faulty=dict(clears_eligible=False), promises=KEPT,
        description="KIP-966: after min.insync.replicas was lowered, a replica from before leads without a record.",
        remedy="KIP-966: a change of min.insync.replicas clears the eligible leader replicas (ClearElrRecord)."),
    Scenario(Partition, "kraft_partition_without_leader",
        dict(replicas=2, log_size=1, max_records=2, max_leader_epoch=3, max_partition_epoch=4, crashes=0)
        | dict(controller="kraft", session_timeouts=True, late_metadata=True, lagging=False, consumers=True),
        description="KRaft: a partition without a leader is a leader epoch, and a fenced leader that reads it steps "
        "down."),
]  # fmt: skip
