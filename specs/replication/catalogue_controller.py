"""Faults of replication between the leader and the controller; the rest of `catalogue`."""

from checker.language import Scenario
from specs.replication.catalogue import entry
from specs.replication.partition import Partition

ALONE = dict(replicas=2, log_size=1, max_records=1, max_leader_epoch=1, starts_in_sync=False)
"""A leader that is alone in the ISR; the other follows it."""

LOST_DISK = dict(ALONE, max_partition_epoch=4, max_broker_epoch=2, power_failures=1, power_failures_in_isr=False)
"""A broker outside the ISR loses what it has."""

LAST_REPLICA = dict(replicas=2, log_size=1, max_records=1, max_leader_epoch=1, max_partition_epoch=5) | dict(
    crashes=0, power_failures=1, max_broker_epoch=1, min_insync_replicas=2, session_timeouts=True, late_requests=False
)
"""min.insync.replicas=2; one broker loses what it has, and any may be taken for dead."""

UNREAD = dict(ALONE, max_partition_epoch=5, unclean_elections=True, acks="1", min_insync_replicas=2, consumers=True)
KEPT = ["no_acked_loss", "leader_is_not_fenced", "record_is_acknowledged", "another_replica_leads"]
READ = ["reads_are_stable", "leader_is_not_fenced", "everything_is_read", "another_replica_leads"]

scenarios = [
    *entry(
        "r10_stale_broker_epoch",
        dict(checks_broker_epochs=False),
        {},
        dict(LOST_DISK, late_requests=False),
        dict(LOST_DISK, replicas=3, late_requests=False),
        {"no_acked_loss": 14},
        "KIP-903: the controller hears late of a follower that has caught up, and has lost its disk since.",
        promises=KEPT,
    ),
    Scenario(
        Partition,
        "r10_dead_and_not_yet_fenced",
        dict(LOST_DISK, max_leader_epoch=2, late_requests=False),
        expect={"no_acked_loss": 15},
        properties=["no_acked_loss"],
        description="What KIP-903 leaves open: the controller hears late, but before it has missed the follower.",
    ),
    *entry(
        "r11_last_replica_standing",
        {},
        dict(eligible_leader_replicas=True),
        LAST_REPLICA,
        dict(LAST_REPLICA, max_leader_epoch=2, max_partition_epoch=7),
        {"no_acked_loss": 13},
        "KIP-966: the last member of the ISR loses what it has and is elected, though another still had it.",
        promises=KEPT,
    ),
    Scenario(
        Partition,
        "r11_shut_down_cleanly",
        dict(LAST_REPLICA, eligible_leader_replicas=True, shutdowns=1, max_broker_epoch=2),
        properties=KEPT,
        description="KIP-966: a broker that was shut down cleanly stays eligible.",
    ),
    Scenario(
        Partition,
        "r11_two_unclean_shutdowns",
        dict(LAST_REPLICA, eligible_leader_replicas=True, crashes=1, max_broker_epoch=2),
        expect={"no_acked_loss": 15},
        properties=["no_acked_loss"],
        description="What KIP-966 does not promise: as many unclean shutdowns as min.insync.replicas.",
    ),
    *entry(
        "r11_fenced_last_leader",
        dict(eligible_leader_replicas=True, elects_fenced_last_leader=True),
        dict(eligible_leader_replicas=True),
        dict(LAST_REPLICA, crashes=1, max_broker_epoch=2),
        None,
        {"leader_is_not_fenced": 10},
        "KAFKA-19522: the last known leader is elected though it is fenced.",
        promises=["leader_is_not_fenced", "record_is_acknowledged", "another_replica_leads"],
    ),
    *entry(
        "r12_unclean_election",
        dict(unclean_elections=True),
        {},
        dict(ALONE, max_partition_epoch=5, crashes=2),
        dict(ALONE, log_size=2, max_records=2, max_leader_epoch=2, max_partition_epoch=5, crashes=2),
        {"no_acked_loss": 6},
        "Unclean election: the ISR is gone, and somebody leads who lacks what was acknowledged.",
        promises=[*KEPT, "strong_isr", "log_matching"],
    ),
    *entry(
        "r13_high_watermark_below_min_isr",
        dict(strict_min_isr=False),
        {},
        UNREAD,
        dict(UNREAD, log_size=2, max_records=2, max_leader_epoch=2, crashes=2),
        {"reads_are_stable": 7},
        "KAFKA-15583: a leader alone moves the high watermark, a consumer reads, the record is lost.",
        promises=READ,
    ),
]
