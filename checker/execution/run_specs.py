"""Execution of runs: explore each, compare it with its expectation and the ledger, show and write the results."""

from __future__ import annotations

import os
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from checker.errors import EXIT_INTERNAL, InputError, SpecErrors, UserError
from checker.evidence.spec_findings import findings_by_spec
from checker.execution.checkpoint_options import CheckpointOptions
from checker.execution.engine_choice import (
    EngineName,
    Explore,
    engine_named,
    faster_engine,
    groups_with_shared_code,
    has_checkpoint,
    native_engine_for_group,
)
from checker.execution.spark_options import SparkOptions
from checker.language.interpreter import State
from checker.language.source_digest import digests_kept
from checker.language.spec import Spec
from checker.output import finding_text, ledger_text, styled_lines
from checker.output.files import CounterexampleFolder, JsonLines, check_stems, failure_to_json, result_to_json
from checker.output.index import index_file
from checker.output.output_files import STANDARD_OUTPUT, check_outputs
from checker.output.progress import ProgressDisplay
from checker.output.reports import Reports, open_reports
from checker.output.run_summary import RunScreen
from checker.output.state_graph import check_graph, write_graph
from checker.printable import printable_lines, quantity
from checker.run import ledger_check
from checker.run.account import account_of
from checker.run.endings import StoppedError, doing, ending, error_lines, worker_died
from checker.run.expectation import compare_with_expectation
from checker.run.finished import FinishedRun
from checker.run.interrupts import interruptible
from checker.run.plan import DEADLOCK, CheckpointPlan, Plan, StoreChoice, properties_to_search
from checker.run.registered_functions import function_on_spark
from checker.run.registry import target_files
from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED, EXIT_WRONG_INPUT, Request, Run, runs_for
from checker.run.result import Result
from traces.storage import Location


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How runs are executed, and where their results are written.

    `reports` maps the names of `checker.output.reports.REPORTS` to paths, or to None for those that are not written.
    """

    engine: EngineName
    workers: int
    max_states: int | None = None
    max_depth: int | None = None
    max_memory: int | None = None
    store: StoreChoice = "auto"
    coverage: bool = False
    strict: bool = False
    trace: Literal["sentences", "full"] | None = None
    verbose: bool = False
    json: str = ""
    reports: Mapping[str, Path | None] = field(default_factory=dict)
    graph: Path | None = None
    out: Path | None = None
    witness: Path | None = None
    ledger: Path | None = None
    update_ledger: bool = False
    spark: SparkOptions = field(default_factory=SparkOptions)
    checkpoint: CheckpointOptions | None = None

    @property
    def is_limited(self) -> bool:
        """Whether a run may end before the last state, or its counts may differ from those of the native engine."""
        limits = (self.max_states, self.max_depth, self.max_memory)
        return any(limit is not None for limit in limits) or self.engine != "native"

    @property
    def is_screen_shown(self) -> bool:
        """Whether standard output is for a person: JSON on standard output must be alone."""
        return self.json != STANDARD_OUTPUT


def execute_runs(request: Request, settings: RunSettings) -> int:
    """Execute the runs of a request and return the exit status.

    If the spec of a run is wrong or the run fails, the other runs are executed nevertheless. The reports have an error
    for each run without a result, however the command ends. Raises UserError if nothing can be executed: for an unknown
    name, a file without specs, or an output that cannot be written.
    """
    started = time.perf_counter()
    _check_outputs(request, settings)
    index = settings.reports.get("html")
    folder = CounterexampleFolder(settings.out, index_file(index) if index is not None else None)
    with (
        open_reports(settings.reports, pages=settings.out, strict=settings.strict) as report,
        JsonLines(settings.json) as json_lines,
        interruptible() as cancelled,
        digests_kept(),
        ExitStack() as engines,
    ):
        try:
            runs = runs_for(request)
            check_stems(runs, settings.out, _files(settings))
            if settings.graph is not None:
                check_graph(settings.graph, runs)
            if settings.strict and any(run.symmetry for run in runs):
                raise InputError("--strict looks at every state: omit it, or use --no-symmetry")
            if request.fair and settings.engine == "spark":
                raise InputError("--engine spark decides no liveness property: omit --fair, or use --engine native")
            if settings.checkpoint is not None:
                settings.checkpoint.check(settings.engine, len(runs))
            _check_witness(runs, settings)
            explore = _engine(runs, settings, engines)
        except BaseException as error:
            report.add_wrong(" ".join(request.targets) or "specs", _report_error(error))
            raise
        screen = engines.enter_context(_screen(request, runs, settings)) if settings.is_screen_shown else None
        results = _RunResults(runs, report, json_lines)
        with results.completed():
            for number, outcome in _outcomes(runs, settings, explore, cancelled):
                run = runs[number]
                if isinstance(outcome, UserError):
                    results.fail(run, outcome)
                    continue
                done = FinishedRun(
                    run, outcome, compare_with_expectation(outcome, run.expected) if run.expected is not None else None
                )
                if screen is not None:
                    screen.show(done)
                results.add(done)
                folder.write(run, done.result.violations)
                if settings.graph is not None:
                    write_graph(settings.graph, run)
        finished, failed = results.finished, results.failed
        if screen is not None:
            screen.show_violations(finished)
        has_warnings = _show_findings(finished, settings)
        is_cut_short = len(finished) < len(runs) or cancelled.is_set()
        is_drift = _check_ledger(request, settings, finished, report, is_cut_short=is_cut_short)
    folder.close()
    if settings.checkpoint is not None and _is_resumable(finished, failed):
        _show_resume_command(request, settings, settings.checkpoint)
    for line in dict.fromkeys(line for error in failed for line in error_lines(error)):
        print(styled_lines.break_text(line, sys.stderr), file=sys.stderr)
    if screen is not None and finished:
        reasons = {"a part of a spec is unused": has_warnings, "the ledger differs": is_drift}
        screen.finish(
            finished,
            wrong_specs=len(failed),
            seconds=time.perf_counter() - started,
            written=_files_of_command(settings, folder),
            notes=[reason for reason, is_given in reasons.items() if is_given],
        )
    status = EXIT_VIOLATED if has_warnings or is_drift else exit_status(finished)
    if settings.strict and status == EXIT_OK and any(done.result.findings_omitted for done in finished):
        status = EXIT_STOPPED
    if len(finished) < len(runs) and status == EXIT_OK:
        status = EXIT_STOPPED
    return worst_status(status, *(error.exit_status for error in failed))


def _screen(request: Request, runs: list[Run], settings: RunSettings) -> RunScreen:
    has_rows = settings.verbose or settings.coverage or settings.trace is not None or settings.workers == 1
    is_for_a_person = sys.stdout.isatty() and not os.environ.get("CI") and settings.engine in ("native", "both")
    if not request.targets and is_for_a_person and not has_rows:
        # Imported here: it loads Rich.
        from checker.output.family_screen import FamilyScreen

        return FamilyScreen(runs)
    return RunScreen(runs, with_coverage=settings.coverage, trace=settings.trace, pages=settings.out)


def _files_of_command(settings: RunSettings, folder: CounterexampleFolder) -> list[str]:
    """Return the files that the command wrote, as text."""
    files = [
        index_file(path) if name == "html" else path for name, path in settings.reports.items() if path is not None
    ]
    counts = quantity(folder.count, "counterexample")
    folders = [f"{settings.out} ({counts})"] if settings.out is not None else []
    others = [settings.json, settings.graph, settings.witness]
    return [*folders, *(str(path) for path in (*files, *others) if path is not None)]


def worst_status(*statuses: int) -> int:
    """Return the exit status of a command with several runs: a wrong input outweighs a verdict, a crash all others."""
    order = (EXIT_INTERNAL, EXIT_WRONG_INPUT, EXIT_VIOLATED, EXIT_STOPPED, EXIT_OK)
    return next(status for status in order if status in statuses)


class _RunResults:
    """The results of a command's runs, which reports and JSON get as they come; a run without one gets an error."""

    def __init__(self, runs: list[Run], report: Reports, json_lines: JsonLines):
        self._open = {id(run): run for run in runs}
        self._report, self._json_lines = report, json_lines
        self.finished: list[FinishedRun] = []
        self.failed: list[UserError] = []

    def add(self, done: FinishedRun) -> None:
        """Add a run with its result."""
        del self._open[id(done.run)]
        self.finished.append(done)
        self._json_lines.write(result_to_json(done))
        self._report.add(done)

    def fail(self, run: Run, error: UserError) -> None:
        """Add a run that has no result."""
        del self._open[id(run)]
        self.failed.append(error)
        self._report_failure(run, error)

    @contextmanager
    def completed(self) -> Iterator[None]:
        """Add an error for each run that the block left without a result, however it ends."""
        why: BaseException = KeyboardInterrupt()
        try:
            yield
        except BaseException as error:
            why = error
            raise
        finally:
            for run in self._open.values():
                self._report_failure(run, StoppedError(f"not run: {_report_error(why).message}"))

    def _report_failure(self, run: Run, error: UserError) -> None:
        self._json_lines.write(failure_to_json(run, error))
        self._report.add_wrong(run.name, error)


