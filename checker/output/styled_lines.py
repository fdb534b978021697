"""Lines of styled text: colour in a terminal, plain text everywhere else.

Rich is imported only where there is a terminal to colour: it would cost every piped run its start-up time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TextIO

Span = tuple[str, str]
"""A piece of text and its style, in Rich's words ("bold red"); "" is plain."""

Line = tuple[Span, ...]

BLANK: Line = ()


def line(*spans: Span | str) -> Line:
    """Return a line of spans; a bare string is plain text."""
    return tuple((span, "") if isinstance(span, str) else span for span in spans)


def plain(lines: Iterable[Line]) -> str:
    """Return lines as plain text, the last one ended too."""
    return "".join("".join(text for text, _ in spans).rstrip() + "\n" for spans in lines)


def in_colour(stream: TextIO) -> bool:
    """Return whether a stream takes colour: it is a terminal, and NO_COLOR is not set."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def write(lines: Iterable[Line], stream: TextIO) -> None:
    """Write lines to a stream, in colour where it is a terminal."""
    if not in_colour(stream):
        stream.write(plain(lines))
        stream.flush()
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False)
    for spans in lines:
        console.print(Text.assemble(*spans), soft_wrap=True)
