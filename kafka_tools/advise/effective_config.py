"""The settings in effect: the defaults and conflict rules of a Kafka version, applied to the written settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from checker.errors import InputError
from kafka_tools.advise.broker_disks import UNKNOWN
from kafka_tools.advise.cluster import ClusterConfig, lacks_controller
from kafka_tools.advise.configuration_keys import (
    BY_DURATION,
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    MOST,
    MOST_REPLICAS,
    Role,
    key_of,
)
from kafka_tools.advise.controller_mode import UNKNOWN_NOTE
from kafka_tools.advise.frameworks import offset_commits
from kafka_tools.advise.versions import unexplored_bugs
from specs.kafka_releases import release_number
from specs.kafka_versions import (
    ACKS_ALL_BY_DEFAULT,
    CONSUMER_PROTOCOL_EARLY_ACCESS,
    ELIGIBLE_LEADER_REPLICAS,
    ELIGIBLE_LEADER_REPLICAS_BY_DEFAULT,
    IDEMPOTENCE_DECLARED_DEFAULT,
    IDEMPOTENT_BY_DEFAULT,
    KRAFT_ONLY,
    LINGER_5_BY_DEFAULT,
    MIN_ISR_CAPPED,
    PRODUCER_EXPIRATION_SETTING,
    REFUSES_DEFAULT_IN_CONFLICT,
    RESET_BY_DURATION,
    RETRIES_UNLIMITED_BY_DEFAULT,
    TWO_PHASE_COMMIT_SETTING,
    VERIFIES_TRANSACTIONS,
    Conflict,
    catalogue_entry,
    idempotence_conflicts,
)


@dataclass(frozen=True)
class EffectiveSetting:
    """The value of a setting in effect, and its origin: a file and line, a default, or another setting.

    `is_written`: a file, the command line or a framework sets it.
    """

    value: str
    origin: str
    is_written: bool = False


@dataclass(frozen=True)
class EffectiveConfig:
    """The settings in effect, by name.

    `notes` are sentences for the user. `refusal` is the reason why Kafka would not start, in its own terms, or None.
    `has_short_delivery_timeout`: delivery.timeout.ms is set below Kafka's default.
    `hides_aborted_records`: the producer is transactional, and consumers read committed records only.
    """

    choices: Mapping[str, EffectiveSetting]
    notes: tuple[str, ...] = ()
    refusal: str | None = None
    is_transactional: bool = False
    has_short_delivery_timeout: bool = False
    hides_aborted_records: bool = False

    def __getitem__(self, name: str) -> str:
        return self.choices[name].value


@dataclass
class _ConfigResolution:
    """The settings of a cluster while they are resolved."""

    cluster: ClusterConfig
    choices: dict[str, EffectiveSetting] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    refusal: str | None = None
    used: set[tuple[Role, str]] = field(default_factory=set)

    def refuse(self, why: str) -> None:
        """Keep the first reason why Kafka would not start."""
        self.refusal = self.refusal or why

    def choose(self, name: str, value: str, origin: str) -> None:
        """Set a setting and its origin."""
        self.choices[name] = EffectiveSetting(value, origin)

    def take(self, name: str, default: str, *places: tuple[Role, str], why: str = "") -> str:
        """Set a setting to its first written value, or to its default; return the value."""
        for role, written in places:
            given = self.cluster.written.get((role, written))
            if given is not None:
                self.choices[name] = EffectiveSetting(given.value, given.where, is_written=True)
                self.used.add((role, written))
                return given.value
        is_of_client = places[0][0] in ("producer", "consumer")
        product = _product(self.cluster) if is_of_client else f"Kafka {self.cluster.version}"
        self.choose(name, default, why or f"default of {product}")
        return default


def _product(cluster: ClusterConfig) -> str:
    return "librdkafka" if cluster.client == "librdkafka" else f"Kafka {cluster.version}"


def resolve(cluster: ClusterConfig) -> EffectiveConfig:
    """Return the settings in effect.

    Source: ProducerConfig.postProcessAndValidateIdempotenceConfigs, KafkaProducer.configureDeliveryTimeout,
    rdkafka_conf.c; TopicConfig and ServerLogConfigs; KIP-679, KAFKA-13598, KAFKA-13673, KAFKA-17927.
    """
    resolution = _ConfigResolution(cluster, notes=list(cluster.notes))
    if cluster.client == "librdkafka":
        _resolve_librdkafka_producer(resolution)
    else:
        _resolve_java_producer(resolution)
    _resolve_topic(resolution)
    _resolve_consumer(resolution)
    is_transactional = ("producer", "transactional.id") in cluster.written
    controller = cluster.controller.value if cluster.controller is not None else ""
    bugs = unexplored_bugs(cluster.version, cluster.client, controller, is_transactional=is_transactional)
    resolution.notes.extend(filter(None, [bugs]))
    hides_aborted_records = is_transactional and _resolve_isolation(resolution) == "read_committed"
    _resolve_cluster(resolution)
    _note_internal_topics(resolution)
    _resolve_times(resolution)
    _list_others(resolution)
    return EffectiveConfig(
        resolution.choices,
        tuple(resolution.notes),
        resolution.refusal,
        is_transactional,
        _has_short_delivery_timeout(cluster),
        hides_aborted_records,
    )


DEFAULT_DELIVERY_TIMEOUT, LIBRDKAFKA_DELIVERY_TIMEOUT = 120_000, 300_000
"""The default of delivery.timeout.ms of Kafka and of librdkafka, in ms."""


def _has_short_delivery_timeout(cluster: ClusterConfig) -> bool:
    """Return whether delivery.timeout.ms is set below Kafka's default; in librdkafka 0 is no timeout."""
    given = cluster.get("producer", "delivery.timeout.ms")
    if given is None or (given == "0" and cluster.client == "librdkafka"):
        return False
    return int(given) < DEFAULT_DELIVERY_TIMEOUT


