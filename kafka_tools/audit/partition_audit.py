"""The audit of a partition: its parts in order, and what only the whole log can show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kafka_tools.audit.findings import AuditFinding, Kind
from kafka_tools.audit.part_audit import (
    AFTER_THE_OFFSET,
    PartResult,
    PartTask,
    findings_of_broken_rules,
    has_same_records,
    last_rows,
    limited,
)
from kafka_tools.audit.partition_folder import (
    ABORTED,
    CLEANED,
    EPOCHS,
    EVERY_OFFSET,
    HIGH_WATERMARKS,
    LOG_STARTS,
    OFFSET_INDEX,
    RECOVERY_POINTS,
    PartitionFolder,
    Segment,
    are_being_deleted,
    index_entries,
    orphaned_indexes,
    snapshot_entries,
)
from kafka_tools.audit.producer_rules import Pair, broken_rules, by_producer, first_sequences, repeated_batches
from kafka_tools.audit.record_batches import CONTROL, ROW, Part, Row, Rows
from kafka_tools.audit.transactions import TransactionState

PART_BYTES = 64 << 20
"""The bytes of a part: a task reads as many, and holds the rows of their batches."""

LONGEST_TRANSACTION_MS = 900_000
"""`transaction.max.timeout.ms`, by default: a coordinator aborts a transaction that is open for longer."""


@dataclass(frozen=True)
class RepeatedBatch:
    """A batch that is in the log twice: offsets, epochs, sequences and leader epochs of both.

    `timestamp` is the one of the first record, in milliseconds since 1970.
    """

    producer: int
    records: int
    first_offset: int
    first_epoch: int
    first_sequence: int
    first_leader_epoch: int
    second_offset: int
    second_epoch: int
    second_sequence: int
    second_leader_epoch: int
    timestamp: int


@dataclass(frozen=True)
class PartitionReport:
    """The result for a partition's folder. Offsets are None for an empty log.

    `end_offset` is one after the last offset. `open_transactions` counts those at the end of the log.
    """

    path: str
    name: str
    segments: int
    batches: int
    records: int
    bytes: int
    first_offset: int | None
    end_offset: int | None
    high_watermark: int | None
    producers: int
    open_transactions: int
    aborted_transactions: int
    findings: tuple[AuditFinding, ...]
    repeated: tuple[RepeatedBatch, ...]

    @property
    def is_sound(self) -> bool:
        """Whether the audit found nothing but notes."""
        return all(finding.kind.is_note for finding in self.findings)


def part_tasks(folder: PartitionFolder, *, checks_crc: bool, part_bytes: int = PART_BYTES) -> list[PartTask]:
    """Return the parts of a partition, in order. The offset index says where batches begin inside a segment."""
    snapshots = [int(path.stem) for path in folder.snapshots if path.stem.isdigit()]
    tasks = []
    for segment in folder.segments:
        is_last = segment.number == len(folder.segments) - 1
        following = None if is_last else folder.segments[segment.number + 1].base_offset
        for part, low, high in _parts(segment, part_bytes):
            within = [
                offset
                for offset in snapshots
                if offset > low and (high is None or offset <= high) and (following is None or offset <= following)
            ]
            tasks.append(
                PartTask(
                    folder=str(folder.path),
                    path=segment.path,
                    base_offset=segment.base_offset,
                    part=part,
                    is_last=is_last,
                    checks_crc=checks_crc,
                    cleaned=folder.cleaned,
                    epochs=folder.epochs,
                    snapshots=tuple(within),
                )
            )
    return tasks


def _parts(segment: Segment, part_bytes: int) -> Iterator[tuple[Part, int, int | None]]:
    """Yield the parts of a segment with the offsets of their borders; None: the end of the segment."""
    entries = index_entries(segment.path.with_suffix(".index"), OFFSET_INDEX)
    start, low = 0, segment.base_offset
    while start + part_bytes < segment.bytes:
        number = int(np.searchsorted(entries["position"], start + part_bytes))
        if number == len(entries) or not start < int(entries[number]["position"]) < segment.bytes:
            break
        end = int(entries[number]["position"])
        # The entry's offset is the last one of the batches at this position. See `_index` of part_audit.
        high = segment.base_offset + int(entries[number]["relative_offset"])
        yield Part(segment.number, start, end, segment.bytes), low, high
        start, low = end, high
    yield Part(segment.number, start, segment.bytes, segment.bytes), low, None


@dataclass
class PartitionAudit:
    """Joins the results of a partition's parts, in order."""

    folder: PartitionFolder
    findings: list[AuditFinding] = field(default_factory=list)
    repeated: list[RepeatedBatch] = field(default_factory=list)
    transactions: TransactionState = field(default_factory=TransactionState)
    tail: Rows = field(default_factory=lambda: np.zeros(0, ROW))
    first: Row | None = None
    last: Row | None = None
    damage: int = 0
    is_after_unread: bool = False
    batches: int = 0
    records: int = 0
    bytes: int = 0

    def add(self, result: PartResult) -> None:
        """Add the next part."""
        self.batches += result.batches
        self.records += result.records
        self.bytes += result.bytes
        self.findings += result.findings
        if result.first is not None:
            self._join_offsets(result)
            self._join_producers(result)
        file = self._file(result.part.number)
        for sentence in self.transactions.add(result.transactions):
            self.findings.append(AuditFinding(Kind.TRANSACTION, sentence, str(self.folder.path), file))
        self.repeated += [_repeat(pair) for pair in result.repeated]
        self.damage += result.damage
        if result.snapshot is not None:
            self.findings += limited(self._snapshot(result.snapshot))

    def skip(self) -> None:
        """Note that a part could not be read: nothing is known of what follows it."""
        self.damage += 1
        self.is_after_unread = True

    def add_finding(self, kind: Kind, text: str, task: PartTask) -> None:
        """Add a finding about the offset index of a part's segment."""
        self.findings.append(AuditFinding(kind, text, str(self.folder.path), task.path.with_suffix(".index").name))

    def _file(self, segment: int) -> str:
        return self.folder.segments[segment].path.name

    def _join_offsets(self, result: PartResult) -> None:
        first = result.first
        assert first is not None
        if self.last is None:
            self.first = first
        elif not self.is_after_unread:
            self._compare(self.last, first)
        self.last, self.is_after_unread = result.last, False

    def _compare(self, before: Row, row: Row) -> None:
        """Compare the last batch of a part with the first of the next one."""
        expected, offset = int(before["last_offset"]) + 1, int(row["first_offset"])
        place = (str(self.folder.path), self._file(int(row["segment"])), int(row["position"]), offset)
        if offset < expected:
            text = f"the batch begins with offset {offset} after offset {expected - 1}"
            self.findings.append(AuditFinding(Kind.OFFSET_BACK, text, *place))
        elif offset > expected and offset > self.folder.cleaned and before["magic"] == row["magic"] == 2:
            self.damage += 1
            text = f"offsets {expected} to {offset - 1} are missing"
            self.findings.append(AuditFinding(Kind.OFFSET_GAP, text, *place))
        if row["leader_epoch"] < before["leader_epoch"] and row["magic"] == 2:
            text = f"leader epoch {row['leader_epoch']} after {before['leader_epoch']}"
            self.findings.append(AuditFinding(Kind.LEADER_EPOCH, text, *place))
        self.findings += self._index_at_border(before, row)

    def _index_at_border(self, before: Row, row: Row) -> Iterator[AuditFinding]:
        """Yield the entry of the offset index at a batch, if a reader of it would miss the batch before."""
        segment = self.folder.segments[int(row["segment"])]
        if before["segment"] != row["segment"]:
            return
        path = segment.path.with_suffix(".index")
        entries = index_entries(path, OFFSET_INDEX)
        for number in np.flatnonzero(entries["position"] == row["position"]):
            offset = segment.base_offset + int(entries[number]["relative_offset"])
            if before["last_offset"] >= offset:
                text = f"entry {number}: offset {offset} has position {row['position']}, {AFTER_THE_OFFSET}"
                yield AuditFinding(Kind.INDEX, text, str(self.folder.path), path.name)

    def _join_producers(self, result: PartResult) -> None:
        head, tail = result.head, result.tail
        head["damage"] += self.damage
        tail["damage"] += self.damage
        both = np.concatenate([self.tail, head])
        is_new = np.arange(len(both)) >= len(self.tail)
        order = np.argsort(both["producer_id"], kind="stable")
        both, is_new = both[order], is_new[order]
        is_compacted = len(head) > 0 and int(head["first_offset"].min()) < self.folder.cleaned
        broken = list(broken_rules(both, is_new, is_compacted=is_compacted))
        if self._begins_at_zero():
            broken += first_sequences(both, is_new)
        file = self._file(result.part.number)
        self.findings += limited(findings_of_broken_rules(str(self.folder.path), file, broken))
        paths = self._paths()
        self.repeated += [_repeat(pair) for pair in repeated_batches(both, is_new) if has_same_records(pair, paths)]
        self.tail = last_rows(by_producer(np.concatenate([self.tail, tail])))

    def _begins_at_zero(self) -> bool:
        """Return whether the log has everything since its creation."""
        is_first = self.first is not None and int(self.first["first_offset"]) == 0
        return is_first and not self.folder.cleaned

    def _paths(self) -> dict[int, Path]:
        return {segment.number: segment.path for segment in self.folder.segments}

    def _snapshot(self, offset: int) -> Iterator[AuditFinding]:
        """Yield the entries of a producer snapshot that differ from the state that the log gives at its offset."""
        path = self.folder.path / f"{offset:020}.snapshot"
        try:
            entries = snapshot_entries(path)
        except (OSError, ValueError) as error:
            yield AuditFinding(Kind.WRONG_FILE, str(error), str(self.folder.path), path.name)
            return
        if self.damage or self.last is None or int(self.last["last_offset"]) + 1 != offset:
            # The state at this offset is not known.
            return
        start = int(self.first["first_offset"]) if self.first is not None else 0
        states = _producer_states(self.tail)
        for entry in entries:
            producer = int(entry["producer_id"])
            if producer not in states:
                if self._begins_at_zero():
                    text = f"producer {producer} has no batch in the log, which begins with offset 0"
                    yield AuditFinding(Kind.SNAPSHOT, text, str(self.folder.path), path.name, offset=offset)
                # Otherwise retention may have removed its batches.
                continue
            for name, wanted in states[producer]._asdict().items():
                if (stored := int(entry[name])) != wanted:
                    text = f"producer {producer}: {name.replace('_', ' ')} is {stored}, the log gives {wanted}"
                    yield AuditFinding(Kind.SNAPSHOT, text, str(self.folder.path), path.name, offset=offset)
            unknown = -1 if self._begins_at_zero() else None
            known = self.transactions.coordinator_epochs.get(producer, unknown)
            stored = int(entry["coordinator_epoch"])
            if known is not None and stored not in (-1, known):
                text = f"producer {producer}: coordinator epoch is {stored}, the log gives {known}"
                yield AuditFinding(Kind.SNAPSHOT, text, str(self.folder.path), path.name, offset=offset)
            begun, stored = self.transactions.open.get(producer, (-1, 0))[0], int(entry["transaction_first_offset"])
            is_in_log = stored < 0 or stored >= max(start, self.folder.cleaned)
            if stored != begun and is_in_log:
                text = f"producer {producer}: the first offset of the transaction is {stored}, the log gives {begun}"
                yield AuditFinding(Kind.SNAPSHOT, text, str(self.folder.path), path.name, offset=offset)

    def report(self) -> PartitionReport:
        """Return the result, after all parts were added."""
        last_timestamp = int(self.last["max_timestamp"]) if self.last is not None else 0
        self.findings += limited(self._open_transactions(last_timestamp))
        if not self.damage:
            self.findings += limited(self._index_of_aborts())
        self.findings += limited(self._lost_segments())
        self.findings += [
            *self._empty_segments(),
            *self._bounds(),
            *self._files_beyond_the_end(),
            *self._epochs_without_entry(),
            *self._epochs_before_the_log(),
            *self._hint(),
        ]
        self.findings += limited(self._findings_of_repeats())
        folder = self.folder
        return PartitionReport(
            path=str(folder.path),
            name=folder.name,
            segments=len(folder.segments),
            batches=self.batches,
            records=self.records,
            bytes=self.bytes,
            first_offset=self._first_offset(),
            end_offset=None if self.last is None else int(self.last["last_offset"]) + 1,
            high_watermark=folder.high_watermark,
            producers=len(np.unique(self.tail["producer_id"])),
            open_transactions=len(self.transactions.open),
            aborted_transactions=len(self.transactions.aborted),
            findings=(*folder.findings, *self.findings),
            repeated=tuple(self.repeated),
        )

    def _open_transactions(self, last_timestamp: int) -> Iterator[AuditFinding]:
        for producer, (first, timestamp) in self.transactions.open.items():
            waited = last_timestamp - timestamp
            is_hanging = waited > LONGEST_TRANSACTION_MS and not self.damage
            text = f"producer {producer}: the transaction that begins at offset {first} has no marker"
            if is_hanging:
                text += f", {waited / 60_000:.0f} minutes later in the log; read_committed consumers stop there"
            yield AuditFinding(
                Kind.TRANSACTION if is_hanging else Kind.OPEN_TRANSACTION, text, str(self.folder.path), offset=first
            )

    def _index_of_aborts(self) -> Iterator[AuditFinding]:
        """Yield aborted transactions that the index does not have, and entries without an aborted transaction."""
        if self.first is None or self.folder.cleaned > int(self.first["first_offset"]):
            return
        start = int(self.first["first_offset"])
        indexed = {}
        for segment in self.folder.segments:
            for entry in index_entries(segment.path.with_suffix(".txnindex"), ABORTED):
                indexed[int(entry["producer_id"]), int(entry["last"])] = (int(entry["first"]), segment)
                if entry["version"]:
                    text = f"an entry has version {entry['version']}, not 0"
                    yield AuditFinding(Kind.ABORTED_INDEX, text, str(self.folder.path), _index_name(segment))
        for ended in self.transactions.aborted:
            in_index = indexed.pop((ended.producer, ended.last), None)
            if in_index is None:
                text = (
                    f"producer {ended.producer}: the transaction of offsets {ended.first} to {ended.last} was aborted "
                    "and no .txnindex has it; read_committed consumers read its records"
                )
                yield AuditFinding(Kind.ABORTED_INDEX, text, str(self.folder.path), offset=ended.first)
            elif in_index[0] != ended.first:
                text = (
                    f"producer {ended.producer}: the transaction begins at {ended.first}, in the index at {in_index[0]}"
                )
                yield AuditFinding(
                    Kind.ABORTED_INDEX, text, str(self.folder.path), _index_name(in_index[1]), offset=ended.first
                )
        for (producer, last), (first, segment) in indexed.items():
            if first >= start:
                text = f"producer {producer}: offsets {first} to {last} are an aborted transaction in the index only"
                yield AuditFinding(Kind.ABORTED_INDEX, text, str(self.folder.path), _index_name(segment), offset=first)

    def _lost_segments(self) -> Iterator[AuditFinding]:
        """Yield the index files without their segment."""
        for path in orphaned_indexes(self.folder.path):
            base = int(path.stem)
            later = min(
                (segment.base_offset for segment in self.folder.segments if segment.base_offset > base), default=0
            )
            records = f"from offset {base} to {later - 1}" if later else f"from offset {base} on"
            text = f"its segment {path.stem}.log is missing, and deletion renames both: records {records} may be gone"
            yield AuditFinding(Kind.INDEX, text, str(self.folder.path), path.name, offset=base)

    def _empty_segments(self) -> Iterator[AuditFinding]:
        """Yield the offsets of segments without a batch before the first batch. A broker keeps no such segment."""
        folder, row = self.folder, self.first
        if not folder.segments or self.damage or (row is not None and (row["segment"] == 0 or row["magic"] != 2)):
            return
        start, first = folder.segments[0].base_offset, self._end() if row is None else int(row["first_offset"])
        if first > max(start, folder.cleaned):
            text = f"offsets {start} to {first - 1} are missing"
            yield AuditFinding(Kind.OFFSET_GAP, text, str(folder.path), folder.segments[0].path.name, offset=start)

    def _bounds(self) -> Iterator[AuditFinding]:
        """Yield the offsets of checkpoint files that are outside the log."""
        folder, end = self.folder, self._end()
        cleaned = folder.cleaned if folder.cleaned != EVERY_OFFSET else 0
        offsets = {
            HIGH_WATERMARKS: ("high watermark", folder.high_watermark),
            RECOVERY_POINTS: ("recovery point", folder.recovery_point),
            CLEANED: ("end of the compacted part", cleaned),
            LOG_STARTS: ("log start", folder.log_start),
        }
        for file, (what, offset) in offsets.items():
            if offset is not None and offset > end:
                text = f"the {what} of {file} is {offset}, the log ends at {end}"
                yield AuditFinding(Kind.BOUNDS, text, str(folder.path), offset=end)
        start = folder.segments[0].base_offset if folder.segments else 0
        if folder.log_start is not None and folder.log_start < start:
            text = f"the log start of {LOG_STARTS} is {folder.log_start}, the log begins with {start}"
            yield AuditFinding(Kind.BOUNDS, text, str(folder.path), offset=start)

    def _end(self) -> int:
        """Return the offset after the last one. Without batches in the newest segment, its name has it."""
        newest = self.folder.segments[-1].base_offset if self.folder.segments else 0
        return newest if self.last is None else max(int(self.last["last_offset"]) + 1, newest)

    def _first_offset(self) -> int | None:
        """Return the first offset. A compressed wrapper of magic 0 or 1 has the last one of its messages."""
        if self.first is None:
            return None
        first = int(self.first["first_offset"])
        # Of a row of magic 0 or 1, the attributes are the compression.
        is_wrapper = self.first["magic"] < 2 and self.first["attributes"]
        return min(first, self.folder.segments[0].base_offset) if is_wrapper else first

    def _files_beyond_the_end(self) -> Iterator[AuditFinding]:
        """Yield the snapshots and leader epochs of offsets that the log had and has no more."""
        folder, end = self.folder, self._end()
        for path in folder.snapshots:
            if path.stem.isdigit() and int(path.stem) > end:
                text = f"a snapshot of offset {int(path.stem)}, and the log ends at {end}"
                yield AuditFinding(Kind.SNAPSHOT, text, str(folder.path), path.name, offset=end)
        for epoch, start in folder.epochs or ():
            if start > end:
                text = f"leader-epoch-checkpoint has epoch {epoch} from offset {start}, and the log ends at {end}"
                yield AuditFinding(Kind.LEADER_EPOCH, text, str(folder.path), EPOCHS, offset=end)

    def _epochs_without_entry(self) -> Iterator[AuditFinding]:
        """Yield the batches before the first epoch of leader-epoch-checkpoint.

        Deletion of records moves the first epoch at once, and log-start-offset-checkpoint a minute later: a crash
        between them leaves such batches in a healthy log.
        """
        folder, first, last = self.folder, self.first, self.last
        if folder.epochs is None or first is None or last is None or last["leader_epoch"] < 0:
            return
        if not folder.epochs:
            text = f"leader-epoch-checkpoint has no epoch, and the last batch has epoch {last['leader_epoch']}"
            yield AuditFinding(Kind.LEADER_EPOCH, text, str(folder.path), EPOCHS)
        elif folder.has_log_starts and folder.log_start is None and first["leader_epoch"] >= 0:
            offset, start = int(first["first_offset"]), folder.epochs[0][1]
            if start > offset:
                text = (
                    f"leader-epoch-checkpoint begins with offset {start}, the log with {offset}: a crash soon after "
                    "records were deleted leaves this; the epochs before are not compared"
                )
                yield AuditFinding(Kind.UNCHECKED, text, str(folder.path), EPOCHS)

    def _epochs_before_the_log(self) -> Iterator[AuditFinding]:
        """Yield the epoch of offsets before the first segment.

        Deletion moves the first epoch too (`UnifiedLog.deleteSegments`), in the background: a crash before that leaves
        the segments that it renamed. The broker removes them when it starts. The log start of a log with remote
        segments is before the first segment, and its checkpoint file always has it.
        """
        folder = self.folder
        if not folder.epochs or not folder.segments or not folder.has_log_starts or folder.log_start is not None:
            return
        start, first = folder.epochs[0][1], folder.segments[0].base_offset
        if start < first and not are_being_deleted(folder, start, first):
            text = (
                f"leader-epoch-checkpoint begins with offset {start}, the first segment with {first}: records from "
                f"offset {start} to {first - 1} are gone, or the broker crashed while it deleted them"
            )
            yield AuditFinding(Kind.LEADER_EPOCH, text, str(folder.path), EPOCHS, offset=start)

    def _hint(self) -> Iterator[AuditFinding]:
        """Yield a note about compaction, which explains gaps, if no file says whether the topic is compacted."""
        gaps = (Kind.OFFSET_GAP, Kind.RECORD_COUNT, Kind.SEQUENCE_GAP)
        if self.folder.may_be_compacted and any(finding.kind in gaps for finding in self.findings):
            text = f"{CLEANED} is missing: if the topic is compacted, audit it with --compacted"
            yield AuditFinding(Kind.UNCHECKED, text, str(self.folder.path))

    def _findings_of_repeats(self) -> Iterator[AuditFinding]:
        for batch in self.repeated:
            text = (
                f"producer {batch.producer}: the batch of offset {batch.first_offset} "
                f"(epoch {batch.first_epoch}, sequence {batch.first_sequence}) is in the log again "
                f"(epoch {batch.second_epoch}, sequence {batch.second_sequence})"
            )
            yield AuditFinding(Kind.DUPLICATE_BATCH, text, str(self.folder.path), offset=batch.second_offset)


