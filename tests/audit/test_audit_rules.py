"""Rules of the audit at their edges, each on a few rows or entries."""

import struct
import threading
import zlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from crc32c import crc32c

from checker.errors import UserError
from checker.output.styled_lines import plain
from kafka_tools.audit import part_audit, producer_rules, record_batches
from kafka_tools.audit.audit import AuditReport, AuditTask, Unread, audit, in_processes, on_spark
from kafka_tools.audit.audit_command import AuditSettings, audit_logs
from kafka_tools.audit.audit_text import (
    _finding_lines,
    duplicate_sentences,
    look_command,
    report_data,
    report_lines,
    verdict_text,
)
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
    limited,
)
from kafka_tools.audit.partition_audit import PartitionAudit, PartitionReport, RepeatedBatch, _producer_states
from kafka_tools.audit.partition_folder import (
    CHECKPOINTS,
    EVERY_OFFSET,
    HIGH_WATERMARKS,
    LOG_STARTS,
    OFFSET_INDEX,
    SNAPSHOT,
    TIME_INDEX,
    LogDirectory,
    PartitionFolder,
    Segment,
    _not_compared,
    folders_of,
    snapshot_entries,
)
from kafka_tools.audit.producer_rules import Broken, Pair, broken_rules, first_sequences
from kafka_tools.audit.record_batches import (
    COMMIT,
    CONTROL,
    HEADER_BYTES,
    LOG_APPEND_TIME,
    NO_MARKER,
    ROW,
    TRANSACTIONAL,
    BadPlace,
    Part,
)
from kafka_tools.audit.transactions import (
    Ended,
    ProducerPart,
    TransactionPart,
    TransactionState,
    _batches_outside,
    transactions_of,
)
from tests.audit.real_log import audited, batches, extract


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


def test_folders_that_are_no_partitions_are_left_out(tmp_path):
    identifier = "0123456789abcdef" * 2
    names = [f"a-0.{identifier}-{what}" for what in ("delete", "future", "stray")] + ["__cluster_metadata-0"]
    for name in (*names, "a-0", "b.c-1", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / f"b-0.{identifier}-delete").touch()
    (tmp_path / "c-0").touch()
    assert [path.name for path in folders_of(tmp_path)] == ["a-0", "b.c-1"]


@pytest.mark.parametrize(("epochs", "end"), [((), "1.timeindex, 2.timeindex"), (None, "1.timeindex and 1 more")])
def test_six_missing_files_are_named(tmp_path, epochs, end):
    directory = LogDirectory({file: {tmp_path.name: 0} for file in CHECKPOINTS})
    segments = [Segment(number, tmp_path / f"{number}.log", 0, 0) for number in range(3)]
    [note] = _not_compared(tmp_path, directory, segments, epochs)
    assert note.kind is Kind.UNCHECKED and note.text.endswith(end)
    for segment in segments:
        for suffix in (".index", ".timeindex"):
            segment.path.with_suffix(suffix).touch()
    assert list(_not_compared(tmp_path, directory, segments, ())) == []
    [note] = _not_compared(tmp_path, LogDirectory({HIGH_WATERMARKS: {}, LOG_STARTS: {}}), segments, ())
    missing = f"recovery-point-offset-checkpoint, the entry of {tmp_path.name} in {HIGH_WATERMARKS}"
    assert note.text == f"missing, and so not compared: {missing}"


def test_of_many_findings_of_a_kind_the_others_are_counted():
    many = [AuditFinding(Kind.INDEX, f"wrong {offset}", "f", "0.log", offset=offset) for offset in range(23)]
    other = AuditFinding(Kind.BOUNDS, "other", "f")
    assert list(limited(iter([*many, other, *many[:20]]))) == [
        *many[:20],
        other,
        AuditFinding(Kind.INDEX, "23 more of this kind follow, the last at offset 19", "f", "0.log"),
    ]
    assert list(limited(iter(many[:20]))) == many[:20] and len(list(limited(iter(many[:21])))) == 21


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
        *(
            ({"first_sequence": {5: first}, "last_sequence": {5: last}}, [(50, text)])
            for first, last, text in (
                (40, 49, "sequence 40 to 49 is in the log twice, also at offset 40"),
                (40, 48, "sequence 40, expected 50 after offset 49"),
                (41, 49, "sequence 41, expected 50 after offset 49"),
            )
        ),
    ],
)
def test_a_rule_of_producers(changes, expected):
    found = [(int(rule.row["first_offset"]), rule.text) for rule in broken_rules(plain_rows(**changes))]
    assert [offset for offset, _ in found] == [offset for offset, _ in expected]
    assert all(text in one for (_, one), (_, text) in zip(found, expected, strict=True))


