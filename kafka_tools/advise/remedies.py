"""The changes of settings that the search for remedies tries: every setting that a constant of the models stands for.

A change that gives up a guarantee (`weakens`) is tried too, so that "no setting prevents it" is a result and not a list
of what was thought of. Advice names such a change only if no other one helps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_tools.advise.cluster import ClusterConfig
from kafka_tools.advise.configuration_keys import Role
from kafka_tools.advise.effective_config import EffectiveConfig, resolve
from kafka_tools.advise.models import UNLIMITED_RETRIES
from specs.kafka_versions import BUMPS_EPOCH_ON_LOST_STATE, LAST_KNOWN_LEADER_MUST_LIVE

_IN_FLIGHT = "max.in.flight.requests.per.connection"


@dataclass(frozen=True)
class SettingChange:
    """A setting and its new value. `cost`: its cost besides availability while brokers are down.

    `weakens`: the value gives up a guarantee.
    """

    role: Role
    name: str
    value: str
    cost: str = ""
    weakens: bool = False

    def __str__(self) -> str:
        return f"{self.name}={self.value}"


_NEEDS_STABLE_PRODUCER = (
    "explored with the client of 2.5 and later: an earlier one resets its sequences when a broker has lost them, and "
    "may then still write a record twice or out of order (docs/idempotence.md, I4 and I5)"
)
EARLIER_IDEMPOTENCE = SettingChange("producer", "enable.idempotence", "true", _NEEDS_STABLE_PRODUCER)
"""The one change of which the text says what the models cannot decide."""

_LIBRDKAFKA_IDEMPOTENCE = SettingChange(
    "producer",
    "enable.idempotence",
    "true",
    "with more than one request in flight, an idempotent librdkafka producer may report a refused record as delivered "
    "(docs/idempotence.md, I2)",
)
_IDEMPOTENCE = SettingChange("producer", "enable.idempotence", "true")
_ELR = SettingChange(
    "broker",
    "eligible.leader.replicas.version",
    "1",
    "min.insync.replicas of brokers no longer counts: that of the topic does, or that of the active controller",
)
_FLUSH = SettingChange(
    "topic",
    "flush.messages",
    "1",
    "every append waits for the disk; Kafka's documentation advises against it and relies on replicas that do not lose "
    "power together (broker.rack), since 4.1 also on eligible leader replicas",
)

CHANGES_OF: Mapping[str, tuple[SettingChange, ...]] = {
    "acks": (
        SettingChange("producer", "acks", "all", "an acknowledgement waits for every in-sync replica"),
        SettingChange("producer", "acks", "1", weakens=True),
        SettingChange("producer", "acks", "0", weakens=True),
    ),
    "idempotent": (
        _IDEMPOTENCE,
        EARLIER_IDEMPOTENCE,
        _LIBRDKAFKA_IDEMPOTENCE,
        SettingChange("producer", "enable.idempotence", "false", weakens=True),
    ),
    "repeats_aborted": (
        SettingChange(
            "consumer",
            "isolation.level",
            "read_committed",
            "consumers get the records of a transaction when it is committed, and skip those of aborted ones",
        ),
    ),
    "retries": (
        SettingChange("producer", "retries", str(UNLIMITED_RETRIES)),
        SettingChange("producer", "retries", "0", weakens=True),
    ),
    "unclean_elections": (
        SettingChange(
            "topic",
            "unclean.leader.election.enable",
            "false",
            "while every in-sync replica is down, the partition has no leader",
        ),
        SettingChange("topic", "unclean.leader.election.enable", "true", weakens=True),
    ),
    "min_insync_replicas": (
        SettingChange("topic", "min.insync.replicas", "2"),
        SettingChange("topic", "min.insync.replicas", "3"),
        SettingChange("topic", "min.insync.replicas", "1", weakens=True),
    ),
    "replication_factor": (
        SettingChange("topic", "replication.factor", "3", "three copies on disk and on the network"),
    ),
    "eligible_leader_replicas": (
        _ELR,
        SettingChange("broker", "eligible.leader.replicas.version", "0", weakens=True),
    ),
    "max_in_flight": (
        SettingChange("producer", _IN_FLIGHT, "5"),
        SettingChange("producer", _IN_FLIGHT, "1", "one request at a time on each connection: less throughput"),
    ),
    "flushes": (_FLUSH,),
    "auto_offset_reset": (
        SettingChange(
            "consumer",
            "auto.offset.reset",
            "earliest",
            "without a committed offset, the consumer reads from the beginning",
        ),
        SettingChange(
            "consumer", "auto.offset.reset", "none", "without a committed offset, the consumer throws an exception"
        ),
        SettingChange("consumer", "auto.offset.reset", "latest", weakens=True),
    ),
    "consumer": (
        SettingChange(
            "consumer", "enable.auto.offset.store", "false", "the application stores offsets, after processing"
        ),
        SettingChange("consumer", "enable.auto.commit", "false", "the application commits, after processing"),
        SettingChange("consumer", "group.protocol", "classic"),
    ),
    "deletions": (
        SettingChange("topic", "retention.ms", "-1", "no record is deleted by its age: the log grows without limit"),
        SettingChange(
            "topic", "retention.bytes", "-1", "no record is deleted by the size of the log, which has no limit"
        ),
    ),
    "expiry_waits": (
        SettingChange("broker", "producer.id.expiration.ms", "86400000"),
        # Before 3.4 it limits the age of a producer's state.
        SettingChange("broker", "transactional.id.expiration.ms", "604800000"),
        SettingChange("producer", "delivery.timeout.ms", "120000", "a record that is not written by then fails"),
    ),
    "commit": (),
    "commits": (),
    "commits_when_revoked": (),
    "reconciliation": (),
}
"""By the constant of a model that a setting decides, the changes of the setting.

