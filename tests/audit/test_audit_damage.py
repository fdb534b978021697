"""Every kind of damage is named where it is, and nothing else is reported."""

import gzip
import random
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_tools.audit import part_audit, record_batches
from kafka_tools.audit.audit_text import report_lines
from kafka_tools.audit.findings import AuditFinding, Kind
from kafka_tools.audit.record_batches import crc32c
from tests.audit.real_log import (
    BASE_OFFSET,
    BASE_SEQUENCE,
    LEADER_EPOCH,
    MAX_TIMESTAMP,
    PRODUCER_EPOCH,
    RECORDS,
    audited,
    batches,
    change,
    extract,
    field,
    with_field,
)

FIRST, SECOND = "00000000000000000000", "00000000000000001041"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return extract(tmp_path_factory.mktemp("log"))


@pytest.fixture
def log_directory(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "broker1"))


def findings(*paths: Path) -> list[AuditFinding]:
    return [finding for finding in audited(*paths).findings if not finding.kind.is_note]


def kinds(*paths: Path) -> set[Kind]:
    return {finding.kind for finding in findings(*paths)}


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def assert_flip_is_named(segment: Path, data: bytes, bit: int) -> None:
    """Flip a bit of a segment: a finding names the batch of the bit, or the next one if its offset shows it.

    A length of the last batch that is too large looks like a batch that is being written, which is a note.
    """
    segment.write_bytes(flipped(data, bit))
    found = audited(segment.parent).partitions[0].findings
    places = batches(data)
    number = max(index for index, (position, _) in enumerate(places) if position <= bit // 8)
    near = {position for position, _ in places[number : number + 2]}
    assert any(finding.position in near for finding in found), (bit, found)
    segment.write_bytes(data)


def test_flipped_bits_are_named(log_directory):
    segment = log_directory / "orders-0" / f"{SECOND}.log"
    data = segment.read_bytes()
    for bit in random.Random(5).sample(range(8 * len(data)), 60):
        assert_flip_is_named(segment, data, bit)


@pytest.mark.slow
def test_every_flipped_byte_is_named(log_directory):
    folder = log_directory / "restarted-0"
    segment = folder / f"{FIRST}.log"
    data = segment.read_bytes()
    for byte in range(len(data)):
        for bit in (8 * byte, 8 * byte + 7):
            assert_flip_is_named(segment, data, bit)


def removed(number: int) -> Callable[[bytes], bytes]:
    def edit(data: bytes) -> bytes:
        position, size = batches(data)[number]
        return data[:position] + data[position + size :]

    return edit


def appended_again(number: int) -> Callable[[bytes], bytes]:
    """Append a copy of a batch in its place, with the next offsets: those after it move."""

    def edit(data: bytes) -> bytes:
        position, size = batches(data)[number]
        return data[: position + size] + data[position : position + size] + data[position + size :]

    return edit


def swapped(number: int) -> Callable[[bytes], bytes]:
    def edit(data: bytes) -> bytes:
        (first, size), (second, following) = batches(data)[number : number + 2]
        return (
            data[:first] + data[second : second + following] + data[first : first + size] + data[second + following :]
        )

    return edit


def zeroed(number: int) -> Callable[[bytes], bytes]:
    def edit(data: bytes) -> bytes:
        position, size = batches(data)[number]
        return data[:position] + bytes(size) + data[position + size :]

    return edit


def with_value(number: int, place: tuple[int, str], value: int) -> Callable[[bytes], bytes]:
    def edit(data: bytes) -> bytes:
        return with_field(data, batches(data)[number][0], place, value)

    return edit


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (removed(7), {Kind.OFFSET_GAP, Kind.INDEX}),
        (removed(0), {Kind.OFFSET_GAP, Kind.INDEX}),
        (appended_again(7), {Kind.OFFSET_BACK, Kind.DUPLICATE_SEQUENCE, Kind.INDEX}),
        (swapped(7), {Kind.OFFSET_GAP, Kind.OFFSET_BACK, Kind.SEQUENCE_BACK}),
        (zeroed(7), {Kind.UNREADABLE, Kind.OFFSET_GAP}),
        (lambda data: data[:-5], {Kind.CUT_OFF, Kind.OFFSET_GAP}),
        (lambda data: data + bytes(100), {Kind.CUT_OFF}),
        (lambda data: data[:8000] + b"\xff" * 500 + data[8500:], {Kind.UNREADABLE, Kind.CHECKSUM, Kind.OFFSET_GAP}),
        (with_value(7, BASE_OFFSET, 5), {Kind.OFFSET_BACK, Kind.OFFSET_GAP}),
        (with_value(7, LEADER_EPOCH, 3), {Kind.LEADER_EPOCH}),
        (with_value(7, RECORDS, 1), {Kind.RECORD_COUNT}),
        (with_value(7, (8, ">i"), 2**31 - 1), {Kind.UNREADABLE, Kind.OFFSET_GAP}),
        (with_value(7, (8, ">i"), -1), {Kind.UNREADABLE, Kind.OFFSET_GAP}),
        (with_value(7, (16, ">b"), 9), {Kind.UNREADABLE, Kind.OFFSET_GAP}),
    ],
)
def test_damaged_segments(log_directory, edit, expected):
    folder = log_directory / "orders-0"
    assert kinds(folder) == set()
    change(folder / f"{FIRST}.log", edit)
    found = kinds(folder)
    assert found <= expected
    # Consequences may be absent: a reader finds its way with some wrong indexes.
    assert found - {Kind.INDEX} and found & expected


