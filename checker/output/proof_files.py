"""Files of proofs: counterexamples, and pages of counterexamples to induction."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from checker.output.files import CounterexampleFolder, stem_of
from checker.output.output_files import write_whole
from checker.run.request import Run
from checker.run.result import ActionCall, TraceStep, Violation

if TYPE_CHECKING:
    from checker.engines.smt.proof_cells import CounterexampleToInduction


class ProofFolder:
    """Writes counterexamples and pages of proofs to a folder; does nothing without a folder."""

    def __init__(self, folder: Path | None):
        self._folder, self._counterexamples = folder, CounterexampleFolder(folder)

    def write(self, run: Run, violations: Iterable[Violation], pages: Mapping[str, str]) -> None:
        """Write counterexamples in every format, and pages; raise OutputError if the folder cannot be written."""
        if self._folder is None:
            return
        for violation in violations:
            if violation.trace:
                self._counterexamples.write_as(stem_of(run, violation), run, violation)
        for name, page in pages.items():
            write_whole(self._folder / name, page)

    def close(self) -> None:
        """Report the formats that were omitted."""
        self._counterexamples.close()


def page_name(run: Run, conjunct: str, place: str) -> str:
    """Return the file name of a page of a counterexample to induction; `place` is the action or the number of steps."""
    return f"{run.name.replace('/', '-')}-{conjunct}-{place}.html"


def proof_command(run: Run, *options: str) -> str:
    """Return the command that repeats the proof of a configuration."""
    return shlex.join(["python", "-m", "checker", "prove", *run.words, *options])


def breaking_step(step: CounterexampleToInduction) -> tuple[tuple[TraceStep, ...], ActionCall | None]:
    """Return a counterexample to induction as a trace, and the action if it leads to no state."""
    assert step.before is not None
    first = TraceStep(None, (), step.before)
    if step.after is None:
        return (first,), ActionCall(step.action, step.arguments)
    return (first, TraceStep(step.action, step.arguments, step.after)), None
