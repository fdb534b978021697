"""The reports of a command for other programs and for later: each gathers every run and is written at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from checker.errors import UserError
from checker.output import github
from checker.run.request import Run
from checker.run.result import Result
from checker.run.scenario import ExpectationComparison


class Report(Protocol):
    """What a report does with the runs of a command."""

    def add(self, run: Run, result: Result, comparison: ExpectationComparison | None) -> None:
        """Add a run with its result."""

    def add_wrong(self, name: str, error: UserError) -> None:
        """Add a run that could not be executed, for its spec is wrong."""

    def add_drift(self, ledger: Path, text: str) -> None:
        """Add what is not as it is recorded in the ledger."""

    def close(self) -> None:
        """Write the report."""


class Reports:
    """The reports that were asked for, as one."""

    def __init__(self, reports: list[Report]):
        self._reports = reports

    def add(self, run: Run, result: Result, comparison: ExpectationComparison | None) -> None:
        """Add a run with its result."""
        for report in self._reports:
            report.add(run, result, comparison)

    def add_wrong(self, name: str, error: UserError) -> None:
        """Add a run that could not be executed, for its spec is wrong."""
        for report in self._reports:
            report.add_wrong(name, error)

    def add_drift(self, ledger: Path, text: str) -> None:
        """Add what is not as it is recorded in the ledger."""
        for report in self._reports:
            report.add_drift(ledger, text)

    def close(self) -> None:
        """Write the reports, each of them whatever becomes of the others."""
        with ExitStack() as stack:
            for report in self._reports:
                stack.callback(report.close)


@contextmanager
def reports(
    junit: Path | None, sarif: Path | None, html: Path | None, pages: Path | None, *, strict: bool = False
) -> Iterator[Reports]:
    """Provide the reports that are asked for; they are written however the block ends.

    `html` is a folder or a file that ends with `.html`, `pages` the folder of the counterexamples that it links to.
    `strict`: findings about a spec are failures.
    Raises UserError where one cannot be written, before anything is run.
    """
    found: list[Report] = []
    if junit is not None:
        from checker.output.junit import JUnitReport

        found.append(JUnitReport(junit, strict=strict))
    if sarif is not None:
        from checker.output.sarif import SarifReport

        found.append(SarifReport(sarif, strict=strict))
    if html is not None:
        from checker.output.index import IndexReport

        found.append(IndexReport(html, pages))
    if github.wanted():
        found.append(github.Annotations(sys.stderr, strict=strict))
    gathered = Reports(found)
    try:
        yield gathered
    finally:
        gathered.close()
