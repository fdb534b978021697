"""GitHub annotations: workflow commands that make a runner mark the lines of what is wrong."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TextIO

from checker.errors import UserError
from checker.explain.locations import SourceLocation, location_of, location_of_error
from checker.output.gathered_findings import GatheredFindings, place_of_finding
from checker.output.problems import BOUNDS, DRIFT, Problem, problems_of
from checker.run.request import Run
from checker.run.result import Result
from checker.run.scenario import ExpectationComparison


def wanted() -> bool:
    """Return whether this process runs in a GitHub workflow."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


class Annotations:
    """Writes an `::error` for everything that makes a command fail to a stream that the runner reads.

    What is idle in a spec, where that was asked for, is a `::warning`; if it fails the command, an `::error`.
    """

    def __init__(self, stream: TextIO, *, strict: bool = False):
        self._stream, self._strict = stream, strict
        self._findings = GatheredFindings()
        self._written: list[str] = []

    def add(self, run: Run, result: Result, comparison: ExpectationComparison | None) -> None:
        """Keep the annotations of a run; the progress of the next one must not run into them."""
        for problem in problems_of(run, result, comparison):
            if not problem.accepted:
                text = f"{problem.message}\n\n{problem.details}".strip()
                self._keep(location_of(type(run.spec), problem.method), _title(problem), text)
        self._findings.add(run, result)

    def add_wrong(self, name: str, error: UserError) -> None:
        """Keep the annotation of a run that could not be executed, for its spec is wrong."""
        self._keep(location_of_error(error), f"{name} cannot be run", error.message)

    def add_drift(self, ledger: Path, text: str) -> None:
        """Keep the annotation of what is not as it is recorded in the ledger."""
        self._keep(SourceLocation(str(ledger), 1, 1), DRIFT, text.strip())

    def close(self) -> None:
        """Write the annotations."""
        level = "error" if self._strict else "warning"
        for name, findings in self._findings:
            for finding in findings:
                if not finding.is_note:
                    self._keep(place_of_finding(finding), f"{name}: idle", finding.message, level)
        self._stream.write("".join(self._written))
        self._stream.flush()

    def _keep(self, place: SourceLocation | None, title: str, text: str, level: str = "error") -> None:
        parts = {"title": title}
        if place is not None:
            parts = {"file": place.relative, "line": str(place.first_line), "endLine": str(place.last_line), **parts}
        shown = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in parts.items())
        command = f"::{level} {shown}::{_escaped(text)}\n"
        if command not in self._written:
            self._written.append(command)


def _title(problem: Problem) -> str:
    return f"{problem.run.name}: {'out of bounds' if problem.property == BOUNDS else problem.property}"


def _escaped(text: str, more: str = "") -> str:
    """Return a text as a workflow command takes it; https://docs.github.com/actions, workflow commands."""
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text
