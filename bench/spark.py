"""Cost of `simulate` and `report` in process, on `local[2]` and on a cluster; explained in README.md."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from measure import ROOT, BenchmarkError
from rich.console import Console
from rich.table import Table
from standalone_cluster import standalone_cluster

from checker.cli.declaration import declare_command, option
from checker.engines.native.walk.walker import Walker, walk_seeds
from checker.run import registry
from checker.run.expectation import properties_to_check

SCENARIO = "producer/plain_producer/p1_reorder_by_retry"
KERNEL_SCENARIOS = (
    SCENARIO,
    "producer/idempotent_producer/no_faults",
    "replication/kip320/three_replicas_three_epochs",
)
SIZES = {"small": 20_000, "medium": 1_000_000, "large": 10_000_000}
DEPTH = 40

WALKED_SECONDS, WALKED_AT_ONCE = 3.0, 20_000
POLL_SECONDS = 0.2
_COLUMNS = "walks", "place", "seconds", "processor s", "peak MB", "sent MB"
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    """The cost of a successful command.

    Its seconds; the processor time of it, its children and the cluster; their peak memory in bytes; and the bytes that
    all processes of this machine sent to each other meanwhile.
    """

    seconds: float
    processor_seconds: float
    peak_bytes: int
    sent_bytes: int

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.seconds + other.seconds,
            self.processor_seconds + other.processor_seconds,
            max(self.peak_bytes, other.peak_bytes),
            self.sent_bytes + other.sent_bytes,
        )


def main(
    scenario: Annotated[str, option(help="The scenario to simulate.")] = SCENARIO,
    walks: Annotated[
        list[int] | None, option(min=1, help="Number of walks; may be repeated, for one row each.")
    ] = None,
    is_compared: Annotated[bool, option("--compare/--no-compare", help="Also run on Spark.")] = True,
) -> None:
    """Measure the walker alone, then `simulate` and `report` for three sizes, in process and on Spark."""
    sizes = sorted(walks or SIZES.values())
    print(f"the walker alone, on one core, walks of up to {DEPTH} steps, all properties of the scenario checked:")
    for name in dict.fromkeys((scenario, *KERNEL_SCENARIOS)):
        print(f"  {walker_rate(name) / 1e6:6.2f} million steps a second  {name}", flush=True)
    try:
        _compare(scenario, sizes, is_compared=is_compared)
    except (BenchmarkError, TimeoutError) as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(1) from None


def walker_rate(name: str) -> float:
    """Return the steps per second of the walker on one core, without Spark."""
    [selection] = registry.select(name)
    scenario = selection.scenario
    if scenario is None:
        raise BenchmarkError(f"{name} is not a scenario")
    walker = Walker(scenario.spec(**scenario.constants), list(properties_to_check(scenario)))
    walker.walk(walk_seeds(1, 0, 100), DEPTH)
    steps, started = 0, time.perf_counter()
    while time.perf_counter() - started < WALKED_SECONDS:
        steps += len(walker.walk(walk_seeds(1, steps, WALKED_AT_ONCE), DEPTH, sampling=6).actions)
    return steps / (time.perf_counter() - started)


def _compare(scenario: str, sizes: Sequence[int], *, is_compared: bool) -> None:
    """Measure each size in each place; print a line as soon as it is measured, and a table at the end."""
    places = ("in process", "local[2]", "cluster") if is_compared else ("in process",)
    found: dict[tuple[int, str], Cost] = {}
    with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as name:
        for place in places:
            with _place(place, Path(name)) as (master, processes):
                for size in sizes:
                    out = Path(name) / f"{places.index(place)}-{size}"
                    found[size, place] = cost = _measured(scenario, size, master, out, processes)
                    # A measurement takes minutes, and one that is cut off still has its first rows.
                    pairs = zip(_COLUMNS, _cells(size, place, cost), strict=True)
                    print(", ".join(f"{column} {cell}" for column, cell in pairs), flush=True)
    table = Table(*_COLUMNS, title="simulate and report")
    for size in sizes:
        for place in places:
            table.add_row(*_cells(size, place, found[size, place]))
    Console().print(table)
    for place in places[1:]:
        pays = [size for size in sizes if found[size, place].seconds < found[size, places[0]].seconds]
        answer = f"from {pays[0]:,} walks" if pays else "at none of these sizes"
        print(f"{place} takes less time than this process {answer}")


def _cells(size: int, place: str, cost: Cost) -> tuple[str, ...]:
    """Return the texts of a row."""
    figures = cost.seconds, cost.processor_seconds, cost.peak_bytes / 1e6, cost.sent_bytes / 1e6
    return (f"{size:,}", place, *(f"{figure:,.1f}" for figure in figures))


@contextmanager
def _place(place: str, folder: Path) -> Iterator[tuple[str | None, list[int]]]:
    """Yield the master of a place, and the processes that run beside the command."""
    if place != "cluster":
        yield (None if place == "in process" else place), []
        return
    with standalone_cluster(folder) as cluster:
        yield cluster.url, [worker.pid for worker in cluster.workers]


def _measured(scenario: str, size: int, master: str | None, out: Path, processes: Sequence[int]) -> Cost:
    """Return the cost of making walks and of the report on them."""
    where = ["--master", master] if master is not None else []
    options = ["--traces", str(size), "--depth", str(DEPTH), "--out", str(out)]
    cost = run(["simulate", scenario, *options, *where], processes)
    return cost + run(["report", str(out), *where], processes)


def run(arguments: Sequence[str], processes: Sequence[int] = ()) -> Cost:
    """Run a command of the checker; raise BenchmarkError unless its status is 0 or 1 (a violation)."""
    command = [sys.executable, "-m", "checker", *arguments]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    started, sent = time.perf_counter(), _sent_bytes()
    with tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=errors, env=environment)
        meter = _Meter([child.pid, *processes])
        meter.start()
        status = child.wait()
        seconds = time.perf_counter() - started
        meter.stop()
        errors.seek(0)
        if status not in (0, 1):
            raise BenchmarkError(f"{' '.join(arguments)} failed with status {status}: {errors.read().strip()[-300:]}")
    return Cost(seconds, meter.processor_seconds, meter.peak_bytes, _sent_bytes() - sent)


def _sent_bytes() -> int:
    """Return the bytes that the processes of this machine have sent to each other over the loopback interface."""
    rows = Path("/proc/net/dev").read_text().splitlines()
    [own] = [row.split(":")[1].split() for row in rows if row.strip().startswith("lo:")]
    return int(own[8])


class _Meter(threading.Thread):
    """Measures the peak memory and the processor time of processes and their descendants.

    A shared page counts once. The time of a process after the last look at it, at most POLL_SECONDS, is lost.
    """

    def __init__(self, roots: Sequence[int]):
        super().__init__(daemon=True)
        self._roots, self._is_over = roots, threading.Event()
        self._before = {process: _processor_seconds(process) for process in _descendants(roots)}
        self._seconds: dict[int, float] = {}
        self.peak_bytes = 0

    def run(self) -> None:
        """Measure until `stop`."""
        while not self._is_over.wait(POLL_SECONDS):
            processes = _descendants(self._roots)
            self._seconds |= {process: _processor_seconds(process) for process in processes}
            self.peak_bytes = max(self.peak_bytes, sum(map(_held_by, processes)))

    @property
    def processor_seconds(self) -> float:
        """The processor time since the start."""
        return sum(max(0.0, seconds - self._before.get(process, 0.0)) for process, seconds in self._seconds.items())

    def stop(self) -> None:
        """End the measurement."""
        self._is_over.set()
        self.join()


def _descendants(roots: Sequence[int]) -> list[int]:
    """Return some processes and their descendants, on Linux."""
    found = list(roots)
    for process in found:
        for children in Path(f"/proc/{process}/task").glob("*/children"):
            try:
                found += [int(child) for child in children.read_text().split()]
            except OSError:
                continue
    return found


def _processor_seconds(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    # utime and stime.
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _held_by(process: int) -> int:
    """Return the proportional set size of a process in bytes; a shared page counts once over all processes."""
    try:
        rows = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(row.split()[1]) * 1024 for row in rows if row.startswith("Pss:"))


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    declare_command(main)()