# The producer.

DROPPED_DEFAULT = "turned the default off"
"""The end of the origin of enable.idempotence=false after a conflict."""

_IN_FLIGHT = "max.in.flight.requests.per.connection"


def _conflicts(cluster: ClusterConfig) -> list[Conflict]:
    """Return the written settings that are incompatible with idempotence."""
    retries, in_flight = cluster.get("producer", "retries"), cluster.get("producer", _IN_FLIGHT)
    return idempotence_conflicts(
        cluster.get("producer", "acks"),
        None if retries is None else int(retries),
        None if in_flight is None else int(in_flight),
    )


def _resolve_java_producer(resolution: _ConfigResolution) -> None:
    cluster, version = resolution.cluster, resolution.cluster.version
    wanted = cluster.get("producer", "enable.idempotence")
    transactional = cluster.written.get(("producer", "transactional.id"))
    conflicts = _conflicts(cluster)
    if transactional is not None and wanted == "false":
        resolution.refuse("ConfigException: a transactional.id cannot be set without enable.idempotence")
    is_wanted = wanted == "true" or transactional is not None
    by_default = wanted is None and IDEMPOTENT_BY_DEFAULT.applies_to(version)
    if is_wanted and conflicts:
        resolution.refuse(f"ConfigException: {conflicts[0].requirement} for an idempotent producer")
    if not is_wanted and by_default and REFUSES_DEFAULT_IN_CONFLICT.applies_to(version):
        for conflict in conflicts:
            if conflict.setting == _IN_FLIGHT:
                resolution.refuse(
                    f"ConfigException: {conflict.requirement} for an idempotent producer, which it is by default"
                )
    _resolve_idempotence(resolution, is_wanted, by_default, conflicts)
    is_on = resolution.choices["enable.idempotence"].value == "true"
    acks = "all" if ACKS_ALL_BY_DEFAULT.applies_to(version) else "1"
    resolution.take("acks", "all" if is_on else acks, ("producer", "acks"))
    # KafkaProducer.configureRetries: before 2.1 an idempotent producer has another default.
    retries = 2**31 - 1 if is_on or RETRIES_UNLIMITED_BY_DEFAULT.applies_to(version) else 0
    resolution.take("retries", str(retries), ("producer", "retries"))
    resolution.take(_IN_FLIGHT, "5", ("producer", _IN_FLIGHT))
    _check_timeouts(resolution)
    _check_two_phase_commit(resolution)


