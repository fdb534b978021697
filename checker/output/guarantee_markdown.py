"""A computed table of guarantees as Markdown: merged rows, all rows, notes, and counterexamples."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence

from checker.language.tables import GuaranteeCell, GuaranteeNote, GuaranteeRow
from checker.run.guarantee_table import CellAnswer, GuaranteeTable, ShownViolation

PROSE_WIDTH = 120
"""Characters per line of paragraphs and list items; tables and commands are not wrapped."""

Values = tuple[tuple[str, ...], ...]
"""For each setting, the values of the rows that a merged row replaces."""


class Labels:
    """The marks of notes (a, b, ...) and of counterexamples (c1, c2, ...).

    `before` are the marks of the preceding table of the same family: the marks of a family are unique.
    """

    def __init__(self, tabulation: GuaranteeTable, before: Labels | None = None):
        self._first_note = before.end_of_notes if before is not None else ord("a")
        self._first_mark = before.end_of_marks if before is not None else 1
        self.notes = {name: chr(i) for i, name in enumerate(_named_notes(tabulation), self._first_note)}
        self.marks = {
            shown.signature: f"c{i}" for i, shown in enumerate(tabulation.counterexamples(), self._first_mark)
        }

    @property
    def end_of_notes(self) -> int:
        """The code point of the next note."""
        return self._first_note + len(self.notes)

    @property
    def end_of_marks(self) -> int:
        """The number of the next counterexample."""
        return self._first_mark + len(self.marks)

    def of(self, shown: ShownViolation) -> str:
        """Return the mark of a counterexample."""
        return self.marks[shown.signature]


def markdown(
    tabulation: GuaranteeTable,
    labels: Labels,
    place_of: Callable[[ShownViolation, str], str],
    *,
    anchored: bool = False,
) -> list[str]:
    """Return a computed table as lines of Markdown.

    `place_of` maps a counterexample and its mark to the command or the file that shows it. `anchored`: marks are links
    within the page.
    """
    lines = ["In short:", "", *short_table(tabulation), "", "In full:", "", *full_table(tabulation, labels), ""]
    reasons = dict.fromkeys(row.refused for row in tabulation.table.rows if row.refused)
    for paragraph in (*_legend(tabulation), *(f"Refused: {reason}." for reason in reasons)):
        lines += [*_wrapped(paragraph), ""]
    lines += [*_notes(tabulation, labels, anchored), "", "Counterexamples:", ""]
    lines += _counterexamples(tabulation, labels, place_of, anchored)
    lines += ["", conclusion(tabulation)]
    if anchored:
        lines += ["", *(f"[{mark}]: #note-{mark}" for mark in labels.notes.values())]
        lines += [f"[{mark}]: #{mark}" for mark in labels.marks.values()]
    return lines


def _legend(tabulation: GuaranteeTable) -> Iterable[str]:
    yield from tabulation.table.legend
    cells = [cell for row in tabulation.table.rows for cell in row.cells.values()]
    if any(tabulation.is_as_documented(cell) is False for cell in cells):
        yield "Bold: the documentation gives the other answer. The notes of the cell say why."


def conclusion(tabulation: GuaranteeTable) -> str:
    """Return the size of the explorations, and how many documented answers they confirm and refute."""
    cells = [cell for row in tabulation.table.rows for cell in row.cells.values() if cell.documented is not None]
    confirmed = sum(tabulation.is_as_documented(cell) is True for cell in cells)
    refuted = sum(tabulation.is_as_documented(cell) is False for cell in cells)
    return (
        f"{tabulation.explored} of {len(tabulation.explorations)} explorations, "
        f"{tabulation.distinct_states:,} distinct states. "
        f"Documented answers: {len(cells)}; confirmed: {confirmed}{f'; refuted: {refuted}' if refuted else ''}."
    )


def short_table(tabulation: GuaranteeTable) -> list[str]:
    """Return the table with rows of equal answers merged; refused combinations come last."""
    by_pattern: dict[tuple[str, ...], list[GuaranteeRow]] = {}
    for row in sorted(tabulation.table.rows, key=lambda row: bool(row.refused)):
        by_pattern.setdefault(_pattern(tabulation, row), []).append(row)
    merged = [line for pattern, rows in by_pattern.items() for line in _merged_lines(tabulation, rows, pattern)]
    return _aligned([_heading(tabulation), *merged])


def full_table(tabulation: GuaranteeTable, labels: Labels) -> list[str]:
    """Return the table with a row for each combination; refused combinations come last, merged."""
    shown = [
        [*row.settings.values(), *(_cell_text(tabulation, cell, labels) for cell in row.cells.values())]
        for row in tabulation.table.rows
        if not row.refused
    ]
    refused = [row for row in tabulation.table.rows if row.refused]
    if refused:
        shown += _merged_lines(tabulation, refused, _pattern(tabulation, refused[0]))
    return _aligned([_heading(tabulation), *shown])


def _merged_lines(tabulation: GuaranteeTable, rows: list[GuaranteeRow], pattern: tuple[str, ...]) -> list[list[str]]:
    merged = merge([tuple(row.settings.values()) for row in rows])
    return [[*_values_text(tabulation, values), *pattern] for values in merged]


def merge(rows: Sequence[tuple[str, ...]]) -> list[Values]:
    """Merge rows that differ in one setting only, setting by setting, the last one first."""
    merged: list[Values] = [tuple((value,) for value in row) for row in rows]
    for position in reversed(range(len(rows[0]))):
        grouped: dict[Values, dict[str, None]] = {}
        for values in merged:
            others = (*values[:position], *values[position + 1 :])
            grouped.setdefault(others, {}).update(dict.fromkeys(values[position]))
        merged = [(*others[:position], tuple(found), *others[position:]) for others, found in grouped.items()]
    return merged


def _pattern(tabulation: GuaranteeTable, row: GuaranteeRow) -> tuple[str, ...]:
    if row.refused:
        return ("refused",) * len(tabulation.table.columns)
    return tuple(_answer_word(tabulation.answer(cell)) + _but(tabulation, cell) for cell in row.cells.values())


def _but(tabulation: GuaranteeTable, cell: GuaranteeCell) -> str:
    """Return what follows a "no" that has known exceptions, or ""."""
    has_exceptions = cell.exceptions and tabulation.answer(cell).is_yes is False
    return f", but {', '.join(cell.exceptions)}" if has_exceptions else ""


def _answer_word(answer: CellAnswer) -> str:
    if answer.is_yes is None:
        return "undecided" if answer.undecided else "?"
    return "yes" if answer.is_yes else "no"


def _values_text(tabulation: GuaranteeTable, values: Values) -> list[str]:
    every = zip(*(row.settings.values() for row in tabulation.table.rows), strict=True)
    return [
        "any" if len(found) > 1 and set(found) == set(all_values) else ", ".join(found)
        for found, all_values in zip(values, every, strict=True)
    ]


def _cell_text(tabulation: GuaranteeTable, cell: GuaranteeCell, labels: Labels) -> str:
    answer = tabulation.answer(cell)
    words = [_answer_word(answer)]
    if answer.shown is not None:
        words = [f"yes, {answer.shown.violation.length}", f"[{labels.of(answer.shown)}]"]
    elif answer.is_yes is False:
        words = [f"no{_but(tabulation, cell)}, {answer.distinct_states:,}"]
    if tabulation.is_as_documented(cell) is False:
        words[0] = f"**{words[0]}**"
    return " ".join([*words, *sorted(f"[{labels.notes[name]}]" for name in _notes_of(tabulation, cell))])


def _notes_of(tabulation: GuaranteeTable, cell: GuaranteeCell) -> list[str]:
    """Return the names of the notes that a cell shows: an exception to "no" explains nothing beside another answer."""
    is_no = tabulation.answer(cell).is_yes is False
    return [name for name in cell.all_notes if is_no or name in (*cell.notes, cell.differs)]


def _named_notes(tabulation: GuaranteeTable) -> list[str]:
    """Return the names of the notes that some cell shows, in the order of the table."""
    named = {
        name for row in tabulation.table.rows for cell in row.cells.values() for name in _notes_of(tabulation, cell)
    }
    return [name for name in tabulation.table.notes if name in named]


def _heading(tabulation: GuaranteeTable) -> list[str]:
    return [*tabulation.table.rows[0].settings, *tabulation.table.columns.values()]


def _aligned(rows: list[list[str]]) -> list[str]:
    """Return a Markdown table with aligned columns; the first row is the heading."""
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return [lines[0], rule, *lines[1:]]


def _notes(tabulation: GuaranteeTable, labels: Labels, anchored: bool) -> Iterable[str]:
    for name, mark in labels.notes.items():
        note = tabulation.table.notes[name]
        anchor = f'<a id="note-{mark}"></a>' if anchored else ""
        answers = [tabulation.answer(GuaranteeNote("", (check,))) for check in note.checks]
        yield from _wrapped(f"- {anchor}[{mark}] {note.text}{_note_answers(answers, labels)}", indent="  ")


def _note_answers(answers: list[CellAnswer], labels: Labels) -> str:
    shown = [
        f"{answer.shown.violation.length} states [{labels.of(answer.shown)}]" if answer.shown else _answer_word(answer)
        for answer in answers
    ]
    return f" {', '.join(shown)}." if shown else ""


def _counterexamples(
    tabulation: GuaranteeTable, labels: Labels, place_of: Callable[[ShownViolation, str], str], anchored: bool
) -> Iterable[str]:
    for shown in tabulation.counterexamples():
        mark = labels.of(shown)
        anchor = f'<a id="{mark}"></a>' if anchored else ""
        length = shown.violation.length
        states = f"{length} state{'' if length == 1 else 's'}"
        text = f"- {anchor}[{mark}] `{shown.violation.property}`, {states}: {_steps(shown)}."
        yield from _wrapped(text, indent="  ")
        yield f"  {place_of(shown, mark)}"


def _steps(shown: ShownViolation) -> str:
    """Return the steps of a counterexample; those of a lasso's loop follow "then for ever"."""
    violation = shown.violation
    steps = [str(step).replace("()", "") for step in violation.trace[1:]]
    if violation.loop_start is None:
        return ", ".join(steps)
    stem, loop = steps[: violation.loop_start], steps[violation.loop_start :]
    return f"{', '.join([*stem, 'then for ever'])}: {', '.join(loop) or 'no step'}"


def _wrapped(text: str, indent: str = "") -> list[str]:
    """Return the lines of a paragraph or list item; code spans are not broken, `indent` precedes the later lines."""
    # textwrap does not break at a no-break space.
    text = re.sub(r"`[^`]*`", lambda code: code.group().replace(" ", "\u00a0"), text)
    lines = textwrap.wrap(text, PROSE_WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in lines]
