"""The output of `kafka-configs.sh --describe`, `kafka-topics.sh --describe` and `kafka-features.sh describe`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from checker.errors import InputError
from kafka_tools.advise.configuration_keys import FEATURES, UNREAD_FEATURES, Role
from kafka_tools.advise.node_roles import by_node
from kafka_tools.advise.written_settings import ConfigurationFile, Precedence, WrittenSetting

_DESCRIBED = re.compile(
    r"^(?:(?:All|Dynamic|(Default)) )?configs for (topic|broker)s?[ :]+'?([^\s']+)'?.*? are:?(?:\s+(\S+))?",
    re.IGNORECASE,
)
"""The heading of what `kafka-configs.sh --describe` prints; with `--zookeeper` the settings follow in its line."""

_DESCRIBED_SETTING = re.compile(r"^\s+([a-z0-9._]+)=(.*?)\s+sensitive=(?:true|false)\b")

_NAMES = "|".join(map(re.escape, (*FEATURES, *UNREAD_FEATURES)))
_FEATURE = re.compile(rf"^Feature:\s*({_NAMES})\s.*\bFinalizedVersionLevel:\s*([\w.-]+)")
"""The line of a feature in what `kafka-features.sh describe` prints."""

_TOPIC_LINE = re.compile(r"^Topic:\s*(\S+).*\bReplicationFactor:\s*(\d+)(?:.*\bConfigs:\s*(\S*))?")
"""The first line of a topic in what `kafka-topics.sh --describe` prints."""


def described(path: Path, text: str) -> ConfigurationFile | None:
    """Return the settings in the output of a tool, or None for another text.

    A dynamic value takes precedence over that of a broker's file, and that of one broker over that of the cluster.
    """
    settings: dict[Role, list[WrittenSetting]] = {}
    names: dict[Role, str] = {}
    role: Role | None = None
    precedence = Precedence.FILE

    def of(entity: Role, name: str | None, place: int) -> list[WrittenSetting]:
        if name is not None and names.setdefault(entity, name) != name:
            raise InputError(f"{path}:{place}: a second {entity} is described: write a file for each {entity}")
        return settings.setdefault(entity, [])

    for number, line in enumerate(text.splitlines(), start=1):
        heading, topic, feature = _DESCRIBED.match(line), _TOPIC_LINE.match(line), _FEATURE.match(line)
        if heading:
            default, kind, name, listed = heading.groups()
            role = "topic" if kind.lower() == "topic" else "broker"
            if role == "broker":
                precedence = Precedence.OVERRIDE if default else Precedence.ENFORCED
            of(role, None if default else name, number).extend(_list_settings(path, listed, number))
        elif feature:
            of("broker", None, number).append(WrittenSetting(feature[1], feature[2], path.name, number))
        elif topic:
            name, factor, listed = topic.groups()
            written = of("topic", name, number)
            written.append(WrittenSetting("replication.factor", factor, path.name, number))
            written.extend(_list_settings(path, listed, number))
        elif role and (setting := _DESCRIBED_SETTING.match(line)):
            settings[role].append(WrittenSetting(setting.group(1), setting.group(2), path.name, number, precedence))
    if not settings:
        return None
    return by_node(ConfigurationFile(path.name, {role: tuple(written) for role, written in settings.items()}))


def _list_settings(path: Path, text: str | None, line: int) -> Iterator[WrittenSetting]:
    """Yield the settings of one line, `a=1,b=2,3,c=4`; a value may contain commas."""
    for pair in re.split(r",(?=[a-z][a-z0-9._]*=)", text or ""):
        name, separator, value = pair.partition("=")
        if separator:
            yield WrittenSetting(name, value, path.name, line)
