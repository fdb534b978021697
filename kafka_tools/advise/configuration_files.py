"""Readers of configuration files: the form of a file, the framework that it belongs to, the role of each setting.

An error never contains a value, because a value may be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import javaproperties

from checker.data_files import read_data
from checker.errors import InputError
from kafka_tools.advise import connect_files, environment_files, kubernetes_files
from kafka_tools.advise.configuration_keys import (
    CLIENT_ROLES,
    KEYS,
    ROLES,
    Client,
    Role,
    is_of_librdkafka_alone,
    names_of,
)
from kafka_tools.advise.microprofile_files import is_microprofile, read_microprofile
from kafka_tools.advise.nested_settings import NESTED_SUFFIXES, FormError, Table, documents, flat, plain, section
from kafka_tools.advise.node_roles import by_node
from kafka_tools.advise.resemblance import similar_setting
from kafka_tools.advise.spring_files import is_spring, read_spring
from kafka_tools.advise.streams_files import is_streams, read_streams
from kafka_tools.advise.tool_output import described
from kafka_tools.advise.written_settings import ConfigurationFile, FileBuilder, Framework, WrittenSetting, combined

_MOST_BYTES = 1_000_000


def read(argument: str) -> ConfigurationFile:
    """Read a file named `FILE` or `ROLE=FILE`.

    Raises InputError if it cannot be read, is not a configuration, or if its role is unknown.
    """
    role, path = _role_and_path(argument)
    text = _text_of(path)
    if path.suffix in NESTED_SUFFIXES:
        try:
            return combined(path.name, [_read_table(path, document, role) for document in documents(path, text)])
        except FormError as error:
            raise InputError(f"{path}: {error}, and its settings would be left out: correct it") from None
    known = described(path, text)
    if known is None:
        _refuse_blocks(path, text)
    return known or _read_settings(path, tuple(_properties(path, text)), role)


def _role_and_path(argument: str) -> tuple[Role | None, Path]:
    prefix, separator, rest = argument.partition("=")
    for role in ROLES:
        if separator and prefix == role:
            return role, Path(rest)
    return None, Path(argument)


def _text_of(path: Path) -> str:
    try:
        data = read_data(path, _MOST_BYTES)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}; name a configuration file") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
        if any(ord(character) < 32 and character not in "\t\n\r\f" for character in text):
            raise InputError(f"{path} is not a text file: name a configuration file") from None
    if "\0" in text:
        raise InputError(f"{path} is not a text file: name a configuration file")
    return text


def _read_table(path: Path, document: Table, role: Role | None) -> ConfigurationFile:
    """Return the settings of a JSON or TOML file, or of a document of a YAML file."""
    _refuse_kafkajs_names(path, document)
    kind = kubernetes_files.kind_of(document)
    releases = tuple(kubernetes_files.versions(path, document))
    cluster = ConfigurationFile(path.name, {}, options=releases, disks=tuple(kubernetes_files.disks(path, document)))
    if kind is not None:
        return combined(path.name, [_read_resource(path, document, kind, role), cluster])
    if isinstance(document.get("services"), dict):
        return combined(path.name, [_read_environments(path, document), cluster])
    kubernetes_files.refuse_helm_values(path, document)
    if role is None and any(isinstance(document.get(name), dict) for name in ROLES):
        return _read_sections(path, document)
    return _read_settings(path, flat(path, connect_files.connector_of(document) or document), role)


def _read_sections(path: Path, document: Table) -> ConfigurationFile:
    """Return a file with a section for each role."""
    outside = sorted(set(document) - set(ROLES))
    if outside:
        raise InputError(f"{path}: {plain(outside[0])} is outside the sections {', '.join(ROLES)}")
    named = [(name, section(document, name)) for name in ROLES if name in document]
    return combined(path.name, [_plain_file(path, flat(path, table), name) for name, table in named])


def _read_resource(path: Path, document: Table, kind: str, role: Role | None) -> ConfigurationFile:
    """Return the settings of a Kubernetes resource: one of Strimzi's, or the variables of its containers."""
    kubernetes_files.check_kind(path, kind)
    if kind.startswith("Kafka") and "spec" not in document:
        raise FormError(f"{kind} has no spec")
    if kind == "Kafka":
        broker = FileBuilder(path.name, frameworks={Framework.STRIMZI})
        settings = flat(path, section(document, "spec", "kafka", "config"))
        for given in (*settings, *kubernetes_files.controller_settings(path, document)):
            broker.add("broker", given)
        return by_node(broker.build())
    if kind == "KafkaTopic":
        return ConfigurationFile(path.name, {"topic": tuple(kubernetes_files.topic_settings(path, document))})
    if kind == "KafkaConnect":
        return connect_files.read_worker(path, flat(path, section(document, "spec", "config")))
    if kind == "KafkaConnector":
        return connect_files.read_connector(path, kubernetes_files.connector_settings(path, document), role)
    return _read_environments(path, document)


