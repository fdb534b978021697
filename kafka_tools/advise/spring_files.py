"""Spring Boot's configuration: `spring.kafka.producer.acks`, and Kafka's names below `properties`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from checker.errors import InputError
from kafka_tools.advise.configuration_keys import CLIENT_ROLES, KEYS, Role, names_of
from kafka_tools.advise.environment_files import COMMON_WORDS, names_other_settings
from kafka_tools.advise.written_settings import ConfigurationFile, FileBuilder, Framework, Precedence, WrittenSetting

_KAFKA = re.compile(r"spring\.kafka\.(.+)", re.IGNORECASE)
_NEXT_WORD = re.compile(r"[-_]|(?<=[a-z])(?=[A-Z])")
_PROPERTIES = re.compile(r"properties(?:\.?\[(?P<bracketed>.+)\]|\.(?P<plain>.+))", re.IGNORECASE)

_SHARED_BY_CLIENTS = {
    "bootstrapservers": "bootstrap.servers",
    "clientid": "client.id",
}

_NAMES: Mapping[Role, Mapping[str, str]] = {
    "producer": {
        **_SHARED_BY_CLIENTS,
        "acks": "acks",
        "batchsize": "batch.size",
        "buffermemory": "buffer.memory",
        "compressiontype": "compression.type",
        "keyserializer": "key.serializer",
        "retries": "retries",
        "transactionidprefix": "transactional.id",
        "valueserializer": "value.serializer",
    },
    "consumer": {
        **_SHARED_BY_CLIENTS,
        "autocommitinterval": "auto.commit.interval.ms",
        "autooffsetreset": "auto.offset.reset",
        "enableautocommit": "enable.auto.commit",
        "fetchmaxwait": "fetch.max.wait.ms",
        "fetchminsize": "fetch.min.bytes",
        "groupid": "group.id",
        "heartbeatinterval": "heartbeat.interval.ms",
        "isolationlevel": "isolation.level",
        "keydeserializer": "key.deserializer",
        "maxpollinterval": "max.poll.interval.ms",
        "maxpollrecords": "max.poll.records",
        "valuedeserializer": "value.deserializer",
    },
}
"""Kafka's names of Spring Boot's settings, by role; Spring's spelling is free in capitals, hyphens and underscores."""

_IDLE_PARTS = ("admin", "bootstrapservers", "clientid", "jaas", "retry", "security", "ssl", "template")
"""Parts of Spring's settings that configure neither the producer nor the consumer."""

_IDLE_OF_CLIENT = ("ssl", "security")

_CLIENT_SETTINGS: Mapping[str, Role] = {
    key: role for role in CLIENT_ROLES for key in KEYS[role] if key not in COMMON_WORDS
}

_PROFILES = ("spring.config.activate.on-profile", "spring.profiles")


def is_spring(settings: Sequence[WrittenSetting]) -> bool:
    """Return whether a file has Spring's settings of Kafka."""
    return any(_KAFKA.fullmatch(given.name) or _is_of_cloud_stream(given.name) for given in settings)


def _is_of_cloud_stream(name: str) -> bool:
    return name.lower().startswith("spring.cloud.stream.kafka.")


def read_spring(path: Path, settings: Sequence[WrittenSetting]) -> ConfigurationFile:
    """Return the settings of Spring's producer and consumer.

    Raises InputError for settings of Spring Cloud Stream and Kafka Streams, for settings of one profile, and for names
    of Kafka that Spring Boot ignores.
    """
    builder = FileBuilder(path.name, frameworks={Framework.SPRING})
    profile = next((given for given in settings if given.name in _PROFILES), None)
    for given in settings:
        match = _KAFKA.fullmatch(given.name)
        if match and profile:
            raise InputError(
                f"{profile.where}: {given.name} depends on a profile: name a file with the settings in effect"
            )
        if _is_of_cloud_stream(given.name):
            raise InputError(
                f"{given.where}: the Kafka binder of Spring Cloud Stream is not read, and has its own defaults "
                "(requiredAcks is 1): write the settings that the client logs (ProducerConfig values, ConsumerConfig "
                "values) into a producer's and a consumer's file"
            )
        if match:
            _add(builder, given, match.group(1))
        elif role := _CLIENT_SETTINGS.get(_with_dots(given.name)):
            raise _error_on(given, role, _with_dots(given.name))
        elif "kafka" in given.name.lower() or _ends_in_setting(given.name) or names_other_settings(given.name):
            # A setting that the application reads itself may have an effect that is not known here, and an imported
            # file may have settings of Kafka.
            builder.add("producer", given)
    return builder.build()


def _ends_in_setting(name: str) -> bool:
    """Return whether the last parts of a name are a setting of a client that affects the answers."""
    return any(_with_dots(name).endswith(f".{key}") for key in _CLIENT_SETTINGS)


def _with_dots(name: str) -> str:
    return _NEXT_WORD.sub(".", name).lower()


def _add(builder: FileBuilder, given: WrittenSetting, name: str) -> None:
    """Add a setting; `name` follows `spring.kafka.`."""
    part, _, rest = name.partition(".")
    common = _PROPERTIES.fullmatch(name)
    part = _canonical(part)
    if common:
        _add_to_readers(builder, given, common["bracketed"] or common["plain"])
    elif part in ("producer", "consumer"):
        role: Role = "producer" if part == "producer" else "consumer"
        _add_to_client(builder, given, role, rest)
    elif part == "listener":
        builder.idle.append(given.name)
        if _canonical(rest) == "ackmode":
            builder.options.append(given.renamed("listener.ack-mode"))
    elif part == "streams":
        raise InputError(
            f"{given.where}: spring.kafka.streams is not read: write the settings of the Kafka Streams application, "
            "with Kafka's names and its application.id, into a file of its own"
        )
    elif part in _IDLE_PARTS:
        builder.idle.append(given.name)
    else:
        builder.add("producer", given)


def _canonical(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def _add_to_client(builder: FileBuilder, given: WrittenSetting, role: Role, name: str) -> None:
    own = _PROPERTIES.fullmatch(name)
    known = _NAMES[role].get(_canonical(name))
    if own:
        builder.add(role, given.renamed(own["bracketed"] or own["plain"], Precedence.OVERRIDE))
    elif known == "isolation.level":
        # Spring writes Java's constants with hyphens.
        value = given.value.lower().replace("-", "_")
        builder.add(role, WrittenSetting(known, value, given.file, given.line, spelling=given.name))
    elif known:
        builder.add(role, given.renamed(known))
    elif name.partition(".")[0].lower() in _IDLE_OF_CLIENT:
        builder.idle.append(given.name)
    elif (kafka_name := name.replace("-", ".")) in names_of(role):
        raise _error_on(given, role, kafka_name)
    else:
        builder.add(role, given)


def _error_on(given: WrittenSetting, role: Role, kafka_name: str) -> InputError:
    return InputError(
        f"{given.where}: Spring Boot ignores {given.name}: write spring.kafka.{role}.properties.{kafka_name}"
    )


def _add_to_readers(builder: FileBuilder, given: WrittenSetting, name: str) -> None:
    """Add a setting of all clients to each client that knows it."""
    readers: list[Role] = [role for role in CLIENT_ROLES if name in names_of(role)]
    for role in readers or ["producer"]:
        builder.add(role, given.renamed(name, Precedence.SHARED))
