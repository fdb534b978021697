"""The command `traces replay`."""

from __future__ import annotations

from typing import Annotated

from checker.cli.declaration import option
from checker.cli.options import OutFile, SearchStates, SpecFile, TraceFormat, WalkFolder
from checker.errors import InputError


def replay(
    folder: WalkFolder,
    walk: Annotated[int, option(min=0, metavar="N", help="The number of the walk.")],
    shrink: Annotated[
        bool, option("--shrink", help="Remove steps from the walk while it violates the same property.")
    ] = False,
    shortest: Annotated[
        bool,
        option("--shortest", help="Show a shortest trace that violates the property, by any actions."),
    ] = False,
    property: Annotated[
        str | None,
        option(metavar="NAME", help="Show the violation of this property (default: the first violation of the walk)."),
    ] = None,
    max_states: SearchStates = 5_000_000,
    format: TraceFormat = "text",
    spec: SpecFile = None,
    out: OutFile = None,
) -> None:
    """Replay one random walk and show it as a trace."""
    from spark_analysis.session import require_pyspark

    require_pyspark()
    from spark_analysis.commands.show_walk import show_walk

    if shrink and shortest:
        raise InputError("--shrink shortens this walk and --shortest may show another one: choose one of them")
    states = max_states if shortest else 0 if shrink else None
    show_walk(folder, walk, spec=spec, property=property, format=format, out=out, max_states=states)
