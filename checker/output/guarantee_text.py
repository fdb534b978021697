"""A computed table of guarantees on the screen: a paragraph of answers for each merged row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from checker.output.guarantee_markdown import conclusion, heading, in_full, short_legend, short_notes, short_rows
from checker.output.styled_lines import BLANK, Line, broken, line, width_of, write
from checker.run.guarantee_table import GuaranteeTable

_USUAL_WIDTH = 80
"""Columns of lines that go to a file or a pipe."""

_STYLES = {"yes": "red", "no": "green", "refused": "dim"}


def write_in_short(tabulation: GuaranteeTable, command: str, stream: TextIO) -> None:
    """Write a table within the columns of the stream; `command` prints it in full."""
    width = width_of(stream) or _USUAL_WIDTH
    write((part for whole in _lines(tabulation, command) for part in broken(whole, width)), stream)


def _lines(tabulation: GuaranteeTable, command: str) -> Iterator[Line]:
    for settings, answers in short_rows(tabulation):
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