def _resolve_idempotence(
    resolution: _ConfigResolution, is_wanted: bool, by_default: bool, conflicts: list[Conflict]
) -> None:
    cluster = resolution.cluster
    given = cluster.written.get(("producer", "enable.idempotence"))
    if given is not None:
        resolution.choose("enable.idempotence", given.value, given.where)
    elif is_wanted:
        resolution.choose("enable.idempotence", "true", "a transactional.id is set")
    elif not by_default:
        resolution.choose("enable.idempotence", "false", f"default of {_product(cluster)}")
        if IDEMPOTENCE_DECLARED_DEFAULT.applies_to(cluster.version):
            fixes = " or ".join(sorted((IDEMPOTENT_BY_DEFAULT.since, *IDEMPOTENT_BY_DEFAULT.backports)))
            resolution.notes.append(
                f"Kafka {cluster.version} declares idempotence on by default and leaves it off "
                f"({IDEMPOTENT_BY_DEFAULT.ticket}): set enable.idempotence=true, or use {fixes}"
            )
    elif conflicts:
        name = conflicts[0].setting
        written = cluster.written["producer", name]
        resolution.choose("enable.idempotence", "false", f"{name}={written.value} {DROPPED_DEFAULT}")
        resolution.notes.append(
            f"idempotence is off: {name}={written.value} ({written.where}) conflicts with the default, "
            "which Kafka then drops; the client only logs it (KAFKA-13673)"
        )
    else:
        resolution.choose("enable.idempotence", "true", f"default of {_product(cluster)}")


def _check_timeouts(resolution: _ConfigResolution) -> None:
    cluster = resolution.cluster
    delivery = cluster.get("producer", "delivery.timeout.ms")
    if delivery is None or not RETRIES_UNLIMITED_BY_DEFAULT.applies_to(cluster.version):
        return
    linger = int(cluster.get("producer", "linger.ms") or (5 if LINGER_5_BY_DEFAULT.applies_to(cluster.version) else 0))
    request = int(cluster.get("producer", "request.timeout.ms") or 30_000)
    if int(delivery) < min(linger + request, MOST):
        resolution.refuse("ConfigException: delivery.timeout.ms has to be at least linger.ms + request.timeout.ms")


def _check_two_phase_commit(resolution: _ConfigResolution) -> None:
    """Refuse a timeout of transactions with two-phase commit (ProducerConfig.postProcessParsedConfig, KIP-939)."""
    cluster = resolution.cluster
    has_it = TWO_PHASE_COMMIT_SETTING.applies_to(cluster.version)
    is_on = cluster.get("producer", "transaction.two.phase.commit.enable") == "true"
    if has_it and is_on and cluster.get("producer", "transaction.timeout.ms") is not None:
        resolution.refuse(
            "ConfigException: transaction.timeout.ms cannot be set with transaction.two.phase.commit.enable=true"
        )


def _resolve_librdkafka_producer(resolution: _ConfigResolution) -> None:
    cluster = resolution.cluster
    is_on = resolution.take("enable.idempotence", "false", ("producer", "enable.idempotence")) == "true"
    if cluster.written.get(("producer", "transactional.id")) is not None and not is_on:
        if cluster.get("producer", "enable.idempotence") == "false":
            resolution.refuse("librdkafka's invalid configuration: transactional.id requires enable.idempotence=true")
        is_on = True
        resolution.choose("enable.idempotence", "true", "a transactional.id is set")
    conflicts = _conflicts(cluster) if is_on else []
    if conflicts:
        resolution.refuse(f"librdkafka's invalid configuration: {conflicts[0].requirement} for an idempotent producer")
    resolution.take("acks", "all", ("producer", "acks"))
    resolution.take("retries", str(2**31 - 1), ("producer", "retries"))
    adjusted = "set by enable.idempotence=true" if is_on else ""
    resolution.take(_IN_FLIGHT, "5" if is_on else "1000000", ("producer", _IN_FLIGHT), why=adjusted)


