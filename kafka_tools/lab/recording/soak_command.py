"""The work of `experiment soak`: run a soak, or record it again; validate its windows on Spark, and report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from checker.errors import InputError
from checker.output import styled_lines
from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED
from kafka_tools.lab.cluster.experiment_run import new_folder
from kafka_tools.lab.recording.soak import SoakPlan, SoakRound, SoakRun
from kafka_tools.lab.recording.soak_report import (
    SoakReport,
    cover,
    read_soak,
    report_lines,
    validate_windows,
    write_report,
    write_windows,
)


def run_soak(plan: SoakPlan, out: Path, master: str | None = None) -> int:
    """Run a soak in a folder and return the exit status."""
    new_folder(out)
    rounds = SoakRun(plan, out, _progress).run()
    return _examine(plan, rounds, out, out, master)


def record_soak_again(soak: Path, out: Path, master: str | None = None) -> int:
    """Record an earlier soak again from its log lines, into another folder; return the exit status.

    Raises InputError if the folder has no whole soak, or if it is the folder to write to.
    """
    if out.resolve() == soak.resolve() or out.resolve() in soak.resolve().parents:
        raise InputError(f"--out {out} would remove the logs of {soak}: name another folder")
    plan, rounds = read_soak(soak)
    new_folder(out)
    return _examine(plan, rounds, soak, out, master)


def _examine(plan: SoakPlan, rounds: Sequence[SoakRound], soak: Path, out: Path, master: str | None) -> int:
    report = write_windows(plan, rounds, soak / "cluster", out)
    _progress(f"validating {len(rounds)} rounds on Spark")
    validate_windows(report, out, master)
    cover(report, out)
    write_report(report, out)
    styled_lines.write(list(report_lines(report, out)), sys.stdout)
    return status_of(report)


def status_of(report: SoakReport) -> int:
    """Return 1 if a window is rejected, 3 if one is undecided or not recorded."""
    if report.verdicts["rejected"]:
        return EXIT_VIOLATED
    return EXIT_STOPPED if report.refused or report.unrecorded or not report.rows else EXIT_OK


def _progress(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)
