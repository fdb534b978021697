"""Unknown names that resemble a setting: misspelt ones, and the spellings of other clients and of agents.

Sources of the other spellings: the configuration references of librdkafka's bindings, sarama, franz-go, kafkajs,
kafka-python, Filebeat, Telegraf, Fluentd, Vector, the OpenTelemetry Collector, Flink and Spark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from checker.errors import nearest_names
from kafka_tools.advise.configuration_keys import LIBRDKAFKA_ALIASES, ROLES, Client, Role, key_of, names_of
from kafka_tools.advise.kubernetes_files import NOT_READ

SIMILAR = 0.75
"""The ratio of `difflib` from which a name counts as a misspelling of a known one: acsk of acks."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_SPELLINGS: tuple[tuple[str, str], ...] = (
    ("acks", "acks"),
    ("ack replicas", "acks"),
    ("acknowledgements", "acks"),
    ("delivery guarantee", "acks"),
    ("idempotence", "enable.idempotence"),
    ("idempotent", "enable.idempotence"),
    ("in flight", "max.in.flight.requests.per.connection"),
    ("inflight", "max.in.flight.requests.per.connection"),
    ("open requests", "max.in.flight.requests.per.connection"),
    ("retries", "retries"),
    ("max retry", "retries"),
    ("retry max", "retries"),
    ("retry attempts", "retries"),
    ("max attempts", "retries"),
    ("transactional id", "transactional.id"),
    ("transaction id", "transactional.id"),
    ("delivery timeout", "delivery.timeout.ms"),
    ("message timeout", "delivery.timeout.ms"),
    ("auto commit", "enable.auto.commit"),
    ("autocommit", "enable.auto.commit"),
    ("offset store", "enable.auto.offset.store"),
    ("offset reset", "auto.offset.reset"),
    ("initial offset", "auto.offset.reset"),
    ("offset initial", "auto.offset.reset"),
    ("offsets initial", "auto.offset.reset"),
    ("start offset", "auto.offset.reset"),
    ("starting offsets", "auto.offset.reset"),
    ("startup mode", "auto.offset.reset"),
    ("from beginning", "auto.offset.reset"),
    ("isolation", "isolation.level"),
    ("group protocol", "group.protocol"),
    ("replication factor", "replication.factor"),
    ("insync replicas", "min.insync.replicas"),
    ("in sync replicas", "min.insync.replicas"),
    ("min isr", "min.insync.replicas"),
    ("unclean", "unclean.leader.election.enable"),
    ("flush messages", "flush.messages"),
)
"""Words of a name, and the setting that they mean. The first match counts."""


def similar_setting(name: str, client: Client) -> tuple[Role, str] | None:
    """Return role and name of the setting that affects the answers and that an unknown name resembles, or None."""
    words = f" {' '.join(_WORDS.findall(name)).lower()} "
    meant = next((setting for spelling, setting in _SPELLINGS if f" {spelling} " in words), None)
    if meant is None:
        settings = _important_settings(client)
        ends = [name for name in settings if words.endswith(f" {name.replace('.', ' ')} ")]
        meant = max(ends, key=len, default=None) or _misspelt(words.split(), client)
    if meant is None:
        return None
    setting = LIBRDKAFKA_ALIASES.get(meant, meant)
    return next(((role, setting) for role in ROLES if key_of(role, client, setting)), None)


@cache
def _names(client: Client) -> frozenset[str]:
    return frozenset(name for role in ROLES for name in names_of(role, client))


@cache
def _important_settings(client: Client) -> tuple[str, ...]:
    """Return the names of the settings that affect the answers, also librdkafka's other names."""
    return tuple(
        sorted(
            name
            for name in _names(client)
            if any(key_of(role, client, LIBRDKAFKA_ALIASES.get(name, name)) for role in ROLES)
        )
    )


def _misspelt(words: Sequence[str], client: Client) -> str | None:
    """Return the setting that the last words of a name are a misspelling of, or None.

    A single word has to begin with the same letter: `entries` is not `retries`.
    """
    for start in range(len(words)):
        end = ".".join(words[start:])
        close = nearest_names(end, _important_settings(client), 1, SIMILAR)
        if not close or (start == len(words) - 1 and end[0] != close[0][0]):
            continue
        # A whole name that is nearer to a setting without an effect resembles that one.
        if start or nearest_names(end, _names(client), 1, SIMILAR) == close:
            return close[0]
    return None


def suggestion(name: str, client: Client) -> str:
    """Return the known name that an unknown one resembles, as text; an empty text if there is none.

    The name of settings that are written elsewhere has an explanation instead.
    """
    if name in NOT_READ:
        return f" ({NOT_READ[name]})"
    meant = similar_setting(name, client)
    if meant is None:
        known = {known: role for role in reversed(ROLES) for known in names_of(role, client)}
        close = nearest_names(name.replace("_", ".").lower(), known, 1, SIMILAR)
        meant = (known[close[0]], close[0]) if close else None
    return f" (did you mean {meant[1]}, of the {meant[0]}?)" if meant else ""
