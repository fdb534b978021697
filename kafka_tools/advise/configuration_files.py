"""Readers of configuration files: properties, the output of Kafka's tools, JSON, TOML, Spring's names.

An error never contains a value, because a value may be a secret.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import javaproperties

from checker.errors import InputError
from kafka_tools.advise.configuration_keys import ROLES, Client, Role, is_of_librdkafka_alone, names_of

_MOST_BYTES = 1_000_000

_DESCRIBED = re.compile(
    r"^(?:(?:All|Dynamic|(Default)) )?configs for (topic|broker)s?[ :]+'?([^\s']+)'?.*? are:?(?:\s+(\S+))?",
    re.IGNORECASE,
)
"""The heading of what `kafka-configs.sh --describe` prints; with `--zookeeper` the settings follow in its line."""

_DESCRIBED_SETTING = re.compile(r"^\s+([a-z0-9._]+)=(.*?)\s+sensitive=(?:true|false)\b")

_TOPIC_LINE = re.compile(r"^Topic:\s*(\S+).*\bReplicationFactor:\s*(\d+)(?:.*\bConfigs:\s*(\S*))?")
"""The first line of a topic in what `kafka-topics.sh --describe` prints."""

_SPRING = re.compile(
    r"^spring\.kafka\.(?:(producer|consumer|listener)\.)?(?:properties\.)?(?:properties\[(.+)\]|(.+))$"
)


_FRAMEWORKS = (
    (
        re.compile(r"(key|value)\.converter|(config|offset|status)\.storage\.topic|offset\.storage\.file\.filename"),
        "Kafka Connect worker",
        "Connect sets acks=all, enable.idempotence=false, max.in.flight.requests.per.connection=1, "
        "enable.auto.commit=false and auto.offset.reset=earliest: write these into a producer's and a consumer's file, "
        "then what follows producer. and consumer. in the worker's file",
    ),
    (
        re.compile(r"connector\.class|tasks\.max|(producer|consumer|admin)\.override\..*"),
        "Kafka Connect connector",
        "write the settings of its worker and its producer.override. and consumer.override. settings into a producer's "
        "and a consumer's file",
    ),
    (
        re.compile(r"application\.id|processing\.guarantee|num\.stream\.threads"),
        "Kafka Streams application",
        "Streams sets the settings of its clients itself, and its transactions are not explored",
    ),
    (
        re.compile(r"mp\.messaging\..*|kafka\.bootstrap\.servers|quarkus\.kafka.*"),
        "MicroProfile or Quarkus application",
        "write the settings of each channel into a producer's or a consumer's file, with Kafka's names",
    ),
)
"""Settings that only a framework has, its name, and what to give instead. It has clients with settings of its own."""


@dataclass(frozen=True)
class WrittenSetting:
    """A setting in a file, with its place."""

    name: str
    value: str
    file: str
    line: int | None = None

    @property
    def where(self) -> str:
        """The place as text: `file:line`."""
        return self.file if self.line is None else f"{self.file}:{self.line}"


@dataclass(frozen=True)
class ConfigurationFile:
    """The settings of a file by role, and whether it uses Spring's names."""

    file: str
    roles: Mapping[Role, tuple[WrittenSetting, ...]]
    is_spring: bool = False


def read(argument: str) -> ConfigurationFile:
    """Read a file named `FILE` or `ROLE=FILE`.

    Raises InputError if it cannot be read, is not a configuration, or if its role is unknown.
    """
    role, path = _role_and_path(argument)
    text = _text_of(path)
    if path.suffix in (".yml", ".yaml"):
        raise InputError(f"{path} is YAML, which is not supported: write its settings as .properties, JSON or TOML")
    if path.suffix in (".json", ".toml"):
        return _sections(path, _parsed(path, text), role)
    described = _described(path, text)
    if described is not None:
        return described
    settings = tuple(_properties(path, text))
    if any(_SPRING.match(given.name) for given in settings):
        return _spring(path, settings)
    return ConfigurationFile(path.name, _by_role(path, settings, role))


