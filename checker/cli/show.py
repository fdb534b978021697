"""The command `show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from checker.cli.declaration import argument, option
from checker.cli.options import OutFile, SpecFile, TraceFormat


def show(
    trace: Annotated[Path, argument("TRACE", help="A trace file (.json) that `run --out` wrote.")],
    format: TraceFormat = "text",
    against: Annotated[
        list[str] | None,
        option(metavar="SPEC[/SCENARIO]", help="Run the same steps on this spec too (repeatable; text or html)."),
    ] = None,
    spec: SpecFile = None,
    out: OutFile = None,
) -> None:
    """Replay a saved counterexample and show it.

    With --against, the same steps also run on other specs, and the output shows where each spec diverges.
    """
    from checker.execution.show_trace import show_trace

    show_trace(trace, spec=spec, format=format, against=tuple(against or ()), out=out)
