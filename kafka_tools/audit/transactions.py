"""The transactions of a part of a partition: which markers end which transactions, and which ones stay open.

A transaction of a producer begins with its first transactional batch after a marker and ends with the next marker
(`ProducerAppendInfo`, `ProducerStateManager.completeTxn`). A part of a log does not know what is open when it begins;
`TransactionState` joins the parts in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from kafka_tools.audit.findings import Kind
from kafka_tools.audit.producer_rules import Broken
from kafka_tools.audit.record_batches import ABORT, NO_MARKER, TRANSACTIONAL, Rows


@dataclass(frozen=True)
class Ended:
    """The end of a transaction by a marker: `first` is the offset of its first batch, None if no batch is known."""

    producer: int
    first: int | None
    last: int
    is_abort: bool


@dataclass(frozen=True)
class ProducerPart:
    """The transactions of a producer in a part of a log.

    `end` is the first marker; a transaction that is open when the part begins ends there. `begun` is the offset of the
    first transactional batch after the last marker, None if there is none. The coordinator epochs are those of the
    first and the last marker, -1 without one.
    """

    end: Ended | None
    begun: int | None
    last_timestamp: int
    first_coordinator_epoch: int = -1
    last_coordinator_epoch: int = -1


@dataclass(frozen=True)
class TransactionPart:
    """The transactions of a part of a log: by producer, and the aborted ones that begin and end after `end`.

    `empty_markers` counts markers that end nothing. A coordinator writes them for a partition that was added to a
    transaction and got no batch.
    """

    producers: Mapping[int, ProducerPart] = field(default_factory=dict)
    aborted: tuple[Ended, ...] = ()
    empty_markers: int = 0


@dataclass
class TransactionState:
    """The transactions of the log up to some offset. `open` has the first offset and the last time stamp."""

    open: dict[int, tuple[int, int]] = field(default_factory=dict)
    coordinator_epochs: dict[int, int] = field(default_factory=dict)
    aborted: list[Ended] = field(default_factory=list)
    empty_markers: int = 0

    def add(self, part: TransactionPart) -> list[str]:
        """Add the next part of the log; return sentences about coordinator epochs that go back."""
        wrong = []
        self.aborted += part.aborted
        self.empty_markers += part.empty_markers
        for producer, producer_state in part.producers.items():
            known = self.coordinator_epochs.get(producer, -1)
            if 0 <= producer_state.first_coordinator_epoch < known:
                wrong.append(_coordinator_sentence(producer, producer_state.first_coordinator_epoch, known))
            if producer_state.end is not None:
                self.coordinator_epochs[producer] = producer_state.last_coordinator_epoch
                first, _ = self.open.pop(producer, (producer_state.end.first, 0))
                if first is None:
                    self.empty_markers += 1
                elif producer_state.end.is_abort:
                    self.aborted.append(replace(producer_state.end, first=first))
            if producer in self.open:
                self.open[producer] = self.open[producer][0], producer_state.last_timestamp
            elif producer_state.begun is not None:
                self.open[producer] = producer_state.begun, producer_state.last_timestamp
        return wrong


def _coordinator_sentence(producer: int, epoch: int, before: int) -> str:
    return f"producer {producer}: a marker of coordinator epoch {epoch} follows one of epoch {before}"


def transactions_of(rows: Rows) -> tuple[TransactionPart, list[Broken]]:
    """Return the transactions of rows that `by_producer` grouped, and the broken rules within them."""
    broken = _batches_outside(rows)
    events = rows[(rows["attributes"] & TRANSACTIONAL != 0) | (rows["marker"] != NO_MARKER)]
    if not len(events):
        return TransactionPart(), broken
    starts = np.flatnonzero(np.r_[True, events["producer_id"][1:] != events["producer_id"][:-1]])
    producers: dict[int, ProducerPart] = {}
    aborted: list[Ended] = []
    empty = 0
    for group in np.split(events, starts[1:]):
        markers = np.flatnonzero(group["marker"] != NO_MARKER)
        begins = [0, *(markers + 1).tolist()]
        ends = [_end_of(group, begin, marker) for begin, marker in zip(begins, markers.tolist(), strict=False)]
        aborted += [end for end in ends[1:] if end.is_abort and end.first is not None]
        empty += sum(end.first is None for end in ends[1:])
        producers[int(group[0]["producer_id"])] = _of_producer(group, markers, ends)
        broken += _coordinator_epochs(group[markers])
    return TransactionPart(producers, tuple(aborted), empty), broken


def _end_of(group: Rows, begin: int, marker: int) -> Ended:
    row = group[marker]
    first = int(group[begin]["first_offset"]) if begin < marker else None
    return Ended(int(row["producer_id"]), first, int(row["last_offset"]), bool(row["marker"] == ABORT))


def _of_producer(group: Rows, markers: npt.NDArray[np.int64], ends: list[Ended]) -> ProducerPart:
    rest = group[markers[-1] + 1 :] if len(markers) else group
    begun = int(rest[0]["first_offset"]) if len(rest) else None
    last_timestamp = int(group["max_timestamp"].max())
    if not ends:
        return ProducerPart(None, begun, last_timestamp)
    epochs = group["coordinator_epoch"][markers]
    return ProducerPart(ends[0], begun, last_timestamp, int(epochs[0]), int(epochs[-1]))


def _batches_outside(rows: Rows) -> list[Broken]:
    """Return the batches without a transaction that follow a transactional batch of the same producer."""
    is_data = rows["marker"] == NO_MARKER
    is_transactional = rows["attributes"] & TRANSACTIONAL != 0
    wrong = (
        (rows["producer_id"][1:] == rows["producer_id"][:-1])
        & (rows["damage"][1:] == rows["damage"][:-1])
        & is_data[1:]
        & is_data[:-1]
        & is_transactional[:-1]
        & ~is_transactional[1:]
    )
    return [
        Broken(
            Kind.TRANSACTION,
            rows[index],
            f"producer {rows[index]['producer_id']}: a batch outside a transaction, while the transaction of offset "
            f"{rows[index - 1]['first_offset']} is open",
        )
        for index in np.flatnonzero(wrong) + 1
    ]


def _coordinator_epochs(markers: Rows) -> Iterator[Broken]:
    epochs = markers["coordinator_epoch"]
    for index in np.flatnonzero(epochs[1:] < epochs[:-1]) + 1:
        text = _coordinator_sentence(int(markers[index]["producer_id"]), int(epochs[index]), int(epochs[index - 1]))
        yield Broken(Kind.TRANSACTION, markers[index], text)