def _report_error(error: BaseException) -> UserError:
    return StoppedError("the command was interrupted") if isinstance(error, KeyboardInterrupt) else ending(error)


def _files(settings: RunSettings) -> dict[str, Path | str | None]:
    """Return the files that the options name."""
    reports = {f"--{name}": path for name, path in settings.reports.items()}
    return {"--json": settings.json, "FILE": settings.graph, **reports}


def _check_outputs(request: Request, settings: RunSettings) -> None:
    """Raise InputError if an output file is an input, or two outputs are one file."""
    outputs: dict[str, Location | str | None] = {
        **_files(settings),
        "--out": settings.out,
        "--witness": settings.witness,
    }
    if settings.checkpoint is not None:
        outputs[settings.checkpoint.option] = settings.checkpoint.folder
    used = ledger_check.ledger_use(request, settings.is_limited, settings.ledger, settings.update_ledger)
    ledger = [used.path] if used is not None else []
    check_outputs(outputs, [*target_files(request.targets), *ledger])


def exit_status(finished: list[FinishedRun]) -> int:
    """Return 1 if a result is not as expected, else 3 if a run was stopped before the answer, else 0."""
    if any(not done.is_as_expected and not done.is_open for done in finished):
        return EXIT_VIOLATED
    return EXIT_STOPPED if any(done.is_open for done in finished) else EXIT_OK


