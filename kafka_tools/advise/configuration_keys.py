"""The settings that affect the answers: their values, and their other names."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

Role = Literal["producer", "consumer", "topic", "broker", "controller"]
Client = Literal["java", "librdkafka"]

CLIENT_ROLES: tuple[Role, ...] = ("producer", "consumer")
ROLES: tuple[Role, ...] = (*CLIENT_ROLES, "topic", "broker")
"""The roles that a user names. `controller` has the settings of a broker's file that a controller reads."""

MOST = 2**31 - 1

MOST_REPLICAS = 7
"""The largest replication factor that the command line accepts: more replicas take too long to explore."""

BY_DURATION = "by_duration:"
"""The prefix of an auto.offset.reset value that goes back by a duration (KIP-1106, 4.0)."""

ELIGIBLE_LEADER_REPLICAS_VERSION = "eligible.leader.replicas.version"
TRANSACTION_VERSION = "transaction.version"
FEATURES = (ELIGIBLE_LEADER_REPLICAS_VERSION, TRANSACTION_VERSION)
UNREAD_FEATURES = ("group.version", "kraft.version", "metadata.version", "share.version", "streams.version")
"""The features of a cluster that `kafka-features.sh describe` prints, read and unread. No broker's file has them."""

_SPACES = "".join(map(chr, range(33)))
"""What Java's `trim` removes. A value with a no-break space is a wrong one."""

_NUMBER = re.compile(r"[+-]?[0-9]{1,30}")
"""A number as Java reads it. Python would also accept 1_000."""


@dataclass(frozen=True)
class ConfigurationKey:
    """A setting. `choices` maps each accepted text to its usual spelling; without choices the value is a number.

    `any_case`: capitals are accepted. `pattern`: a regular expression of further accepted values. `shown`: whether the
    value may be printed. `may_differ`: nodes of one cluster have different values.
    """

    choices: Mapping[str, str] | None = None
    low: int = 0
    high: int = MOST
    shown: bool = True
    any_case: bool = True
    pattern: str = ""
    may_differ: bool = False

    def value_of(self, text: str) -> str | None:
        """Return the usual spelling of a value, or None if the setting does not accept it."""
        text = text.strip(_SPACES)
        if not self.shown:
            return text
        if self.pattern and re.fullmatch(self.pattern, text):
            return text
        if self.choices is not None:
            return self.choices.get(text.lower() if self.any_case else text)
        if not _NUMBER.fullmatch(text):
            return None
        number = int(text)
        return str(number) if self.low <= number <= self.high else None

    @property
    def says(self) -> str:
        """The accepted values, as text for a message."""
        if self.choices is None:
            return f"a whole number from {self.low} to {self.high}"
        # A list has further spellings with blanks.
        spellings = [f'"{each}"' if "," in each else each for each in self.choices if " " not in each]
        return "one of " + ", ".join(spellings)


_LONG = ConfigurationKey(high=2**63 - 1)
_LIMIT = ConfigurationKey(low=-1, high=2**63 - 1)
"""A limit, of which -1 is none."""
_TEXT = ConfigurationKey(shown=False)
_OF_NODE = ConfigurationKey(shown=False, may_differ=True)
_BOOL = ConfigurationKey({"true": "true", "false": "false"})
_ACKS = {"all": "all", "-1": "all", "0": "0", "1": "1"}
_RESETS = {"earliest": "earliest", "latest": "latest", "none": "none"}
_POLICIES = {
    "delete": "delete",
    "compact": "compact",
    **dict.fromkeys(("compact,delete", "compact, delete", "delete,compact", "delete, compact"), "compact,delete"),
}
_ISOLATION = {"read_uncommitted": "read_uncommitted", "read_committed": "read_committed"}
_LIBRDKAFKA_RESETS = {
    "smallest": "earliest",
    "earliest": "earliest",
    "beginning": "earliest",
    "largest": "latest",
    "latest": "latest",
    "end": "latest",
    "error": "none",
}

