"""Lines of styled text: coloured in a terminal, plain everywhere else.

Rich is imported only for a terminal, because its import slows the start of every run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TextIO

from checker.printable import printable, printable_lines

Span = tuple[str, str]
"""A piece of text and its style in Rich's notation ("bold red"); "" is plain."""

Line = tuple[Span, ...]

BLANK: Line = ()


def line(*spans: Span | str) -> Line:
    """Return a line of spans; a string is a span of plain text."""
    return tuple((span, "") if isinstance(span, str) else span for span in spans)


def plain(lines: Iterable[Line]) -> str:
    """Return lines as plain text; every line ends with a line break."""
    return printable_lines("".join("".join(printable(text) for text, _ in spans).rstrip() + "\n" for spans in lines))


def in_colour(stream: TextIO) -> bool:
    """Return whether to colour a stream: it is a terminal, and NO_COLOR is not set."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def write(lines: Iterable[Line], stream: TextIO) -> None:
    """Write lines to a stream, in colour if it is a terminal."""
    if not in_colour(stream):
        stream.write(plain(lines))
        stream.flush()
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False)
    for spans in lines:
        console.print(Text.assemble(*((printable(text), style) for text, style in spans)), soft_wrap=True)
