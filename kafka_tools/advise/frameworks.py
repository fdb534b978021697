"""The settings that frameworks give their clients, by version of Kafka, and when they commit offsets.

Sources: Worker.baseProducerConfigs, baseConsumerConfigs and exactlyOnceSourceTaskProducerConfigs of Kafka Connect;
StreamsConfig of Kafka Streams; AbstractMessageListenerContainer of Spring; ReactiveKafkaProducer and
ReactiveKafkaConsumer of SmallRye.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from checker.errors import InputError
from kafka_tools.advise.configuration_keys import Role
from kafka_tools.advise.written_settings import Framework, Precedence, WrittenSetting
from specs.kafka_versions import (
    CONNECT_DELIVERY_TIMEOUT,
    CONNECT_EXACTLY_ONCE,
    CONNECT_IDEMPOTENCE_OFF,
    CONNECT_KEEPS_REQUEST_TIMEOUT,
    CONNECT_OVERRIDES,
    CONNECT_OVERRIDES_BY_DEFAULT,
    STREAMS_DELIVERY_TIMEOUT,
    STREAMS_EXACTLY_ONCE_BETA,
    STREAMS_EXACTLY_ONCE_V2,
    STREAMS_EXACTLY_ONCE_V2_ALONE,
    Change,
)

_MOST = str(2**31 - 1)
_IN_FLIGHT = "max.in.flight.requests.per.connection"

SPRING_DISABLES_AUTO_COMMIT = Change("Spring's container turns auto-commit off by default", "spring-kafka 2.3", "2.3")

CLIENTS: Mapping[Framework, tuple[Role, ...]] = {
    Framework.SPRING: ("producer", "consumer"),
    Framework.CONNECT_WORKER: ("producer", "consumer"),
    Framework.CONNECT_SOURCE: ("producer",),
    Framework.CONNECT_SINK: ("consumer",),
    Framework.STREAMS: ("producer", "consumer"),
    Framework.SMALLRYE: ("producer", "consumer"),
    Framework.STRIMZI: (),
}
"""The clients that a framework creates."""

ONLY_IF_CONFIGURED = (Framework.SPRING, Framework.SMALLRYE)
"""Frameworks of applications, which may have one of the two clients only."""

CONNECT = (Framework.CONNECT_WORKER, Framework.CONNECT_SOURCE, Framework.CONNECT_SINK)


@dataclass(frozen=True)
class OffsetCommits:
    """When a framework commits offsets: a value of `commits`, and the reason as text."""

    when: str
    why: str


def clients_of_connect(frameworks: Iterable[Framework]) -> set[Role]:
    """Return the clients that Connect creates: those of the connectors, or any if only the worker is known."""
    present = set(frameworks) & set(CONNECT)
    connectors = present - {Framework.CONNECT_WORKER}
    return {role for framework in connectors or present for role in CLIENTS[framework]}


def clients_of(frameworks: Iterable[Framework]) -> set[Role]:
    """Return the clients that frameworks create, or may create."""
    others = set(frameworks) - set(CONNECT)
    return clients_of_connect(frameworks) | {role for framework in others for role in CLIENTS[framework]}


def own_settings(
    frameworks: Iterable[Framework], options: Mapping[str, WrittenSetting], version: str
) -> Iterator[tuple[Role, WrittenSetting]]:
    """Yield the settings that frameworks set, with their roles. Raises InputError for options that they refuse."""
    present = set(frameworks)
    if present & set(CONNECT):
        created = clients_of_connect(present)
        yield from ((role, setting) for role, setting in _of_connect(options, version) if role in created)
    if Framework.STREAMS in present:
        yield from _of_streams(options, version)
    if Framework.SPRING in present and SPRING_DISABLES_AUTO_COMMIT.applies_to(version):
        yield "consumer", _own("enable.auto.commit", "false", "default of Spring's container")
    if Framework.SMALLRYE in present:
        yield "producer", _own("acks", "1", "default of SmallRye")
        yield "consumer", _own("enable.auto.commit", "false", "default of SmallRye")


def _own(name: str, value: str, origin: str, precedence: Precedence = Precedence.FRAMEWORK) -> WrittenSetting:
    return WrittenSetting(name, value, origin, precedence=precedence)


def _of_connect(options: Mapping[str, WrittenSetting], version: str) -> Iterator[tuple[Role, WrittenSetting]]:
    origin = "set by Kafka Connect"
    yield "producer", _own("acks", "all", origin)
    yield "producer", _own(_IN_FLIGHT, "1", origin)
    if not CONNECT_KEEPS_REQUEST_TIMEOUT.applies_to(version):
        yield "producer", _own("request.timeout.ms", _MOST, origin)
    if CONNECT_DELIVERY_TIMEOUT.applies_to(version):
        yield "producer", _own("delivery.timeout.ms", _MOST, origin)
    else:
        yield "producer", _own("retries", _MOST, origin)
    yield "consumer", _own("enable.auto.commit", "false", origin)
    yield "consumer", _own("auto.offset.reset", "earliest", origin)
    if _is_connect_exactly_once(options):
        support = options["exactly.once.source.support"]
        if not CONNECT_EXACTLY_ONCE.applies_to(version):
            raise InputError(f"{support.where}: Kafka {version} has no exactly.once.source.support (KIP-618, 3.3)")
        origin = "set by Kafka Connect for exactly.once.source.support"
        yield "producer", _own("enable.idempotence", "true", origin, Precedence.ENFORCED)
        yield "producer", _own("transactional.id", "set", origin, Precedence.ENFORCED)
    elif CONNECT_IDEMPOTENCE_OFF.applies_to(version):
        yield "producer", _own("enable.idempotence", "false", origin)


def _guarantees(version: str) -> list[str]:
    """Return the values of processing.guarantee that a version accepts."""
    accepted = ["at_least_once"]
    if not STREAMS_EXACTLY_ONCE_V2_ALONE.applies_to(version):
        accepted.append("exactly_once")
        accepted += ["exactly_once_beta"] if STREAMS_EXACTLY_ONCE_BETA.applies_to(version) else []
    return accepted + (["exactly_once_v2"] if STREAMS_EXACTLY_ONCE_V2.applies_to(version) else [])


def _of_streams(options: Mapping[str, WrittenSetting], version: str) -> Iterator[tuple[Role, WrittenSetting]]:
    origin = "set by Kafka Streams"
    yield "producer", _own("linger.ms", "100", origin)
    yield "consumer", _own("auto.offset.reset", "earliest", origin)
    yield "consumer", _own("enable.auto.commit", "false", origin, Precedence.ENFORCED)
    if not _is_exactly_once(options.get("processing.guarantee"), version):
        if not STREAMS_DELIVERY_TIMEOUT.applies_to(version):
            yield "producer", _own("retries", "10", origin)
        return
    origin = "set by Kafka Streams for processing.guarantee"
    if STREAMS_DELIVERY_TIMEOUT.applies_to(version):
        yield "producer", _own("delivery.timeout.ms", _MOST, origin)
    else:
        yield "producer", _own("retries", _MOST, origin)
    yield "producer", _own("enable.idempotence", "true", origin, Precedence.ENFORCED)
    yield "producer", _own("transactional.id", "set", origin, Precedence.ENFORCED)
    yield "consumer", _own("isolation.level", "read_committed", origin, Precedence.ENFORCED)


def _is_exactly_once(guarantee: WrittenSetting | None, version: str) -> bool:
    if guarantee is None:
        return False
    accepted = _guarantees(version)
    if guarantee.value.strip() not in accepted:
        raise InputError(
            f"{guarantee.where}: processing.guarantee is not one of {', '.join(accepted)}, "
            f"the values that Kafka {version} accepts (ConfigException)"
        )
    return guarantee.value.strip() != "at_least_once"


def check_overrides(
    overrides: Iterable[WrittenSetting], options: Mapping[str, WrittenSetting], version: str, has_worker: bool
) -> Iterator[str]:
    """Yield notes on a connector's overrides. Raises InputError if the worker's policy refuses them."""
    first = next(iter(overrides), None)
    if first is None:
        return
    if not CONNECT_OVERRIDES.applies_to(version):
        raise InputError(f"{first.where}: Kafka {version} ignores {first.written_name} (KIP-458, 2.3): remove it")
    policy = options.get("connector.client.config.override.policy")
    if policy is None:
        allows_all = CONNECT_OVERRIDES_BY_DEFAULT.applies_to(version)
    else:
        allows_all = policy.value.strip().endswith(("All", ".AllConnectorClientConfigOverridePolicy"))
    if allows_all:
        return
    needs = "connector.client.config.override.policy=All in the worker's file"
    if policy is None and not has_worker:
        yield f"Kafka {version} accepts {first.written_name} ({first.where}) only with {needs}"
        return
    raise InputError(f"{first.where}: the worker's policy refuses {first.written_name}: it needs {needs}")


def offset_commits(
    frameworks: Iterable[Framework], options: Mapping[str, WrittenSetting], is_automatic: bool
) -> OffsetCommits | None:
    """Return when the frameworks commit offsets, or None if the client or the application decides."""
    present = set(frameworks)
    if present & {Framework.CONNECT_WORKER, Framework.CONNECT_SINK}:
        if is_automatic:
            return OffsetCommits("background", "enable.auto.commit also commits records whose put is retried")
        return OffsetCommits("last", "Kafka Connect commits what the sink task has put")
    if Framework.STREAMS in present:
        return OffsetCommits("last", "Kafka Streams commits after processing")
    if Framework.SMALLRYE in present:
        strategy = options.get("commit-strategy")
        if is_automatic:
            return OffsetCommits("background", "enable.auto.commit: processing is asynchronous")
        if strategy is not None and strategy.value != "throttled":
            return OffsetCommits("background", f"commit-strategy={strategy.value}: records before may be unprocessed")
        return OffsetCommits("last", "SmallRye's throttled strategy commits after processing")
    if Framework.SPRING in present and not is_automatic:
        mode = options.get("listener.ack-mode")
        if mode is None or not mode.value.upper().startswith("MANUAL"):
            return OffsetCommits("last", "Spring's container commits after the listener")
    return None


def notes(frameworks: Iterable[Framework], options: Mapping[str, WrittenSetting], version: str) -> Iterator[str]:
    """Yield what frameworks do beside the settings of their clients, as sentences."""
    present = set(frameworks)
    if Framework.SPRING in present:
        yield (
            "Spring's default error handler gives up on a record that the listener fails to process, and goes on with "
            "the next record: such a record counts as processed in the answers"
        )
    if Framework.STREAMS in present and _is_exactly_once(options.get("processing.guarantee"), version):
        yield (
            "processing.guarantee: results and offsets are in one transaction. After a crash a record is processed "
            "again, its results are visible once to consumers that read committed records, and its side effects "
            "outside Kafka may happen twice"
        )
    strategy = options.get("failure-strategy")
    if strategy is not None and strategy.value not in ("fail", "retry-topic"):
        yield f"failure-strategy={strategy.value}: a record whose processing fails counts as processed in the answers"
    if present & {Framework.CONNECT_SOURCE, Framework.CONNECT_WORKER} and not _is_connect_exactly_once(options):
        yield (
            "a source connector commits the offsets of its source after the records: after a restart, it sends the "
            "records again that it sent since"
        )


def _is_connect_exactly_once(options: Mapping[str, WrittenSetting]) -> bool:
    support = options.get("exactly.once.source.support")
    return support is not None and support.value.lower() == "enabled"
