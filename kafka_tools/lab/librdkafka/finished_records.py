"""Finished records of a recorded producer, so that a short window of records suffices for a log of any length.

A record is finished when its future is complete and no queue, request or response contains it. Of the log, the entries
stay that a broker may read again: those that a reload of its producer state replays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from checker.language import Spec, replace
from checker.language.types import SMALL_UNIVERSE
from specs.broker.producer_state import Partition
from specs.producer.idempotent.failover import IdempotentFailover
from specs.producer.idempotent.mistakes import ImplicitAcks
from specs.producer.idempotent.producer import IdempotentProducer
from specs.producer.plain.application import Future
from specs.producer.plain.producer import PlainProducer
from specs.producer.values import Node
from traces.validate import Found
from traces.validate.forgetting import Constants, FinishedPrefix, Forgetting, Forgotten


class RecordsInEvents(Forgetting):
    """The numbers of records and offsets in the events of `kafka_tools.lab.librdkafka.recorder`; one partition."""

    skipped: frozenset[str] = frozenset()
    """Events without information about the spec, whose records may be finished."""

    def total(self, events: Sequence[Found]) -> int:
        """Return the number of records that the producer was to send."""
        sent = [fields.get("records") for fields in events if fields.get("event") == "configured"]
        return next((number for number in sent if type(number) is int), 0)

    def named(self, events: Sequence[Found]) -> list[list[Any]]:
        """Return the records that each event names."""
        return [list(self.named_by(fields)) for fields in events]

    def named_by(self, fields: Found) -> Iterable[Any]:
        """Iterate over the records of an event; the last event, `log`, shows them all and names none."""
        if fields.get("event") in self.skipped or fields.get("event") in ("configured", "log"):
            return
        if "record" in fields:
            yield fields["record"]
        for name in ("records", "unanswered"):
            records = fields.get(name)
            if isinstance(records, list):
                yield from records

    def contradiction(self, fields: Found, forgotten: Forgotten) -> str | None:
        """Return the first difference between the event `log` and what was forgotten of the log."""
        if fields.get("event") != "log" or not isinstance(fields.get("records"), list):
            return None
        for offset, record in enumerate(forgotten.entries):
            shown = fields["records"][offset] if offset < len(fields["records"]) else "nothing"
            if shown != record:
                return f"the log has record {record} at offset {offset}; the event says {shown}"
        return None

    def renumbered(self, fields: Found, forgotten: Forgotten) -> Found:
        """Return an event with the numbers of the states."""
        changed: dict[str, Any] = {}
        if _is_number(fields.get("record")):
            changed["record"] = fields["record"] - forgotten.records
        if _is_number(fields.get("offset")):
            changed["offset"] = fields["offset"] - forgotten.offsets
        for name in ("records", "unanswered"):
            if fields.get("event") != "configured" and isinstance(fields.get(name), list):
                first = forgotten.offsets if fields.get("event") == "log" else 0
                changed[name] = [
                    record - forgotten.records if _is_number(record) else record for record in fields[name][first:]
                ]
        return fields | changed


def _is_number(value: Any) -> bool:
    return type(value) is int


class FinishedRecords(RecordsInEvents):
    """Records of the specs of `specs.producer.plain`, with acks=1 or all and one partition.

    A log of these specs is never truncated, so that the entries of finished records stay as they are.
    """

    checked = frozenset(
        (
            "no_reorder",
            "no_late_copy",
            "no_duplicate",
            "no_gap",
            "no_acked_loss",
            "ack_true",
            "in_flight_bound",
            "muted_while_in_flight",
            "responses_matched_in_order",
        )
    )

    def fits(self, spec: Spec) -> bool:
        """Return whether the spec is the plain producer with acks, one partition, and no restart or resend."""
        constants = spec.constants
        is_simple = constants["partitions"] == 1 and constants["restarts"] == constants["resends"] == 0
        return type(spec) is PlainProducer and is_simple and constants["acks"] != "0"

    def constants(self, constants: Mapping[str, Any], window: int) -> Constants:
        """Return the constants with `window` records."""
        return {**constants, "records": window}

    def finished(self, spec: Any, most: int) -> list[FinishedPrefix]:
        """Return the prefixes of complete records that nothing refers to, and that fill the front of the log.

        Each record is in the log or has failed, so that `no_gap` does not read it again.
        """
        places = [
            spec.queue[0],
            *(place[node] for place in (spec.in_flight, spec.wire, spec.responses) for node in Node),
        ]
        held = [record for batches in places for batch in batches for record in batch.records]
        log = list(spec.log[0])
        most = min([most, spec.sent, *(record - 1 for record in held)])
        prefixes = []
        for record in range(1, most + 1):
            is_settled = spec.is_in_log(record) or spec.future[record] == Future.FAILED
            if not spec.is_complete(record) or not is_settled:
                break
            end = sum(1 for entry in log if entry <= record)
            later = [spec.offset[number] for number in range(record + 1, spec.constants["records"] + 1)]
            if all(entry <= record for entry in log[:end]) and all(
                position is None or position >= end for position in later
            ):
                prefixes.append(FinishedPrefix(record, tuple(log[:end])))
        return prefixes

    def forget(self, spec: Any, prefix: FinishedPrefix) -> None:
        """Remove a prefix of records, and add as many records that are not sent."""
        records, offsets = prefix.records, len(prefix.entries)
        size = spec.constants["records"]
        for record in range(1, size + 1):
            later = record + records
            spec.future[record] = spec.future[later] if later <= size else Future.UNSENT
            offset = spec.offset[later] if later <= size else None
            spec.offset[record] = None if offset is None else offset - offsets
        spec.sent -= records
        spec.overdue = max(spec.overdue - records, 0)
        spec.log[0] = [entry - records for entry in list(spec.log[0])[offsets:]]
        spec.queue[0] = [_batch_without(batch, records) for batch in spec.queue[0]]
        for node in Node:
            spec.in_flight[node] = [_batch_without(batch, records) for batch in spec.in_flight[node]]
            spec.wire[node] = [_batch_without(request, records) for request in spec.wire[node]]
            spec.responses[node] = [
                # The base of an error is 0.
                replace(_batch_without(response, records), base=max(response.base - offsets, 0))
                for response in spec.responses[node]
            ]


def _batch_without(batch: Any, records: int) -> Any:
    return replace(batch, records={record - records for record in batch.records})


_LARGEST_LOG = SMALL_UNIVERSE - 1
"""The largest log with a set of offsets, the snapshots, in one word."""


class FinishedBatches(RecordsInEvents):
    """Batches of one record, of the specs of `specs.producer.idempotent`, with one partition.

    Sequences and epochs keep their numbers. The log keeps at least as many entries as a broker caches, also if it is
    truncated to the end of its follower: a replay of these entries gives the same producer state.
    """

    skipped = frozenset(("send", "fatal"))
    checked = frozenset(
        (
            "no_duplicate",
            "no_reorder",
            "no_gap",
            "no_acked_loss",
            "ack_true",
            "in_flight_bound",
            "no_endless_retry",
            "bumps_have_causes",
            "no_dead_end",
        )
    )

    def fits(self, spec: Spec) -> bool:
        """Return whether the spec is one of those that this is right for, with one partition."""
        return (
            type(spec) in (IdempotentProducer, IdempotentFailover, ImplicitAcks) and spec.constants["partitions"] == 1
        )

    def constants(self, constants: Mapping[str, Any], window: int) -> Constants:
        """Return the constants with `window` batches, and a log with room for duplicates."""
        return {**constants, "batches": window, "log_size": max(window, min(2 * window, _LARGEST_LOG))}

    def finished(self, spec: Any, most: int) -> list[FinishedPrefix]:
        """Return the prefixes of batches that are complete and that nothing refers to, except the front of the log."""
        (p,) = Partition
        log, batches = list(spec.log[p]), spec.constants["batches"]
        abandoned = [] if spec.abandoned[p] is None else [spec.abandoned[p].id]
        held = [*spec.queue[p], *spec.in_flight[p], *(request.batch.id for request in spec.requests[p]), *abandoned]
        offsets = [batch.offset for batch in (*spec.requests[p], *spec.cached[p])]
        prefixes = []
        for count in range(1, min([most, *held]) + 1):
            if spec.is_pending(p, count - 1):
                break
            end = sum(1 for entry in log if entry.id < count)
            later = [*offsets, *(spec.batch[p][b].offset for b in range(count, batches))]
            is_front = all(entry.id < count for entry in log[:end])
            if is_front and _may_begin_at(spec, p, end) and all(batch is None or batch >= end for batch in later):
                prefixes.append(FinishedPrefix(count, tuple(entry.id + 1 for entry in log[:end])))
        return prefixes

    def forget(self, spec: Any, prefix: FinishedPrefix) -> None:
        """Remove a prefix of batches, and queue as many that are not sent."""
        (p,) = Partition
        count, first, batches = prefix.records, len(prefix.entries), spec.constants["batches"]
        unsent = spec.variables["batch"].first()[p][0]
        for b in range(batches):
            known = spec.batch[p][b + count] if b + count < batches else unsent
            spec.batch[p][b] = replace(known, offset=_offset_after(known.offset, first))
        spec.queue[p] = [*(b - count for b in spec.queue[p]), *range(batches - count, batches)]
        spec.in_flight[p] = [b - count for b in spec.in_flight[p]]
        spec.requests[p] = [
            replace(
                request,
                batch=replace(request.batch, id=request.batch.id - count),
                offset=_offset_after(request.offset, first),
            )
            for request in spec.requests[p]
        ]
        if spec.abandoned[p] is not None:
            spec.abandoned[p] = replace(spec.abandoned[p], id=spec.abandoned[p].id - count)
        spec.log[p] = [replace(entry, id=entry.id - count) for entry in list(spec.log[p])[first:]]
        spec.cached[p] = [replace(batch, offset=batch.offset - first) for batch in spec.cached[p]]
        spec.snapshots[p] = {offset - first for offset in spec.snapshots[p] if offset > first}
        spec.forgotten[p] = max(spec.forgotten[p] - first, 0)
        if "follower_end" in spec.variables:
            spec.follower_end[p] -= first
            spec.follower_loaded[p] = max(spec.follower_loaded[p] - first, 0)


def _offset_after(offset: int | None, first: int) -> int | None:
    return None if offset is None else offset - first


def _may_begin_at(spec: Any, p: Any, first: int) -> bool:
    """Return whether the producer state stays the same after any reload if the log begins at an offset.

    A reload replays the log, and the last batches that it replays, as many as the cache takes, decide the state. A
    failover truncates the log to the end of the follower.
    """
    end = len(spec.log[p])
    if "follower_end" in spec.variables:
        end = min(end, spec.follower_end[p])
    return bool(end - first >= spec.cache_size)
