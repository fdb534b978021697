"""The work of the command `conform`."""

from __future__ import annotations

import json
import textwrap
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from checker.errors import InputError
from checker.explain.locations import location_of
from checker.output.junit import JUnitReport
from checker.output.reports import ReportTarget
from checker.printable import quantity
from checker.run import registry
from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED, worst_status
from kafka_tools.experiments.releases import release
from kafka_tools.lab.conformance import explore_command
from kafka_tools.lab.conformance.bridge import partition_bridge
from kafka_tools.lab.conformance.comparison import (
    Answering,
    ConformResult,
    ConformScenario,
    Difference,
    compare,
    scenarios_of,
)
from kafka_tools.lab.conformance.controller_cases import OPERATIONS, ControllerCases, without_records
from specs.replication.partition import Partition

_SHOWN = 3
"""How many differences of an action are shown."""

_WIDTH = 80

_NEVER_COMPARED = "changes of the replica set, directories, recovery states, changes of min.insync.replicas"

_COLUMNS = "   states   equal  2 steps  no call  undecided  different"


@dataclass(frozen=True)
class ConformOptions:
    """The name of the spec or the search, the releases, the folder of jars (None: the releases'), and the report."""

    name: str
    versions: tuple[str, ...]
    library: Path | None
    junit: Path | None


def _spec_of(name: str) -> type[Partition]:
    """Return the spec of a name; raise InputError if it is neither `replication/partition` nor based on it."""
    selections = registry.select(name)
    specs = {selection.entry.spec for selection in selections}
    if len(specs) > 1:
        names = ", ".join(dict.fromkeys(selection.entry.target for selection in selections))
        raise InputError(f"{name} has several specs; name one of {names}")
    if any(selection.scenario is not None for selection in selections):
        raise InputError(f"conform has scenarios of its own (--list): name the spec of {name} alone")
    (spec,) = specs
    if not issubclass(spec, Partition):
        raise InputError(f"conform compares replication/partition and specs based on it, and {name} is neither")
    return spec


def list_classes(options: ConformOptions) -> int:
    """Print the classes, their rules, scenarios and searches as JSON; return the exit status."""
    _require_releases(options)
    spec = _spec_of(options.name)
    rules = [
        {"action": action, "method": f"ReplicationControlManager.{method}", "source": _place(spec, action)}
        for action, method in OPERATIONS.items()
    ]
    scenarios = [
        {"kafka": version, "name": scenario.name, "constants": scenario.constants}
        for version in options.versions
        for scenario in scenarios_of(version)
    ]
    builder, *others = explore_command.search_data()
    builder |= {"spec": options.name, "rules": rules, "scenarios": scenarios}
    print(json.dumps([builder, *others], indent=1))
    return EXIT_OK


def conform(options: ConformOptions) -> int:
    """Compare the class of each release with the rules of the spec; return the exit status.

    Raises InputError if the name or a release is wrong, or the class cannot be called.
    """
    _require_releases(options)
    spec = _spec_of(options.name)
    report = JUnitReport(ReportTarget(options.junit)) if options.junit else None
    statuses = []
    with nullcontext() if report is None else closing(report):
        for version in options.versions:
            with partition_bridge(version, options.library) as bridge:
                print(f"PartitionChangeBuilder of {bridge.name} beside {options.name}\n", flush=True)
                statuses.append(_conform_release(spec, version, bridge, report))
    return worst_status(statuses)


def explore(options: ConformOptions) -> int:
    """Search the classes of each release for sequences that break a property; return the exit status.

    Raises InputError if the name of the search or a release is wrong, or the classes cannot be called.
    """
    _require_releases(options)
    return worst_status(explore_command.explore(options.name, options.versions, options.library))


def _require_releases(options: ConformOptions) -> None:
    for version in options.versions:
        release(version)
    if options.library is not None and len(options.versions) > 1:
        raise InputError("--lib has the jars of one release: name it with --kafka, for the rules of the spec")


