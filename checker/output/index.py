"""The HTML index over the results of a command: one self-contained page, with links to the counterexample pages."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO
from urllib.parse import quote

from checker.errors import UserError
from checker.output.files import make_folder, open_for_writing, stem_of
from checker.output.gathered_findings import GatheredFindings
from checker.output.problems import Problem, problems_of
from checker.output.text import constants_text
from checker.run.request import Run
from checker.run.result import Result
from checker.run.scenario import ExpectationComparison, end_text


@dataclass(frozen=True)
class IndexRow:
    """A run as the page shows it; `status` is `ok`, `differs`, `stopped` or `wrong` (the spec cannot be run)."""

    name: str
    status: str
    verdict: str
    constants: str = ""
    sentences: tuple[str, ...] = ()
    result: Result | None = None
    problems: tuple[Problem, ...] = ()
    idle: tuple[str, ...] = ()


class IndexReport:
    """Gathers runs, and writes the page when it is closed.

    `path` is a folder, which then gets an `index.html`, or a file that ends with `.html`; `pages` the folder of the
    counterexamples, if they are written.
    """

    def __init__(self, path: Path, pages: Path | None):
        file = path if path.suffix == ".html" else path / "index.html"
        make_folder(file.parent)
        self._stream: TextIO = open_for_writing(file)
        self._folder, self._pages = file.parent, pages
        self._rows: list[IndexRow] = []
        self._findings = GatheredFindings()

    def add(self, run: Run, result: Result, comparison: ExpectationComparison | None) -> None:
        """Add a run as a row."""
        self._findings.add(run, result)
        idle = [name for name, coverage in result.coverage.items() if not coverage.generated]
        sentences = list(comparison.sentences) if comparison is not None else []
        if result.ended not in ("complete", "violation"):
            sentences.append(f"not everything was explored: {end_text(result)}")
        self._rows.append(
            IndexRow(
                run.name,
                _status(result, comparison),
                result.verdict,
                constants_text(run.spec.constants),
                tuple(sentences),
                result,
                tuple(problems_of(run, result, comparison)),
                tuple(idle) if result.ended == "complete" else (),
            )
        )

    def add_wrong(self, name: str, error: UserError) -> None:
        """Add a run that could not be executed, for its spec is wrong."""
        self._rows.append(IndexRow(name, "wrong", "cannot be run", sentences=(str(error),)))

    def add_drift(self, ledger: Path, text: str) -> None:
        """Add what is not as it is recorded in the ledger as a row."""
        self._rows.append(
            IndexRow(str(ledger), "differs", "not as recorded", sentences=tuple(text.strip().splitlines()))
        )

    def close(self) -> None:
        """Write the page."""
        from jinja2 import Environment, PackageLoader, StrictUndefined

        environment = Environment(
            loader=PackageLoader("checker.output"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
        )
        page = environment.get_template("index.html")
        counts = {status: sum(row.status == status for row in self._rows) for status in ("differs", "wrong", "stopped")}
        with self._stream:
            self._stream.write(page.render(rows=self._rows, counts=counts, findings=self._findings, link=self._link))

    def _link(self, problem: Problem) -> str | None:
        """Return the relative address of a counterexample's page, or of its text, or None where there is none."""
        if self._pages is None or problem.violation is None:
            return None
        stem = stem_of(problem.run, problem.violation)
        for ending in (".html", ".txt"):
            file = self._pages / f"{stem}{ending}"
            if file.exists():
                return quote(Path(os.path.relpath(file, self._folder)).as_posix())
        return None


def _status(result: Result, comparison: ExpectationComparison | None) -> str:
    if comparison is None:
        return {"holds": "ok", "incomplete": "stopped"}.get(result.verdict, "differs")
    if comparison.is_open:
        return "stopped"
    return "ok" if comparison.matches else "differs"