def _role_and_path(argument: str) -> tuple[Role | None, Path]:
    prefix, separator, rest = argument.partition("=")
    for role in ROLES:
        if separator and prefix == role:
            return role, Path(rest)
    return None, Path(argument)


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    if len(data) > _MOST_BYTES:
        raise InputError(
            f"{path} has more than {_MOST_BYTES:,} bytes, too large for a configuration: name a configuration file"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
        if any(ord(character) < 32 and character not in "\t\n\r\f" for character in text):
            raise InputError(f"{path} is not a text file: name a configuration file") from None
    if "\0" in text:
        raise InputError(f"{path} is not a text file: name a configuration file")
    return text


def _parsed(path: Path, text: str) -> Mapping[str, Any]:
    try:
        parsed = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text, object_pairs_hook=_no_duplicates)
    except tomllib.TOMLDecodeError as error:
        # The message may contain a piece of the file, which may be a secret. Its end is the place.
        place = re.search(r"\(at [^()]*\)$", str(error))
        raise InputError(f"{path} is not TOML {place.group() if place else ''}".rstrip()) from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    except _DuplicateError as error:
        raise InputError(f"{path}: {_plain(str(error))} occurs twice: keep one of the two") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path} has a number with thousands of digits, or is nested too deeply") from None
    if not isinstance(parsed, dict):
        raise InputError(f"{path} is not an object: write names and values, or sections {', '.join(ROLES)}")
    return parsed


def _plain(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9._-]{1,80}", name) else "a name"


class _DuplicateError(Exception):
    pass


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for name, value in pairs:
        if name in seen:
            raise _DuplicateError(name)
        seen[name] = value
    return seen


def _sections(path: Path, parsed: Mapping[str, Any], role: Role | None) -> ConfigurationFile:
    """Return a file with a section for each role, or with the settings of one role."""
    sections: dict[Role, tuple[WrittenSetting, ...]] = {}
    for name in ROLES:
        if isinstance(parsed.get(name), dict):
            found = _by_role(path, tuple(_flat(path, parsed[name])), name)
            sections |= {role: sections.get(role, ()) + found[role] for role in found}
    if sections:
        outside = sorted(set(parsed) - set(ROLES))
        if outside:
            raise InputError(f"{path}: {_plain(outside[0])} is outside the sections {', '.join(ROLES)}")
        return ConfigurationFile(path.name, sections)
    settings = tuple(_flat(path, parsed))
    if any(_SPRING.match(given.name) for given in settings):
        return _spring(path, settings)
    return ConfigurationFile(path.name, _by_role(path, settings, role))


def _flat(path: Path, table: Mapping[str, Any], prefix: str = "") -> Iterator[WrittenSetting]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(path, value, f"{prefix}{name}.")
        elif isinstance(value, list):
            yield WrittenSetting(prefix + name, ",".join(str(item) for item in value), path.name)
        else:
            yield WrittenSetting(
                prefix + name, str(value).lower() if isinstance(value, bool) else str(value), path.name
            )


def _properties(path: Path, text: str) -> Iterator[WrittenSetting]:
    """Yield the settings of a `.properties` file, in Java's syntax."""
    line = 1
    try:
        for element in javaproperties.parse(text):
            if isinstance(element, javaproperties.KeyValue):
                yield WrittenSetting(element.key, element.value, path.name, line)
            line += element.source.count("\n")
    except javaproperties.InvalidUEscapeError:
        raise InputError(f"{path}:{line}: a \\u is not followed by four hexadecimal digits") from None


def _described(path: Path, text: str) -> ConfigurationFile | None:
    """Return the output of `kafka-configs.sh --describe` or `kafka-topics.sh --describe`; None if it is neither."""
    settings: dict[Role, list[WrittenSetting]] = {}
    names: dict[Role, str] = {}
    role: Role | None = None

    def of(found: Role, name: str | None, place: int) -> list[WrittenSetting]:
        if name is not None and names.setdefault(found, name) != name:
            raise InputError(f"{path}:{place}: a second {found} is described: write a file for each {found}")
        return settings.setdefault(found, [])

    for number, line in enumerate(text.splitlines(), start=1):
        heading, topic = _DESCRIBED.match(line), _TOPIC_LINE.match(line)
        if heading:
            default, kind, name, listed = heading.groups()
            role = "topic" if kind.lower() == "topic" else "broker"
            of(role, None if default else name, number).extend(_listed(path, listed, number))
        elif topic:
            name, factor, listed = topic.groups()
            found = of("topic", name, number)
            found.append(WrittenSetting("replication.factor", factor, path.name, number))
            found.extend(_listed(path, listed, number))
        elif role and (setting := _DESCRIBED_SETTING.match(line)):
            settings[role].append(WrittenSetting(setting.group(1), setting.group(2), path.name, number))
    return ConfigurationFile(path.name, {role: tuple(found) for role, found in settings.items()}) if settings else None


