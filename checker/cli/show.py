"""`show`: a trace file for people and for other programs."""

from __future__ import annotations

import sys
from pathlib import Path

from checker.cli.show_comparison import comparison_lines
from checker.errors import InputError, UserError
from checker.output.files import open_for_writing
from checker.output.formats import Counterexample, Format, written
from checker.output.styled_lines import BLANK, Line, line, plain, write
from checker.output.text import counterexample
from checker.run import registry
from traces import trace_file
from traces.compare import ComparedSchedule, replay_against
from traces.replay import replay

_CHANGED = "the spec has changed since; it still takes every step of this trace"


def replayed(path: Path) -> Counterexample:
    """Return the counterexample of a trace file, after it has been replayed.

    Raises UserError if the file is no whole trace, its spec is not here, or the spec as it is now does not take the
    same steps.
    """
    file = trace_file.read_trace(path)
    entry = registry.select_spec(file.origin.target)
    try:
        spec = entry.spec(**file.origin.constants)
        violation = trace_file.rebuild_violation(file, spec)
        if not violation.trace:
            raise InputError("it has no steps")
        replay(spec, violation)
    except UserError as error:
        raise InputError(f"{_named(path, error.message)}{_changed_text(file, entry)}") from None
    is_same = file.origin.fingerprint == trace_file.fingerprint_of(entry.spec)
    description = entry.description(file.origin.scenario, spec.constants)
    return Counterexample(spec, violation, file.origin, description, () if is_same else (_CHANGED,))


def show_trace(path: Path, format: Format, against: tuple[str, ...], out: Path | None) -> None:
    """Show a trace file on standard output, or write it to a file; raise UserError where the input is wrong."""
    found = replayed(path)
    if against:
        sides = [_side(found, name) for name in against]
        if format == "text" and out is None:
            write(comparison_lines(found, sides), sys.stdout)
            return
        shown = _compared(found, sides, format)
    elif format == "text" and out is None:
        write(text_of(found), sys.stdout)
        return
    else:
        shown = written(found, format)
    if out is None:
        sys.stdout.write(shown)
        return
    with open_for_writing(out) as stream:
        stream.write(shown)


def _side(found: Counterexample, name: str) -> ComparedSchedule:
    entry = registry.select_spec(name)
    scenario = registry.select(name)[0].scenario
    if scenario is None:
        return replay_against(found.spec, found.violation, entry.name, entry.spec)
    shown = f"{entry.name}/{scenario.name}"
    return replay_against(found.spec, found.violation, shown, entry.spec, scenario.constants)


def _compared(found: Counterexample, sides: list[ComparedSchedule], format: Format) -> str:
    if format == "text":
        return plain(comparison_lines(found, sides))
    if format == "html":
        from checker.cli.show_comparison import comparison_page

        return comparison_page(found, sides)
    raise InputError(f"--against compares as text or html, not as {format}")


def text_of(found: Counterexample) -> list[Line]:
    """Return the lines that show a counterexample."""
    notes = [BLANK, line(("  found by  ", "dim"), found.origin.command)]
    notes += [line((f"  {note}", "yellow")) for note in found.notes]
    return [*counterexample(found.spec, found.origin.name, found.violation), *notes]


def _named(path: Path, message: str) -> str:
    return message if message.startswith(str(path)) else f"{path}: {message}"


def _changed_text(file: trace_file.TraceFile, entry: registry.SpecEntry) -> str:
    is_same = file.origin.fingerprint == trace_file.fingerprint_of(entry.spec)
    return "" if is_same else f" ({file.origin.spec} has changed since the trace was written)"
