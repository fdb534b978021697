"""The command `show`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from checker.cli.declaration import argument, option, refuse_options
from checker.cli.options import OutFile, SpecFile, TraceFormat
from checker.errors import InputError
from checker.output.styled_lines import line, write
from checker.run.registered_functions import scenarios_named, story_of


def show(
    trace: Annotated[
        Path,
        argument("TRACE", help="A trace file (.json) that `run --out` wrote, or the name of a bug."),
    ],
    format: TraceFormat = "text",
    against: Annotated[
        list[str] | None,
        option(metavar="SPEC[/SCENARIO]", help="Run the same steps on this spec too (repeatable; text or html)."),
    ] = None,
    spec: SpecFile = None,
    out: OutFile = None,
) -> None:
    """Show a saved counterexample, or a known bug.

    A counterexample is replayed: the spec may have changed. Of a bug, such as R18 or KAFKA-7128, the command shows the
    story, what it needs, its remedy and its releases.

    With --against, the same steps also run on other specs, and the output shows where each spec diverges.
    """
    if not trace.exists() and (story := story_of(str(trace))):
        refuse_options(f"{trace} has no steps to replay: python -m checker run {trace} shows them")
        write(map(line, story), sys.stdout)
        return
    if not trace.exists() and trace.name == str(trace) and not trace.suffix:
        # Of a name like those of the catalogue it says which ones are near.
        scenarios_named(str(trace))
        raise InputError(f"the catalogue has no entry {trace}, and there is no trace file of this name")
    from checker.execution.show_trace import show_trace

    show_trace(trace, spec=spec, format=format, against=tuple(against or ()), out=out)
