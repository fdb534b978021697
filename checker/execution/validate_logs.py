"""Validation of recorded logs against a spec, in this process or on Spark."""

from __future__ import annotations

import dataclasses
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from checker.errors import InputError, UserError
from checker.output import styled_lines
from checker.output.files import JsonLines, make_folder
from checker.output.formats import FORMATS, Counterexample
from checker.output.output_files import STANDARD_OUTPUT, check_outputs, open_for_writing
from checker.output.validation_text import outcome_lines, summary_lines
from checker.run.interrupts import interruptible
from checker.run.registered_functions import function_on_spark
from checker.run.registry import target_files
from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED, EXIT_WRONG_INPUT, settings_of
from traces import trace_file
from traces.storage import Location, RemotePath, files_below, location_of, matching
from traces.validate.events import RecordedTrace, read_log, read_many
from traces.validate.task import RunningValidation, ValidationTask, unreadable
from traces.validate.totals import ValidationTotals, verdict_row
from traces.validate.verdict import TraceVerdict

ON_SPARK = 1000
"""Spark validates this many logs or more."""

INTERPRETED_BYTES = 50_000
"""The interpreter validates logs of up to this size in total."""

_EXPLAINED = ("text", "json", "html")
"""The formats of the explanation of a log."""

SHOWN = 20
"""With up to this many logs, conforming ones are shown in full too."""


@dataclass(frozen=True, kw_only=True)
class ValidationSettings:
    """The logs, the engine that validates them, and the destinations of the results."""

    logs: tuple[Location, ...]
    by: str = ""
    engine: str | None = None
    master: str | None = None
    json: str = ""
    out: Location | None = None


def validate_logs(task: ValidationTask, settings_given: tuple[str, ...], settings: ValidationSettings) -> int:
    """Validate logs and return the exit status; raise UserError if the spec, the mapping or an output is wrong."""
    if settings.master is not None and settings.engine not in (None, "spark"):
        raise InputError(f"--master needs --engine spark, not {settings.engine}")
    settings = dataclasses.replace(settings, logs=tuple(log for path in settings.logs for log in _logs_at(path)))
    _check_outputs(task, settings)
    spec = RunningValidation(task).entry.spec
    task = dataclasses.replace(task, settings=settings_of(spec, settings_given), engine=_engine(settings))
    validation = RunningValidation(task)
    if settings.out is not None:
        make_folder(settings.out)
    begun = time.monotonic()
    summary = _on_spark(task, settings) if _wants_spark(settings) else _here(validation, settings)
    seconds = time.monotonic() - begun
    if not summary.traces and not summary.is_interrupted:
        raise InputError(f"nothing was validated: {settings.logs[0]} has no events")
    if settings.out is not None:
        from checker.output.validation_page import write_report

        write_report(settings.out, validation.name, task, summary, seconds)
    _print(summary_lines(validation.name, summary, seconds, settings.out), settings)
    return status_of(summary, validation.expected)


def status_of(summary: ValidationTotals, expected: frozenset[str]) -> int:
    """Return the exit status: wrong input outranks rejections and violations, and these outrank undecided traces."""
    verdicts = summary.verdicts
    if verdicts["unreadable"]:
        return EXIT_WRONG_INPUT
    accepts_all = sum(summary.tried.values()) > 0 and not sum(summary.caught.values())
    if verdicts["rejected"] or summary.violated.keys() - expected or accepts_all:
        return EXIT_VIOLATED
    return EXIT_STOPPED if verdicts["undecided"] or summary.is_interrupted else EXIT_OK


def _logs_at(path: Location) -> list[Location]:
    """Return the logs at a path: a file, a folder of Parquet, or the files of a folder."""
    if not path.exists():
        raise InputError(f"there is no log {path}")
    if not path.is_dir():
        return [path]
    files = matching(path, "*.jsonl")
    if files_below(path, "*.parquet"):
        if files:
            raise InputError(f"the folder {path} has logs that end with .jsonl and with .parquet: name one kind")
        return [path]
    if not files:
        raise InputError(f"the folder {path} has no logs: their names end with .jsonl or .parquet")
    return files


def _check_outputs(task: ValidationTask, settings: ValidationSettings) -> None:
    """Raise InputError if an output is an input, or two logs would share the files of their explanations."""
    outputs: dict[str, Location | str | None] = {"--json": settings.json}
    stems: dict[str, Location] = {}
    if settings.out is not None:
        outputs |= {f"--out {name}": settings.out / name for name in ("report.html", "report.json")}
    for log in settings.logs if settings.out is not None and len(settings.logs) <= SHOWN else ():
        # A file system may not distinguish the case of letters.
        other = stems.setdefault(log.stem.casefold(), log)
        if other != log:
            raise InputError(f"{other} and {log} would write the same file, {log.stem}.html: rename one of them")
        outputs |= {f"--out {path.name} of {log}": path for path in _explanations(log, settings.out)}
    check_outputs(outputs, [*settings.logs, *target_files([task.target, task.mapping])])


