"""Finished offsets of a recorded partition, so that a short window of offsets suffices for a log of any length.

An offset is finished when all replicas have the same record there, all live ones know that it is committed, and no
message and no later event reads it. Then no replica truncates its log there any more: each event that truncates a log,
or lets a broker return to the high watermark of its checkpoint, names the offset.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from checker.language import Spec, replace
from checker.language.types import SMALL_UNIVERSE
from specs.replication.partition import Partition
from specs.replication.state import Replica
from traces.validate import Found
from traces.validate.forgetting import Constants, FinishedPrefix, Forgetting, Forgotten, prefix_of_log

_OFFSETS = ("end", "high_watermark", "offset")
"""The fields of an event that are offsets or log end offsets."""

_NESTED = {"diverging": "end", "epoch_start": "start"}
"""The fields of an event that have an offset in a field of their own."""


class FinishedOffsets(Forgetting):
    """Offsets of `replication/partition`, with the events of `kafka_tools.lab.recording.partition_events`.

    The record of a prefix with number n is the one at offset n - 1, so that an event with the log end offset n names
    it. Identities of records (`Record.id`) are renamed; epochs keep their numbers.
    """

    checked = frozenset(
        (
            "weak_isr",
            "strong_isr",
            "log_matching",
            "no_acked_loss",
            "reads_are_stable",
            "counted_followers_agree",
            "cache_matches_the_log",
            "leader_is_not_fenced",
            "leader_is_in_sync",
        )
    )

    def fits(self, spec: Spec) -> bool:
        """Return whether the spec has the rules of the recorded versions, and no consumer."""
        constants = spec.constants
        return (
            type(spec) is Partition
            and constants["truncation"] == "on_fetch"
            and constants["fences_fetches"] is True
            and constants["late_checkpoints"] is True
            and int(constants["fetches_of_former_connections"]) > 0
            and constants["consumers"] is False
            and constants["sends_lazily"] is False
        )

    def total(self, events: Sequence[Found]) -> int:
        """Return the largest offset of a trace."""
        return max((offset for fields in events for _, offset in _offsets(fields)), default=0)

    def named(self, events: Sequence[Found]) -> list[list[Any]]:
        """Return the offsets that each event names.

        The start of a broker names its last checkpoint, and a lost disk the first offset. Offset 0 is also the value of
        what is not known: an event with it reads the beginning of the log.
        """
        checkpoints: dict[str, int] = {}
        names_of_events = [[max(offset, 1) for _, offset in _offsets(event)] for event in events]
        for event, named in zip(events, names_of_events, strict=True):
            broker = str(event.get("broker"))
            match event.get("event"):
                case "checkpointed":
                    checkpoint = event.get("high_watermark")
                    checkpoints[broker] = max(checkpoint, 1) if type(checkpoint) is int else 1
                case "lost_disk":
                    checkpoints[broker] = 1
                    named.append(1)
                case "started":
                    named.append(checkpoints.get(broker, 1))
        return names_of_events

    def identities(self, window: int) -> int:
        """Return the largest number of records of a model with a window: the logs of two leaders may differ."""
        return min(2 * window, SMALL_UNIVERSE)

    def takes_identity(self, fields: Found) -> bool:
        """Return whether an event appends a record."""
        return fields.get("event") == "appended"

    def identities_in(self, spec: Any) -> int:
        """Return the number of records that were appended in a state."""
        return int(spec.next_record_id)

    def renumbered(self, fields: Found, forgotten: Forgotten) -> Found:
        """Return an event with the offsets of the states."""
        changed: dict[str, Any] = {}
        for name, offset in _offsets(fields):
            number = offset - forgotten.offsets
            changed[name] = number if name in _OFFSETS else {**fields[name], _NESTED[name]: number}
        return {**fields, **changed}

    def description(self, forgotten: int, first_offset: int) -> str:
        """Return what the numbers of a state mean after some offsets were forgotten."""
        return f"offset 0 is offset {first_offset:,} of the log, and records have other numbers"

    def constants(self, constants: Mapping[str, Any], window: int) -> Constants:
        """Return the constants with a log of `window` records."""
        return {**constants, "log_size": window, "max_records": self.identities(window)}

    def finished(self, spec: Any, most: int) -> list[FinishedPrefix]:
        """Return the prefixes of the log that every replica has, and that every live one knows to be committed."""
        ends = [_common_prefix(spec) - 1, *(spec.high_watermark[replica] - 1 for replica in spec.alive)]
        ends += [request.offset - 1 for request, is_unread in _requests(spec) if not is_unread]
        return [prefix_of_log(n) for n in range(1, min([most, *ends]) + 1)]

    def forget(self, spec: Any, prefix: FinishedPrefix) -> None:
        """Remove a prefix of the log. Offsets in it become 0, which nothing reads any more."""
        removed = prefix.records
        gone = {record.id for replica in Replica for record in spec.log[replica][:removed]}
        kept = set(spec.acked) | {record.id for record in _records(spec)}
        names = {record: name for name, record in enumerate(sorted(kept - gone))}
        for replica in Replica:
            spec.log[replica] = [_rename(record, names) for record in spec.log[replica][removed:]]
            spec.high_watermark[replica] = _after(spec.high_watermark[replica], removed)
            spec.checkpoint[replica] = _after(spec.checkpoint[replica], removed)
            spec.epoch_start[replica] = _after(spec.epoch_start[replica], removed)
            for other in Replica:
                spec.remote_end[replica][other] = _after(spec.remote_end[replica][other], removed)
            spec.epoch_starts[replica] = [
                replace(entry, start=_after(entry.start, removed)) for entry in spec.epoch_starts[replica]
            ]
            if spec.fetches[replica] is not None:
                spec.fetches[replica] = _fetch_after(spec.fetches[replica], removed)
            spec.former_fetches[replica] = [_fetch_after(entry, removed) for entry in spec.former_fetches[replica]]
            if spec.answers[replica] is not None:
                spec.answers[replica] = _answer_after(spec.answers[replica], removed, names)
        spec.acked = {names[record] for record in spec.acked if record not in gone}
        spec.next_record_id = len(names)


def _offsets(fields: Found) -> Iterator[tuple[str, int]]:
    """Iterate over the fields of an event that are or have offsets; -1 is the end of an unknown epoch."""
    for name in _OFFSETS:
        if type(fields.get(name)) is int:
            yield name, fields[name]
    for name, part in _NESTED.items():
        value = fields.get(name)
        if isinstance(value, dict) and type(value.get(part)) is int and value[part] >= 0:
            yield name, value[part]


def _common_prefix(spec: Any) -> int:
    """Return the number of first offsets at which all replicas have the same record."""
    logs = [spec.log[replica] for replica in Replica]
    end = min(len(log) for log in logs)
    return next((offset for offset in range(end) if len({log[offset] for log in logs}) > 1), end)


def _requests(spec: Any) -> Iterator[tuple[Any, bool]]:
    """Iterate over the fetches in flight, each with whether no leader reads its offset if it is in a finished prefix.

    A leader refuses a fetch of an earlier epoch. It never answers a fetch of a former connection. If it counts such a
    fetch, the event names the offset. If the logs diverge before that offset, the event need not name it.
    """
    for follower in Replica:
        request = spec.fetches[follower]
        if request is not None:
            yield request, follower not in spec.parked and _is_fenced(spec, request)
        for former in spec.former_fetches[follower]:
            end = spec.end_offset_for(former.leader, former.last_epoch).end
            yield former, _is_fenced(spec, former) or not 0 <= end < former.offset


def _is_fenced(spec: Any, request: Any) -> bool:
    return bool(request.leader_epoch < spec.leader_epoch[request.leader])


def _records(spec: Any) -> Iterator[Any]:
    for replica in Replica:
        yield from spec.log[replica]
        answer = spec.answers[replica]
        if answer is not None and answer.record is not None:
            yield answer.record


def _after(offset: int, removed: int) -> int:
    return max(offset - removed, 0)


def _rename(record: Any, names: Mapping[int, int]) -> Any:
    return replace(record, id=names[record.id])


def _fetch_after(request: Any, removed: int) -> Any:
    return replace(request, offset=_after(request.offset, removed))


def _answer_after(answer: Any, removed: int, names: Mapping[int, int]) -> Any:
    diverging, record = answer.diverging, answer.record
    if diverging is not None and diverging.end >= 0:
        diverging = replace(diverging, end=_after(diverging.end, removed))
    return replace(
        answer,
        record=None if record is None else _rename(record, names),
        high_watermark=_after(answer.high_watermark, removed),
        diverging=diverging,
    )
