"""Each file of a log directory, damaged in each way: the finding, or that nothing shows it (docs/validate.md)."""

import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_tools.audit.findings import Kind
from kafka_tools.audit.record_batches import crc32c
from kafka_tools.audit.transactions import Ended, ProducerPart, TransactionPart, TransactionState
from tests.audit.real_log import (
    ATTRIBUTES,
    BASE_SEQUENCE,
    LEADER_EPOCH,
    PRODUCER_EPOCH,
    PRODUCER_ID,
    audited,
    batches,
    change,
    extract,
    field,
    with_field,
)

FIRST, NEWEST = "00000000000000000000", "00000000000000002730"
ORDERS, PAYMENTS = "orders-0", "payments-0"

NOTE, NOTHING = "a note says that it was not compared", "nothing can show it"

Edit = Callable[[bytes], bytes | None]


def absent(data: bytes) -> None:
    return None


def empty(data: bytes) -> bytes:
    return b""


def truncated(data: bytes) -> bytes:
    return data[: len(data) - 3]


def zeroed(data: bytes) -> bytes:
    return bytes(len(data))


def with_text(text: str) -> Edit:
    return lambda data: text.encode()


def offset_of(name: str, offset: int) -> Edit:
    return with_text(f"0\n1\n{name} 0 {offset}\n")


def from_copy(name: str) -> Edit:
    return lambda data: Path(_ORIGINAL[0], name).read_bytes()


def with_snapshot_field(position: int, kind: str, value: int) -> Edit:
    """Return an edit of the first entry of a snapshot, with a right checksum. An entry begins at byte 10."""

    def edit(data: bytes) -> bytes:
        changed = bytearray(data)
        struct.pack_into(kind, changed, position, value)
        struct.pack_into(">I", changed, 2, crc32c(bytes(changed[6:])))
        return bytes(changed)

    return edit


def with_index_field(position: int, kind: str, value: int) -> Edit:
    def edit(data: bytes) -> bytes:
        changed = bytearray(data)
        struct.pack_into(kind, changed, position, value)
        return bytes(changed)

    return edit


_ORIGINAL: list[Path] = []

