"""Bugs of the KRaft controller that need a change of the replica set, a setting, a feature level or a disk."""

from checker.language import Bug
from specs.replication.replica_set import ReplicaSet
from specs.scenario_forms import violates

MOVED = dict(reassignments=2)
"""Two reassignments, and clean stops."""

REPLACED = dict(reassignments=2, stops=False)
"""A running reassignment is replaced; nothing fails."""

ENLARGED = dict(replication_factor=1, reassignments=1, power_failures=1)
"""The replication factor is raised from 1 to 3, and one broker loses its log."""

CANCELLED = dict(brokers=5, reassignments=1, power_failures=1)
"""A reassignment may be cancelled, and one broker loses its log."""

UNCLEAN = dict(reassignments=1, crashes=2, unclean_elections=True)
"""A reassignment, two crashes, and unclean elections."""

SHRUNK = dict(reassignments=1, power_failures=1, smallest_target=2, completes_with_min_isr_only=False)
"""A reassignment may ask for two replicas."""

SWITCHED_ON = dict(eligible_leader_replicas=False, feature_changes=1, crashes=1)
"""A cluster from before the feature."""

scenarios = [
    Bug("stale_eligible_replica", ReplicaSet, violates={"no_acked_loss": 7}, size=MOVED,
        larger=dict(MOVED, reassignments=3, lagging=True, crashes=1), faulty=dict(eligible_are_replicas=False),
        description="C-1: a replica that a reassignment removed stays in the ELR; it is added again, and leads with an "
        "empty log.", remedy="The controller drops eligible replicas that are no replicas."),
    violates(ReplicaSet, "stale_eligible_replica_blocks",
        dict(reassignments=1, crashes=1, smallest_target=1, largest_target=1, eligible_are_replicas=False),
        {"active_replicas_have_a_leader": 4},
        "C-1: the only replica starts after a crash and may not lead, as the ELR has brokers that are no replicas."),
    violates(ReplicaSet, "stale_eligible_replica_cancelled",
        dict(MOVED, awaits="all", eligible_are_replicas=False, cancels="always"),
        {"no_acked_loss": 8}, "C-1 by a cancelled reassignment, with the rule of 4.0 to 4.2."),
    Bug("min_isr_of_partition_0", ReplicaSet, violates={"no_acked_loss": 6}, size=ENLARGED,
        larger=dict(ENLARGED, reassignments=2, lagging=True), faulty=dict(replicas_of_partition_0=1),
        description="C-2: the controller takes min.insync.replicas=2 for 1, as partition 0 has one replica, and keeps "
        "no ELR.", remedy="The controller takes the number of replicas of the partition itself."),
    Bug("stale_list_of_eligible", ReplicaSet, violates={"controller_answers": 6},
        size=dict(crashes=1, setting_changes=1, deletions=1),
        larger=dict(crashes=2, setting_changes=2, deletions=1, lagging=True), faulty=dict(clears_lists=False),
        description="H-1: after min.insync.replicas was changed and the topic deleted, a broker that was eligible "
        "cannot register: each controller resigns.", remedy="The change clears the brokers' lists too."),
    Bug("min_isr_without_leader", ReplicaSet, violates={"active_replicas_have_a_leader": 8},
        size=dict(setting_changes=1), larger=dict(setting_changes=2, crashes=1, lagging=True),
        faulty=dict(clears_leaderless=True),
        description="H-2: min.insync.replicas is changed while no leader is elected; the ELR is gone, and no replica "
        "may lead.", remedy="The change does not clear the ELR of a partition without a leader."),
    Bug("feature_without_leader", ReplicaSet, violates={"active_replicas_have_a_leader": 8},
        size=dict(feature_changes=1), larger=dict(feature_changes=2, lagging=True),
        faulty=dict(keeps_elr_without_leader=False),
        description="H-3: the feature is switched off while no leader is elected; the first broker that returns is "
        "not eligible, and the ELR is dropped.", remedy="The ELR stays until a leader is elected."),
    Bug("removed_disk", ReplicaSet, violates={"no_acked_loss": 6}, size=dict(disk_losses=1),
        larger=dict(disk_losses=1, lagging=True, reassignments=1),
        faulty=dict(missing_directory_is_unclean=False),
        description="H-4: a broker returns without the disk of a replica; it counts as shut down cleanly, and leads "
        "with a new, empty log.", remedy="A broker without the directory of a replica was not shut down cleanly."),
    Bug("foreign_last_known_leader", ReplicaSet, violates={"controller_answers": 9}, size=UNCLEAN,
        larger=dict(UNCLEAN, reassignments=2), faulty=dict(last_known_is_replica=False),
        description="H-5: a cancelled reassignment leaves a last known leader that is no replica; the controller "
        "resigns when it looks for its directory.", remedy="A last known leader that is no replica is ignored."),
    Bug("replaced_by_the_original", ReplicaSet, violates={"reassignment_completes": 4}, size=REPLACED,
        larger=dict(REPLACED, reassignments=3, smallest_target=1, largest_target=4, stops=True),
        faulty=dict(awaits_removed=True),
        description="H-6: the original replicas replace a running reassignment; the controller awaits a replica that "
        "it also removes.", remedy="The controller does not await a replica that it removes."),
    Bug("replaced_by_more", ReplicaSet, violates={"reassignment_ends_as_asked": 4},
        size=dict(REPLACED, largest_target=4),
        larger=dict(REPLACED, reassignments=3, smallest_target=1, largest_target=4, stops=True),
        faulty=dict(replaces_removing=False),
        description="H-7: a running reassignment is replaced by one that removes nothing, and still removes a replica.",
        remedy="A new reassignment replaces the replicas to remove, also if there are none."),
    Bug("cancelled_below_min_isr", ReplicaSet, violates={"no_acked_loss": 8}, size=CANCELLED,
        larger=dict(CANCELLED, lagging=True, awaits="all"), faulty=dict(cancels="always"),
        description="H-8: a cancelled reassignment deletes one of two copies in sync, and the other one is lost.",
        remedy="A cancellation is refused if fewer than min.insync.replicas copies would be left."),
    violates(ReplicaSet, "cancelled_with_an_eligible_copy", dict(CANCELLED, cancels="isr"), {"no_acked_loss": 9},
        "H-8 with a remedy that counts the ISR alone: an added replica in the ELR is deleted."),
    Bug("completed_below_min_isr", ReplicaSet, violates={"no_acked_loss": 8},
        size=dict(MOVED, power_failures=1, smallest_target=2),
        larger=dict(MOVED, power_failures=1, smallest_target=1, largest_target=4),
        faulty=dict(completes_with_min_isr_only=False),
        description="H-10: a reassignment replaces another one, is complete at once, and deletes one of two copies in "
        "sync; the other one is lost.", remedy="It is complete once min.insync.replicas copies would be left."),
    Bug("stale_eligible_with_feature_off", ReplicaSet, violates={"no_acked_loss": 8},
        size=dict(setting_changes=1, feature_changes=1), larger=dict(setting_changes=2, feature_changes=3, crashes=1),
        faulty=dict(clears_eligible="with_feature"),
        description="H-9: the feature is switched off, and min.insync.replicas is lowered; a replica of the ELR from "
        "before leads without a record that was acknowledged since.",
        remedy="The change clears the ELR with the feature off too."),
    Bug("feature_on_without_leader", ReplicaSet, violates={"active_replicas_have_a_leader": 8},
        size=SWITCHED_ON, larger=dict(SWITCHED_ON, crashes=2, feature_changes=2, lagging=True),
        faulty=dict(remembers_last_member=False),
        description="H-11: the feature is switched on while the last member of the ISR is down; it leaves the ISR when "
        "it returns, and no replica may lead.", remedy="The last member of the ISR is the last known leader."),
    Bug("completed_with_one_copy", ReplicaSet, violates={"no_acked_loss": 5},
        size=dict(SHRUNK, largest_target=2), larger=dict(SHRUNK, reassignments=2, largest_target=3),
        faulty=dict(awaits="added"), fixed=dict(awaits="all"),
        description="The rule before 3.8: a reassignment adds no replica and is complete at once: it deletes one of "
        "two copies in sync, and the other one is lost.",
        remedy="It is complete once all replicas that it asks for are in sync."),
    Bug("stale_eligible_after_min_isr", ReplicaSet, violates={"no_acked_loss": 7}, size=dict(setting_changes=1),
        larger=dict(setting_changes=2, crashes=1, lagging=True), faulty=dict(clears_eligible="never"),
        description="In the unfinished feature before 4.0, min.insync.replicas is lowered; an eligible replica from "
        "before leads without a record that was acknowledged since.", remedy="The change clears the ELR."),
    Bug("fenced_last_known_leader", ReplicaSet, violates={"leader_is_active": 7}, size=dict(crashes=3),
        larger=dict(crashes=4, lagging=True), faulty=dict(last_known_is_active=False),
        description="KAFKA-19522: the last known leader is elected while it is fenced.",
        remedy="It is elected once it is active."),
    Bug("log_move_clears_eligible", ReplicaSet, violates={"no_acked_loss": 6},
        size=dict(log_moves=1, power_failures=1),
        larger=dict(log_moves=2, power_failures=1, lagging=True, reassignments=1),
        faulty=dict(log_move_keeps_elr=False),
        description="PR 20716: a log is moved to another directory, which clears the ELR; the only replica in sync "
        "loses its log, and leads.", remedy="The report of a directory keeps the ELR."),
    violates(ReplicaSet, "eligible_broker_is_no_replica",
        dict(reassignments=1, smallest_target=1, stops=False, eligible_are_replicas=False),
        {"eligible_replicas_are_replicas": 2}, "C-1: a smaller replication factor leaves the ELR with other brokers."),
    violates(ReplicaSet, "list_keeps_a_broker", dict(setting_changes=1, clears_lists=False),
        {"lists_match_the_elr": 4}, "H-1: the ELR is cleared, and the list of its broker still has the partition."),
    violates(ReplicaSet, "empty_log_is_eligible", dict(disk_losses=1, missing_directory_is_unclean=False),
        {"members_are_complete": 5}, "H-4: an eligible broker starts without its disk, and stays eligible."),
    violates(ReplicaSet, "cancelled_to_one_copy", dict(CANCELLED, power_failures=0, cancels="always"),
        {"enough_copies_are_electable": 6}, "H-8: a cancelled reassignment leaves one copy in ISR and ELR."),
    violates(ReplicaSet, "completed_to_one_copy",
        dict(MOVED, smallest_target=2, completes_with_min_isr_only=False),
        {"enough_copies_are_electable": 6}, "H-10: a replaced reassignment leaves one copy in ISR and ELR."),
    violates(ReplicaSet, "one_copy_by_partition_0", dict(ENLARGED, power_failures=0, replicas_of_partition_0=1),
        {"enough_copies_are_electable": 4}, "C-2: one member leaves the ISR of two, and is not eligible."),
]  # fmt: skip
