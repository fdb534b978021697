"""Benchmark of exploration, next to TLC, SPIN and Rumur: `python bench/explore.py`. README.md explains the figures."""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import checker_runs
import published
import spin
import tables
from checker_runs import PUBLISHED_PROPERTIES, Setting
from measure import BenchmarkError, Constants, Row, Sample
from rich.console import Console

from checker.cli.declaration import declare_command, option

SPEC, MODULE = "replication/kip320", "Kip320"
SIZES = (Constants(3, 2, 2, 2), Constants(3, 3, 3, 2))
OTHER_SIZES = {Constants(3, 2, 2, 1): 39_619, Constants(3, 2, 2, 3): 9_985_570}
"""More sizes with their numbers of states. The last one is not published; both SPIN and the checker find it."""

QUICK = (Constants(2, 2, 2, 1),)
LARGE = Setting("replication/kip320_first_try", Constants(3, 2, 2, 3), workers=2, options=("--keep-going",))
LEAST_BESIDE_SPIN = {Constants(3, 2, 2, 2): 2, Constants(3, 3, 3, 2): 4}
"""By how many times a verdict of one worker must be faster than SPIN's fastest, from the source on."""

LARGE_STATES, LARGE_DEPTH = 24_211_312, 35


def main(
    quick: Annotated[bool, option("--quick", help="Measure a tiny state space once, as a trial.")] = False,
    large: Annotated[bool, option("--large", help="Measure only a space of 24 million states.")] = False,
    other_sizes: Annotated[bool, option("--other-sizes", help="Measure 39,619 and 9,985,570 states.")] = False,
    repeat: Annotated[int, option(min=1, help="Number of measurements of each run; the median is printed.")] = 3,
) -> None:
    """Measure the exploration of KIP-320, and print it next to the figures of other model checkers."""
    screen = tables.console()
    with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as name:
        try:
            if large:
                _measure_large(Path(name), screen)
            else:
                sizes = tuple(OTHER_SIZES) if other_sizes else SIZES
                _measure(QUICK if quick else sizes, 1 if quick else repeat, Path(name), screen)
        except BenchmarkError as error:
            print(f"error: {error}", file=sys.stderr)
            raise SystemExit(1) from None


def _measure(sizes: tuple[Constants, ...], repeat: int, folder: Path, screen: Console) -> None:
    byte_code, slow = folder / "byte-code-0", list[str]()
    missing = spin.missing()
    screen.print(_start_up(sizes[0], repeat, folder))
    for constants in sizes:
        states = OTHER_SIZES.get(constants) or published.states(MODULE, constants)
        if states is None:
            raise BenchmarkError(f"no published number of states for {constants}")
        runs = _Runs(constants, states, folder, byte_code, () if missing else spin.VARIANTS)
        # Interleaved, so that a busy moment of the machine affects all rows.
        for _ in range(repeat):
            runs.measure()
        ours, of_spin = runs.our_rows(), runs.spin_rows()
        screen.print()
        title = f"KIP-320 {constants}: {states:,} states"
        screen.print(tables.speeds(title, [*ours, *of_spin, *published.rows(constants)]))
        screen.print("\n".join([*_two_workers(ours, runs), *_beside_spin(ours[0], ours[1], of_spin)]), soft_wrap=True)
        least = LEAST_BESIDE_SPIN.get(constants, 0)
        if of_spin and _gain_of_verdict(ours[0], of_spin) < least:
            slow.append(f"KIP-320 {constants}: a verdict is less than {least} times as fast as SPIN's fastest")
    for sentence in missing:
        screen.print(f"\n{sentence}", soft_wrap=True)
    if slow:
        raise BenchmarkError("; ".join(slow))


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


