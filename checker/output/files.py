"""Where results go besides the screen: JSON, JUnit and a folder of counterexamples."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, TextIO

from checker.errors import OutputError, UserError
from checker.output import formats
from checker.run.finding import Finding
from checker.run.request import Run
from checker.run.result import Result, Violation
from checker.run.scenario import ExpectationComparison
from traces import trace_file

STANDARD_OUTPUT = "-"


def result_to_json(run: Run, result: Result, comparison: ExpectationComparison | None) -> dict[str, Any]:
    """Return the JSON object of a run; counterexamples hold their states in full."""
    expected = dict(run.expected) if isinstance(run.expected, Mapping) else run.expected
    return {
        "spec": run.entry.name,
        "scenario": run.scenario,
        "constants": run.spec.constants,
        "engine": result.engine,
        "workers": result.workers,
        "verdict": result.verdict,
        "expected": expected,
        "differences": list(comparison.sentences) if comparison is not None else [],
        "distinct_states": result.distinct_states,
        "generated_states": result.generated_states,
        "depth": result.depth,
        "ended": result.ended,
        "seconds": round(result.seconds, 6),
        "compile_seconds": round(result.compile_seconds, 6),
        "memory_bytes": result.memory_bytes,
        "violations": [
            {
                "property": violation.property,
                "kind": violation.kind,
                "length": violation.length or None,
                "explanation": violation.explanation,
                "failed_action": str(violation.failed_action) if violation.failed_action else None,
                "trace": trace_file.steps_to_json(run.spec, violation.trace),
            }
            for violation in result.violations
        ],
        "coverage": {
            action: {"generated": coverage.generated, "distinct": coverage.distinct}
            for action, coverage in result.coverage.items()
        },
        "reached": result.reached,
        "unreached": list(result.unreached),
        "findings": None if result.findings is None else [_finding_to_json(found) for found in result.findings],
    }


def _finding_to_json(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "severity": "note" if finding.is_note else "warning",
        "subject": finding.subject,
        "message": finding.message,
        "file": finding.place.rpartition(":")[0],
        "line": finding.line,
    }


class JsonLines:
    """Writes one JSON object a line to a file or, for `-`, to standard output; an empty name writes nothing."""

    def __init__(self, name: str):
        self._stream: TextIO | None = None
        if name == STANDARD_OUTPUT:
            self._stream = sys.stdout
        elif name:
            self._stream = open_for_writing(Path(name))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream not in (None, sys.stdout):
            self._stream.close()

    def write(self, content: dict[str, Any]) -> None:
        """Write an object, and have it arrive before the next run begins."""
        if self._stream is not None:
            self._stream.write(json.dumps(content) + "\n")
            self._stream.flush()


class CounterexampleFolder:
    """Writes each counterexample in every format; without a folder it writes nothing."""

    def __init__(self, folder: Path | None):
        self._folder = folder
        self._missing: dict[str, None] = {}
        if folder is not None:
            make_folder(folder)

    def write(self, run: Run, result: Result) -> None:
        """Write the counterexamples of a run; raise UserError if the folder cannot be written.

        A format that needs a program which is missing is left out: `close` says so.
        """
        if self._folder is None:
            return
        for violation in result.violations:
            if violation.trace:
                self._write(self._folder / stem_of(run, violation), run, violation)

    def write_as(self, name: str, run: Run, violation: Violation) -> Path | None:
        """Write one counterexample under a name of its own and return its JSON file, if there is a folder."""
        if self._folder is None:
            return None
        self._write(self._folder / name, run, violation)
        return self._folder / (name + formats.ENDINGS["json"])

    def close(self) -> None:
        """Say, once, what is missing for the formats that were left out."""
        for message in self._missing:
            print(f"not everything was written: {message}", file=sys.stderr)

    def _write(self, stem: Path, run: Run, violation: Violation) -> None:
        origin = trace_file.origin_of(run.spec, run.entry.name, run.scenario, run.entry.target, run.command(violation))
        found = formats.Counterexample(
            run.spec, violation, origin, run.entry.description(run.scenario, run.spec.constants)
        )
        for format, ending in formats.ENDINGS.items():
            try:
                content = formats.written(found, format)
            except UserError as error:
                self._missing[error.message] = None
                continue
            try:
                stem.with_name(stem.name + ending).write_text(content, encoding="utf-8")
            except OSError as error:
                raise OutputError(f"the folder {self._folder} cannot be written: {error.strerror}") from None


def stem_of(run: Run, violation: Violation) -> str:
    """Return the name, without its ending, of the files that hold a counterexample."""
    return f"{run.name.replace('/', '-')}-{violation.property}"


def open_for_writing(path: Path) -> TextIO:
    """Return a new text file, in a new folder if need be; raise UserError if it cannot be written."""
    try:
        if not path.parent.exists():
            path.parent.mkdir(parents=True)
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"the file {path} cannot be written: {error.strerror}") from None


def make_folder(folder: Path) -> None:
    """Make a folder if there is none; raise UserError if no file can be made in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OutputError(f"the folder {folder} cannot be written: {error.strerror}") from None
