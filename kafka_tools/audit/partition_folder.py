"""The files of a partition's folder on a broker's disk, and the checkpoint files of the log directory above it.

Nothing here writes. Formats: `CheckpointFile` (text: version, number of entries, one entry a line),
`OffsetIndex` (8 bytes an entry), `TimeIndex` (12), `AbortedTxn` (34), `ProducerSnapshot` (10 bytes, then 46 an entry).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from checker.data_files import open_data, read_data, read_data_text, reason_of
from checker.errors import InputError
from kafka_tools.audit.findings import AuditFinding, Kind
from kafka_tools.audit.record_batches import BadPlace, Part, Rows, crc32c, scan

Entries = npt.NDArray[Any]

OFFSET_INDEX = np.dtype([("relative_offset", ">i4"), ("position", ">i4")])
TIME_INDEX = np.dtype([("timestamp", ">i8"), ("relative_offset", ">i4")])
ABORTED = np.dtype(
    [("version", ">i2"), ("producer_id", ">i8"), ("first", ">i8"), ("last", ">i8"), ("last_stable_offset", ">i8")]
)
SNAPSHOT = np.dtype(
    [
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("last_sequence", ">i4"),
        ("last_offset", ">i8"),
        ("offset_delta", ">i4"),
        ("timestamp", ">i8"),
        ("coordinator_epoch", ">i4"),
        ("transaction_first_offset", ">i8"),
    ]
)
_SNAPSHOT_HEADER = 10

HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS, CLEANED = CHECKPOINTS = (
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
"""The files of a log directory that have an offset of each partition."""

EPOCHS = "leader-epoch-checkpoint"

DELETED = ".log.deleted"
"""The end of the name of a segment between its deletion and the removal of the file a minute later."""

_LARGEST_OFFSET = (1 << 63) - 1

EVERY_OFFSET = 1 << 62
"""The offset below which a log is compacted, if all of it is."""

_FOLDER = re.compile(r"(?P<topic>[\w.-]+)-(?P<partition>\d+)")
_INDEX = re.compile(r"[0-9]{20}\.(index|timeindex|txnindex)")
_LEFTOVER = re.compile(r".*(\.deleted|\.cleaned|\.swap|\.snapshot\.tmp)")
_SPECIAL_FOLDER = re.compile(r".*\.[0-9a-f]{32}-(delete|stray|future)")


@dataclass(frozen=True)
class Segment:
    """A segment file: its number in the partition, its path, the offset of its name, its size when it was listed."""

    number: int
    path: Path
    base_offset: int
    bytes: int


@dataclass(frozen=True)
class LogDirectory:
    """The offsets of the checkpoint files of a log directory: by file, and by partition.

    A file that is missing or damaged is not in `offsets`; `findings` names the damaged ones.
    """

    offsets: dict[str, dict[str, int]]
    findings: tuple[AuditFinding, ...] = ()

    def offset(self, file: str, partition: str) -> int | None:
        """Return the offset that a file has of a partition, or None."""
        return self.offsets.get(file, {}).get(partition)


@dataclass(frozen=True)
class PartitionFolder:
    """A partition's folder: its segments in order, its epochs, and what the log directory says about it.

    `epochs` has (leader epoch, first offset) of leader-epoch-checkpoint, None without the file. `cleaned` is the offset
    below which the log cleaner removed records, 0 if it removed none; `may_be_compacted` says that no file has it.
    `findings` are those of listing the folder.
    """

    path: Path
    name: str
    segments: tuple[Segment, ...]
    epochs: tuple[tuple[int, int], ...] | None
    high_watermark: int | None
    log_start: int | None
    recovery_point: int | None
    cleaned: int
    may_be_compacted: bool
    has_log_starts: bool
    findings: tuple[AuditFinding, ...] = ()
    snapshots: tuple[Path, ...] = ()

    @property
    def is_of_compacted_topic(self) -> bool:
        """Whether the topic is one of Kafka's own, which are compacted."""
        return self.name.startswith(("__consumer_offsets-", "__transaction_state-", "__share_group_state-"))


def folders_of(path: Path) -> Iterator[Path]:
    """Yield the partition folders that a path stands for: itself, or those of a log directory.

    Raises InputError if it is neither.
    """
    if not path.is_dir():
        raise InputError(f"{path} is not a folder: name a partition's folder, or a folder of log.dirs")
    if any(path.glob("*.log")) and _FOLDER.fullmatch(path.name):
        yield path
        return
    children = sorted(child for child in path.iterdir() if _is_partition(child))
    if not children:
        raise InputError(
            f"{path} has no partitions: name a partition's folder, such as orders-0 with its *.log files, "
            "or a folder of log.dirs"
        )
    yield from children


def _is_partition(path: Path) -> bool:
    return (
        path.is_dir()
        and _FOLDER.fullmatch(path.name) is not None
        and not _SPECIAL_FOLDER.fullmatch(path.name)
        and not path.name.startswith("__cluster_metadata-")
    )