def _is_resumable(finished: list[FinishedRun], failed: list[UserError]) -> bool:
    """Return whether a run was stopped before its end."""
    return any(error.exit_status == EXIT_STOPPED for error in failed) or any(
        done.result.undecided or done.result.ended not in ("complete", "violation") for done in finished
    )


def _show_resume_command(request: Request, settings: RunSettings, checkpoint: CheckpointOptions) -> None:
    """Show the command that resumes the run, if its folder holds a checkpoint."""
    if not has_checkpoint(checkpoint.folder, settings.engine):
        return
    flags = {"--coverage": settings.coverage, "--strict": settings.strict}
    words = [*request.words, *(option for option, is_given in flags.items() if is_given), *checkpoint.resume_words]
    if settings.store != "auto":
        words += ["--store", settings.store]
    if settings.engine == "spark":
        words += ["--engine", "spark", *settings.spark.words]
    command = shlex.join(["python", "-m", "checker", "run", *words])
    print(printable_lines(f"to resume this run: {command}"), file=sys.stderr)


def _show_findings(finished: list[FinishedRun], settings: RunSettings) -> bool:
    """Show the unused parts of the specs if requested, and return whether they fail the command."""
    if not (settings.coverage or settings.strict):
        return False
    by_spec = findings_by_spec(finished)
    if settings.is_screen_shown:
        styled_lines.write(finding_text.finding_lines(by_spec, with_notes=settings.coverage), sys.stdout)
    return settings.strict and any(spec.warnings for spec in by_spec)


def _check_ledger(
    request: Request, settings: RunSettings, finished: list[FinishedRun], report: Reports, *, is_cut_short: bool
) -> bool:
    """Compare the runs with the ledger, or update it, and return whether they differ."""
    use = ledger_check.ledger_use(request, settings.is_limited, settings.ledger, settings.update_ledger)
    if use is None:
        return False
    check = ledger_check.check_ledger(use, finished, is_cut_short=is_cut_short)
    shown = ledger_text.ledger_lines(use, check)
    styled_lines.write(shown, sys.stdout if settings.is_screen_shown else sys.stderr)
    if check.is_drift:
        report.add_drift(use.path, styled_lines.plain(shown))
    return check.is_drift


def _engine(runs: list[Run], settings: RunSettings, engines: ExitStack) -> Explore:
    """Return the `explore` of the engine; a Spark session is closed with `engines`."""
    if settings.engine == "spark":
        spark_engine = function_on_spark("engine")
        engine = spark_engine(settings.spark, settings.checkpoint, settings.workers, strict=settings.strict)
        return cast(Explore, engines.enter_context(engine))
    settings.spark.require_unused()
    if settings.witness is not None:
        return _engine_with_witness(runs[0], settings.witness)
    evidence = settings.coverage or settings.strict
    return engine_named(settings.engine, evidence=evidence)


