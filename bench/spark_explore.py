"""Cost of exploration on Spark beside the native engine: `python bench/spark_explore.py`, used in docs/scale.md."""

from __future__ import annotations

import ctypes
import json
import os
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

from checker.cli.declaration import declared_command, option

SPEC = "replication/kip320"
SIZES = {
    "(3,2,2,2)": ("replicas=3", "log_size=2", "max_records=2", "max_leader_epoch=2"),
    "(3,3,3,2)": ("replicas=3", "log_size=3", "max_records=3", "max_leader_epoch=2"),
}
COUNTS = ("distinct_states", "generated_states", "depth", "verdict")

_PR_SET_CHILD_SUBREAPER = 36


def main(
    cores: Annotated[int, option(min=1, help="Cores of both engines.")] = 2,
    quick: Annotated[bool, option("--quick", help="Only the smaller size.")] = False,
    killed_at: Annotated[
        int | None,
        option(min=1, metavar="LEVEL", help="Also kill a run at this level, resume it, and compare the counts."),
    ] = None,
) -> None:
    """Explore KIP-320 natively and on Spark, and print the cost of a state and of a level."""
    # The Java machine and its workers outlive the command briefly. A subreaper adopts them and can count their time.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    screen = Console(soft_wrap=True)
    measured = []
    with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as name:
        try:
            for size, settings in list(SIZES.items())[: 1 if quick else None]:
                kept = Path(name) / size
                native = _run([*_set(settings), "--engine", "native", "--workers", str(cores)])
                spark = _run([*_set(settings), *_options(cores, kept)])
                _same(native, spark)
                totals = _manifest(kept)["totals"]
                measured.append(spark)
                screen.print(_comparison(f"KIP-320 {size}", cores, native, spark, totals))
                screen.print(_levels(totals))
            if len(measured) == 2:
                screen.print(_marginal(*measured))
            if killed_at is not None:
                _kill_and_resume(cores, Path(name) / "killed", killed_at, screen)
        except BenchmarkError as error:
            print(f"error: {error}", file=sys.stderr)
            raise SystemExit(1) from None


def _set(settings: tuple[str, ...]) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


def _options(cores: int, kept: Path) -> list[str]:
    return ["--engine", "spark", "--workers", str(cores), "--checkpoint", str(kept)]


def _command(options: list[str]) -> list[str]:
    return [sys.executable, "-m", "checker", "run", SPEC, *options, "--json", "-"]


def _run(options: list[str]) -> dict[str, Any]:
    """Run the command; return its JSON object with elapsed seconds and the processor seconds of all processes."""
    print(f"measuring {' '.join(options)}", file=sys.stderr)
    started = time.perf_counter()
    with _ProcessorTime() as spent:
        done = subprocess.run(_command(options), capture_output=True, text=True, check=False, cwd=ROOT)
    seconds = time.perf_counter() - started
    if done.returncode not in (0, 1) or not done.stdout:
        raise BenchmarkError(done.stderr.strip())
    return json.loads(done.stdout) | {"process_seconds": seconds, "cpu_seconds": spent.seconds}


class _ProcessorTime:
    """The processor time of all new descendants of this process, sampled several times a second while the block runs.

    Existing descendants belong to an earlier run that has not ended yet. Spark's daemon does not wait for its Python
    workers, so their time is not part of any parent's account.
    """

    _EVERY = 0.1

    def __init__(self) -> None:
        self._spent: dict[int, float] = {}
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


def _same(native: dict[str, Any], spark: dict[str, Any]) -> None:
    for count in COUNTS:
        if native[count] != spark[count]:
            raise BenchmarkError(f"{count}: {native[count]} natively, {spark[count]} on Spark")


def _manifest(kept: Path) -> dict[str, Any]:
    last = max(kept.glob("level-*.json"))
    return dict(json.loads(last.read_text()))


def _comparison(name: str, cores: int, native: dict[str, Any], spark: dict[str, Any], totals: dict[str, Any]) -> Table:
    states = native["distinct_states"]
    title = f"{name}: {states:,} states, {native['generated_states']:,} generated, depth {native['depth']}"
    table = Table("", "native", f"Spark, local[{cores}]", title=title)
    rows = {
        "whole process": [f"{run['process_seconds']:.1f} s" for run in (native, spark)],
        "all cores, including start": [f"{run['cpu_seconds']:.1f} s" for run in (native, spark)],
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


def _marginal(small: dict[str, Any], large: dict[str, Any]) -> str:
    """Return the cost of each further state, without the start of a run."""
    states = large["distinct_states"] - small["distinct_states"]
    cpu = (large["cpu_seconds"] - small["cpu_seconds"]) / states
    return f"\neach further state: {1e6 * cpu:.1f} microseconds of one core"


def _kill_and_resume(cores: int, kept: Path, level: int, screen: Console) -> None:
    options = [*_set(SIZES["(3,2,2,2)"]), *_options(cores, kept)]
    native = _run([*_set(SIZES["(3,2,2,2)"]), "--engine", "native"])
    print(f"measuring a run killed at level {level}", file=sys.stderr)
    with subprocess.Popen(_command(options), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as driver:
        while not (kept / f"level-{level - 1:05}.json").exists():
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
    declared_command(main)()