def log_directory(path: Path) -> LogDirectory:
    """Return the checkpoint files of a log directory."""
    offsets: dict[str, dict[str, int]] = {}
    findings = []
    for file in CHECKPOINTS:
        try:
            offsets_in_file = _offsets(path / file)
        except ValueError as error:
            text = f"{error}; it is not known for any partition of the directory"
            findings.append(AuditFinding(Kind.WRONG_FILE, text, str(path), file))
        else:
            offsets |= {} if offsets_in_file is None else {file: offsets_in_file}
    return LogDirectory(offsets, tuple(findings))


def lost_partitions(path: Path, directory: LogDirectory) -> Iterator[AuditFinding]:
    """Yield a note that names the partitions of a checkpoint file that have no folder in the log directory.

    A broker renames the folder of a deleted partition first, and writes the checkpoint files some seconds later.
    """
    names = {re.sub(r"\.[0-9a-f]{32}-(delete|stray|future)", "", child.name) for child in path.iterdir()}
    lost = sorted(directory.offsets.get(HIGH_WATERMARKS, {}).keys() - names)
    if lost:
        shown = ", ".join(lost[:6]) + (f" and {len(lost) - 6} more" if len(lost) > 6 else "")
        text = f"{HIGH_WATERMARKS} has partitions that have no folder: {shown}"
        yield AuditFinding(Kind.UNCHECKED, text, str(path), HIGH_WATERMARKS)


def opened_folder(path: Path, directory: LogDirectory, *, is_compacted: bool = False) -> PartitionFolder:
    """List a partition's folder. Sizes are those of this moment: a broker may append while the audit runs."""
    findings: list[AuditFinding] = []
    segments: list[Segment] = []
    for file in sorted(path.glob("*.log")):
        if not re.fullmatch(r"[0-9]{20}", file.stem) or int(file.stem) > _LARGEST_OFFSET:
            text = "the name of a segment is its first offset, with 20 digits"
            findings.append(AuditFinding(Kind.WRONG_FILE, text, str(path), file.name))
            continue
        segments.append(Segment(len(segments), file, int(file.stem), file.stat().st_size))
    leftovers = sorted(file.name for file in path.iterdir() if _LEFTOVER.fullmatch(file.name))
    if leftovers:
        text = f"files that a broker removes when it starts: {', '.join(leftovers[:5])}"
        findings.append(AuditFinding(Kind.UNCHECKED, text, str(path)))
    try:
        epochs = leader_epochs(path / EPOCHS)
    except ValueError as error:
        epochs = None
        findings.append(AuditFinding(Kind.WRONG_FILE, str(error), str(path), EPOCHS))
    findings += _not_compared(path, directory, segments, epochs)
    folder = PartitionFolder(
        path=path,
        name=path.name,
        segments=tuple(segments),
        epochs=epochs,
        high_watermark=directory.offset(HIGH_WATERMARKS, path.name),
        log_start=directory.offset(LOG_STARTS, path.name),
        recovery_point=directory.offset(RECOVERY_POINTS, path.name),
        cleaned=directory.offset(CLEANED, path.name) or 0,
        may_be_compacted=CLEANED not in directory.offsets and not is_compacted,
        has_log_starts=LOG_STARTS in directory.offsets,
        findings=tuple(findings),
        snapshots=tuple(sorted(path.glob("*.snapshot"))),
    )
    return replace(folder, cleaned=EVERY_OFFSET) if is_compacted or folder.is_of_compacted_topic else folder


def batches_of(folder: PartitionFolder, *, checks_crc: bool) -> Iterator[tuple[int, Rows]]:
    """Yield the batches of a partition in blocks, without the bad places, each with the descriptor of its segment."""
    for segment in folder.segments:
        with open_data(segment.path) as file:
            part = Part(segment.number, 0, segment.bytes, segment.bytes)
            for block in scan(file.fileno(), part, checks_crc=checks_crc):
                if not isinstance(block, BadPlace):
                    yield file.fileno(), block


def _offsets(path: Path) -> dict[str, int] | None:
    """Return the entries of a checkpoint file, None if there is no file; raise ValueError if it is damaged."""
    entries = _entries(path, 3)
    if entries is None:
        return None
    offsets = {f"{topic}-{int(partition)}": int(offset) for topic, partition, offset in entries}
    if len(offsets) != len(entries) or min(offsets.values(), default=0) < 0:
        raise ValueError("the file has a partition twice, or an offset below 0")
    return offsets