KEYS: Mapping[Role, Mapping[str, ConfigurationKey]] = {
    "producer": {
        "acks": ConfigurationKey(_ACKS, any_case=False),
        "enable.idempotence": _BOOL,
        "retries": ConfigurationKey(),
        "max.in.flight.requests.per.connection": ConfigurationKey(low=1),
        "transactional.id": _TEXT,
        "transaction.timeout.ms": ConfigurationKey(),
        "transaction.two.phase.commit.enable": _BOOL,
        "delivery.timeout.ms": ConfigurationKey(),
        "request.timeout.ms": ConfigurationKey(),
        "linger.ms": ConfigurationKey(),
    },
    "consumer": {
        "enable.auto.commit": _BOOL,
        "group.protocol": ConfigurationKey({"classic": "classic", "consumer": "consumer"}),
        "auto.offset.reset": ConfigurationKey(_RESETS, any_case=False, pattern=f"{BY_DURATION}P[0-9DTHMS.]{{1,40}}"),
        "isolation.level": ConfigurationKey(_ISOLATION, any_case=False),
        "auto.commit.interval.ms": ConfigurationKey(),
        "client.rack": _OF_NODE,
        "group.instance.id": _OF_NODE,
        "group.remote.assignor": _TEXT,
        "heartbeat.interval.ms": ConfigurationKey(),
        "max.poll.interval.ms": ConfigurationKey(low=1),
        "partition.assignment.strategy": _TEXT,
        "session.timeout.ms": ConfigurationKey(),
    },
    "topic": {
        "replication.factor": ConfigurationKey(low=1, high=32767),
        "min.insync.replicas": ConfigurationKey(low=1),
        "unclean.leader.election.enable": _BOOL,
        "flush.messages": ConfigurationKey(low=1, high=2**63 - 1),
        "cleanup.policy": ConfigurationKey(_POLICIES, any_case=False),
        "retention.ms": _LIMIT,
        "retention.bytes": _LIMIT,
        "delete.retention.ms": _LONG,
    },
    "broker": {
        "default.replication.factor": ConfigurationKey(low=1, high=32767),
        "min.insync.replicas": ConfigurationKey(low=1),
        "unclean.leader.election.enable": _BOOL,
        "log.flush.interval.messages": ConfigurationKey(low=1, high=2**63 - 1),
        ELIGIBLE_LEADER_REPLICAS_VERSION: ConfigurationKey(high=1),
        TRANSACTION_VERSION: ConfigurationKey(high=2),
        "transaction.max.timeout.ms": ConfigurationKey(),
        "transaction.partition.verification.enable": _BOOL,
        "auto.leader.rebalance.enable": _BOOL,
        "log.cleaner.delete.retention.ms": _LONG,
        "log.cleanup.policy": ConfigurationKey(_POLICIES, any_case=False),
        "log.retention.bytes": _LIMIT,
        "log.retention.hours": ConfigurationKey(low=-1),
        "log.retention.minutes": ConfigurationKey(low=-1),
        "log.retention.ms": _LIMIT,
        "offsets.retention.minutes": ConfigurationKey(low=1),
        "offsets.topic.replication.factor": ConfigurationKey(low=1, high=32767),
        "transaction.state.log.replication.factor": ConfigurationKey(low=1, high=32767),
        "transaction.state.log.min.isr": ConfigurationKey(low=1),
        "producer.id.expiration.ms": ConfigurationKey(low=1),
        "replica.lag.time.max.ms": _LONG,
        "transactional.id.expiration.ms": ConfigurationKey(low=1),
        "process.roles": _OF_NODE,
        "zookeeper.connect": _TEXT,
    },
    "controller": {
        "auto.leader.rebalance.enable": _BOOL,
        "min.insync.replicas": ConfigurationKey(low=1),
        "process.roles": _OF_NODE,
        "unclean.leader.election.enable": _BOOL,
    },
}
"""By role. `kafka-topics.sh --describe` prints `replication.factor`, and `kafka-features.sh describe` prints
those of `FEATURES`."""

_REFUSED_WITH_GROUP_PROTOCOL = ("group.remote.assignor", "heartbeat.interval.ms")
"""Settings that affect the answers only by what Java's client accepts with each group protocol."""

LIBRDKAFKA_KEYS: Mapping[Role, Mapping[str, ConfigurationKey]] = {
    "producer": {
        **KEYS["producer"],
        "acks": ConfigurationKey(_ACKS),
        "max.in.flight.requests.per.connection": ConfigurationKey(low=1, high=1_000_000),
    },
    "consumer": {
        **{name: key for name, key in KEYS["consumer"].items() if name not in _REFUSED_WITH_GROUP_PROTOCOL},
        "auto.offset.reset": ConfigurationKey(_LIBRDKAFKA_RESETS),
        "isolation.level": ConfigurationKey(_ISOLATION),
        "enable.auto.offset.store": _BOOL,
    },
}
"""Roles for which librdkafka accepts other values."""

LIBRDKAFKA_ALIASES: Mapping[str, str] = {
    "request.required.acks": "acks",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "message.send.max.retries": "retries",
    "message.timeout.ms": "delivery.timeout.ms",
    "queue.buffering.max.ms": "linger.ms",
    "auto.commit.enable": "enable.auto.commit",
}
"""librdkafka's other names of settings."""


def key_of(role: Role, client: Client, name: str) -> ConfigurationKey | None:
    """Return the setting of a name, or None if it does not affect the answers."""
    table = LIBRDKAFKA_KEYS if client == "librdkafka" and role in LIBRDKAFKA_KEYS else KEYS
    return table[role].get(name)


@cache
def _names() -> Mapping[str, frozenset[str]]:
    text = (Path(__file__).parent / "names.toml").read_text(encoding="utf-8")
    return {role: frozenset(names) for role, names in tomllib.loads(text).items()}


def names_of(role: Role, client: Client = "java") -> frozenset[str]:
    """Return all names that a role may use, with or without an effect on the answers."""
    of_librdkafka = client == "librdkafka" and role in CLIENT_ROLES
    kind = f"librdkafka_{role}" if of_librdkafka else "broker" if role == "controller" else role
    return _names()[kind] | frozenset(KEYS[role])


def connect_worker_names() -> frozenset[str]:
    """Return the settings of a Kafka Connect worker that reach no client of a connector."""
    return _names()["connect_worker"]


def streams_names() -> frozenset[str]:
    """Return the settings of a Kafka Streams application, without those of its clients."""
    return _names()["streams"]


def smallrye_names() -> frozenset[str]:
    """Return the attributes of a SmallRye channel that are no settings of Kafka's clients."""
    return _names()["smallrye"]


def is_of_librdkafka_alone(name: str) -> bool:
    """Return whether librdkafka knows a name and Apache Kafka does not."""
    names = _names()
    return name in names["librdkafka_producer"] | names["librdkafka_consumer"] and not any(
        name in names[role] for role in ROLES
    )
