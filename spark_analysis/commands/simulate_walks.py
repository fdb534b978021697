"""Simulation: random walks of a spec, on this machine or on Spark, with progress and a summary."""

from __future__ import annotations

import dataclasses
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker.errors import InputError
from checker.output import styled_lines
from checker.output.files import JsonLines
from checker.output.output_files import STANDARD_OUTPUT, check_outputs
from checker.output.styled_lines import line
from checker.printable import printable, quantity
from checker.run.interrupts import interruptible
from checker.run.registry import target_files
from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED, EXIT_WRONG_INPUT
from spark_analysis.commands.report_walks import report_walks
from spark_analysis.commands.sibling_walks import sibling_walks
from spark_analysis.commands.simulation_text import simulation_lines, simulation_to_json, texts_of_unexpected
from spark_analysis.commands.walk_progress import WalkProgress
from spark_analysis.report.make_report import session_settings
from spark_analysis.session import master_url, opened, require_pyspark
from spark_analysis.walks import local_simulation
from spark_analysis.walks.records import WALKS, WalkConfiguration, WalkRun, missing_parts, part_path, part_paths
from spark_analysis.walks.simulation import simulate
from spark_analysis.walks.walk_request import WalkRequest, run_of_request
from spark_analysis.walks.walk_totals import WalkTotals, add_totals, read_totals
from spark_analysis.walks.writing import check_walk_outputs
from traces.storage import Location

SIBLINGS = "siblings"
"""The folder below that of the walks for the walks of related specs."""


@dataclass(frozen=True, kw_only=True)
class WalkDestination:
    """The Spark master that makes walks, the folder and the JSON file for them, and whether to report on them.

    `against` are the specs, or scenarios, that the report shows beside the walks. Without a master and partitions,
    processes of this machine make at most `local_simulation.MOST_WALKS` walks.
    """

    out: Location
    master: str | None
    partitions: int | None
    json: str
    report: bool
    against: tuple[str, ...] = ()


def execute_simulation(request: WalkRequest, where: WalkDestination) -> int:
    """Make the walks of a request and return the exit status; raise UserError if the input is wrong."""
    # Wrong options are reported before Java starts, which takes seconds.
    master_url(where.master)
    if where.report and where.json == STANDARD_OUTPUT:
        raise InputError("--report and --json - both write to the standard output: name a file with --json FILE")
    if where.against and not where.report:
        raise InputError("--against shows related specs in the report: add --report")
    check_outputs({"--json": where.json}, target_files([request.target, *where.against]))
    check_walk_outputs({"--json": Path(where.json) if where.json not in ("", STANDARD_OUTPUT) else None}, where.out)
    run = run_of_request(request)
    siblings = sibling_walks(request, run, where.against)
    on_spark = where.master is not None or where.partitions is not None or run.total > local_simulation.MOST_WALKS
    if on_spark:
        require_pyspark()
    with ExitStack() as stack:
        # One session makes the walks and the reports on them.
        own = opened(where.master, settings=session_settings(where.master)) if on_spark and where.report else None
        spark = stack.enter_context(own) if own is not None else None
        status = _execute(run, where, spark, on_spark=on_spark)
        if status == EXIT_STOPPED or not where.report:
            return status
        for sibling in siblings:
            beside = dataclasses.replace(where, out=where.out / SIBLINGS / sibling.folder, json="")
            stopped = _execute(sibling.run, beside, spark, on_spark=on_spark) == EXIT_STOPPED
            status = EXIT_STOPPED if stopped else _report(sibling.request, beside, spark, with_summary=False)
            if status in (EXIT_STOPPED, EXIT_WRONG_INPUT):
                return status
        against = [where.out / SIBLINGS / sibling.folder for sibling in siblings]
        return _report(request, where, spark, against=against)


def _report(
    request: WalkRequest,
    where: WalkDestination,
    spark: Any,
    *,
    against: Sequence[Location] = (),
    with_summary: bool = True,
) -> int:
    """Report on the walks of a request, and return the exit status."""
    file = next(iter(target_files([request.target])), None)
    return report_walks(where.out, file, master=where.master, against=against, spark=spark, with_summary=with_summary)


