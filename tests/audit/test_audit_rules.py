"""Rules of the audit at their edges, each on a few rows or entries."""

import struct
from pathlib import Path

import numpy as np
import pytest
from crc32c import crc32c

from checker.errors import UserError
from kafka_tools.audit.audit_command import AuditSettings, audit_logs
from kafka_tools.audit.audit_text import _finding_lines
from kafka_tools.audit.findings import AuditFinding, Kind
from kafka_tools.audit.part_audit import PartTask, _time_index_order
from kafka_tools.audit.partition_folder import SNAPSHOT, TIME_INDEX, snapshot_entries
from kafka_tools.audit.record_batches import NO_MARKER, ROW, TRANSACTIONAL, Part
from kafka_tools.audit.transactions import _batches_outside


def time_index_texts(folder: Path, entries: list[tuple[int, int]]) -> list[str]:
    segment = folder / "0.log"
    segment.with_suffix(".timeindex").write_bytes(np.array(entries, TIME_INDEX).tobytes())
    task = PartTask(str(folder), segment, 0, Part(0, 0, 0, 0), True, True, 0, None)
    return [finding.text for finding in _time_index_order(task)]


@pytest.mark.parametrize(
    ("entries", "wrong"),
    [
        ([(5, 1), (5, 1), (6, 2)], []),
        ([(5, 1), (7, 3), (8, 2)], [2]),
        ([(5, 1), (7, 2), (6, 3)], [2]),
        ([(5, 1), (4, 2), (3, 3)], [1]),
        ([(5, -2), (7, -1)], [1]),
    ],
)
def test_entries_of_a_time_index_never_become_smaller(tmp_path, entries, wrong):
    expected = [f"entry {number} is smaller than the one before" for number in wrong]
    assert time_index_texts(tmp_path, entries) == expected


def batch_rows(*batches: tuple[int, bool]) -> np.ndarray:
    """Return data batches at offsets 0, 10, 20, ... of some producers, in a transaction or not."""
    rows = np.zeros(len(batches), ROW)
    rows["marker"] = NO_MARKER
    rows["first_offset"] = np.arange(len(batches)) * 10
    rows["producer_id"] = [producer for producer, _ in batches]
    rows["attributes"] = [TRANSACTIONAL * is_transactional for _, is_transactional in batches]
    return rows


def test_a_batch_outside_a_transaction_that_is_open_is_found_at_its_own_row():
    rows = batch_rows((1, False), (2, True), (2, False), (2, False), (3, True), (4, False))
    (broken,) = _batches_outside(rows)
    assert broken.row["first_offset"] == 20
    assert "producer 2:" in broken.text and "offset 10 is open" in broken.text


def test_the_count_of_a_snapshot_has_four_bytes(tmp_path):
    entries = np.zeros(2, SNAPSHOT).tobytes()
    for count, is_right in ((2, True), (2 + 2**24, False), (2 + 2**8, False)):
        checked = struct.pack(">I", count) + entries
        path = tmp_path / f"{count}.snapshot"
        path.write_bytes(struct.pack(">HI", 1, crc32c(checked)) + checked)
        if is_right:
            assert len(snapshot_entries(path)) == count
        else:
            with pytest.raises(ValueError, match=f"not the size of {count} entries"):
                snapshot_entries(path)


def test_outputs_are_checked_before_the_audit(tmp_path, monkeypatch):
    monkeypatch.setattr("kafka_tools.audit.audit.audit", lambda *given: pytest.fail("the audit began"))
    report = tmp_path / "report"
    with pytest.raises(UserError, match="--json and --html name the same file"):
        audit_logs(AuditSettings(folders=(tmp_path / "log",), json=str(report), html=report))


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({}, ""),
        ({"file": "0.log", "position": 0, "offset": 0}, "0.log, byte 0, offset 0"),
        ({"file": "0.index"}, "0.index"),
        ({"offset": 7}, "offset 7"),
        ({"file": "0.log", "position": 61}, "0.log, byte 61"),
    ],
)
def test_the_place_of_a_finding_has_the_parts_that_are_known(place, text):
    assert AuditFinding(Kind.INDEX, "wrong", "folder", **place).place == text


@pytest.mark.parametrize(("count", "rest"), [(3, None), (4, "  and 1 more: index"), (5, "  and 2 more: index")])
def test_findings_beyond_the_shown_ones_are_counted(count, rest):
    findings = [AuditFinding(Kind.INDEX, f"wrong {number}", "folder") for number in range(count)]
    lines = ["".join(part if isinstance(part, str) else part[0] for part in one) for one in _finding_lines(findings, 3)]
    assert lines[6:] == ([] if rest is None else [rest])
