"""Offsets of batches: in the model a batch is one record, and an answer to a fetch has one."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any

from checker.errors import InputError

Event = dict[str, Any]

_OFFSETS = ("end", "high_watermark", "offset")


def in_batches(events: Sequence[Event], partition: str) -> list[Event]:
    """Return events with offsets that count batches instead of records.

    Raises InputError if two batches overlap, as after a truncation, or if an answer to a fetch has several batches.
    """
    ends = sorted({0} | {event["end"] for event in events if event["event"] == "appended"})
    translated = [_translate(event, ends) for event in events]
    for before, event in zip(events, translated, strict=True):
        if (
            event["event"] == "appended"
            and bisect.bisect_left(ends, before["end"] - before["records"]) != event["end"] - 1
        ):
            raise InputError(
                f"{partition} has a batch of {before['records']} records up to offset {before['end']} that overlaps "
                "others after a truncation, and the model counts batches: let the producer send one record per batch"
            )
        if event["event"] == "received":
            event["records"] = event["end"] - bisect.bisect_left(ends, before["end"] - before["records"])
            if event["records"] > 1:
                raise InputError(
                    f"{partition}: an answer to a fetch has {event['records']} batches up to offset {before['end']}, "
                    "and in the model it has one: set replica.fetch.max.bytes=1 for the brokers"
                )
        if event["event"] == "appended":
            del event["records"]
    return translated


def _translate(event: Event, ends: list[int]) -> Event:
    translated = dict(event)
    for name in _OFFSETS:
        if name in translated:
            translated[name] = bisect.bisect_left(ends, translated[name])
    if "epoch_start" in translated:
        start = bisect.bisect_left(ends, translated["epoch_start"]["start"])
        translated["epoch_start"] = {**translated["epoch_start"], "start": start}
    if "diverging" in translated and translated["diverging"]["end"] >= 0:
        translated["diverging"] = {
            **translated["diverging"],
            "end": bisect.bisect_left(ends, translated["diverging"]["end"]),
        }
    return translated
