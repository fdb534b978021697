"""The result of an audit as a page."""

from __future__ import annotations

from checker.output.page.render import render
from kafka_tools.audit.audit import AuditReport
from kafka_tools.audit.audit_text import duplicate_sentences, look_command, read_text, verdict_text

_SHOWN = 200
"""The findings of a partition on the page."""


def audit_page(report: AuditReport, seconds: float) -> str:
    """Return the HTML of an audit."""
    return render(
        "audit.html.j2",
        package="kafka_tools.audit",
        title="Audit of log segments",
        report=report,
        headline=verdict_text(report),
        read=read_text(report, seconds),
        shown=_SHOWN,
        duplicates=lambda partition: " ".join(duplicate_sentences(partition)),
        look=look_command,
    )