HIGH, START, POINT, CLEANER = (
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
EPOCHS, METADATA = f"{ORDERS}/leader-epoch-checkpoint", f"{ORDERS}/partition.metadata"
SNAPSHOT, NEWEST_SNAPSHOT = f"{ORDERS}/00000000000000001041.snapshot", f"{ORDERS}/00000000000000003000.snapshot"
INDEX, TIME, ABORTED = f"{ORDERS}/{FIRST}.index", f"{ORDERS}/{FIRST}.timeindex", f"{PAYMENTS}/{FIRST}.txnindex"
OLD, NEW = f"{ORDERS}/{FIRST}.log", f"{ORDERS}/{NEWEST}.log"

TABLE: list[tuple[str, Edit, Kind | str]] = [
    (OLD, absent, Kind.INDEX),
    (OLD, empty, Kind.OFFSET_GAP),
    (OLD, truncated, Kind.CUT_OFF),
    (OLD, zeroed, Kind.CUT_OFF),
    (OLD, from_copy(f"{ORDERS}/{NEWEST}.log"), Kind.OFFSET_GAP),
    (NEW, absent, Kind.BOUNDS),
    (NEW, empty, Kind.BOUNDS),
    (NEW, truncated, Kind.BOUNDS),
    (NEW, zeroed, Kind.BOUNDS),
    (NEW, from_copy(f"{ORDERS}/{FIRST}.log"), Kind.OFFSET_BACK),
    (INDEX, absent, NOTE),
    (INDEX, empty, NOTHING),
    (INDEX, truncated, Kind.INDEX),
    (INDEX, zeroed, Kind.INDEX),
    (INDEX, with_index_field(12, ">i", 5), Kind.INDEX),
    (INDEX, from_copy(f"{ORDERS}/00000000000000001041.index"), Kind.INDEX),
    (TIME, absent, NOTE),
    (TIME, empty, NOTHING),
    (TIME, truncated, Kind.INDEX),
    (TIME, zeroed, Kind.INDEX),
    (TIME, with_index_field(12, ">q", 5), Kind.INDEX),
    (TIME, from_copy(f"{PAYMENTS}/{FIRST}.timeindex"), NOTHING),
    (ABORTED, absent, Kind.ABORTED_INDEX),
    (ABORTED, empty, Kind.ABORTED_INDEX),
    (ABORTED, truncated, Kind.INDEX),
    (ABORTED, zeroed, Kind.INDEX),
    (ABORTED, with_index_field(0, ">h", 1), Kind.ABORTED_INDEX),
    (ABORTED, with_index_field(2, ">q", 77), Kind.ABORTED_INDEX),
    (ABORTED, with_index_field(10, ">q", 3), Kind.ABORTED_INDEX),
    (ABORTED, with_index_field(18, ">q", 3), Kind.ABORTED_INDEX),
    (ABORTED, with_index_field(26, ">q", 3), NOTHING),
    (ABORTED, from_copy(f"{PAYMENTS}/00000000000000000189.txnindex"), Kind.ABORTED_INDEX),
    (SNAPSHOT, absent, NOTHING),
    (SNAPSHOT, empty, Kind.WRONG_FILE),
    (SNAPSHOT, truncated, Kind.WRONG_FILE),
    (SNAPSHOT, zeroed, Kind.WRONG_FILE),
    (SNAPSHOT, with_snapshot_field(10, ">q", 77), Kind.SNAPSHOT),
    (SNAPSHOT, with_snapshot_field(18, ">h", 7), Kind.SNAPSHOT),
    (SNAPSHOT, with_snapshot_field(20, ">i", 1), Kind.SNAPSHOT),
    (SNAPSHOT, with_snapshot_field(24, ">q", 1), Kind.SNAPSHOT),
    (SNAPSHOT, with_snapshot_field(32, ">i", 9), Kind.SNAPSHOT),
    (SNAPSHOT, with_snapshot_field(36, ">q", 9), Kind.SNAPSHOT),
    (SNAPSHOT, with_snapshot_field(44, ">i", 9), Kind.SNAPSHOT),
    (SNAPSHOT, with_snapshot_field(48, ">q", 3), Kind.SNAPSHOT),
    (SNAPSHOT, from_copy(NEWEST_SNAPSHOT), Kind.SNAPSHOT),
    (EPOCHS, absent, NOTE),
    (EPOCHS, empty, Kind.LEADER_EPOCH),
    (EPOCHS, truncated, Kind.WRONG_FILE),
    (EPOCHS, zeroed, Kind.WRONG_FILE),
    (EPOCHS, with_text("0\n1\n1 0\n"), Kind.LEADER_EPOCH),
    (EPOCHS, with_text("0\n1\n0 500\n"), NOTE),
    (EPOCHS, with_text("0\n2\n0 0\n1 3001\n"), Kind.LEADER_EPOCH),
    (EPOCHS, with_text("1\n1\n0 0\n"), Kind.WRONG_FILE),
    (EPOCHS, with_text("0\r\n1\r0\t0\r"), NOTHING),
    *[(EPOCHS, with_text(f"0{end}1{end}0 0{end}"), Kind.WRONG_FILE) for end in "\x0b\f\x1c\x85\u2028"],
    (EPOCHS, with_text("0\n1\n0\u00a00\n"), Kind.WRONG_FILE),
    (EPOCHS, with_text("0\n2\n0 0\n1 3000\n"), NOTHING),
    (HIGH, absent, NOTE),
    (HIGH, empty, NOTE),
    (HIGH, truncated, Kind.WRONG_FILE),
    (HIGH, zeroed, Kind.WRONG_FILE),
    (HIGH, offset_of("orders", 3001), Kind.BOUNDS),
    (HIGH, offset_of("orders", -1), Kind.WRONG_FILE),
    (HIGH, with_text("0\n2\norders 0 5\norders 0 6\n"), Kind.WRONG_FILE),
    (HIGH, offset_of("orders", 2999), NOTHING),
    (HIGH, offset_of("other", 5), NOTE),
    (START, absent, NOTE),
    (START, empty, NOTHING),
    (START, truncated, Kind.WRONG_FILE),
    (START, zeroed, Kind.WRONG_FILE),
    (START, offset_of("orders", 3001), Kind.BOUNDS),
    (START, offset_of("orders", 5), NOTHING),
    (POINT, absent, NOTE),
    (POINT, empty, NOTHING),
    (POINT, truncated, Kind.WRONG_FILE),
    (POINT, zeroed, Kind.WRONG_FILE),
    (POINT, offset_of("orders", 3001), Kind.BOUNDS),
    (POINT, offset_of("orders", 2999), NOTHING),
    (CLEANER, absent, NOTHING),
    (CLEANER, empty, NOTHING),
    (CLEANER, with_text("0\n1\n"), Kind.WRONG_FILE),
    (CLEANER, with_text("\0\0\0\0"), Kind.WRONG_FILE),
    (CLEANER, offset_of("orders", 3001), Kind.BOUNDS),
    (METADATA, absent, NOTHING),
    (METADATA, empty, NOTHING),
    (METADATA, truncated, NOTHING),
    (METADATA, zeroed, NOTHING),
    (METADATA, from_copy(f"{PAYMENTS}/partition.metadata"), NOTHING),
]
"""A file, an edit of it, and what the audit reports."""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    _ORIGINAL[:] = [extract(tmp_path_factory.mktemp("log"))]
    return _ORIGINAL[0]


@pytest.fixture
def log_directory(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "broker1"))


