"""Runs executed one after the other: explored, held against what is expected, reported."""

from __future__ import annotations

import functools
import multiprocessing
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from checker.cli.run_on_spark import SparkOptions, spark_engine
from checker.errors import InputError, MissingExtraError, UserError
from checker.language.spec import Spec
from checker.output import finding_text as evidence
from checker.output import ledger_text, run_summary, styled_lines, text
from checker.output.files import STANDARD_OUTPUT, CounterexampleFolder, JsonLines, result_to_json
from checker.output.progress import ProgressDisplay
from checker.output.reports import Reports, reports
from checker.output.state_graph import check_graph, write_graph
from checker.run import process_pool
from checker.run.finished import FinishedRun
from checker.run.interrupts import interruptible
from checker.run.plan import DEADLOCK, Plan
from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED, EXIT_WRONG_INPUT, Request, Run, runs_for
from checker.run.result import Result
from checker.run.scenario import compare

Engine = Literal["native", "python", "both", "spark"]


@dataclass(frozen=True)
class RunSettings:
    """How runs are executed, and where their results go."""

    engine: Engine
    workers: int
    max_states: int | None = None
    max_depth: int | None = None
    coverage: bool = False
    json: str = ""
    junit: Path | None = None
    out: Path | None = None
    sarif: Path | None = None
    html: Path | None = None
    graph: Path | None = None
    strict: bool = False
    ledger: Path | None = None
    update_ledger: bool = False
    spark: SparkOptions = field(default_factory=SparkOptions)

    @property
    def is_limited(self) -> bool:
        """Whether a run may end before the last state, or count otherwise than the native engine does."""
        return self.max_states is not None or self.max_depth is not None or self.engine != "native"


def execute(request: Request, settings: RunSettings) -> int:
    """Execute the runs that a request asks for and return the exit status.

    A run whose spec turns out to be wrong does not keep the others from being executed. Raises UserError where nothing
    can be executed: an unknown name, a file that is no spec, an output that cannot be written.
    """
    folder = CounterexampleFolder(settings.out)
    wrong: list[UserError] = []
    finished: list[FinishedRun] = []
    with (
        reports(settings.junit, settings.sarif, settings.html, settings.out, strict=settings.strict) as report,
        JsonLines(settings.json) as json_lines,
        interruptible() as cancelled,
        ExitStack() as engines,
    ):
        try:
            runs = runs_for(request)
        except UserError as error:
            report.add_wrong(" ".join(request.targets) or "specs", error)
            raise
        if settings.graph is not None:
            check_graph(settings.graph, runs)
        explore = _engine(settings, len(runs), engines)
        screen = _Screen(runs) if settings.json != STANDARD_OUTPUT else None
        for run, outcome in zip(runs, _outcomes(runs, settings, explore, cancelled), strict=False):
            if isinstance(outcome, UserError):
                wrong.append(outcome)
                report.add_wrong(run.name, outcome)
                continue
            done = FinishedRun(run, outcome, compare(outcome, run.expected) if run.expected is not None else None)
            finished.append(done)
            if screen is not None:
                screen.show(done, settings)
            json_lines.write(result_to_json(run, done.result, done.comparison))
            folder.write(run, done.result)
            if settings.graph is not None:
                write_graph(settings.graph, run)
            report.add(run, done.result, done.comparison)
            if cancelled.is_set():
                break
        if screen is not None and finished:
            screen.finish(finished, len(wrong))
        is_idle = _say_findings(finished, settings)
        is_cut_short = bool(wrong) or cancelled.is_set()
        is_drift = _hold_against_ledger(request, settings, finished, report, is_cut_short=is_cut_short)
    folder.close()
    for message in dict.fromkeys(str(error) for error in wrong):
        print(f"error: {message}", file=sys.stderr)
    if wrong:
        return EXIT_WRONG_INPUT
    return EXIT_VIOLATED if is_idle or is_drift else exit_status(finished)


def _say_findings(finished: list[FinishedRun], settings: RunSettings) -> bool:
    """Show what is idle in the specs, if that is asked for, and return whether it fails the command."""
    if not (settings.coverage or settings.strict):
        return False
    found = evidence.findings_by_spec(finished)
    is_table_shown = settings.json != STANDARD_OUTPUT
    if is_table_shown:
        styled_lines.write(evidence.finding_lines(found, with_notes=settings.coverage), sys.stdout)
    return settings.strict and any(spec.warnings for spec in found)


def _hold_against_ledger(
    request: Request, settings: RunSettings, finished: list[FinishedRun], report: Reports, *, is_cut_short: bool
) -> bool:
    """Hold the runs against the ledger, or rewrite it, and return whether they differ from what is recorded."""
    use = ledger_text.ledger_use(request, settings.is_limited, settings.ledger, settings.update_ledger)
    if use is None:
        return False
    shown, is_drift = ledger_text.hold(use, finished, is_cut_short)
    styled_lines.write(shown, sys.stderr if settings.json == STANDARD_OUTPUT else sys.stdout)
    if is_drift:
        report.add_drift(use.path, styled_lines.plain(shown))
    return is_drift


