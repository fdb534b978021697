"""The result of an audit as text and as plain data for JSON."""

from __future__ import annotations

import dataclasses
import datetime
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from checker.output.styled_lines import BLANK, Line, line
from checker.printable import quantity
from kafka_tools.audit.audit import AuditReport
from kafka_tools.audit.findings import AuditFinding
from kafka_tools.audit.partition_audit import PartitionReport

FORMAT_VERSION = 1
"""The version of the JSON result."""

_SHOWN_FINDINGS, _SHOWN_NOTES = 20, 5


def report_lines(report: AuditReport, seconds: float) -> Iterator[Line]:
    """Yield the partitions, the findings of each, and the verdict."""
    for partition in report.partitions:
        yield from _partition_lines(partition)
    for finding in report.differences:
        yield line((f"{Path(finding.folder).name}, offset {finding.offset}", "bold"), f": {finding.kind.value}")
        yield line((f"  {finding.text}", _style(finding)))
        yield BLANK
    for unread in report.unread:
        yield line((f"{unread.path} was not read: {unread.reason}", "yellow"))
    yield from _verdict_lines(report, seconds)


def _partition_lines(report: PartitionReport) -> Iterator[Line]:
    offsets = (
        "empty" if report.first_offset is None else f"offsets {report.first_offset} to {(report.end_offset or 0) - 1}"
    )
    mark = "" if report.high_watermark is None else f", high watermark {report.high_watermark}"
    segments = quantity(report.segments, "segment")
    size = f"{segments}, {report.batches:,} batches, {report.bytes / 1e6:,.1f} MB"
    yield line((report.name, "bold"), f": {offsets}{mark}; {size}", (f"  {report.path}", "dim"))
    findings = [finding for finding in report.findings if not finding.kind.is_note]
    notes = [finding for finding in report.findings if finding.kind.is_note]
    yield from _finding_lines(findings, _SHOWN_FINDINGS)
    yield from _finding_lines(notes, _SHOWN_NOTES)
    if report.repeated:
        records, *rest = duplicate_sentences(report)
        yield line((f"  {records}", "bold red"))
        yield from (line(f"      {sentence}") for sentence in rest)
    if findings and (command := look_command(report)):
        yield line(("  To look at it: ", "dim"), command)
    if report.findings:
        yield BLANK


def _finding_lines(findings: list[AuditFinding], shown: int) -> Iterator[Line]:
    for finding in findings[:shown]:
        place = f" at {finding.place}" if finding.place else ""
        label = "note: " if finding.kind.is_note else ""
        yield line((f"  {label}{finding.kind.value}{place}", _style(finding)))
        yield line(f"      {finding.text}")
    if len(findings) > shown:
        kinds = Counter(finding.kind.value for finding in findings[shown:])
        yield line(f"  and {', '.join(f'{count} more: {kind}' for kind, count in kinds.items())}")


def duplicate_sentences(report: PartitionReport) -> Iterator[str]:
    """Yield how many records are in the log twice, when they were made, under which leader epochs, and why."""
    records = sum(batch.records for batch in report.repeated)
    times = [batch.timestamp for batch in report.repeated]
    begin, end = _time(min(times)), _time(max(times))
    when = begin if begin == end else f"between {begin} and {end}"
    epochs = sorted({(batch.first_leader_epoch, batch.second_leader_epoch) for batch in report.repeated})
    changes = ", ".join(f"{first} and again under {second}" for first, second in epochs)
    yield f"{quantity(records, 'record')} {'is' if records == 1 else 'are'} in the log twice."
    yield f"Made {when}; appended under leader epoch {changes}."
    yield "The client sent them again under a new producer epoch, because the leader did not know their sequences."
    yield "A leader that was restarted knows only the last batch of each producer: see docs/idempotence.md, I7."


def look_command(report: PartitionReport) -> str:
    """Return the command of Kafka that prints the batches around the first finding; empty if it has no place."""
    for finding in report.findings:
        file = finding.file if finding.file.endswith(".log") else _segment_of(finding, report)
        if not finding.kind.is_note and file:
            return f"kafka-dump-log.sh --files {shlex.quote(str(Path(report.path) / file))}"
    return ""


def _segment_of(finding: AuditFinding, report: PartitionReport) -> str:
    """Return the name of the segment file that has the offset of a finding, or an empty text."""
    if finding.offset is None:
        return ""
    bases = sorted(int(path.stem) for path in Path(report.path).glob("*.log") if path.stem.isdigit())
    below = [base for base in bases if base <= finding.offset]
    return f"{below[-1]:020}.log" if below else ""


def _verdict_lines(report: AuditReport, seconds: float) -> Iterator[Line]:
    style = "bold red" if not report.is_sound else "bold green" if report.is_complete else "bold yellow"
    yield line((verdict_text(report), style), f"; {read_text(report, seconds)}")


def verdict_text(report: AuditReport) -> str:
    """Return the verdict in a few words."""
    findings = [finding for finding in report.findings if not finding.kind.is_note]
    kinds = ", ".join(f"{kind}: {number}" for kind, number in Counter(item.kind.value for item in findings).items())
    text = f"{quantity(len(findings), 'finding')} ({kinds})" if findings else "no findings"
    if report.is_complete:
        return text
    why = "the audit was interrupted" if report.is_interrupted else "not everything was read"
    return f"{text}, and {why}" if findings else f"undecided: {why}"


def read_text(report: AuditReport, seconds: float) -> str:
    """Return what was read, and in what time."""
    size = sum(partition.bytes for partition in report.partitions)
    batches = sum(partition.batches for partition in report.partitions)
    count = len(report.partitions)
    copies = f", {quantity(report.compared, 'copy')} compared" if report.compared else ""
    read = f"{quantity(count, 'partition')}, {batches:,} batches, {size / 1e6:,.1f} MB in {seconds:.1f} s"
    return f"{read}{copies}"


def report_data(report: AuditReport) -> dict[str, Any]:
    """Return the result as plain data."""
    return {
        "version": FORMAT_VERSION,
        "verdict": "findings" if not report.is_sound else "sound" if report.is_complete else "undecided",
        "partitions": [
            {
                **{
                    field.name: getattr(partition, field.name)
                    for field in dataclasses.fields(partition)
                    if field.name not in ("findings", "repeated")
                },
                "findings": [_finding_data(finding) for finding in partition.findings],
                "repeated": [dataclasses.asdict(batch) for batch in partition.repeated],
            }
            for partition in report.partitions
        ],
        "differences": [_finding_data(finding) for finding in report.differences],
        "unread": [dataclasses.asdict(unread) for unread in report.unread],
        "compared": report.compared,
        "is_interrupted": report.is_interrupted,
    }


def _finding_data(finding: AuditFinding) -> dict[str, Any]:
    return {**dataclasses.asdict(finding), "kind": finding.kind.name.lower(), "is_note": finding.kind.is_note}


def _style(finding: AuditFinding) -> str:
    return "yellow" if finding.kind.is_note else "red"


def _time(milliseconds: int) -> str:
    try:
        moment = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)
    except (ValueError, OverflowError, OSError):
        return f"at {milliseconds} ms"
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