def wrong(report) -> set[Kind]:
    return {finding.kind for finding in report.findings if not finding.kind.is_note}


def notes(report) -> list[str]:
    return [finding.text for finding in report.findings if finding.kind is Kind.UNCHECKED]


@pytest.mark.parametrize(("name", "edit", "expected"), TABLE)
def test_a_damaged_file(log_directory, name, edit, expected):
    file = log_directory / name
    data = edit(file.read_bytes())
    if data is None:
        file.unlink()
    else:
        file.write_bytes(data)
    report = audited(log_directory / (name.partition("/")[0] if "/" in name else ORDERS))
    if isinstance(expected, Kind):
        assert expected in wrong(report)
    else:
        assert wrong(report) == set()
        assert any("not compared" in text for text in notes(report)) == (expected == NOTE)


def test_a_checkpoint_of_all_partitions_is_named_once(log_directory):
    (log_directory / HIGH).write_bytes(b"\0")
    findings = audited(log_directory, log_directory / ORDERS).findings
    assert [each.file for each in findings if each.kind is Kind.WRONG_FILE] == [HIGH]


@pytest.mark.parametrize(
    ("kept", "lost"),
    [("", "__transaction_state-0, orders-0"), (f"{ORDERS}.{'0a' * 16}-delete", "__transaction_state-0")],
)
def test_a_partition_without_a_folder_is_noted(log_directory, kept, lost):
    """The archive has no folder of the transactions. A partition that is being deleted has one of another name."""
    shutil.rmtree(log_directory / ORDERS)
    if kept:
        (log_directory / kept).mkdir()
    assert f"{HIGH} has partitions that have no folder: {lost}" in notes(audited(log_directory))
    assert not any("no folder" in text for text in notes(audited(log_directory / PAYMENTS)))


@pytest.mark.parametrize("has_marks", [True, False])
def test_an_emptied_log(log_directory, has_marks):
    """The high watermark shows it, and without one the snapshots."""
    folder = log_directory / "restarted-0"
    (folder / f"{FIRST}.log").write_bytes(b"")
    if not has_marks:
        (log_directory / HIGH).unlink()
        (log_directory / POINT).unlink()
    assert wrong(audited(folder)) == {Kind.SNAPSHOT, Kind.LEADER_EPOCH} | ({Kind.BOUNDS} if has_marks else set())


def test_an_empty_first_segment(log_directory):
    (log_directory / OLD).write_bytes(b"")
    assert "offsets 0 to 1040 are missing" in [finding.text for finding in audited(log_directory / ORDERS).findings]


@pytest.mark.parametrize(("first", "is_named"), [(0, True), (-1, False)])
def test_an_aborted_transaction_of_the_index_only(log_directory, first, is_named):
    """A transaction that begins before the log may have lost its batches by retention."""
    version, producer, last, stable = 0, 4711, 9, 10
    change(log_directory / ABORTED, lambda data: data + struct.pack(">hqqqq", version, producer, first, last, stable))
    texts = [finding.text for finding in audited(log_directory / PAYMENTS).findings if not finding.kind.is_note]
    assert texts == [f"producer 4711: offsets {first} to 9 are an aborted transaction in the index only"] * is_named


