"""Bugs of Kafka's replication protocol between leader and controller, each with its fix; see `catalogue`."""

from checker.language import Bug, Scenario
from specs.replication.partition import Partition
from specs.scenario_forms import violates

ALONE = dict(replicas=2, log_size=1, max_records=1, max_leader_epoch=1, starts_in_sync=False)
"""The leader is alone in the ISR; the other replica follows it."""

LOST_DISK = dict(ALONE, max_partition_epoch=4, power_failures=1, power_failures_in_isr=False, checks_broker_epochs=True)
"""A broker outside the ISR loses its log."""

LAST_REPLICA = (
    dict(replicas=2, log_size=1, max_records=1, max_leader_epoch=1, max_partition_epoch=5)
    | dict(crashes=0, power_failures=1, min_insync_replicas=2, session_timeouts=True, late_requests=False)
    | dict(checks_broker_epochs=True)
)
"""min.insync.replicas=2; one broker loses its log, and the controller may fence a broker that is alive."""

UNREAD = dict(ALONE, max_partition_epoch=5, unclean_elections=True, acks="1", min_insync_replicas=2, consumers=True)
KEPT = ["no_acked_loss", "leader_is_not_fenced", "record_is_acknowledged", "another_replica_leads"]
READ = ["reads_are_stable", "leader_is_not_fenced", "everything_is_read", "another_replica_leads"]

scenarios = [
    Bug("r10_stale_broker_epoch", Partition, violates={"no_acked_loss": 14}, size=dict(LOST_DISK, late_requests=False),
        larger=dict(LOST_DISK, replicas=3, late_requests=False), faulty=dict(checks_broker_epochs=False), promises=KEPT,
        description="KIP-903: the controller gets the request for a follower that caught up and has lost its disk "
            "since.", remedy="KIP-903: the controller rejects a follower that has registered again since its fetch."),
    violates(Partition, "r10_dead_and_not_yet_fenced", dict(LOST_DISK, max_leader_epoch=2, late_requests=False),
        {"no_acked_loss": 15},
        "What KIP-903 leaves open: the request arrives late, but before the follower is fenced."),
    Bug("r11_last_replica_standing", Partition, violates={"no_acked_loss": 13}, size=LAST_REPLICA,
        larger=dict(LAST_REPLICA, max_leader_epoch=2, max_partition_epoch=7), fixed=dict(eligible_leader_replicas=True),
        promises=KEPT,
        description="KIP-966: the last member of the ISR loses its log and is elected, though another replica has the "
        "records.",
        remedy="KIP-966: eligible leader replicas keep a replica electable that has every committed record."),
    Scenario(Partition, "r11_shut_down_cleanly", dict(LAST_REPLICA, eligible_leader_replicas=True, shutdowns=1),
        properties=KEPT, description="KIP-966: a broker that was shut down cleanly stays eligible."),
    violates(Partition, "r11_two_unclean_shutdowns", dict(LAST_REPLICA, eligible_leader_replicas=True, crashes=1),
        {"no_acked_loss": 15}, "What KIP-966 does not guarantee: as many unclean shutdowns as min.insync.replicas."),
    Bug("r11_fenced_last_leader", Partition, violates={"leader_is_not_fenced": 10}, size=dict(LAST_REPLICA, crashes=1),
        faulty=dict(eligible_leader_replicas=True, elects_fenced_last_leader=True),
        fixed=dict(eligible_leader_replicas=True),
        promises=["leader_is_not_fenced", "record_is_acknowledged", "another_replica_leads"],
        description="KAFKA-19522: the last known leader is elected while it is fenced.",
        remedy="KAFKA-19522: a fenced last known leader is not elected."),
    Bug("r12_unclean_election", Partition, violates={"no_acked_loss": 6},
        size=dict(ALONE, max_partition_epoch=5, crashes=2),
        larger=dict(ALONE, log_size=2, max_records=2, max_leader_epoch=2, max_partition_epoch=5, crashes=2),
        faulty=dict(unclean_elections=True), promises=[*KEPT, "strong_isr", "log_matching"],
        description="Unclean election: every member of the ISR is gone, and a replica without acknowledged records "
            "leads.", remedy="unclean.leader.election.enable=false: only members of the ISR are elected."),
    Bug("r13_high_watermark_below_min_isr", Partition, violates={"reads_are_stable": 7}, size=UNREAD,
        larger=dict(UNREAD, log_size=2, max_records=2, max_leader_epoch=2, crashes=2),
        faulty=dict(strict_min_isr=False), promises=READ,
        description="KAFKA-15583: a leader that is alone raises the high watermark, a consumer reads, the record is "
            "lost.", remedy="KAFKA-15583: the high watermark waits until min.insync.replicas replicas are in sync."),
]  # fmt: skip