@dataclass
class _Runs:
    """The measurements of one size: of Tidemark alone, of two processes at the same time, and of SPIN."""

    constants: Constants
    states: int
    folder: Path
    byte_code: Path
    variants: tuple[spin.Variant, ...]
    ours: dict[Setting, list[checker_runs.Run]] = field(default_factory=lambda: defaultdict(list))
    at_once: list[checker_runs.Run] = field(default_factory=list)
    of_spin: dict[spin.Variant, list[spin.Run]] = field(default_factory=lambda: defaultdict(list))

    def measure(self) -> None:
        """Measure every row once."""
        for setting in self.settings:
            _announce(f"{setting.label} {self.constants}")
            self.ours[setting].append(checker_runs.explore(setting, self.byte_code, self.states))
        alone = self.settings[0]
        _announce(f"two processes at once, {alone.label} {self.constants}")
        self.at_once += checker_runs.explore_at_once([alone, alone], self.byte_code, self.states)
        for variant in self.variants:
            _announce(f"{variant.label} {self.constants}")
            self.of_spin[variant].append(spin.explore(variant, self.constants, self.states, self.folder))

    @property
    def settings(self) -> list[Setting]:
        """The rows of Tidemark; the first one has one worker and the published properties."""
        choices = itertools.product((PUBLISHED_PROPERTIES, ()), (1, 2))
        return [Setting(SPEC, self.constants, workers, properties) for properties, workers in choices]

    def our_rows(self) -> list[Row]:
        """Return the rows of Tidemark."""
        return [
            checker_runs.row(setting, runs, _peak_without_states(setting, self.byte_code))
            for setting, runs in self.ours.items()
        ]

    def spin_rows(self) -> list[Row]:
        """Return the rows of SPIN."""
        return [spin.row(variant, runs, self.states) for variant, runs in self.of_spin.items()]

    def gain_of_two_processes(self) -> float:
        """Return how many times as many states a second two processes explore as one."""
        alone = Sample(tuple(run.result["seconds"] for run in self.ours[self.settings[0]]))
        at_once = Sample(tuple(run.result["seconds"] for run in self.at_once))
        return 2 * alone.median / at_once.median


def _peak_without_states(setting: Setting, byte_code: Path) -> int:
    """Return the peak memory of a run that compiles the same code and stops at the initial states."""
    stopped = replace(setting, options=(*setting.options, "--max-states", "1"))
    return checker_runs.explore(stopped, byte_code).process.peak_bytes


def _two_workers(rows: list[Row], runs: _Runs) -> list[str]:
    """Return sentences with the gain of a second worker, and with that of a second process."""
    sentences = []
    for one, two in zip(rows[::2], rows[1::2], strict=True):
        if one.exploring is not None and two.exploring is not None:
            ratio = one.exploring.median / two.exploring.median
            sentences.append(f"{two.tool}: explores {ratio:.2f} times as fast as with 1 worker")
    return [*sentences, f"two independent processes: explore {runs.gain_of_two_processes():.2f} times as fast as one"]


def _beside_spin(ours: Row, with_two: Row, of_spin: list[Row]) -> list[str]:
    """Return sentences that compare one worker with SPIN's fastest search, and both rows with its fastest verdict."""
    if not of_spin or ours.exploring is None or ours.whole is None or with_two.whole is None:
        return []
    depth_first, fastest = of_spin[0], _fastest(of_spin).tool
    assert depth_first.exploring is not None
    return [
        f"{ours.tool}: explores {depth_first.exploring.median / ours.exploring.median:.2f} times as fast as "
        f"{depth_first.tool}; from source to verdict {_gain_of_verdict(ours, of_spin):.2f} times as fast as {fastest}",
        f"{with_two.tool}: from source to verdict {_gain_of_verdict(with_two, of_spin):.2f} times as fast as {fastest}",
    ]


def _fastest(rows: list[Row]) -> Row:
    """Return the row with the fastest verdict."""
    return min(rows, key=lambda row: row.whole.median if row.whole else float("inf"))


def _gain_of_verdict(ours: Row, of_spin: list[Row]) -> float:
    """Return how many times as fast as SPIN's fastest verdict a row is, from the source on."""
    theirs = _fastest(of_spin).whole
    assert ours.whole is not None and theirs is not None
    return theirs.median / ours.whole.median


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
    declare_command(main)()
