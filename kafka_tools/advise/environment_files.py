"""Environment variables of container images and frameworks: `KAFKA_MIN_INSYNC_REPLICAS`, `CONNECT_PRODUCER_ACKS`.

Conventions: Confluent's and Apache's images (`KAFKA_`, `CONNECT_`; `__` stands for an underscore, `___` for a hyphen),
Bitnami's image (`KAFKA_CFG_`), Spring (`SPRING_KAFKA_`), Quarkus (`KAFKA_ACKS` for `kafka.acks`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from checker.errors import InputError
from kafka_tools.advise.configuration_keys import CLIENT_ROLES, KEYS, Role
from kafka_tools.advise.written_settings import WrittenSetting

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_PREFIXES = ("KAFKA_CFG_", "KAFKA_", "CONNECT_", "SPRING_KAFKA_", "MP_MESSAGING_")

_OF_IMAGES = re.compile(
    r"KAFKA_(OPTS|HEAP_OPTS|JMX_.*|LOG4J_.*|GC_LOG_OPTS|JVM_PERFORMANCE_OPTS|ENABLE_KRAFT|KRAFT_.*|VERSION|HOME"
    r"|TOOLS_LOG4J.*|CLIENT_USERS|CLIENT_PASSWORDS|CLIENT_LISTENER_NAME|INTER_BROKER_(USER|PASSWORD)|CONTROLLER_(USER|PASSWORD)"
    r"|CERTIFICATE_PASSWORD|TLS_.*|BROKER_ID_COMMAND|CLUSTER_ID|CLUSTERS_.*|ZOOKEEPER_(PROTOCOL|USER|PASSWORD|TLS_.*)"
    r"|MOUNTED_CONF_DIR|EXTRA_FLAGS|INIT_.*|KERBEROS_.*|SKIP_.*|DEBUG|DATA_DIR|LOG_DIR|BASE_DIR|CONF_DIR|METRIC_.*)"
    r"|CONNECT_(LOG4J_.*|CUB_.*|.*_OPTS)"
)
"""Variables of container images that are no settings of Kafka."""


def is_environment(settings: Sequence[WrittenSetting]) -> bool:
    """Return whether all names are environment variables, and one of them is Kafka's by convention.

    Others, such as `http_proxy`, may have small letters.
    """
    return has_variable_of_kafka(settings) and all(_VARIABLE.fullmatch(given.name) for given in settings)


def has_variable_of_kafka(settings: Sequence[WrittenSetting]) -> bool:
    """Return whether one of the names is Kafka's by a convention of environment variables."""
    return any(given.name.startswith(_PREFIXES) for given in settings)


def read_environment(path: Path, settings: Sequence[WrittenSetting]) -> tuple[list[WrittenSetting], list[str]]:
    """Return the settings with the names of a configuration file, and the names without an effect.

    Raises InputError for channels of MicroProfile, whose names are ambiguous in capitals.
    """
    kept: list[WrittenSetting] = []
    without_effect: list[WrittenSetting] = []
    for given in settings:
        name = given.name
        prefix = next((prefix for prefix in _PREFIXES if name.startswith(prefix)), None)
        if prefix == "MP_MESSAGING_":
            raise InputError(f"{given.where}: {name}: write the channel's settings as mp.messaging... properties")
        if name == "KAFKA_CREATE_TOPICS":
            kept.append(_replication_factor(given))
        elif prefix is None or _OF_IMAGES.fullmatch(name):
            # A setting that the application reads itself may have an effect that is not known here.
            (kept if hides_setting(name) else without_effect).append(given)
        elif prefix == "SPRING_KAFKA_":
            kept.append(given.renamed(_spring_name(name.removeprefix(prefix))))
        else:
            kept.append(given.renamed(_dotted_name(name.removeprefix(prefix))))
    return kept, [given.name for given in without_effect]


