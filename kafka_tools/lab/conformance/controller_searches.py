"""The searches over Kafka's controller: each finds an entry of the catalogue, and has a control that finds nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kafka_tools.lab.conformance.controller_events import ControllerSetting, EventKind
from kafka_tools.lab.conformance.controller_search import ANSWERS, AS_ASKED, COMPLETES, COPIES, HAS_LEADER, NO_LOSS

CONTROL = "/control"
"""The end of the name of a control."""

_CAREFUL: dict[str, Any] = dict(is_careful=True)
_WITHOUT_ELR = dict(has_elr=False)
_DISKS: dict[EventKind, int | None] = {"stop": None, "disk": 1, "produce": 1}


@dataclass(frozen=True)
class ControllerSearch:
    """A search: the entry of the catalogue that it finds, the property that this violates, and what it explores.

    The fields of `control` replace those of `setting`: then the entry's remedy is followed, or a condition is not met.
    """

    entry: str
    violated: str
    setting: ControllerSetting
    control: Mapping[str, Any]


SEARCHES: dict[str, ControllerSearch] = {
    "rollback": ControllerSearch(
        "controller H-6",
        COMPLETES,
        ControllerSetting({"reassign": 3, "cancel": None, "produce": 1}, 12, targets=((4, 2, 3), (1, 2, 3))),
        _CAREFUL,
    ),
    "replace": ControllerSearch(
        "controller H-7",
        AS_ASKED,
        ControllerSetting({"reassign": 3, "cancel": None}, 12, targets=((4, 2, 3), (1, 2, 3, 4))),
        _CAREFUL,
    ),
    "delete": ControllerSearch(
        "controller H-1",
        ANSWERS,
        ControllerSetting({"stop": None, "kill": None, "min-isr": 1, "delete": 1}, 6, brokers=3, min_isrs=(1,)),
        _WITHOUT_ELR,
    ),
    "min-isr": ControllerSearch(
        "controller H-2",
        HAS_LEADER,
        ControllerSetting({"session": None, "min-isr": 2}, 9, brokers=3, min_isrs=(1, 2, 3)),
        _WITHOUT_ELR,
    ),
    "feature": ControllerSearch(
        "controller H-3", HAS_LEADER, ControllerSetting({"stop": None, "elr": 1}, 10, brokers=3), _CAREFUL
    ),
    "disks": ControllerSearch(
        "controller H-4",
        NO_LOSS,
        ControllerSetting(_DISKS | {"disk-fails": 1}, 8, brokers=3, directories="AB"),
        _CAREFUL | dict(events=_DISKS),
    ),
    "unclean": ControllerSearch(
        "controller H-5",
        ANSWERS,
        ControllerSetting(
            {"stop": 2, "kill": 2, "reassign": 1, "cancel": 1}, 10, targets=((4, 2, 3),), is_unclean=True
        ),
        _WITHOUT_ELR,
    ),
    "cancel": ControllerSearch(
        "controller H-8",
        COPIES,
        ControllerSetting({"stop": 2, "reassign": 1, "cancel": 1, "produce": 1}, 7, brokers=5, targets=((4, 5, 3),)),
        _CAREFUL,
    ),
}
"""The searches by their names."""


def setting_of(name: str) -> ControllerSetting:
    """Return what the search or the control of a name explores; raise KeyError if there is none."""
    search = SEARCHES[name.removesuffix(CONTROL)]
    return replace(search.setting, **search.control) if name.endswith(CONTROL) else search.setting
