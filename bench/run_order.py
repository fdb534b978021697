"""The order in which runs start, on more processors than this machine has: `python bench/run_order.py`.

README.md explains it.
"""

from __future__ import annotations

import heapq
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tables
from checker_runs import environment
from measure import ROOT, BenchmarkError, run
from rich.table import Table

from checker.cli.declaration import declared_command
from checker.cli.options import Targets
from checker.execution.engine_choice import groups_with_shared_code
from checker.execution.run_order import long_groups_first
from checker.run.plan import searched_properties
from checker.run.request import Request, runs_for

_SECONDS = 900
"""The time after which the command is ended."""


def main(targets: Targets = None) -> None:
    """Run all scenarios with an empty cache, and compute when they would end on several numbers of processors."""
    try:
        seconds = _measured(targets or [])
    except BenchmarkError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    runs = runs_for(Request(tuple(targets or [])))
    groups = groups_with_shared_code([(run.spec, searched_properties(run.spec, run.properties)) for run in runs])
    specs = [run.spec for run in runs]

    table = Table("processors", "least, s", "in order", "long first", "times known", box=None)
    in_order = [sum(seconds[runs[number].name] for number in group) for group in groups]
    for processors in (2, 4, 8, 16, 32):
        least = max(sum(in_order) / processors, max(in_order))
        long_first = [in_order[position] for position in long_groups_first(groups, specs, processors)]
        orders = (in_order, long_first, sorted(in_order, reverse=True))
        ends = (f"{_end(order, processors) / least:.3f}" for order in orders)
        table.add_row(str(processors), f"{least:.1f}", *ends)
    tables.console().print(table)


def _measured(targets: Sequence[str]) -> dict[str, float]:
    """Return the seconds of each run, by its name."""
    with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as name:
        words = [sys.executable, "-m", "checker", "run", *targets, "--json", "-"]
        done = run(words, ROOT, environment(Path(name) / "byte-code"), (0,), _SECONDS)
    results = map(json.loads, done.output.splitlines())
    return {_name(result): result["compile_seconds"] + result["seconds"] for result in results}


def _name(result: Mapping[str, Any]) -> str:
    scenario = result["scenario"]
    return result["spec"] if scenario is None else f"{result['spec']}/{scenario}"


def _end(seconds: Sequence[float], processors: int) -> float:
    """Return when the last of some groups ends that start in their order, each when a processor is free."""
    ends = [0.0] * processors
    for duration in seconds:
        heapq.heapreplace(ends, ends[0] + duration)
    return max(ends)


if __name__ == "__main__":
    declared_command(main)()
