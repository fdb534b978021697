"""The counterexamples of the museum: each scenario is explored, and each of its violations becomes a page."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from checker.output.formats import Counterexample
from checker.output.writers import html
from checker.run import registry
from checker.run.result import Violation
from kafka_tools.pages.catalogue_scenarios import EntryScenario
from kafka_tools.pages.scenario_runs import run_scenario
from traces.trace_file import origin_of


@dataclass(frozen=True)
class CounterexamplePage:
    """A page in the folder of counterexamples: the violated property, the number of states, and the first sentence."""

    file: str
    property: str
    states: int
    sentence: str
    picture: int = 0


@dataclass(frozen=True)
class ShownScenario:
    """A scenario with the pages of its counterexamples."""

    scenario: EntryScenario
    pages: tuple[CounterexamplePage, ...]


def write_counterexamples(scenarios: Iterable[EntryScenario], folder: Path) -> dict[str, ShownScenario]:
    """Explore scenarios, write their counterexamples into a folder, and return them by their names.

    Raises:
        SpecError: the result of a scenario is not the expected one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return {given.target: ShownScenario(given, tuple(_write(given, folder))) for given in scenarios}


def _write(given: EntryScenario, folder: Path) -> Iterable[CounterexamplePage]:
    run = run_scenario(given.target)
    spec = given.scenario.configured_spec()
    entry = registry.select_spec(given.target.rpartition("/")[0])
    for violation in run.result.violations:
        if not violation.trace:
            continue
        command = shlex.join(
            ["python", "-m", "checker", "run", given.target, "--property", violation.property],
        )
        origin = origin_of(spec, entry.name, given.scenario.name, entry.target, command)
        file = f"{given.target.replace('/', '-')}-{violation.property}.html"
        page = html.write(Counterexample(spec, violation, origin, given.scenario.description))
        (folder / file).write_text(page, encoding="utf-8")
        yield CounterexamplePage(file, violation.property, violation.length, _sentence(violation))


def _sentence(violation: Violation) -> str:
    return violation.explanation.partition("\n")[0]
