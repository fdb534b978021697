"""The rules of releases of Kafka at the same sizes: the properties that hold and those that fail."""

from checker.language import Scenario
from specs.kafka_releases import release_number
from specs.kafka_versions import KRAFT, ZOOKEEPER, controller_modes
from specs.replication.catalogue_controller import LOST_DISK
from specs.replication.partition import Partition
from specs.replication.versions import replication_rules
from specs.scenario_forms import violates

TWO_REPLICAS = dict(
    replicas=2, max_records=3, max_partition_epoch=4, quick_restarts=True, preferred_elections=True
) | dict(consumers=True, reads_from_followers=True, lagging=False)
"""Two replicas, three leader epochs, one crash, preferred elections, a consumer that reads from any replica."""

MOVED = dict(replicas=3, crashes=0, preferred_elections=True, late_requests=False, lagging=False)
"""Three replicas; leadership moves although no broker fails."""

SENT_LATE = dict(MOVED, max_records=4, max_leader_epoch=1, max_partition_epoch=1)
"""Leadership moves once, and the answer to a fetch is sent late (R14)."""

MISSED_EPOCH = dict(MOVED, log_size=1, max_records=1, max_leader_epoch=3, max_partition_epoch=3, late_metadata=True)
"""Leadership moves three times, and a leader may miss an epoch (R18)."""

PROMISES = ["no_acked_loss", "reads_are_stable", "strong_isr", "log_matching", "counted_followers_agree",
    "truncation_makes_progress"]  # fmt: skip
GUARDS = ["record_is_acknowledged", "another_replica_leads", "everything_is_read"]


def version(release, violates, description, controller=None):
    """Return the scenario of a release with two replicas: it violates these properties, or all properties hold."""
    return Scenario(Partition, scenario_name(release, controller),
        TWO_REPLICAS | replication_rules(release, controller), expect=violates or "holds",
        properties=list(violates) if violates else [*PROMISES, *GUARDS], description=description)  # fmt: skip


def single_property(release, size, suffix, promise, length, description, controller=None):
    """Return a scenario that checks one property of a release: it is violated in `length` states, or holds (None)."""
    return Scenario(Partition, f"{scenario_name(release, controller)}_{suffix}",
        size | replication_rules(release, controller), expect={promise: length} if length else "holds",
        properties=[promise], description=description)  # fmt: skip


def scenario_name(release, controller=None):
    """Return "kafka_2_8" for 2.8.0, "kafka_2_0_1" for 2.0.1, "kafka_3_7_kraft" for a release with two controller modes.

    Raises:
        ValueError: the release has two controller modes, and none is given.
    """
    number = release_number(release)
    name = "kafka_" + "_".join(map(str, number[: 3 if number[2] else 2]))
    if len(controller_modes(release)) == 1:
        return name
    if controller is None:
        raise ValueError(f"Kafka {release} runs with ZooKeeper and with KRaft: which one?")
    return f"{name}_{controller}"


releases = [
    version("0.10.2.0",
        dict(no_acked_loss=12, reads_are_stable=13, strong_isr=10, log_matching=13, counted_followers_agree=13),
        "Followers truncate to their high watermark."),
    version("0.11.0.0", dict(reads_are_stable=16, strong_isr=14, log_matching=15, counted_followers_agree=14),
        "KIP-101: the leader answers for epochs that it never saw."),
    version("2.0.0", dict(strong_isr=15), "KIP-279: a leader's epoch begins with its first record (KAFKA-7415)."),
    version("2.0.1", dict(strong_isr=14), "KAFKA-7415 and KAFKA-7128: requests do not carry a leader epoch."),
    version("2.1.0", {}, "KIP-320: every request carries a leader epoch."),
    version("2.1.1",
        dict(no_acked_loss=12, reads_are_stable=13, strong_isr=10, log_matching=16, counted_followers_agree=15),
        "Recovery forgets leader epoch 0 (KAFKA-10432, through KAFKA-7897)."),
    version("2.6.1", {}, "KAFKA-10432: recovery includes leader epoch 0."),
    version("2.8.0",
        dict(no_acked_loss=10, reads_are_stable=10, strong_isr=8, log_matching=9, counted_followers_agree=8),
        "Truncation on fetch, and a diverging fetch counts as progress (KAFKA-13141)."),
    version("2.8.1", dict(reads_are_stable=12, log_matching=11),
        "A follower adopts the high watermark before it truncates (KAFKA-14704)."),
    version("3.5.0", {}, "KAFKA-14704.", ZOOKEEPER),
    version("3.5.0", {}, "KAFKA-14704 and KIP-903.", KRAFT),
    version("3.7.0", {}, "KAFKA-15583: the high watermark waits for min.insync.replicas.", ZOOKEEPER),
    version("3.7.0", {}, "KAFKA-15583: the high watermark waits for min.insync.replicas.", KRAFT),
    version("4.0.0", {}, "KRaft alone; without KAFKA-18723."),
    version("4.1.0", {}, "Eligible leader replicas by default, and KAFKA-18723."),
]  # fmt: skip

