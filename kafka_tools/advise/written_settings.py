"""Settings as files contain them: their place, their precedence, and the framework that runs the clients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum

from kafka_tools.advise.configuration_keys import Role


class Precedence(IntEnum):
    """Which of two values of a setting is in effect. Two different values of equal precedence are an error."""

    FRAMEWORK = 0
    """The framework's own value, which every file may change."""
    SHARED = 1
    """A value for several clients, such as `spring.kafka.properties`, or for the topics that a framework creates."""
    FILE = 2
    OVERRIDE = 3
    """A value for one client, such as `producer.override.acks` of a connector; a cluster's dynamic default."""
    ENFORCED = 4
    """The framework's own value, which no file changes; a broker's dynamic value."""
    COMMAND_LINE = 5


class Framework(Enum):
    """A program that creates clients and sets some of their settings itself; the value is its name as text."""

    SPRING = "Spring"
    CONNECT_WORKER = "Kafka Connect worker"
    CONNECT_SOURCE = "Kafka Connect source connector"
    CONNECT_SINK = "Kafka Connect sink connector"
    STREAMS = "Kafka Streams"
    SMALLRYE = "SmallRye Reactive Messaging"
    STRIMZI = "Strimzi"


@dataclass(frozen=True)
class WrittenSetting:
    """A setting with Kafka's name, its place, and its precedence. `spelling`: the name in the file if it differs."""

    name: str
    value: str
    file: str
    line: int | None = None
    precedence: Precedence = Precedence.FILE
    spelling: str = ""

    @property
    def where(self) -> str:
        """The place as text: `file:line`."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    @property
    def written_name(self) -> str:
        """The name in the file."""
        return self.spelling or self.name

    def renamed(self, name: str, precedence: Precedence | None = None) -> WrittenSetting:
        """Return the setting with Kafka's name, and with another precedence if one is given."""
        chosen = self.precedence if precedence is None else precedence
        return WrittenSetting(name, self.value, self.file, self.line, chosen, self.written_name)


@dataclass(frozen=True)
class ConfigurationFile:
    """The settings of a file by role.

    `frameworks` run the clients of the file. `options` are settings of these frameworks that change what they set.
    `idle` are names without an effect on the answers. `other_clients` are settings of clients that the answers do not
    concern. `disks` are the values of `broker_disks`. `notes` are sentences for the user.
    """

    file: str
    roles: Mapping[Role, tuple[WrittenSetting, ...]]
    frameworks: frozenset[Framework] = frozenset()
    options: tuple[WrittenSetting, ...] = ()
    disks: tuple[WrittenSetting, ...] = ()
    idle: tuple[str, ...] = ()
    other_clients: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the file says nothing about Kafka."""
        parts = (*self.roles.values(), self.frameworks, self.options, self.disks, self.idle, self.other_clients)
        return not any((*parts, self.notes))


@dataclass
class FileBuilder:
    """A configuration file while it is read."""

    file: str
    roles: dict[Role, list[WrittenSetting]] = field(default_factory=dict)
    frameworks: set[Framework] = field(default_factory=set)
    options: list[WrittenSetting] = field(default_factory=list)
    disks: list[WrittenSetting] = field(default_factory=list)
    idle: list[str] = field(default_factory=list)
    other_clients: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, role: Role, setting: WrittenSetting) -> None:
        """Add a setting of a role."""
        self.roles.setdefault(role, []).append(setting)

    def build(self) -> ConfigurationFile:
        """Return the file."""
        return ConfigurationFile(
            self.file,
            {role: tuple(settings) for role, settings in self.roles.items()},
            frozenset(self.frameworks),
            tuple(self.options),
            tuple(self.disks),
            tuple(self.idle),
            tuple(self.other_clients),
            tuple(self.notes),
        )


def combined(file: str, parts: Iterable[ConfigurationFile]) -> ConfigurationFile:
    """Return the parts of a file, such as the documents of a YAML file, as one."""
    builder = FileBuilder(file)
    for part in parts:
        for role, settings in part.roles.items():
            builder.roles.setdefault(role, []).extend(settings)
        builder.frameworks |= part.frameworks
        builder.options += part.options
        builder.disks += part.disks
        builder.idle += part.idle
        builder.other_clients += part.other_clients
        builder.notes += part.notes
    return builder.build()
