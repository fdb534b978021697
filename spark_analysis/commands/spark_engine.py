"""The Spark engine of `run`: one session for all runs of a command. `checker` finds it by an entry point."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from checker.errors import InputError
from checker.execution.checkpoint_options import CheckpointOptions
from checker.execution.engine_choice import Explore
from checker.execution.spark_options import SparkOptions
from checker.language.spec import Spec
from checker.run.plan import Plan
from checker.run.result import Result
from spark_analysis.explore.checkpoint import has_checkpoint


@contextmanager
def spark_engine(
    options: SparkOptions, checkpoint: CheckpointOptions | None, workers: int, *, strict: bool
) -> Iterator[Explore]:
    """Yield the `explore` of the Spark engine; its session ends with the block.

    `checkpoint`: the folder for saved levels, or None. `workers`: the cores of a session on this machine. Raises
    UserError if the options do not fit or Spark cannot start.
    """
    if strict:
        raise InputError("--strict needs all states in memory: omit it, or use --engine native")
    if checkpoint is not None and checkpoint.must_resume and not has_checkpoint(checkpoint.folder):
        raise InputError(
            f"{checkpoint.folder} holds no checkpoint of --engine spark: start the run with --checkpoint DIR"
        )
    from spark_analysis.session import EXPLORATION, LazySession, master_url

    master = master_url(options.master or f"local[{workers}]")
    if not master.startswith("local") and checkpoint is None:
        raise InputError(
            "a cluster needs a folder that this driver and all executors share: name it with --checkpoint DIR"
        )
    with LazySession(master, settings=EXPLORATION if master.startswith("local[") else None) as session:
        from spark_analysis.explore.spark_explorer import explore

        def explored(spec: Spec, plan: Plan) -> Result:
            if plan.symmetry:
                raise InputError("--engine spark explores without symmetry: use --no-symmetry, or --engine native")
            folder = None if checkpoint is None else checkpoint.folder
            return explore(spec, plan, session, checkpoint=folder, partitions=options.partitions or 1)

        yield explored
