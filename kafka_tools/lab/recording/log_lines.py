"""The lines of a broker's log, in the layout that `kafka_tools.lab.cluster` configures."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from checker.data_files import open_data
from checker.errors import InputError

_LINE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) ([A-Z]+) \[([^\]]*)\] (\S+) (.*)")


@dataclass(frozen=True)
class LogLine:
    """A line: local time in milliseconds, thread, logger, message, and the line number in its file, from 1."""

    time: str
    thread: str
    logger: str
    text: str
    number: int

    @property
    def class_name(self) -> str:
        """The name of the logger's class without its package."""
        return self.logger.rpartition(".")[2]


def parse_line(text: str, number: int) -> LogLine | None:
    """Return the parts of a line, or None for a line that continues the one before it, such as of a stack trace."""
    match = _LINE.match(text)
    if match is None:
        return None
    time, _, thread, logger, message = match.groups()
    return LogLine(time, thread, logger, message, number)


def read_lines(path: Path) -> Iterator[LogLine]:
    """Iterate over the lines of a log; raise InputError if it cannot be read."""
    try:
        with io.TextIOWrapper(open_data(path), encoding="utf-8", errors="replace") as stream:
            for number, text in enumerate(stream, 1):
                line = parse_line(text.rstrip("\n"), number)
                if line is not None:
                    yield line
    except OSError as error:
        raise InputError(f"the log {path} cannot be read: {error.strerror}") from None
