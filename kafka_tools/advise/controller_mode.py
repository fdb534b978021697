"""Whether ZooKeeper or KRaft controls the cluster: as the user says, as the files show, or as the release implies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from checker.errors import InputError
from kafka_tools.advise.configuration_keys import Role
from kafka_tools.advise.written_settings import ConfigurationFile, WrittenSetting
from specs.kafka_releases import release_number
from specs.kafka_versions import KRAFT, ZOOKEEPER, controller_modes

Controller = Literal["zookeeper", "kraft"]

NAME = "controller"

_OF_KRAFT = ("process.roles", "controller.quorum.voters", "controller.quorum.bootstrap.servers")
_KRAFT_EARLY_ACCESS = "2.8.0"
_OF_ZOOKEEPER = ("zookeeper.connect",)
_OF_NODES: tuple[Role, ...] = ("broker", "controller")


def controller_of(
    reads: Iterable[ConfigurationFile], assigned: Sequence[WrittenSetting], version: str, asked: Controller | None
) -> WrittenSetting | None:
    """Return the mode with its origin, or None if it is not known, as in a cluster that migrates.

    `assigned`: settings of the command line. Raises InputError if `asked` contradicts the release or a file.
    """
    given = [*assigned, *(setting for read in reads for role in _OF_NODES for setting in read.roles.get(role, ()))]
    shown = {
        mode: next((setting for setting in given if setting.name in names), None)
        for mode, names in (("kraft", _OF_KRAFT), ("zookeeper", _OF_ZOOKEEPER))
    }
    modes = controller_modes(version)
    if modes == (KRAFT,):
        if asked == "zookeeper":
            raise InputError(f"--controller zookeeper: Kafka {version} has KRaft only")
        return WrittenSetting(NAME, "kraft", f"Kafka {version} has no other")
    evidence = [(mode, setting) for mode, setting in shown.items() if setting is not None]
    if release_number(version) < release_number(_KRAFT_EARLY_ACCESS):
        of_kraft = "--controller kraft" if asked == "kraft" else shown["kraft"] and _place(shown["kraft"])
        if of_kraft:
            raise InputError(
                f"{of_kraft}: Kafka {version} has no KRaft, which exists since {_KRAFT_EARLY_ACCESS}: name the release "
                "of the brokers with --kafka"
            )
    if asked is not None:
        for mode, setting in evidence:
            if mode != asked and len(evidence) == 1:
                raise InputError(f"--controller {asked}: {setting.written_name} ({setting.where}) is of {mode}")
        return WrittenSetting(NAME, asked, "--controller")
    if evidence:
        # Both are given while a cluster migrates.
        (mode, setting), *others = evidence
        return None if others else WrittenSetting(NAME, mode, f"{setting.written_name} ({setting.where})")
    if modes == (ZOOKEEPER,):
        return WrittenSetting(NAME, "zookeeper", f"default of Kafka {version}")
    return None


def _place(setting: WrittenSetting) -> str:
    return f"{setting.where}: {setting.written_name}"


UNKNOWN_NOTE = (
    "whether ZooKeeper or KRaft controls the cluster is not known: what is known of either counts. --controller says it"
)
