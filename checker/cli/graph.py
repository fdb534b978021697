"""The command `graph`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from checker.cli.declaration import argument, option
from checker.cli.options import Deadlock, Fair, JsonFile, MaxStates, OutFolder, Properties, SetConstants, Target


def graph(
    target: Target,
    file: Annotated[Path, argument("FILE.dot|svg", help="The file to write.")],
    settings: SetConstants = None,
    fair: Fair = None,
    properties: Properties = None,
    deadlock: Deadlock = False,
    engine: Annotated[Literal["native", "python", "both"], option(help="The engine that explores.")] = "native",
    max_states: MaxStates = None,
    keep_going: Annotated[bool, option("--keep-going", help="Report every violated property.")] = False,
    no_symmetry: Annotated[bool, option("--no-symmetry", help="Draw every state of a scenario with symmetry.")] = False,
    json: JsonFile = "",
    out: OutFolder = None,
) -> int:
    """Draw every state of a small scenario.

    The drawing has at most 300 states, and their steps. The command checks the scenario as `run` does, and has its exit
    status.
    """
    from checker.execution.run_specs import RunSettings, execute_runs
    from checker.run.request import Request

    request = Request(
        targets=(target,),
        settings=tuple(settings or ()),
        fair=tuple(fair or ()),
        properties=tuple(properties or ()),
        deadlock=deadlock,
        keep_going=keep_going,
        symmetry=False if no_symmetry else None,
    )
    how = RunSettings(engine=engine, workers=1, max_states=max_states, json=json, graph=file, out=out)
    return execute_runs(request, how)
