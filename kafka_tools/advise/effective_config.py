"""What a configuration comes to: the defaults and conflict rules of a version of Kafka, applied to what is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_tools.advise.cluster import ClusterConfig
from kafka_tools.advise.configuration_keys import BY_DURATION, Role
from specs.kafka_versions import (
    ACKS_ALL_BY_DEFAULT,
    ELIGIBLE_LEADER_REPLICAS_BY_DEFAULT,
    IDEMPOTENT_BY_DEFAULT,
    KRAFT_ONLY,
    LINGER_5_BY_DEFAULT,
    MIN_ISR_CAPPED,
    REFUSES_DEFAULT_IN_CONFLICT,
    RESET_BY_DURATION,
    Conflict,
    idempotence_conflicts,
)


@dataclass(frozen=True)
class EffectiveSetting:
    """The value of a setting in effect, and why it is that."""

    value: str
    origin: str


@dataclass(frozen=True)
class EffectiveConfig:
    """The settings in effect, by name; what is worth saying; `refusal`: why it would not start, in Kafka's terms."""

    choices: Mapping[str, EffectiveSetting]
    notes: tuple[str, ...] = ()
    refusal: str | None = None
    is_transactional: bool = False

    def __getitem__(self, name: str) -> str:
        return self.choices[name].value


@dataclass
class _ConfigResolution:
    """The settings of a cluster while they are settled."""

    cluster: ClusterConfig
    choices: dict[str, EffectiveSetting] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    refusal: str | None = None

    def refuse(self, why: str) -> None:
        """Remember the first reason for which something would not start."""
        self.refusal = self.refusal or why

    def choose(self, name: str, value: str, origin: str) -> None:
        """Settle a setting."""
        self.choices[name] = EffectiveSetting(value, origin)

    def take(self, name: str, default: str, *places: tuple[Role, str], why: str = "") -> str:
        """Settle a setting from the first place where it is written, else by its default."""
        for role, written in places:
            given = self.cluster.written.get((role, written))
            if given is not None:
                self.choose(name, given.value, given.where)
                return given.value
        is_of_client = places[0][0] in ("producer", "consumer")
        product = _product(self.cluster) if is_of_client else f"Kafka {self.cluster.version}"
        self.choose(name, default, why or f"default of {product}")
        return default


def _product(cluster: ClusterConfig) -> str:
    return "librdkafka" if cluster.client == "librdkafka" else f"Kafka {cluster.version}"


def settle(cluster: ClusterConfig) -> EffectiveConfig:
    """Return the settings in effect.

    Source: ProducerConfig.postProcessAndValidateIdempotenceConfigs, KafkaProducer.configureDeliveryTimeout,
    rdkafka_conf.c; TopicConfig and ServerLogConfigs; KIP-679, KAFKA-13598, KAFKA-13673, KAFKA-17927.
    """
    settling = _ConfigResolution(cluster)
    if cluster.client == "librdkafka":
        _settle_librdkafka_producer(settling)
    else:
        _settle_java_producer(settling)
    _settle_topic(settling)
    _settle_consumer(settling)
    is_transactional = ("producer", "transactional.id") in cluster.written
    return EffectiveConfig(settling.choices, tuple(settling.notes), settling.refusal, is_transactional)


# The producer.

_IN_FLIGHT = "max.in.flight.requests.per.connection"


def _conflicts(cluster: ClusterConfig) -> list[Conflict]:
    """Return the written settings that are incompatible with idempotence."""
    retries, in_flight = cluster.get("producer", "retries"), cluster.get("producer", _IN_FLIGHT)
    return idempotence_conflicts(
        cluster.get("producer", "acks"),
        None if retries is None else int(retries),
        None if in_flight is None else int(in_flight),
    )


