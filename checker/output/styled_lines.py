"""Lines of styled text: coloured in a terminal and broken between words at its width, plain everywhere else.

Rich is imported only for a terminal, because its import slows the start of every run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import TextIO

from checker.printable import printable, printable_lines

Span = tuple[str, str]
"""A piece of text and its style in Rich's notation ("bold red"); "" is plain."""

Line = tuple[Span, ...]

BLANK: Line = ()

_USUAL_WIDTH, _LEAST_WIDTH = 80, 20
"""Columns of a terminal that does not report them, and the fewest that lines are broken for."""

_CONTINUED = 4
"""Columns by which the rest of a broken line is indented further than its beginning."""

_GAP = re.compile(r"(?<=\S) {2,}(?=\S)")
"""Between two columns of a line."""


def line(*spans: Span | str) -> Line:
    """Return a line of spans; a string is a span of plain text."""
    return tuple((span, "") if isinstance(span, str) else span for span in spans)


def lines_of_written_files(files: Iterable[object]) -> list[Line]:
    """Return the line that names the files and folders that a command wrote; no line for no file.

    Empty names, None and `-`, which is standard output, are left out.
    """
    named = [str(file) for file in files if file and str(file) != "-"]
    return [line(("written: ", "dim"), ", ".join(named))] if named else []


def plain(lines: Iterable[Line]) -> str:
    """Return lines as plain text; every line ends with a line break."""
    return printable_lines("".join("".join(printable(text) for text, _ in spans).rstrip() + "\n" for spans in lines))


def in_colour(stream: TextIO) -> bool:
    """Return whether to colour a stream: it is a terminal, and NO_COLOR is not set."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def width_of(stream: TextIO) -> int | None:
    """Return the columns of a stream: COLUMNS, or the width of its terminal; None if its lines have no limit."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return max(int(given), _LEAST_WIDTH)
    if not stream.isatty():
        return None
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return max(columns, _LEAST_WIDTH) if columns else _USUAL_WIDTH


def broken(spans: Line, width: int) -> Iterator[Line]:
    """Break a line between words into lines of at most `width` columns; a longer word gets its own line.

    The rest of a line is indented like its second column, if that is on the left, else further than the line.
    """
    text = "".join(part for part, _ in spans).rstrip()
    indentation = len(text) - len(text.lstrip())
    gap = _GAP.search(text)
    column = gap.end() if gap is not None else width
    margin = " " * (column if column <= width // 3 else min(indentation + _CONTINUED, width // 2))
    begin, before = 0, ""
    while len(before) + len(text) - begin > width:
        # The first column after the margin may not be a break: nothing would be left before it.
        first = begin + (indentation if not before else 0) + 1
        end = text.rfind(" ", first, begin + width - len(before) + 1)
        if end < 0:
            end = text.find(" ", first)
            if end < 0:
                break
        yield line(before, *_part(spans, begin, len(text[:end].rstrip())))
        begin, before = end + 1 + len(text[end + 1 :]) - len(text[end + 1 :].lstrip()), margin
    yield line(before, *_part(spans, begin, len(text)))


def break_text(text: str, stream: TextIO) -> str:
    """Return a message with its long lines broken for a stream, except indented ones: carets point at their columns."""
    if (width := width_of(stream)) is None:
        return text
    rows = [[line(row)] if row.startswith(" ") else broken(line(row), width) for row in text.split("\n")]
    return "\n".join("".join(part for part, _ in spans) for row in rows for spans in row)


def _part(spans: Line, begin: int, end: int) -> Iterator[Span]:
    """Iterate over the spans of the columns from `begin` to `end` of a line."""
    for text, style in spans:
        if part := text[max(begin, 0) : max(end, 0)]:
            yield part, style
        begin, end = begin - len(text), end - len(text)


def write(lines: Iterable[Line], stream: TextIO) -> None:
    """Write lines to a stream, in colour if it is a terminal, and broken at its width."""
    if (width := width_of(stream)) is not None:
        # Escapes are longer than the characters that they replace.
        safe = [tuple((printable(text), style) for text, style in spans) for spans in lines]
        lines = [part for spans in safe for part in broken(spans, width)]
    if not in_colour(stream):
        stream.write(plain(lines))
        stream.flush()
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False)
    for spans in lines:
        console.print(Text.assemble(*((printable(text), style) for text, style in spans)), soft_wrap=True)