@pytest.mark.parametrize(
    ("changes", "is_compacted", "kind"),
    [
        ({"first_sequence": {3: 31}}, False, Kind.SEQUENCE_GAP),
        ({"first_sequence": {3: 31}}, True, None),
        ({"first_sequence": {3: 29}}, False, Kind.SEQUENCE_BACK),
        ({"first_sequence": {3: 29}}, True, Kind.SEQUENCE_BACK),
        ({"first_sequence": {3: 20}, "last_sequence": {3: 29}}, True, Kind.DUPLICATE_SEQUENCE),
        ({"first_sequence": {3: 31}, "max_timestamp": {3: 86_399_999}}, False, Kind.SEQUENCE_GAP),
        ({"first_sequence": {3: 31}, "max_timestamp": {3: 86_400_000}}, False, Kind.EXPIRED_PRODUCER),
        # A sequence more than half of all away is an earlier one.
        ({"first_sequence": {3: 30 + (1 << 30)}}, False, Kind.SEQUENCE_GAP),
        ({"first_sequence": {3: 31 + (1 << 30)}}, False, Kind.SEQUENCE_BACK),
        ({"first_sequence": {3: 5}, "producer_epoch": {3: 1, 4: 1, 5: 1}}, False, Kind.SEQUENCE_GAP),
        ({"last_sequence": {2: (1 << 31) - 1}, "first_sequence": {3: 0}}, False, None),
    ],
)
def test_the_kind_of_a_wrong_sequence(changes, is_compacted, kind):
    changes = {"last_sequence": {3: 39}} | changes
    rules = broken_rules(plain_rows(**changes), is_compacted=is_compacted)
    assert [(rule.kind, int(rule.row["first_offset"])) for rule in rules] == [(kind, 30)] * bool(kind)


@pytest.mark.parametrize(
    ("changes", "is_new", "offsets"),
    [
        ({}, True, []),
        ({"first_sequence": {0: 5, 1: 6}}, True, [0]),
        ({"first_sequence": {0: 5}}, False, []),
        ({"first_sequence": {0: 5}, "damage": {0: 1}}, True, []),
        ({"first_sequence": {0: 5}, "attributes": {0: CONTROL}}, True, [10]),
        ({"first_sequence": {3: 5}, "producer_id": {3: 8, 4: 8, 5: 8}}, True, [30]),
    ],
)
def test_the_first_sequence_of_a_producer_is_0(changes, is_new, offsets):
    found = list(first_sequences(plain_rows(**changes), np.full(6, is_new)))
    assert [int(rule.row["first_offset"]) for rule in found] == offsets
    assert list(first_sequences(plain_rows()[:0], np.zeros(0, bool))) == []


BUMP = {"producer_epoch": {3: 1, 4: 1, 5: 1}, "base_timestamp": {0: 1, 1: 2, 2: 3, 3: 1, 4: 9, 5: 3}}