def idempotent(data: bytes) -> list[int]:
    """Return the positions of the batches of one idempotent producer."""
    places = [position for position, _ in batches(data) if field(data, position, BASE_SEQUENCE) >= 0]
    producer = field(data, places[10], (43, ">q"))
    return [position for position in places if field(data, position, (43, ">q")) == producer]


@pytest.mark.parametrize(
    ("place", "difference", "expected"),
    [
        (BASE_SEQUENCE, 2, Kind.SEQUENCE_GAP),
        (BASE_SEQUENCE, -1, Kind.SEQUENCE_BACK),
        (PRODUCER_EPOCH, 1, Kind.EPOCH_BACK),
    ],
)
def test_wrong_producer_fields(log_directory, place, difference, expected):
    folder = log_directory / "orders-0"
    segment = folder / f"{FIRST}.log"
    data = segment.read_bytes()
    position = idempotent(data)[5]
    segment.write_bytes(with_field(data, position, place, field(data, position, place) + difference))
    found = findings(folder)
    assert expected in {finding.kind for finding in found}
    assert position in {finding.position for finding in found}
    assert {finding.kind for finding in found} <= {Kind.SEQUENCE_GAP, Kind.SEQUENCE_BACK, Kind.EPOCH_BACK}


def test_sequence_after_expiration_is_a_note(log_directory):
    """A leader forgets a producer after `producer.id.expiration.ms`, and accepts any sequence then."""
    folder = log_directory / "orders-0"
    segment = folder / f"{FIRST}.log"
    data = segment.read_bytes()
    *_, position = idempotent(data)
    data = with_field(data, position, BASE_SEQUENCE, field(data, position, BASE_SEQUENCE) + 100)
    data = with_field(data, position, MAX_TIMESTAMP, field(data, position, MAX_TIMESTAMP) + 2 * 86_400_000)
    segment.write_bytes(data)
    report = audited(folder)
    assert Kind.EXPIRED_PRODUCER in {finding.kind for finding in report.findings}


def test_last_segment_may_be_incomplete(log_directory):
    folder = log_directory / "orders-0"
    *_, segment = sorted(folder.glob("*.log"))
    change(segment, lambda data: data[:-5])
    for name in ("../replication-offset-checkpoint", "../recovery-point-offset-checkpoint", f"{3000:020}.snapshot"):
        (folder / name).unlink()
    report = audited(folder)
    assert Kind.BEING_WRITTEN in {finding.kind for finding in report.findings}
    assert {finding.kind for finding in report.findings if not finding.kind.is_note} <= {Kind.INDEX}


def test_missing_segment(log_directory):
    folder = log_directory / "orders-0"
    (folder / f"{SECOND}.log").unlink()
    [finding] = [finding for finding in findings(folder) if finding.kind is Kind.OFFSET_GAP]
    assert finding.text == "offsets 1041 to 1943 are missing"


def test_compacted_log_has_gaps(log_directory):
    folder = log_directory / "orders-0"
    change(folder / f"{FIRST}.log", removed(7))
    (folder / f"{FIRST}.index").unlink()
    (log_directory / "cleaner-offset-checkpoint").write_text("0\n1\norders 0 1041\n")
    assert kinds(folder) == set()


