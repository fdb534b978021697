"""The audit of a part of a segment: its own findings, and what the audit of the whole partition needs from it.

A part is the unit of parallel work: a range of bytes of one segment. `partition_audit` joins the parts in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from checker.data_files import open_data
from kafka_tools.audit.findings import AuditFinding, Kind
from kafka_tools.audit.partition_folder import (
    ABORTED,
    OFFSET_INDEX,
    TIME_INDEX,
    Entries,
    index_entries,
    index_problem,
)
from kafka_tools.audit.producer_rules import WINDOW, Broken, Pair, broken_rules, by_producer, repeated_batches
from kafka_tools.audit.record_batches import CONTROL, HEADER_BYTES, ROW, BadPlace, Part, Row, Rows, scan
from kafka_tools.audit.transactions import TransactionPart, transactions_of

_COMPARED_BYTES = 1 << 20
_MOST_ROWS = 1 << 17
"""The rows after which a part gives a result, so that its memory is bounded whatever the size of the segment."""

AFTER_THE_OFFSET = "which is after a batch with that offset"
"""What is wrong with an entry of the offset index from which a reader would miss a batch."""

_SHOWN = 20
"""The findings of one kind that a part lists. It counts the others."""


@dataclass(frozen=True)
class PartTask:
    """A part to audit: the folder's name, the segment, the byte range, and what the folder's other files say.

    `snapshots` are the offsets of producer snapshots in this part; `is_last` is whether the segment is the newest one.
    `cleaned` is the offset below which the log is compacted.
    """

    folder: str
    path: Path
    base_offset: int
    part: Part
    is_last: bool
    checks_crc: bool
    cleaned: int
    epochs: tuple[tuple[int, int], ...] | None
    snapshots: tuple[int, ...] = ()


@dataclass(frozen=True)
class PartResult:
    """A part of a log, between two offsets: its size, findings, first and last row, and the rows at its borders.

    `head` has the first 2 * WINDOW rows of every producer, `tail` the last WINDOW rows and the last one with records.
    `damage` counts the damaged places and missing offsets in the part. `snapshot` is the offset of the producer
    snapshot of the state after this part, if there is one. `end` is the byte where the chain of batches ended.
    """

    part: Part
    batches: int
    records: int
    bytes: int
    findings: tuple[AuditFinding, ...]
    first: Row | None
    last: Row | None
    head: Rows
    tail: Rows
    damage: int
    transactions: TransactionPart
    repeated: tuple[Pair, ...] = ()
    snapshot: int | None = None
    end: int = 0


def audit_part(task: PartTask) -> list[PartResult]:
    """Return the results of a part, in order. Producer snapshots divide it, and so do many rows. Raises OSError."""
    index = index_entries(task.path.with_suffix(".index"), OFFSET_INDEX)
    results: list[PartResult] = list(_index_order(task, index))
    with open_data(task.path) as file:
        bad: list[BadPlace] = []
        blocks: list[Rows] = []
        for block in scan(file.fileno(), task.part, checks_crc=task.checks_crc):
            if isinstance(block, BadPlace):
                bad.append(block)
                continue
            blocks.append(block)
            if sum(map(len, blocks)) >= _MOST_ROWS:
                results += _join(task, index, blocks, bad)
                bad, blocks = [], []
        if blocks or bad or not results:
            results += _join(task, index, blocks, bad)
    return results


def _join(task: PartTask, index: Entries, blocks: list[Rows], bad: list[BadPlace]) -> list[PartResult]:
    """Return the results of consecutive blocks and the bad places between them."""
    rows = np.concatenate(blocks) if blocks else np.zeros(0, ROW)
    gaps = _count_damage(rows, bad, task)
    findings = [_bad_finding(task, place) for place in bad]
    findings += [*_offsets(task, rows), *_record_counts(task, rows)]
    findings += [*_leader_epochs(task, rows), *_index(task, index, rows, bad)]
    damaged = np.isin(rows["position"], [place.position for place in bad if place.is_checksum])
    ends = [place.end for place in bad]
    if len(rows):
        ends.append(int(rows[-1]["position"] + rows[-1]["size"]))
    return _pieces(task, rows, damaged, findings, len(bad) + gaps, max(ends, default=task.part.start))


def _pieces(
    task: PartTask, rows: Rows, damaged: npt.NDArray[np.bool_], findings: list[AuditFinding], damage: int, end: int
) -> list[PartResult]:
    """Divide a part at the offsets of producer snapshots."""
    snapshots = [offset for offset in task.snapshots if _has_end_within(offset, rows)]
    borders = [int(np.searchsorted(rows["first_offset"], offset)) for offset in snapshots]
    begins, ends = [0, *borders], [*borders, len(rows)]
    marks: list[int | None] = [*snapshots, None]
    pieces = []
    for number, (begin, stop, mark) in enumerate(zip(begins, ends, marks, strict=True)):
        if mark is None and begin == stop and number:
            # The part ends with a snapshot.
            continue
        is_last = stop == len(rows)
        piece, whole = rows[begin:stop], damage if is_last else int(rows[stop]["damage"])
        pieces.append(_piece(task, piece, damaged[begin:stop], findings if not number else [], whole, mark, end))
    return _with_relative_damage(pieces)


def _has_end_within(offset: int, rows: Rows) -> bool:
    """Return whether the log up to an offset ends within some rows, or right behind them."""
    return len(rows) > 0 and rows[0]["first_offset"] < offset <= rows[-1]["last_offset"] + 1


def _with_relative_damage(pieces: list[PartResult]) -> list[PartResult]:
    """Count the damage of each piece from its own beginning."""
    before, changed = 0, []
    for piece in pieces:
        for rows in (piece.head, piece.tail):
            rows["damage"] -= before
        changed.append(replace(piece, damage=piece.damage - before))
        before = piece.damage
    return changed


def _piece(
    task: PartTask,
    rows: Rows,
    damaged: npt.NDArray[np.bool_],
    findings: list[AuditFinding],
    damage: int,
    snapshot: int | None,
    end: int,
) -> PartResult:
    grouped = by_producer(rows[~damaged])
    transactions, broken = transactions_of(grouped)
    broken += list(broken_rules(grouped, is_compacted=_is_compacted(task, rows)))
    paths = {task.part.number: task.path}
    pairs = [pair for pair in repeated_batches(grouped) if has_same_records(pair, paths)]
    # Copies: otherwise a result would keep the arrays of the whole part alive.
    first, last = (rows[0].copy(), rows[-1].copy()) if len(rows) else (None, None)
    return PartResult(
        part=task.part,
        batches=len(rows),
        records=int(rows["records"].sum()),
        bytes=int(rows["size"].sum()),
        findings=(*findings, *limited(findings_of_broken_rules(task.folder, task.path.name, broken))),
        first=first,
        last=last,
        head=_first_rows(grouped),
        tail=last_rows(grouped),
        damage=damage,
        transactions=transactions,
        repeated=tuple(pairs),
        snapshot=snapshot,
        end=end,
    )


def _is_compacted(task: PartTask, rows: Rows) -> bool:
    return len(rows) > 0 and int(rows[0]["first_offset"]) < task.cleaned


def findings_of_broken_rules(folder: str, file: str, broken: list[Broken]) -> Iterator[AuditFinding]:
    """Yield broken rules as findings."""
    for rule in broken:
        yield AuditFinding(rule.kind, rule.text, folder, file, int(rule.row["position"]), int(rule.row["first_offset"]))


def limited(findings: Iterator[AuditFinding]) -> Iterator[AuditFinding]:
    """Yield the first findings of each kind, and one that counts the others of the kind."""
    counts: dict[Kind, int] = {}
    last: dict[Kind, AuditFinding] = {}
    for finding in findings:
        counts[finding.kind] = counts.get(finding.kind, 0) + 1
        if counts[finding.kind] <= _SHOWN:
            yield finding
        last[finding.kind] = finding
    for kind, count in counts.items():
        if count > _SHOWN:
            text = f"{count - _SHOWN} more of this kind follow, the last at offset {last[kind].offset}"
            yield AuditFinding(kind, text, last[kind].folder, last[kind].file)


def _bad_finding(task: PartTask, place: BadPlace) -> AuditFinding:
    if place.is_checksum:
        kind, text = Kind.CHECKSUM, place.reason
    elif place.is_incomplete:
        kind, text = (Kind.BEING_WRITTEN if task.is_last else Kind.CUT_OFF), place.reason
    else:
        kind, text = Kind.UNREADABLE, f"{place.reason}; {place.end - place.position} bytes are skipped"
    return AuditFinding(kind, text, task.folder, task.path.name, place.position)


def _count_damage(rows: Rows, bad: list[BadPlace], task: PartTask) -> int:
    """Fill in the field `damage` of the rows; return the number of missing offset ranges."""
    positions = np.sort([place.position for place in bad]).astype("i8")
    # A batch with a wrong checksum is itself after the damage, so that no rule joins it to the one before.
    rows["damage"] = np.searchsorted(positions, rows["position"], side="right")
    if len(rows) < 2:
        return 0
    gaps = np.cumsum(_is_gap(rows, task.cleaned))
    rows["damage"][1:] += gaps
    return int(gaps[-1])


def _is_gap(rows: Rows, cleaned: int) -> npt.NDArray[np.bool_]:
    """Return for each row but the first whether offsets before it are missing. Wrappers of magic 0 and 1 hide some."""
    gap: npt.NDArray[np.bool_] = (
        (rows["first_offset"][1:] > rows["last_offset"][:-1] + 1)
        & (rows["first_offset"][1:] > cleaned)
        & (rows["magic"][1:] == 2)
        & (rows["magic"][:-1] == 2)
    )
    return gap


def _offsets(task: PartTask, rows: Rows) -> Iterator[AuditFinding]:
    if len(rows) and rows[0]["position"] == 0 and task.part.number == 0 and rows[0]["magic"] == 2:
        # The log begins here. Between two segments, `partition_audit` finds what is missing.
        first = int(rows[0]["first_offset"])
        if first > max(task.base_offset, task.cleaned):
            yield _at(task, Kind.OFFSET_GAP, f"offsets {task.base_offset} to {first - 1} are missing", rows[0])
    if len(rows) and rows[0]["first_offset"] < task.base_offset:
        text = f"the segment begins with offset {task.base_offset}, this batch has a lower one"
        yield _at(task, Kind.OFFSET_BACK, text, rows[0])
    back = rows["first_offset"][1:] <= rows["last_offset"][:-1]
    for index in (np.flatnonzero(back) + 1)[:_SHOWN]:
        text = (
            f"the batch begins with offset {rows[index]['first_offset']} after offset {rows[index - 1]['last_offset']}"
        )
        yield _at(task, Kind.OFFSET_BACK, text, rows[index])
    if len(rows) > 1:
        for index in (np.flatnonzero(_is_gap(rows, task.cleaned)) + 1)[:_SHOWN]:
            before, first = int(rows[index - 1]["last_offset"]), int(rows[index]["first_offset"])
            yield _at(task, Kind.OFFSET_GAP, f"offsets {before + 1} to {first - 1} are missing", rows[index])


def _record_counts(task: PartTask, rows: Rows) -> Iterator[AuditFinding]:
    spans = rows["last_offset"] - rows["first_offset"] + 1
    wrong = (rows["magic"] == 2) & (
        (rows["records"] > spans) | ((rows["records"] != spans) & (rows["first_offset"] >= task.cleaned))
    )
    for index in np.flatnonzero(wrong)[:_SHOWN]:
        text = f"{rows[index]['records']} records for {spans[index]} offsets"
        yield _at(task, Kind.RECORD_COUNT, text, rows[index])


def _leader_epochs(task: PartTask, rows: Rows) -> Iterator[AuditFinding]:
    """Yield the batches whose leader epoch goes back, or is not that of leader-epoch-checkpoint.

    Messages of magic 0 and 1 have no epoch.
    """
    rows = rows[rows["magic"] == 2]
    for index in (np.flatnonzero(rows["leader_epoch"][1:] < rows["leader_epoch"][:-1]) + 1)[:_SHOWN]:
        text = f"leader epoch {rows[index]['leader_epoch']} after {rows[index - 1]['leader_epoch']}"
        yield _at(task, Kind.LEADER_EPOCH, text, rows[index])
    if not task.epochs:
        return
    epochs, starts = np.array(task.epochs).T
    places = np.searchsorted(starts, rows["first_offset"], side="right") - 1
    covered = places >= 0
    wrong = covered & (epochs[np.maximum(places, 0)] != rows["leader_epoch"])
    for index in np.flatnonzero(wrong)[:_SHOWN]:
        wanted = epochs[places[index]]
        text = f"leader epoch {rows[index]['leader_epoch']}, but leader-epoch-checkpoint has epoch {wanted} here"
        yield _at(task, Kind.LEADER_EPOCH, text, rows[index])


def _index(task: PartTask, entries: Entries, rows: Rows, bad: list[BadPlace]) -> Iterator[AuditFinding]:
    """Yield the entries of the offset index from which a reader would miss records.

    A reader of offset o starts at the position of the last entry whose offset is at most o: the position must be a
    batch, and all batches before it must be below the entry's offset.
    """
    offsets = entries["relative_offset"].astype("i8") + task.base_offset
    positions = entries["position"].astype("i8")
    if not len(rows):
        return
    inside = (positions >= rows[0]["position"]) & (positions <= rows[-1]["position"])
    for place in bad:
        # What cannot be read says nothing about the index.
        inside &= (positions < place.position) | (positions >= place.end)
    if not inside.any():
        return
    where = np.searchsorted(rows["position"], positions[inside])
    bounded = np.minimum(where, len(rows) - 1)
    is_batch = rows["position"][bounded] == positions[inside]
    before = np.where(where > 0, rows["last_offset"][np.maximum(where - 1, 0)], -1)
    is_below = before < offsets[inside]
    for number in np.flatnonzero(~(is_batch & is_below))[:1]:
        entry = np.flatnonzero(inside)[number]
        reason = AFTER_THE_OFFSET if is_batch[number] else "which is not the begin of a batch"
        text = f"entry {entry}: offset {offsets[entry]} has position {positions[entry]}, {reason}"
        yield AuditFinding(Kind.INDEX, text, task.folder, task.path.with_suffix(".index").name)


def _index_order(task: PartTask, entries: Entries) -> Iterator[PartResult]:
    """Yield a result with the entries of the offset index that are out of order or beyond the segment, if any."""
    if task.part.start:
        # The task of the segment's first part compares them.
        return
    file = task.path.with_suffix(".index")
    findings = [*_index_files(task)]
    offsets, positions = entries["relative_offset"].astype("i8"), entries["position"].astype("i8")
    for number in (np.flatnonzero((offsets[1:] <= offsets[:-1]) | (positions[1:] <= positions[:-1])) + 1)[:1]:
        text = f"entry {number} is not larger than the one before"
        findings.append(AuditFinding(Kind.INDEX, text, task.folder, file.name))
    for number in np.flatnonzero((positions >= task.part.file_bytes) | (positions < 0) | (offsets < 0))[:1]:
        text = f"entry {number} has position {positions[number]}, the segment has {task.part.file_bytes} bytes"
        findings.append(AuditFinding(Kind.INDEX, text, task.folder, file.name))
    findings += _time_index_order(task)
    if findings:
        yield replace(_empty(task), findings=tuple(findings))


def _index_files(task: PartTask) -> Iterator[AuditFinding]:
    kinds = {".index": OFFSET_INDEX, ".timeindex": TIME_INDEX, ".txnindex": ABORTED}
    for suffix, kind in kinds.items():
        file = task.path.with_suffix(suffix)
        if (text := index_problem(file, kind, is_last=task.is_last)) is not None:
            yield AuditFinding(Kind.INDEX, text, task.folder, file.name)


def _time_index_order(task: PartTask) -> Iterator[AuditFinding]:
    """Yield the first entry of the time index whose time stamp or offset is smaller than that of the one before."""
    file = task.path.with_suffix(".timeindex")
    entries = index_entries(file, TIME_INDEX)
    stamps, offsets = entries["timestamp"].astype("i8"), entries["relative_offset"].astype("i8")
    wrong = (stamps[1:] < stamps[:-1]) | (offsets[1:] < offsets[:-1]) | (offsets[1:] < 0)
    for number in (np.flatnonzero(wrong) + 1)[:1]:
        text = f"entry {number} is smaller than the one before"
        yield AuditFinding(Kind.INDEX, text, task.folder, file.name)


def _empty(task: PartTask) -> PartResult:
    rows = np.zeros(0, ROW)
    return PartResult(task.part, 0, 0, 0, (), None, None, rows, rows, 0, TransactionPart(), end=task.part.start)


def _at(task: PartTask, kind: Kind, text: str, row: Row) -> AuditFinding:
    return AuditFinding(kind, text, task.folder, task.path.name, int(row["position"]), int(row["first_offset"]))


def _first_rows(grouped: Rows) -> Rows:
    starts, index = _groups(grouped)
    return grouped[np.arange(len(grouped)) - starts[index] < 2 * WINDOW].copy()


def last_rows(grouped: Rows) -> Rows:
    """Return the last WINDOW rows of each producer, and its last row with records, of rows grouped by producer."""
    starts, index = _groups(grouped)
    if not len(grouped):
        return grouped.copy()
    ends = np.r_[starts[1:], len(grouped)]
    kept = ends[index] - np.arange(len(grouped)) <= WINDOW
    data = np.flatnonzero(grouped["attributes"] & CONTROL == 0)
    # The last one of each producer: later assignments to the same producer win.
    latest = np.full(len(starts), -1)
    latest[index[data]] = data
    kept[latest[latest >= 0]] = True
    last: Rows = grouped[kept].copy()
    return last


def _groups(grouped: Rows) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the index of each producer's first row, and for each row the number of its producer."""
    if not len(grouped):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    is_first = np.r_[True, grouped["producer_id"][1:] != grouped["producer_id"][:-1]]
    return np.flatnonzero(is_first), np.cumsum(is_first) - 1


def has_same_records(pair: Pair, paths: dict[int, Path]) -> bool:
    """Return whether the bytes after the headers of two batches are the same."""
    size = int(pair.first["size"]) - HEADER_BYTES
    with (
        open_data(paths[int(pair.first["segment"])]) as first,
        open_data(paths[int(pair.second["segment"])]) as second,
    ):
        first.seek(int(pair.first["position"]) + HEADER_BYTES)
        second.seek(int(pair.second["position"]) + HEADER_BYTES)
        for done in range(0, size, _COMPARED_BYTES):
            count = min(_COMPARED_BYTES, size - done)
            if first.read(count) != second.read(count):
                return False
    return True
