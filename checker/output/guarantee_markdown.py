"""A computed table of guarantees as Markdown: in short for a page, and in full with its counterexamples."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from string import ascii_uppercase

from checker.language.tables import GuaranteeCell, GuaranteeNote, GuaranteeRow
from checker.printable import quantity
from checker.run.guarantee_table import CellAnswer, GuaranteeTable, ShownViolation

PROSE_WIDTH = 120
"""Characters per line of paragraphs and list items; tables and commands are not wrapped."""

_ANSWERS = "Yes: the checker finds a counterexample. No: the complete exploration has none."
_EXCEPTIONS = " No, but an entry: another model or real brokers show it."

_LENGTHS = (
    "Yes, N: the shortest counterexample has N states, the initial state included, and those of a loop up to its first "
    "one. No, N: N distinct states, all of them explored. Answers with the same steps, in any order, share a "
    "counterexample."
)

_NAMES = " An entry, or the number of a list of entries: no, but another model or real brokers show it."

_MOST_EXCEPTIONS = 3
"""The words of a list of exceptions that a cell has; a longer list stands below the table."""

_MOST_QUESTIONS = 8
"""The questions that fit on a page as columns: a table with more has a row for each question."""

Values = tuple[tuple[str, ...], ...]
"""For each setting, the values of the rows that a merged row replaces."""


class Labels:
    """The marks of notes (a, b, ...) and of counterexamples (c1, c2, ...).

    `before` are the marks of the preceding table of the same family: the marks of a family are unique.
    """

    def __init__(self, tabulation: GuaranteeTable, before: Labels | None = None):
        self._first_note = before.end_of_notes if before is not None else ord("a")
        self._first_mark = before.end_of_marks if before is not None else 1
        self.notes = {name: chr(i) for i, name in enumerate(_names_of_notes(tabulation), self._first_note)}
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


def short_markdown(tabulation: GuaranteeTable, command: str) -> list[str]:
    """Return the section of a page: merged rows and the legend.

    It has no number of states, which every change of a model would change. `command` prints the table in full, with the
    notes on its answers.
    """
    rows, marks = marked_rows(tabulation)
    if is_wide(tabulation):
        names = ["", *tabulation.table.rows[0].settings]
        lettered = [[letter, *settings] for letter, (settings, _) in zip(ascii_uppercase, rows, strict=False)]
        lines = [*_align([names, *lettered]), "", *_align(_questions_below_letters(tabulation))]
    else:
        lines = _align([heading(tabulation), *([*settings, *answers] for settings, answers in rows)])
    if marks:
        lines += ["", *(part for text in exception_lines(marks) for part in _wrap(text, indent="  "))]
    for paragraph in short_legend(tabulation):
        lines += ["", *_wrap(paragraph)]
    return [*lines, "", *_wrap(f"{_documentation(tabulation)} {in_full(command)}")]


def is_wide(tabulation: GuaranteeTable) -> bool:
    """Return whether a table has a row for each question, and a letter for each combination of settings."""
    return len(tabulation.table.columns) > _MOST_QUESTIONS and len(short_rows(tabulation)) <= len(ascii_uppercase)


def marked_rows(tabulation: GuaranteeTable) -> tuple[list[tuple[list[str], list[str]]], dict[str, str]]:
    """Return the merged rows with marks for long lists of exceptions, and the marks by what they stand for."""
    rows = short_rows(tabulation)
    marks = _marks_of_exceptions([answer for _, answers in rows for answer in answers])
    return [(settings, [marks.get(answer, answer) for answer in answers]) for settings, answers in rows], marks


def question_rows(tabulation: GuaranteeTable) -> Iterator[list[str]]:
    """Yield each question with its answers, one for each merged row; of exceptions they have the names only.

    Questions that begin alike, such as "lost: one broker crashes", are indented below a row of one cell with their
    beginning.
    """
    rows, _ = marked_rows(tabulation)
    answers = zip(tabulation.table.columns.values(), *(given for _, given in rows), strict=True)
    for outcome, group in itertools.groupby(answers, lambda row: row[0].partition(": ")[0]):
        alike = [[text.removeprefix("no, but ") for text in row] for row in group]
        if len(alike) > 1:
            yield [f"{outcome[0].upper()}{outcome[1:]}"]
        for question, *given in alike:
            yield [f"  {question.removeprefix(f'{outcome}: ')}" if len(alike) > 1 else question, *given]


def _questions_below_letters(tabulation: GuaranteeTable) -> list[list[str]]:
    rows = list(question_rows(tabulation))
    count = max(map(len, rows)) - 1
    lines = [["", *ascii_uppercase[:count]]]
    for name, *answers in rows:
        shown = ["**yes**" if answer == "yes" else answer for answer in answers]
        lines.append([name.strip(), *shown] if shown else [f"**{name}**", *[""] * count])
    return lines


def _marks_of_exceptions(answers: Sequence[str]) -> dict[str, str]:
    """Return, for each long list of exceptions, what a cell has in its place."""
    long = dict.fromkeys(answer for answer in answers if answer.count(" ") > _MOST_EXCEPTIONS)
    return {answer: f"no, but ({number})" for number, answer in enumerate(long, 1)}


def full_markdown(
    tabulation: GuaranteeTable, labels: Labels, place_of: Callable[[ShownViolation, str], str]
) -> list[str]:
    """Return a computed table with a row for each combination, its notes and its counterexamples.

    `place_of` maps a counterexample and its mark to the command or the file that shows it.
    """
    lines = [*_full_table(tabulation, labels), ""]
    for paragraph in (_LENGTHS, *tabulation.table.legend, *_bold(tabulation), *_refusals(tabulation)):
        lines += [*_wrap(paragraph), ""]
    lines += [*_notes(tabulation, labels), "", "Counterexamples:", ""]
    lines += _counterexamples(tabulation, labels, place_of)
    return [*lines, "", conclusion(tabulation)]


def exception_lines(marks: Mapping[str, str]) -> Iterable[str]:
    """Return an item of a list for each mark."""
    for answer, mark in marks.items():
        yield f"- {mark.removeprefix('no, but ')} {answer.removeprefix('no, but ')}"


def short_legend(tabulation: GuaranteeTable) -> list[str]:
    """Return the paragraphs that explain the merged rows."""
    has_exceptions = any(_exceptions(tabulation, cell) for cell in _cells(tabulation))
    exceptions = _NAMES if is_wide(tabulation) else _EXCEPTIONS
    return [_ANSWERS + (exceptions if has_exceptions else ""), *tabulation.table.legend, *_refusals(tabulation)]


def short_notes(tabulation: GuaranteeTable) -> list[str]:
    """Return the notes on each "no", and on answers that differ from the documentation."""
    is_no = [cell for cell in _cells(tabulation) if tabulation.answer(cell).is_yes is False]
    named = {cell.differs for cell in _cells(tabulation)}.union(*(cell.all_notes for cell in is_no))
    return [note.text for name, note in tabulation.table.notes.items() if name in named]


def _cells(tabulation: GuaranteeTable) -> list[GuaranteeCell]:
    return [cell for row in tabulation.table.rows for cell in row.cells.values()]


def in_full(command: str) -> str:
    """Return the sentence that names the command for the whole table."""
    return f"`{command}` prints every row with its notes, sizes and counterexamples."


def _bold(tabulation: GuaranteeTable) -> Iterable[str]:
    if any(tabulation.is_as_documented(cell) is False for cell in _cells(tabulation)):
        yield "Bold: the documentation gives the other answer. The notes of the cell say why."


def _refusals(tabulation: GuaranteeTable) -> Iterable[str]:
    for reason in dict.fromkeys(row.refused for row in tabulation.table.rows if row.refused):
        yield f"Refused: {reason}."


def conclusion(tabulation: GuaranteeTable) -> str:
    """Return the size of the explorations, and how many documented answers they confirm and refute."""
    return (
        f"{tabulation.explored} of {len(tabulation.explorations)} explorations, "
        f"{tabulation.distinct_states:,} distinct states. {_documentation(tabulation)}"
    )


def _documentation(tabulation: GuaranteeTable) -> str:
    cells = [cell for cell in _cells(tabulation) if cell.documented is not None]
    confirmed = sum(tabulation.is_as_documented(cell) is True for cell in cells)
    refuted = sum(tabulation.is_as_documented(cell) is False for cell in cells)
    return f"Documented answers: {len(cells)}; confirmed: {confirmed}{f'; refuted: {refuted}' if refuted else ''}."


def short_rows(tabulation: GuaranteeTable) -> list[tuple[list[str], tuple[str, ...]]]:
    """Return the settings and answers of the rows, those of equal answers merged; refused combinations come last."""
    by_pattern: dict[tuple[str, ...], list[GuaranteeRow]] = {}
    for row in sorted(tabulation.table.rows, key=lambda row: bool(row.refused)):
        by_pattern.setdefault(_pattern(tabulation, row), []).append(row)
    return [
        (settings, pattern) for pattern, rows in by_pattern.items() for settings in _merge_settings(tabulation, rows)
    ]


def _full_table(tabulation: GuaranteeTable, labels: Labels) -> list[str]:
    """Return the table with a row for each combination; refused combinations come last, merged."""
    shown = [
        [*row.settings.values(), *(_cell_text(tabulation, cell, labels) for cell in row.cells.values())]
        for row in tabulation.table.rows
        if not row.refused
    ]
    if refused := [row for row in tabulation.table.rows if row.refused]:
        pattern = _pattern(tabulation, refused[0])
        shown += [[*settings, *pattern] for settings in _merge_settings(tabulation, refused)]
    return _align([heading(tabulation), *shown])


def _merge_settings(tabulation: GuaranteeTable, rows: list[GuaranteeRow]) -> list[list[str]]:
    merged = merge([tuple(row.settings.values()) for row in rows])
    return [_values_text(tabulation, values) for values in merged]


def merge(rows: Sequence[tuple[str, ...]]) -> list[Values]:
    """Merge rows that differ in one setting only, setting by setting, the last one first."""
    merged: list[Values] = [tuple((value,) for value in row) for row in rows]
    for position in reversed(range(len(rows[0]))):
        grouped: dict[Values, dict[str, None]] = {}
        for values in merged:
            others = (*values[:position], *values[position + 1 :])
            grouped.setdefault(others, {}).update(dict.fromkeys(values[position]))
        merged = [(*others[:position], tuple(joined), *others[position:]) for others, joined in grouped.items()]
    return merged


def _pattern(tabulation: GuaranteeTable, row: GuaranteeRow) -> tuple[str, ...]:
    if row.refused:
        return ("refused",) * len(tabulation.table.columns)
    return tuple(_answer_word(tabulation.answer(cell)) + _but(tabulation, cell) for cell in row.cells.values())


def _but(tabulation: GuaranteeTable, cell: GuaranteeCell) -> str:
    """Return what follows a "no" that has known exceptions, or ""."""
    names = _exceptions(tabulation, cell)
    takes = {name: tabulation.table.notes[name].takes for name in names}
    exceptions = [f"{name} after {takes[name]}" if takes[name] else name for name in names]
    return f", but {', '.join(exceptions)}" if exceptions else ""


def _exceptions(tabulation: GuaranteeTable, cell: GuaranteeCell) -> tuple[str, ...]:
    """Return the names of the exceptions to the answer of a cell, which only a "no" has."""
    return cell.exceptions if tabulation.answer(cell).is_yes is False else ()


def _answer_word(answer: CellAnswer) -> str:
    if answer.is_yes is None:
        return "undecided" if answer.undecided else "?"
    return "yes" if answer.is_yes else "no"


def _values_text(tabulation: GuaranteeTable, values: Values) -> list[str]:
    every = zip(*(row.settings.values() for row in tabulation.table.rows), strict=True)
    return [
        "any" if len(chosen) > 1 and set(chosen) == set(all_values) else ", ".join(chosen)
        for chosen, all_values in zip(values, every, strict=True)
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


def _names_of_notes(tabulation: GuaranteeTable) -> list[str]:
    """Return the names of the notes that some cell shows, in the order of the table."""
    named = {
        name for row in tabulation.table.rows for cell in row.cells.values() for name in _notes_of(tabulation, cell)
    }
    return [name for name in tabulation.table.notes if name in named]


def heading(tabulation: GuaranteeTable) -> list[str]:
    """Return the names of the settings and the questions."""
    return [*tabulation.table.rows[0].settings, *tabulation.table.columns.values()]


def _align(rows: list[list[str]]) -> list[str]:
    """Return a Markdown table with aligned columns; the first row is the heading."""
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return [lines[0], rule, *lines[1:]]


def _notes(tabulation: GuaranteeTable, labels: Labels) -> Iterable[str]:
    for name, mark in labels.notes.items():
        note = tabulation.table.notes[name]
        answers = [tabulation.answer(GuaranteeNote("", (check,))) for check in note.checks]
        yield from _wrap(f"- [{mark}] {note.text}{_note_answers(answers, labels)}", indent="  ")


def _note_answers(answers: list[CellAnswer], labels: Labels) -> str:
    shown = [
        f"{answer.shown.violation.length} states [{labels.of(answer.shown)}]" if answer.shown else _answer_word(answer)
        for answer in answers
    ]
    return f" {', '.join(shown)}." if shown else ""


def _counterexamples(
    tabulation: GuaranteeTable, labels: Labels, place_of: Callable[[ShownViolation, str], str]
) -> Iterable[str]:
    for shown in tabulation.counterexamples():
        mark = labels.of(shown)
        length = shown.violation.length
        states = quantity(length, "state")
        text = f"- [{mark}] `{shown.violation.property}`, {states}: {_steps(shown)}."
        yield from _wrap(text, indent="  ")
        yield f"  {place_of(shown, mark)}"


def _steps(shown: ShownViolation) -> str:
    """Return the steps of a counterexample; those of a lasso's loop follow "then for ever"."""
    violation = shown.violation
    steps = [str(step).replace("()", "") for step in violation.trace[1:]]
    if violation.loop_start is None:
        return ", ".join(steps)
    stem, loop = steps[: violation.loop_start], steps[violation.loop_start :]
    return f"{', '.join([*stem, 'then for ever'])}: {', '.join(loop) or 'no step'}"


def _wrap(text: str, indent: str = "") -> list[str]:
    """Return the lines of a paragraph or list item; code spans are not broken, `indent` precedes the later lines."""
    # textwrap does not break at a no-break space.
    text = re.sub(r"`[^`]*`", lambda code: code.group().replace(" ", "\u00a0"), text)
    lines = textwrap.wrap(text, PROSE_WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in lines]
