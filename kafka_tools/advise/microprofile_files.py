"""Channels of MicroProfile Reactive Messaging, as SmallRye and Quarkus read them: `mp.messaging.outgoing.NAME.acks`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from checker.errors import InputError
from kafka_tools.advise.configuration_keys import CLIENT_ROLES, KEYS, Role, names_of, smallrye_names
from kafka_tools.advise.resemblance import similar_setting
from kafka_tools.advise.written_settings import ConfigurationFile, FileBuilder, Framework, Precedence, WrittenSetting

_CHANNEL = re.compile(r'mp\.messaging\.(incoming|outgoing)\.("[^"]+"|[^.]+)\.(.+)')
_CONNECTOR = re.compile(r"mp\.messaging\.connector\.smallrye-kafka\.(.+)")
_SHARED = re.compile(r"kafka\.(.+)")
_KAFKAS = ("mp.messaging.", "kafka.", "quarkus.kafka")
_PROFILE = re.compile(r"%([^.]+)\.(.+)")


def is_microprofile(settings: Sequence[WrittenSetting]) -> bool:
    """Return whether a file configures channels.

    Raises InputError if only `kafka.` in front of the names could show it: Spark, Flink and others have it, too.
    """
    names = [_plain(given.name) for given in settings]
    if any(name.startswith(("mp.messaging.", "quarkus.")) for name in names):
        return any(name.startswith(("mp.messaging.", "quarkus.kafka", "kafka.")) for name in names)
    prefixed = next((given for given in settings if _plain(given.name) == "kafka.bootstrap.servers"), None)
    if prefixed is not None:
        raise InputError(
            f"{prefixed.where}: kafka. in front of a name is a convention of Quarkus, Micronaut, Spark and others, and "
            "nothing else shows which of them reads this file: write Kafka's names and the values in effect into a "
            "producer's and a consumer's file"
        )
    return False


def _plain(name: str) -> str:
    match = _PROFILE.fullmatch(name)
    return match.group(2) if match else name


def read_microprofile(path: Path, settings: Sequence[WrittenSetting]) -> ConfigurationFile:
    """Return the settings of the outgoing and of the incoming channel.

    Raises InputError if two channels of a direction have different settings: the answers are about one client.
    """
    builder = FileBuilder(path.name, frameworks={Framework.SMALLRYE})
    given_settings = _of_production(builder, settings)
    kafka = _kafka_channels(given_settings)
    unread: list[WrittenSetting] = []
    unclear: list[WrittenSetting] = []
    for given in given_settings:
        channel, connector = _CHANNEL.fullmatch(given.name), _CONNECTOR.fullmatch(given.name)
        shared = _SHARED.fullmatch(given.name)
        if channel:
            direction, name, setting = channel.groups()
            role: Role = "producer" if direction == "outgoing" else "consumer"
            if (direction, name) in kafka:
                _add(builder, role, given, setting)
            elif setting in KEYS[role]:
                # The connector may be a misspelt one.
                builder.other_clients.append(given.name)
        elif connector:
            _add_to_readers(builder, given, connector.group(1), Precedence.FILE)
        elif shared:
            _add_to_readers(builder, given, shared.group(1), Precedence.SHARED)
        elif given.name.startswith(("mp.messaging.", "kafka")):
            builder.add("producer", given)
        elif given.name.startswith("quarkus."):
            builder.idle.append(given.name)
        elif any(given.name in names_of(role) for role in CLIENT_ROLES):
            raise InputError(
                f"{given.where}: SmallRye does not read {given.name}: write kafka.{given.name}, or a channel's"
            )
        else:
            # A setting that the application reads itself. One that resembles Kafka's may have an effect.
            (unread if similar_setting(given.name, "java") is None else unclear).append(given)
    for given in unclear:
        builder.add("producer", given)
    if unread:
        builder.notes.append(f"{path.name} has {len(unread)} settings of the application, which are not read")
    _refuse_different_channels(path, given_settings, kafka)
    return builder.build()


def _of_production(builder: FileBuilder, settings: Sequence[WrittenSetting]) -> list[WrittenSetting]:
    """Return the settings of production: those of the profile `prod`, and those that no profile changes."""
    chosen: dict[str, WrittenSetting] = {}
    for given in settings:
        match = _PROFILE.fullmatch(given.name)
        if match is None:
            chosen.setdefault(given.name, given)
            continue
        profiles = match.group(1).split(",")
        if "prod" in profiles:
            chosen[match.group(2)] = given.renamed(match.group(2))
        elif set(profiles) <= {"dev", "test"} or not match.group(2).startswith(_KAFKAS):
            builder.idle.append(given.name)
        else:
            raise InputError(
                f"{given.where}: {given.name} depends on a profile: name a file with the settings in effect"
            )
    return list(chosen.values())


def _kafka_channels(settings: Sequence[WrittenSetting]) -> set[tuple[str, str]]:
    """Return direction and name of each channel, without those of another connector than Kafka's."""
    channels: set[tuple[str, str]] = set()
    others: set[tuple[str, str]] = set()
    for given in settings:
        match = _CHANNEL.fullmatch(given.name)
        if match:
            channel = (match.group(1), match.group(2))
            channels.add(channel)
            if match.group(3) == "connector" and given.value.strip() != "smallrye-kafka":
                others.add(channel)
    return channels - others


def _refuse_different_channels(path: Path, settings: Sequence[WrittenSetting], channels: set[tuple[str, str]]) -> None:
    """Raise InputError if two channels of a direction differ in a setting that affects the answers."""
    for direction, role in (("outgoing", "producer"), ("incoming", "consumer")):
        written: dict[str, dict[str, str]] = {name: {} for of, name in sorted(channels) if of == direction}
        for given in settings:
            match = _CHANNEL.fullmatch(given.name)
            if match and match.group(1) == direction and match.group(2) in written:
                setting = match.group(3)
                if setting in KEYS["producer" if role == "producer" else "consumer"] or setting == "commit-strategy":
                    written[match.group(2)][setting] = given.value.strip()
        if len({tuple(sorted(channel.items())) for channel in written.values()}) > 1:
            raise InputError(
                f"{path}: the {direction} channels {', '.join(written)} have different settings: "
                "write a file for each channel"
            )


def _add(builder: FileBuilder, role: Role, given: WrittenSetting, name: str) -> None:
    """Add a channel's setting, which takes precedence over those of the connector and of `kafka.`."""
    if name in ("commit-strategy", "failure-strategy"):
        builder.options.append(given.renamed(name))
        builder.idle.append(given.name)
    elif name in smallrye_names() and name not in names_of(role):
        builder.idle.append(given.name)
    else:
        builder.add(role, given.renamed(name, Precedence.OVERRIDE))


def _add_to_readers(builder: FileBuilder, given: WrittenSetting, name: str, precedence: Precedence) -> None:
    if name in smallrye_names():
        builder.idle.append(given.name)
        return
    readers: list[Role] = [role for role in CLIENT_ROLES if name in names_of(role)]
    for role in readers or ["producer"]:
        builder.add(role, given.renamed(name, precedence))