@pytest.mark.parametrize("segment", ["00000000000000000000", "00000000000000000189", "00000000000000000378"])
@pytest.mark.parametrize("kept", [".index", ".timeindex", ".txnindex"])
def test_an_index_file_without_its_segment(log_directory, segment, kept):
    """Deletion renames the files of a segment together: one that is left alone shows a loss."""
    folder = log_directory / PAYMENTS
    for suffix in {".log", ".index", ".timeindex", ".txnindex"} - {kept}:
        (folder / f"{segment}{suffix}").unlink()
    places = [(finding.file, finding.text) for finding in audited(folder).findings if finding.kind is Kind.INDEX]
    records = {"0": "0 to 188", "189": "189 to 377", "378": "378 on"}[segment.lstrip("0") or "0"]
    text = f"its segment {segment}.log is missing, and deletion renames both: records from offset {records} may be gone"
    assert places == [(f"{segment}{kept}", text)]


@pytest.mark.parametrize(
    ("log_starts", "epochs", "is_loss"),
    [
        ("0\n0\n", "0\n1\n0 0\n", True),
        ("0\n0\n", "0\n1\n0 1040\n", True),
        ("0\n0\n", "0\n1\n0 1041\n", False),
        ("0\n1\norders 0 1041\n", "0\n1\n0 0\n", False),
        ("0\n1\norders 0 1500\n", "0\n1\n0 0\n", False),
        (None, "0\n1\n0 0\n", False),
    ],
)
def test_epochs_before_the_first_segment(log_directory, log_starts, epochs, is_loss):
    """Retention moves the first epoch; the checkpoint of the log start can explain older ones."""
    for path in (log_directory / ORDERS).glob(f"{FIRST}.*"):
        path.unlink()
    (log_directory / EPOCHS).write_text(epochs)
    (log_directory / START).unlink()
    if log_starts is not None:
        (log_directory / START).write_text(log_starts)
    assert wrong(audited(log_directory / ORDERS)) == ({Kind.LEADER_EPOCH} if is_loss else set())


@pytest.mark.parametrize("renamed", [1, 2, 3])
@pytest.mark.parametrize("epoch_start", [0, 1041])
def test_a_crash_within_a_deletion_is_healthy(log_directory, renamed, epoch_start):
    """A broker renames a segment, then its indexes, and writes the first epoch in the background."""
    folder = log_directory / ORDERS
    for suffix in ("log", "index", "timeindex")[:renamed]:
        path = folder / f"{FIRST}.{suffix}"
        path.rename(folder / f"{path.name}.deleted")
    (log_directory / EPOCHS).write_text(f"0\n1\n0 {epoch_start}\n")
    assert wrong(audited(folder)) == set()


def test_an_empty_first_segment_is_named(log_directory):
    (log_directory / OLD).write_bytes(b"")
    files = {each.file for each in audited(log_directory / ORDERS).findings if each.kind is Kind.OFFSET_GAP}
    assert files == {Path(OLD).name}


def test_a_deletion_explains_no_epoch_before_it(log_directory):
    folder = log_directory / ORDERS
    for path in folder.glob(f"{FIRST}.*"):
        path.unlink()
    path = folder / "00000000000000001041.log"
    path.rename(folder / f"{path.name}.deleted")
    for suffix in ("index", "timeindex"):
        path.with_suffix(f".{suffix}").unlink()
    assert wrong(audited(folder)) == {Kind.LEADER_EPOCH}


def test_a_deletion_explains_no_records_after_it(log_directory):
    """The first segment is renamed, and the second one is lost: 903 records are in no file."""
    folder = log_directory / ORDERS
    for suffix in ("log", "index", "timeindex"):
        path = folder / f"{FIRST}.{suffix}"
        path.rename(folder / f"{path.name}.deleted")
    for path in folder.glob("00000000000000001041.*"):
        path.unlink()
    assert wrong(audited(folder)) == {Kind.LEADER_EPOCH}


def test_an_unused_partition_is_healthy(log_directory):
    folder = log_directory / "unused-0"
    folder.mkdir()
    for name in (f"{FIRST}.log", f"{FIRST}.index", f"{FIRST}.timeindex", "leader-epoch-checkpoint"):
        (folder / name).write_bytes(b"")
    (log_directory / HIGH).write_text("0\n1\nunused 0 0\n")
    report = audited(folder)
    assert list(report.findings) == []


