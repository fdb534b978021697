"""Rules of the audit at their edges, each on a few rows or entries."""

import struct
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from crc32c import crc32c

from checker.errors import UserError
from kafka_tools.audit import record_batches
from kafka_tools.audit.audit_command import AuditSettings, audit_logs
from kafka_tools.audit.audit_text import _finding_lines, duplicate_sentences
from kafka_tools.audit.copies import _align
from kafka_tools.audit.findings import AuditFinding, Kind
from kafka_tools.audit.part_audit import (
    PartTask,
    _index,
    _leader_epochs,
    _offsets,
    _record_counts,
    _time_index_order,
    findings_of_broken_rules,
)
from kafka_tools.audit.partition_audit import RepeatedBatch
from kafka_tools.audit.partition_folder import OFFSET_INDEX, SNAPSHOT, TIME_INDEX, snapshot_entries
from kafka_tools.audit.producer_rules import Broken, broken_rules
from kafka_tools.audit.record_batches import COMMIT, CONTROL, NO_MARKER, ROW, TRANSACTIONAL, BadPlace, Part
from kafka_tools.audit.transactions import _batches_outside, transactions_of
from tests.audit.real_log import batches, extract


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
    settings = AuditSettings(
        folders=(tmp_path / "log",), checks_crc=True, is_compacted=False, json=str(report), html=report
    )
    with pytest.raises(UserError, match="--json and --html name the same file"):
        audit_logs(settings)


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


def plain_rows(**changes: dict[int, int]) -> np.ndarray:
    """Return six batches of ten records of a producer without a fault; `changes` gives fields of some rows values."""
    numbers = np.arange(6)
    rows = np.zeros(6, ROW)
    rows["position"], rows["size"], rows["records"], rows["magic"], rows["marker"] = (
        numbers * 100,
        100,
        10,
        2,
        NO_MARKER,
    )
    rows["first_offset"], rows["first_sequence"] = numbers * 10, numbers * 10
    rows["last_offset"], rows["last_sequence"] = numbers * 10 + 9, numbers * 10 + 9
    rows["producer_id"], rows["leader_epoch"] = 7, numbers // 2
    for name, values in changes.items():
        for number, value in values.items():
            rows[name][number] = value
    return rows


def part_task(base_offset: int = 0, cleaned: int = 0, epochs: tuple[tuple[int, int], ...] | None = None) -> PartTask:
    return PartTask("folder", Path("0.log"), base_offset, Part(0, 0, 600, 600), True, True, cleaned, epochs)


MISSING, BACK = "offsets {} to {} are missing", "the batch begins with offset {} after offset {}"
EPOCHS = ((0, 0), (1, 20), (2, 40))


@pytest.mark.parametrize(
    ("rule", "changes", "given", "expected"),
    [
        (_offsets, {}, {}, []),
        (_offsets, {"first_offset": {3: 31}}, {}, [(31, MISSING.format(30, 30))]),
        (_offsets, {"first_offset": {3: 31}}, {"cleaned": 30}, [(31, MISSING.format(30, 30))]),
        (_offsets, {"first_offset": {3: 31}}, {"cleaned": 31}, []),
        (_offsets, {"first_offset": {3: 31}, "magic": {3: 1}}, {}, []),
        (_offsets, {"first_offset": {3: 31}, "magic": {2: 1}}, {}, []),
        (_offsets, {"first_offset": {3: 31}, "magic": {0: 1}}, {}, [(31, MISSING.format(30, 30))]),
        (_offsets, {"first_offset": {3: 29}}, {}, [(29, BACK.format(29, 29))]),
        (_offsets, {"first_offset": {0: 1}}, {}, [(1, MISSING.format(0, 0))]),
        (_offsets, {"first_offset": {0: 1}}, {"cleaned": 1}, []),
        (_offsets, {"first_offset": {0: 1}, "magic": {0: 1}}, {}, []),
        (_offsets, {}, {"base_offset": 1}, [(0, "the segment begins with offset 1, this batch has a lower one")]),
        (_record_counts, {"records": {2: 9}}, {}, [(20, "9 records for 10 offsets")]),
        (_record_counts, {"records": {2: 9}}, {"cleaned": 20}, [(20, "9 records for 10 offsets")]),
        (_record_counts, {"records": {2: 9}}, {"cleaned": 21}, []),
        (_record_counts, {"records": {2: 11}}, {"cleaned": 21}, [(20, "11 records for 10 offsets")]),
        (_record_counts, {"records": {2: 9}, "magic": {2: 1}}, {}, []),
        (_leader_epochs, {}, {"epochs": EPOCHS}, []),
        (_leader_epochs, {"leader_epoch": {5: 1}}, {}, [(50, "leader epoch 1 after 2")]),
        (_leader_epochs, {"leader_epoch": {5: 1}, "magic": {5: 1}}, {}, []),
        (_leader_epochs, {}, {"epochs": ((1, 20), (2, 40))}, []),
        (
            _leader_epochs,
            {},
            {"epochs": ((0, 0), (1, 21), (2, 40))},
            [(20, "leader epoch 1, but leader-epoch-checkpoint has epoch 0 here")],
        ),
    ],
)
def test_a_rule_of_one_part(rule, changes, given, expected):
    found = list(rule(part_task(**given), plain_rows(**changes)))
    assert [(finding.offset, finding.text) for finding in found] == expected
    assert all((finding.folder, finding.file) == ("folder", "0.log") for finding in found)


