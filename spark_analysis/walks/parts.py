"""Generation of one part of a run of walks, in any process. A part depends on the run and its number alone."""

from __future__ import annotations

from checker.engines.native.walk.walker import Walker, walk_seeds
from checker.errors import InputError
from checker.run import registry
from spark_analysis.walks.records import (
    STATES,
    STEPS,
    VIOLATIONS,
    WALKS,
    WalkConfiguration,
    WalkRun,
    part_kinds,
    part_path,
)
from spark_analysis.walks.state_tallies import state_table
from spark_analysis.walks.walk_tables import step_table, violation_table, walk_table
from spark_analysis.walks.writing import write_part
from traces.storage import Location

_walkers: dict[tuple[str, str, str], Walker] = {}
"""The compiled specs of this process, which generates many parts of a few configurations."""

_MOST_WALKERS = 8


def write_walks_of_part(run: WalkRun, folder: Location, number: int) -> None:
    """Generate the walks of a part and write them, unless the part exists.

    Raises InputError if the spec is not the one that the run started with.
    """
    files = {kind: part_path(folder, kind, number) for kind in part_kinds(run)}
    if all(file.exists() for file in files.values()):
        return
    configuration, first, count = run.span(number)
    walker = walker_of(run, configuration)
    walks = walker.walk(
        walk_seeds(run.seed, first, count),
        run.depth,
        weights=walker.weights_of({action.name: action.weight for action in configuration.actions}),
        sampling=run.sampling,
        steps=run.steps,
        beyond=run.beyond,
    )
    # The file of walks is written last: only with it does the part count as written.
    if run.steps:
        write_part(files[STEPS], step_table(configuration, first, walks))
    if run.beyond:
        write_part(files[VIOLATIONS], violation_table(run, configuration, first, walker, walks))
    write_part(files[STATES], state_table(configuration, first, walks, run.sampling))
    write_part(files[WALKS], walk_table(run, configuration, first, walker, walks))


def walker_of(run: WalkRun, configuration: WalkConfiguration) -> Walker:
    """Return the compiled spec of a configuration; the last few are cached in this process."""
    key = (run.target, configuration.constants_json, configuration.spec_digest)
    if key not in _walkers:
        # A dict keeps the order of insertion, so this removes the oldest one.
        if len(_walkers) >= _MOST_WALKERS:
            del _walkers[next(iter(_walkers))]
        spec = registry.select_spec(run.target).spec(**configuration.constants)
        _walkers[key] = Walker(spec, list(run.properties))
    walker = _walkers[key]
    # Also for a cached walker: on a cluster, this process may have other specs installed than the driver.
    if walker.digest != configuration.spec_digest:
        raise InputError(f"{run.spec} is not the version that the run started with: use the same specs everywhere")
    return walker
