"""Findings that all runs of one spec share: a single scenario may disable a part of the spec on purpose."""

from __future__ import annotations

from checker.run.finding import Finding, common
from checker.run.result import Result


def findings_in_common(results: list[Result]) -> list[Finding] | None:
    """Return the findings that all complete runs of a spec share; None if no run was complete.

    A run that ended early has no findings. But a part that it did use is not a finding of the spec.
    """
    complete = [result.findings for result in results if result.findings is not None]
    if not complete:
        return None
    seen = {("never_enabled", name) for result in results for name, found in result.coverage.items() if found.generated}
    seen |= {
        ("never_changes_anything", name)
        for result in results
        for name, found in result.coverage.items()
        if found.distinct
    }
    seen |= {("never_reached", name) for result in results for name in result.reached}
    return [finding for finding in common(complete) if (finding.kind, finding.subject) not in seen]