# Topic and broker.


def _resolve_topic(resolution: _ConfigResolution) -> None:
    cluster, version = resolution.cluster, resolution.cluster.version
    has_zookeeper = cluster.get("broker", "zookeeper.connect") is not None
    if KRAFT_ONLY.applies_to(version) and has_zookeeper and cluster.get("broker", "process.roles") is None:
        resolution.refuse(f"ConfigException: Kafka {version} has no ZooKeeper mode: process.roles has to be set")
    _resolve_replication_factor(resolution)
    _resolve_eligible_leader_replicas(resolution)
    _resolve_min_isr(resolution)
    _resolve_unclean_elections(resolution)
    resolution.take("flush.messages", "never", ("topic", "flush.messages"), ("broker", "log.flush.interval.messages"))
    replicas, in_sync = int(resolution.choices["replication.factor"].value), resolution.choices["min.insync.replicas"]
    if int(in_sync.value) > replicas:
        resolution.notes.append(
            f"min.insync.replicas={in_sync.value} is above the replication factor {replicas}: "
            + (
                f"{replicas} is in effect"
                if MIN_ISR_CAPPED.applies_to(version)
                else "every write with acks=all is refused"
            )
        )


def _resolve_eligible_leader_replicas(resolution: _ConfigResolution) -> None:
    """Set the feature. Without information it is off, as on a cluster that was created before 4.1."""
    cluster, name = resolution.cluster, ELIGIBLE_LEADER_REPLICAS_VERSION
    is_for_new_clusters = ELIGIBLE_LEADER_REPLICAS_BY_DEFAULT.applies_to(cluster.version)
    why = "assumed: an upgraded cluster" if is_for_new_clusters else ""
    level = resolution.take(name, "0", ("broker", name), why=why)
    if level == "1" and not ELIGIBLE_LEADER_REPLICAS.applies_to(cluster.version):
        resolution.refuse(f"Kafka {cluster.version} has no feature {name} (KIP-966, 4.0)")
    if is_for_new_clusters and ("broker", name) not in cluster.written:
        resolution.notes.append(
            "eligible leader replicas are on in a cluster that was created with 4.1 or later, and off in one that was "
            f"upgraded: the answers are for an upgraded cluster; for a new one, add --set {name}=1"
        )


def _resolve_min_isr(resolution: _ConfigResolution) -> None:
    """Set min.insync.replicas. With eligible leader replicas, the value of a broker's file is not in effect.

    The active controller then records its own value for the cluster, and removes the dynamic values of brokers.
    Source: ActivationRecordsGenerator, ConfigurationControlManager.maybeGenerateElrSafetyRecords.
    """
    cluster, name = resolution.cluster, "min.insync.replicas"
    if resolution.choices[ELIGIBLE_LEADER_REPLICAS_VERSION].value == "0":
        resolution.take(name, "1", ("topic", name), ("broker", name))
        return
    resolution.take(name, "1", ("topic", name), ("controller", name), why="default of the controller")
    given = cluster.written.get(("broker", name))
    if given is None or resolution.choices[name].is_written:
        return
    resolution.notes.append(
        f"with eligible leader replicas, {name} of the active controller's file applies to the cluster, not that of a "
        f"broker ({given.where}): name the controller's file; if it has the same value, add --set {name}={given.value}"
    )