def snapshot_with(edit: Callable[[bytearray], None]) -> Callable[[bytes], bytes]:
    """Return an edit of a producer snapshot that keeps its checksum right."""

    def change_data(data: bytes) -> bytes:
        changed = bytearray(data)
        edit(changed)
        struct.pack_into(">I", changed, 2, crc32c(bytes(changed[6:])))
        return bytes(changed)

    return change_data


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda data: flipped(data, 8 * 30), Kind.WRONG_FILE),
        (lambda data: data[:-3], Kind.WRONG_FILE),
        (lambda data: b"", Kind.WRONG_FILE),
        (snapshot_with(lambda data: struct.pack_into(">i", data, 20, 1)), Kind.SNAPSHOT),
        (snapshot_with(lambda data: struct.pack_into(">h", data, 18, 7)), Kind.SNAPSHOT),
        (snapshot_with(lambda data: struct.pack_into(">q", data, 48, 3)), Kind.SNAPSHOT),
        (snapshot_with(lambda data: struct.pack_into(">q", data, 48, -2)), Kind.SNAPSHOT),
    ],
)
@pytest.mark.parametrize("part_bytes", [2000, 1 << 20])
def test_wrong_snapshots(log_directory, edit, expected, part_bytes):
    folder = log_directory / "orders-0"
    change(folder / f"{SECOND}.snapshot", edit)
    found = [finding for finding in audited(folder, part_bytes=part_bytes).findings if not finding.kind.is_note]
    assert [(finding.kind, finding.file) for finding in found] == [(expected, f"{SECOND}.snapshot")]


@pytest.mark.parametrize("rows", [1, 3, 4, 5, 7])
def test_an_unreadable_snapshot_within_a_segment_is_named_once(log_directory, monkeypatch, rows):
    monkeypatch.setattr(part_audit, "_MOST_ROWS", rows)
    monkeypatch.setattr(record_batches, "_BLOCK", 100)
    folder = log_directory / "restarted-0"
    change(folder / f"{4:020}.snapshot", lambda data: data[:-3])
    assert [each.file for each in findings(folder) if each.kind is Kind.WRONG_FILE] == [f"{4:020}.snapshot"]


@pytest.mark.parametrize("part_bytes", [500, 1 << 20])
def test_wrong_index_entries(log_directory, part_bytes):
    """Also of an entry at which a part begins."""
    folder = log_directory / "orders-0"
    index = folder / f"{FIRST}.index"
    data = index.read_bytes()
    for number in range(len(data) // 8):
        for place in (8 * number + 3, 8 * number + 7):
            # The low bytes of the relative offset and of the position.
            index.write_bytes(data[:place] + bytes([data[place] ^ 0x40]) + data[place + 1 :])
            if place % 8 == 3 and data[place] ^ 0x40 > data[place]:
                # A larger offset with the same position is a reader's longer way, not a wrong one.
                continue
            assert {each.kind for each in audited(folder, part_bytes=part_bytes).findings} == {Kind.INDEX}, (
                number,
                place,
            )


@pytest.mark.parametrize("part_bytes", [500, 1 << 20])
@pytest.mark.parametrize(("beyond", "expected"), [(0, {Kind.INDEX}), (1, set())])
def test_an_index_entry_of_the_offset_before(log_directory, part_bytes, beyond, expected):
    """A reader of that offset would miss it; the next one is the first offset that may lead here."""
    folder = log_directory / "orders-0"
    index, data = folder / f"{FIRST}.index", (folder / f"{FIRST}.log").read_bytes()
    entries = bytearray(index.read_bytes())
    position = struct.unpack_from(">i", entries, 12)[0]
    before = max(place for place, _ in batches(data) if place < position)
    last = field(data, before, BASE_OFFSET) + field(data, before, (23, ">i"))
    struct.pack_into(">i", entries, 8, last + beyond)
    index.write_bytes(entries)
    assert {each.kind for each in audited(folder, part_bytes=part_bytes).findings} == expected


def test_wrong_time_index(log_directory):
    folder = log_directory / "orders-0"
    change(folder / f"{FIRST}.timeindex", lambda data: data[:12] + bytes(4) + data[16:])
    assert kinds(folder) == {Kind.INDEX}


@pytest.mark.parametrize("part_bytes", [2000, 4000])
def test_parts_do_not_trust_the_index(log_directory, part_bytes):
    folder = log_directory / "orders-0"
    whole = audited(folder)
    change(folder / f"{FIRST}.index", lambda data: bytes(data[:7]) + bytes([data[7] ^ 0x08]) + data[8:])
    found = audited(folder, part_bytes=part_bytes)
    assert {finding.kind for finding in found.findings} == {Kind.INDEX}
    assert found.partitions[0].batches == whole.partitions[0].batches


def test_index_of_aborted_transactions(log_directory):
    folder = log_directory / "payments-0"
    index = folder / f"{FIRST}.txnindex"
    change(index, lambda data: data[34:])
    [finding] = findings(folder)
    assert finding.kind is Kind.ABORTED_INDEX and "no .txnindex has it" in finding.text


def test_lost_marker(log_directory):
    """Without its marker, the next transaction of the producer seems to go on."""
    folder = log_directory / "payments-0"
    segment = folder / f"{FIRST}.log"
    data = segment.read_bytes()
    marker = next(
        number for number, (position, _) in enumerate(batches(data)) if field(data, position, (21, ">h")) & 0x20
    )
    change(segment, removed(marker))
    assert Kind.OFFSET_GAP in kinds(folder)


def test_coordinator_epoch_back(log_directory):
    folder = log_directory / "payments-0"
    segment = folder / f"{SECOND.replace('1041', '0189')}.log"
    data = segment.read_bytes()
    position, size = next(
        (position, size) for position, size in batches(data) if field(data, position, (21, ">h")) & 0x20
    )
    # The value of a marker ends with its coordinator epoch, before the number of headers.
    data = with_field(data, position, (size - 5, ">i"), 5)
    segment.write_bytes(data)
    assert {finding.kind for finding in findings(folder)} == {Kind.TRANSACTION}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0\n2\n0 0\n1 500\n", Kind.LEADER_EPOCH),
        ("0\n2\n1 0\n0 500\n", Kind.WRONG_FILE),
        ("0\n2\n0 0\n", Kind.WRONG_FILE),
    ],
)
def test_wrong_leader_epochs(log_directory, text, expected):
    (log_directory / "orders-0/leader-epoch-checkpoint").write_text(text)
    assert kinds(log_directory / "orders-0") == {expected}


