"""The counterexamples of the museum: each scenario is explored, and each of its violations becomes a page."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from checker.explain.step_sentences import StepSentence, short_story
from checker.language.spec import Spec
from checker.output.page.chart import chart
from checker.output.page.render import render
from checker.output.writers import html
from checker.run.process_pool import results_in_order
from checker.run.result import TraceStep, Violation
from checker.run.workers import default_workers
from kafka_tools.pages.catalogue_scenarios import EntryScenario
from kafka_tools.pages.scenario_runs import ScenarioRun, counterexample_of, run_scenario


@dataclass(frozen=True)
class CounterexamplePage:
    """A page in the folder of counterexamples: the violated property, the number of states, and the first sentence.

    `is_loop`: the property is a liveness property, and the counterexample ends in a loop. `steps` are the sentences of
    the steps that matter. `picture` is the page with the sequence chart alone, `height` its height in pixels.
    """

    file: str
    property: str
    states: int
    sentence: str
    is_loop: bool = False
    steps: tuple[StepSentence, ...] = ()
    picture: str = ""
    height: int = 0


@dataclass(frozen=True)
class ShownScenario:
    """A scenario with the pages of its counterexamples; `trace` is the first counterexample, empty if there is none."""

    scenario: EntryScenario
    pages: tuple[CounterexamplePage, ...]
    trace: tuple[TraceStep, ...] = ()


def write_counterexamples(scenarios: Iterable[EntryScenario], folder: Path) -> dict[str, ShownScenario]:
    """Explore scenarios in forked processes, write their counterexamples, and return them by their names.

    Raises:
        SpecError: the result of a scenario is not the expected one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # Two entries may be shown by one scenario.
    given = list({each.target: each for each in scenarios}.values())

    def write(number: int, cancelled: threading.Event) -> tuple[tuple[CounterexamplePage, ...], tuple[TraceStep, ...]]:
        run = run_scenario(given[number].target)
        return tuple(_write(run, given[number], folder)), run.steps

    written = results_in_order(len(given), default_workers(), write, threading.Event())
    return {each.target: ShownScenario(each, *shown) for each, shown in zip(given, written, strict=True)}


def _write(run: ScenarioRun, given: EntryScenario, folder: Path) -> Iterable[CounterexamplePage]:
    spec = given.scenario.configured_spec()
    for violation in run.result.violations:
        if not violation.trace:
            continue
        stem = f"{given.target.replace('/', '-')}-{violation.property}"
        page = CounterexamplePage(
            f"{stem}.html",
            violation.property,
            violation.length,
            violation.explanation.partition("\n")[0],
            violation.kind == "liveness",
            short_story(spec, violation),
            f"{stem}.picture.html",
        )
        (folder / page.file).write_text(html.write(counterexample_of(run, violation)), encoding="utf-8")
        yield replace(page, height=_write_picture(spec, violation, page, folder))


def _write_picture(spec: Spec, violation: Violation, page: CounterexamplePage, folder: Path) -> int:
    """Write the sequence chart of a counterexample as a page of its own, and return its height in pixels."""
    drawn = chart(spec, violation.trace, violation)
    picture = render("picture.html.j2", package="kafka_tools.site", title=page.sentence, chart=drawn)
    # A step of the picture leads to the step of the page, in the window that holds the picture.
    linked = picture.replace('href="#step=', f'target="_top" href="{page.file}#step=')
    (folder / page.picture).write_text(linked, encoding="utf-8")
    return round(drawn.height)