def _read_environments(path: Path, document: Table) -> ConfigurationFile:
    """Return the settings in the variables of containers, each of which has its convention."""
    files = []
    for settings in map(environment_files.with_prefixes, kubernetes_files.environments(path, document)):
        if environment_files.has_variable_of_kafka(settings):
            files.append(_read_variables(path, settings))
        else:
            unclear = tuple(given for given in settings if environment_files.hides_setting(given.name))
            files.append(ConfigurationFile(path.name, {"producer": unclear} if unclear else {}))
    elsewhere = tuple(kubernetes_files.settings_elsewhere(path, document))
    if elsewhere:
        files.append(ConfigurationFile(path.name, {"producer": elsewhere}))
    if not any(part.roles for part in files) and "services" in document:
        raise InputError(f"{path}: no service has variables of Kafka: name the configuration files instead")
    return combined(path.name, files)


def _read_variables(path: Path, settings: Sequence[WrittenSetting]) -> ConfigurationFile:
    """Return the settings of a container. One without a setting of a single role is an application of its own."""
    renamed, of_images = environment_files.read_environment(path, settings)
    has_framework = any(given.name.startswith(("CONNECT_", "SPRING_")) for given in settings)
    if has_framework or any(_has_role(given.name) for given in renamed):
        return _read_settings(path, settings, None, of_container=True)
    unclear = tuple(given for given in renamed if similar_setting(given.name, "java"))
    idle = (*of_images, *(given.written_name for given in renamed if given not in unclear))
    roles: dict[Role, tuple[WrittenSetting, ...]] = {"producer": unclear} if unclear else {}
    return ConfigurationFile(path.name, roles, idle=idle)


def _has_role(name: str) -> bool:
    """Return whether one role alone has a setting, or the setting affects the answers."""
    return sum(name in names_of(role) for role in ROLES) == 1 or any(name in KEYS[role] for role in ROLES)


def _read_settings(
    path: Path, settings: Sequence[WrittenSetting], role: Role | None, *, of_container: bool = False
) -> ConfigurationFile:
    """Return the settings of a file by the conventions of its framework, or else by role.

    `of_container`: they are variables, whatever their names: beside Kafka's, a container has others such as `a.b`.
    """
    idle: list[str] = []
    is_of_worker = any(given.name.startswith("CONNECT_") for given in settings)
    if of_container or environment_files.is_environment(settings):
        settings, idle = environment_files.read_environment(path, settings)
    if is_spring(settings):
        content = read_spring(path, settings)
    elif connect_files.is_debezium_server(settings):
        content = connect_files.read_debezium_server(path, settings)
    elif is_microprofile(settings):
        content = read_microprofile(path, settings)
    elif connect_files.is_connector(settings):
        content = connect_files.read_connector(path, settings, role)
    elif is_of_worker or connect_files.is_worker(settings):
        content = connect_files.read_worker(path, settings)
    elif is_streams(settings):
        content = read_streams(path, settings)
    else:
        _refuse_mirror_maker(path, settings)
        content = _plain_file(path, [_without_role(given) for given in settings], role)
    return combined(path.name, [content, ConfigurationFile(path.name, {}, idle=tuple(idle))])


