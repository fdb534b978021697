"""Findings on the command line: those that all runs of a spec have in common, and whether they fail a strict run."""

from __future__ import annotations

from dataclasses import dataclass

from checker.evidence.grouping import findings_in_common
from checker.output.styled_lines import BLANK, Line, line
from checker.run.finding import Finding
from checker.run.finished import FinishedRun
from checker.run.result import Result


@dataclass(frozen=True)
class SpecFindings:
    """The findings that every complete run of a spec has, and how many of its runs there were."""

    name: str
    findings: tuple[Finding, ...]
    runs: int

    @property
    def warnings(self) -> list[Finding]:
        """The findings that fail a strict run: all but notes."""
        return [finding for finding in self.findings if not finding.is_note]


def findings_by_spec(finished: list[FinishedRun]) -> list[SpecFindings]:
    """Return the findings of each spec that was explored completely at least once."""
    results: dict[str, list[Result]] = {}
    for done in finished:
        results.setdefault(done.run.entry.name, []).append(done.result)
    specs = []
    for name, runs in results.items():
        findings = findings_in_common(runs)
        if findings is not None:
            judged = sum(result.findings is not None for result in runs)
            specs.append(SpecFindings(name, tuple(findings), judged))
    return specs


def finding_lines(specs: list[SpecFindings], *, with_notes: bool) -> list[Line]:
    """Return the findings in words, below the name of their spec; with `with_notes` those too that only note."""
    lines: list[Line] = []
    for found in specs:
        shown = [finding for finding in found.findings if with_notes or not finding.is_note]
        if not shown:
            continue
        runs = "" if found.runs == 1 else f" in all of its {found.runs} complete runs"
        lines += [BLANK, line((found.name, "bold"), f"  idle{runs}:")]
        for finding in shown:
            label, style = ("note", "dim") if finding.is_note else ("warning", "yellow")
            lines.append(line((f"  {label:<7}  ", style), finding.message, (f"  {finding.place}", "dim")))
    return lines
