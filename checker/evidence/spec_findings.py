"""Findings by spec: those that all complete runs of a spec share, since a scenario may disable a part on purpose."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from checker.run.finding import Finding, common_findings
from checker.run.finished import FinishedRun
from checker.run.result import Result


@dataclass(frozen=True)
class SpecFindings:
    """The findings that all complete runs of a spec share, and the number of these runs."""

    name: str
    findings: tuple[Finding, ...]
    runs: int

    @property
    def warnings(self) -> list[Finding]:
        """The findings that fail a strict run: all except notes."""
        return [finding for finding in self.findings if not finding.is_note]


def findings_by_spec(finished: Iterable[FinishedRun]) -> list[SpecFindings]:
    """Return the findings about each spec that at least one run explored completely."""
    results: dict[str, list[Result]] = {}
    for done in finished:
        results.setdefault(done.run.entry.name, []).append(done.result)
    specs = []
    for name, results_of_spec in results.items():
        complete = [result.findings for result in results_of_spec if result.findings is not None]
        if complete:
            specs.append(SpecFindings(name, tuple(_in_common(complete, results_of_spec)), len(complete)))
    return specs


def _in_common(complete: list[tuple[Finding, ...]], results: list[Result]) -> list[Finding]:
    """Return the findings that all complete runs share.

    A run that ended at a violation is not complete, so it cannot show that something never happens. But the actions and
    states that it did see are not unused.
    """
    seen = {
        ("never_enabled", name) for result in results for name, counts in result.coverage.items() if counts.generated
    }
    seen |= {
        ("never_changes_anything", name)
        for result in results
        for name, counts in result.coverage.items()
        if counts.distinct
    }
    seen |= {("never_reached", name) for result in results for name in result.reached}
    return [finding for finding in common_findings(complete) if (finding.kind, finding.subject) not in seen]
