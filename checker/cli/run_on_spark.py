"""`run --engine spark`: the session that all runs of a command share, and what its options need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from checker.errors import InputError
from checker.language.spec import Spec
from checker.run.plan import Plan
from checker.run.result import Result

Explore = Callable[[Spec, Plan], Result]


@dataclass(frozen=True)
class SparkOptions:
    """Where Spark runs (None: on this machine), where whole levels are kept, how many parts the states have."""

    master: str | None = None
    checkpoint: Path | None = None
    partitions: int | None = None

    def require_unused(self) -> None:
        """Raise UserError where an option is set: they are of the Spark engine alone."""
        if self != SparkOptions():
            raise InputError("--master, --checkpoint and --partitions go with --engine spark")


@contextmanager
def spark_engine(options: SparkOptions, workers: int, runs: int, *, strict: bool) -> Iterator[Explore]:
    """Yield the `explore` of the Spark engine; its session ends with the block. Raises UserError where it cannot start.

    `workers`: cores of a session on this machine. `runs`: how many runs there will be.
    """
    if strict:
        raise InputError("--strict looks at all states at once: leave it out, or use --engine native")
    if options.checkpoint is not None and runs != 1:
        raise InputError(f"--checkpoint keeps one exploration, and these are {runs} runs: name one SPEC/SCENARIO")
    from spark_analysis.session import FORWARDING, master_url, opened

    master = master_url(options.master or f"local[{workers}]")
    if not master.startswith("local") and options.checkpoint is None:
        raise InputError(
            "the executors of a cluster need a folder that all of them see, as this driver does: name it with "
            "--checkpoint DIR"
        )
    with opened(master, settings=FORWARDING if master.startswith("local[") else None) as spark:
        from spark_analysis.explore.spark_explorer import explore

        def explored(spec: Spec, plan: Plan) -> Result:
            return explore(spec, plan, spark, checkpoint=options.checkpoint, partitions=options.partitions)

        yield explored
