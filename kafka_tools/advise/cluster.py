"""The settings of several configuration files together: those with an effect, checked, and the names of the others."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from checker.errors import InputError
from kafka_tools.advise.configuration_files import ConfigurationFile, WrittenSetting
from kafka_tools.advise.configuration_keys import (
    LIBRDKAFKA_ALIASES,
    ROLES,
    Client,
    Role,
    is_of_librdkafka_alone,
    key_of,
    names_of,
)

CHANGED = "changed"
"""The place of a setting that no file has, but a change that is tried."""

_PREFIXES = ("listener.name.", "ssl.", "sasl.", "listener.", "kafka.metrics.")
"""Prefixes of names that users make up, and of names that never affect the answers."""

_SIMILAR = 0.75
"""The ratio of `difflib` from which a name counts as a misspelling of a known one: acsk of acks."""

Written = Mapping[tuple[Role, str], WrittenSetting]
"""The settings with an effect, by role and name, checked."""


@dataclass(frozen=True)
class ClusterConfig:
    """A cluster and its clients: the Kafka version, the kind of client, and the written settings with an effect."""

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
        return replace(self, written={**self.written, (role, name): WrittenSetting(name, value, CHANGED)})

    def committing(self, when: str | None) -> ClusterConfig:
        """Return the cluster with applications that commit before (`first`) or after (`last`) processing."""
        return replace(self, commits=when)


def gather(
    reads: Iterable[ConfigurationFile], version: str, client: Client | None = None, ignored: Sequence[str] = ()
) -> ClusterConfig:
    """Return the combined settings of some files.

    `ignored`: patterns (see `fnmatch`) of unknown names to accept. Raises InputError if a value is out of its range, if
    a name has two different values, and if a name is unknown: its effect on the answers cannot be judged.
    """
    reads = list(reads)
    names = [given.name for read in reads for settings in read.roles.values() for given in settings]
    client = client or ("librdkafka" if any(is_of_librdkafka_alone(name) for name in names) else "java")
    written: dict[tuple[Role, str], WrittenSetting] = {}
    without_effect: set[str] = set()
    unknown: set[str] = set()
    refused: dict[str, str] = {}
    for role, given in ((role, given) for read in reads for role, found in read.roles.items() for given in found):
        name = LIBRDKAFKA_ALIASES.get(given.name, given.name) if client == "librdkafka" else given.name
        key = key_of(role, client, name)
        if key is None:
            known = name in names_of(role, client) or name.startswith(_PREFIXES)
            shown = _shown(given, role, client, known)
            (without_effect if known else unknown).add(shown)
            if not known and not any(fnmatchcase(given.name, pattern) for pattern in ignored):
                place = f"{given.where}: " if shown == given.name else ""
                refused.setdefault(shown, f"{place}{shown}{_suggestion(given, client)}")
            continue
        value = key.value_of(given.value)
        if value is None and re.search(r"\$\{|\{\{|%\(", given.value):
            raise InputError(f"{given.where}: the value of {given.name} is a placeholder: write the value itself")
        if value is None:
            raise InputError(f"{given.where}: {given.name} is not {key.says} (ConfigException)")
        earlier = written.get((role, name))
        if earlier is not None and earlier.value != value:
            raise InputError(
                f"{given.where}: {given.name} has two different values ({earlier.where}): " + _way_out(given, earlier)
            )
        written[role, name] = replace(given, name=name, value=value)
    if refused:
        raise InputError(
            f"unknown settings, whose effect cannot be judged: {'; '.join(refused.values())}. "
            "Correct the names, or accept them with --ignore NAME (--ignore '*' for all)"
        )
    return ClusterConfig(
        version,
        client,
        written,
        is_spring=any(read.is_spring for read in reads),
        without_effect=tuple(sorted(without_effect)),
        unknown=tuple(sorted(unknown)),
    )


def _suggestion(given: WrittenSetting, client: Client) -> str:
    names = {name: role for role in ROLES for name in names_of(role, client)}
    found = difflib.get_close_matches(given.name, names, 1, _SIMILAR)
    return f" (did you mean {found[0]}, of the {names[found[0]]}?)" if found else ""


def _shown(given: WrittenSetting, role: Role, client: Client, known: bool) -> str:
    """Return a name if it is safe to print: an unknown name may be a piece of a secret that spans several lines."""
    is_plain = len(given.name) <= 80 and re.fullmatch(r"[A-Za-z0-9._-]+", given.name)
    is_name = re.fullmatch(r"[a-z][a-z0-9]*([._-][a-z0-9]+)+", given.name) and given.value
    if is_plain and (known or is_name or difflib.get_close_matches(given.name, names_of(role, client), 1, _SIMILAR)):
        return given.name
    return f"a name that is not printed ({given.where})"


def _way_out(given: WrittenSetting, earlier: WrittenSetting) -> str:
    if given.file != earlier.file:
        return "name one of the two files"
    return "Kafka silently takes the last one, so keep one of the two"
