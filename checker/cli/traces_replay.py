"""`traces replay`: a walk of a folder of simulated walks as a trace, whole or shrunk."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from checker.cli.show import text_of
from checker.errors import InputError
from checker.output.files import open_for_writing
from checker.output.formats import Counterexample, Format, written
from checker.output.styled_lines import write
from checker.run import registry
from traces import trace_file
from traces.shrink import shrink
from traces.walks.records import WalkRun, read_run
from traces.walks.replay_walk import rebuild_walk


def replay_walk(folder: Path, walk: int, format: Format, out: Path | None, max_states: int | None) -> None:
    """Show a walk on standard output, or write it to a file; raise UserError where the input is wrong.

    `max_states`: shrink it, with a search of so many states; None: show it as it was walked.
    """
    found = walked(folder, read_run(folder), walk, max_states)
    if format == "text" and out is None:
        write(text_of(found), sys.stdout)
        return
    shown = written(found, format)
    if out is None:
        sys.stdout.write(shown)
        return
    with open_for_writing(out) as stream:
        stream.write(shown)


def walked(folder: Path, run: WalkRun, walk: int, max_states: int | None) -> Counterexample:
    """Return a walk as a counterexample, shrunk with a search of `max_states` states unless that is None."""
    spec, violation = rebuild_walk(folder, run, walk)
    command = ["python", "-m", "checker", "traces", "replay", str(folder), "--walk", str(walk)]
    notes: tuple[str, ...] = ()
    if max_states is not None:
        if violation.kind == "walk":
            raise InputError(f"walk {walk} violates no property: there is nothing to shrink it to")
        command.append("--shrink")
        shrunk = shrink(spec, violation, max_states)
        violation, notes = shrunk.violation, (shrunk.sentence,)
    entry = registry.select_spec(run.target)
    origin = trace_file.origin_of(spec, entry.name, run.scenario, entry.target, shlex.join(command))
    return Counterexample(spec, violation, origin, entry.description(run.scenario, spec.constants), notes)