def _conform_release(spec: type[Partition], version: str, bridge: Answering, report: JUnitReport | None) -> int:
    begun = time.monotonic()
    scenarios = scenarios_of(version)
    width = _WIDTH - len(_COLUMNS)
    print(f"{'scenario':{width}}{_COLUMNS}")
    results, left_out = [], set()
    for scenario in scenarios:
        inputs = ControllerCases(without_records(spec)(**scenario.constants))
        left_out.update(inputs.left_out)
        result = compare(inputs, bridge)
        results.append(result)
        # A long name has a line of its own.
        name = scenario.name if len(scenario.name) <= width else f"{scenario.name}\n{'':{width}}"
        print(
            f"{name:{width}}{result.states:9,}{result.equal:8,}{result.in_two_steps:9,}"
            f"{result.without_call:9,}{result.undecided:11,}{len(result.differences):11,}",
            flush=True,
        )
    if report is not None:
        cases = [_test_case(spec, bridge.name, *pair) for pair in zip(scenarios, results, strict=True)]
        report.add_suite(f"PartitionChangeBuilder of {bridge.name}", cases, time.monotonic() - begun)
    return _print_end(spec, bridge.name, results, left_out)


def _print_end(spec: type[Partition], name: str, results: Sequence[ConformResult], left_out: Iterable[str]) -> int:
    """Print the differences and what was not compared; return the exit status."""
    compared = sum((result.compared for result in results), Counter[str]())
    differences = [difference for result in results for difference in result.differences]
    shown = Counter[str]()
    for difference in differences:
        shown[difference.case.action] += 1
        if shown[difference.case.action] <= _SHOWN:
            print("\n" + _difference_text(spec, name, difference))
    print()
    unreached = [name for name in OPERATIONS if not compared[name]]
    if unreached:
        print(_wrapped(f"not compared, since no scenario has such a step with a call: {', '.join(unreached)}", "  "))
    if left_out:
        names = ", ".join(sorted(left_out))
        print(_wrapped(f"not compared, since these actions are no call of the class: {names}", "  "))
    print(_wrapped(f"not compared: {_NEVER_COMPARED}", "  "))
    if differences:
        numbers = ", ".join(f"{name} {count}" for name, count in shown.items())
        print(_wrapped(f"different: {quantity(len(differences), 'step')} ({numbers})", "  "), end="\n\n")
        return EXIT_VIOLATED
    if not any(result.equal for result in results):
        print("undecided: nothing was compared\n")
        return EXIT_STOPPED
    total = sum(result.equal + result.in_two_steps for result in results)
    undecided = sum(result.undecided for result in results)
    left = f"; undecided at the bounds of a scenario: {undecided:,}" if undecided else ""
    states = sum(result.states for result in results)
    print(_wrapped(f"equal: {quantity(total, 'step')} of {quantity(states, 'state')}{left}", "  "), end="\n\n")
    return EXIT_OK


def _difference_text(spec: type[Partition], name: str, difference: Difference) -> str:
    case = difference.case
    answers = [f"  spec   {change}   [{step}]" for change, step in sorted(case.allowed, key=str)]
    answers += [f"  then   {after}   [one more election]" for after in sorted(map(str, case.later))]
    before = f"{case.before}; the controller does not call the class" if case.call is None else str(case.call)
    head = f"{case.action}, {_place(spec, case.action)}"
    lines = [f"  input  {before}", *answers, f"  class  {difference.answer}   [{name}]"]
    return "\n".join([_wrapped(head, "  "), *(_wrapped(line, " " * 9) for line in lines)])


def _wrapped(text: str, indent: str) -> str:
    """Return a line as lines of a terminal; `indent` begins all but the first."""
    return textwrap.fill(text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _test_case(
    spec: type[Partition], name: str, scenario: ConformScenario, result: ConformResult
) -> ElementTree.Element:
    case = ElementTree.Element("testcase", name=scenario.name)
    if result.differences:
        message = f"{len(result.differences)} steps differ"
        failure = ElementTree.SubElement(case, "failure", message=message, type="difference")
        failure.text = "\n\n".join(_difference_text(spec, name, each) for each in result.differences)
    elif not result.equal:
        ElementTree.SubElement(case, "skipped", message="nothing was compared")
    return case


def _place(spec: type[Partition], action: str) -> str:
    """Return the file and line of an action of a spec."""
    place = location_of(spec, action)
    return "" if place is None else f"{place.relative}:{place.first_line}"
