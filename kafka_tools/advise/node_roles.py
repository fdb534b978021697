"""Which settings of a node's file a broker reads, and which a controller: `process.roles` decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kafka_tools.advise.configuration_keys import KEYS, Role
from kafka_tools.advise.written_settings import ConfigurationFile, Precedence, WrittenSetting

PROCESS_ROLES = "process.roles"


def by_node(read: ConfigurationFile) -> ConfigurationFile:
    """Return the settings of one node with those that its controller reads under the role `controller`.

    A node without `process.roles` is one of ZooKeeper, of which a broker is the controller, or has a further file.
    """
    settings = read.roles.get("broker", ())
    given = [setting.value for setting in settings if setting.name == PROCESS_ROLES]
    nodes = {name.strip() for name in given[-1].split(",")} - {""} if given else set()
    if not settings or nodes == {"broker"}:
        return read
    if nodes == {"controller"}:
        roles: dict[Role, tuple[WrittenSetting, ...]] = {**read.roles, "controller": settings}
        del roles["broker"]
        return replace(read, roles=roles)
    of_controller = tuple(_of_controller(settings, bool(nodes)))
    return replace(read, roles={**read.roles, "controller": of_controller}) if of_controller else read


def _of_controller(settings: Sequence[WrittenSetting], has_role: bool) -> list[WrittenSetting]:
    """Return the settings that the controller of a node reads, which is a broker as well."""
    return [given for given in settings if given.name in KEYS["controller"] and (has_role or _is_shared(given))]


def _is_shared(given: WrittenSetting) -> bool:
    """Return whether a setting of an unknown node is a controller's: KRaft takes min.insync.replicas of its own."""
    return given.name != "min.insync.replicas" or given.precedence == Precedence.OVERRIDE