def _resolve_unclean_elections(resolution: _ConfigResolution) -> None:
    """Set whether the controller may elect a replica outside the ISR: as the topic says, or else its own file.

    Source: ConfigurationControlManager.getTopicConfig. A controller of ZooKeeper is a broker.
    """
    name = "unclean.leader.election.enable"
    is_unread = lacks_controller(resolution.cluster.written)
    why = "assumed: the controller's file is not given" if is_unread else ""
    resolution.take(name, "false", ("topic", name), ("controller", name), why=why)
    if is_unread and not resolution.choices[name].is_written:
        resolution.notes.append(
            f"the controller's {name} is not read, and its default false is assumed: the file of a broker alone does "
            "not decide it. Name the controller's file"
        )


def _resolve_replication_factor(resolution: _ConfigResolution) -> None:
    cluster = resolution.cluster
    if cluster.replication_factor is not None:
        resolution.choose("replication.factor", str(cluster.replication_factor), "--replication-factor")
    elif cluster.has_broker_file:
        resolution.take(
            "replication.factor", "1", ("topic", "replication.factor"), ("broker", "default.replication.factor")
        )
    else:
        resolution.take(
            "replication.factor",
            "3",
            ("topic", "replication.factor"),
            why="assumed; set it with --replication-factor",
        )
    replicas = resolution.choices["replication.factor"]
    if int(replicas.value) > MOST_REPLICAS:
        raise InputError(
            f"{replicas.origin}: {replicas.value} replicas take too long to explore: ask about fewer with "
            f"--replication-factor, which takes up to {MOST_REPLICAS}"
        )


def _resolve_cluster(resolution: _ConfigResolution) -> None:
    """Set what controls the cluster and whether brokers keep their disks, if that is known."""
    cluster = resolution.cluster
    if cluster.controller is None:
        resolution.notes.append(UNKNOWN_NOTE)
    else:
        resolution.choices[cluster.controller.name] = EffectiveSetting(
            cluster.controller.value, cluster.controller.where, is_written=True
        )
    disks = cluster.disks
    if disks is not None and disks.value != UNKNOWN:
        origin = f"{disks.written_name} ({disks.where})"
        resolution.choices[disks.name] = EffectiveSetting(disks.value, origin, is_written=True)
    if cluster.ephemeral_disks:
        resolution.notes.append(
            f"a broker may return with an empty disk ({cluster.ephemeral_disks}): it ends with its pod or container"
        )
    elif cluster.has_broker_file and (disks is None or disks.value == UNKNOWN):
        resolution.notes.append("the files do not show whether a broker keeps its disk when it restarts")


_OF_INTERNAL_TOPICS = {
    "offsets.topic.replication.factor": "lose the committed offsets, so that consumers begin at auto.offset.reset",
    "transaction.state.log.replication.factor": "lose what the coordinator has decided, so that transactions hang or "
    "are torn",
    "transaction.state.log.min.isr": "lose what the coordinator has decided, so that transactions hang or are torn",
}
"""By setting of an internal topic, the harm if one broker alone has its records."""


def _note_internal_topics(resolution: _ConfigResolution) -> None:
    for name, harm in _OF_INTERNAL_TOPICS.items():
        given = resolution.cluster.written.get(("broker", name))
        if given is not None and int(given.value) < 2:
            resolution.notes.append(f"not explored: with {name}={given.value} ({given.where}) one lost disk can {harm}")


