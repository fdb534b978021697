"""Markdown in the layout of the pages in docs/."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from checker.errors import InputError

BEGIN, END = "<!-- `python -m checker pages` writes this part. -->", "<!-- end of the computed part -->"

WIDTH = 120
"""The longest line of prose."""


def paragraph(text: str) -> str:
    """Return text as a paragraph with lines of at most `WIDTH` characters."""
    return textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)


def code(calls: Iterable[str]) -> str:
    """Return calls as a block of code with lines of at most `WIDTH` characters; a call is not broken."""
    # textwrap does not break lines at a no-break space.
    lines = textwrap.wrap(", ".join(call.replace(" ", "\u00a0") for call in calls), WIDTH)
    return "\n".join(("```text", *lines, "```")).replace("\u00a0", " ")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a vertical bar in a cell is escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def page(*blocks: str) -> str:
    """Return blocks of Markdown as one page, with the note that it is generated."""
    note = "<!-- `python -m checker pages` writes this page. Do not edit it. -->"
    return "\n\n".join([note, *blocks]) + "\n"


def with_part(path: Path, part: str) -> str:
    """Return a page with a part between its lines `BEGIN` and `END`; raise InputError if it has no such lines."""
    before, begin, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(f"{path} has no computed part: write a line {BEGIN} and a line {END}")
    return f"{before}{BEGIN}\n\n{part}\n\n{END}{after}"
