"""Benchmark of the compact store, with a kill and a resume on the way: `python bench/compact.py`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tables
from checker_runs import PUBLISHED_PROPERTIES, Setting, environment
from measure import ROOT, BenchmarkError, Constants
from rich.console import Console
from rich.table import Table

from checker.cli.declaration import declare_command, option

SPEC = "replication/kip320"
TRIAL, SMALL, BILLION = Constants(3, 2, 2, 3), Constants(3, 2, 2, 4), Constants(3, 2, 2, 5)

STATES = {TRIAL: 9_985_570, SMALL: 113_065_123, BILLION: 1_150_588_699}
"""The states that earlier runs found, of both stores for the smallest number."""

EVERY = {TRIAL: "2s", SMALL: "5s", BILLION: "2m"}
"""The time between two checkpoints: short enough that the run has one when it is killed."""

_DISTINCT = re.compile(r"([\d,]+) distinct")
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Part:
    """A process of a run: seconds, peak resident bytes, and its JSON output; None if it was killed."""

    seconds: float
    peak_bytes: int
    result: dict[str, Any] | None


def main(
    quick: Annotated[bool, option(help="Explore 10 million states, as a trial.")] = False,
    billion: Annotated[bool, option(help="Explore more than 10^9 states instead of 10^8.")] = False,
    kill_at: Annotated[
        int, option(min=0, metavar="N", help="Kill the run at this many states (default: half of them).")
    ] = 0,
    every: Annotated[str, option(help="The time between two checkpoints.")] = "",
    only_killed: Annotated[bool, option(help="Leave out the run without a kill.")] = False,
) -> None:
    """Explore KIP-320 with the compact store: in one run, and in a run that is killed and resumed."""
    constants = TRIAL if quick else BILLION if billion else SMALL
    states = STATES.get(constants)
    killed_at = int(kill_at) or (states or 10**9) // 2
    screen = tables.console()
    with tempfile.TemporaryDirectory(prefix="tidemark-bench-", dir=os.environ.get("TMPDIR", "/var/tmp")) as name:
        try:
            _measure(constants, states, killed_at, every or EVERY[constants], Path(name), screen, only_killed)
        except BenchmarkError as error:
            print(f"error: {error}", file=sys.stderr)
            raise SystemExit(1) from None


def _measure(
    constants: Constants,
    states: int | None,
    killed_at: int,
    every: str,
    folder: Path,
    screen: Console,
    only_killed: bool,
) -> None:
    runs: dict[str, list[Part]] = {}
    if not only_killed:
        runs["one run"] = [_run(constants, folder)]
    checkpoint = ("--checkpoint", str(folder / "states"), "--every", every)
    killed = _run(constants, folder, checkpoint, killed_at)
    resumed = _run(constants, folder, ("--resume", str(folder / "states"), "--every", every))
    runs["killed and resumed"] = [killed, resumed]
    found = {label: parts[-1].result for label, parts in runs.items()}
    for label, result in found.items():
        if result is None or result["ended"] != "complete":
            raise BenchmarkError(f"{label}: the run is not complete")
        counts = [result["distinct_states"], result["generated_states"], result["depth"]]
        others = [
            [other[name] for name in ("distinct_states", "generated_states", "depth")] for other in found.values()
        ]
        if [counts] * len(others) != others or (states is not None and counts[0] != states):
            raise BenchmarkError(f"{label}: {counts[0]:,} states, not {states} or not the same as the other run")
    screen.print(_table(constants, runs))
    screen.print(f"killed at {killed_at:,} states after {killed.seconds:.0f} s")


def _run(constants: Constants, folder: Path, options: tuple[str, ...] = (), killed_at: int | None = None) -> Part:
    """Run to the end, or kill the process when its progress shows so many states."""
    setting = Setting(SPEC, constants, 2, PUBLISHED_PROPERTIES, ("--store", "compact", *options))
    print(f"measuring {' '.join(setting.command[2:])}", file=sys.stderr)
    started = time.perf_counter()
    process = subprocess.Popen(
        setting.command,
        cwd=ROOT,
        env=environment(folder / "byte-code"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None and process.stdout is not None
    for line in process.stderr:
        print(f"  {line.rstrip()}", file=sys.stderr)
        found = _DISTINCT.search(line)
        if killed_at is not None and found and int(found[1].replace(",", "")) >= killed_at:
            process.send_signal(signal.SIGKILL)
            break
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = code = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - started
    if killed_at is not None:
        if code != -signal.SIGKILL:
            raise BenchmarkError(f"the run ended with status {code} before it had {killed_at:,} states")
        return Part(seconds, usage.ru_maxrss * _MAXRSS_UNIT, None)
    if code != 0:
        raise BenchmarkError(f"the run failed with status {code}")
    return Part(seconds, usage.ru_maxrss * _MAXRSS_UNIT, json.loads(output))


def _table(constants: Constants, runs: dict[str, list[Part]]) -> Table:
    result = next(iter(runs.values()))[-1].result
    assert result is not None
    states = result["distinct_states"]
    table = Table(
        title=f"KIP-320 {constants}, compact store, 2 workers: {states:,} states, {result['generated_states']:,} "
        f"generated, depth {result['depth']}",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("")
    for heading in ("whole, s", "states/s", "peak MB", "bytes/state"):
        table.add_column(heading, justify="right")
    for label, parts in runs.items():
        seconds, peak = sum(part.seconds for part in parts), max(part.peak_bytes for part in parts)
        table.add_row(label, f"{seconds:.1f}", f"{states / seconds:,.0f}", f"{peak / 1e6:,.0f}", f"{peak / states:.2f}")
    return table


if __name__ == "__main__":
    declare_command(main)()
