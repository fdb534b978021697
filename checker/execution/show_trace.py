"""Trace files: replay one and show it, alone or compared with other specs."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

from checker.errors import InputError, UserError
from checker.output.comparison_text import comparison_lines
from checker.output.formats import FORMATS, Counterexample
from checker.output.output_files import check_outputs, open_for_writing
from checker.output.styled_lines import Line, lines_of_written_files, plain, write
from checker.output.writers.text import lines_of
from checker.run import registry
from traces import trace_file
from traces.compare import ComparedSchedule, replay_against
from traces.replay import replay

_CHANGED = "the spec has changed since; it still takes every step of this trace"


def replayed(path: Path, spec_file: Path | None = None) -> Counterexample:
    """Replay a trace file and return its counterexample; `spec_file` holds its spec, if that is not in the library.

    Raises UserError if the file is not a complete trace, its spec is unknown, or the current spec does not take the
    same steps.
    """
    file = trace_file.read_trace(path)
    entry = registry.select_spec(registry.target_to_load(file.origin.target, spec_file, path))
    try:
        _check_names(file, entry)
        spec = entry.spec(**file.origin.constants)
        unfair = dict.fromkeys(spec.fairness.keys() - file.origin.fairness.keys())
        spec = spec.with_fairness({**unfair, **file.origin.fairness})
        violation = trace_file.rebuild_violation(file, spec)
        if not violation.trace:
            raise InputError("it has no steps")
        violation = replay(spec, violation)
        if violation.length != file.length:
            raise InputError(f"its length is {file.length}, and the counterexample has {violation.length} states")
    except UserError as error:
        raise InputError(f"{_name_of(path, error.message)}{_text_of_change(file, entry)}") from None
    is_same = file.origin.fingerprint == trace_file.fingerprint_of(entry.spec)
    scenario = entry.scenario(file.origin.scenario, spec.constants)
    description = scenario.description if scenario is not None else ""
    origin = dataclasses.replace(file.origin, spec=entry.name, target=entry.target, constants=dict(spec.constants))
    return Counterexample(spec, violation, origin, description, () if is_same else (_CHANGED,), scenario)


def _check_names(file: trace_file.TraceFile, entry: registry.SpecEntry) -> None:
    """Raise InputError if the recorded name of the spec or the scenario is not that of the spec that was loaded."""
    spec, scenario = file.origin.spec, file.origin.scenario
    if spec.rpartition("/")[2] != entry.spec.name:
        raise InputError(f"it is a trace of {spec}, and its target is {entry.target}")
    known = [each.name for each in entry.scenarios]
    if scenario is not None and scenario not in known:
        raise InputError(f"{entry.name} has no scenario {scenario}: {registry.suggestion(scenario, known)}")


def show_trace(path: Path, *, spec: Path | None, format: str, against: tuple[str, ...], out: Path | None) -> None:
    """Show a trace file on standard output, or write it to a file; raise UserError if the input is wrong."""
    check_outputs({"--out": out}, [path, *_spec_files(spec, against)])
    replayed_trace = replayed(path, spec)
    if not against:
        show_counterexample(replayed_trace, format, out)
        return
    sides = [_side(replayed_trace, name) for name in against]
    if format == "text":
        _show_lines(comparison_lines(replayed_trace, sides), out)
    elif format == "html":
        from checker.output.comparison_text import comparison_as_page

        _show_text(comparison_as_page(replayed_trace, sides), out)
    else:
        raise InputError(f"--against compares as text or html, not as {format}")


def _spec_files(spec: Path | None, against: tuple[str, ...]) -> list[Path]:
    return [*([spec] if spec is not None else []), *registry.target_files(against)]


def show_counterexample(replayed_trace: Counterexample, format: str, out: Path | None) -> None:
    """Show a counterexample on standard output, in colour if it is a terminal, or write it to a file."""
    if format == "text":
        _show_lines(lines_of(replayed_trace), out)
    else:
        _show_text(FORMATS[format].write(replayed_trace), out)


def _show_lines(lines: list[Line], out: Path | None) -> None:
    if out is None:
        write(lines, sys.stdout)
    else:
        _show_text(plain(lines), out)


def _show_text(text: str, out: Path | None) -> None:
    if out is None:
        sys.stdout.write(text)
        return
    with open_for_writing(out) as stream:
        stream.write(text)
    write(lines_of_written_files([out]), sys.stdout)


def _side(replayed_trace: Counterexample, name: str) -> ComparedSchedule:
    entry = registry.select_spec(name)
    scenario = registry.select(name)[0].scenario
    if scenario is None:
        return replay_against(replayed_trace.spec, replayed_trace.violation, entry.name, entry.spec)
    shown = f"{entry.name}/{scenario.name}"
    return replay_against(
        replayed_trace.spec, replayed_trace.violation, shown, entry.spec, scenario.constants, scenario.fair
    )


def _name_of(path: Path, message: str) -> str:
    return message if message.startswith(str(path)) else f"{path}: {message}"


def _text_of_change(file: trace_file.TraceFile, entry: registry.SpecEntry) -> str:
    is_same = file.origin.fingerprint == trace_file.fingerprint_of(entry.spec)
    return "" if is_same else f" ({file.origin.spec} has changed since the trace was written)"
