"""Finished batches of a leader's producer state, so that a short window suffices for a recording of any length.

A batch is finished when the state does not cache it, no reload of the state replays it with an effect, and no later
request has its sequence or an earlier one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from checker.language import Spec, replace
from specs.broker.leader_state import LeaderState
from specs.broker.producer_state import Partition
from traces.validate import Found
from traces.validate.forgetting import Constants, FinishedPrefix, Forgetting, Forgotten, prefix_of_log

ANSWERS = ("none", "out of order sequence number", "invalid producer epoch", "unknown producer id")
"""The errors of the answers that follow from the producer state, with "none"."""

Batch = tuple[int, int]
"""The epoch and the sequence of a batch with one record."""


class FinishedAnswers(Forgetting):
    """Batches of one record, of `broker/leader_state`, with the answers to Produce requests as events.

    The batch of a prefix with number n is the one at offset n - 1. Epochs keep their numbers. The sequences of the
    oldest epoch in the log become smaller, so that the model needs no more of them than the window has batches.
    """

    checked = frozenset(("sequences_contiguous", "cache_names_the_log", "retries_recognised", "epochs_never_go_back"))

    def fits(self, spec: Spec) -> bool:
        """Return whether the spec is a leader with one partition, that takes any sequence without state."""
        constants = spec.constants
        return (
            type(spec) is LeaderState
            and constants["partitions"] == constants["max_batch_records"] == 1
            and constants["no_state"] == "any"
            and constants["old_sequence"] == "out_of_order"
        )

    def total(self, events: Sequence[Found]) -> int:
        """Return the largest number that an event names.

        0, for a model with all batches, if the first sequence is not 0: a leader without state takes any.
        """
        appended = _appends(events)
        if appended and appended[0][1][1] != 0:
            return 0
        return max((number for named in self.named(events) for number in named), default=0)

    def named(self, events: Sequence[Found]) -> list[list[Any]]:
        """Return the batch that each event names: its sequence has a number also if the batch was not appended."""
        ends: dict[int, int] = {}  # the number of the last appended batch, by epoch
        for offset, (epoch, _) in _contiguous(_appends(events)):
            ends[epoch] = offset + 1
        names_of_events: list[list[Any]] = [[] for _ in events]
        for event, named in zip(events, names_of_events, strict=True):
            if _is_answer(event):
                epoch, sequence = _batch(event)
                begin = max((end for earlier, end in ends.items() if earlier < epoch), default=0)
                named.append(begin + sequence + 1)
        return names_of_events

    def renumbered(self, fields: Found, forgotten: Forgotten) -> Found:
        """Return an event with the offsets and sequences of the states."""
        if not _is_answer(fields):
            return fields
        epoch, sequence = _batch(fields)
        changed = {"sequence": sequence - _fewer(forgotten.sequences, epoch)}
        if type(fields.get("offset")) is int:
            changed["offset"] = fields["offset"] - forgotten.offsets
        return {**fields, **changed}

    def description(self, forgotten: int, first_offset: int) -> str:
        """Return what the numbers of a state mean after some batches were forgotten."""
        return f"offset 0 is offset {first_offset:,} of the log, and the sequences of the oldest epoch are smaller"

    def constants(self, constants: Mapping[str, Any], window: int) -> Constants:
        """Return the constants with `window` batches; a full log takes no request, and the last sequence wraps."""
        return {**constants, "log_size": window + 1, "max_sequence": window + 2}

    def finished(self, spec: Any, most: int) -> list[FinishedPrefix]:
        """Return the prefixes of the log after which there are as many batches as the state caches.

        A reload of these batches gives the same state.
        """
        (p,) = Partition
        log = list(spec.log[p])
        most = min(most, len(log) - spec.cache_size)
        if spec.verified[p] is not None:
            return []
        return [prefix_of_log(n, (log[n].epoch, log[n].sequence)) for n in range(1, most + 1)]

    def forget(self, spec: Any, prefix: FinishedPrefix) -> None:
        """Remove a prefix of the log. The sequences of the epoch of the oldest batch begin at 0 again."""
        (p,) = Partition
        first = prefix.records
        spec.log[p] = [
            replace(batch, sequence=batch.sequence - _fewer(prefix.sequences, batch.epoch))
            for batch in list(spec.log[p])[first:]
        ]
        if spec.producer_epoch[p] is not None:
            fewer = _fewer(prefix.sequences, spec.producer_epoch[p])
            spec.cached[p] = [
                replace(known, sequence=known.sequence - fewer, offset=known.offset - first) for known in spec.cached[p]
            ]
        spec.snapshots[p] = {offset - first for offset in spec.snapshots[p] if offset > first}
        spec.forgotten[p] = max(spec.forgotten[p] - first, 0)
        if spec.answer.offset is not None:
            spec.answer = replace(spec.answer, offset=max(spec.answer.offset - first, 0))


def _is_answer(fields: Found) -> bool:
    return (
        fields.get("event") == "response"
        and fields.get("error") in ANSWERS
        and all(type(fields.get(name)) is int for name in ("epoch", "sequence"))
    )


def _batch(fields: Found) -> Batch:
    return fields["epoch"], fields["sequence"]


def _appends(events: Sequence[Found]) -> list[tuple[int, Batch]]:
    """Return the offsets of answers, each with its batch, in the order of their first answers."""
    batches: dict[int, Batch] = {}
    for event in events:
        if _is_answer(event) and event["error"] == "none" and type(event.get("offset")) is int:
            batches.setdefault(event["offset"], _batch(event))
    return list(batches.items())


def _contiguous(appended: Sequence[tuple[int, Batch]]) -> Iterator[tuple[int, Batch]]:
    """Iterate over the first batches that fill the log in order, with the sequences 0, 1, 2, ... in each epoch.

    A leader that has appended a batch appends no other. So the model rejects the answer after them, if there is one.
    """
    before = (-1, -1)
    for expected, (offset, (epoch, sequence)) in enumerate(appended):
        if offset != expected or epoch < before[0] or sequence != (before[1] + 1 if epoch == before[0] else 0):
            return
        before = (epoch, sequence)
        yield offset, before


def _fewer(sequences: tuple[int, int], epoch: int) -> int:
    """Return by how much the sequences of an epoch are smaller."""
    return sequences[1] if epoch == sequences[0] else 0
