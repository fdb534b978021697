"""Cost of checkpoints, and of a kill and a resumption: `python bench/checkpoint.py`, used in docs/stores.md."""

from __future__ import annotations

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from measure import ROOT, BenchmarkError
from rich.console import Console
from rich.table import Table

from checker.cli.declaration import declare_command, option

SPEC = "replication/kip320"
SIZES = {
    "(3,2,2,2)": ("replicas=3", "log_size=2", "max_records=2", "max_leader_epoch=2"),
    "(3,3,3,2)": ("replicas=3", "log_size=3", "max_records=3", "max_leader_epoch=2"),
    "(3,4,4,2)": ("replicas=3", "log_size=4", "max_records=4", "max_leader_epoch=2"),
    "(3,3,3,3)": ("replicas=3", "log_size=3", "max_records=3", "max_leader_epoch=3"),
}
COUNTS = ("distinct_states", "generated_states", "depth", "verdict", "violations", "coverage")
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Measured:
    """A finished run: its JSON object, elapsed seconds, and processor seconds of all threads."""

    result: dict[str, Any]
    seconds: float
    processor_seconds: float


def main(
    size: Annotated[str, option(metavar="SIZE", help=f"One of {', '.join(SIZES)}.")] = "(3,4,4,2)",
    repeat: Annotated[int, option(min=1, help="Runs of each kind.")] = 3,
    every: Annotated[list[str] | None, option(metavar="TIME", help="Intervals to compare (10s and 1s).")] = None,
    workers: Annotated[int, option(min=1, help="Workers of every run.")] = 2,
) -> None:
    """Explore KIP-320 with and without checkpoints, in turns; then kill a run half-way, resume it, and compare."""
    if size not in SIZES:
        raise SystemExit(f"error: the size is one of {', '.join(SIZES)}")
    words = [*(word for setting in SIZES[size] for word in ("--set", setting)), "--workers", str(workers)]
    intervals = [None, *(every or ["10s", "1s"])]
    with tempfile.TemporaryDirectory(prefix="tidemark-bench-", dir=".") as name:
        kept = Path(name).resolve() / "kept"
        try:
            found: dict[str | None, list[Measured]] = {interval: [] for interval in intervals}
            written: dict[str | None, tuple[int, int]] = {None: (0, 0)}
            for _ in range(repeat):
                for interval in intervals:
                    shutil.rmtree(kept, ignore_errors=True)
                    found[interval].append(_run([*words, *_options(kept, interval)]))
                    written[interval] = _size(kept)
            for runs in found.values():
                _same(runs[-1].result, found[None][0].result)
            screen = Console(soft_wrap=True)
            screen.print(_table(f"KIP-320 {size}, {workers} workers", found, written))
            _kill_and_resume(words, kept, found[None], screen)
        except BenchmarkError as error:
            raise SystemExit(f"error: {error}") from None


def _options(kept: Path, interval: str | None) -> list[str]:
    return [] if interval is None else ["--checkpoint", str(kept), "--every", interval]


def _command(words: list[str]) -> list[str]:
    return [sys.executable, "-m", "checker", "run", SPEC, *words, "--json", "-"]


def _run(words: list[str]) -> Measured:
    print(f"measuring {' '.join(words)}", file=sys.stderr)
    started = time.perf_counter()
    with subprocess.Popen(_command(words), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT) as process:
        assert process.stdout is not None
        shown = process.stdout.read()
        # Waited for here instead of by Popen: only this call returns the use of the child alone.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1) or not shown:
        raise BenchmarkError(f"the command ended with status {process.returncode}: {' '.join(words)}")
    return Measured(json.loads(shown), time.perf_counter() - started, usage.ru_utime + usage.ru_stime)


def _size(kept: Path) -> tuple[int, int]:
    """Return the number of checkpoints in a folder, and their size in bytes."""
    parts = list(kept.glob("part-*.bin"))
    return len(parts), sum(path.stat().st_size for path in parts)


def _same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    for count in COUNTS:
        if found[count] != expected[count]:
            raise BenchmarkError(f"{count} differs: {found[count]} and {expected[count]}")


def _table(title: str, found: dict[str | None, list[Measured]], written: dict[str | None, tuple[int, int]]) -> Table:
    table = Table(title=title)
    for column in ("every", "exploring s", "processor s", "states/s of a core", "checkpoints", "MB on disk"):
        table.add_column(column, justify="right")
    for interval, runs in found.items():
        states = runs[0].result["distinct_states"]
        processor = statistics.median(run.processor_seconds for run in runs)
        count, size = written[interval]
        table.add_row(
            interval or "none",
            f"{statistics.median(run.result['seconds'] for run in runs):.2f}",
            f"{processor:.2f}",
            f"{states / processor:,.0f}",
            str(count),
            f"{size / 1e6:,.0f}",
        )
    return table


def _kill_and_resume(words: list[str], kept: Path, uninterrupted: list[Measured], screen: Console) -> None:
    """Kill a run after half of the time of the first, resume it, and compare the results."""
    shutil.rmtree(kept, ignore_errors=True)
    exploring = statistics.median(run.result["seconds"] for run in uninterrupted)
    # Ten intervals in the whole run, and the kill in the middle of it.
    options = ["--every", f"{exploring / 10:.2f}s"]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(_command([*words, "--checkpoint", str(kept), *options]), cwd=ROOT, **silent) as process:
        while process.poll() is None and not (kept / MANIFEST).exists():
            time.sleep(0.01)
        time.sleep(exploring / 2)
        process.send_signal(signal.SIGKILL)
    if process.returncode != -signal.SIGKILL:
        raise BenchmarkError("the run ended before it was killed: choose a larger size")
    states = json.loads((kept / MANIFEST).read_text())["content"]["progress"]["distinct"]
    resumed = _run([*words, "--resume", str(kept)])
    _same(resumed.result, uninterrupted[0].result)
    screen.print(
        f"killed with SIGKILL; resumed at {states:,} states; the same result after {resumed.seconds:.1f} s more "
        f"({resumed.processor_seconds:.1f} s of processor time; an uninterrupted run takes "
        f"{statistics.median(run.processor_seconds for run in uninterrupted):.1f} s)"
    )


if __name__ == "__main__":
    declare_command(main)()