def with_prefixes(settings: Sequence[WrittenSetting]) -> list[WrittenSetting]:
    """Return the variables of Debezium's images, which have no prefix, as those of the other images."""
    names = {given.name for given in settings}
    is_worker = bool(names & {"CONFIG_STORAGE_TOPIC", "OFFSET_STORAGE_TOPIC"})
    prefixed = []
    for given in settings:
        if is_worker and given.name in _OF_DEBEZIUM_CONNECT:
            prefixed.append(given.renamed(f"CONNECT_{given.name}"))
        elif given.name == "NODE_ROLE":
            roles = "broker,controller" if given.value == "combined" else given.value
            prefixed.append(WrittenSetting("KAFKA_PROCESS_ROLES", roles, given.file, given.line, spelling=given.name))
        else:
            prefixed.append(given)
    return prefixed


_OF_DEBEZIUM_CONNECT = (
    "BOOTSTRAP_SERVERS",
    "CONFIG_STORAGE_TOPIC",
    "GROUP_ID",
    "KEY_CONVERTER",
    "OFFSET_FLUSH_INTERVAL_MS",
    "OFFSET_FLUSH_TIMEOUT_MS",
    "OFFSET_STORAGE_TOPIC",
    "REST_HOST_NAME",
    "STATUS_STORAGE_TOPIC",
    "VALUE_CONVERTER",
)
"""The variables that the image debezium/connect copies to `CONNECT_...`; it passes on other `CONNECT_` variables."""


def _replication_factor(given: WrittenSetting) -> WrittenSetting:
    """Return the replication factor of the topics that an image creates: `NAME:PARTITIONS:REPLICAS,...`."""
    factors = {(*topic.split(":"), "", "")[2].strip() for topic in given.value.split(",")}
    if len(factors) != 1:
        raise InputError(
            f"{given.where}: the topics of {given.name} have different replication factors: keep one topic"
        )
    return WrittenSetting("replication.factor", factors.pop(), given.file, given.line, spelling=given.name)


def _dotted_name(name: str) -> str:
    return name.lower().replace("___", "-").replace("__", "\0").replace("_", ".").replace("\0", "_")


def _spring_name(name: str) -> str:
    """Return Spring's name: `PRODUCER_PROPERTIES_ENABLE_IDEMPOTENCE` is one setting below `properties`."""
    part, separator, rest = name.lower().partition("_")
    if part in ("bootstrap", "client"):
        return f"spring.kafka.{name.lower().replace('_', '-')}"
    if part == "properties":
        return f"spring.kafka.properties.{rest.replace('_', '.')}"
    if rest.startswith("properties_"):
        return f"spring.kafka.{part}.properties.{rest.removeprefix('properties_').replace('_', '.')}"
    return f"spring.kafka.{part}{'.' if separator else ''}{rest.replace('_', '-')}"


def hides_setting(name: str) -> bool:
    """Return whether a name that follows no convention ends in a client's setting, such as `ORDERS_PRODUCER_ACKS`."""
    return names_other_settings(name) or _ends_in(name, _OF_CLIENTS)


def names_other_settings(name: str) -> bool:
    """Return whether a setting of Spring contains other settings, or names a file with some, in any spelling."""
    return re.sub(r"[._-]", "", name.lower()) in _WITH_OTHER_SETTINGS


_WITH_OTHER_SETTINGS = (
    "springapplicationjson",
    "springconfigimport",
    "springconfiglocation",
    "springconfigadditionallocation",
)


def is_on_command_line(name: str) -> bool:
    """Return whether a name on a command line is a setting of a client, topic or broker: `--replication-factor 1`."""
    return name == "replication-factor" or _ends_in(name, _OF_CLIENTS | _OF_SERVERS)


def _ends_in(name: str, settings: frozenset[str]) -> bool:
    dotted = _dotted_name(name)
    return any(dotted == setting or dotted.endswith(f".{setting}") for setting in settings)


def _settings_of(roles: Sequence[Role]) -> frozenset[str]:
    return frozenset(setting for role in roles for setting in KEYS[role] if setting not in COMMON_WORDS)


COMMON_WORDS = ("retries", "request.timeout.ms", "session.timeout.ms", "process.roles", "zookeeper.connect")
"""Settings of which other programs use the names, too."""

_OF_CLIENTS, _OF_SERVERS = _settings_of(CLIENT_ROLES), _settings_of(("topic", "broker"))
