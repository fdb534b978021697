"""The registry of reports for continuous integration: JUnit, SARIF, the HTML index and GitHub annotations.

To add a report, write a module with a class that satisfies `Report`, a line of `REPORTS`, and an option of `run`.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from checker.errors import UserError
from checker.run.finished import FinishedRun


class Report(Protocol):
    """A report that collects the runs of a command and is written when it is closed."""

    def add(self, done: FinishedRun) -> None:
        """Add a run with its result."""

    def add_wrong(self, name: str, error: UserError) -> None:
        """Add a run that could not be executed because its spec is wrong."""

    def add_drift(self, ledger: Path, text: str) -> None:
        """Add the differences from a ledger."""

    def close(self) -> None:
        """Write the report."""


@dataclass(frozen=True)
class ReportTarget:
    """The file or folder of a report, and the settings that a report may need.

    `pages`: the folder of the counterexample pages, if they are written. `strict`: findings about a spec are failures.
    """

    path: Path
    pages: Path | None = None
    strict: bool = False


class _ReportClass(Protocol):
    """A class of reports. Its constructor raises OutputError if the report cannot be written."""

    def __call__(self, target: ReportTarget) -> Report: ...


REPORTS: dict[str, str] = {
    "junit": "checker.output.junit:JUnitReport",
    "sarif": "checker.output.sarif:SarifReport",
    "html": "checker.output.index:IndexReport",
}
"""The class of each report, as `module:Class`, under the name of its option of `run`."""


class Reports:
    """Several reports as one."""

    def __init__(self, reports: list[Report]):
        self._reports = reports

    def add(self, done: FinishedRun) -> None:
        """Add a run with its result."""
        for report in self._reports:
            report.add(done)

    def add_wrong(self, name: str, error: UserError) -> None:
        """Add a run that could not be executed because its spec is wrong."""
        for report in self._reports:
            report.add_wrong(name, error)

    def add_drift(self, ledger: Path, text: str) -> None:
        """Add the differences from a ledger."""
        for report in self._reports:
            report.add_drift(ledger, text)

    def close(self) -> None:
        """Write all reports, even if one of them fails."""
        with ExitStack() as stack:
            for report in self._reports:
                stack.callback(report.close)


@contextmanager
def open_reports(
    paths: Mapping[str, Path | None], *, pages: Path | None = None, strict: bool = False
) -> Iterator[Reports]:
    """Provide the reports that have a path, and annotations in a GitHub workflow.

    The reports are written however the block ends. Raises OutputError, before anything is run, if a report cannot be
    written.
    """
    reports_to_open = [
        _open(name, ReportTarget(path, pages, strict)) for name, path in paths.items() if path is not None
    ]
    if os.environ.get("GITHUB_ACTIONS") == "true":
        # Most commands run elsewhere, and start faster without the import.
        from checker.output.github import Annotations

        reports_to_open.append(Annotations(strict=strict))
    reports = Reports(reports_to_open)
    try:
        yield reports
    finally:
        reports.close()


def _open(name: str, target: ReportTarget) -> Report:
    module, _, class_name = REPORTS[name].partition(":")
    return cast(_ReportClass, getattr(importlib.import_module(module), class_name))(target)
