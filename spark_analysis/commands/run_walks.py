"""Execution of `simulate` without a folder: random walks in this process."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

from checker.language.liveness import liveness_names
from checker.output import styled_lines
from checker.output.files import CounterexampleFolder, JsonLines
from checker.output.output_files import STANDARD_OUTPUT
from checker.run.interrupts import interruptible
from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED, Request, runs_for
from spark_analysis.commands.walk_progress import WalkProgress
from spark_analysis.commands.walk_text import walk_lines, walks_to_json
from spark_analysis.walks.local_walks import walk_locally


@dataclass(frozen=True, kw_only=True)
class WalkSettings:
    """The number, the depth and the seed of the walks of each run, and where their results are written."""

    walks: int
    depth: int
    seed: int
    json: str = ""
    out: Path | None = None


def execute_walks(request: Request, settings: WalkSettings) -> int:
    """Walk the runs of a request; return 1 if a walk violates a property, 3 if the walks were interrupted, else 0.

    Raises UserError for wrong input.
    """
    folder, is_violated, is_whole = CounterexampleFolder(settings.out), False, True
    with JsonLines(settings.json) as json_lines, interruptible() as cancelled:
        for run in runs_for(request):
            left_out = liveness_names(run.spec, run.properties)
            started = time.perf_counter()
            with WalkProgress(run.name, settings.walks, 0, sys.stderr, "compiling") as display:
                made = walk_locally(
                    run.spec,
                    [name for name in run.properties if name not in left_out],
                    walks=settings.walks,
                    depth=settings.depth,
                    seed=settings.seed,
                    keep_going=run.keep_going,
                    cancelled=cancelled,
                    on_progress=display.update,
                )
            seconds = time.perf_counter() - started
            json_lines.write(walks_to_json(run, made, left_out, seconds))
            folder.write(run, [each.violation for each in made.found.values()])
            if settings.json != STANDARD_OUTPUT:
                written = (settings.out if made.found else None, settings.json)
                styled_lines.write(walk_lines(run, made, left_out, seconds, written), sys.stdout)
            is_violated |= bool(made.found)
            is_whole &= made.is_whole or bool(made.found)
            if cancelled.is_set():
                break
    folder.close()
    if is_violated:
        return EXIT_VIOLATED
    return EXIT_OK if is_whole else EXIT_STOPPED