The search prefers the first of two changes of equal size. The last four are settings of `consumer` in the
specs of the consumer.
"""

NOT_SETTINGS: Mapping[str, str] = {
    "records": "the size of the exploration",
    "max_poll_records": "the size of the exploration",
    "members": "the size of the exploration",
    "max_generation": "the size of the exploration",
    "retention": "the size of the exploration",
    "strict_min_isr": "a rule of the release",
    "no_state": "a rule of the release",
    "partitions": "the size of the exploration",
    "max_epoch": "the size of the exploration",
    "bookkeeping": "a rule of the release",
    "accepts_rejoin": "a rule of the release",
    "skips_revocation": "a rule of the release",
    "reports_unapplied": "a proposal (C10)",
    "retries_with": "a rule of the release",
    "snapshot_batches": "a rule of every release (I7)",
    "cache_size": "a rule of every release",
    "expiry": "a rule of the release",
    "fences_commits": "a rule of every release",
    "implicit_acks": "the client",
    "transactional": "the application",
    "late_requests": "every broker",
    "resends": "the application",
    "delivery_timeouts": "delivery.timeout.ms, which advice suggests only: the models have no clock",
    "commits_at_start": "the application",
    "operator_seeks": "the operator",
    "finds_partition_late": "an event",
    "rejections": "an event that advice does not explore (I3)",
    "longest_outage": "an event",
    "empties_disks": "an event",
    "failures": "an event",
    "rebalances": "an event",
    "departures": "an event",
    "timeouts": "an event that advice does not explore (C10)",
    "crashes": "an event",
    "evictions": "an event",
    "session_timeouts": "an event",
    "slow_followers": "an event",
    "other_records": "the other producers",
    "leader_moves": "an event",
    "broker_crashes": "an event",
    "power_failures": "an event",
    "blackouts": "an event",
    "lost_responses": "an event",
    "producer_restarts": "an event",
    "consumer_crashes": "an event",
}
"""The other constants of the models, and what decides them."""


@dataclass(frozen=True)
class Suggestion:
    """A remedy that the model does not explore: what to do, against what, and the argument for it."""

    text: str
    against: str
    argument: str


def is_last_resort(change: SettingChange) -> bool:
    """Return whether a change is offered only if no other change helps."""
    return change is _FLUSH


def changes_for(cluster: ClusterConfig, constants: Mapping[str, object]) -> list[SettingChange]:
    """Return the changes of the settings behind a model's constants.

    Left out: the values in effect, fewer replicas, and features that the version lacks.
    """
    config = resolve(cluster)
    names = {"consumer" if CHANGES_OF.get(name) == () else name for name in constants}
    changes = [change for name, changes in CHANGES_OF.items() if name in names for change in changes]
    return [change for change in changes if _is_sensible(change, cluster, config)]


def _idempotence_of(cluster: ClusterConfig) -> SettingChange:
    """Return the change to an idempotent producer, with the cost that the cluster's client has."""
    if cluster.client == "librdkafka":
        return _LIBRDKAFKA_IDEMPOTENCE
    return _IDEMPOTENCE if BUMPS_EPOCH_ON_LOST_STATE.applies_to(cluster.version) else EARLIER_IDEMPOTENCE


def _is_sensible(change: SettingChange, cluster: ClusterConfig, config: EffectiveConfig) -> bool:
    if change is _ELR and not LAST_KNOWN_LEADER_MUST_LIVE.applies_to(cluster.version):
        # 4.0 has the feature, with the inverted test of KAFKA-19522.
        return False
    if change in CHANGES_OF["idempotent"][:3] and change is not _idempotence_of(cluster):
        return False
    choice = config.choices.get(change.name)
    if choice is None or (choice.value == change.value and not _has_to_be_kept(change, cluster, config)):
        return False
    if change.name == "replication.factor":
        return int(choice.value) < int(change.value)
    if change.name == "min.insync.replicas":
        # A value above the replication factor, as it is or as another change makes it, refuses every write.
        return int(change.value) <= max(3, int(config["replication.factor"])) and (
            change.weakens == (int(change.value) < int(choice.value))
        )
    return True


def _has_to_be_kept(change: SettingChange, cluster: ClusterConfig, config: EffectiveConfig) -> bool:
    """Return whether eligible leader replicas would lower a setting in effect, unless a topic has it too."""
    if change.name != "min.insync.replicas" or not _is_sensible(_ELR, cluster, config):
        return False
    return int(resolve(cluster.changed(_ELR.role, _ELR.name, _ELR.value))[change.name]) < int(config[change.name])