def _resolve_times(resolution: _ConfigResolution) -> None:
    """Set retention, timeouts and expiry, with Kafka's defaults."""
    cluster = resolution.cluster
    _resolve_retention(resolution)
    resolution.take("cleanup.policy", "delete", ("topic", "cleanup.policy"), ("broker", "log.cleanup.policy"))
    resolution.take("retention.bytes", "-1", ("topic", "retention.bytes"), ("broker", "log.retention.bytes"))
    resolution.take(
        "delete.retention.ms",
        "86400000",
        ("topic", "delete.retention.ms"),
        ("broker", "log.cleaner.delete.retention.ms"),
    )
    lag = "30000" if release_number(cluster.version) >= (2, 5, 0) else "10000"  # KIP-537
    resolution.take("replica.lag.time.max.ms", lag, ("broker", "replica.lag.time.max.ms"))
    for name, default in _OF_BROKER.items():
        resolution.take(name, default, ("broker", name))
    resolution.take("auto.leader.rebalance.enable", "true", ("controller", "auto.leader.rebalance.enable"))
    if VERIFIES_TRANSACTIONS.applies_to(cluster.version):
        name = "transaction.partition.verification.enable"
        resolution.take(name, "true", ("broker", name))
    if PRODUCER_EXPIRATION_SETTING.applies_to(cluster.version):
        resolution.take("producer.id.expiration.ms", "86400000", ("broker", "producer.id.expiration.ms"))
    else:
        # Before it, producer state expired with the transactional.id.
        resolution.take("producer.id.expiration.ms", "604800000", ("broker", "transactional.id.expiration.ms"))
    is_of_librdkafka = cluster.client == "librdkafka"
    has_longer_session = is_of_librdkafka or release_number(cluster.version) >= (3, 0, 0)  # KIP-735
    resolution.take(
        "session.timeout.ms", "45000" if has_longer_session else "10000", ("consumer", "session.timeout.ms")
    )
    resolution.take("max.poll.interval.ms", "300000", ("consumer", "max.poll.interval.ms"))
    resolution.take("auto.commit.interval.ms", "5000", ("consumer", "auto.commit.interval.ms"))
    delivery = LIBRDKAFKA_DELIVERY_TIMEOUT if is_of_librdkafka else DEFAULT_DELIVERY_TIMEOUT
    resolution.take("delivery.timeout.ms", str(delivery), ("producer", "delivery.timeout.ms"))


_OF_BROKER = {
    "offsets.retention.minutes": "10080",
    "transactional.id.expiration.ms": "604800000",
}


def _resolve_retention(resolution: _ConfigResolution) -> None:
    """Set retention.ms: the topic's, else the broker's in the finest unit (KafkaConfig.logRetentionTimeMillis)."""
    for name, factor in (
        ("log.retention.ms", 1),
        ("log.retention.minutes", 60_000),
        ("log.retention.hours", 3_600_000),
    ):
        given = resolution.cluster.written.get(("broker", name))
        if given is not None and ("topic", "retention.ms") not in resolution.cluster.written:
            value = "-1" if int(given.value) < 0 else str(int(given.value) * factor)
            resolution.choices["retention.ms"] = EffectiveSetting(value, given.where, is_written=True)
            resolution.used.add(("broker", name))
            return
    resolution.take("retention.ms", "604800000", ("topic", "retention.ms"))


def _list_others(resolution: _ConfigResolution) -> None:
    """Add the written settings that are in no choice yet: those that another setting takes precedence over, too."""
    for (role, name), given in resolution.cluster.written.items():
        key = key_of(role, resolution.cluster.client, name)
        is_of_broker = role == "controller" and resolution.cluster.written.get(("broker", name)) == given
        if (role, name) in resolution.used or is_of_broker:
            continue
        if name not in resolution.choices:
            value = given.value if key is not None and key.shown else "set"
            resolution.choices[name] = EffectiveSetting(value, given.where, is_written=True)
        elif resolution.choices[name].origin != given.where and (key is None or not key.may_differ):
            resolution.notes.append(f"{name} of the {role} ({given.where}) is not in effect")
    for name, option in resolution.cluster.options.items():
        resolution.choices.setdefault(name, EffectiveSetting(option.value, option.where, is_written=True))


# The consumer.


def _resolve_reset(resolution: _ConfigResolution) -> None:
    reset = resolution.take("auto.offset.reset", "latest", ("consumer", "auto.offset.reset"))
    if reset.startswith(BY_DURATION):
        if not RESET_BY_DURATION.applies_to(resolution.cluster.version):
            resolution.refuse("ConfigException: auto.offset.reset has to be one of earliest, latest, none before 4.0")
        resolution.notes.append(
            "auto.offset.reset by duration is explored as latest: a consumer that is away for longer skips records"
        )


