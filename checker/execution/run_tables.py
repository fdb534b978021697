"""Tables of guarantees: compute those that families declare, print them, and write them to their pages."""

from __future__ import annotations

import multiprocessing
import shlex
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker.errors import InputError, OutputError, UserError
from checker.execution.engine_choice import EngineName, Explore, engine_named
from checker.language.spec import Spec
from checker.language.tables import GuaranteeCell, GuaranteeRow, Table
from checker.output.files import CounterexampleFolder, JsonLines
from checker.output.guarantee_markdown import Labels, full_markdown, short_markdown
from checker.output.guarantee_text import write_in_short
from checker.output.output_files import STANDARD_OUTPUT
from checker.printable import printable, printable_lines
from checker.run import process_pool, registry
from checker.run.account import account_of
from checker.run.guarantee_table import GuaranteeTable, ShownViolation, TableExploration
from checker.run.interrupts import interruptible
from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED, Run
from checker.run.result import Result

_ANSWERS = {True: "yes", False: "no", None: None}


@dataclass(frozen=True, kw_only=True)
class TableSettings:
    """How tables are computed and shown. `page` is the Markdown page to update, if there is one."""

    engine: EngineName
    workers: int
    json: str
    out: Path | None
    verbose: bool
    page: Path | None


def tabulate(targets: Sequence[str], settings: TableSettings) -> int:
    """Compute the tables of some families, or of all that have one, and return the exit status.

    The status is 1 if an answer differs from the documented one, and no note of its cell explains that, or if a note
    shows nothing. It is 3 after an interrupt, or if a liveness property is undecided.
    Raises InputError if a family has no table.
    """
    tables, page = _tables(targets), settings.page
    if page is not None:
        for family, table in tables:
            with_section(_text_of(page), family.name, family.tables.index(table), [])
    folder = CounterexampleFolder(settings.out)
    explore = engine_named(settings.engine)
    statuses = []
    labels: dict[str, Labels] = {}  # those of the last table of each family
    with JsonLines(settings.json) as json_lines, interruptible() as cancelled:
        for family, table in tables:
            tabulation = GuaranteeTable(table)
            _explore(tabulation, settings, explore, cancelled)
            labels[family.name] = Labels(tabulation, labels.get(family.name))
            output = _Output(family, tabulation, labels[family.name])
            output.write_counterexamples(folder)
            if settings.json != STANDARD_OUTPUT:
                if len(tables) > 1:
                    print(f"Table {family.name}/{table.name}\n")
                output.show(settings.verbose)
            for row in table.rows:
                json_lines.write(output.row_to_json(row))
            statuses.append(_status(tabulation))
            if page is not None and statuses[-1] != EXIT_STOPPED:
                _update(page, family, table, output)
    folder.close()
    return next((status for status in (EXIT_VIOLATED, EXIT_STOPPED) if status in statuses), EXIT_OK)


def _tables(targets: Sequence[str]) -> list[tuple[registry.Family, Table]]:
    for target in targets:
        if target.rstrip("/").count("/") and not target.endswith(".py"):
            raise InputError(f"a table is of a family, as in python -m checker table producer, not of {target}")
    families = [each for target in targets for each in registry.families_of(target)] or registry.families()
    for family in families:
        if targets and not family.tables:
            known = [other.name for other in registry.families() if other.tables]
            raise InputError(f"{family.name} declares no table; these do: {', '.join(known) or 'none'}")
    return [(family, table) for family in families for table in family.tables]


