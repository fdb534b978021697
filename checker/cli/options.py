"""Options and arguments that several commands share, each declared once.

A command uses an alias as the type of its parameter. A default of the parameter that Click cannot show, because it is
None, is part of the help text as `(default: ...)`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from checker.cli.declaration import argument, option
from checker.output.formats import FORMATS
from traces.storage import Location

Targets = Annotated[
    list[str] | None,
    argument("SPEC[/SCENARIO]", help="Specs, scenarios, families, files, folders, or bugs (I7). Default: the library."),
]
Target = Annotated[str, argument("SPEC[/SCENARIO]", help="A spec or one of its scenarios.")]
WalkFolder = Annotated[Location, argument("DIR", help="A folder or URL that `simulate --out` wrote to.")]

SpecFile = Annotated[
    Path | None,
    option(
        "--spec",
        metavar="FILE",
        help="Load the spec from this Python file or package. One that only the data names is not loaded.",
    ),
]
SetConstants = Annotated[list[str] | None, option("--set", metavar="NAME=VALUE", help="Set a constant (repeatable).")]
Fair = Annotated[
    list[str] | None,
    option(
        "--fair",
        metavar="NAME=weak|strong|none",
        help="Set the fairness of an action, of a union, or of fair_next: all actions (repeatable).",
    ),
]
Properties = Annotated[
    list[str] | None, option("--property", metavar="NAME", help="Check only this property (repeatable).")
]
Deadlock = Annotated[bool, option("--deadlock", help="Report a state without successors as a violation.")]
Workers = Annotated[
    int | None, option("--workers", min=1, max=1024, metavar="N", help="Parallel workers (default: one per CPU core).")
]
Master = Annotated[
    str | None, option("--master", metavar="URL", help="Spark master (default: all cores of this machine).")
]
Partitions = Annotated[
    int | None,
    option("--partitions", min=1, metavar="N", help="Spark partitions at first (default: by cores and levels)."),
]
MaxStates = Annotated[
    int | None, option("--max-states", min=1, metavar="N", help="Stop an exploration at this many states.")
]
SearchStates = Annotated[
    int,
    option("--max-states", min=0, metavar="N", help="Maximum states of the search for a shortest trace; 0: no search."),
]
NoCache = Annotated[bool, option("--no-cache", help="Do not use the cache of machine code.")]
JsonFile = Annotated[
    str, option("--json", metavar="FILE|-", help="Write the results as JSON to a file or standard output (-).")
]
OutFolder = Annotated[Path | None, option("--out", metavar="DIR", help="Write the counterexamples to this folder.")]
OutFile = Annotated[Path | None, option("--out", metavar="FILE", help="Write to this file (default: standard output).")]

if TYPE_CHECKING:
    FormatName = str
else:
    FormatName = Literal[tuple(FORMATS)]
"""The names of the registered counterexample formats, which are the choices."""

TraceFormat = Annotated[FormatName, option("--format", help="The format of the output.")]
