"""What configuration files say together: the settings with an effect, checked, and the names of the others."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from checker.errors import InputError
from kafka_tools.advise.configuration_files import ConfigurationFile, WrittenSetting
from kafka_tools.advise.configuration_keys import (
    LIBRDKAFKA_ALIASES,
    Client,
    Role,
    is_of_librdkafka_alone,
    key_of,
    names_of,
)

_PREFIXES = ("listener.name.", "ssl.", "sasl.", "listener.", "kafka.", "spring.")
"""Of names that are made by the user, or of no consequence whatever follows."""

Written = Mapping[tuple[Role, str], WrittenSetting]
"""The settings with an effect, by role and name, checked."""


@dataclass(frozen=True)
class ClusterConfig:
    """What the files are about, but for the settings in them."""

    version: str
    client: Client
    written: Written
    is_spring: bool = False
    replication_factor: int | None = None
    commits: str | None = None
    without_effect: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    def get(self, role: Role, name: str) -> str | None:
        """Return what was written for a setting, or None."""
        given = self.written.get((role, name))
        return None if given is None else given.value

    def changed(self, role: Role, name: str, value: str) -> ClusterConfig:
        """Return the cluster with one setting changed."""
        if name == "replication.factor":
            return replace(self, replication_factor=int(value))
        return replace(self, written={**self.written, (role, name): WrittenSetting(name, value, "changed")})

    def committing(self, when: str | None) -> ClusterConfig:
        """Return the cluster with consumers that commit `first` or `last`, where they do it themselves."""
        return replace(self, commits=when)


def gather(reads: Iterable[ConfigurationFile], version: str, client: Client | None = None) -> ClusterConfig:
    """Return what some files say together.

    Raises UserError for a value out of its range, and for a name that is given twice with different values.
    """
    reads = list(reads)
    names = [given.name for read in reads for settings in read.roles.values() for given in settings]
    client = client or ("librdkafka" if any(is_of_librdkafka_alone(name) for name in names) else "java")
    written: dict[tuple[Role, str], WrittenSetting] = {}
    without_effect: set[str] = set()
    unknown: set[str] = set()
    for role, given in ((role, given) for read in reads for role, found in read.roles.items() for given in found):
        name = LIBRDKAFKA_ALIASES.get(given.name, given.name) if client == "librdkafka" else given.name
        key = key_of(role, client, name)
        if key is None:
            known = name in names_of(role, client) or name.startswith(_PREFIXES)
            (without_effect if known else unknown).add(_shown(given, role, client, known))
            continue
        value = key.value_of(given.value)
        if value is None:
            raise InputError(f"{given.where}: {given.name} is not {key.says} (ConfigException)")
        earlier = written.get((role, name))
        if earlier is not None and earlier.value != value:
            raise InputError(
                f"{given.where}: {given.name} is given twice, differently ({earlier.where}): "
                + _way_out(given, earlier)
            )
        written[role, name] = replace(given, name=name, value=value)
    return ClusterConfig(
        version,
        client,
        written,
        is_spring=any(read.is_spring for read in reads),
        without_effect=tuple(sorted(without_effect)),
        unknown=tuple(sorted(unknown)),
    )


def _shown(given: WrittenSetting, role: Role, client: Client, known: bool) -> str:
    """A name as it may be printed: what Kafka does not know may be a piece of a secret that was broken over lines."""
    is_plain = len(given.name) <= 80 and re.fullmatch(r"[A-Za-z0-9._-]+", given.name)
    is_name = re.fullmatch(r"[a-z][a-z0-9]*([._-][a-z0-9]+)+", given.name) and given.value
    if is_plain and (known or is_name or difflib.get_close_matches(given.name, names_of(role, client), 1, 0.8)):
        return given.name
    return f"something that is not printed ({given.where})"


def _way_out(given: WrittenSetting, earlier: WrittenSetting) -> str:
    if given.file != earlier.file:
        return "name one of the two files"
    return "Kafka takes the last one without a word, keep one of the two"
