"""The command `validate`."""

from __future__ import annotations

from typing import Annotated, Literal

from checker.cli.declaration import argument, option
from checker.cli.options import JsonFile, Master, SetConstants, Target
from traces.storage import Location


def validate(
    target: Target,
    logs: Annotated[
        list[Location], argument("LOG", help="JSON Lines files, Parquet files, or folders of them; paths or URLs.")
    ],
    mapping: Annotated[
        str,
        option(
            metavar="FILE.py[:NAME]",
            help="The mapping from events to steps: a Python file or module, and the class in it if it has several.",
        ),
    ],
    settings: SetConstants = None,
    by: Annotated[
        str,
        option(metavar="FIELD", help="The field that names the trace of an event, for logs that mix several traces."),
    ] = "",
    silent: Annotated[
        int | None,
        option(
            min=0, metavar="N", help="Maximum number of steps in a row without an event (default: set by the mapping)."
        ),
    ] = None,
    candidates: Annotated[
        int, option(min=1, metavar="N", help="Maximum number of candidate states at a time.")
    ] = 10_000,
    controls: Annotated[
        int,
        option(
            min=0,
            metavar="N",
            help="Also validate N altered copies of each conforming trace; count the rejected ones.",
        ),
    ] = 0,
    seed: Annotated[int, option(min=0, metavar="N", help="The random seed of the altered copies.")] = 1,
    engine: Annotated[
        Literal["native", "python", "spark"] | None,
        option(help="The engine that computes successors (default: chosen by log size)."),
    ] = None,
    master: Master = None,
    json: JsonFile = "",
    out: Annotated[
        Location | None,
        option(metavar="DIR", help="Write a report to this folder or URL; for up to 20 logs, also explain each one."),
    ] = None,
) -> int:
    """Check whether a spec allows recorded logs.

    Exit status: 0 all logs conform, 1 a log is rejected or shows a violation that the scenario does not expect, 2 wrong
    input, 3 undecided within the limits.
    """
    from checker.execution.validate_logs import ValidationSettings, validate_logs
    from traces.validate.task import ValidationTask

    task = ValidationTask(
        target=target, mapping=mapping, candidates=candidates, silent=silent, controls=controls, seed=seed
    )
    how = ValidationSettings(logs=tuple(logs), by=by, engine=engine, master=master, json=json, out=out)
    return validate_logs(task, tuple(settings or ()), how)
