"""The log of one broker as observations: recognised lines, with those of one step combined.

A leader writes a new high watermark before it writes the fetch that raised it, and after an append or a change of the
ISR: in either case in the same thread. A follower writes three lines for an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from kafka_tools.lab.recording.line_patterns import RecognisedLine, recognise
from kafka_tools.lab.recording.log_lines import LogLine, read_lines

_SAME_STEP_MS = 500
"""The longest time between two lines of one step. The thread writes no line of another step in between."""

_AT_ONCE_MS = 50
"""The longest time between an append and the line of the high watermark that it has raised."""

_SAME_CHANGE_MS = 1000
"""The longest time between the cause of changes and the last of them: a controller changes all partitions at once."""

_TIME = "%Y-%m-%d %H:%M:%S.%f"
_FETCHER = re.compile(r"\[ReplicaFetcher replicaId=\d+, leaderId=(\d+),")


@dataclass
class Observed:
    """What a broker logged or the harness noted: milliseconds since the epoch, broker, kind, and fields.

    `partition` is None for an observation about a broker. `thread` is that of the line: within a broker's log, the
    order of the lines is certain for one thread only.
    """

    time: int
    broker: int
    kind: str
    partition: str | None
    fields: dict[str, Any]
    thread: str = ""


@dataclass
class BrokerLog:
    """The observations of a broker's log, and the lines that look like an event and do not match its pattern."""

    observed: list[Observed] = field(default_factory=list)
    unparsed: list[str] = field(default_factory=list)
    lines: int = 0


def milliseconds(text: str) -> int:
    """Return a local time of a log as milliseconds since the epoch."""
    return round(datetime.strptime(text, _TIME).timestamp() * 1000)


def read_broker_log(path: Path, broker: int) -> BrokerLog:
    """Return the observations of a log."""
    log = BrokerLog()
    log.observed = list(_combine(_recognise(read_lines(path), log, path), broker))
    return log


def _recognise(lines: Iterable[LogLine], log: BrokerLog, path: Path) -> Iterator[RecognisedLine]:
    for line in lines:
        log.lines += 1
        recognised = recognise(line)
        if recognised is None:
            continue
        if recognised.groups is None:
            log.unparsed.append(f"{path}:{line.number}: {recognised.kind}: {line.text}")
        else:
            yield recognised


def _combine(lines: Iterable[RecognisedLine], broker: int) -> Iterator[Observed]:
    """Iterate over observations; fields that other lines of the same step have are added to the observation."""
    held: dict[tuple[str, str | None], list[Observed]] = {}
    causes: dict[str, Observed] = {}
    latest: dict[tuple[str, str | None], Observed] = {}
    isr: dict[str | None, list[int]] = {}
    result: list[Observed] = []
    for recognised in lines:
        for observed in _observations(recognised, broker):
            key = (recognised.line.thread, observed.partition)
            if observed.kind in ("leading", "refreshed", "learnt_isr"):
                isr[observed.partition] = observed.fields["isr"]
            match observed.kind:
                case "cause":
                    causes[recognised.line.thread] = observed
                    continue
                case "committed" | "cached" | "receiving" | "granted" | "shrinking":
                    held.setdefault(key, []).append(observed)
                    result.append(observed)
                    continue
                case "changed":
                    granted = [other for other in held.pop(key, []) if other.kind == "granted"]
                    cause = _cause_of(observed, causes.get(recognised.line.thread))
                    for other in granted or cause:
                        if observed.time - other.time <= _SAME_CHANGE_MS:
                            _absorb_cause(observed, other)
                case "recorded" | "appended" | "received" | "asked_to_shrink":
                    for other in held.pop(key, []):
                        if _precedes(other, observed, latest.get(key), isr.get(observed.partition, [])):
                            _absorb(observed, other)
                        elif (before := latest.get(key)) is not None:
                            result += _absorb_into(before, other, isr.get(observed.partition, []))
                case _:
                    for other in held.pop(key, []):
                        if (before := latest.get(key)) is not None:
                            result += _absorb_into(before, other, isr.get(observed.partition, []))
            before = latest.get(key)
            result.append(observed)
            latest[key] = observed
            if before is not None and _asks_meanwhile(before, observed):
                # The leader asks while it counts the fetch; in the model it asks after that.
                # The count is not later than the request, although its line may be, also after a pause.
                observed.time = min(observed.time, before.time)
                result.remove(before)
                result.append(replace(before, time=observed.time))
    for key, others in held.items():
        for other in others:
            # The broker may have died before it wrote the line of a count, and before it answered the fetch.
            is_of_count = other.kind == "committed" and other.partition is not None
            if (before := latest.get(key)) is not None and not (is_of_count and before.kind == "recorded"):
                result += _absorb_into(before, other, isr.get(key[1], []))
    # A thread takes the time of its line before it waits for the other threads' lines to be written.
    return iter(sorted((each for each in result if each.kind not in _PARTS), key=lambda each: each.time))


_PARTS = ("committed", "cached", "receiving", "granted", "shrinking", "cause")
"""The kinds whose fields are added to another line of the same step."""


def _cause_of(observed: Observed, cause: Observed | None) -> list[Observed]:
    """Return the cause of a change, if it names the partition.

    A cause explains one change of each partition, and the record of a new directory before it.
    """
    if cause is None or observed.partition not in cause.fields["partitions"]:
        return []
    if not observed.fields.get("has_new_directory"):
        cause.fields["partitions"].remove(observed.partition)
    return [cause]


def _asks_meanwhile(before: Observed, observed: Observed) -> bool:
    """Return whether a leader has asked to add the follower to the ISR while it counted this fetch."""
    is_count = (before.kind, observed.kind) == ("asked_to_expand", "recorded")
    return is_count and bool(before.fields["follower"] == observed.fields["follower"])


