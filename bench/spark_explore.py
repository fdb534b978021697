"""Cost of exploration on Spark beside the native engine: `python bench/spark_explore.py`, used in docs/stores.md."""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Self

from measure import ROOT, BenchmarkError
from rich.console import Console
from rich.table import Table

from checker.cli.declaration import declare_command, option

SPEC = "replication/kip320"
SIZES = {
    "(3,2,2,2)": ("replicas=3", "log_size=2", "max_records=2", "max_leader_epoch=2"),
    "(3,3,3,2)": ("replicas=3", "log_size=3", "max_records=3", "max_leader_epoch=2"),
    "(3,2,2,3)": ("replicas=3", "log_size=2", "max_records=2", "max_leader_epoch=3"),
}
LARGEST = ("replicas=3", "log_size=4", "max_records=4", "max_leader_epoch=3")

EACH_LEVEL_A_JOB = """
import sys
from checker.cli.app import main
from spark_analysis.explore import jobs
jobs.CANDIDATES_BEFORE_SPARK = jobs.CANDIDATES_BEFORE_JOB = -1
sys.exit(main(sys.argv[1:]))
"""
"""A driver that processes no level itself, so that the cost of jobs can be measured."""
COUNTS = ("distinct_states", "generated_states", "depth", "verdict")

_PR_SET_CHILD_SUBREAPER = 36


def main(
    cores: Annotated[int, option(min=1, help="Cores of both engines.")] = 2,
    quick: Annotated[bool, option("--quick", help="Only the smallest size.")] = False,
    killed_at: Annotated[
        int | None,
        option(min=1, metavar="LEVEL", help="Also kill a run at this level, resume it, and compare the counts."),
    ] = None,
    states: Annotated[
        int | None,
        option(min=1, metavar="N", help="Only explore a larger space on Spark until it has this many states."),
    ] = None,
) -> None:
    """Explore KIP-320 natively and on Spark, and print the cost of a state and of a level."""
    # The Java machine and its workers outlive the command briefly. A subreaper adopts them and can count their time.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    screen = Console(soft_wrap=True)
    with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as name:
        try:
            if states is not None:
                _measure_large(cores, states, Path(name) / "large", screen)
                return
            measured = [_measure(size, cores, Path(name), screen) for size in list(SIZES)[: 1 if quick else None]]
            if len(measured) > 1:
                screen.print(_marginal(*measured[-2:]))
            if killed_at is not None:
                _kill_and_resume(cores, Path(name) / "killed", killed_at, screen)
        except BenchmarkError as error:
            print(f"error: {error}", file=sys.stderr)
            raise SystemExit(1) from None


def _measure(size: str, cores: int, folder: Path, screen: Console) -> list[dict[str, Any]]:
    """Explore one size natively, on Spark, and on Spark with a job for each level; print and return the runs."""
    options = _set(SIZES[size])
    native = _run([*options, "--engine", "native", "--workers", str(cores)])
    spark = _run([*options, *_options(cores, folder / size)])
    jobs = _run([*options, *_options(cores, folder / f"{size} jobs")], each_level_a_job=True)
    for run in (spark, jobs):
        _same(native, run)
    totals = _manifest(folder / f"{size} jobs")["totals"]
    screen.print(_comparison(f"KIP-320 {size}", cores, [native, spark, jobs], totals))
    screen.print(_levels(totals))
    return [native, spark, jobs]


def _measure_large(cores: int, states: int, kept: Path, screen: Console) -> None:
    run = _run([*_set(LARGEST), *_options(cores, kept), "--max-states", str(states)])
    totals = _manifest(kept)["totals"]
    screen.print(_comparison(f"KIP-320 until {states:,} states", cores, [run], totals))
    screen.print(_levels(totals))


def _set(settings: tuple[str, ...]) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


def _options(cores: int, kept: Path) -> list[str]:
    return ["--engine", "spark", "--workers", str(cores), "--checkpoint", str(kept)]


def _command(options: list[str], *, each_level_a_job: bool = False) -> list[str]:
    program = ["-c", EACH_LEVEL_A_JOB] if each_level_a_job else ["-m", "checker"]
    return [sys.executable, *program, "run", SPEC, *options, "--json", "-"]