def test_unreadable_file_is_not_sound(log_directory, monkeypatch):
    folder = log_directory / "orders-0"
    wrong = folder / f"{SECOND}.log"
    (folder / "copy").write_bytes(wrong.read_bytes())
    wrong.unlink()
    wrong.symlink_to(folder / "removed-while-listed")
    wrong.with_name("removed-while-listed").mkdir()
    report = audited(folder)
    assert not report.is_complete and [unread.path for unread in report.unread] == [str(wrong)]


@pytest.mark.parametrize("has_snapshots", [True, False])
def test_repeated_batches_are_found_within_a_part_and_across_snapshots(log_directory, has_snapshots):
    for snapshot in [] if has_snapshots else (log_directory / "restarted-0").glob("*.snapshot"):
        snapshot.unlink()
    [report] = audited(log_directory / "restarted-0").partitions
    assert [(batch.first_offset, batch.second_offset) for batch in report.repeated] == [(1, 4), (2, 5), (3, 6)]


class TestCopies:
    @pytest.fixture
    def copies(self, original, tmp_path) -> tuple[Path, Path]:
        return tuple(Path(shutil.copytree(original, tmp_path / name)) for name in ("one", "two"))  # type: ignore[return-value]

    def test_equal(self, copies):
        report = audited(*copies)
        assert report.compared == 3 and report.differences == ()

    @pytest.mark.parametrize("number", [0, 3, -1])
    def test_different_batch(self, copies, number):
        segment = copies[1] / "orders-0" / f"{SECOND}.log"
        data = segment.read_bytes()
        position = batches(data)[number][0]
        offset = field(data, position, BASE_OFFSET)
        segment.write_bytes(with_field(data, position, MAX_TIMESTAMP, 7))
        [finding] = audited(*copies).differences
        assert finding.kind is Kind.COPIES and finding.offset == offset

    def test_difference_above_the_high_watermark_is_allowed(self, copies):
        segment = copies[1] / "orders-0" / f"{SECOND}.log"
        change(segment, lambda data: with_field(data, batches(data)[3][0], MAX_TIMESTAMP, 7))
        mark = copies[1] / "replication-offset-checkpoint"
        mark.write_text(mark.read_text().replace("orders 0 3000", "orders 0 1041"))
        assert audited(*copies).differences == ()

    def test_a_difference_at_the_high_watermark_is_allowed(self, copies):
        """The offset of the lower high watermark is not below it; the offset before it is."""
        segment = copies[1] / "orders-0" / f"{SECOND}.log"
        offset = field(segment.read_bytes(), batches(segment.read_bytes())[3][0], BASE_OFFSET)
        change(segment, lambda data: with_field(data, batches(data)[3][0], MAX_TIMESTAMP, 7))
        mark = copies[1] / "replication-offset-checkpoint"
        text = mark.read_text()
        for limit, count in ((offset, 0), (offset + 1, 1)):
            mark.write_text(text.replace("orders 0 3000", f"orders 0 {limit}"))
            assert len(audited(*copies).differences) == count

    def test_without_a_high_watermark_a_difference_may_be_allowed(self, copies):
        segment = copies[1] / "orders-0" / f"{SECOND}.log"
        change(segment, lambda data: with_field(data, batches(data)[3][0], MAX_TIMESTAMP, 7))
        (copies[1] / "replication-offset-checkpoint").unlink()
        [finding] = audited(*copies).differences
        assert (
            finding.kind is Kind.UNCHECKED and "whether this is below the high watermark is not known" in finding.text
        )

    @pytest.mark.parametrize("emptied", [0, 1])
    def test_a_copy_without_a_batch_is_not_compared(self, copies, emptied):
        for path in (copies[emptied] / "orders-0").glob("*.log"):
            path.write_bytes(b"")
        [finding] = audited(*(folder / "orders-0" for folder in copies)).differences
        assert finding.text == f"{copies[emptied] / 'orders-0'} has no batch, so that nothing was compared"

    @pytest.mark.parametrize("compacted", [0, 1])
    def test_the_cleaner_of_one_copy_may_have_removed_a_batch(self, copies, compacted):
        change(copies[1] / "orders-0" / f"{SECOND}.log", removed(3))
        (copies[1 - compacted] / "cleaner-offset-checkpoint").write_text("")
        (copies[compacted] / "cleaner-offset-checkpoint").write_text("0\n1\norders 0 3000\n")
        assert audited(*copies).differences == ()

    def test_missing_batch(self, copies):
        folder = copies[1] / "orders-0"
        change(folder / f"{SECOND}.log", removed(3))
        assert [finding.kind for finding in audited(*copies).differences] == [Kind.COPIES]

    def test_later_log_start(self, copies):
        for path in (copies[1] / "orders-0").glob(f"{FIRST}.*"):
            path.unlink()
        report = audited(*copies)
        assert report.differences == () and report.is_sound is False, "restarted-0 has repeated batches"


