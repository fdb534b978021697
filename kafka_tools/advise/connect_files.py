"""Configuration files of Kafka Connect: workers and connectors; and of Debezium Server.

A worker passes `producer.*` and `consumer.*` to the clients of every connector. A connector changes them with
`producer.override.*` and `consumer.override.*` (KIP-458). A connector's other settings belong to its plugin. Debezium
Server runs a connector without Connect, with a producer of its own.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import Path

from checker.errors import InputError
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


def read_connector(path: Path, settings: Sequence[WrittenSetting]) -> ConfigurationFile:
    """Return the overrides of a connector: a sink if it reads topics, otherwise a source."""
    is_sink = any(given.name in ("topics", "topics.regex") for given in settings)
    client: Role = "consumer" if is_sink else "producer"
    builder = FileBuilder(path.name)
    builder.frameworks.add(Framework.CONNECT_SINK if is_sink else Framework.CONNECT_SOURCE)
    for given in settings:
        of_client, separator, name = given.name.partition(".override.")
        if separator and of_client == client:
            builder.add(client, given.renamed(name, Precedence.OVERRIDE))
        elif separator and of_client in ("producer", "consumer", "admin"):
            # Clients for dead letters and offsets, which the answers do not concern.
            builder.idle.append(given.name)
        elif given.name.startswith(_CREATED_TOPIC) and not is_sink:
            _add_created_topic(builder, given)
        elif given.name == "errors.tolerance" and given.value.strip() == "all":
            builder.notes.append(
                f"errors.tolerance=all ({given.where}): Connect skips records that it fails to convert, and "
                "since 3.2 those that its producer fails to send (KIP-779); they count as processed in the answers"
            )
        else:
            _refuse_misplaced_override(given)
    return builder.build()


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
            is_near = bool(difflib.get_close_matches(prefix, (f"{role}.override", role), 1, 0.75))
            if is_near or (prefix == "" and name not in _OF_PLUGINS):
                raise InputError(
                    f"{given.where}: Kafka Connect does not read {given.name}: write {role}.override.{name}"
                )


_OF_PLUGINS = ("retries", "request.timeout.ms", "linger.ms")
"""Client settings whose names plugins use for settings of their own."""
