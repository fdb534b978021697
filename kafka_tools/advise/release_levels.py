"""Levels of features and formats below the release of the brokers, which answers name and no exploration reads."""

from __future__ import annotations

import re

from kafka_tools.advise.configuration_keys import UNREAD_FEATURES
from kafka_tools.advise.written_settings import WrittenSetting
from specs.kafka_releases import OLDEST_SUPPORTED, RELEASES, release_number

_OF_RELEASES = (
    "inter.broker.protocol.version",
    "log.message.format.version",
    "message.format.version",
    "metadata.version",
)
"""Levels that are named after releases, such as 3.7-IV4."""

LEVELS = frozenset((*_OF_RELEASES, *UNREAD_FEATURES))


def unread_level(given: WrittenSetting, version: str) -> str:
    """Return a sentence on a level that may change the rules of a release, "" for one that changes no answer."""
    shown = given.value if re.fullmatch(r"[\w.-]{1,20}", given.value) else "..."
    start = f"Not read: {given.name}={shown} ({given.where})"
    if given.name == "group.version":
        return "" if given.value != "0" else f"{start}: brokers then refuse group.protocol=consumer."
    if given.name not in _OF_RELEASES:
        # Of the KRaft quorum, of share groups and of Streams groups, which the answers are not about.
        return ""
    line = re.match(r"(0\.\d+\.\d+|[1-9]\d*\.\d+)", given.value)
    if line is None:
        return f"{start}. If the level is below Kafka {version}, brokers keep older rules, which the answers lack."
    numbers = tuple(map(int, line[1].split(".")))
    if numbers >= release_number(version)[: len(numbers)]:
        return ""
    supported = RELEASES[RELEASES.index(OLDEST_SUPPORTED) :]
    is_supported = any(release.startswith(f"{line[1]}.") for release in supported)
    again = f" Ask again with --kafka {line[1]}, and take the worse answer." if is_supported else ""
    return f"{start}. Brokers of Kafka {version} then keep some rules of {line[1]}, which the answers lack.{again}"
