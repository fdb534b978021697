"""The switches of the page of settings, and the configurations that it has.

The settings of the producer, the topic and the brokers are combined with each other; those of the consumer are combined
with each other. Of the two, one has its defaults: the page has a sum of configurations instead of a product. A
transactional producer has all defaults of the consumer but isolation.level, which matters with it alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from kafka_tools.advise.cluster import ClusterConfig, gather
from kafka_tools.advise.configuration_keys import Client
from kafka_tools.advise.controller_mode import Controller
from kafka_tools.advise.effective_config import resolve
from kafka_tools.advise.models import UNLIMITED_RETRIES
from specs.kafka_versions import CONTROLLER_NAMES, KRAFT, ZOOKEEPER, controller_modes

Part = Literal["all", "writes", "consumer"]

Settings = Mapping[str, str]
"""The value of each switch by its name."""

IN_FLIGHT = "max.in.flight.requests.per.connection"
UNSET = "unset"
"""The value of enable.idempotence that no file sets: Kafka then decides it, also by other settings (KAFKA-13673)."""

NOT_KNOWN = "unknown"
"""The controller mode of a release that has two, if nobody names it: what is known of either counts."""

TRANSACTIONAL, ISOLATION = "transactional.id", "isolation.level"
_ISOLATION_OF: Mapping[Client, str] = {"java": "read_uncommitted", "librdkafka": "read_committed"}

COMMITS = {
    "auto": "true",
    "last": "false, and the application commits after processing",
    "first": "false, and the application commits before processing",
}
"""The values of the switch `commits`, and what they say of enable.auto.commit."""

LABELS = {**COMMITS, **CONTROLLER_NAMES, NOT_KNOWN: "not known"}
"""The names of values that are not those of a setting."""


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
    SettingSwitch("controller", (NOT_KNOWN, ZOOKEEPER, KRAFT), "all"),
    SettingSwitch("acks", ("0", "1", "all"), "writes", "producer"),
    SettingSwitch("enable.idempotence", (UNSET, "false", "true"), "writes", "producer"),
    SettingSwitch(IN_FLIGHT, ("1", "5"), "writes", "producer"),
    SettingSwitch("retries", ("0", str(UNLIMITED_RETRIES)), "writes", "producer"),
    SettingSwitch(TRANSACTIONAL, ("none", "set"), "writes", "producer"),
    SettingSwitch("replication.factor", ("1", "3"), "writes", "topic"),
    SettingSwitch("min.insync.replicas", ("1", "2"), "writes", "topic"),
    SettingSwitch("unclean.leader.election.enable", ("false", "true"), "writes", "topic"),
    SettingSwitch("flush.messages", ("never", "1"), "writes", "topic"),
    SettingSwitch("eligible.leader.replicas.version", ("0", "1"), "writes", "broker"),
    SettingSwitch("commits", tuple(COMMITS), "consumer", "consumer"),
    SettingSwitch("auto.offset.reset", ("latest", "earliest", "none"), "consumer", "consumer"),
    SettingSwitch("group.protocol", ("classic", "consumer"), "consumer", "consumer"),
    SettingSwitch(ISOLATION, ("read_uncommitted", "read_committed"), "writes", "consumer"),
)


def controllers(release: str) -> tuple[str, ...]:
    """Return the controller modes that the page has for a release, the default first."""
    modes = controller_modes(release)
    return (NOT_KNOWN, *modes) if len(modes) > 1 else modes


def defaults(release: str, client: Client) -> dict[str, str]:
    """Return Kafka's defaults as the values of the switches; more requests in flight than five count as five."""
    effective = {name: choice.value for name, choice in resolve(gather([], release, client)).choices.items()}
    fixed = {"release": release, "client": client, "enable.idempotence": UNSET, IN_FLIGHT: "5", "commits": "auto"}
    fixed |= {"controller": controllers(release)[0], TRANSACTIONAL: "none", ISOLATION: _ISOLATION_OF[client]}
    # A release without group.protocol has the classic one.
    return {switch.name: fixed.get(switch.name) or effective.get(switch.name, "classic") for switch in SWITCHES}


def cluster_of(settings: Settings) -> ClusterConfig:
    """Return the configuration with some settings, as `advise` reads them from its command line.

    Raises:
        InputError: the release lacks a setting.
    """
    named: dict[str, Controller] = {ZOOKEEPER: "zookeeper", KRAFT: "kraft"}
    controller = named.get(settings["controller"])
    cluster = gather([], settings["release"], _client_of(settings), (), assignments(settings), controller)
    return cluster.committing(settings["commits"] if settings["commits"] != "auto" else None)


def assignments(settings: Settings) -> list[str]:
    """Return the settings as `--set` takes them."""
    left_out = {ISOLATION} if settings[TRANSACTIONAL] == "none" else set()
    named = [switch for switch in SWITCHES if switch.name not in left_out]
    return [text for switch in named if (text := assignment(switch, settings[switch.name]))]


def _client_of(settings: Settings) -> Client:
    return "librdkafka" if settings["client"] == "librdkafka" else "java"


def assignment(switch: SettingSwitch, value: str) -> str:
    """Return the value of a switch as `--set` takes it, "" for a value that is that of a setting without one."""
    if not switch.role or value in (UNSET, "none", "never", "classic"):
        return ""
    if switch.name == TRANSACTIONAL:
        return f"producer.{TRANSACTIONAL}=mine"
    if switch.name == "commits":
        return f"enable.auto.commit={str(value == 'auto').lower()}"
    return f"{switch.role}.{switch.name}={value}"


def configurations() -> Iterator[dict[str, str]]:
    """Yield the settings of every configuration of the page, each once."""
    seen: set[str] = set()
    clients: tuple[Client, ...] = ("java", "librdkafka")
    for release, client in itertools.product(SWITCHES[0].values, clients):
        for controller in controllers(release):
            usual = defaults(release, client) | {"controller": controller}
            yield from _with_parts(usual, seen)


def _with_parts(usual: dict[str, str], seen: set[str]) -> Iterator[dict[str, str]]:
    """Yield the settings of every configuration with the defaults of one part whose key is not in `seen`."""
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

    Left out: librdkafka with older brokers and with transactions; with acks=0, settings of retries, which a producer
    without answers never makes; with a single replica, settings of elections.
    """
    is_old = settings["release"] != SWITCHES[0].values[-1]
    if settings["client"] == "librdkafka" and (is_old or settings[TRANSACTIONAL] == "set"):
        return False
    if settings["acks"] == "0" and (settings[IN_FLIGHT] == "1" or settings["retries"] == "0"):
        return settings["enable.idempotence"] == "true"
    has_election = settings["unclean.leader.election.enable"] == "true" or (
        settings["eligible.leader.replicas.version"] == "1"
    )
    return not (settings["replication.factor"] == "1" and has_election)


def key_of(settings: Settings) -> str:
    """Return a configuration as a digit for each switch: the number of its value.

    Settings with equal answers have one key: isolation.level matters with transactions alone, and a transactional
    producer is idempotent.
    """
    if settings[TRANSACTIONAL] == "none":
        settings = {**settings, ISOLATION: _ISOLATION_OF[_client_of(settings)]}
    elif settings["enable.idempotence"] == "true":
        settings = {**settings, "enable.idempotence": UNSET}
    return "".join(str(switch.values.index(settings[switch.name])) for switch in SWITCHES)
