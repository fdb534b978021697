"""The Spark engine of `run`: one session for all runs of a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from checker.errors import InputError
from checker.execution.engine_choice import Explore
from checker.language.spec import Spec
from checker.run.plan import Plan
from checker.run.result import Result


@dataclass(frozen=True, kw_only=True)
class SparkOptions:
    """The master (None: this machine), the folder for saved levels, and the number of partitions of the states."""

    master: str | None = None
    checkpoint: Path | None = None
    partitions: int | None = None

    def require_unused(self) -> None:
        """Raise InputError if an option is set: only the Spark engine has them."""
        if self != SparkOptions():
            raise InputError("--master, --checkpoint and --partitions need --engine spark")


@contextmanager
def spark_engine(options: SparkOptions, workers: int, runs: int, *, strict: bool) -> Iterator[Explore]:
    """Yield the `explore` of the Spark engine; its session ends with the block.

    `workers`: the cores of a session on this machine. `runs`: the number of runs. Raises UserError if the options do
    not fit or Spark cannot start.
    """
    if strict:
        raise InputError("--strict needs all states in memory: omit it, or use --engine native")
    if options.checkpoint is not None and runs != 1:
        raise InputError(f"--checkpoint saves one exploration, but there are {runs} runs: name one SPEC/SCENARIO")
    from spark_analysis.session import FORWARDING, master_url, opened

    master = master_url(options.master or f"local[{workers}]")
    if not master.startswith("local") and options.checkpoint is None:
        raise InputError(
            "a cluster needs a folder that this driver and all executors share: name it with --checkpoint DIR"
        )
    with opened(master, settings=FORWARDING if master.startswith("local[") else None) as spark:
        from spark_analysis.explore.spark_explorer import explore

        def explored(spec: Spec, plan: Plan) -> Result:
            return explore(spec, plan, spark, checkpoint=options.checkpoint, partitions=options.partitions)

        yield explored
