"""Runs of `python -m checker run`, each in a separate process."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from measure import ROOT, BenchmarkError, Constants, Finished, Row, Sample, run

PUBLISHED_PROPERTIES = ("weak_isr", "strong_isr")
"""The properties that the published speeds are measured with."""

_ANSWERED = (0, 1, 3)
"""Exit statuses of a run with a result: holds, violated, stopped."""


@dataclass(frozen=True)
class Setting:
    """The options of a run; no properties stands for all properties of the spec."""

    spec: str
    constants: Constants
    workers: int
    properties: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The name of the row."""
        workers = "1 worker" if self.workers == 1 else f"{self.workers} workers"
        return f"tidemark, {workers}, {'as published' if self.properties else 'all properties'}"

    @property
    def command(self) -> list[str]:
        """The command line."""
        words = [sys.executable, "-m", "checker", "run", self.spec, "--json", "-", "--workers", str(self.workers)]
        for name, value in asdict(self.constants).items():
            words += ["--set", f"{name}={value}"]
        for name in self.properties:
            words += ["--property", name]
        return [*words, *self.options]


@dataclass(frozen=True)
class Run:
    """A finished run: the process and its JSON output."""

    process: Finished
    result: dict[str, Any]


def environment(byte_code: Path) -> dict[str, str]:
    """Return the environment of a run that stores byte code in a folder, and nothing else.

    With an empty folder the run is cold.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(byte_code), "PYTHONPATH": str(ROOT), "TIDEMARK_CODE_CACHE": "off"}


def explore(setting: Setting, byte_code: Path, states: int | None = None) -> Run:
    """Run a setting; raise BenchmarkError if it fails or finds a number of states other than `states`."""
    process = run(setting.command, ROOT, environment(byte_code), _ANSWERED)
    result = json.loads(process.output)
    if states is not None and result["distinct_states"] != states:
        raise BenchmarkError(f"{setting.label}: {result['distinct_states']:,} states instead of {states:,}")
    return Run(process, result)


def explore_at_once(settings: Sequence[Setting], byte_code: Path, states: int) -> list[Run]:
    """Run settings at the same time, each in a process."""
    with ThreadPoolExecutor(len(settings)) as pool:
        return list(pool.map(lambda setting: explore(setting, byte_code, states), settings))


def row(setting: Setting, runs: Sequence[Run], without_states: int) -> Row:
    """Return the row of a setting; `without_states` is the peak memory of a run that explores nothing, in bytes."""
    states = int(runs[0].result["distinct_states"])
    peak = max(done.process.peak_bytes for done in runs)
    return Row(
        setting.label,
        states,
        whole=Sample(tuple(done.process.seconds for done in runs)),
        compiling=Sample(tuple(done.result["compile_seconds"] for done in runs)),
        exploring=Sample(tuple(done.result["seconds"] for done in runs)),
        peak_bytes=peak,
        state_bytes=max(peak - without_states, 0) / states,
    )
