"""The HTML index of the results of a command: one self-contained page with links to the counterexample pages."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from checker.errors import UserError
from checker.evidence.spec_findings import findings_by_spec
from checker.output.counterexample_text import constants_text
from checker.output.files import make_folder, stem_of
from checker.output.output_files import open_for_writing, require_own_page
from checker.output.problems import Problem, problems_of
from checker.output.reports import ReportTarget
from checker.printable import quantity
from checker.run.expectation import ExpectationComparison, end_text, sentences_of_undecided, states_text
from checker.run.finished import FinishedRun
from checker.run.result import Result


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
    never_enabled: tuple[str, ...] = ()


def index_file(path: Path) -> Path:
    """Return the file of the page: `path` if it ends with `.html`, else `index.html` in the folder `path`."""
    return path if path.suffix == ".html" else path / "index.html"


class IndexReport:
    """Collects runs and writes the page, at `index_file` of the target's path, when it is closed."""

    def __init__(self, target: ReportTarget):
        file = index_file(target.path)
        make_folder(file.parent)
        if file != target.path:
            require_own_page(file)
        self._stream = open_for_writing(file)
        self._folder, self._pages = file.parent, target.pages
        self._rows: list[IndexRow] = []
        self._finished: list[FinishedRun] = []

    def add(self, done: FinishedRun) -> None:
        """Add a run as a row."""
        run, result, comparison = done.run, done.result, done.comparison
        self._finished.append(done)
        never_enabled = [name for name, coverage in result.coverage.items() if not coverage.generated]
        sentences = list(comparison.sentences) if comparison is not None else []
        if result.ended not in ("complete", "violation"):
            sentences.append(f"not fully explored: {end_text(result)}")
        sentences += sentences_of_undecided(result)
        self._rows.append(
            IndexRow(
                run.name,
                _status(result, comparison),
                result.verdict,
                " ".join([constants_text(run.spec.constants), *run.fair_words]),
                tuple(sentences),
                result,
                tuple(problems_of(done)),
                tuple(never_enabled) if result.ended == "complete" else (),
            )
        )

    def add_wrong(self, name: str, error: UserError) -> None:
        """Add a run that could not be executed because its spec is wrong."""
        self._rows.append(IndexRow(name, "wrong", "cannot be run", sentences=(str(error),)))

    def add_drift(self, ledger: Path, text: str) -> None:
        """Add the differences from a ledger as a row."""
        self._rows.append(
            IndexRow(str(ledger), "differs", "not as recorded", sentences=tuple(text.strip().splitlines()))
        )

    def close(self) -> None:
        """Write the page."""
        # Jinja2 takes time to import, and not every command writes a page.
        from checker.output.page.render import render

        counts = {status: sum(row.status == status for row in self._rows) for status in ("differs", "wrong", "stopped")}
        findings = [each for each in findings_by_spec(self._finished) if each.findings]
        with self._stream:
            self._stream.write(
                render(
                    "index.html.j2",
                    package="checker.output",
                    filters={"states": states_text},
                    title=quantity(len(self._rows), "result"),
                    rows=self._rows,
                    counts=counts,
                    findings=findings,
                    link=self._link,
                )
            )

    def _link(self, problem: Problem) -> str | None:
        """Return the relative address of a counterexample's page, else of its text, else None."""
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