def _check_witness(runs: list[Run], settings: RunSettings) -> None:
    """Raise InputError if the runs cannot have a witness."""
    if settings.witness is None:
        return
    if len(runs) != 1:
        raise InputError(f"--witness belongs to one exploration, but there are {len(runs)}: name one scenario")
    if settings.engine != "native" or settings.coverage or settings.strict:
        raise InputError("--witness needs the native engine alone: omit --engine, --coverage and --strict")
    if settings.witness.exists() and (not settings.witness.is_dir() or any(settings.witness.iterdir())):
        raise InputError(f"{settings.witness} is not an empty folder: --witness needs one of its own")


def _engine_with_witness(run: Run, folder: Path) -> Explore:
    """Return the native `explore`, which also writes the witness of a run."""
    from checker.engines.native import engine
    from checker.output.witness import require_witness, write_witness

    def explored(spec: Spec, plan: Plan) -> Result:
        def write(result: Result, states: Iterator[State]) -> None:
            require_witness(run, result)
            write_witness(folder, run, result, states)

        return engine.explore(spec, plan, on_states=write)

    return explored


def _outcomes(
    runs: list[Run], settings: RunSettings, explore: Explore, cancelled: threading.Event
) -> Iterator[tuple[int, Result | UserError]]:
    """Yield the number of each run with its result, or why its spec is wrong, in the order of the runs.

    After `cancelled` is set, only runs that have begun have a result. One run uses all workers. Several runs are
    executed in parallel, each by one worker process.
    """
    shares_code = settings.engine == "native" and not (settings.coverage or settings.strict) and len(runs) > 1
    wanted = [(run.spec, properties_to_search(run.spec, run.properties)) for run in runs] if shares_code else []
    groups = groups_with_shared_code(wanted) if shares_code else [[number] for number in range(len(runs))]

    def explore_of(group: Sequence[int]) -> Explore:
        return native_engine_for_group([wanted[number] for number in group]) if shares_code else explore

    # Each run takes the whole cluster, or the whole card.
    is_shared = settings.engine in ("spark", "gpu")
    if len(runs) == 1 or settings.workers == 1 or is_shared or not hasattr(os, "fork"):
        engines = {number: engine for group in groups for engine in [explore_of(group)] for number in group}
        for number, run in enumerate(runs):
            with ProgressDisplay(run.name, sys.stderr, faster_engine(settings.engine)) as display:
                plan = _plan(run, settings, settings.workers, cancelled)
                plan.quick = len(runs) > 1
                plan.on_progress = display.update
                plan.checkpoint = _checkpoint_plan(settings, display)
                # The code that a group shares is freed after its last run.
                outcome = _explore(run, plan, engines.pop(number))
            yield number, outcome
            if cancelled.is_set():
                break
        return

    # Imported here: one run needs no processes.
    from checker.run.process_groups import results_of_groups

    def explored(group: Sequence[int]) -> Callable[[int, threading.Event], Result | UserError]:
        engine = explore_of(group)

        def explore_run(number: int, cancelled: threading.Event) -> Result | UserError:
            plan = _plan(runs[number], settings, 1, cancelled)
            plan.quick = True
            if plan.max_memory is not None:
                # The runs in progress share what the command may take.
                plan.max_memory //= min(settings.workers, len(runs))
            return _explore(runs[number], plan, engine)

        return explore_run

    def died(number: int) -> UserError:
        return worker_died(runs[number].name)

    yield from results_of_groups(groups, settings.workers, explored, cancelled, died)


def _plan(run: Run, settings: RunSettings, workers: int, cancelled: threading.Event) -> Plan:
    return Plan(
        properties=tuple(name for name in run.properties if name != DEADLOCK),
        stop=run.stop,
        workers=workers,
        max_states=settings.max_states,
        max_depth=settings.max_depth,
        max_memory=settings.max_memory,
        store=settings.store,
        deadlock=DEADLOCK in run.properties,
        symmetry=run.symmetry,
        cancelled=cancelled,
    )


def _checkpoint_plan(settings: RunSettings, display: ProgressDisplay) -> CheckpointPlan | None:
    chosen = settings.checkpoint
    if chosen is None or settings.engine != "native":
        return None
    assert isinstance(chosen.folder, Path), "this engine refuses a URL"
    return CheckpointPlan(chosen.folder, chosen.seconds, chosen.must_resume, display.notice)


def _explore(run: Run, plan: Plan, explore: Explore) -> Result | UserError:
    try:
        with doing(f"exploring {run.name}"):
            result = explore(run.spec, plan)
            account_of(run.spec, run.properties, result)
            return result
    except UserError as error:
        named = [part if part.file else type(part)(f"{run.name}: {part.message}") for part in error.parts]
        return named[0] if len(named) == 1 else SpecErrors(named)
    # The other runs go on, and the reports have an error for this one.
    except (Exception, SystemExit) as error:
        return ending(error)
