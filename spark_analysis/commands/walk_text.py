"""Random walks of a run in this process, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from checker.output.counterexample_text import counterexample_lines
from checker.output.files import violation_to_json
from checker.output.styled_lines import BLANK, Line, line, lines_of_written_files
from checker.printable import quantity
from checker.run.request import Run
from spark_analysis.walks.local_walks import LocalWalks


def walk_lines(
    run: Run, made: LocalWalks, left_out: list[str], seconds: float, written: Iterable[object] = ()
) -> list[Line]:
    """Return what the walks found, the verdict last.

    `left_out` names the properties that walks do not check, and `written` the files with the results.
    """
    walks = quantity(made.walks, "walk")
    steps = quantity(made.steps, "step")
    if made.found:
        names = ", ".join(f"{name} in walk {each.walk}" for name, each in made.found.items())
        verdict = line((f"{run.name}: violation found: {names}", "bold red"))
    else:
        interrupted = "" if made.is_whole else " (interrupted)"
        style = "bold green" if made.is_whole else "bold yellow"
        verdict = line((f"{run.name}: no violation in {walks}{interrupted}", style))
    about = "about " if made.sampling else ""
    rate = made.steps / max(seconds, 1e-6)
    lines = [
        line((run.name, "bold")),
        line(f"  {walks} of at most {quantity(made.depth, 'step')}, seed {made.seed}: {steps}"),
        line(f"  {about}{quantity(made.distinct_states, 'distinct state')} visited; other states were not checked"),
        line(f"  {seconds:.2f} s, {rate:,.0f} steps per second"),
    ]
    if left_out:
        lines.append(line((f"  not checked by walks: {', '.join(left_out)} (liveness)", "yellow")))
    for each in made.found.values():
        lines += [BLANK, *counterexample_lines(run.spec, run.name, each.violation)]
        if each.violation.length < each.found_length:
            lines.append(
                line((f"  the walk had {quantity(each.found_length, 'state')}; this trace leaves steps out", "dim"))
            )
    return [*lines, BLANK, *lines_of_written_files(written), verdict]


def walks_to_json(run: Run, made: LocalWalks, left_out: list[str], seconds: float) -> dict[str, Any]:
    """Return the JSON object of the walks of a run."""
    return {
        "spec": run.entry.name,
        "scenario": run.scenario,
        "constants": run.spec.constants,
        "seed": made.seed,
        "depth": made.depth,
        "walks": made.walks,
        "wanted_walks": made.wanted,
        "steps": made.steps,
        "failed_walks": made.failures,
        "distinct_states": made.distinct_states,
        "distinct_states_are_estimated": made.sampling > 0,
        "seconds": round(seconds, 6),
        "not_checked": left_out,
        "violations": [
            violation_to_json(run.spec, each.violation) | {"walk": each.walk, "found_length": each.found_length}
            for each in made.found.values()
        ],
    }
