"""What several runs of one spec have in common: a scenario may switch a part of a spec off on purpose."""

from __future__ import annotations

from checker.run.finding import Finding, common
from checker.run.result import Result


def findings_in_common(results: list[Result]) -> list[Finding] | None:
    """Return the findings that every complete run of a spec has, None where none could be judged.

    A run that ended at a violation cannot say what never happens, but what it did see is not idle.
    """
    judged = [result.findings for result in results if result.findings is not None]
    if not judged:
        return None
    seen = {("never_enabled", name) for result in results for name, found in result.coverage.items() if found.generated}
    seen |= {
        ("never_changes_anything", name)
        for result in results
        for name, found in result.coverage.items()
        if found.distinct
    }
    seen |= {("never_reached", name) for result in results for name in result.reached}
    return [finding for finding in common(judged) if (finding.kind, finding.subject) not in seen]