@pytest.mark.parametrize(
    ("changes", "new", "window", "pairs"),
    [
        ({}, None, 64, [(0, 30), (20, 50)]),
        ({"size": {3: 101}}, None, 64, [(20, 50)]),
        ({"records": {0: 9}}, None, 64, [(20, 50)]),
        ({"max_timestamp": {3: 5}}, None, 64, [(20, 50)]),
        (
            {"max_timestamp": {3: 5}, "attributes": {0: LOG_APPEND_TIME, 3: LOG_APPEND_TIME}},
            None,
            64,
            [(0, 30), (20, 50)],
        ),
        ({"attributes": {3: TRANSACTIONAL}}, None, 64, [(20, 50)]),
        ({"attributes": {0: CONTROL}}, None, 64, [(20, 50)]),
        ({"producer_epoch": {3: 1, 4: 1, 5: 2}}, None, 64, [(0, 30), (20, 50)]),
        ({"producer_epoch": {}}, None, 64, []),
        ({"producer_id": {5: 8}}, None, 64, [(0, 30)]),
        ({"producer_id": {0: 6}}, None, 64, [(20, 50)]),
        ({}, [0, 0, 0, 1, 1, 1], 64, [(0, 30), (20, 50)]),
        ({}, [0, 0, 1, 1, 1, 1], 64, [(0, 30)]),
        ({}, [0, 0, 0, 1, 1, 0], 64, [(0, 30)]),
        ({}, None, 3, [(0, 30), (20, 50)]),
        ({}, None, 2, []),
        ({"base_timestamp": {2: 1, 3: 1}}, None, 1, [(20, 30)]),
    ],
)
def test_a_batch_that_was_sent_again_under_a_newer_epoch(monkeypatch, changes, new, window, pairs):
    monkeypatch.setattr(producer_rules, "WINDOW", window)
    rows = plain_rows(**(BUMP | changes))
    found = producer_rules.repeated_batches(rows, None if new is None else np.array(new, bool))
    assert [(int(pair.first["first_offset"]), int(pair.second["first_offset"])) for pair in found] == pairs


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


def test_transactions_go_on_in_the_next_part():
    state, ended = TransactionState(), Ended(7, None, 40, True)

    def add(part: ProducerPart) -> tuple[object, ...]:
        assert state.add(TransactionPart({7: part}, empty_markers=1)) == []
        return dict(state.open), list(state.aborted), state.empty_markers

    assert add(ProducerPart(None, 5, 10)) == ({7: (5, 10)}, [], 1)
    assert add(ProducerPart(None, 20, 30)) == ({7: (5, 30)}, [], 2)
    aborted = replace(ended, first=5)
    assert add(ProducerPart(ended, 41, 50, 3, 4)) == ({7: (41, 50)}, [aborted], 3)
    assert add(ProducerPart(replace(ended, is_abort=False), None, 60, 4, 4)) == ({}, [aborted], 4)
    # A marker without a batch, in this part or before.
    assert add(ProducerPart(ended, None, 70, 4, 5)) == ({}, [aborted], 6)
    assert add(ProducerPart(replace(ended, first=33), None, 80, 5, 5))[1] == [aborted, replace(ended, first=33)]
    assert state.coordinator_epochs == {7: 5}
    assert len(state.add(TransactionPart({7: ProducerPart(ended, None, 90, 4, 4)}))) == 1