def _listed(path: Path, text: str | None, line: int) -> Iterator[WrittenSetting]:
    """Yield the settings of one line, `a=1,b=2,3,c=4`; a value may contain commas."""
    for pair in re.split(r",(?=[a-z][a-z0-9._]*=)", text or ""):
        name, separator, value = pair.partition("=")
        if separator:
            yield WrittenSetting(name, value, path.name, line)


def _spring(path: Path, settings: tuple[WrittenSetting, ...]) -> ConfigurationFile:
    """Return settings with Spring Boot's names: `spring.kafka.producer.acks`, and Kafka's names below `properties`."""
    roles: dict[Role, list[WrittenSetting]] = {"producer": [], "consumer": []}
    for given in settings:
        match = _SPRING.match(given.name)
        if match is None:
            # A name such as spring.cloud.stream.kafka.binder.required-acks may have an effect that is not known here.
            if "kafka" in given.name.lower():
                roles["producer"].append(given)
            continue
        part, bracketed, name = match.groups()
        name = bracketed or _SPRING_NAMES.get(name, name.replace("-", "."))
        # Spring writes Java's constants with hyphens.
        value = given.value.lower().replace("-", "_") if name == "isolation.level" else given.value
        renamed = WrittenSetting(name, value, given.file, given.line)
        readers = [role for role in _CLIENTS if role == part or (part is None and renamed.name in names_of(role))]
        for role in readers:
            roles[role].append(renamed)
        if part is None and not readers and not renamed.name.startswith(_SPRING_WITHOUT_EFFECT):
            roles["producer"].append(renamed)
        if part == "listener":
            roles["consumer"].append(WrittenSetting(f"listener.{name}", given.value, given.file, given.line))
    return ConfigurationFile(path.name, {role: tuple(found) for role, found in roles.items()}, is_spring=True)


_SPRING_WITHOUT_EFFECT = ("admin.", "jaas.", "retry.", "security.", "ssl.", "template.")
"""Parts of Spring's settings that configure neither the producer nor the consumer."""

_SPRING_NAMES = {"transaction-id-prefix": "transactional.id", "auto-commit-interval": "auto.commit.interval.ms"}


def _by_role(
    path: Path, settings: tuple[WrittenSetting, ...], role: Role | None
) -> dict[Role, tuple[WrittenSetting, ...]]:
    """Return the settings of a file by the role that reads each of them, whatever the role of the file.

    A file such as `client.properties` may configure several roles. A setting that only another role knows is a setting
    of that role: it must never be dropped. A setting that several roles know belongs to the role of the file, and to
    each client that has a setting of its own in the file.
    """
    _refuse_frameworks(path, settings)
    client = _client_of(settings)
    readers: dict[str, list[Role]] = {
        given.name: [reader for reader in ROLES if given.name in names_of(reader, client)] for given in settings
    }
    main: Role | None
    present: list[Role] = [role for role in _CLIENTS if [role] in readers.values()]
    main = role or (None if len(present) == 2 else _guess(path, settings))
    by_role: dict[Role, list[WrittenSetting]] = {}
    for given in settings:
        known = readers[given.name]
        chosen = [reader for reader in known if reader == main or reader in present]
        clients = [reader for reader in known if reader in _CLIENTS]
        fallback: list[Role] = [main or "producer"]
        for reader in chosen or clients or known[:1] or fallback:
            by_role.setdefault(reader, []).append(given)
    return {reader: tuple(found) for reader, found in by_role.items()}


_CLIENTS: tuple[Role, ...] = ("producer", "consumer")


def _refuse_frameworks(path: Path, settings: tuple[WrittenSetting, ...]) -> None:
    for given in settings:
        for pattern, framework, instead in _FRAMEWORKS:
            if pattern.fullmatch(given.name):
                raise InputError(f"{path} is the file of a {framework} ({given.name}), which is not read: {instead}")


def _client_of(settings: tuple[WrittenSetting, ...]) -> Client:
    return "librdkafka" if any(is_of_librdkafka_alone(given.name) for given in settings) else "java"


def _guess(path: Path, settings: tuple[WrittenSetting, ...]) -> Role:
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
