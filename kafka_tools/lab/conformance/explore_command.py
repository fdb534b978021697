"""The work of `conform --explore`: searches whose steps are answers of Kafka's classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from checker.errors import InputError
from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED
from kafka_tools.experiments.releases import release
from kafka_tools.lab.conformance import reassignment_search
from kafka_tools.lab.conformance.bridge import java_bridge, partition_bridge
from kafka_tools.lab.conformance.controller_search import ALL_PROPERTIES, ControllerExploration
from kafka_tools.lab.conformance.controller_searches import CONTROL, SEARCHES, setting_of
from kafka_tools.lab.conformance.search_result import SearchResult
from specs import kafka_versions

BUILDER_SEARCH = "reassignment"
"""The search over PartitionChangeBuilder; the others are of ReplicationControlManager."""

_OLDEST = (4, 0)
"""The first release whose managers ControllerBridge.java can make."""

_MOST_STATES = 1_000_000
"""The limit of the states of a search, of about 2 kB each."""


def explore(name: str, versions: Sequence[str], library: Path | None) -> list[int]:
    """Search the classes of each release for sequences that break a property; return the exit status of each search.

    Raises InputError if there is no search of that name, or a release has no such classes.
    """
    names = [BUILDER_SEARCH, *SEARCHES]
    if name.removesuffix(CONTROL) not in names or name == BUILDER_SEARCH + CONTROL:
        raise InputError(
            f"--explore has no search {name}: name one of {', '.join(names)}; NAME{CONTROL} is its control"
        )
    old = [version for version in versions if name != BUILDER_SEARCH and release(version) < _OLDEST]
    if old:
        raise InputError(f"--explore {name} calls the controller of Kafka 4.0.0 and later, not of {old[0]}")
    return [_explore_release(name, version, library) for version in versions]


def _explore_release(name: str, version: str, library: Path | None) -> int:
    if name == BUILDER_SEARCH:
        with partition_bridge(version, library) as bridge:
            has_elr = kafka_versions.ELIGIBLE_LEADER_REPLICAS.applies_to(version, kafka_versions.KRAFT)
            elr = "on" if has_elr else "off"
            print(f"PartitionChangeBuilder of {bridge.name}, {reassignment_search.DESCRIPTION}, ELR {elr}\n")
            return _print_result(reassignment_search.search(bridge, has_elr=has_elr, most_states=_MOST_STATES))
    setting = setting_of(name)
    with java_bridge("ControllerBridge", version, library) as lines:
        print(f"ReplicationControlManager of {lines.name}, {setting}\n", flush=True)
        return _print_result(ControllerExploration(lines, setting, _MOST_STATES).run())


def _print_result(result: SearchResult) -> int:
    """Print the violations of a search and its counts; return the exit status."""
    for sentence, path in result.violations.items():
        print(f"violated after {len(path) - 1} step{'s' if len(path) > 2 else ''}: {sentence}")
        for number, (step, state) in enumerate(path):
            print(f"  {number}. {step}\n     {state}" if number else f"     {state}")
        print()
    if names := result.properties_that_hold:
        end = "holds within the depth" if result.is_bounded else "holds"
        print(f"{end if result.is_complete else 'not violated so far'}: {'; '.join(names)}")
    print(
        f"{result.states:,} states{'' if result.is_complete else ' (the limit)'}, {result.steps:,} steps, "
        f"{result.calls:,} calls of the class: {result.seconds:.1f} s, "
        f"{result.steps / result.seconds:,.0f} steps a second\n"
    )
    if result.violations:
        return EXIT_VIOLATED
    return EXIT_OK if result.is_complete else EXIT_STOPPED


def search_data() -> list[dict[str, Any]]:
    """Return the searches as data: by class, what each explores, and the entry of the catalogue that it finds."""
    builder: dict[str, Any] = {"name": BUILDER_SEARCH, "finds": "C-1", "explores": reassignment_search.DESCRIPTION}
    builder |= {"properties": [*reassignment_search.PROPERTIES, reassignment_search.ANSWERS]}
    controller = [
        {
            "name": name,
            "finds": search.entry,
            "violates": search.violated,
            "setting": asdict(search.setting),
            "control": dict(search.control),
        }
        for name, search in SEARCHES.items()
    ]
    package = "org.apache.kafka.controller"
    return [
        {"class": f"{package}.PartitionChangeBuilder", "searches": [builder]},
        {"class": f"{package}.ReplicationControlManager", "searches": controller, "properties": ALL_PROPERTIES},
    ]
