"""GitHub annotations: workflow commands that make a runner mark the lines of failures."""

from __future__ import annotations

import sys
from pathlib import Path

from checker.errors import UserError
from checker.evidence.spec_findings import findings_by_spec
from checker.explain.locations import SourceLocation, location_of, location_of_error
from checker.output.problems import BOUNDS, DRIFT, Problem, location_of_finding, problems_of
from checker.run.finished import FinishedRun


class Annotations:
    """Writes an `::error` to standard error for everything that makes a command fail; the runner reads it.

    An unused part of a spec is a `::warning`, or with `strict` an `::error`.
    """

    def __init__(self, *, strict: bool = False):
        self._strict = strict
        self._finished: list[FinishedRun] = []
        # Annotations are written at the end, so that they do not mix with the progress of later runs.
        self._written: list[str] = []

    def add(self, done: FinishedRun) -> None:
        """Keep the annotations of a run."""
        for problem in problems_of(done):
            if not problem.accepted:
                text = f"{problem.message}\n\n{problem.details}".strip()
                self._keep(location_of(type(done.run.spec), problem.method), _title(problem), text)
        self._finished.append(done)

    def add_wrong(self, name: str, error: UserError) -> None:
        """Keep the annotation of a run that could not be executed because its spec is wrong."""
        self._keep(location_of_error(error), f"{name} cannot be run", error.message)

    def add_drift(self, ledger: Path, text: str) -> None:
        """Keep the annotation of the differences from a ledger."""
        self._keep(SourceLocation(str(ledger), 1, 1), DRIFT, text.strip())

    def close(self) -> None:
        """Write the annotations."""
        level = "error" if self._strict else "warning"
        for spec in findings_by_spec(self._finished):
            for finding in spec.warnings:
                self._keep(location_of_finding(finding), f"{spec.name}: unused", finding.message, level)
        sys.stderr.write("".join(self._written))
        sys.stderr.flush()

    def _keep(self, place: SourceLocation | None, title: str, text: str, level: str = "error") -> None:
        parts = {"title": title}
        if place is not None:
            parts = {"file": place.relative, "line": str(place.first_line), "endLine": str(place.last_line), **parts}
        shown = ",".join(f"{key}={_escape(value, ':,')}" for key, value in parts.items())
        command = f"::{level} {shown}::{_escape(text)}\n"
        if command not in self._written:
            self._written.append(command)


def _title(problem: Problem) -> str:
    return f"{problem.run.name}: {'out of bounds' if problem.property == BOUNDS else problem.property}"


def _escape(text: str, more: str = "") -> str:
    """Return a text escaped for a workflow command; see https://docs.github.com/actions, workflow commands."""
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text