def _entries(path: Path, fields: int) -> list[list[str]] | None:
    """Return the fields of each entry of a checkpoint file, None without the file; raise ValueError if it is damaged.

    Kafka creates such a file empty, and reads an empty one as no entries.
    """
    try:
        text = read_data_text(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ValueError(f"the file cannot be read: {reason_of(error)}") from None
    if not text:
        return []
    # What Java takes for the end of a line, and for a space. Python has more of both.
    version, count, *lines = [*re.split(r"\r\n|\r|\n", text), ""]
    entries = [re.split(r"[ \t\x0b\f]+", line) for line in lines if line]
    digits = all(re.fullmatch(r"-?[0-9]+", word) for entry in entries for word in entry[-2:])
    is_whole = count == str(len(entries)) and all(len(entry) == fields for entry in entries)
    if version != "0" or not is_whole or not digits:
        raise ValueError("the file is not version 0 with as many entries as it says")
    return entries


def leader_epochs(path: Path) -> tuple[tuple[int, int], ...] | None:
    """Return the entries of leader-epoch-checkpoint, None if there is no file; raise ValueError if it is damaged."""
    entries_in_file = _entries(path, 2)
    if entries_in_file is None:
        return None
    entries = tuple((int(epoch), int(offset)) for epoch, offset in entries_in_file)
    if any(later <= earlier for (earlier, _), (later, _) in itertools.pairwise(entries)) or any(
        later < earlier for (_, earlier), (_, later) in itertools.pairwise(entries)
    ):
        raise ValueError("its epochs and offsets do not increase")
    return entries


def _not_compared(
    path: Path, directory: LogDirectory, segments: list[Segment], epochs: tuple[tuple[int, int], ...] | None
) -> Iterator[AuditFinding]:
    """Yield a note that names the files that are missing: what they should say is compared with nothing."""
    missing = [] if epochs is not None else [EPOCHS]
    missing += [file for file in CHECKPOINTS if file not in directory.offsets and file != CLEANED]
    if HIGH_WATERMARKS in directory.offsets and directory.offset(HIGH_WATERMARKS, path.name) is None:
        missing.append(f"the entry of {path.name} in {HIGH_WATERMARKS}")
    for suffix in (".index", ".timeindex"):
        missing += [f"{segment.path.stem}{suffix}" for segment in segments if not _is_there(segment, suffix)]
    if missing:
        shown = ", ".join(missing[:6]) + (f" and {len(missing) - 6} more" if len(missing) > 6 else "")
        yield AuditFinding(Kind.UNCHECKED, f"missing, and so not compared: {shown}", str(path))


def _is_there(segment: Segment, suffix: str) -> bool:
    return segment.path.with_suffix(suffix).exists()


def orphaned_indexes(path: Path) -> list[Path]:
    """Return the index files of a folder without their segment.

    Deletion renames the segment first and then the indexes (`LogSegment.changeFileSuffixes`): a crash between leaves
    the renamed segment.
    """
    files = sorted(file for file in path.glob("*index") if _INDEX.fullmatch(file.name))
    files = [file for file in files if not any(file.with_suffix(suffix).exists() for suffix in (".log", DELETED))]
    # A running broker may delete a segment after the listing: then the index is gone too.
    return [file for file in files if file.exists()]


def are_being_deleted(folder: PartitionFolder, start: int, end: int) -> bool:
    """Return whether the segments that a broker renamed for deletion have every offset from `start` to before `end`."""
    files = sorted(folder.path.glob(f"*{DELETED}"))
    reached = start
    try:
        renamed = tuple(Segment(number, file, 0, file.stat().st_size) for number, file in enumerate(files))
        for _, rows in batches_of(replace(folder, segments=renamed), checks_crc=False):
            for row in rows:
                if row["first_offset"] <= reached <= row["last_offset"]:
                    reached = int(row["last_offset"]) + 1
    except FileNotFoundError:
        # A broker that runs has removed one meanwhile.
        return False
    return reached >= end


def index_problem(path: Path, kind: np.dtype[Any], *, is_last: bool) -> str | None:
    """Return what is wrong with the size of an index file, or with all its entries.

    A broker reserves zeros for the newest segment, and cuts them off when it rolls.
    """
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return None
    if size % kind.itemsize:
        return f"the file has {size} bytes, which is not a multiple of {kind.itemsize}: it was cut off"
    if size and not is_last and not len(index_entries(path, kind)):
        return "the file has zeros only, and the segment is not the newest one"
    return None


def index_entries(path: Path, kind: np.dtype[Any]) -> Entries:
    """Return the entries of an index file, without the zeros of the part that a broker reserved."""
    try:
        data = read_data(path)
    except FileNotFoundError:
        data = b""
    entries = np.frombuffer(data[: len(data) // kind.itemsize * kind.itemsize], kind)
    used = np.flatnonzero(entries.view(np.uint8).reshape(-1, kind.itemsize).any(axis=1))
    return entries[: int(used[-1]) + 1] if len(used) else entries[:0]


def snapshot_entries(path: Path) -> Entries:
    """Return the entries of a producer snapshot; raise ValueError if it is damaged."""
    data = read_data(path)
    if len(data) < _SNAPSHOT_HEADER:
        raise ValueError(f"the snapshot has {len(data)} bytes, less than its header")
    version, crc, count = (
        int.from_bytes(data[:2], "big"),
        int.from_bytes(data[2:6], "big"),
        int.from_bytes(data[6:10], "big"),
    )
    if version != 1:
        raise ValueError(f"the snapshot has version {version}, not 1")
    if len(data) != _SNAPSHOT_HEADER + count * SNAPSHOT.itemsize:
        raise ValueError(f"the snapshot has {len(data)} bytes, which is not the size of {count} entries")
    if crc32c(memoryview(data)[6:]) != crc:
        raise ValueError("the checksum of the snapshot is wrong")
    return np.frombuffer(data, SNAPSHOT, count, _SNAPSHOT_HEADER)