@pytest.mark.parametrize(
    ("entry", "bad", "reason"),
    [
        ((40, 400), [], None),
        ((50, 500), [], None),
        ((49, 500), [], "is after a batch with that offset"),
        ((50, 501), [], None),
        ((50, 401), [], "is not the begin of a batch"),
        ((50, 401), [BadPlace(350, 401, "")], "is not the begin of a batch"),
        ((50, 401), [BadPlace(401, 450, "")], None),
        ((50, 401), [BadPlace(402, 450, "")], "is not the begin of a batch"),
    ],
)
def test_an_entry_of_an_offset_index(entry, bad, reason):
    """Positions after the last batch of the part, and in a bad place, say nothing."""
    entries = np.array([(0, 0), entry], OFFSET_INDEX)
    texts = [finding.text for finding in _index(part_task(), entries, plain_rows(), bad)]
    assert texts == ([f"entry 1: offset {entry[0]} has position {entry[1]}, which {reason}"] if reason else [])


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"producer_epoch": {4: 1}, "first_sequence": {4: 0}}, [(50, "has epoch 0 after epoch 1 at offset 40")]),
        ({"producer_epoch": {3: 1, 4: 1, 5: 1}}, [(30, "sequence 30, expected 0 after offset 29")]),
        ({"first_sequence": {3: 31}}, [(30, "sequence 31, expected 30 after offset 29")]),
        ({"damage": {3: 1, 4: 1, 5: 1}, "first_sequence": {3: 31}}, []),
        (
            {"damage": {3: 1, 4: 1, 5: 1}, "first_sequence": {5: 99}},
            [(50, "sequence 99, expected 50 after offset 49")],
        ),
        ({"producer_id": {0: 6}, "first_sequence": {1: 99}}, []),
        ({"producer_id": {4: 8, 5: 8}, "first_sequence": {4: 99}}, []),
        (
            {
                "attributes": {3: CONTROL},
                "first_sequence": {3: -1, 4: 30, 5: 40},
                "last_sequence": {3: -1, 4: 39, 5: 49},
            },
            [],
        ),
    ],
)
def test_a_rule_of_producers(changes, expected):
    found = [(int(rule.row["first_offset"]), rule.text) for rule in broken_rules(plain_rows(**changes))]
    assert [offset for offset, _ in found] == [offset for offset, _ in expected]
    assert all(text in one for (_, one), (_, text) in zip(found, expected, strict=True))


def test_a_broken_rule_names_its_place():
    rule = Broken(Kind.EPOCH_BACK, plain_rows()[4], "text")
    [finding] = findings_of_broken_rules("folder", "0.log", [rule])
    assert finding == AuditFinding(Kind.EPOCH_BACK, "text", "folder", "0.log", 400, 40)


def test_the_epochs_of_a_part_are_those_of_its_first_and_last_marker():
    markers = {"marker": {1: COMMIT, 3: COMMIT, 5: COMMIT}, "attributes": dict.fromkeys(range(6), TRANSACTIONAL)}
    part, broken = transactions_of(plain_rows(coordinator_epoch={1: 3, 3: 4, 5: 5}, **markers))
    assert broken == [] and part.producers[7].first_coordinator_epoch == 3
    assert part.producers[7].last_coordinator_epoch == 5
    _, broken = transactions_of(plain_rows(coordinator_epoch={1: 3, 3: 5, 5: 4}, **markers))
    assert [int(rule.row["first_offset"]) for rule in broken] == [50]


@pytest.mark.parametrize(
    ("changes", "pair"),
    [
        ({}, None),
        ({"crc": {2: 1}}, (20, 20)),
        ({"first_offset": {0: 5}}, (0, 5)),
        ({"last_offset": {5: 60}}, (50, 50)),
    ],
)
def test_the_first_different_batch_of_two_copies(changes, pair):
    found = [
        (int(one["first_offset"]), int(other["first_offset"]))
        for one, other in _align(iter([plain_rows()]), iter([plain_rows(**changes)]), 0)
    ]
    assert found == ([] if pair is None else [pair])


@pytest.mark.parametrize("block", [64, 80, 200, 1 << 20])
def test_the_next_batch_is_found_across_blocks(tmp_path, monkeypatch, block):
    """The bytes before it fill a block, and its first bytes may be in two."""
    segment = next(extract(tmp_path).glob("orders-0/*1041.log"))
    data = segment.read_bytes()
    position, size = batches(data)[0]
    monkeypatch.setattr(record_batches, "_BLOCK", block)
    for before in range(block - 9, block + 1) if block < 1000 else [3]:
        path = tmp_path / "segment.log"
        path.write_bytes(b"x" * before + data[position : position + size])
        part = Part(0, 0, before + size, before + size)
        with path.open("rb") as file:
            assert record_batches._next_batch(file.fileno(), 0, 1041, part) == before


@pytest.mark.parametrize(
    ("times", "when"),
    [((5, 999), "1970-01-01 00:00:00 UTC"), ((2000, 5), "between 1970-01-01 00:00:00 UTC and 1970-01-01 00:00:02 UTC")],
)
def test_when_repeated_records_were_made(times, when):
    repeated = [RepeatedBatch(7, 1, 0, 0, 0, 0, 1, 1, 0, 1, time) for time in times]
    _, made, *_ = duplicate_sentences(SimpleNamespace(repeated=repeated))
    assert made == f"Made {when}; appended under leader epoch 0 and again under 1."