def _run(options: list[str], *, each_level_a_job: bool = False) -> dict[str, Any]:
    """Run the command; return its JSON object with elapsed seconds, and the time and memory of its processes."""
    print(f"measuring {' '.join(options)}", file=sys.stderr)
    started = time.perf_counter()
    with _Observation() as seen:
        done = subprocess.run(
            _command(options, each_level_a_job=each_level_a_job),
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
    seconds = time.perf_counter() - started
    if done.returncode not in (0, 1, 3) or not done.stdout:
        raise BenchmarkError(done.stderr.strip())
    measured = {"process_seconds": seconds, "cpu_seconds": seen.seconds, "java_bytes": seen.java_bytes}
    return json.loads(done.stdout) | measured


class _Observation:
    """The processor time of all new descendants of this process, and the peak memory of the Java machine among them.

    Both are sampled several times a second while the block runs.

    Existing descendants belong to an earlier run that has not ended yet. Spark's daemon does not wait for its Python
    workers, so their time is not part of any parent's account.
    """

    _EVERY = 0.1

    def __init__(self) -> None:
        self._spent: dict[int, float] = {}
        self.java_bytes = 0
        self._earlier = {int(folder.name) for folder in Path("/proc").glob("[0-9]*")}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    @property
    def seconds(self) -> float:
        """The processor seconds of all observed processes."""
        return sum(self._spent.values())

    def _watch(self) -> None:
        while not self._done.wait(self._EVERY):
            parents, spent = {}, {}
            for stat in Path("/proc").glob("[0-9]*/stat"):
                with suppress(OSError):
                    fields = stat.read_text().rpartition(")")[2].split()
                    process = int(stat.parent.name)
                    parents[process] = int(fields[1])
                    spent[process] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            below = {os.getpid()}
            while found := {process for process, parent in parents.items() if parent in below} - below:
                below |= found
            self._spent |= {process: spent[process] for process in below - self._earlier}
            self.java_bytes = max([self.java_bytes, *map(_java_peak, below - self._earlier)])


def _java_peak(process: int) -> int:
    """Return the peak resident memory in bytes of a process that is the Java machine of Spark, else 0."""
    with suppress(OSError):
        if b"org.apache.spark" not in Path(f"/proc/{process}/cmdline").read_bytes():
            return 0
        # A process that has ended has no memory.
        if peak := re.search(r"VmHWM:\s*(\d+)", Path(f"/proc/{process}/status").read_text()):
            return 1024 * int(peak.group(1))
    return 0


def _same(native: dict[str, Any], spark: dict[str, Any]) -> None:
    for count in COUNTS:
        if native[count] != spark[count]:
            raise BenchmarkError(f"{count}: {native[count]} natively, {spark[count]} on Spark")


def _manifest(kept: Path) -> dict[str, Any]:
    return dict(json.loads((kept / "exploration.json").read_text()))


def _comparison(name: str, cores: int, runs: list[dict[str, Any]], totals: dict[str, Any]) -> Table:
    """Return a table of runs with equal counts; `totals` are those of the last one."""
    first, states = runs[0], runs[0]["distinct_states"]
    title = f"{name}: {states:,} states, {first['generated_states']:,} generated, depth {first['depth']}"
    columns = (
        ["native", f"Spark, local[{cores}]", "a job for each level"] if len(runs) > 1 else [f"Spark, local[{cores}]"]
    )
    table = Table("", *columns, title=title)
    rows = {
        "whole process": [f"{run['process_seconds']:.1f} s" for run in runs],
        "all cores, including start": [f"{run['cpu_seconds']:.1f} s" for run in runs],
        "exploring": [f"{run['seconds']:.2f} s" for run in runs],
        "states a second": [f"{states / run['seconds']:,.0f}" for run in runs],
        "driver's own memory": [f"{run['memory_bytes'] / 1e6:,.0f} MB" for run in runs],
        "Java machine": [f"{run['java_bytes'] / 1e6:,.0f} MB" if run["java_bytes"] else "" for run in runs],
    }
    for row, cells in rows.items():
        table.add_row(row, *cells)
    last = [""] * (len(runs) - 1)
    table.add_row("candidates, on disk", *last, f"{sum(totals['sent_bytes']) / states:.1f} bytes a state")
    table.add_row("runs written, with merges", *last, f"{sum(totals['written_bytes']) / states:.1f} bytes a state")
    return table


def _levels(totals: dict[str, Any]) -> Table:
    table = Table("level", "new states", "candidates, bytes", "written, bytes")
    rows = zip(totals["levels"], totals["sent_bytes"], totals["written_bytes"], strict=True)
    for level, row in enumerate(rows, start=1):
        table.add_row(str(level), *(f"{cell:,}" for cell in row))
    return table


def _marginal(small: list[dict[str, Any]], large: list[dict[str, Any]]) -> str:
    """Return the cost of each further state, without the start of a run: natively, and with a job for each level."""
    states = large[0]["distinct_states"] - small[0]["distinct_states"]
    native, _, jobs = (
        1e6 * (more["cpu_seconds"] - less["cpu_seconds"]) / states for less, more in zip(small, large, strict=True)
    )
    return (
        f"\neach further state: {native:.2f} microseconds of one core natively, {jobs:.2f} on Spark, "
        f"{jobs / native:.1f} times as much"
    )


def _kill_and_resume(cores: int, kept: Path, level: int, screen: Console) -> None:
    options = [*_set(SIZES["(3,2,2,2)"]), *_options(cores, kept)]
    native = _run([*_set(SIZES["(3,2,2,2)"]), "--engine", "native"])
    print(f"measuring a run killed at level {level}", file=sys.stderr)
    command = _command(options, each_level_a_job=True)
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as driver:
        while not (kept / "exploration.json").exists() or len(_manifest(kept)["totals"]["levels"]) < level:
            if driver.poll() is not None:
                raise BenchmarkError(f"the run ended before level {level}")
            time.sleep(0.05)
        driver.send_signal(signal.SIGKILL)
    found = len(_manifest(kept)["totals"]["levels"])
    resumed = _run(options)
    _same(native, resumed)
    screen.print(
        f"\nkilled with {found} complete levels and resumed: {resumed['distinct_states']:,} states, "
        f"{resumed['generated_states']:,} generated, depth {resumed['depth']}, {resumed['process_seconds']:.1f} s"
    )


if __name__ == "__main__":
    declare_command(main)()
