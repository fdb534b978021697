"""Recorded traces: events as JSON objects, one for each line; a file may hold many traces."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from checker.errors import InputError
from traces.json_input import parse_json_line
from traces.storage import MOST_LOG_BYTES, Location, read_location

Found = dict[str, Any]
"""A recorded event: a JSON object."""


@dataclass(frozen=True)
class RecordedEvent:
    """A recorded event and its line number in the file, from 1."""

    line: int
    found: dict[str, Any]


@dataclass(frozen=True)
class RecordedTrace:
    """One recorded trace: its name, its file, its events, and the number of blank lines."""

    name: str
    file: str
    events: tuple[RecordedEvent, ...]
    blank: int = 0


def read_events(text: Iterable[str], file: str, first_line: int = 1) -> tuple[list[RecordedEvent], int]:
    """Return the events of some lines of a file and the number of blank lines; raise InputError for a wrong line."""
    events, blank = [], 0
    for number, line in enumerate(text, first_line):
        if line.isspace() or not line:
            blank += 1
            continue
        events.append(RecordedEvent(number, parse(line, file, number)))
    return events, blank


def parse(line: str, file: str, number: int) -> dict[str, Any]:
    """Return the event of a line; raise InputError if the line is not a JSON object."""
    try:
        content = parse_json_line(line)
    except RecursionError:
        raise InputError("this is nested too deeply", file=file, line=number, text=line[:200]) from None
    except ValueError as error:
        what = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise InputError(f"this is not JSON: {what}", file=file, line=number, text=line[:200]) from None
    if not isinstance(content, dict):
        raise InputError("an event is a JSON object, {...}", file=file, line=number, text=line[:200])
    return content


def read_log(path: Location) -> RecordedTrace:
    """Return the trace of a file; raise InputError if the file cannot be read or a line is no event."""
    events, blank = read_events(_lines(path), str(path))
    return RecordedTrace(str(path), str(path), tuple(events), blank)


@dataclass(frozen=True)
class UnparsedTrace:
    """A trace with unparsed events, and the line number of each in its file."""

    name: str
    file: str
    texts: list[str]
    lines: list[int]

    def recorded(self) -> RecordedTrace:
        """Return the parsed trace; raise InputError if a line is no event."""
        pairs = zip(self.lines, self.texts, strict=True)
        return RecordedTrace(
            self.name, self.file, tuple(RecordedEvent(line, parse(text, self.file, line)) for line, text in pairs)
        )


def read_many(path: Location, by: str) -> Iterator[UnparsedTrace]:
    """Iterate over the traces of a file; the field `by` of an event names its trace. The order of lines is kept."""
    traces: dict[str, UnparsedTrace] = {}
    for number, text in enumerate(_lines(path), 1):
        if text and not text.isspace():
            name = trace_name(text, by, str(path), number)
            raw = traces.setdefault(name, UnparsedTrace(name, str(path), [], []))
            raw.texts.append(text)
            raw.lines.append(number)
    yield from traces.values()


def trace_name(text: str, by: str, file: str, line: int) -> str:
    """Return the name of the trace that a line belongs to; raise InputError if it is no event with the field `by`."""
    fields = parse(text, file, line)
    if by not in fields:
        raise InputError(f'the event has no "{by}", which names its trace', file=file, line=line)
    return str(fields[by])


def _lines(path: Location) -> list[str]:
    try:
        lines = read_location(path, MOST_LOG_BYTES).decode("utf-8-sig").split("\n")
    except OSError as error:
        raise InputError(f"the log {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8, see byte {error.start}") from None
    return lines if lines[-1] else lines[:-1]