_LOST_DISK = "R10: a follower catches up, loses its disk and registers again, and joins the ISR by its earlier fetch."
_SENT_LATE = "R14: the bytes of an answer are sent after the leader's log has changed."
_MISSED = "R18: a leader misses the epoch of another leader and is elected again."

larger = [
    single_property("2.1.0", SENT_LATE, "sent_late", "counted_followers_agree", 29, _SENT_LATE),
    single_property("3.7.0", SENT_LATE, "sent_late", "counted_followers_agree", 26, _SENT_LATE, ZOOKEEPER),
    single_property("3.7.0", SENT_LATE, "sent_late", "counted_followers_agree", 26, _SENT_LATE, KRAFT),
    single_property("3.9.1", SENT_LATE, "sent_late", "counted_followers_agree", None, "KAFKA-18723.", ZOOKEEPER),
    single_property("3.9.1", SENT_LATE, "sent_late", "counted_followers_agree", None, "KAFKA-18723.", KRAFT),
    single_property("4.0.0", SENT_LATE, "sent_late", "counted_followers_agree", 26, _SENT_LATE),
    single_property("4.0.1", SENT_LATE, "sent_late", "counted_followers_agree", None, "KAFKA-18723 in 4.0.1."),
    single_property("3.7.0", LOST_DISK, "lost_disk", "no_acked_loss", 14, _LOST_DISK, ZOOKEEPER),
    single_property("3.7.0", LOST_DISK, "lost_disk", "no_acked_loss", None, "KIP-903 (R10), with KRaft alone.", KRAFT),
    single_property("2.0.1", MISSED_EPOCH, "missed_epoch", "no_acked_loss", 21, _MISSED),
    single_property("4.4.0", MISSED_EPOCH, "missed_epoch", "no_acked_loss", 26, _MISSED),
]

AS_RECORDED = dict(parks_fetches=True, asks_to_join_later=True, waits_for_joining=True, removes_several=True,
    reads_before_counting=True, lags_before_first_fetch=True, fetches_of_former_connections=1, remembered_changes=2,
    learns_isr_twice=True, requests_of_dead_leaders=True, acts_before_registration=True, starts_behind=True,
    assigns_directories=True, numbers_eligible_changes=True, keeps_epochs_without_records=False)  # fmt: skip
"""What recordings of real brokers show; the rules of a release leave it out, so that their counts stay small."""

LAGGING = dict(MOVED, log_size=1, max_records=1, max_leader_epoch=1, lagging=True) | replication_rules("4.1.0")

recorded = [
    Scenario(Partition, "kafka_4_1_as_recorded", TWO_REPLICAS | replication_rules("4.1.0") | AS_RECORDED
        | dict(max_records=2), properties=[*PROMISES, *GUARDS],
        description="Kafka 4.1 with the order of steps that recordings of real brokers show."),
    Scenario(Partition, "kafka_4_1_as_recorded_lagging", LAGGING | AS_RECORDED | dict(learns_isr_twice=False),
        properties=[*PROMISES, "record_is_acknowledged", "another_replica_leads", "follower_asks_to_come_back"],
        description="The same with three replicas that may lag, which learn a change of the ISR once."),
    violates(Partition, "kafka_4_1_learns_isr_twice",
        LAGGING | AS_RECORDED | dict(replicas=2, max_partition_epoch=3),
        dict(no_acked_loss=10, strong_isr=8),
        "A leader learns a change of the ISR from the answer and from the metadata: it drops its next request."),
]  # fmt: skip

scenarios = [*releases, *larger, *recorded]
