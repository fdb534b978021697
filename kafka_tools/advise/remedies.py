"""The changes of settings that the search tries, and those of their costs that exploration cannot show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_tools.advise.cluster import ClusterConfig
from kafka_tools.advise.configuration_keys import Role
from kafka_tools.advise.effective_config import EffectiveConfig, resolve
from kafka_tools.advise.questions import GuaranteeQuestion, acknowledges_implicitly
from specs.kafka_versions import BUMPS_EPOCH_ON_LOST_STATE, LAST_KNOWN_LEADER_MUST_LIVE

_IN_FLIGHT = "max.in.flight.requests.per.connection"


@dataclass(frozen=True)
class SettingChange:
    """A setting and its new value. `cost`: its cost besides availability while brokers are down."""

    role: Role
    name: str
    value: str
    cost: str = ""

    def __str__(self) -> str:
        return f"{self.name}={self.value}"


_ACKS = SettingChange("producer", "acks", "all", "an acknowledgement waits for every in-sync replica")
_IDEMPOTENCE = SettingChange("producer", "enable.idempotence", "true")
_LIBRDKAFKA_IDEMPOTENCE = SettingChange(
    "producer",
    "enable.idempotence",
    "true",
    "with more than one request in flight, an idempotent librdkafka producer may report a refused record as delivered "
    "(docs/idempotence.md, I2)",
)
_EARLIER_IDEMPOTENCE = SettingChange(
    "producer",
    "enable.idempotence",
    "true",
    "explored with the client of 2.5 and later: an earlier one resets its sequences when a broker has lost them, and "
    "may then still write a record twice or out of order (docs/idempotence.md, I4 and I5)",
)
_FIVE_IN_FLIGHT = SettingChange("producer", _IN_FLIGHT, "5")
_ONE_WITHOUT_IMPLICIT_ACKS = SettingChange(
    "producer",
    _IN_FLIGHT,
    "1",
    "one request at a time on each connection. Only librdkafka needs it: Kafka's idempotent producer does not "
    "acknowledge a refused record (docs/idempotence.md, I2)",
)
_RETRIES = SettingChange("producer", "retries", "2147483647")
_MIN_ISR = SettingChange("topic", "min.insync.replicas", "2")
_NO_UNCLEAN = SettingChange(
    "topic",
    "unclean.leader.election.enable",
    "false",
    "while every in-sync replica is down, the partition has no leader",
)
_REPLICAS = SettingChange("topic", "replication.factor", "3", "three copies on disk and on the network")
_ELR = SettingChange("broker", "eligible.leader.replicas.version", "1")
_FLUSH = SettingChange(
    "topic",
    "flush.messages",
    "1",
    "every append waits for the disk; Kafka's documentation advises against it and relies on replicas that do not lose "
    "power together (broker.rack), since 4.1 also on eligible leader replicas",
)
_EARLIEST = SettingChange(
    "consumer", "auto.offset.reset", "earliest", "without a committed offset, the consumer reads from the beginning"
)
_MANUAL = SettingChange("consumer", "enable.auto.commit", "false", "the application commits, after processing")
_STORE = SettingChange(
    "consumer", "enable.auto.offset.store", "false", "the application stores offsets, after processing"
)

_COMMITTED = SettingChange(
    "consumer",
    "isolation.level",
    "read_committed",
    "consumers get the records of a transaction when it is committed, and skip those of aborted ones",
)

_DURABLE = (_ACKS, _ONE_WITHOUT_IMPLICIT_ACKS, _MIN_ISR, _NO_UNCLEAN, _ELR, _REPLICAS, _FLUSH)

_CHANGES: Mapping[str, tuple[SettingChange, ...]] = {
    "loss": _DURABLE,
    "duplicates": (
        _IDEMPOTENCE,
        _EARLIER_IDEMPOTENCE,
        _LIBRDKAFKA_IDEMPOTENCE,
        _ACKS,
        _FIVE_IN_FLIGHT,
        _RETRIES,
        _COMMITTED,
    ),
    "reorder": (
        _IDEMPOTENCE,
        _EARLIER_IDEMPOTENCE,
        _LIBRDKAFKA_IDEMPOTENCE,
        _ACKS,
        _FIVE_IN_FLIGHT,
        _RETRIES,
        _COMMITTED,
    ),
    "stuck": (_IDEMPOTENCE, _EARLIER_IDEMPOTENCE, _LIBRDKAFKA_IDEMPOTENCE, _ACKS, _FIVE_IN_FLIGHT, _RETRIES),
    "vanishing-reads": (_MIN_ISR, _NO_UNCLEAN, _ELR, _REPLICAS, _FLUSH),
    "gaps": (_EARLIEST, _STORE, _MANUAL),
    "reprocessing": (_MANUAL,),
}
"""By question, the changes that may help. The search prefers the first of two changes of equal size."""


@dataclass(frozen=True)
class Suggestion:
    """A remedy that the model does not explore: what to do, against what, and the argument for it."""

    text: str
    against: str
    argument: str


def is_last_resort(change: SettingChange) -> bool:
    """Return whether a change is offered only if no other change helps."""
    return change is _FLUSH


def changes_for(question: GuaranteeQuestion, cluster: ClusterConfig) -> list[SettingChange]:
    """Return the changes to try, without the values in effect, fewer replicas, and features that the version lacks."""
    config = resolve(cluster)
    return [change for change in _CHANGES[question.name] if _is_sensible(change, cluster, config)]


def _idempotence_of(cluster: ClusterConfig) -> SettingChange:
    """Return the change to an idempotent producer, with the cost that the cluster's client has."""
    if cluster.client == "librdkafka":
        return _LIBRDKAFKA_IDEMPOTENCE
    return _IDEMPOTENCE if BUMPS_EPOCH_ON_LOST_STATE.applies_to(cluster.version) else _EARLIER_IDEMPOTENCE


def _is_sensible(change: SettingChange, cluster: ClusterConfig, config: EffectiveConfig) -> bool:
    if change is _ELR and not LAST_KNOWN_LEADER_MUST_LIVE.applies_to(cluster.version):
        # 4.0 has the feature, with the inverted test of KAFKA-19522.
        return False
    if change.name == "enable.idempotence" and change is not _idempotence_of(cluster):
        return False
    if change is _ONE_WITHOUT_IMPLICIT_ACKS and not acknowledges_implicitly(cluster, config):
        return False
    if change in (_REPLICAS, _MIN_ISR) and int(config[change.name]) >= int(change.value):
        return False
    choice = config.choices.get(change.name)
    return choice is not None and choice.value != change.value
