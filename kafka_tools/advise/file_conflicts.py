"""Files that describe different clients or different brokers: the answers are about one of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from checker.errors import InputError
from kafka_tools.advise import frameworks
from kafka_tools.advise.configuration_keys import CLIENT_ROLES, LIBRDKAFKA_ALIASES, Client, Role, key_of, names_of
from kafka_tools.advise.node_roles import PROCESS_ROLES
from kafka_tools.advise.written_settings import ConfigurationFile, Framework

NO_FRAMEWORK = "a client without a framework"

_SERVERS = ("bootstrap.servers", "metadata.broker.list")
_NODE_IDS = ("node.id", "broker.id")
_MIN_ISR = "min.insync.replicas"


def without_idle_client(read: ConfigurationFile, present: frozenset[Framework]) -> ConfigurationFile:
    """Return a file of Connect without the worker's settings of a client that no connector has."""
    if not read.frameworks & set(frameworks.CONNECT):
        return read
    unused = set(CLIENT_ROLES) - frameworks.clients_of_connect(present)
    others = [given.written_name for role in unused for given in read.roles.get(role, ())]
    roles = {role: settings for role, settings in read.roles.items() if role not in unused}
    return replace(read, roles=roles, other_clients=(*read.other_clients, *others))


def without_idle_min_isr(reads: list[ConfigurationFile]) -> list[ConfigurationFile]:
    """Return the files without the min.insync.replicas of controllers that differ in it.

    No controller's is in effect without eligible leader replicas. If all agree, it is what these would take.
    """
    values = [[given.value.strip() for given in read.roles["controller"] if given.name == _MIN_ISR]
              for read in reads if "controller" in read.roles]  # fmt: skip
    return reads if all(each == values[0] for each in values) else list(map(_without_min_isr_of_controller, reads))


def _without_min_isr_of_controller(read: ConfigurationFile) -> ConfigurationFile:
    settings = read.roles.get("controller", ())
    kept = tuple(given for given in settings if given.name != _MIN_ISR)
    if len(kept) == len(settings):
        return read
    where = ", ".join(given.where for given in settings if given.name == _MIN_ISR)
    note = f"{_MIN_ISR} of a controller ({where}) has no effect without eligible leader replicas; controllers differ"
    return replace(read, roles={**read.roles, "controller": kept}, notes=(*read.notes, note))


def owners(reads: Sequence[ConfigurationFile]) -> dict[Role, str]:
    """Return the program that runs the client of each role, as text.

    Raises InputError if two programs, or two connectors, configure the same client.
    """
    owners_of_roles: dict[Role, tuple[str, str]] = {}
    has_connector = any({Framework.CONNECT_SOURCE, Framework.CONNECT_SINK} & read.frameworks for read in reads)
    for read, role in ((read, role) for read in reads for role in CLIENT_ROLES):
        owner = _owner(read, role, has_connector)
        if owner is None:
            continue
        file, earlier = owners_of_roles.setdefault(role, (read.file, owner))
        if earlier != owner or (owner.startswith("a Kafka Connect s") and file != read.file):
            raise InputError(
                f"{file} and {read.file} both configure a {role} ({earlier}, {owner}): ask about one at a time"
            )
    return {role: owner for role, (_, owner) in owners_of_roles.items()}


def _owner(read: ConfigurationFile, role: Role, has_connector: bool) -> str | None:
    """Return the program that runs the client of a role, as text; None if the file does not configure the client."""
    creators = [framework for framework in read.frameworks if role in frameworks.CLIENTS[framework]]
    if has_connector:
        creators = [framework for framework in creators if framework is not Framework.CONNECT_WORKER]
    for framework in creators:
        if read.roles.get(role) or framework not in frameworks.ONLY_IF_CONFIGURED:
            return f"a {framework.value}"
    is_ordinary = read.frameworks <= {Framework.STRIMZI}
    return NO_FRAMEWORK if is_ordinary and read.roles.get(role) else None


def refuse_different_files(reads: Sequence[ConfigurationFile], client: Client) -> None:
    """Raise InputError if two files each configure a whole client or broker, and only one of them has a setting.

    Two different values are an error as well; see `cluster.gather`. A file without the servers of a client, or without
    the number of a node, is a part of a configuration, and is combined with the other files.
    """
    roles: tuple[Role, ...] = (*CLIENT_ROLES, "broker", "controller")
    for role in roles:
        whole = [read for read in reads if _is_whole(read, role, client)]
        for read in whole[1:]:
            different = sorted(_names_with_effect(read, role, client) ^ _names_with_effect(whole[0], role, client))
            if different:
                raise InputError(
                    f"{whole[0].file} and {read.file} both configure a {role}, and only one of them has "
                    f"{different[0]}: ask about one of them at a time"
                )


def _is_whole(read: ConfigurationFile, role: Role, client: Client) -> bool:
    """Return whether a file configures a whole client, broker or controller."""
    settings = read.roles.get(role, ())
    names = {given.name for given in settings}
    if read.frameworks - {Framework.STRIMZI}:
        return False
    if role == "controller":
        return PROCESS_ROLES in names
    if role == "broker":
        return bool(names.intersection(_NODE_IDS))
    other: Role = "consumer" if role == "producer" else "producer"
    own = names & (names_of(role, client) - names_of(other, client))
    return bool(own) and bool(names.intersection(_SERVERS))


def _names_with_effect(read: ConfigurationFile, role: Role, client: Client) -> set[str]:
    names = {LIBRDKAFKA_ALIASES.get(given.name, given.name) for given in read.roles[role]}
    return {name for name in names if (key := key_of(role, client, name)) and not key.may_differ}
