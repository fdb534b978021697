"""What exploration on Spark costs, beside the native engine: `python bench/spark_explore.py`, used in docs/scale.md."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from measure import BenchmarkError
from rich.console import Console
from rich.table import Table

SCENARIO = "replication/kip320/three_replicas_three_epochs"
COUNTS = ("distinct_states", "generated_states", "depth", "verdict")


def main(
    scenario: Annotated[str, typer.Argument(metavar="SPEC/SCENARIO")] = SCENARIO,
    cores: Annotated[int, typer.Option(min=1, help="Cores of both engines.")] = 2,
    killed_at: Annotated[
        int | None, typer.Option(min=1, metavar="LEVEL", help="Kill a run there too, go on, and compare the counts.")
    ] = None,
) -> None:
    """Explore a scenario natively and on Spark, and print what a state and a level cost."""
    screen = Console(soft_wrap=True)
    with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as name:
        try:
            native = _run(scenario, ["--engine", "native", "--workers", str(cores)])
            kept = Path(name) / "kept"
            spark = _run(scenario, _options(cores, kept))
            _same(native, spark)
            totals = _manifest(kept)["totals"]
            screen.print(_comparison(scenario, cores, native, spark, totals))
            screen.print()
            screen.print(_levels(totals))
            if killed_at is not None:
                _kill_and_resume(scenario, cores, Path(name) / "killed", killed_at, native, screen)
        except BenchmarkError as error:
            print(f"error: {error}", file=sys.stderr)
            raise typer.Exit(1) from None


def _options(cores: int, kept: Path) -> list[str]:
    return ["--engine", "spark", "--workers", str(cores), "--checkpoint", str(kept)]


def _command(scenario: str, options: list[str]) -> list[str]:
    return [sys.executable, "-m", "checker", "run", scenario, *options, "--json", "-"]


def _run(scenario: str, options: list[str]) -> dict[str, Any]:
    """Run the command and return its JSON object, with the seconds of the whole process."""
    print(f"measuring {scenario} {' '.join(options[:2])}", file=sys.stderr)
    started = time.perf_counter()
    done = subprocess.run(_command(scenario, options), capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        raise BenchmarkError(done.stderr.strip())
    return json.loads(done.stdout) | {"process_seconds": time.perf_counter() - started}


def _same(native: dict[str, Any], spark: dict[str, Any]) -> None:
    for count in COUNTS:
        if native[count] != spark[count]:
            raise BenchmarkError(f"{count}: {native[count]} natively, {spark[count]} on Spark")


def _manifest(kept: Path) -> dict[str, Any]:
    last = max(kept.glob("level-*.json"))
    return dict(json.loads(last.read_text()))


def _comparison(
    scenario: str, cores: int, native: dict[str, Any], spark: dict[str, Any], totals: dict[str, Any]
) -> Table:
    states = native["distinct_states"]
    table = Table(
        "", "native", f"Spark, local[{cores}]", title=f"{scenario}: {states:,} states, depth {native['depth']}"
    )
    rows = {
        "whole process": [f"{run['process_seconds']:.1f} s" for run in (native, spark)],
        "exploring": [f"{run['seconds']:.2f} s" for run in (native, spark)],
        "states a second": [f"{states / run['seconds']:,.0f}" for run in (native, spark)],
        "driver's own memory": [f"{run['memory_bytes'] / 1e6:,.0f} MB" for run in (native, spark)],
        "sent between tasks": ["", f"{sum(totals['shuffled_bytes']) / states:.1f} bytes a state"],
        "on disk": ["", f"{sum(totals['written_bytes']) / states:.1f} bytes a state"],
    }
    for name, cells in rows.items():
        table.add_row(name, *cells)
    return table


def _levels(totals: dict[str, Any]) -> Table:
    table = Table("level", "new states", "sent, bytes", "written, bytes")
    for level, row in enumerate(
        zip(totals["levels"], totals["shuffled_bytes"], totals["written_bytes"], strict=True), start=1
    ):
        table.add_row(str(level), *(f"{cell:,}" for cell in row))
    return table


def _kill_and_resume(
    scenario: str, cores: int, kept: Path, level: int, native: dict[str, Any], screen: Console
) -> None:
    print(f"measuring {scenario}, killed at level {level}", file=sys.stderr)
    with subprocess.Popen(
        _command(scenario, _options(cores, kept)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as driver:
        while not (kept / f"level-{level - 1:05}.json").exists():
            if driver.poll() is not None:
                raise BenchmarkError(f"the run was over before level {level}")
            time.sleep(0.05)
        driver.send_signal(signal.SIGKILL)
    found = len(_manifest(kept)["totals"]["levels"])
    resumed = _run(scenario, _options(cores, kept))
    _same(native, resumed)
    screen.print(
        f"\nkilled with {found} whole levels and resumed: {resumed['distinct_states']:,} states, "
        f"{resumed['generated_states']:,} generated, depth {resumed['depth']}, {resumed['process_seconds']:.1f} s"
    )


if __name__ == "__main__":
    typer.run(main)
