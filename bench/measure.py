"""Measurements: processes that run one at a time, their time and peak memory, and samples of several runs."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


class BenchmarkError(Exception):
    """A measured process failed, or its result is wrong."""


@dataclass(frozen=True)
class Finished:
    """A finished process: wall-clock seconds from start to end, peak resident bytes, standard output.

    `processor_seconds` counts the process and the processes that it started.
    """

    seconds: float
    processor_seconds: float
    peak_bytes: int
    output: str


def run(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    fine: Container[int] = (0,),
    limit: float | None = None,
) -> Finished:
    """Run a command in a folder; raise BenchmarkError if its exit status is not in `fine`, or after `limit` seconds.

    The child starts as a fork of this process, and the system counts this process's memory into the child's peak. A
    peak below about 50 MB is therefore not reliable.
    """
    started = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        # In a session of its own: the limit ends the processes that it started too.
        child = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=errors, start_new_session=True
        )
        timer = threading.Timer(limit or 0, os.killpg, (child.pid, signal.SIGKILL))
        if limit is not None:
            timer.start()
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            # Ctrl-C reaches only the session of this process.
            os.killpg(child.pid, signal.SIGKILL)
            raise
        finally:
            timer.cancel()
        seconds = time.perf_counter() - started
        if limit is not None and seconds >= limit:
            raise BenchmarkError(f"{' '.join(command)} did not end within {limit:.0f} s")
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if child.returncode not in fine:
            words = (errors.read() + output.read()).strip().split("\n")
            raise BenchmarkError(f"{' '.join(command)} failed with status {child.returncode}: {words[-1]}")
        return Finished(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _MAXRSS_UNIT, output.read())


@dataclass(frozen=True)
class Sample:
    """The values of one quantity: several measurements, or one published value."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median."""
        return statistics.median(self.values)

    def __str__(self) -> str:
        """The median, and the smallest and largest of several values in brackets."""
        digits = 2 if self.median < 100 else 0
        shown = f"{self.median:.{digits}f}"
        if len(self.values) == 1:
            return shown
        return f"{shown} ({min(self.values):.{digits}f}-{max(self.values):.{digits}f})"


@dataclass(frozen=True)
class Constants:
    """The constants of the replication specs."""

    replicas: int
    log_size: int
    max_records: int
    max_leader_epoch: int

    def __str__(self) -> str:
        """The form in which they are published: (3, 2, 2, 2)."""
        return f"({self.replicas}, {self.log_size}, {self.max_records}, {self.max_leader_epoch})"


@dataclass(frozen=True)
class Row:
    """The figures of a tool on one state space, in seconds and bytes; None if not known.

    `whole` is the time from source to verdict, including start-up and compiling. `state_bytes` is the peak memory per
    state, without the memory of a process that stores no states if that is known.
    """

    tool: str
    states: int
    whole: Sample | None = None
    compiling: Sample | None = None
    exploring: Sample | None = None
    peak_bytes: float | None = None
    state_bytes: float | None = None
    is_published: bool = False

    @property
    def states_a_second(self) -> float | None:
        """Distinct states per second of exploring."""
        return None if self.exploring is None else self.states / self.exploring.median
