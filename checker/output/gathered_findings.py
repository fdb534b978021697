"""The findings about a spec that a report gathers over the runs of a command."""

from __future__ import annotations

from collections.abc import Iterator

from checker.evidence.grouping import findings_in_common
from checker.explain.locations import SourceLocation
from checker.run.finding import Finding
from checker.run.request import Run
from checker.run.result import Result


class GatheredFindings:
    """Findings by spec: of each, those that all of its complete runs have in common."""

    def __init__(self) -> None:
        self._runs: dict[str, list[Result]] = {}

    def add(self, run: Run, result: Result) -> None:
        """Add a run; one that could not judge may still have seen what others never do."""
        self._runs.setdefault(run.entry.name, []).append(result)

    def __iter__(self) -> Iterator[tuple[str, list[Finding]]]:
        """Iterate over the names of the specs and what is idle in them."""
        for name, runs in self._runs.items():
            findings = findings_in_common(runs)
            if findings is not None:
                yield name, findings


def place_of_finding(finding: Finding) -> SourceLocation:
    """Return the line that a finding is about."""
    return SourceLocation(finding.file, finding.line, finding.line)
