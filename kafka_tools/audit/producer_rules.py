"""The rules that the batches of one producer id obey in a partition: sequences, epochs, no batch twice.

Sources: `ProducerAppendInfo.checkProducerEpoch` and `checkSequence`, `ProducerStateEntry` of Kafka 4.3. A leader
accepts the first batch of an epoch only with sequence 0, and any other one only if it continues the last one. It
forgets a producer that appended nothing for `producer.id.expiration.ms`, and accepts any sequence then.

A batch that was appended again under a newer epoch: the client's `ProducerBatch.resetProducerState` rewrites only the
header of a batch that it sends again after an epoch bump. The records and their time stamps are the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kafka_tools.audit.findings import Kind
from kafka_tools.audit.record_batches import CONTROL, LOG_APPEND_TIME, SEQUENCES, TRANSACTIONAL, Row, Rows

WINDOW = 64
"""The batches of a producer, before and after a change of its epoch, that are compared. Clients have at most five in
flight (`max.in.flight.requests.per.connection`), and only these are sent again."""

EXPIRATION_MS = 86_400_000
"""`producer.id.expiration.ms`, by default."""


@dataclass(frozen=True)
class Broken:
    """A broken rule: its kind, the batch that breaks it, and the sentence."""

    kind: Kind
    row: Row
    text: str


@dataclass(frozen=True)
class Pair:
    """Two batches with equal producer id, size, number of records and time stamps, the second of a newer epoch."""

    first: Row
    second: Row


def by_producer(rows: Rows) -> Rows:
    """Return the rows with a producer id, grouped by it, in the order of the log within a group."""
    own = rows[rows["producer_id"] >= 0]
    return own[np.argsort(own["producer_id"], kind="stable")]


def broken_rules(
    rows: Rows, is_new: npt.NDArray[np.bool_] | None = None, *, is_compacted: bool = False
) -> Iterator[Broken]:
    """Yield the broken rules of rows that `by_producer` grouped.

    With `is_new`, only those between a row that is not new and its successor that is: the others are known. The log
    cleaner removes batches, so that sequences of a compacted log have gaps.
    """
    yield from _epochs(rows, is_new)
    data = rows["attributes"] & CONTROL == 0
    yield from _sequences(rows[data], None if is_new is None else is_new[data], is_compacted)


def _successors(rows: Rows, is_new: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.int64]:
    """Return the indices of rows whose predecessor is of the same producer, with nothing missing between them."""
    follows = rows["producer_id"][1:] == rows["producer_id"][:-1]
    follows &= rows["damage"][1:] == rows["damage"][:-1]
    if is_new is not None:
        follows &= is_new[1:] & ~is_new[:-1]
    return np.flatnonzero(follows) + 1


def _epochs(rows: Rows, is_new: npt.NDArray[np.bool_] | None) -> Iterator[Broken]:
    indices = _successors(rows, is_new)
    for index in indices[rows["producer_epoch"][indices] < rows["producer_epoch"][indices - 1]]:
        row, before = rows[index], rows[index - 1]
        yield Broken(
            Kind.EPOCH_BACK,
            row,
            f"producer {row['producer_id']} has epoch {row['producer_epoch']} after epoch {before['producer_epoch']} "
            f"at offset {before['first_offset']}",
        )


def _sequences(rows: Rows, is_new: npt.NDArray[np.bool_] | None, is_compacted: bool) -> Iterator[Broken]:
    indices = _successors(rows, is_new)
    same = rows["producer_epoch"][indices] == rows["producer_epoch"][indices - 1]
    newer = rows["producer_epoch"][indices] > rows["producer_epoch"][indices - 1]
    expected = (rows["last_sequence"][indices - 1].astype("i8") + 1) % SEQUENCES
    wrong = (same & (rows["first_sequence"][indices] != expected)) | (newer & (rows["first_sequence"][indices] != 0))
    for index, wanted in zip(indices[wrong], np.where(same, expected, 0)[wrong], strict=True):
        if (broken := _sequence(rows[index], rows[index - 1], int(wanted), is_compacted)) is not None:
            yield broken


def first_sequences(rows: Rows, is_new: npt.NDArray[np.bool_]) -> Iterator[Broken]:
    """Yield the first batch of each producer, if it is new and its sequence is not 0.

    The caller knows that the log has everything since its creation. `rows` are those that `by_producer` grouped.
    """
    data = rows["attributes"] & CONTROL == 0
    rows, is_new = rows[data], is_new[data]
    is_first = np.r_[True, rows["producer_id"][1:] != rows["producer_id"][:-1]][: len(rows)]
    for index in np.flatnonzero(is_first & is_new & (rows["first_sequence"] != 0) & (rows["damage"] == 0)):
        row = rows[index]
        yield Broken(
            Kind.SEQUENCE_GAP,
            row,
            f"producer {row['producer_id']}, epoch {row['producer_epoch']}: its first batch has sequence "
            f"{row['first_sequence']}, and the log begins with offset 0. The batches before are lost, or they are in a "
            "deleted topic of the same name",
        )


def _sequence(row: Row, before: Row, expected: int, is_compacted: bool) -> Broken | None:
    name = f"producer {row['producer_id']}, epoch {row['producer_epoch']}"
    first, last = int(row["first_sequence"]), int(row["last_sequence"])
    is_same_epoch = row["producer_epoch"] == before["producer_epoch"]
    if is_same_epoch and (first, last) == (int(before["first_sequence"]), int(before["last_sequence"])):
        text = f"{name}: sequence {first} to {last} is in the log twice, also at offset {before['first_offset']}"
        return Broken(Kind.DUPLICATE_SEQUENCE, row, text)
    is_behind = is_same_epoch and (first - expected) % SEQUENCES > SEQUENCES // 2
    if is_compacted and not is_behind:
        return None
    waited = int(row["max_timestamp"] - before["max_timestamp"])
    text = f"{name}: sequence {first}, expected {expected} after offset {before['last_offset']}"
    if waited >= EXPIRATION_MS:
        days = f"{waited / EXPIRATION_MS:.1f} days"
        return Broken(Kind.EXPIRED_PRODUCER, row, f"{text}; the producer appended nothing for {days}")
    return Broken(Kind.SEQUENCE_BACK if is_behind else Kind.SEQUENCE_GAP, row, text)


def repeated_batches(rows: Rows, is_new: npt.NDArray[np.bool_] | None = None) -> Iterator[Pair]:
    """Yield the pairs that may be one batch appended twice, of rows that `by_producer` grouped.

    The caller compares the records. With `is_new`, only pairs whose second row is new and whose first is not.
    """
    plain = rows["attributes"] & (CONTROL | TRANSACTIONAL) == 0
    rows = rows[plain]
    new = None if is_new is None else is_new[plain]
    bumps = np.flatnonzero(
        (rows["producer_id"][1:] == rows["producer_id"][:-1])
        & (rows["producer_epoch"][1:] > rows["producer_epoch"][:-1])
    )
    for bump in (bumps + 1).tolist():
        producer, epoch = rows[bump]["producer_id"], rows[bump]["producer_epoch"]
        low = max(bump - WINDOW, 0)
        older = range(low, bump)
        earlier = {}
        for index in older:
            if rows[index]["producer_id"] == producer:
                earlier[_identity(rows[index])] = index
        for index in range(bump, min(bump + WINDOW, len(rows))):
            row = rows[index]
            if row["producer_id"] != producer or row["producer_epoch"] != epoch:
                break
            before = earlier.get(_identity(row))
            if before is not None and (new is None or (new[index] and not new[before])):
                yield Pair(rows[before], row)


def _identity(row: Row) -> tuple[int, ...]:
    """Return what a batch and its repetition have in common: size, records and time stamps.

    The broker replaces the largest time stamp of a topic with `LogAppendTime`.
    """
    is_broker_time = int(row["attributes"]) & LOG_APPEND_TIME
    largest = 0 if is_broker_time else int(row["max_timestamp"])
    return int(row["size"]), int(row["records"]), int(row["base_timestamp"]), largest
