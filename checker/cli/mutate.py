"""The command `mutate`."""

from __future__ import annotations

from typing import Annotated

import typer

from checker.cli.options import JsonFile, SetConstants, Target, Workers


def mutate(
    target: Target,
    settings: SetConstants = None,
    most: Annotated[
        int | None, typer.Option("--max", min=1, metavar="N", help="Try only N mutants, spread over the spec.")
    ] = None,
    workers: Workers = None,
    json: JsonFile = "",
) -> None:
    """Change a spec in small ways and see which properties notice.

    Each mutant has one change: it drops a requirement or an assignment, negates a condition, or shifts a bound. If no
    property kills a mutant, the properties do not check that part of the spec, or the change makes no difference. If a
    property kills no mutant, it adds nothing to the other properties.

    Without a scenario, the first one that holds gives the constants.
    """
    from checker.execution.mutate_spec import mutate_spec
    from checker.run.request import default_workers

    raise typer.Exit(
        mutate_spec(target, tuple(settings or ()), most=most, workers=workers or default_workers(), json_name=json)
    )
