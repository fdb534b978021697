"""Benchmark of liveness: `python bench/liveness.py`. README.md explains the figures."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import tables
from checker_runs import environment
from measure import ROOT, BenchmarkError, run
from rich.table import Table

from checker.cli.declaration import declare_command, option

SPEC = ROOT / "bench" / "kip320_liveness.py"
SIZES, LARGE, QUICK = ("small", "medium"), ("large",), ("tiny",)


def main(
    quick: Annotated[bool, option("--quick", help="Measure a tiny state space once, as a trial.")] = False,
    large: Annotated[bool, option("--large", help="Measure only a space of more than 10 million states.")] = False,
    repeat: Annotated[int, option(min=1, help="Number of measurements of each run; the median is printed.")] = 3,
    workers: Annotated[int, option(min=1, help="Number of threads.")] = 1,
) -> None:
    """Measure the decision of a leads-to property of KIP-320 under weak fairness of every action."""
    sizes = QUICK if quick else LARGE if large else SIZES
    table = Table("size", "states", "region", "steps", "exploration", "liveness", "ratio", "peak memory", box=None)
    with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as name:
        try:
            for size in sizes:
                table.add_row(size, *_cells(_measured(size, 1 if quick else repeat, workers, Path(name))))
        except BenchmarkError as error:
            print(f"error: {error}", file=sys.stderr)
            raise SystemExit(1) from None
    tables.console().print(table)


def _measured(size: str, repeat: int, workers: int, folder: Path) -> list[tuple[dict[str, Any], int]]:
    """Return the JSON result and the peak memory in bytes of each run of a size."""
    target = f"{SPEC}/kip320_liveness/{size}"
    command = [sys.executable, "-m", "checker", "run", target, "--json", "-", "--workers", str(workers)]
    found = []
    for _ in range(repeat):
        process = run(command, ROOT, environment(folder))
        found.append((json.loads(process.output), process.peak_bytes))
    return found


def _cells(runs: list[tuple[dict[str, Any], int]]) -> list[str]:
    result = runs[0][0]
    (decided,) = result["liveness"]
    exploring = statistics.median(found["seconds"] for found, _ in runs)
    deciding = statistics.median(found["liveness"][0]["seconds"] for found, _ in runs)
    return [
        f"{result['distinct_states']:,}",
        f"{decided['states']:,}",
        f"{decided['edges']:,}",
        f"{exploring:.2f} s",
        f"{deciding:.2f} s",
        f"{deciding / exploring:.1f}",
        f"{max(peak for _, peak in runs) / 1e6:,.0f} MB",
    ]


if __name__ == "__main__":
    declare_command(main)()