def _engine(settings: RunSettings, runs: int, engines: ExitStack) -> Callable[[Spec, Plan], Result]:
    """Return the `explore` of the engine that was asked for; what it holds open is closed with `engines`."""
    if settings.engine == "spark":
        engine = spark_engine(settings.spark, settings.workers, runs, strict=settings.strict)
        return engines.enter_context(engine)
    settings.spark.require_unused()
    return engine_named(settings.engine, evidence=settings.coverage or settings.strict)


def engine_named(name: Engine, *, evidence: bool = False) -> Callable[[Spec, Plan], Result]:
    """Return the `explore` of an engine that needs no session; raise UserError if it is not installed.

    `evidence`: complete explorations also report their findings.
    """
    try:
        if name == "python":
            if evidence:
                from checker.evidence import interpreted

                return interpreted.explore
            from checker.engines.python import explorer

            return explorer.explore
        if name == "both":
            from checker.engines import both

            return functools.partial(both.explore, explore_natively=engine_named("native", evidence=evidence))
        if evidence:
            from checker.evidence import native

            return native.explore
        from checker.engines.native import engine

        return engine.explore
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"the {name} engine needs {error.name}, which is not installed: install it, or use --engine python"
        ) from None


def exit_status(finished: list[FinishedRun]) -> int:
    """Return 1 if something differs or is violated, else 3 if something was stopped before the answer, else 0."""
    if any(not done.is_fine and not done.is_open for done in finished):
        return EXIT_VIOLATED
    return EXIT_STOPPED if any(done.is_open for done in finished) else EXIT_OK


def _outcomes(
    runs: list[Run], settings: RunSettings, explore: Callable[[Spec, Plan], Result], cancelled: threading.Event
) -> Iterator[Result | UserError]:
    """Yield the result of each run, or why its spec is wrong: one with all workers, many side by side with one each."""
    is_shared = settings.engine == "spark"
    if len(runs) == 1 or settings.workers == 1 or is_shared or "fork" not in multiprocessing.get_all_start_methods():
        for run in runs:
            with ProgressDisplay(run.name, sys.stderr) as display:
                plan = _plan(run, settings, settings.workers, cancelled)
                plan.on_progress = display.update
                outcome = _explored(run, plan, explore)
            yield outcome
        return

    def explored(number: int, cancelled: threading.Event) -> Result | UserError:
        plan = _plan(runs[number], settings, 1, cancelled)
        plan.quick = True
        return _explored(runs[number], plan, explore)

    yield from process_pool.in_order(len(runs), settings.workers, explored, cancelled)


def _plan(run: Run, settings: RunSettings, workers: int, cancelled: threading.Event) -> Plan:
    return Plan(
        properties=tuple(name for name in run.properties if name != DEADLOCK),
        stop=run.stop,
        workers=workers,
        max_states=settings.max_states,
        max_depth=settings.max_depth,
        deadlock=DEADLOCK in run.properties,
        cancelled=cancelled,
    )


def _explored(run: Run, plan: Plan, explore: Callable[[Spec, Plan], Result]) -> Result | UserError:
    try:
        return explore(run.spec, plan)
    except UserError as error:
        return error if error.file else InputError(f"{run.name}: {error.message}")


class _Screen:
    """What a person sees of the runs on standard output: a row each, and then what needs words."""

    def __init__(self, runs: list[Run]):
        self._total = len(runs)
        self._is_one_spec = len({run.entry.name for run in runs}) == 1
        self._name_width = max((len(run.name) for run in runs), default=0)
        self._is_begun = False

    def show(self, done: FinishedRun, settings: RunSettings) -> None:
        """Show the row of a run, and its coverage where that was asked for."""
        if not self._is_begun:
            styled_lines.write([run_summary.heading(self._name_width)], sys.stdout)
            self._is_begun = True
        styled_lines.write(run_summary.row(done.run.name, self._name_width, done.result, done.comparison), sys.stdout)
        if self._total == 1:
            styled_lines.write(run_summary.run_details(done.result), sys.stdout)
        if settings.coverage:
            styled_lines.write(run_summary.coverage_table(done.result), sys.stdout)

    def finish(self, finished: list[FinishedRun], wrong: int) -> None:
        """Show the counterexamples that were asked for or not expected, and the sum of it all."""
        for done in finished:
            if self._is_one_spec or not done.is_fine:
                for violation in done.result.violations:
                    shown = text.counterexample(done.run.spec, done.run.name, violation)
                    styled_lines.write([styled_lines.BLANK, *shown], sys.stdout)
        if self._total > 1:
            styled_lines.write([styled_lines.BLANK, self._sum(finished, wrong_specs=wrong)], sys.stdout)

    def _sum(self, finished: list[FinishedRun], wrong_specs: int) -> styled_lines.Line:
        seconds = sum(done.result.seconds + done.result.compile_seconds for done in finished)
        wrong = sum(not done.is_fine and not done.is_open for done in finished)
        counts = {
            "not as expected": wrong,
            "stopped before the answer": sum(done.is_open for done in finished),
            "wrong specs": wrong_specs,
            "not started": self._total - len(finished) - wrong_specs,
        }
        troubles = [f"{count} {what}" for what, count in counts.items() if count]
        words = f"{len(finished)} runs, {seconds:.1f} s: {', '.join(troubles) or 'all as expected'}"
        return styled_lines.line(
            (words, "bold red" if wrong or wrong_specs else "bold yellow" if troubles else "bold green")
        )
