"""The command `mutate`."""

from __future__ import annotations

from typing import Annotated

from checker.cli.declaration import option
from checker.cli.options import JsonFile, SetConstants, Target, Workers


def mutate(
    target: Target,
    settings: SetConstants = None,
    most: Annotated[
        int | None,
        option("--max", min=1, metavar="N", help="Try at most N mutants, spread evenly over the spec."),
    ] = None,
    workers: Workers = None,
    json: JsonFile = "",
) -> int:
    """Make small changes to a spec; report which are detected.

    Each mutant has one change: a `require` or an assignment is dropped, a condition is negated, or a bound is shifted.
    A property kills a mutant if its verdict or the length of its counterexample changes. If no property kills a mutant,
    the properties do not check that part of the spec, or the change makes no difference. A property that kills no
    mutant adds nothing to the other properties.

    Without a scenario, the constants are those of the first scenario that holds.
    """
    from checker.execution.mutate_spec import mutate_spec
    from checker.run.workers import default_workers

    return mutate_spec(target, tuple(settings or ()), most=most, workers=workers or default_workers(), json_name=json)