def _properties(path: Path, text: str) -> Iterator[WrittenSetting]:
    """Yield the settings of a `.properties` file, in Java's syntax."""
    for number, line in _join_lines(text):
        try:
            elements = [parsed for parsed in javaproperties.parse(line) if isinstance(parsed, javaproperties.KeyValue)]
        except javaproperties.InvalidUEscapeError:
            raise InputError(f"{path}:{number}: a \\u is not followed by four hexadecimal digits") from None
        for element in elements:
            if element.key.startswith("[") and element.key.endswith("]") and not element.value:
                raise InputError(
                    f"{path}:{number}: a section of an INI file: write all settings that the producer gets, and all "
                    "that the consumer gets, into a file for each (producer=FILE, consumer=FILE)"
                )
            yield _without_shell(WrittenSetting(element.key, element.value, path.name, number))


def _join_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line with those that continue it, and its number.

    The library joins lines in a time that grows with the square of their number.
    """
    parts: list[str] = []
    first = 1
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), 1):
        shown = line.lstrip(" \t\f")
        if not parts:
            first = number
            if shown.startswith(("#", "!")):
                continue
        is_continued = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        parts.append(shown[:-1] if is_continued else shown)
        if not is_continued:
            yield first, _as_setting("".join(parts))
            parts = []
    if parts:
        yield first, _as_setting("".join(parts))


def _as_setting(line: str) -> str:
    """Return a joined line, which is no comment even if it begins as one."""
    return f"\\{line}" if line.startswith(("#", "!")) else line


def _without_shell(given: WrittenSetting) -> WrittenSetting:
    """Return a setting without what a shell removes from `export NAME="value"`."""
    name, value = given.name, given.value
    if name == "export" and "=" in value:
        name, _, value = value.partition("=")
    if name.isupper() and len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return WrittenSetting(name, value, given.file, given.line)


def _refuse_mirror_maker(path: Path, settings: Sequence[WrittenSetting]) -> None:
    if any("->" in given.name for given in settings):
        raise InputError(
            f"{path} is a file of MirrorMaker, which has clients for each pair of clusters: write the settings of one "
            "producer and one consumer into a file for each"
        )


def _without_role(given: WrittenSetting) -> WrittenSetting:
    """Return a setting such as `producer.acks` with Kafka's name, if the role in front of it has that setting."""
    prefix, _, name = given.name.partition(".")
    is_of_role = any(prefix == role and name in names_of(role) for role in ROLES)
    return given.renamed(name) if is_of_role else given


def _plain_file(path: Path, settings: Sequence[WrittenSetting], role: Role | None) -> ConfigurationFile:
    """Return the settings of a file by the role that reads each of them, whatever the role of the file.

    A file such as `client.properties` may configure several roles. A setting that only another role knows is a setting
    of that role: it must never be dropped. A setting that several roles know belongs to the role of the file, and to
    each client that has a setting of its own in the file.
    """
    _refuse_python_names(path, settings)
    _refuse_quoted_values(path, settings)
    client = _client_of(settings)
    readers: dict[str, list[Role]] = {
        given.name: [reader for reader in ROLES if given.name in names_of(reader, client)] for given in settings
    }
    main: Role | None
    present: list[Role] = [role for role in CLIENT_ROLES if [role] in readers.values()]
    main = role or (None if len(present) == 2 else _guess(path, settings))
    by_role: dict[Role, list[WrittenSetting]] = {}
    for given in settings:
        known = readers[given.name]
        chosen = [reader for reader in known if reader == main or reader in present]
        clients = [reader for reader in known if reader in CLIENT_ROLES]
        fallback: list[Role] = [main or "producer"]
        for reader in chosen or clients or known[:1] or fallback:
            by_role.setdefault(reader, []).append(given)
    return by_node(ConfigurationFile(path.name, {reader: tuple(written) for reader, written in by_role.items()}))