def _explanations(log: Location, out: Location | None) -> list[Location]:
    """Return the files that explain a log."""
    return [] if out is None else [out / f"{log.stem}{FORMATS[format].ending}" for format in _EXPLAINED]


def _engine(settings: ValidationSettings) -> str:
    """Return the engine that computes successors. For short logs, the interpreter is faster than compilation."""
    if settings.engine is not None or _wants_spark(settings):
        return "python" if settings.engine == "python" else "native"
    sizes = (path.size if isinstance(path, RemotePath) else path.stat().st_size for path in settings.logs)
    return "python" if sum(sizes) <= INTERPRETED_BYTES else "native"


def _wants_spark(settings: ValidationSettings) -> bool:
    is_many = len(settings.logs) >= ON_SPARK or any(_is_parquet(path) for path in settings.logs)
    return settings.engine == "spark" or settings.master is not None or is_many


def _is_parquet(path: Location) -> bool:
    return path.suffix == ".parquet" or path.is_dir()


def _on_spark(task: ValidationTask, settings: ValidationSettings) -> ValidationTotals:
    validate_on_spark = function_on_spark("validate")
    with JsonLines(settings.json) as output, interruptible() as cancelled:
        write = output.write if settings.json else None
        totals: ValidationTotals = validate_on_spark(
            task,
            settings.logs,
            settings.by,
            master=settings.master,
            out=settings.out,
            write=write,
            cancelled=cancelled,
        )
    return totals


def _here(validation: RunningValidation, settings: ValidationSettings) -> ValidationTotals:
    summary = ValidationTotals()
    is_few = len(settings.logs) <= SHOWN and not settings.by
    with JsonLines(settings.json) as output, _until_interrupted(summary):
        for recorded in _recordings(settings):
            if isinstance(recorded, RecordedTrace):
                outcome = validation.outcome(recorded)
                controls = validation.controls(recorded, outcome)
                if is_few and settings.out is not None and outcome.verdict != "unreadable":
                    _write_explanation(validation, recorded, outcome, settings.out)
            else:
                outcome, controls = recorded, None
            row = verdict_row(outcome, controls)
            output.write(row)
            summary.add(row)
            if outcome.verdict == "unreadable":
                print(f"error: {outcome.message}", file=sys.stderr)
            elif is_few or (outcome.verdict != "conforms" and summary.traces - summary.verdicts["conforms"] <= SHOWN):
                _print(outcome_lines(validation, outcome, controls), settings)
    return summary


def _write_explanation(
    validation: RunningValidation, recorded: RecordedTrace, outcome: TraceVerdict, out: Location
) -> None:
    """Write a behaviour that explains as much of a log as possible: as text, as a page, and as a trace file.

    There is none if the model forgot finished records.
    """
    explanation = validation.explanation(recorded, outcome)
    if explanation is None:
        return
    spec, violation = explanation
    words = ["validate", validation.task.target, recorded.file, "--mapping", validation.task.mapping]
    command = shlex.join(["python", "-m", "checker", *words])
    scenario = validation.scenario.name if validation.scenario is not None else None
    origin = trace_file.origin_of(spec, validation.entry.name, scenario, validation.entry.target, command)
    explained = Counterexample(spec, violation, origin)
    for format, path in zip(_EXPLAINED, _explanations(location_of(recorded.file), out), strict=True):
        with open_for_writing(path) as stream:
            stream.write(FORMATS[format].write(explained))


@contextmanager
def _until_interrupted(summary: ValidationTotals) -> Iterator[None]:
    """End the validation at Ctrl-C, but report the logs that were validated before."""
    try:
        yield
    except KeyboardInterrupt:
        summary.is_interrupted = True


def _recordings(settings: ValidationSettings) -> Iterator[RecordedTrace | TraceVerdict]:
    """Iterate over the traces of all logs; for an unreadable log, yield the outcome that says so."""
    for path in settings.logs:
        try:
            if settings.by:
                yield from (raw.recorded() for raw in read_many(path, settings.by))
            else:
                yield read_log(path)
        except UserError as error:
            yield unreadable(str(path), str(path), error)


def _print(shown: list[styled_lines.Line], settings: ValidationSettings) -> None:
    if settings.json != STANDARD_OUTPUT:
        styled_lines.write(shown, sys.stdout)
