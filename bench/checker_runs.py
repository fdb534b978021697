"""Runs of `python -m checker run`, each in a process of its own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from measure import ROOT, BenchmarkError, Constants, Finished, Row, Sample, run

PUBLISHED_PROPERTIES = ("weak_isr", "strong_isr")
"""The properties that the published speeds are measured with."""

_ANSWERED = (0, 1, 3)
"""Exit statuses with a result: it holds, it is violated, it was stopped."""


@dataclass(frozen=True)
class Setting:
    """What is explored, and how: no properties stands for all that the spec has."""

    spec: str
    constants: Constants
    workers: int
    properties: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """A row's name."""
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
    """A run that has ended: the process, and the JSON object that it wrote."""

    process: Finished
    result: dict[str, Any]


def environment(byte_code: Path) -> dict[str, str]:
    """Return the environment of a run whose byte code is kept in a folder: in an empty one, nothing is compiled yet."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(byte_code), "PYTHONPATH": str(ROOT)}


def explore(setting: Setting, byte_code: Path, states: int | None = None) -> Run:
    """Run a setting; raise BenchmarkError if it cannot be run, or finds another number of states than is said."""
    process = run(setting.command, ROOT, environment(byte_code), _ANSWERED)
    result = json.loads(process.output)
    if states is not None and result["distinct_states"] != states:
        raise BenchmarkError(f"{setting.label}: {result['distinct_states']:,} states instead of {states:,}")
    return Run(process, result)


def row(setting: Setting, runs: Sequence[Run], without_states: int) -> Row:
    """Return the row of a setting; `without_states`: the peak of a run of it that explores nothing, in bytes."""
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
