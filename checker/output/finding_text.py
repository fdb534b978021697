"""Findings as text: the unused parts of each spec."""

from __future__ import annotations

from checker.evidence.spec_findings import SpecFindings
from checker.output.styled_lines import BLANK, Line, line


def finding_lines(specs: list[SpecFindings], *, with_notes: bool) -> list[Line]:
    """Return the lines of findings, below the name of their spec; `with_notes`: including notes."""
    lines: list[Line] = []
    for of_spec in specs:
        shown = [finding for finding in of_spec.findings if with_notes or not finding.is_note]
        if not shown:
            continue
        runs = "" if of_spec.runs == 1 else f" in all {of_spec.runs} complete runs"
        lines += [BLANK, line((of_spec.name, "bold"), f"  unused{runs}:")]
        for finding in shown:
            label, style = ("note", "dim") if finding.is_note else ("warning", "yellow")
            lines.append(line((f"  {label:<7}  ", style), finding.message, (f"  {finding.place}", "dim")))
    return lines
