"""Speed and memory of `simulate` and `report`: `python bench/spark.py`, explained in README.md."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from measure import ROOT, BenchmarkError

from checker.cli.declaration import declared_command, option
from checker.engines.native.walk.walker import Walker, walk_seeds
from checker.run import registry
from checker.run.expectation import checked_properties

SCENARIO = "producer/plain_producer/p1_reorder_by_retry"
KERNEL_SCENARIOS = (
    SCENARIO,
    "producer/idempotent_producer/no_faults",
    "replication/kip320/three_replicas_three_epochs",
)
WALKS = (1_000_000, 2_000_000, 4_000_000, 5_000_000)
DEPTH = 40

WALKED_SECONDS, WALKED_AT_ONCE = 3.0, 20_000
POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Process:
    """A successful command: its seconds, and the peak memory of it and its child processes, in bytes."""

    seconds: float
    peak_bytes: int
    output: str


def main(
    scenario: Annotated[str, option(help="The scenario to simulate.")] = SCENARIO,
    walks: Annotated[
        list[int] | None, option(min=1, help="Number of walks; may be repeated, for one run each.")
    ] = None,
    master: Annotated[str, option(help="The Spark master.")] = "local[2]",
    is_reported: Annotated[bool, option("--report/--no-report", help="Also report on the largest run.")] = True,
) -> None:
    """Measure the walker alone, then `simulate` for growing numbers of walks, then `report` over the most."""
    sizes = sorted(walks or WALKS)
    print(f"the walker alone, on one core, walks of up to {DEPTH} steps, all properties of the scenario checked:")
    for name in dict.fromkeys((scenario, *KERNEL_SCENARIOS)):
        print(f"  {walker_rate(name) / 1e6:6.2f} million steps a second  {name}", flush=True)
    with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as folder:
        try:
            _measure(scenario, sizes, master, Path(folder), is_reported=is_reported)
        except BenchmarkError as error:
            print(f"error: {error}", file=sys.stderr)
            raise SystemExit(1) from None


def walker_rate(name: str) -> float:
    """Return the steps per second of the walker on one core, without Spark."""
    [selection] = registry.select(name)
    scenario = selection.scenario
    if scenario is None:
        raise BenchmarkError(f"{name} is not a scenario")
    walker = Walker(scenario.spec(**scenario.constants), list(checked_properties(scenario)))
    walker.walk(walk_seeds(1, 0, 100), DEPTH)
    steps, started = 0, time.perf_counter()
    while time.perf_counter() - started < WALKED_SECONDS:
        steps += len(walker.walk(walk_seeds(1, steps, WALKED_AT_ONCE), DEPTH, sampling=6).actions)
    return steps / (time.perf_counter() - started)


def _measure(scenario: str, sizes: list[int], master: str, folder: Path, *, is_reported: bool) -> None:
    print(f"\nsimulate {scenario} --master {master}, whole command, including the start of Java and compilation:")
    started = _simulated(scenario, 1, master, folder, 0.0)
    for size in sizes:
        _simulated(scenario, size, master, folder, started)
    if is_reported:
        done = run("report", str(folder / str(sizes[-1])), "--master", master)
        print(f"\nreport over {sizes[-1]:,} walks: {done.seconds:.1f} s, peak {done.peak_bytes / 1e9:.1f} GB")


def _simulated(scenario: str, size: int, master: str, folder: Path, started: float) -> float:
    """Measure one run and return its seconds; `started` is the time of a run of one walk."""
    out = folder / str(size)
    options = ["--traces", str(size), "--depth", str(DEPTH), "--out", str(out), "--master", master]
    done = run("simulate", scenario, *options)
    written = sum(path.stat().st_size for path in out.rglob("*.parquet"))
    beyond = f"{(done.seconds - started) / size * 1e6:5.1f} s per further million walks" if started else ""
    print(
        f"  {size:>9,} walks  {done.seconds:6.1f} s  peak {done.peak_bytes / 1e9:.1f} GB  "
        f"{written / 1e6:5,.0f} MB of Parquet  {beyond}",
        flush=True,
    )
    return done.seconds


def run(*arguments: str) -> Process:
    """Run a command of the checker; raise BenchmarkError unless its status is 0 or 1 (a violation)."""
    command = [sys.executable, "-m", "checker", *arguments]
    started = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=errors)
        meter = _Memory(child.pid)
        meter.start()
        status = child.wait()
        seconds = time.perf_counter() - started
        meter.stop()
        output.seek(0)
        errors.seek(0)
        if status not in (0, 1):
            raise BenchmarkError(f"{' '.join(arguments)} failed with status {status}: {errors.read().strip()[-300:]}")
        return Process(seconds, meter.peak_bytes, output.read())


class _Memory(threading.Thread):
    """Measures the peak memory of a process and its descendants; a shared page counts once."""

    def __init__(self, root: int):
        super().__init__(daemon=True)
        self._root, self._is_over = root, threading.Event()
        self.peak_bytes = 0

    def run(self) -> None:
        """Measure until `stop`."""
        while not self._is_over.wait(POLL_SECONDS):
            self.peak_bytes = max(self.peak_bytes, sum(_held_by(process) for process in _descendants(self._root)))

    def stop(self) -> None:
        """End the measurement."""
        self._is_over.set()
        self.join()


def _descendants(root: int) -> list[int]:
    """Return a process and its descendants, on Linux."""
    found = [root]
    for process in found:
        for children in Path(f"/proc/{process}/task").glob("*/children"):
            try:
                found += [int(child) for child in children.read_text().split()]
            except OSError:
                continue
    return found


def _held_by(process: int) -> int:
    """Return the proportional set size of a process in bytes; a shared page counts once over all processes."""
    try:
        rows = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(row.split()[1]) * 1024 for row in rows if row.startswith("Pss:"))


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    declared_command(main)()
