"""A computed table of guarantees on the screen: a paragraph for each merged row, or a line for each question."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from string import ascii_uppercase
from typing import TextIO

from checker.output.guarantee_markdown import (
    conclusion,
    exception_lines,
    heading,
    in_full,
    is_wide,
    marked_rows,
    question_rows,
    short_legend,
    short_notes,
    short_rows,
)
from checker.output.styled_lines import BLANK, Line, broken, line, width_of, write
from checker.run.guarantee_table import GuaranteeTable

_USUAL_WIDTH = 80
"""Columns of lines that go to a file or a pipe."""

_LEAST_QUESTION = 20
"""Columns that a question needs beside its answers."""

_STYLES = {"yes": "red", "no": "green", "refused": "dim"}


def write_in_short(tabulation: GuaranteeTable, command: str, stream: TextIO) -> None:
    """Write a table within the columns of the stream; `command` prints it in full."""
    width = width_of(stream) or _USUAL_WIDTH
    write((part for whole in _lines(tabulation, command, width) for part in broken(whole, width)), stream)


def _lines(tabulation: GuaranteeTable, command: str, width: int) -> Iterator[Line]:
    table = list(_table_lines(tabulation, width)) if is_wide(tabulation) else []
    yield from table
    for settings, answers in short_rows(tabulation) if not table else ():
        yield from _row_lines(heading(tabulation), settings, answers)
        yield BLANK
    for paragraph in short_legend(tabulation):
        yield line(paragraph)
        yield BLANK
    notes = short_notes(tabulation)
    yield from (line(f"- {note}") for note in notes)
    yield from [BLANK] if notes else []
    yield line(conclusion(tabulation))
    yield line((in_full(command), "dim"))


def _row_lines(names: list[str], settings: list[str], answers: tuple[str, ...]) -> Iterator[Line]:
    """Iterate over the settings that matter, and for each answer, yes first, over the questions that have it."""
    given = [f"{name} {value}" for name, value in zip(names, settings, strict=False) if value != "any"]
    yield line(("; ".join(given) or "any settings", "bold"))
    questions = names[len(settings) :]
    for answer in sorted(dict.fromkeys(answers), key=lambda text: (text != "yes", text == "no")):
        about = "; ".join(name for name, text in zip(questions, answers, strict=True) if text == answer)
        yield line("  ", (answer, _STYLES.get(answer, "yellow")), "" if answer == "refused" else f": {about}")


def _table_lines(tabulation: GuaranteeTable, width: int) -> Iterator[Line]:
    """Iterate over the settings, each with a letter, and over the questions with their answers below the letters.

    A screen that is too narrow has no line.
    """
    rows, marks = marked_rows(tabulation)
    questions = list(question_rows(tabulation))
    cell = 1 + max(len(answer) for _, *answers in questions for answer in answers)
    room = width - cell * len(rows)
    if room < _LEAST_QUESTION:
        return
    names = heading(tabulation)
    for letter, (settings, _) in zip(ascii_uppercase, rows, strict=False):
        given = "; ".join(f"{name} {value}" for name, value in zip(names, settings, strict=False))
        yield line((f"{letter}  ", "bold"), given)
    yield BLANK
    yield line(" " * room, (" ".join(letter.ljust(cell - 1) for letter in ascii_uppercase[: len(rows)]), "bold"))
    for question, *answers in questions:
        parts = textwrap.wrap(question, room - 1, subsequent_indent="    ") if answers else [question]
        spans = ((answer.ljust(cell), _STYLES.get(answer, "yellow")) for answer in answers)
        yield line((parts[0].ljust(room), "" if answers else "bold"), *spans)
        yield from map(line, parts[1:])
    yield BLANK
    yield from map(line, exception_lines(marks))
    yield from [BLANK] if marks else []
