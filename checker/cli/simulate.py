"""`simulate`: random walks of a spec on Spark, and what they come to."""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker.language.roles import Role
from checker.output import styled_lines
from checker.output.files import STANDARD_OUTPUT, JsonLines
from checker.output.styled_lines import BLANK, Line, line
from checker.output.walk_progress import WalkProgress
from checker.run import registry
from checker.run.interrupts import interruptible
from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED
from spark_analysis.session import master_url
from spark_analysis.walks.simulation import simulate
from traces.walks.records import WALKS, WalkConfiguration, WalkRun, missing_parts, part_path, part_paths
from traces.walks.walk_request import WalkRequest, requested_run
from traces.walks.walk_totals import WalkTotals, add_totals, read_totals


@dataclass(frozen=True)
class WalkDestination:
    """Where walks are made and written to."""

    out: Path
    master: str | None
    partitions: int | None
    json: str


def execute(request: WalkRequest, where: WalkDestination) -> int:
    """Make the walks that a request asks for and return the exit status; raise UserError where the input is wrong."""
    # What is wrong with the options is told before Java starts, which takes seconds.
    master_url(where.master)
    run = requested_run(request)
    watch = _PartWatcher(run, where.out)
    with JsonLines(where.json) as json_lines, interruptible() as cancelled:
        is_whole = _simulate(run, where, watch, cancelled)
        if not is_whole:
            print(_stopped(run, where.out), file=sys.stderr)
            return EXIT_STOPPED
        part_paths(where.out, run)
        summaries = [watch.totals_of(configuration) for configuration in run.configurations]
        for configuration, summary in zip(run.configurations, summaries, strict=True):
            json_lines.write(summary_to_json(run, configuration, summary))
    if where.json != STANDARD_OUTPUT:
        styled_lines.write([*summary_lines(run, summaries), line(f"{watch.made}; they are in {where.out}")], sys.stdout)
    return EXIT_VIOLATED if any(unexpected(run, summary) for summary in summaries) else EXIT_OK


def _simulate(run: WalkRun, where: WalkDestination, watch: _PartWatcher, cancelled: threading.Event) -> bool:
    watch.begin()
    name = run.spec if run.scenario is None else f"{run.spec}/{run.scenario}"
    with WalkProgress(name, run.walks * len(run.configurations), watch.walks, sys.stderr) as display:

        def poll() -> None:
            watch.look_while_walking()
            display.update(watch.walks, watch.failures)

        is_whole = simulate(
            run, where.out, master=where.master, partitions=where.partitions, cancelled=cancelled, on_poll=poll
        )
    watch.look()
    return is_whole


class _PartWatcher:
    """Reads the summaries of parts as they appear."""

    def __init__(self, run: WalkRun, folder: Path):
        self._run, self._folder = run, folder
        self._summaries: dict[int, WalkTotals] = {}
        self._before = 0
        self._asked_at = time.monotonic()
        self._walking_since: float | None = None
        self.walks = self.failures = 0

    def begin(self) -> None:
        """Look at what is there already: it is not of this run's making."""
        if (self._folder / WALKS).is_dir():
            self.look()
        self._before = self.walks

    @property
    def made(self) -> str:
        """How many walks have been made since `begin`, and how fast, in words."""
        new = self.walks - self._before
        if not new or self._walking_since is None:
            return "nothing was left to do"
        seconds = time.monotonic() - self._walking_since
        start = self._walking_since - self._asked_at
        return f"{new:,} walks made in {seconds:.1f} s ({new / seconds:,.0f} a second), {start:.1f} s to start Spark"

    def look_while_walking(self) -> None:
        """Read the parts that have appeared; the first time is when walking begins."""
        self._walking_since = self._walking_since or time.monotonic()
        self.look()

    def look(self) -> None:
        """Read the parts that have appeared."""
        missing = set(missing_parts(self._folder, self._run))
        for number in range(self._run.parts):
            if number not in missing and number not in self._summaries:
                summary = self._summaries[number] = read_totals(part_path(self._folder, WALKS, number))
                self.walks += summary.walks
                self.failures += summary.failures

    def totals_of(self, configuration: WalkConfiguration) -> WalkTotals:
        """Return what all walks of a configuration come to."""
        size = self._run.parts_per_configuration
        first = configuration.number * size
        return add_totals(self._summaries[number] for number in range(first, first + size))


