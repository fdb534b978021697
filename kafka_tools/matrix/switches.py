"""The switches of the page of settings, and the configurations that it has.

The settings of the producer, the topic and the brokers are combined with each other; those of the consumer are combined
with each other. Of the two, one has its defaults: the page has a sum of configurations instead of a product.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from kafka_tools.advise.cluster import ClusterConfig, gather
from kafka_tools.advise.configuration_keys import Client
from kafka_tools.advise.effective_config import resolve
from kafka_tools.advise.models import UNLIMITED_RETRIES

Part = Literal["all", "writes", "consumer"]

Settings = Mapping[str, str]
"""The value of each switch by its name."""

IN_FLIGHT = "max.in.flight.requests.per.connection"
UNSET = "unset"
"""The value of enable.idempotence that no file sets: Kafka then decides it, also by other settings (KAFKA-13673)."""

COMMITS = {
    "auto": "true",
    "last": "false, and the application commits after processing",
    "first": "false, and the application commits before processing",
}
"""The values of the switch `commits`, and what they say of enable.auto.commit."""


@dataclass(frozen=True)
class SettingSwitch:
    """A switch: its name, which is that of a setting, its values, and whose it is.

    `part`: the writes (producer, topic and brokers), the consumer, or both.
    """

    name: str
    values: tuple[str, ...]
    part: Part
    role: str = ""


SWITCHES = (
    SettingSwitch("release", ("2.8.2", "3.9.2", "4.4.0"), "all"),
    SettingSwitch("client", ("java", "librdkafka"), "all"),
    SettingSwitch("acks", ("0", "1", "all"), "writes", "producer"),
    SettingSwitch("enable.idempotence", (UNSET, "false", "true"), "writes", "producer"),
    SettingSwitch(IN_FLIGHT, ("1", "5"), "writes", "producer"),
    SettingSwitch("retries", ("0", str(UNLIMITED_RETRIES)), "writes", "producer"),
    SettingSwitch("replication.factor", ("1", "3"), "writes", "topic"),
    SettingSwitch("min.insync.replicas", ("1", "2"), "writes", "topic"),
    SettingSwitch("unclean.leader.election.enable", ("false", "true"), "writes", "topic"),
    SettingSwitch("flush.messages", ("never", "1"), "writes", "topic"),
    SettingSwitch("eligible.leader.replicas.version", ("0", "1"), "writes", "broker"),
    SettingSwitch("commits", tuple(COMMITS), "consumer", "consumer"),
    SettingSwitch("auto.offset.reset", ("latest", "earliest", "none"), "consumer", "consumer"),
    SettingSwitch("group.protocol", ("classic", "consumer"), "consumer", "consumer"),
)


def defaults(release: str, client: Client) -> dict[str, str]:
    """Return Kafka's defaults as the values of the switches; more requests in flight than five count as five."""
    effective = {name: choice.value for name, choice in resolve(gather([], release, client)).choices.items()}
    fixed = {"release": release, "client": client, "enable.idempotence": UNSET, IN_FLIGHT: "5", "commits": "auto"}
    # A release without group.protocol has the classic one.
    return {switch.name: fixed.get(switch.name) or effective.get(switch.name, "classic") for switch in SWITCHES}


def cluster_of(settings: Settings) -> ClusterConfig:
    """Return the configuration with some settings, as `advise` reads them from its command line.

    Raises:
        InputError: the release lacks a setting.
    """
    client: Client = "librdkafka" if settings["client"] == "librdkafka" else "java"
    cluster = gather([], settings["release"], client, (), assignments(settings))
    return cluster.committing(settings["commits"] if settings["commits"] != "auto" else None)


def assignments(settings: Settings) -> list[str]:
    """Return the settings as `--set` takes them."""
    return [text for switch in SWITCHES if (text := assignment(switch, settings[switch.name]))]


def assignment(switch: SettingSwitch, value: str) -> str:
    """Return the value of a switch as `--set` takes it, "" for a value that is that of a setting without one."""
    if not switch.role or value in (UNSET, "never", "classic"):
        return ""
    if switch.name == "commits":
        return f"enable.auto.commit={str(value == 'auto').lower()}"
    return f"{switch.role}.{switch.name}={value}"


def configurations() -> Iterator[dict[str, str]]:
    """Yield the settings of every configuration of the page, each once."""
    seen = set()
    for release, client in itertools.product(SWITCHES[0].values, ("java", "librdkafka")):
        usual = defaults(release, "librdkafka" if client == "librdkafka" else "java")
        for part in ("writes", "consumer"):
            switches = [switch for switch in SWITCHES if switch.part == part]
            for values in itertools.product(*(switch.values for switch in switches)):
                settings = usual | dict(zip((switch.name for switch in switches), values, strict=True))
                key = key_of(settings)
                if key not in seen and is_chosen(settings):
                    seen.add(key)
                    yield settings


def is_chosen(settings: Settings) -> bool:
    """Return whether a configuration is one of the page.

    Left out: librdkafka with older brokers; with acks=0, settings of retries, which a producer without answers never
    makes; with a single replica, settings of elections.
    """
    if settings["client"] == "librdkafka" and settings["release"] != SWITCHES[0].values[-1]:
        return False
    if settings["acks"] == "0" and (settings[IN_FLIGHT] == "1" or settings["retries"] == "0"):
        return settings["enable.idempotence"] == "true"
    has_election = settings["unclean.leader.election.enable"] == "true" or (
        settings["eligible.leader.replicas.version"] == "1"
    )
    return not (settings["replication.factor"] == "1" and has_election)


def key_of(settings: Settings) -> str:
    """Return a configuration as a digit for each switch: the number of its value."""
    return "".join(str(switch.values.index(settings[switch.name])) for switch in SWITCHES)
