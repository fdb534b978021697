"""A bug of Kafka from the suspicion to the picture and the repair: the command `demo`."""

from __future__ import annotations

import contextlib
import sys
import webbrowser
from collections.abc import Iterator
from pathlib import Path

from checker.errors import InputError
from checker.explain.step_sentences import step_sentences
from checker.output.comparison_text import comparison_as_page
from checker.output.files import make_folder
from checker.output.formats import FORMATS, Counterexample
from checker.output.output_files import open_for_writing, require_own_page
from checker.output.styled_lines import BLANK, Line, line, write
from checker.printable import quantity
from checker.run import registry
from kafka_tools.pages.catalogue_scenarios import EntryScenario
from kafka_tools.pages.museum.entries import Exhibit, exhibits
from kafka_tools.pages.museum.named_entries import exhibits_of
from kafka_tools.pages.scenario_runs import ScenarioRun, counterexample_of, run_scenario
from traces.compare import ComparedSchedule, replay_against


def show_demo(name: str, folder: Path, *, opens_browser: bool) -> None:
    """Show an entry of the catalogue step by step, and write its two pages into a folder.

    Raises:
        InputError: the catalogue has no such entry with a scenario and a remedy.
        OutputError: a page cannot be written.
    """
    exhibit, shown, remedy = _choose(name)
    picture, comparison = folder / f"{exhibit.name}.html", folder / f"{exhibit.name}-repaired.html"
    make_folder(folder)
    for path in (picture, comparison):
        require_own_page(path)
    write(_suspicion(exhibit), sys.stdout)
    run = run_scenario(shown.target)
    counterexample = counterexample_of(run, next(each for each in run.result.violations if each.trace))
    write(_search(run, counterexample), sys.stdout)
    side = _replay_repair(counterexample, remedy)
    pages = {picture: FORMATS["html"].write(counterexample), comparison: comparison_as_page(counterexample, [side])}
    for path, text in pages.items():
        with open_for_writing(path) as stream:
            stream.write(text)
    write(_heading(3, "The picture", str(picture)), sys.stdout)
    if opens_browser and sys.stdout.isatty():
        with contextlib.suppress(webbrowser.Error, OSError):
            webbrowser.open(picture.resolve().as_uri())
    write(_repair(exhibit, side, comparison, run_scenario(remedy.target)), sys.stdout)


def _choose(name: str) -> tuple[Exhibit, EntryScenario, EntryScenario]:
    """Return an entry with the scenario that shows it, and the one with its remedy."""
    for exhibit in exhibits_of(name):
        if exhibit.shown_by is not None and exhibit.remedied_by is not None:
            return exhibit, exhibit.shown_by, exhibit.remedied_by
    known = ", ".join(each.name for each in exhibits() if each.shown_by is not None and each.remedied_by is not None)
    raise InputError(f"{name} is no entry with a scenario and a remedy: choose one of {known}")


def _heading(number: int, title: str, *sentences: str) -> Iterator[Line]:
    yield BLANK
    yield line((f"{number}  {title}", "bold cyan"))
    yield from (line(f"   {sentence}") for sentence in sentences)


def _suspicion(exhibit: Exhibit) -> Iterator[Line]:
    story = exhibit.story
    yield from _heading(1, "The suspicion", f"{exhibit.name}: {story.title}. {story.story}", f"It needs: {story.needs}")
    yield line(f"   Releases: {exhibit.affected}.")
    yield from (line(f"   {evidence.sentence}.") for evidence in exhibit.evidence)


def _search(run: ScenarioRun, counterexample: Counterexample) -> Iterator[Line]:
    violation, result = counterexample.violation, run.result
    yield from _heading(2, "The search", f"$ python -m checker run {run.target}")
    yield line(f"   {quantity(result.distinct_states, 'state')} in {result.seconds:.2f} s. The shortest way to it:")
    yield BLANK
    for step in step_sentences(counterexample.spec, violation):
        yield line((f"   {step.number:>3}  ", "dim"), step.text)
    yield BLANK
    yield line((f"   {violation.explanation.partition(chr(10))[0]}", "bold red"))


def _replay_repair(counterexample: Counterexample, remedy: EntryScenario) -> ComparedSchedule:
    """Replay the steps of a counterexample on the spec with the remedy."""
    entry = registry.select_spec(remedy.target.rpartition("/")[0])
    given = remedy.scenario
    return replay_against(
        counterexample.spec, counterexample.violation, remedy.target, entry.spec, given.constants, given.fair
    )


def _repair(exhibit: Exhibit, side: ComparedSchedule, page: Path, run: ScenarioRun) -> Iterator[Line]:
    # A model with the remedy may differ from the start, such as in how many failures it allows.
    refused = next((step for step in side.steps if not step.is_taken), None)
    effect = f"{refused.call}: {refused.details}" if refused is not None else side.conclusion
    yield from _heading(4, "The repair", exhibit.story.remedy, f"The same steps with it: {effect}.")
    yield line(f"   Both side by side: {page}")
    yield line(f"   $ python -m checker run {run.target}")
    yield line((f"   {run.verdict} ({run.result.seconds:.2f} s)", "bold green"))
    yield BLANK
    yield line("Your own settings: python -m checker advise producer.properties server.properties --kafka 4.3")
