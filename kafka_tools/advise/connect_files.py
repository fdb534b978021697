"""Configuration files of Kafka Connect: workers and connectors; and of Debezium Server.

A worker passes `producer.*` and `consumer.*` to the clients of every connector. A connector changes them with
`producer.override.*` and `consumer.override.*` (KIP-458). A connector's other settings belong to its plugin. Debezium
Server runs a connector without Connect, with a producer of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from checker.errors import InputError, nearest_names
from kafka_tools.advise.configuration_keys import CLIENT_ROLES, KEYS, Role, connect_worker_names
from kafka_tools.advise.nested_settings import Table
from kafka_tools.advise.written_settings import ConfigurationFile, FileBuilder, Framework, Precedence, WrittenSetting

_OF_WORKER = re.compile(
    r"key\.converter|value\.converter|internal\.key\.converter|(config|offset|status)\.storage\.topic"
    r"|offset\.storage\.file\.filename|plugin\.path"
)
_OF_CONNECTOR = re.compile(r"connector\.class|tasks\.max|(producer|consumer|admin)\.override\..*")

_OPTIONS = ("exactly.once.source.support", "connector.client.config.override.policy")

_WORKER_PREFIXES = (
    "admin.",
    "config.providers",
    "config.storage.",
    "header.converter",
    "internal.",
    "key.converter",
    "listeners.https.",
    "metrics.context.",
    "offset.storage.",
    "status.storage.",
    "value.converter",
)
"""Prefixes of a worker's settings that reach no client of a connector."""

_DEBEZIUM_PRODUCER = "debezium.sink.kafka.producer."

_CREATED_TOPIC = "topic.creation.default."
"""The settings of topics that Connect creates for a source connector (KIP-158)."""

_OF_OTHER_TOPICS = re.compile(rf"topic\.creation\.[^.]+\.({'|'.join(map(re.escape, KEYS['topic']))})")


def is_worker(settings: Sequence[WrittenSetting]) -> bool:
    """Return whether a file is a worker's."""
    return not is_connector(settings) and any(_OF_WORKER.fullmatch(given.name) for given in settings)


def is_connector(settings: Sequence[WrittenSetting]) -> bool:
    """Return whether a file is a connector's."""
    return any(_OF_CONNECTOR.fullmatch(given.name) for given in settings)


def is_debezium_server(settings: Sequence[WrittenSetting]) -> bool:
    """Return whether a file is that of Debezium Server."""
    return any(given.name.startswith("debezium.sink.") for given in settings)


def read_debezium_server(path: Path, settings: Sequence[WrittenSetting]) -> ConfigurationFile:
    """Return the settings of the producer. Raises InputError if Debezium Server writes to another system than Kafka."""
    builder = FileBuilder(path.name)
    for given in settings:
        name = given.name.removeprefix(_DEBEZIUM_PRODUCER)
        if given.name == "debezium.sink.type" and given.value.strip() != "kafka":
            raise InputError(f"{given.where}: debezium.sink.type is not kafka: there is no producer to ask about")
        if name != given.name:
            builder.add("producer", given.renamed(name))
        elif given.name.startswith(("debezium.", "quarkus.")):
            builder.idle.append(given.name)
        else:
            builder.add("producer", given)
    return builder.build()


def connector_of(table: Table) -> Table | None:
    """Return the connector of a request to Connect's REST API, `{"name": ..., "config": {...}}`, or None."""
    config = table.get("config")
    return (
        config
        if isinstance(config, dict) and set(table) <= {"name", "config", "initial_state", "tasks", "type"}
        else None
    )


def read_worker(path: Path, settings: Sequence[WrittenSetting]) -> ConfigurationFile:
    """Return the settings of a worker. Raises InputError for a client's setting without its prefix."""
    builder = FileBuilder(path.name, frameworks={Framework.CONNECT_WORKER})
    for given in settings:
        name = given.name
        if name.startswith("producer."):
            builder.add("producer", given.renamed(name.removeprefix("producer.")))
        elif name.startswith("consumer."):
            builder.add("consumer", given.renamed(name.removeprefix("consumer.")))
        elif name in _OPTIONS:
            builder.options.append(given)
        elif name in connect_worker_names() or name.startswith(_WORKER_PREFIXES):
            builder.idle.append(name)
        else:
            _refuse_client_setting(given)
            builder.add("producer", given)
    _refuse_exactly_once_alone(settings)
    return builder.build()


def _refuse_exactly_once_alone(settings: Sequence[WrittenSetting]) -> None:
    """Raise InputError if a standalone worker asks for exactly-once sources, which only a distributed one has."""
    given = {setting.name: setting for setting in settings}
    if "offset.storage.file.filename" in given and (support := given.get(_OPTIONS[0])) is not None:
        raise InputError(f"{support.where}: a standalone worker ignores {support.written_name}: remove it")