def _settle_java_producer(settling: _ConfigResolution) -> None:
    cluster, version = settling.cluster, settling.cluster.version
    wanted = cluster.get("producer", "enable.idempotence")
    transactional = cluster.written.get(("producer", "transactional.id"))
    conflicts = _conflicts(cluster)
    if transactional is not None and wanted == "false":
        settling.refuse("ConfigException: a transactional.id cannot be set without enable.idempotence")
    is_wanted = wanted == "true" or transactional is not None
    by_default = wanted is None and IDEMPOTENT_BY_DEFAULT.applies_to(version)
    if is_wanted and conflicts:
        settling.refuse(f"ConfigException: {conflicts[0].requirement} for an idempotent producer")
    if not is_wanted and by_default and REFUSES_DEFAULT_IN_CONFLICT.applies_to(version):
        for conflict in conflicts:
            if conflict.setting == _IN_FLIGHT:
                settling.refuse(
                    f"ConfigException: {conflict.requirement} for an idempotent producer, which it is by default"
                )
    _settle_idempotence(settling, is_wanted, by_default, conflicts)
    is_on = settling.choices["enable.idempotence"].value == "true"
    acks = "all" if ACKS_ALL_BY_DEFAULT.applies_to(version) else "1"
    settling.take("acks", "all" if is_on else acks, ("producer", "acks"))
    settling.take("retries", str(2**31 - 1), ("producer", "retries"))
    settling.take(_IN_FLIGHT, "5", ("producer", _IN_FLIGHT))
    _check_timeouts(settling)


def _settle_idempotence(
    settling: _ConfigResolution, is_wanted: bool, by_default: bool, conflicts: list[Conflict]
) -> None:
    cluster = settling.cluster
    given = cluster.written.get(("producer", "enable.idempotence"))
    if given is not None:
        settling.choose("enable.idempotence", given.value, given.where)
    elif is_wanted:
        settling.choose("enable.idempotence", "true", "a transactional.id is set")
    elif not by_default:
        settling.choose("enable.idempotence", "false", f"default of {_product(cluster)}")
        if cluster.version == "3.0":
            settling.notes.append(
                "Kafka 3.0.0 declares idempotence on by default and leaves it off (KAFKA-13598): "
                "set enable.idempotence=true, or use 3.0.1"
            )
    elif conflicts:
        name = conflicts[0].setting
        written = cluster.written["producer", name]
        settling.choose("enable.idempotence", "false", f"{name}={written.value} turned the default off")
        settling.notes.append(
            f"idempotence is off: {name}={written.value} ({written.where}) conflicts with the default, "
            "which gives way; the client only logs it (KAFKA-13673)"
        )
    else:
        settling.choose("enable.idempotence", "true", f"default of {_product(cluster)}")


def _check_timeouts(settling: _ConfigResolution) -> None:
    cluster = settling.cluster
    delivery = cluster.get("producer", "delivery.timeout.ms")
    if delivery is None:
        return
    linger = int(cluster.get("producer", "linger.ms") or (5 if LINGER_5_BY_DEFAULT.applies_to(cluster.version) else 0))
    request = int(cluster.get("producer", "request.timeout.ms") or 30_000)
    if int(delivery) < linger + request:
        settling.refuse("ConfigException: delivery.timeout.ms has to be at least linger.ms + request.timeout.ms")


def _settle_librdkafka_producer(settling: _ConfigResolution) -> None:
    cluster = settling.cluster
    is_on = settling.take("enable.idempotence", "false", ("producer", "enable.idempotence")) == "true"
    if cluster.written.get(("producer", "transactional.id")) is not None and not is_on:
        if cluster.get("producer", "enable.idempotence") == "false":
            settling.refuse("librdkafka's invalid configuration: transactional.id requires enable.idempotence=true")
        is_on = True
        settling.choose("enable.idempotence", "true", "a transactional.id is set")
    conflicts = _conflicts(cluster) if is_on else []
    if conflicts:
        settling.refuse(f"librdkafka's invalid configuration: {conflicts[0].requirement} for an idempotent producer")
    settling.take("acks", "all", ("producer", "acks"))
    settling.take("retries", str(2**31 - 1), ("producer", "retries"))
    adjusted = "enable.idempotence=true made it that" if is_on else ""
    settling.take(_IN_FLIGHT, "5" if is_on else "1000000", ("producer", _IN_FLIGHT), why=adjusted)


