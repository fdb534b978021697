"""The command `simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from checker.cli.declaration import argument, option, refuse_options
from checker.cli.options import Deadlock, JsonFile, Master, NoCache, Properties, SetConstants
from checker.errors import InputError
from traces.storage import Location

_EVERYWHERE = ("--traces", "--depth", "--seed", "--set", "--property", "--deadlock", "--json")
_IN_PROCESS = ("--keep-going", "--counterexamples", "--no-cache")
"""The options of all walks, and those of walks in the process of the command."""


def simulate(
    targets: Annotated[list[str], argument("SPEC[/SCENARIO]", help="A spec or scenario; without --out, also several.")],
    out: Annotated[
        Location | None,
        option(
            metavar="DIR",
            help="Write the walks to this folder or URL, for the command report. An interrupted simulation is resumed.",
        ),
    ] = None,
    walks: Annotated[
        int, option("--traces", min=1, max=10**10, metavar="N", help="Walks per configuration.")
    ] = 100_000,
    depth: Annotated[
        int | None,
        option(min=1, max=65_535, metavar="N", help="Maximum steps of a walk (default: 100; with --out, 40)."),
    ] = None,
    seed: Annotated[
        int, option(min=0, metavar="N", help="The random seed. The same seed always gives the same walks.")
    ] = 1,
    settings: SetConstants = None,
    sweep: Annotated[
        list[str] | None,
        option(
            metavar="NAME=V,V,...", help="Simulate each value of a constant (repeatable: several sweeps form a grid)."
        ),
    ] = None,
    properties: Properties = None,
    deadlock: Deadlock = False,
    weights: Annotated[
        list[str] | None,
        option("--weight", metavar="ACTION=N", help="The weight of an action; others have 1 (repeatable)."),
    ] = None,
    bias: Annotated[
        Literal["uniform", "rare"],
        option(
            help="uniform: all enabled steps are equally likely. rare: rare actions are chosen more often; "
            "a pilot run sets the weights."
        ),
    ] = "uniform",
    sampling: Annotated[
        int,
        option(
            min=0,
            max=63,
            metavar="K",
            help="Count the visited states in 1/2^K of the hash space at most. A part of the run with many states "
            "counts a smaller share by itself.",
        ),
    ] = 0,
    beyond: Annotated[
        bool,
        option(
            "--beyond",
            help="Walks go on after a violation, so that one property does not hide another. Also write a row for the "
            "first violation of each property by each walk.",
        ),
    ] = False,
    steps: Annotated[bool, option("--steps", help="Also write a row for each step of each walk.")] = False,
    report: Annotated[
        bool, option("--report", help="Then write the report, as the command report does, to DIR/report.")
    ] = False,
    against: Annotated[
        list[str] | None,
        option(
            metavar="SPEC[/SCENARIO]",
            help="With --report, make such walks of a related spec too, and show it in the report (repeatable). A spec "
            "gets the constants of these walks, a scenario has its own. Both check the properties of these walks.",
        ),
    ] = None,
    master: Master = None,
    partitions: Annotated[
        int | None, option(min=1, metavar="N", help="Tasks on Spark (default: four for each core, at most one a part).")
    ] = None,
    keep_going: Annotated[bool, option("--keep-going", help="Without --out: walk on after a violation.")] = False,
    counterexamples: Annotated[
        Path | None, option(metavar="DIR", help="Without --out: write the counterexamples to this folder.")
    ] = None,
    no_cache: NoCache = False,
    json: JsonFile = "",
) -> int:
    """Take random walks of a spec, also millions.

    The properties are checked at every step. Walks decide nothing: without a violation the result is "no violation in N
    walks". Without --out, the process of the command walks until the first violation.

    With --out, the walks are written. Processes of this machine make up to 10 million walks; more walks, --master and
    --partitions start Spark. Without a scenario, the constants are those of the spec's first scenario.

    Exit status: 0 no violation (with --out: only expected ones), 1 an unexpected violation, 2 wrong input, 3
    interrupted. The same command resumes an interrupted simulation with --out.
    """
    if out is None:
        refuse_options("it belongs to walks that are written: name a folder with --out", but=_EVERYWHERE + _IN_PROCESS)
        from checker.engines.native.llvm import code_cache
        from checker.run.request import Request
        from spark_analysis.commands.run_walks import WalkSettings, execute_walks

        if no_cache:
            code_cache.turn_off()
        request = Request(
            targets=tuple(targets),
            settings=tuple(settings or ()),
            properties=tuple(properties or ()),
            deadlock=deadlock,
            keep_going=keep_going,
        )
        return execute_walks(
            request, WalkSettings(walks=walks, depth=depth or 100, seed=seed, json=json, out=counterexamples)
        )
    if len(targets) > 1 or keep_going or counterexamples is not None or no_cache:
        raise InputError(f"--out takes one spec, and none of {', '.join(_IN_PROCESS)}")
    from spark_analysis.session import require_arrow

    require_arrow()
    from spark_analysis.commands.simulate_walks import WalkDestination, execute_simulation
    from spark_analysis.walks.walk_request import WalkRequest

    wanted = WalkRequest(
        target=targets[0],
        walks=walks,
        depth=depth or 40,
        seed=seed,
        settings=tuple(settings or ()),
        sweep=tuple(sweep or ()),
        properties=tuple(properties or ()),
        weights=tuple(weights or ()),
        bias=bias,
        sampling=sampling,
        steps=steps,
        deadlock=deadlock,
        beyond=beyond,
    )
    where = WalkDestination(
        out=out, master=master, partitions=partitions, json=json, report=report, against=tuple(against or ())
    )
    return execute_simulation(wanted, where)
