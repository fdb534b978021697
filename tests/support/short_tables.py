"""Tables of guarantees: their rows as the command computes them, and the answers of a page's short table."""

import json
import re
import shutil
from pathlib import Path

from checker.execution.run_tables import TableSettings, tabulate


def answers_on(page, family, table, position=0):
    """Yield the settings of each row of a table, and for each column whether its section of a page says yes.

    `position` counts the tables of the family on the page from 0. A merged row has every value that it lists.
    """
    section = page.read_text(encoding="utf-8").split(f"<!-- python -m checker table {family} -->")[position + 1]
    section = section.partition("<!-- end of table -->")[0]
    names = list(table.rows[0].settings)
    rows = [[each.strip() for each in line[1:-1].split("|")] for line in section.splitlines() if line.startswith("| ")]
    heading, *lines = with_letters_resolved(rows) if not rows[0][0] else rows
    assert heading == [*names, *table.columns.values()]
    for row in table.rows:
        (answers,) = (line[len(names) :] for line in lines if all(map(includes, line, row.settings.values())))
        assert all(re.match(r"(yes|no|refused)\b", answer) for answer in answers), answers
        yield row.settings, {column: answer == "yes" for column, answer in zip(table.columns, answers, strict=True)}


def with_letters_resolved(rows):
    """Return the heading and the rows, settings first, of a table of settings and one of answers below its letters."""
    end = next(number for number, row in enumerate(rows) if number and not row[0])
    outcome, columns = "", []
    for name, *answers in rows[end + 1 :]:
        if not any(answers):
            outcome = f"{name[2].lower()}{name[3:-2]}: "
            continue
        # A question of a group has no beginning of its own.
        columns.append([name if ": " in name else outcome + name, *map(in_words, answers)])
    assert [letter for letter, *_ in rows[1:end]] == rows[end][1:]
    questions, *answered = zip(*columns, strict=True)
    shown = zip(rows[1:end], answered, strict=True)
    return [[*rows[0][1:], *questions], *([*settings, *answers] for (_, *settings), answers in shown)]


def in_words(answer):
    """Return an answer below a letter as other tables have it."""
    if re.fullmatch(r"\(\d+\)|[A-Z][\w-]*\d.*|[a-z]+ H-\d+", answer):
        return f"no, but {answer}"
    return answer.strip("*")


def includes(cell, value):
    """Return whether a cell of a merged row has a value."""
    return cell in ("any", value) or value in cell.split(", ")


def computed_table(family, page, folder):
    """Return the exit status of the table of a family, its rows, and its page with the section rewritten."""
    copy = Path(shutil.copy(page, folder))
    rows = str(folder / "rows.jsonl")
    settings = TableSettings(engine="native", workers=2, json=rows, out=None, verbose=False, page=copy)
    status = tabulate([family], settings)
    return status, [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()], copy.read_text()