@pytest.mark.parametrize("part_bytes", [2000, 1 << 20])
def test_a_leader_epoch_of_no_leader(log_directory, part_bytes):
    segment = log_directory / OLD
    data = segment.read_bytes()
    position = batches(data)[40][0]
    (log_directory / EPOCHS).unlink()
    segment.write_bytes(with_field(data, position, LEADER_EPOCH, -1))
    [finding] = [each for each in audited(segment.parent, part_bytes=part_bytes).findings if not each.kind.is_note]
    assert (finding.kind, finding.text, finding.position) == (Kind.LEADER_EPOCH, "leader epoch -1 after 0", position)


def producer_positions(data: bytes) -> list[int]:
    """Return the positions of the batches of one idempotent producer."""
    places = [position for position, _ in batches(data) if field(data, position, BASE_SEQUENCE) >= 0]
    producer = field(data, places[0], PRODUCER_ID)
    return [position for position in places if field(data, position, PRODUCER_ID) == producer]


@pytest.mark.parametrize("part_bytes", [500, 1 << 20])
def test_a_first_sequence_that_is_not_0(log_directory, part_bytes):
    segment = log_directory / OLD
    data = segment.read_bytes()
    position = producer_positions(data)[0]
    segment.write_bytes(with_field(data, position, PRODUCER_ID, 4711))
    segment.write_bytes(with_field(segment.read_bytes(), position, BASE_SEQUENCE, 10))
    report = audited(segment.parent, part_bytes=part_bytes)
    texts = [finding.text for finding in report.findings if finding.position == position]
    assert len(texts) == 1 and "producer 4711" in texts[0] and "its first batch has sequence 10" in texts[0]


def test_a_first_sequence_of_a_shortened_log_may_be_any(log_directory):
    for path in (log_directory / ORDERS).glob(f"{FIRST}.*"):
        path.unlink()
    (log_directory / START).write_text("0\n1\norders 0 1041\n")
    assert wrong(audited(log_directory / ORDERS)) == set()


def test_a_compacted_folder_without_its_checkpoint_has_a_hint(log_directory, tmp_path):
    folder = Path(shutil.copytree(log_directory / ORDERS, tmp_path / "copy" / ORDERS))
    (folder / f"{FIRST}.index").unlink()
    position, size = batches((folder / f"{FIRST}.log").read_bytes())[7]
    change(folder / f"{FIRST}.log", lambda data: data[:position] + data[position + size :])
    report = audited(folder)
    assert Kind.OFFSET_GAP in wrong(report) and any("audit it with --compacted" in text for text in notes(report))
    (folder.parent / CLEANER).write_bytes(b"")
    assert not any("--compacted" in text for text in notes(audited(folder)))


@pytest.mark.parametrize(
    ("place", "difference"), [(BASE_SEQUENCE, 2), (BASE_SEQUENCE, -1), (PRODUCER_EPOCH, 1), (LEADER_EPOCH, 1)]
)
@pytest.mark.parametrize("number", [3, 30])
def test_a_broken_rule_is_reported_once_whatever_the_parts(log_directory, place, difference, number):
    segment = log_directory / OLD
    data = segment.read_bytes()
    position = producer_positions(data)[number]
    segment.write_bytes(with_field(data, position, place, field(data, position, place) + difference))
    whole, divided = audited(segment.parent), audited(segment.parent, part_bytes=500)
    assert wrong(whole) and sorted(map(str, divided.findings)) == sorted(map(str, whole.findings))


def test_coordinator_epochs_across_parts():
    """A part has several markers; the next part is compared with the last of them."""

    def part(first, last):
        return TransactionPart({7: ProducerPart(Ended(7, None, 5, False), None, 0, first, last)})

    state = TransactionState()
    assert state.add(part(1, 4)) == []
    assert state.add(part(3, 3)) == ["producer 7: a marker of coordinator epoch 3 follows one of epoch 4"]


@pytest.mark.parametrize("part_bytes", [500, 1 << 20])
def test_a_coordinator_epoch_goes_back(log_directory, part_bytes):
    segment = log_directory / PAYMENTS / f"{FIRST}.log"
    data = segment.read_bytes()
    markers = [(place, size) for place, size in batches(data) if field(data, place, ATTRIBUTES) & 0x20]
    place, size = markers[len(markers) // 2]
    segment.write_bytes(with_field(data, place, (size - 5, ">i"), 5))
    report = audited(segment.parent, part_bytes=part_bytes)
    assert len([finding for finding in report.findings if finding.kind is Kind.TRANSACTION]) == 1
