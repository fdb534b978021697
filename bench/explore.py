"""Benchmark of exploration, next to TLC, SPIN and Rumur: `python bench/explore.py`. README.md explains the figures."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import checker_runs
import published
import spin
import tables
from checker_runs import PUBLISHED_PROPERTIES, Setting
from measure import BenchmarkError, Constants, Row, Sample
from rich.console import Console

from checker.cli.declaration import declared_command, option

SPEC, MODULE = "replication/kip320", "Kip320"
SIZES = (Constants(3, 2, 2, 2), Constants(3, 3, 3, 2))
QUICK = (Constants(2, 2, 2, 1),)
LARGE = Setting("replication/kip320_first_try", Constants(3, 2, 2, 3), workers=2, options=("--keep-going",))
LARGE_STATES, LARGE_DEPTH = 24_211_312, 35


def main(
    quick: Annotated[bool, option("--quick", help="Measure a tiny state space once, as a trial.")] = False,
    large: Annotated[bool, option("--large", help="Measure only a space of 24 million states.")] = False,
    repeat: Annotated[int, option(min=1, help="Number of measurements of each run; the median is printed.")] = 3,
) -> None:
    """Measure the exploration of KIP-320, and print it next to the figures of other model checkers."""
    screen = tables.console()
    with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as name:
        try:
            if large:
                _measure_large(Path(name), screen)
            else:
                _measure(QUICK if quick else SIZES, 1 if quick else repeat, Path(name), screen)
        except BenchmarkError as error:
            print(f"error: {error}", file=sys.stderr)
            raise SystemExit(1) from None


def _measure(sizes: tuple[Constants, ...], repeat: int, folder: Path, screen: Console) -> None:
    byte_code = folder / "byte-code-0"
    missing = spin.missing()
    screen.print(_start_up(sizes[0], repeat, folder))
    for constants in sizes:
        states = published.states(MODULE, constants)
        if states is None:
            raise BenchmarkError(f"no published number of states for {constants}")
        ours = _our_rows(constants, states, repeat, byte_code)
        rows = [*ours, *([] if missing else _spin_rows(constants, states, repeat, folder)), *published.rows(constants)]
        screen.print()
        screen.print(tables.speeds(f"KIP-320 {constants}: {states:,} states", rows))
        screen.print("\n".join(_two_workers(ours)), soft_wrap=True)
    for sentence in missing:
        screen.print(f"\n{sentence}", soft_wrap=True)


def _start_up(constants: Constants, repeat: int, folder: Path) -> str:
    """Return a sentence with the times of the first run, which compiles byte code, and of the second run."""
    setting = Setting(SPEC, constants, workers=1)
    folders = [folder / f"byte-code-{number}" for number in range(repeat)]
    cold, warm = [], []
    for number in range(repeat):
        _announce(f"{setting.label} {constants}: first and second run")
        cold.append(checker_runs.explore(setting, folders[number]).process.seconds)
        warm.append(checker_runs.explore(setting, folders[number]).process.seconds)
    return (
        f"KIP-320 {constants}, whole process, all properties: {Sample(tuple(cold))} s cold (without compiled byte "
        f"code), {Sample(tuple(warm))} s warm"
    )


def _our_rows(constants: Constants, states: int, repeat: int, byte_code: Path) -> list[Row]:
    settings = [
        Setting(SPEC, constants, workers, properties) for properties in (PUBLISHED_PROPERTIES, ()) for workers in (1, 2)
    ]
    runs: dict[Setting, list[checker_runs.Run]] = {setting: [] for setting in settings}
    # Interleaved, so that a busy moment of the machine affects all rows.
    for _ in range(repeat):
        for setting in settings:
            _announce(f"{setting.label} {constants}")
            runs[setting].append(checker_runs.explore(setting, byte_code, states))
    return [checker_runs.row(setting, runs[setting], _peak_without_states(setting, byte_code)) for setting in settings]


def _peak_without_states(setting: Setting, byte_code: Path) -> int:
    """Return the peak memory of a run that compiles the same code and stops at the initial states."""
    stopped = replace(setting, options=(*setting.options, "--max-states", "1"))
    return checker_runs.explore(stopped, byte_code).process.peak_bytes


def _spin_rows(constants: Constants, states: int, repeat: int, folder: Path) -> list[Row]:
    runs: dict[spin.Variant, list[spin.Run]] = {variant: [] for variant in spin.VARIANTS}
    for _ in range(repeat):
        for variant in spin.VARIANTS:
            _announce(f"{variant.label} {constants}")
            runs[variant].append(spin.explore(variant, constants, states, folder))
    return [spin.row(variant, runs[variant], states) for variant in spin.VARIANTS]


def _two_workers(rows: list[Row]) -> list[str]:
    sentences = []
    for one, two in zip(rows[::2], rows[1::2], strict=True):
        if one.exploring is not None and two.exploring is not None:
            ratio = one.exploring.median / two.exploring.median
            sentences.append(f"{two.tool}: explores {ratio:.2f} times as fast as with 1 worker")
    return sentences


def _measure_large(folder: Path, screen: Console) -> None:
    _announce(f"{LARGE.spec} {LARGE.constants}")
    run = checker_runs.explore(LARGE, folder, LARGE_STATES)
    if run.result["depth"] != LARGE_DEPTH:
        raise BenchmarkError(f"{LARGE.spec}: depth {run.result['depth']} instead of {LARGE_DEPTH}")
    row = checker_runs.row(LARGE, [run], _peak_without_states(LARGE, folder))
    screen.print(tables.speeds(f"{LARGE.spec} {LARGE.constants}: {row.states:,} states, depth {LARGE_DEPTH}", [row]))
    for violation in run.result["violations"]:
        screen.print(f"{violation['property']} is violated: {violation['length']} states", soft_wrap=True)


def _announce(label: str) -> None:
    print(f"measuring {label}", file=sys.stderr)


if __name__ == "__main__":
    declared_command(main)()
