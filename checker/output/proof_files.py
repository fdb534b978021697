"""`prove --out`: the files of counterexamples, and the pages of counterexamples to induction."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from checker.errors import OutputError
from checker.output.files import CounterexampleFolder, stem_of
from checker.run.request import Run
from checker.run.result import ActionCall, TraceStep, Violation

if TYPE_CHECKING:
    from checker.engines.smt.induction import CounterexampleToInduction


class PageFolder:
    """Writes what proofs found to a folder; without one it writes nothing."""

    def __init__(self, folder: Path | None):
        self._folder, self._counterexamples = folder, CounterexampleFolder(folder)

    def write(self, run: Run, violations: Iterable[Violation], pages: Mapping[str, str]) -> None:
        """Write counterexamples in every format, and pages; raise UserError if the folder cannot be written."""
        if self._folder is None:
            return
        for violation in violations:
            if violation.trace:
                self._counterexamples.write_as(stem_of(run, violation), run, violation)
        for name, page in pages.items():
            try:
                (self._folder / name).write_text(page, encoding="utf-8")
            except OSError as error:
                raise OutputError(f"the folder {self._folder} cannot be written: {error.strerror}") from None

    def close(self) -> None:
        """Say what was left out."""
        self._counterexamples.close()


def page_name(run: Run, conjunct: str, what: str) -> str:
    """Return the name of the page of what breaks a conjunct."""
    return f"{run.name.replace('/', '-')}-{conjunct}-{what}.html"


def proof_command(run: Run, *options: str) -> str:
    """Return the command that proves a run's configuration again."""
    return shlex.join(["python", "-m", "checker", "prove", *run.words, *options])


def breaking_step(found: CounterexampleToInduction) -> tuple[tuple[TraceStep, ...], ActionCall | None]:
    """Return the step that breaks an induction as a trace, and the action if there is no state after it."""
    assert found.before is not None
    first = TraceStep(None, (), found.before)
    if found.after is None:
        return (first,), ActionCall(found.action, found.arguments)
    return (first, TraceStep(found.action, found.arguments, found.after)), None
