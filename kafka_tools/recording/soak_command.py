"""The work of `experiment soak`: run a soak, validate its windows on Spark, and report."""

from __future__ import annotations

import sys
from pathlib import Path

from checker.output import styled_lines
from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED
from kafka_tools.cluster.experiment import fresh_folder
from kafka_tools.recording.soak import SoakPlan, SoakRun
from kafka_tools.recording.soak_report import (
    SoakReport,
    cover,
    report_lines,
    validate_windows,
    write_report,
    write_windows,
)


def run_soak(plan: SoakPlan, out: Path, master: str | None = None) -> int:
    """Run a soak in a folder and return the exit status."""
    fresh_folder(out)
    rounds = SoakRun(plan, out, _progress).run()
    report = write_windows(plan, rounds, out)
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