def read_connector(path: Path, settings: Sequence[WrittenSetting], role: Role | None = None) -> ConfigurationFile:
    """Return the overrides of a connector. `role`: its client if the user names it, `consumer` for a sink.

    Raises InputError if neither its class nor its settings show whether it is a sink.
    """
    is_sink = role == "consumer" if role in CLIENT_ROLES else _is_sink(path, settings)
    client: Role = "consumer" if is_sink else "producer"
    builder = FileBuilder(path.name)
    builder.frameworks.add(Framework.CONNECT_SINK if is_sink else Framework.CONNECT_SOURCE)
    for given in settings:
        of_client, separator, name = given.name.partition(".override.")
        if separator and of_client == client:
            builder.add(client, given.renamed(name, Precedence.OVERRIDE))
        elif separator and of_client in ("producer", "consumer", "admin"):
            # Clients for dead letters and offsets.
            builder.other_clients.append(given.name)
        elif given.name.startswith(_CREATED_TOPIC) and not is_sink:
            _add_created_topic(builder, given)
        elif _OF_OTHER_TOPICS.fullmatch(given.name) and not is_sink:
            builder.notes.append(
                f"{given.name} ({given.where}) is of a group of topics of its own (KIP-158): for these topics, leave "
                "out topic.creation.default.*, and name a file with the topic's settings"
            )
        elif given.name == "errors.tolerance" and given.value.strip() == "all":
            builder.notes.append(
                f"errors.tolerance=all ({given.where}): Connect skips records that it fails to convert, and "
                "since 3.2 those that its producer fails to send (KIP-779); they count as processed in the answers"
            )
        else:
            _refuse_misplaced_override(given)
    return builder.build()


def _is_sink(path: Path, settings: Sequence[WrittenSetting]) -> bool:
    """Return whether a connector is a sink: by its class, else by settings that only one kind has.

    Only a sink has to have topics (SinkConnectorConfig.validate), and a plugin that is a source may have a setting of
    that name, as MirrorMaker's has.
    """
    given = {setting.name: setting for setting in settings}
    written = given.get("connector.class")
    has_topics = any(name in given for name in ("topics", "topics.regex"))
    by_class = _kind_of_class(written.value.strip()) if written else None
    if by_class is not None:
        return by_class == "sink"
    has_dead_letters = any(name.startswith("errors.deadletterqueue.") for name in given)
    of_sink = has_dead_letters or any(name.startswith("consumer.override.") for name in given)
    of_source = any(name.startswith(_OF_SOURCES) for name in given)
    # A sink has a producer for dead letters only.
    of_source = of_source or (not has_dead_letters and any(name.startswith("producer.override.") for name in given))
    if of_sink != of_source and (of_sink or not has_topics):
        return of_sink
    if written and not has_topics:
        return False
    raise InputError(
        f"{path}: its settings do not show whether this connector is a source or a sink: write producer={path} for a "
        f"source, or consumer={path} for a sink"
    )


def _kind_of_class(name: str) -> Literal["source", "sink"] | None:
    """Return the kind of a connector from the name of its class or its alias, or None if the name does not show it."""
    simple = name.rpartition(".")[2]
    for text in (simple, name):
        # "resource" is part of some names.
        kinds = re.findall(r"(?<!re)source|sink", text.lower())
        if len(set(kinds)) == 1:
            return "source" if kinds[0] == "source" else "sink"
    return "source" if name.startswith(_SOURCE_PACKAGES) or simple.startswith(_SOURCE_CLASSES) else None


_SOURCE_PACKAGES = ("io.debezium.connector.",)
_SOURCE_CLASSES = ("MirrorCheckpoint", "MirrorHeartbeat", "Datagen")
"""Sources whose names do not say it. A sink of Debezium is named so."""

_OF_SOURCES = ("topic.creation.", "exactly.once.support", "transaction.boundary", "offsets.storage.topic")
"""Settings that Connect has for sources only (SourceConnectorConfig)."""


def _add_created_topic(builder: FileBuilder, given: WrittenSetting) -> None:
    """Add a setting of the topics that Connect creates. A replication factor of -1 is the broker's default."""
    name = given.name.removeprefix(_CREATED_TOPIC)
    is_default = name == "replication.factor" and given.value.strip() == "-1"
    if is_default or name in ("partitions", "include", "exclude"):
        builder.idle.append(given.name)
    else:
        builder.add("topic", given.renamed(name, Precedence.SHARED))


def _refuse_client_setting(given: WrittenSetting) -> None:
    """Raise InputError if a worker's setting is a client's, which Connect reads only with a prefix."""
    readers = [role for role in CLIENT_ROLES if given.name in KEYS[role]]
    if readers:
        names = " or ".join(f"{role}.{given.name}" for role in readers)
        raise InputError(f"{given.where}: Kafka Connect does not read {given.name}: write {names}")


def _refuse_misplaced_override(given: WrittenSetting) -> None:
    """Raise InputError if a connector's setting looks like an override: `acks` or `producer.acks`.

    A plugin may have settings such as `retries` or `schema.history.internal.producer.acks`.
    """
    for role in CLIENT_ROLES:
        for name in KEYS[role]:
            if given.name != name and not given.name.endswith(f".{name}"):
                continue
            prefix = given.name.removesuffix(name).rstrip(".")
            is_near = bool(nearest_names(prefix, (f"{role}.override", role), 1, 0.75))
            if is_near or (prefix == "" and name not in _OF_PLUGINS):
                raise InputError(
                    f"{given.where}: Kafka Connect does not read {given.name}: write {role}.override.{name}"
                )


_OF_PLUGINS = ("retries", "request.timeout.ms", "linger.ms", "session.timeout.ms")
"""Client settings whose names plugins use for settings of their own."""
