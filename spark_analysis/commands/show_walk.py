"""Random walks as traces, whole or shortened."""

from __future__ import annotations

import shlex
from pathlib import Path

from checker.errors import InputError
from checker.execution.show_trace import show_counterexample
from checker.output.formats import Counterexample
from checker.output.output_files import check_outputs
from checker.printable import quantity
from checker.run import registry
from spark_analysis.walks.records import WalkRun, run_with_known_target
from spark_analysis.walks.replay_walk import rebuild_walk
from spark_analysis.walks.writing import check_walk_outputs
from traces import trace_file
from traces.shrink import shrink
from traces.storage import Location


def show_walk(
    folder: Location,
    walk: int,
    *,
    spec: Path | None,
    property: str | None,
    format: str,
    out: Path | None,
    max_states: int | None,
) -> None:
    """Show a walk on standard output, or write it to a file; raise UserError if the input is wrong.

    `spec` is the file of the spec, if that is not in the library. `property`: show the walk up to the violation of this
    property; None: up to the first violation. `max_states`: remove steps, then search for a shortest trace in this many
    states, by any actions; 0: only remove steps; None: show the walk as it is.
    """
    check_outputs({"--out": out}, [spec] if spec is not None else [])
    check_walk_outputs({"--out": out}, folder)
    show_counterexample(walked(folder, run_with_known_target(folder, spec), walk, property, max_states), format, out)


def walked(folder: Location, run: WalkRun, walk: int, name: str | None, max_states: int | None) -> Counterexample:
    """Return a walk as a counterexample, shortened unless `max_states` is None (see `show_walk`).

    Notes say which other properties the walk violates (a walk with --beyond goes on after its first violation).
    """
    replayed = rebuild_walk(folder, run, walk, name)
    spec, violation = replayed.spec, replayed.violation
    command = ["python", "-m", "checker", "traces", "replay", str(folder), "--walk", str(walk)]
    command += registry.spec_words(run.target)
    command += ["--property", name] if name is not None else []
    notes = tuple(_note(other, steps) for other, steps in sorted(replayed.others.items(), key=lambda item: item[1]))
    if max_states is not None:
        if violation.kind == "walk":
            raise InputError(f"walk {walk} violates no property: it cannot be shrunk")
        command.append("--shortest" if max_states else "--shrink")
        shrunk = shrink(spec, violation, max_states)
        violation, notes = shrunk.violation, (*notes, shrunk.sentence)
    entry = registry.select_spec(run.target)
    origin = trace_file.origin_of(spec, entry.name, run.scenario, entry.target, shlex.join(command))
    return Counterexample(spec, violation, origin, entry.description(run.scenario, spec.constants), notes)


def _note(name: str, steps: int) -> str:
    return f"The walk violates {name} too, after {quantity(steps, 'step')}: --property {name} shows it."
