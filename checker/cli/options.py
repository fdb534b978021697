"""Options and arguments that several commands share, each declared once.

A command uses an alias as the type of its parameter. A default of the parameter that Typer cannot show, because it is
None, is part of the help text as `(default: ...)`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from checker.output.formats import FORMATS

Targets = Annotated[
    list[str] | None,
    typer.Argument(metavar="SPEC[/SCENARIO]", help="Specs, scenarios, families or files (default: all)."),
]
Target = Annotated[str, typer.Argument(metavar="SPEC[/SCENARIO]", help="A spec or one of its scenarios.")]
WalkFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `simulate --out` wrote.")]

SpecFile = Annotated[
    Path | None,
    typer.Option(
        "--spec",
        metavar="FILE",
        help="Load the spec from this Python file. A file that only the data names is not loaded.",
    ),
]
SetConstants = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set a constant (repeatable).")
]
Fair = Annotated[
    list[str] | None,
    typer.Option(
        "--fair",
        metavar="NAME=weak|strong|none",
        help="Set the fairness of an action, of a union, or of fair_next: all actions (repeatable).",
    ),
]
Properties = Annotated[
    list[str] | None, typer.Option("--property", metavar="NAME", help="Check only this property (repeatable).")
]
Deadlock = Annotated[bool, typer.Option("--deadlock", help="Report a state without successors as a violation.")]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, metavar="N", help="Parallel workers (default: one per CPU core).")
]
Master = Annotated[
    str | None, typer.Option("--master", metavar="URL", help="Spark master (default: all cores of this machine).")
]
Partitions = Annotated[
    int | None, typer.Option("--partitions", min=1, metavar="N", help="Spark partitions (default: by number of cores).")
]
MaxStates = Annotated[
    int | None, typer.Option("--max-states", min=1, metavar="N", help="Stop an exploration at this many states.")
]
SearchStates = Annotated[
    int,
    typer.Option(
        "--max-states", min=0, metavar="N", help="Maximum states of the search for a shortest trace; 0: no search."
    ),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Do not use the cache of machine code.")]
JsonFile = Annotated[
    str, typer.Option("--json", metavar="FILE|-", help="Write the results as JSON to a file or standard output (-).")
]
OutFolder = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Write the counterexamples to this folder.")
]
OutFile = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Write to this file (default: standard output).")
]

if TYPE_CHECKING:
    FormatName = str
else:
    FormatName = Literal[tuple(FORMATS)]
"""The names of the registered counterexample formats, which Typer offers as choices."""

TraceFormat = Annotated[FormatName, typer.Option("--format", help="The format of the output.")]
