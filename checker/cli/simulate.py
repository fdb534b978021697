"""The command `simulate`."""

from __future__ import annotations

from typing import Annotated, Literal

from checker.cli.declaration import option
from checker.cli.options import Deadlock, JsonFile, Master, Partitions, Properties, SetConstants, Target
from traces.storage import Location


def simulate(
    target: Target,
    out: Annotated[
        Location,
        option(metavar="DIR", help="The folder or URL for the walks. An interrupted simulation is resumed."),
    ],
    walks: Annotated[
        int, option("--traces", min=1, max=10**10, metavar="N", help="Walks per configuration.")
    ] = 100_000,
    depth: Annotated[int, option(min=1, max=65_535, metavar="N", help="Maximum steps of a walk.")] = 40,
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
    partitions: Partitions = None,
    json: JsonFile = "",
) -> int:
    """Run millions of random walks of a spec.

    Processes of this machine make up to 10 million walks; more walks, --master and --partitions start Spark. The
    properties are checked at every step. Without a scenario, the constants are those of the spec's first scenario.

    Exit status: 0 only expected violations, 1 an unexpected violation, 2 wrong input, 3 interrupted. The same command
    resumes an interrupted simulation.
    """
    from spark_analysis.session import require_arrow

    require_arrow()
    from checker.execution.simulate_walks import WalkDestination, execute_simulation
    from traces.walks.walk_request import WalkRequest

    request = WalkRequest(
        target=target,
        walks=walks,
        depth=depth,
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
    return execute_simulation(request, where)
