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
    names = list(table.rows[0].settings)
    heading, _, *lines = [
        [each.strip() for each in line.strip("| ").split("|")] for line in section.splitlines() if line.startswith("|")
    ]
    assert heading == [*names, *table.columns.values()]
    for row in table.rows:
        (answers,) = (line[len(names) :] for line in lines if all(map(includes, line, row.settings.values())))
        is_answered = {re.split(r"[, ]", answer)[0] for answer in answers} <= {"yes", "no", "refused"}
        assert is_answered, answers
        yield row.settings, {column: answer == "yes" for column, answer in zip(table.columns, answers, strict=True)}


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