class _ProducerState(NamedTuple):
    """What a snapshot has of a producer; -1 where the epoch has no batch with records."""

    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int


def _producer_states(tail: Rows) -> dict[int, _ProducerState]:
    """Return the producers' states after the last batches of each, as `ProducerStateEntry` computes them."""
    states: dict[int, _ProducerState] = {}
    for row in tail:
        producer, epoch = int(row["producer_id"]), int(row["producer_epoch"])
        timestamp = int(row["max_timestamp"])
        if not row["attributes"] & CONTROL:
            last, delta = int(row["last_offset"]), int(row["last_offset"] - row["first_offset"])
            states[producer] = _ProducerState(epoch, int(row["last_sequence"]), last, delta, timestamp)
        elif producer not in states or states[producer].producer_epoch != epoch:
            states[producer] = _ProducerState(epoch, -1, -1, 0, timestamp)
        else:
            states[producer] = states[producer]._replace(timestamp=timestamp)
    return states


def _repeat(pair: Pair) -> RepeatedBatch:
    first, second = pair.first, pair.second
    return RepeatedBatch(
        producer=int(first["producer_id"]),
        records=int(first["records"]),
        first_offset=int(first["first_offset"]),
        first_epoch=int(first["producer_epoch"]),
        first_sequence=int(first["first_sequence"]),
        first_leader_epoch=int(first["leader_epoch"]),
        second_offset=int(second["first_offset"]),
        second_epoch=int(second["producer_epoch"]),
        second_sequence=int(second["first_sequence"]),
        second_leader_epoch=int(second["leader_epoch"]),
        timestamp=int(first["base_timestamp"]),
    )


def _index_name(segment: Segment) -> str:
    return segment.path.with_suffix(".txnindex").name