def _resolve_consumer(resolution: _ConfigResolution) -> None:
    cluster = resolution.cluster
    is_automatic = resolution.take("enable.auto.commit", "true", ("consumer", "enable.auto.commit")) == "true"
    _resolve_reset(resolution)
    if cluster.client == "java" and CONSUMER_PROTOCOL_EARLY_ACCESS.applies_to(cluster.version):
        _resolve_group_protocol(resolution)
    stores = False
    if cluster.client == "librdkafka":
        name = "enable.auto.offset.store"
        stores = resolution.take(name, "true", ("consumer", name)) == "true"
    commits = offset_commits(cluster.frameworks, cluster.options, is_automatic)
    if commits is not None:
        resolution.choose("commits", commits.when, commits.why)
        if cluster.commits is not None:
            resolution.notes.append(f"--commits has no effect: {commits.why}")
    elif is_automatic and stores:
        resolution.choose(
            "commits", "background", "enable.auto.commit: a timer commits the offsets of returned records"
        )
    elif is_automatic and cluster.client == "java":
        _resolve_automatic_commits(resolution)
    elif cluster.commits is not None:
        resolution.choose("commits", cluster.commits, "--commits")
    else:
        resolution.choose("commits", "last", "assumed; set it with --commits")


_UNSUPPORTED = {
    "classic": ("group.remote.assignor",),
    "consumer": ("partition.assignment.strategy", "heartbeat.interval.ms", "session.timeout.ms"),
}
"""By group protocol, the settings that a consumer may not have; a blank value is none."""

_REFUSES_UNSUPPORTED = {"classic": (3, 9, 0), "consumer": (4, 0, 0)}
"""The first release that refuses them."""


def _resolve_group_protocol(resolution: _ConfigResolution) -> None:
    """Set group.protocol, and refuse what does not go with it.

    Source: ConsumerConfig.checkUnsupportedConfigsPostProcess (KAFKA-17338), checkGroupRemoteAssignor before 4.0.
    """
    cluster = resolution.cluster
    protocol = resolution.take("group.protocol", "classic", ("consumer", "group.protocol"))
    if release_number(cluster.version) >= _REFUSES_UNSUPPORTED[protocol]:
        for name in _UNSUPPORTED[protocol]:
            given = cluster.written.get(("consumer", name))
            if given is not None and given.value:
                resolution.refuse(
                    f"ConfigException: {name} ({given.where}) cannot be set with group.protocol={protocol} "
                    f"({resolution.choices['group.protocol'].origin})"
                )
    if protocol == "consumer" and cluster.controller is not None and cluster.controller.value == "zookeeper":
        resolution.refuse(
            f"UnsupportedVersionException: group.protocol=consumer ({resolution.choices['group.protocol'].origin}) "
            f"needs brokers with KRaft (KIP-848), and ZooKeeper controls the cluster ({cluster.controller.where}): "
            "set group.protocol=classic"
        )


def _resolve_isolation(resolution: _ConfigResolution) -> str:
    """Set isolation.level, which matters with a transactional producer; return it."""
    default = "read_committed" if resolution.cluster.client == "librdkafka" else "read_uncommitted"
    return resolution.take("isolation.level", default, ("consumer", "isolation.level"))


def _resolve_automatic_commits(resolution: _ConfigResolution) -> None:
    """Set when Kafka's consumer commits automatically. docs/findings.md has the rule by release."""
    version = resolution.cluster.version
    bugs = [name for name in ("C12", "C14") if catalogue_entry(name).exists_in(version)]
    protocol = resolution.choices.get("group.protocol")
    has_new_protocol = protocol is not None and protocol.value == "consumer"
    if has_new_protocol and bugs:
        resolution.choose("commits", "background", "enable.auto.commit with group.protocol=consumer")
        resolution.notes.append(
            f"with group.protocol=consumer, the consumer of Kafka {version} may commit a returned record automatically "
            f"before it is processed ({bugs[0]}, docs/findings.md): set enable.auto.commit=false and "
            "commit after processing, or set group.protocol=classic"
        )
    else:
        resolution.choose("commits", "auto", "enable.auto.commit")
