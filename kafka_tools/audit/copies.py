"""The copies of a partition on several brokers: they must be equal below the lower high watermark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kafka_tools.audit.findings import AuditFinding, Kind
from kafka_tools.audit.partition_folder import PartitionFolder, batches_of
from kafka_tools.audit.record_batches import Row, Rows

_COMPARED = ("first_offset", "last_offset", "leader_epoch", "crc")


@dataclass(frozen=True)
class CopyTask:
    """Two copies of a partition, in different log directories."""

    first: PartitionFolder
    second: PartitionFolder


def compare_copies(task: CopyTask) -> tuple[AuditFinding, ...]:
    """Return the first difference of two copies, with both batches. Raises OSError.

    Replicas store the same batches, byte by byte. Below the lower high watermark a difference is a broken promise.
    Above it, the follower truncates when it fetches. The log cleaner works on each copy by itself, so that compacted
    logs are compared only where both have a batch.
    """
    for folder in (task.first, task.second):
        if not any(segment.bytes for segment in folder.segments):
            return (_finding(task, Kind.UNCHECKED, f"{folder.path} has no batch, so that nothing was compared", 0),)
    marks = [mark for mark in (task.first.high_watermark, task.second.high_watermark) if mark is not None]
    limit = min(marks) if len(marks) == 2 else None
    cleaned = max(task.first.cleaned, task.second.cleaned)
    for first, second in _align(_batches(task.first), _batches(task.second), cleaned):
        if all(first[name] == second[name] for name in _COMPARED):
            continue
        offset = min(int(first["first_offset"]), int(second["first_offset"]))
        text = f"{task.first.path} has {_describe(first)}; {task.second.path} has {_describe(second)}"
        if limit is None:
            return (
                _finding(
                    task, Kind.UNCHECKED, f"{text}; whether this is below the high watermark is not known", offset
                ),
            )
        if offset >= limit:
            return ()
        return (
            _finding(task, Kind.COPIES, f"{text}; both high watermarks are above, {limit} is the lower one", offset),
        )
    return ()


def _finding(task: CopyTask, kind: Kind, text: str, offset: int) -> AuditFinding:
    return AuditFinding(kind, text, str(task.first.path), offset=offset)


def _describe(row: Row) -> str:
    producer = "" if row["producer_id"] < 0 else f", producer {row['producer_id']} epoch {row['producer_epoch']}"
    return (
        f"offsets {row['first_offset']} to {row['last_offset']} of leader epoch {row['leader_epoch']}"
        f"{producer}, checksum {row['crc']:#010x}"
    )


def _batches(folder: PartitionFolder) -> Iterator[Rows]:
    yield from (rows for _, rows in batches_of(folder, checks_crc=False))


def _align(first: Iterator[Rows], second: Iterator[Rows], cleaned: int) -> Iterator[tuple[Row, Row]]:
    """Yield the first pair of batches that overlap and differ, if there is one.

    Retention removed the first batches of one copy, perhaps. The log cleaner works below the offset `cleaned`.
    """
    left, right = next(first, None), next(second, None)
    is_inside = False
    while left is not None and right is not None:
        if not len(left):
            left = next(first, None)
        elif not len(right):
            right = next(second, None)
        elif left[0]["first_offset"] == right[0]["first_offset"]:
            is_inside = True
            count = min(len(left), len(right))
            differs = np.zeros(count, bool)
            for name in _COMPARED:
                differs |= left[name][:count] != right[name][:count]
            # After the first difference, the batches of a compacted log need not have the same offsets.
            index = int(np.argmax(differs)) if differs.any() else count
            if index < count and left[index]["first_offset"] >= cleaned:
                yield left[index], right[index]
                return
            left, right = left[min(index + 1, count) :], right[min(index + 1, count) :]
        else:
            before = min(int(left[0]["first_offset"]), int(right[0]["first_offset"]))
            skipped = _rows_before(left, right), _rows_before(right, left)
            if skipped == (0, 0) or (is_inside and before >= cleaned):
                yield left[0], right[0]
                return
            left, right = left[skipped[0] :], right[skipped[1] :]


def _rows_before(rows: Rows, other: Rows) -> int:
    """Return the number of rows that end before the first of another array begins."""
    return int(np.searchsorted(rows["last_offset"], other[0]["first_offset"]))