@pytest.mark.parametrize(
    ("changes", "cleaned", "pair"),
    [
        ({}, 0, None),
        ({"crc": {2: 1}}, 0, (20, 20)),
        ({"crc": {2: 1}}, 20, (20, 20)),
        ({"crc": {2: 1}}, 21, None),
        # The cleaner may have changed the batches before its offset.
        ({"crc": {2: 1, 3: 1, 5: 1}}, 45, (50, 50)),
        ({"first_offset": {0: 5}}, 0, (0, 5)),
        ({"last_offset": {5: 60}}, 0, (50, 50)),
    ],
)
def test_the_first_different_batch_of_two_copies(changes, cleaned, pair):
    found = [
        (int(one["first_offset"]), int(other["first_offset"]))
        for one, other in _align(iter([plain_rows()]), iter([plain_rows(**changes)]), cleaned)
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


# What only the whole partition shows. The log has the offsets 0 to 59, its second segment begins with 40.


def whole(*, rows=None, damage: int = 0, **changes: object) -> PartitionAudit:
    """Return the audit of a partition after its last part; `changes` are those of what its folder says."""
    segments = (Segment(0, Path("0.log"), 0, 400), Segment(1, Path("40.log"), 40, 200))
    usual = dict(epochs=None, high_watermark=None, log_start=None, recovery_point=None, cleaned=0)
    usual |= dict(segments=segments, may_be_compacted=False, has_log_starts=False)
    folder = PartitionFolder(Path("orders-0"), "orders-0", **(usual | changes))  # type: ignore[arg-type]
    rows = plain_rows(**(rows or {}))
    return PartitionAudit(folder, first=rows[0], last=rows[5], damage=damage)


LATER = (Segment(0, Path("10.log"), 10, 400), Segment(1, Path("40.log"), 40, 200))
IN_SECOND = {"segment": {0: 1}, "first_offset": {0: 40}}
STARTS = {"has_log_starts": True, "epochs": ((2, 1),)}


@pytest.mark.parametrize(
    ("rule", "given", "expected"),
    [
        ("_bounds", dict(high_watermark=60, recovery_point=60, cleaned=60, log_start=60), []),
        (
            "_bounds",
            dict(high_watermark=61),
            ["the high watermark of replication-offset-checkpoint is 61, the log ends at 60"],
        ),
        (
            "_bounds",
            dict(recovery_point=61),
            ["the recovery point of recovery-point-offset-checkpoint is 61, the log ends at 60"],
        ),
        (
            "_bounds",
            dict(cleaned=61),
            ["the end of the compacted part of cleaner-offset-checkpoint is 61, the log ends at 60"],
        ),
        ("_bounds", dict(cleaned=EVERY_OFFSET), []),
        ("_bounds", dict(log_start=61), ["the log start of log-start-offset-checkpoint is 61, the log ends at 60"]),
        ("_bounds", dict(log_start=10, segments=LATER), []),
        (
            "_bounds",
            dict(log_start=9, segments=LATER),
            ["the log start of log-start-offset-checkpoint is 9, the log begins with 10"],
        ),
        ("_bounds", dict(log_start=0, segments=()), []),
        ("_empty_segments", {}, []),
        ("_empty_segments", dict(rows=IN_SECOND), ["offsets 0 to 39 are missing"]),
        ("_empty_segments", dict(rows=IN_SECOND, segments=LATER), ["offsets 10 to 39 are missing"]),
        ("_empty_segments", dict(rows=IN_SECOND, cleaned=39), ["offsets 0 to 39 are missing"]),
        ("_empty_segments", dict(rows=IN_SECOND, cleaned=40), []),
        ("_empty_segments", dict(rows=IN_SECOND, damage=1), []),
        ("_empty_segments", dict(rows=IN_SECOND | {"magic": {0: 1}}), []),
        ("_empty_segments", dict(rows=IN_SECOND, segments=()), []),
        (
            "_files_beyond_the_end",
            dict(snapshots=(Path("60.snapshot"), Path("x.snapshot")), epochs=((0, 0), (1, 60))),
            [],
        ),
        (
            "_files_beyond_the_end",
            dict(snapshots=(Path("61.snapshot"),)),
            ["a snapshot of offset 61, and the log ends at 60"],
        ),
        (
            "_files_beyond_the_end",
            dict(epochs=((0, 0), (1, 61))),
            ["leader-epoch-checkpoint has epoch 1 from offset 61, and the log ends at 60"],
        ),
        ("_epochs_without_entry", {}, []),
        (
            "_epochs_without_entry",
            dict(epochs=()),
            ["leader-epoch-checkpoint has no epoch, and the last batch has epoch 2"],
        ),
        (
            "_epochs_without_entry",
            dict(epochs=(), rows={"leader_epoch": {5: 0}}),
            ["leader-epoch-checkpoint has no epoch, and the last batch has epoch 0"],
        ),
        ("_epochs_without_entry", dict(epochs=(), rows={"leader_epoch": {5: -1}}), []),
        (
            "_epochs_without_entry",
            STARTS,
            [
                "leader-epoch-checkpoint begins with offset 1, the log with 0: a crash soon after records were deleted "
                "leaves this; the epochs before are not compared"
            ],
        ),
        ("_epochs_without_entry", STARTS | dict(epochs=((2, 0),)), []),
        ("_epochs_without_entry", STARTS | dict(has_log_starts=False), []),
        ("_epochs_without_entry", STARTS | dict(log_start=0), []),
        ("_epochs_without_entry", STARTS | dict(rows={"leader_epoch": {0: -1}}), []),
    ],
)
def test_a_rule_of_a_whole_partition(rule, given, expected):
    assert [finding.text for finding in getattr(whole(**given), rule)()] == expected


def test_a_log_without_a_batch_ends_where_its_newest_segment_begins():
    audit = whole(high_watermark=41)
    audit.first = audit.last = None
    assert [finding.text for finding in audit._empty_segments()] == ["offsets 0 to 39 are missing"]
    assert [finding.offset for finding in audit._bounds()] == [40] and list(audit._epochs_without_entry()) == []
    assert (audit._first_offset(), audit.report().end_offset) == (None, None)


@pytest.mark.parametrize(
    ("changes", "cleaned", "texts", "damage"),
    [
        ({}, 0, [], 0),
        ({"first_offset": 9}, 0, ["the batch begins with offset 9 after offset 9"], 0),
        ({"first_offset": 11}, 0, ["offsets 10 to 10 are missing"], 1),
        ({"first_offset": 11}, 10, ["offsets 10 to 10 are missing"], 1),
        ({"first_offset": 11}, 11, [], 0),
        ({"first_offset": 11, "magic": 1}, 0, [], 0),
        ({"leader_epoch": -1}, 0, ["leader epoch -1 after 0"], 0),
        ({"leader_epoch": -1, "magic": 1}, 0, [], 0),
        ({"first_offset": 9, "leader_epoch": -1}, 0, [BACK.format(9, 9), "leader epoch -1 after 0"], 0),
    ],
)
def test_the_first_batch_of_a_part_follows_the_last_one_before_it(changes, cleaned, texts, damage):
    """Offsets that are missing count as damage. Messages of magic 0 and 1 hide some."""
    audit, rows = whole(cleaned=cleaned), plain_rows()
    before, row = rows[0], rows[1]
    for name, value in changes.items():
        row[name] = value
    audit._compare(before, row)
    assert ([finding.text for finding in audit.findings], audit.damage) == (texts, damage)
    assert all(
        (each.file, each.position, each.offset) == ("0.log", 100, row["first_offset"]) for each in audit.findings
    )
    before["magic"], row["magic"], audit.findings = 1, 2, []
    audit._compare(before, row)
    assert not any(each.kind is Kind.OFFSET_GAP for each in audit.findings)


@pytest.mark.parametrize(
    ("waited", "damage", "kind", "end"),
    [
        (900_000, 0, Kind.OPEN_TRANSACTION, "has no marker"),
        (
            900_001,
            0,
            Kind.TRANSACTION,
            "has no marker, 15 minutes later in the log; read_committed consumers stop there",
        ),
        (900_001, 1, Kind.OPEN_TRANSACTION, "has no marker"),
    ],
)
def test_a_transaction_that_is_open_for_too_long(waited, damage, kind, end):
    audit = whole(damage=damage)
    audit.transactions.open[7] = 20, 1000
    [finding] = audit._open_transactions(1000 + waited)
    assert (finding.kind, finding.offset) == (kind, 20) and finding.text.endswith(end)


@pytest.mark.parametrize(
    ("kind", "may_be_compacted", "notes"),
    [(Kind.OFFSET_GAP, True, 1), (Kind.OFFSET_GAP, False, 0), (Kind.INDEX, True, 0)],
)
def test_compaction_is_a_hint_for_what_it_explains(kind, may_be_compacted, notes):
    audit = whole(may_be_compacted=may_be_compacted)
    audit.findings = [AuditFinding(Kind.INDEX, "", ""), AuditFinding(kind, "", "")]
    assert len(list(audit._hint())) == notes


def test_the_state_of_a_producer_is_that_of_its_last_batch():
    """A marker of a newer epoch forgets the sequences; one of the same epoch keeps them."""
    marker = {"attributes": {1: CONTROL, 3: CONTROL, 5: CONTROL}, "max_timestamp": {0: 10, 1: 11, 2: 12, 3: 13, 5: 15}}
    epochs = {
        "producer_id": {0: 1, 1: 1, 2: 2, 3: 2, 4: 3, 5: 4},
        "producer_epoch": {0: 4, 1: 5, 2: 6, 3: 6, 4: 7, 5: 8},
    }
    assert {producer: tuple(state) for producer, state in _producer_states(plain_rows(**marker, **epochs)).items()} == {
        1: (5, -1, -1, 0, 11),
        2: (6, 29, 29, 9, 13),
        3: (7, 49, 49, 9, 0),
        4: (8, -1, -1, 0, 15),
    }


def test_a_row_has_the_fields_of_its_batch(tmp_path):
    path = next(extract(tmp_path).glob(f"payments-0/{0:020}.log"))
    data = path.read_bytes()
    with path.open("rb") as file:
        [rows] = record_batches.scan(file.fileno(), Part(4, 0, len(data), len(data)), checks_crc=True)
    assert rows[["position", "size"]].tolist() == batches(data) and set(rows["segment"]) == {4}
    for row in rows:
        base, _, leader_epoch, magic, crc, attributes, delta, *rest = struct.unpack_from(
            ">qiibIhiqqqhii", data, int(row["position"])
        )
        first_time, last_time, producer, epoch, sequence, records = rest
        assert (row["first_offset"], row["last_offset"], row["magic"], row["crc"]) == (base, base + delta, magic, crc)
        assert (row["leader_epoch"], row["attributes"], row["records"]) == (leader_epoch, attributes, records)
        assert (row["base_timestamp"], row["max_timestamp"]) == (first_time, last_time)
        assert (row["producer_id"], row["producer_epoch"], row["first_sequence"]) == (producer, epoch, sequence)
        assert row["last_sequence"] == (-1 if sequence < 0 else sequence + delta)
        # The key of a marker ends with its type, and its value with the epoch of the coordinator.
        end = int(row["position"] + row["size"])
        marker = struct.unpack_from(">h", data, int(row["position"]) + 68)[0] if attributes & CONTROL else NO_MARKER
        coordinator = struct.unpack_from(">i", data, end - 5)[0] if attributes & CONTROL else -1
        assert (row["marker"], row["coordinator_epoch"]) == (marker, coordinator)
    assert {*rows["marker"]} == {NO_MARKER, 0, COMMIT}


@pytest.mark.parametrize("magic", [1, 2])
def test_a_file_that_is_cut_off_while_it_is_read_ends(tmp_path, magic):
    path = tmp_path / "0.log"
    path.write_bytes(bytes(range(30)))
    with path.open("rb") as file:
        expected = crc32c(bytes(range(21, 30))) if magic == 2 else zlib.crc32(bytes(range(16, 30)))
        assert record_batches._checksum_in_blocks(file.fileno(), 0, 99, magic) == expected
        assert not record_batches._is_zero(file.fileno(), 0, 99) and record_batches._is_zero(file.fileno(), 30, 99)


@pytest.mark.parametrize("block", [70, 300, 1000])
def test_the_size_of_a_block_changes_nothing(tmp_path, monkeypatch, block):
    """Batches are longer than the smallest one."""
    data = next(extract(tmp_path).glob("orders-0/*1041.log")).read_bytes()[:3000]
    _, (following, _), *_, (last, _) = batches(data)
    data, path = data[:last], tmp_path / "segment.log"
    flipped = bytearray(data)
    flipped[following + 80] ^= 1
    damaged = [data, bytes(flipped), data[:-5], data + bytes(200), data[:following] + b"\xff" * 90 + data[following:]]
    for content in damaged:
        path.write_bytes(content)
        found = []
        for size in (1 << 20, block):
            monkeypatch.setattr(record_batches, "_BLOCK", size)
            with path.open("rb") as file:
                parts = list(
                    record_batches.scan(file.fileno(), Part(0, 0, len(content), len(content)), checks_crc=True)
                )
            rows = np.concatenate([part for part in parts if not isinstance(part, BadPlace)])
            found.append((rows.tolist(), sorted(str(part) for part in parts if isinstance(part, BadPlace))))
        assert found[0] == found[1] and len(found[0][1]) == (content != data)


def test_a_segment_is_read_as_long_as_it_was_when_the_audit_began(tmp_path):
    """A broker may append the rest of a batch, and further ones, while the audit runs."""
    data, path = next(extract(tmp_path).glob("orders-0/*1041.log")).read_bytes(), tmp_path / "segment.log"
    size = batches(data)[2][0] + 70
    results = []
    for content in (data[:size], data):
        path.write_bytes(content)
        with path.open("rb") as file:
            rows, bad = record_batches.scan(file.fileno(), Part(0, 0, size, size), checks_crc=True)
        results.append((rows.tolist(), bad))
    assert results[0] == results[1] and len(results[0][0]) == 2 and results[0][1].is_incomplete


def test_the_first_batch_is_found_after_bytes_that_are_none(tmp_path):
    data, path = next(extract(tmp_path).glob("orders-0/*0000.log")).read_bytes(), tmp_path / "segment.log"
    path.write_bytes(b"\xff" * 90 + data)
    with path.open("rb") as file:
        bad, rows = record_batches.scan(file.fileno(), Part(0, 0, 90 + len(data), 90 + len(data)), checks_crc=True)
    assert (bad.position, bad.end, rows[0]["first_offset"], rows[0]["position"]) == (0, 90, 0, 90)


@pytest.mark.parametrize("compared", [1, 4, 10, 1 << 20])
@pytest.mark.parametrize("different", [None, 0, 4, 9])
def test_every_byte_of_two_batches_is_compared(tmp_path, monkeypatch, compared, different):
    monkeypatch.setattr(part_audit, "_COMPARED_BYTES", compared)
    records = bytearray(range(10))
    (tmp_path / "0.log").write_bytes(b"x" * HEADER_BYTES + records + b"y")
    if different is not None:
        records[different] ^= 1
    (tmp_path / "1.log").write_bytes(b"z" * (5 + HEADER_BYTES) + records + b"z")
    rows = plain_rows(size=dict.fromkeys(range(2), HEADER_BYTES + 10), segment={1: 1}, position={1: 5})
    paths = {number: tmp_path / f"{number}.log" for number in range(2)}
    assert part_audit.has_same_records(Pair(rows[0], rows[1]), paths) == (different is None)


@pytest.mark.parametrize(
    ("name", "is_wrong"),
    [
        (f"{2**63 - 1:020}", False),
        (f"{2**63:020}", True),
        *((name, True) for name in ("41", "0" * 21, f"{41:020}x", f"-{41:019}", "copy")),
    ],
)
def test_a_file_that_cannot_be_a_segment_is_named(tmp_path, name, is_wrong):
    folder = tmp_path / "a-0"
    folder.mkdir()
    for each in (f"{0:020}", name):
        (folder / f"{each}.log").write_bytes(b"")
    findings = [(each.kind, each.file) for each in audited(folder).findings if each.kind is Kind.WRONG_FILE]
    assert findings == [(Kind.WRONG_FILE, f"{name}.log")] * is_wrong


@pytest.mark.parametrize(
    ("data", "value"),
    [(b"\x00", 0), (b"\x01", -1), (b"\x02", 1), (b"\x7f", -64), (b"\x80\x01", 64), (b"\xff\xff\x03", -32768)],
)
def test_a_number_of_a_variable_size(data, value):
    assert record_batches.varint(b"x" + data + b"y", 1) == (value, 1 + len(data))
    with pytest.raises(IndexError):
        record_batches.varint(data[:-1], 0)


def partition_report(*findings: AuditFinding, batches: int = 2) -> PartitionReport:
    return PartitionReport("logs/orders-0", "orders-0", 1, batches, 9, 1_500_000, 0, 10, None, 0, 0, 0, findings, ())


GAP, NOTE_ = AuditFinding(Kind.OFFSET_GAP, "gap", "f", "9.log", 5, 7), AuditFinding(Kind.UNCHECKED, "note", "f")


@pytest.mark.parametrize(
    ("findings", "unread", "is_interrupted", "text"),
    [
        ([], 0, False, "no findings"),
        ([NOTE_], 0, False, "no findings"),
        ([GAP], 0, False, "1 finding (offsets missing: 1)"),
        ([GAP, NOTE_, GAP], 1, False, "2 findings (offsets missing: 2), and not everything was read"),
        ([], 1, False, "undecided: not everything was read"),
        ([], 1, True, "undecided: the audit was interrupted"),
    ],
)
def test_the_verdict_of_an_audit(findings, unread, is_interrupted, text):
    unread_files = (Unread("0.log", "broken"),) * unread
    report = AuditReport((partition_report(*findings),), (), unread_files, 0, is_interrupted)
    assert verdict_text(report) == text
    data = report_data(report)
    assert data["verdict"] == ("findings" if GAP in findings else "undecided" if text.startswith("un") else "sound")
    assert [finding["kind"] for finding in data["partitions"][0]["findings"]] == [
        each.kind.name.lower() for each in findings
    ]


def test_an_audit_as_text():
    copies = AuditFinding(Kind.COPIES, "they differ", "logs/orders-0", offset=3)
    report = AuditReport((partition_report(GAP), partition_report(NOTE_)), (copies,), (Unread("0.log", "broken"),), 1)
    assert plain(report_lines(report, 2.0)).splitlines() == [
        "orders-0: offsets 0 to 9; 1 segment, 2 batches, 1.5 MB  logs/orders-0",
        "  offsets missing at 9.log, byte 5, offset 7",
        "      gap",
        "  To look at it: kafka-dump-log.sh --files logs/orders-0/9.log",
        "",
        "orders-0: offsets 0 to 9; 1 segment, 2 batches, 1.5 MB  logs/orders-0",
        "  note: not checked",
        "      note",
        "",
        "orders-0, offset 3: copies differ",
        "  they differ",
        "",
        "0.log was not read: broken",
        "2 findings (offsets missing: 1, copies differ: 1), and not everything was read; "
        "2 partitions, 4 batches, 3.0 MB in 2.0 s, 1 copy compared",
    ]


def test_the_segment_to_look_at_has_the_offset(tmp_path):
    for name in (f"{0:020}.log", f"{40:020}.log", "x.log"):
        (tmp_path / name).touch()
    for offset, name in (
        (0, f"{0:020}"),
        (39, f"{0:020}"),
        (40, f"{40:020}"),
        (99, f"{40:020}"),
        (-1, None),
        (None, None),
    ):
        finding = AuditFinding(Kind.BOUNDS, "", "", "a.index", None, offset)
        command = look_command(replace(partition_report(NOTE_, finding), path=str(tmp_path)))
        assert command == (f"kafka-dump-log.sh --files {tmp_path}/{name}.log" if name else "")


def test_an_audit_shows_its_progress_and_ends_when_it_is_interrupted(tmp_path):
    folder, cancelled, seen = extract(tmp_path), threading.Event(), []

    def progress(done: int, total: int) -> None:
        seen.append((done, total))
        if len(seen) == 2:
            cancelled.set()

    report = audit(AuditTask((folder,), part_bytes=20_000), in_processes(1, cancelled), progress)
    sizes = [sum(file.stat().st_size for file in sorted(path.glob("*.log"))) for path in sorted(folder.glob("*-0"))]
    assert seen == [(sizes[0], sum(sizes)), (sizes[0] + sizes[1], sum(sizes))]
    assert report.is_interrupted and not report.is_complete and len(report.partitions) == 2
    assert list(in_processes(2, cancelled)([None, None])) == [], "no task begins"  # type: ignore[list-item]


def test_parts_on_spark_are_joined_in_order_until_an_interrupt(monkeypatch):
    given, cancelled = [], threading.Event()
    monkeypatch.setattr("kafka_tools.audit.audit.attempt", str)

    def parallelize(tasks, parts):
        given.append(parts)
        return SimpleNamespace(map=lambda work: SimpleNamespace(toLocalIterator=lambda **_: map(work, tasks)))

    run = on_spark(SimpleNamespace(sparkContext=SimpleNamespace(parallelize=parallelize)), cancelled)
    results = run([3, 1, 2])
    assert next(results) == "3" and next(results) == "1"
    cancelled.set()
    assert list(results) == [] and given == [3] and (list(run([])), given) == ([], [3, 1])