def _execute(run: WalkRun, where: WalkDestination, spark: Any, *, on_spark: bool) -> int:
    """Make the walks, show their totals, and return the exit status."""
    watch = _PartWatcher(run, where.out, "to start Spark" if on_spark else "to start")
    with JsonLines(where.json) as json_lines, interruptible() as cancelled:
        is_whole = _simulate(run, where, watch, cancelled, spark, on_spark=on_spark)
        if not is_whole:
            print(printable(_stop_text(run, where.out)), file=sys.stderr)
            return EXIT_STOPPED
        part_paths(where.out, run)
        summaries = [watch.totals_of(configuration) for configuration in run.configurations]
        for configuration, summary in zip(run.configurations, summaries, strict=True):
            json_lines.write(simulation_to_json(run, configuration, summary))
    if where.json != STANDARD_OUTPUT:
        styled_lines.write([*simulation_lines(run, summaries), line(f"{watch.made}; folder: {where.out}")], sys.stdout)
    return EXIT_VIOLATED if any(texts_of_unexpected(run, summary) for summary in summaries) else EXIT_OK


def _simulate(
    run: WalkRun,
    where: WalkDestination,
    watch: _PartWatcher,
    cancelled: threading.Event,
    spark: Any,
    *,
    on_spark: bool,
) -> bool:
    watch.begin()
    name = run.spec if run.scenario is None else f"{run.spec}/{run.scenario}"
    with WalkProgress(name, run.total, watch.walks, sys.stderr) as display:

        def poll() -> None:
            watch.look_while_walking()
            display.update(watch.walks, watch.failures)

        if on_spark:
            is_whole = simulate(
                run,
                where.out,
                master=where.master,
                partitions=where.partitions,
                cancelled=cancelled,
                on_poll=poll,
                spark=spark,
            )
        else:
            is_whole = local_simulation.write_walks(run, where.out, cancelled=cancelled, on_poll=poll)
    watch.look()
    return is_whole


class _PartWatcher:
    """Reads the summaries of parts as they appear."""

    def __init__(self, run: WalkRun, folder: Location, start: str):
        self._run, self._folder, self._start = run, folder, start
        self._summaries: dict[int, WalkTotals] = {}
        self._before = 0
        self._created_at = time.monotonic()
        self._walking_since: float | None = None
        self.walks = self.failures = 0

    def begin(self) -> None:
        """Read the parts that exist already: an earlier run made them."""
        if (self._folder / WALKS).is_dir():
            self.look()
        self._before = self.walks

    @property
    def made(self) -> str:
        """The number of walks made since `begin`, and their rate, as text."""
        new = self.walks - self._before
        if not new or self._walking_since is None:
            return "all walks were made before"
        seconds = time.monotonic() - self._walking_since
        start = self._walking_since - self._created_at
        made = f"{quantity(new, 'walk')} made in {seconds:.1f} s"
        return f"{made} ({new / seconds:,.0f} per second), {start:.1f} s {self._start}"

    def look_while_walking(self) -> None:
        """Read the new parts; the first call marks the start of walking."""
        self._walking_since = self._walking_since or time.monotonic()
        self.look()

    def look(self) -> None:
        """Read the new parts."""
        missing = set(missing_parts(self._folder, self._run))
        for number in range(self._run.parts):
            if number not in missing and number not in self._summaries:
                summary = self._summaries[number] = read_totals(part_path(self._folder, WALKS, number))
                self.walks += summary.walks
                self.failures += summary.failures

    def totals_of(self, configuration: WalkConfiguration) -> WalkTotals:
        """Return the totals of all walks of a configuration."""
        size = self._run.parts_per_configuration
        first = configuration.number * size
        return add_totals(self._summaries[number] for number in range(first, first + size))


def _stop_text(run: WalkRun, folder: Location) -> str:
    there = sum(run.span(number)[2] for number in set(range(run.parts)) - set(missing_parts(folder, run)))
    return f"interrupted: {there:,} of {run.total:,} walks are in {folder}; the same command makes the others"
