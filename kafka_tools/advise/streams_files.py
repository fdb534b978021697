"""Configuration files of Kafka Streams applications.

A client's setting may have a prefix: `producer.acks` takes precedence over `acks`, and `main.consumer.` over
`consumer.`. The settings of topics belong to the application's internal topics.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kafka_tools.advise.configuration_keys import CLIENT_ROLES, Role, names_of, streams_names
from kafka_tools.advise.written_settings import ConfigurationFile, FileBuilder, Framework, Precedence, WrittenSetting

_OF_STREAMS = re.compile(r"application\.id|processing\.guarantee|num\.stream\.threads")

_PREFIXES: tuple[tuple[str, Role, Precedence], ...] = (
    ("producer.", "producer", Precedence.FILE),
    ("consumer.", "consumer", Precedence.FILE),
    ("main.consumer.", "consumer", Precedence.OVERRIDE),
    ("topic.", "topic", Precedence.SHARED),
)

_WITHOUT_EFFECT = ("admin.", "global.consumer.", "restore.consumer.", "client.tag.")


def is_streams(settings: Sequence[WrittenSetting]) -> bool:
    """Return whether a file is that of a Kafka Streams application."""
    return any(_OF_STREAMS.fullmatch(given.name) for given in settings)


def read_streams(path: Path, settings: Sequence[WrittenSetting]) -> ConfigurationFile:
    """Return the settings of the clients of an application."""
    builder = FileBuilder(path.name, frameworks={Framework.STREAMS})
    for given in settings:
        _add(builder, given)
        if given.name.endswith("exception.handler") and "Continue" in given.value:
            builder.notes.append(
                f"{given.name} ({given.where}) drops a record after an error: it counts as processed in the answers"
            )
    if "topic" in builder.roles:
        builder.notes.append(
            "replication.factor and topic.* of a Kafka Streams application are settings of its internal topics: "
            "for another topic, name the topic's file instead"
        )
    return builder.build()


def _add(builder: FileBuilder, given: WrittenSetting) -> None:
    name = given.name
    for prefix, role, precedence in _PREFIXES:
        if name.startswith(prefix):
            builder.add(role, given.renamed(name.removeprefix(prefix), precedence))
            return
    if name == "processing.guarantee":
        builder.options.append(given)
    elif name == "replication.factor" and given.value.strip() != "-1":
        builder.add("topic", given.renamed(name, Precedence.SHARED))
    elif name in streams_names() or name == "replication.factor" or name.startswith(_WITHOUT_EFFECT):
        builder.idle.append(name)
    else:
        readers: list[Role] = [role for role in CLIENT_ROLES if name in names_of(role)]
        for role in readers or ["producer"]:
            builder.add(role, given.renamed(name, Precedence.SHARED))