def unexpected(run: WalkRun, summary: WalkTotals) -> list[str]:
    """Return in words what walks found that the scenario does not expect; where nothing is expected, everything."""
    errors = [f"{name} leaves its bounds" for name in summary.errors if run.expected != "error"]
    expected = run.expected if isinstance(run.expected, list) else []
    return [*(f"{name} is violated" for name in summary.violated if name not in expected), *errors]


def summary_to_json(run: WalkRun, configuration: WalkConfiguration, summary: WalkTotals) -> dict[str, Any]:
    """Return the JSON object of a configuration: counts of walks, the same for the same seed however it was run."""
    return {
        "spec": run.spec,
        "scenario": run.scenario,
        "configuration": configuration.number,
        "constants": configuration.constants,
        "seed": run.seed,
        "depth": run.depth,
        "walks": summary.walks,
        "steps": summary.steps,
        "verdicts": dict(sorted(summary.verdicts.items())),
        "violated": dict(sorted(summary.violated.items())),
        "errors": dict(sorted(summary.errors.items())),
        "reached": dict(sorted(summary.reached.items())),
        "expected": run.expected,
        "unexpected": unexpected(run, summary),
    }


def _stopped(run: WalkRun, folder: Path) -> str:
    there = sum(run.span(number)[2] for number in set(range(run.parts)) - set(missing_parts(folder, run)))
    return (
        f"interrupted: {there:,} of {run.walks * len(run.configurations):,} walks are in {folder}; "
        "the same command goes on with the others"
    )


# The summary on the screen.


def summary_lines(run: WalkRun, summaries: list[WalkTotals]) -> list[Line]:
    """Return a table with a row a configuration and property violated, and what is to be noted."""
    name = run.spec if run.scenario is None else f"{run.spec}/{run.scenario}"
    shown = [line((name, "bold"), f"  seed {run.seed}, walks of up to {run.depth} steps"), BLANK]
    rows = [[*run.sweep, "walks", "steps", "violated", ""]]
    for configuration, summary in zip(run.configurations, summaries, strict=True):
        rows += _rows(run, configuration, summary)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = "  ".join(text.rjust(width) for text, width in zip(row[:-1], widths, strict=False))
        shown.append(line((f"{cells}  {row[-1]}".rstrip(), "bold" if number == 0 else "")))
    return [*shown, BLANK, *_notes(run, summaries)]


def _rows(run: WalkRun, configuration: WalkConfiguration, summary: WalkTotals) -> list[list[str]]:
    """Return the rows of a configuration: one for each property violated, or one that says that none is."""
    own = [_value(configuration.constants[name]) for name in run.sweep]
    found = [(name, count, "violated") for name, count in summary.violated.most_common()]
    found += [(name, count, "leaves its bounds") for name, count in summary.errors.most_common()]
    if not found:
        return [[*own, f"{summary.walks:,}", f"{summary.steps:,}", "0", "no violation"]]
    rows = []
    for number, (name, count, what) in enumerate(found):
        begin = [*own, f"{summary.walks:,}", f"{summary.steps:,}"] if number == 0 else [""] * (len(own) + 2)
        rows.append([*begin, f"{count:,}", f"{name} {what}, {count / summary.walks:.2%} of the walks"])
    return rows


def _value(value: int | bool | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _notes(run: WalkRun, summaries: list[WalkTotals]) -> list[Line]:
    """Return what is not as the scenario expects, and what no walk reached."""
    whole = add_totals(summaries)
    notes = []
    if run.expected is not None:
        notes += [line((f"{words}, which is not expected", "red")) for words in unexpected(run, whole)]
    if isinstance(run.expected, list):
        missing = [name for name in run.expected if name not in whole.violated]
        notes += [line((f"no walk violates {name}, which the explorer finds violated", "yellow")) for name in missing]
    roles = registry.select_spec(run.target).spec.roles
    idle = [name for name in run.properties if roles.get(name) is Role.REACHABLE and name not in whole.reached]
    if idle:
        notes.append(line((f"no walk reaches {', '.join(idle)}", "yellow")))
    return notes