def _refuse_python_names(path: Path, settings: Sequence[WrittenSetting]) -> None:
    """Raise InputError for the names of kafka-python and aiokafka, such as `enable_auto_commit`."""
    for given in settings:
        name = given.name.rpartition(".")[2]
        if "_" in name and any(name.replace("_", ".") in names_of(role) for role in CLIENT_ROLES):
            raise InputError(
                f"{path} has names of kafka-python or aiokafka ({name}), whose defaults differ from Kafka's "
                "(acks is 1): write acks, enable.idempotence, retries, max.in.flight.requests.per.connection, "
                "enable.auto.commit and auto.offset.reset with Kafka's names and the values in effect"
            )


def _refuse_quoted_values(path: Path, settings: Sequence[WrittenSetting]) -> None:
    """Raise InputError for a value in quotes, which a properties file would take as a part of the value."""
    for given in settings:
        if given.value[:1] == given.value[-1:] == '"' and any(given.name in names_of(role) for role in ROLES):
            raise InputError(
                f"{given.where}: the value of {given.name} is in quotes, as in HOCON, TOML or a shell: write "
                f"{given.name}=VALUE without quotes"
            )


_BLOCK = re.compile(r"""\s*[A-Za-z][\w."-]*(?:\s+"[^"]*")*\s*[=:]?\s*\{\s*(?:#.*|//.*)?""")
"""A line that opens a block, as in HOCON, in Terraform and in the files of other programs."""


def _refuse_blocks(path: Path, text: str) -> None:
    """Raise InputError for a file with blocks in braces, which is no properties file."""
    for number, line in enumerate(text.splitlines(), 1):
        if _BLOCK.fullmatch(line):
            raise InputError(
                f"{path.name}:{number}: blocks in braces, as in HOCON (application.conf) or Terraform, are not read: "
                "write the producer's, the consumer's, the topic's and the broker's settings into a file for each, "
                "one a line, with Kafka's names: acks=all"
            )


_OF_KAFKAJS = frozenset({"maxInFlightRequests", "fromBeginning", "allowAutoTopicCreation", "maxWaitTimeInMs"})
"""Names that only kafkajs has; `brokers` is one beside `clientId`."""


def _refuse_kafkajs_names(path: Path, document: Table) -> None:
    """Raise InputError for the names of kafkajs, at the top of a file or in its sections."""
    tables = [document, *(each for each in document.values() if isinstance(each, dict))]
    tables += [each for table in tables[1:] for each in table.values() if isinstance(each, dict)]
    for table in tables:
        known = sorted(_OF_KAFKAJS & table.keys()) or (["brokers"] if {"brokers", "clientId"} <= table.keys() else [])
        if known:
            raise InputError(
                f"{path} has names of kafkajs ({known[0]}), whose defaults differ from Kafka's (no idempotence, 5 "
                "retries): write acks, enable.idempotence, retries, max.in.flight.requests.per.connection, "
                "enable.auto.commit and auto.offset.reset with Kafka's names and the values in effect"
            )


def _client_of(settings: Sequence[WrittenSetting]) -> Client:
    return "librdkafka" if any(is_of_librdkafka_alone(given.name) for given in settings) else "java"


def _guess(path: Path, settings: Sequence[WrittenSetting]) -> Role:
    """Return the role of a file: from its name, or else the one role that knows the most of its settings."""
    words = {"producer": "producer", "consumer": "consumer", "topic": "topic", "server": "broker", "broker": "broker"}
    named: list[Role] = [role for word, role in words.items() if word in path.stem.lower()]  # type: ignore[misc]
    if len(set(named)) == 1:
        return named[0]
    client = _client_of(settings)
    known = {role: sum(given.name in names_of(role, client) for given in settings) for role in ROLES}
    best = [role for role in ROLES if known[role] == max(known.values()) and known[role]]
    if len(best) == 1:
        return best[0]
    raise InputError(f"{path}: the role of this file is unclear: write producer={path}, or another role")