# Topic and broker.


def _settle_topic(settling: _ConfigResolution) -> None:
    cluster, version = settling.cluster, settling.cluster.version
    has_zookeeper = cluster.get("broker", "zookeeper.connect") is not None
    if KRAFT_ONLY.applies_to(version) and has_zookeeper and cluster.get("broker", "process.roles") is None:
        settling.refuse(f"ConfigException: Kafka {version} has no ZooKeeper mode: process.roles has to be set")
    _settle_replication_factor(settling)
    settling.take("min.insync.replicas", "1", ("topic", "min.insync.replicas"), ("broker", "min.insync.replicas"))
    settling.take(
        "unclean.leader.election.enable",
        "false",
        ("topic", "unclean.leader.election.enable"),
        ("broker", "unclean.leader.election.enable"),
    )
    settling.take("flush.messages", "never", ("topic", "flush.messages"), ("broker", "log.flush.interval.messages"))
    settling.take(
        "eligible.leader.replicas.version",
        "1" if ELIGIBLE_LEADER_REPLICAS_BY_DEFAULT.applies_to(version) else "0",
        ("broker", "eligible.leader.replicas.version"),
        why=f"default of a new cluster of Kafka {version}",
    )
    replicas, in_sync = int(settling.choices["replication.factor"].value), settling.choices["min.insync.replicas"]
    if int(in_sync.value) > replicas:
        settling.notes.append(
            f"min.insync.replicas={in_sync.value} is above the replication factor {replicas}: "
            + (f"{replicas} is in effect" if MIN_ISR_CAPPED.applies_to(version) else "acks=all is refused for ever")
        )


def _settle_replication_factor(settling: _ConfigResolution) -> None:
    cluster = settling.cluster
    has_broker = any(role == "broker" for role, _ in cluster.written)
    if cluster.replication_factor is not None:
        settling.choose("replication.factor", str(cluster.replication_factor), "--replication-factor")
    elif has_broker:
        settling.take(
            "replication.factor", "1", ("topic", "replication.factor"), ("broker", "default.replication.factor")
        )
    else:
        settling.take(
            "replication.factor",
            "3",
            ("topic", "replication.factor"),
            why="assumed: --replication-factor says otherwise",
        )


# The consumer.


def _settle_reset(settling: _ConfigResolution) -> None:
    reset = settling.take("auto.offset.reset", "latest", ("consumer", "auto.offset.reset"))
    if reset.startswith(BY_DURATION):
        if not RESET_BY_DURATION.applies_to(settling.cluster.version):
            settling.refuse("ConfigException: auto.offset.reset has to be one of earliest, latest, none before 4.0")
        settling.notes.append("auto.offset.reset by duration is explored as latest: a consumer away for longer skips")


def _settle_consumer(settling: _ConfigResolution) -> None:
    cluster = settling.cluster
    # Spring's listener container commits after processing unless it is told to leave that to the client.
    automatic = "false" if cluster.is_spring else "true"
    why = "default of Spring's container" if cluster.is_spring else ""
    is_automatic = settling.take("enable.auto.commit", automatic, ("consumer", "enable.auto.commit"), why=why) == "true"
    _settle_reset(settling)
    stores = False
    if cluster.client == "librdkafka":
        name = "enable.auto.offset.store"
        stores = settling.take(name, "true", ("consumer", name)) == "true"
    if is_automatic and stores:
        settling.choose("commits", "background", "enable.auto.commit: a timer commits what was returned")
    elif is_automatic and cluster.client == "java":
        settling.choose("commits", "auto", "enable.auto.commit")
    elif cluster.commits is not None:
        settling.choose("commits", cluster.commits, "--commits")
    else:
        settling.choose("commits", "last", "assumed: --commits says otherwise")