def _precedes(other: Observed, observed: Observed, before: Observed | None, isr: list[int]) -> bool:
    """Return whether a held line belongs to the step of the line after it, and not to that of the line `before` it.

    A new high watermark belongs to a fetch, unless it follows an append at once, or the leader is alone in the ISR and
    the fetch comes much later: a process may be paused between two lines of a step. An append commits its own records
    only for a leader that is alone in the ISR.
    """
    match other.kind, observed.kind:
        case "committed", "recorded":
            high_watermark = other.fields["high_watermark"]
            later = observed.time - other.time
            if before is not None and before.kind == "appended":
                if len(isr) > 1 and high_watermark == before.fields["end"]:
                    return True
                if observed.fields["end"] < high_watermark:
                    return False
                earlier = other.time - before.time
                if earlier <= min(later, _AT_ONCE_MS):
                    return earlier == later
            return later <= _SAME_STEP_MS or len(isr) > 1
        case "shrinking", "asked_to_shrink":
            return True
        case "cached", "appended":
            return bool(other.fields["start"] < observed.fields["end"])
        case (("receiving" | "cached"), "received"):
            return True
    return False


def _absorb_into(before: Observed, other: Observed, isr: list[int]) -> list[Observed]:
    """Add the fields of a held line to the line before it, or return the line as an observation of its own.

    An append raises no high watermark by itself unless its leader is alone in the ISR: its thread has raised what
    another thread has counted, and has not written yet.
    """
    if (before.kind, other.kind) == ("appended", "committed") and len(isr) > 1:
        return [replace(other, kind="raised")]
    _absorb(before, other)
    return []


def _absorb(observed: Observed, other: Observed) -> None:
    """Add the fields of a line of the same step."""
    match other.kind:
        case "committed":
            observed.fields["high_watermark"] = other.fields["high_watermark"]
            # The leader has counted the fetch before this line. The process may be paused after it.
            observed.time = min(observed.time, other.time)
        case "shrinking":
            # The leader waits for the ISR from this line on; it sends the request after that.
            observed.time = other.time
        case "cached":
            observed.fields["epoch_start"] = {"epoch": other.fields["epoch"], "start": other.fields["start"]}
        case "receiving":
            observed.fields.setdefault("offset", other.fields["end"])
            observed.fields["end"] = other.fields["end"]


def _absorb_cause(observed: Observed, other: Observed) -> None:
    observed.fields["cause"] = other.fields.get("cause", "alter_partition")
    if "node" in other.fields:
        observed.fields["node"] = other.fields["node"]


def _observations(recognised: RecognisedLine, broker: int) -> Iterator[Observed]:
    groups = recognised.groups
    assert groups is not None
    time, thread = milliseconds(recognised.line.time), recognised.line.thread
    kind = recognised.kind
    if kind == "fetching":
        match = _FETCHER.search(recognised.line.text)
        leader = int(match[1]) if match else 0
        for partition, fetched in _fetches(groups.get("partitions", "")):
            yield Observed(time, broker, kind, partition, {"leader": leader, **fetched}, thread)
        return
    if kind == "appended" and thread.startswith("ReplicaFetcherThread"):
        return
    fields: dict[str, Any] = {name: _value(name, text) for name, text in groups.items() if name != "partition"}
    if kind == "appended":
        fields = {"end": fields["last"] + 1, "records": fields["last"] - fields["first"] + 1}
    if kind == "changed":
        fields = _difference(groups["difference"])
    yield Observed(time, broker, kind, recognised.partition, fields, thread)


_FETCHED = re.compile(
    r"([\w.\-]+-\d+)=PartitionData\(.*?fetchOffset=(\d+),.*?currentLeaderEpoch=Optional(?:\[(\d+)\]|\.empty), "
    r"lastFetchedEpoch=Optional(?:\[(\d+)\]|\.empty)\)"
)


def _fetches(text: str) -> Iterator[tuple[str, dict[str, int]]]:
    for partition, offset, leader_epoch, last_epoch in _FETCHED.findall(text):
        yield (
            partition,
            {"offset": int(offset), "leader_epoch": int(leader_epoch or -1), "last_epoch": int(last_epoch or -1)},
        )


_CHANGE = re.compile(r"(\w+): (\[[^\]]*\]|[\w\-]+) -> (\[[^\]]*\]|[\w\-]+)")
_CHANGED = {"isr": "isr", "leader": "leader", "leaderEpoch": "leader_epoch", "partitionEpoch": "partition_epoch"}


def _difference(text: str) -> dict[str, Any]:
    """Return the new values of a partition's registration, its earlier ISR and leader, and if a directory is new."""
    changes: dict[str, Any] = {}
    for name, before, after in _CHANGE.findall(text):
        if name in ("isr", "elr"):
            changes[name], changes[f"{name}_before"] = _numbers(after.strip("[]")), _numbers(before.strip("[]"))
        elif name in _CHANGED:
            changes[_CHANGED[name]] = int(after)
            if name == "leader":
                changes["leader_before"] = int(before)
        elif name == "directories":
            changes["has_new_directory"] = True
    return changes


_LISTS = frozenset(("isr", "replicas", "followers"))
_TEXTS = frozenset(("cause", "error", "after", "difference", "settings"))


def _value(name: str, text: str) -> Any:
    if name in _LISTS:
        return _numbers(text)
    if name == "partitions":
        return text.split(", ")
    return text if name in _TEXTS else int(text)


def _numbers(text: str) -> list[int]:
    return [int(part) for part in re.findall(r"-?\d+", text)]