def legacy_message(offset: int, magic: int, value: bytes, codec: int = 0) -> bytes:
    """Return a message of magic 0 or 1 (`LegacyRecord`) without a key; with a codec, `value` holds compressed ones."""
    body = struct.pack(">bb", magic, codec) + (struct.pack(">q", 1_000) if magic else b"")
    body += struct.pack(">ii", -1, len(value)) + value
    return struct.pack(">qiI", offset, 4 + len(body), zlib.crc32(body)) + body


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_of_old_formats(tmp_path, magic):
    folder = tmp_path / "old-0"
    folder.mkdir()
    data = b"".join(legacy_message(offset, magic, b"value %d" % offset) for offset in range(9))
    segment = folder / f"{FIRST}.log"
    segment.write_bytes(data)
    [report] = audited(folder).partitions
    assert (report.batches, report.records, report.end_offset, report.is_sound) == (9, 9, 9, True)
    segment.write_bytes(flipped(data, 8 * (len(data) - 1)))
    [finding] = findings(folder)
    assert finding.kind is Kind.CHECKSUM and finding.position == len(data) - len(data) // 9


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize(("base", "codec", "first"), [(0, 1, 0), (100, 1, 100), (0, 0, 3), (100, 0, 103)])
def test_the_first_offset_of_old_formats(tmp_path, magic, base, codec, first):
    """A wrapper has the offset of the last of its messages, so only the segment has the first one."""
    folder = tmp_path / "old-0"
    folder.mkdir()
    inner = gzip.compress(b"".join(legacy_message(offset, magic, b"v") for offset in range(4)))
    data = b"".join(legacy_message(base + offset, magic, inner if codec else b"v", codec) for offset in (3, 6))
    (folder / f"{base:020}.log").write_bytes(data)
    report = audited(folder)
    assert (report.partitions[0].first_offset, report.partitions[0].end_offset) == (first, base + 7)
    assert f"offsets {first} to {base + 6}" in "\n".join(map(str, report_lines(report, 1.0)))