def _explore(tabulation: GuaranteeTable, settings: TableSettings, explore: Explore, cancelled: threading.Event) -> None:
    explorations = tabulation.explorations
    for exploration, outcome in zip(explorations, _outcomes(explorations, settings, explore, cancelled), strict=False):
        if isinstance(outcome, UserError):
            raise outcome
        tabulation.add(exploration, outcome)
        if sys.stderr.isatty():
            print(f"\r{tabulation.explored} of {len(explorations)} explorations", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _outcomes(
    explorations: list[TableExploration], settings: TableSettings, explore: Explore, cancelled: threading.Event
) -> Iterator[Result | UserError]:
    """Yield the results in order. Each exploration has one worker, because the explorations are many and small."""

    def explored(number: int, cancelled: threading.Event) -> Result | UserError:
        plan = explorations[number].plan()
        plan.cancelled = cancelled
        try:
            asked = explorations[number]
            spec = asked.spec(**asked.constants)
            result = explore(spec, plan)
            account_of(spec, asked.properties, result)
            return result
        except UserError as error:
            return error

    if settings.workers > 1 and "fork" in multiprocessing.get_all_start_methods():
        yield from process_pool.results_in_order(len(explorations), settings.workers, explored, cancelled)
        return
    for number in range(len(explorations)):
        if cancelled.is_set():
            return
        yield explored(number, cancelled)


def _status(tabulation: GuaranteeTable) -> int:
    """Print the differences from the documentation to standard error, and return the exit status."""
    for row, column in tabulation.differences():
        where = ", ".join(f"{name} {value}" for name, value in row.settings.items())
        cell = row.cells[column]
        verdict = f"as documented, although note {cell.differs} differs" if cell.differs else "not as documented"
        print(printable(f"{verdict}: {where}: {column}, documented: {_ANSWERS[cell.documented]}"), file=sys.stderr)
    for name in tabulation.unconfirmed_notes():
        print(printable(f"the note {name} has a check that shows nothing"), file=sys.stderr)
    for row, column, reason in tabulation.undecided_cells():
        where = ", ".join(f"{name} {value}" for name, value in row.settings.items())
        print(printable(f"undecided: {where}: {column}: {reason}"), file=sys.stderr)
    if tabulation.differences() or tabulation.unconfirmed_notes():
        return EXIT_VIOLATED
    return EXIT_OK if tabulation.is_finished else EXIT_STOPPED


class _Output:
    """A table as text, as JSON and as a section of a page."""

    def __init__(self, family: registry.Family, tabulation: GuaranteeTable, labels: Labels):
        self._family = family
        self._tabulation = tabulation
        self._labels = labels
        self._files: dict[str, str] = {}

    def write_counterexamples(self, folder: CounterexampleFolder) -> None:
        """Write the counterexamples to the folder, if there is one."""
        for shown in self._tabulation.counterexamples():
            mark = self._labels.of(shown)
            run = self._run(shown)
            path = folder.write_as(
                f"{mark}-{run.name.replace('/', '-')}-{shown.violation.property}", run, shown.violation
            )
            if path is not None:
                self._files[mark] = str(path)

    def show(self, is_full: bool) -> None:
        """Print the table, in short or in full."""
        if not is_full:
            write_in_short(self._tabulation, self._full_command, sys.stdout)
            return
        lines = full_markdown(
            self._tabulation, self._labels, lambda shown, mark: self._files.get(mark) or f"`{self._command(shown)}`"
        )
        print(printable_lines("\n".join(lines)))

    def section(self) -> list[str]:
        """Return the table in short as a section of a page."""
        return short_markdown(self._tabulation, self._full_command)

    @property
    def _full_command(self) -> str:
        return f"python -m checker table {shlex.quote(self._family.target)} --verbose"

    def row_to_json(self, row: GuaranteeRow) -> dict[str, Any]:
        """Return the JSON object of a row."""
        return {
            "table": f"{self._family.name}/{self._tabulation.table.name}",
            "settings": dict(row.settings),
            "refused": row.refused or None,
            "cells": {column: self._cell_to_json(cell) for column, cell in row.cells.items()},
        }

    def _cell_to_json(self, cell: GuaranteeCell) -> dict[str, Any]:
        """Return the answer of a cell, its shortest counterexample, and the explorations behind it."""
        answer = self._tabulation.answer(cell)
        shown = answer.shown
        mark = self._labels.of(shown) if shown is not None else None
        return {
            "answer": _ANSWERS[answer.is_yes],
            "undecided": list(answer.undecided) or None,
            "documented": _ANSWERS[cell.documented],
            "property": shown.violation.property if shown is not None else None,
            "length": shown.violation.length if shown is not None else None,
            "command": self._command(shown) if shown is not None else None,
            "counterexample": mark,
            "trace": self._files.get(mark) if mark is not None else None,
            "notes": list(cell.all_notes),
            "differs": cell.differs or None,
            "exceptions": list(cell.exceptions),
            "distinct_states": answer.distinct_states,
            "explored": [
                {
                    "spec": self._entry(exploration.spec).name,
                    "constants": dict(exploration.constants),
                    "distinct_states": result.distinct_states,
                    "depth": result.depth,
                    "ended": result.ended,
                }
                for exploration, result in answer.explored
            ],
        }

    def _command(self, shown: ShownViolation) -> str:
        return self._run(shown).command(shown.violation)

    def _run(self, shown: ShownViolation) -> Run:
        exploration = shown.exploration
        spec = exploration.spec(**exploration.constants)
        return Run(
            self._entry(exploration.spec), None, spec, exploration.properties, None, True, dict(exploration.constants)
        )

    def _entry(self, spec: type[Spec]) -> registry.SpecEntry:
        """Return the registered entry of a spec, which may belong to another family."""
        for family in (self._family, *registry.families()):
            for entry in family.entries:
                if entry.spec is spec:
                    return entry
        raise InputError(f"table {self._tabulation.table.name} explores {spec.name}, which is in no family")


def _update(page: Path, family: registry.Family, table: Table, output: _Output) -> None:
    text = with_section(_text_of(page), family.name, family.tables.index(table), output.section())
    try:
        page.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"the page {page} cannot be written: {error.strerror}") from None


def _text_of(page: Path) -> str:
    try:
        return page.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"the page {page} cannot be read: {error.strerror}") from None


def with_section(text: str, family: str, position: int, section: list[str]) -> str:
    """Return a page with the section of a family's table replaced.

    The page has a section for each table of the family, in the order of the tables; `position` counts from 0.
    Raises InputError if it does not.
    """
    begin, end = f"<!-- python -m checker table {family} -->\n", "<!-- end of table -->"
    # The line of pages that were written before `table` was a command.
    parts = text.replace(f"<!-- python -m checker run {family} --table -->\n", begin).split(begin)
    if len(parts) < position + 2 or end not in parts[position + 1]:
        which = f" {position + 1}" if position else ""
        raise InputError(f"the page has no section for the table{which}: write a line {begin.strip()} and a line {end}")
    _, _, after = parts[position + 1].partition(end)
    replaced = "\n".join(["", *section, "", end + after])
    return begin.join([*parts[: position + 1], replaced, *parts[position + 2 :]])
