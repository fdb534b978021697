"""Files of results: JSON, and a folder of counterexamples.

The format of traces is imported for a counterexample only: a run without one starts faster.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TextIO
from urllib.parse import quote

from checker.errors import InputError, OutputError, UserError
from checker.language.spec import Spec
from checker.output.formats import FORMATS, Counterexample
from checker.output.output_files import STANDARD_OUTPUT, AtomicFile, open_for_writing, write_whole
from checker.output.spec_view import spec_view
from checker.output.styled_lines import break_text
from checker.run.finding import Finding
from checker.run.finished import FinishedRun
from checker.run.request import Run
from checker.run.result import Violation
from traces.storage import Location, RemotePath


def failure_to_json(run: Run, error: UserError) -> dict[str, Any]:
    """Return the JSON object of a run without a result."""
    return {"spec": run.entry.name, "scenario": run.scenario, "constants": run.spec.constants, "error": str(error)}


def _view_to_json(run: Run) -> dict[str, Any] | None:
    view = spec_view(run.spec)
    if view is None:
        return None
    names = ("name", "text", "kept", "left_out", "is_checked")
    return {name: getattr(view, name) for name in names}


def result_to_json(done: FinishedRun) -> dict[str, Any]:
    """Return the JSON object of a run; counterexamples contain whole states."""
    run, result, comparison = done.run, done.result, done.comparison
    expected = dict(run.expected) if isinstance(run.expected, Mapping) else run.expected
    return {
        "spec": run.entry.name,
        "scenario": run.scenario,
        "constants": run.spec.constants,
        "fairness": {name: dataclasses.asdict(fairness) for name, fairness in run.spec.fairness.items()},
        "engine": result.engine,
        "workers": result.workers,
        "verdict": result.verdict,
        "expected": expected,
        "differences": list(comparison.sentences) if comparison is not None else [],
        "symmetry": list(result.symmetry),
        "asymmetries": list(result.asymmetries),
        "distinct_states": result.distinct_states,
        "generated_states": result.generated_states,
        "depth": result.depth,
        "states_within_constraint": result.states_within,
        "depth_within_constraint": result.depth_within,
        "states_outside_constraint": None
        if result.states_within is None
        else result.distinct_states - result.states_within,
        "view": _view_to_json(run),
        "ended": result.ended,
        "seconds": round(result.seconds, 6),
        "compile_seconds": round(result.compile_seconds, 6),
        "memory_bytes": result.memory_bytes,
        "state_bits": result.state_bits,
        "violations": [
            violation_to_json(run.spec, violation)
            | {"failed_action": str(violation.failed_action) if violation.failed_action else None}
            for violation in result.violations
        ],
        "coverage": {
            action: {"generated": coverage.generated, "distinct": coverage.distinct}
            for action, coverage in result.coverage.items()
        },
        "reached": result.reached,
        "unreached": list(result.unreached),
        "liveness": [dataclasses.asdict(each) for each in result.liveness],
        "undecided": result.undecided,
        "account": dataclasses.asdict(done.account),
        "findings": None if result.findings is None else [_finding_to_json(each) for each in result.findings],
    }


def violation_to_json(spec: Spec, violation: Violation) -> dict[str, Any]:
    """Return the JSON object of a violation; its `length` is the number of states, null without a trace."""
    from traces import trace_file

    return {
        "property": violation.property,
        "kind": violation.kind,
        "length": violation.length or None,
        "explanation": violation.explanation,
        "trace": trace_file.steps_to_json(spec, violation.trace),
        **trace_file.lasso_to_json(spec, violation),
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
    """Writes one JSON object per line to a file or, for `-`, to standard output; does nothing for an empty name.

    The file appears when the block ends, however it ends. Standard output gets each line at once.
    """

    def __init__(self, name: str):
        self._stream: TextIO | AtomicFile | None = None
        if name == STANDARD_OUTPUT:
            self._stream = sys.stdout
        elif name:
            self._stream = open_for_writing(Path(name))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if isinstance(self._stream, AtomicFile):
            self._stream.close()

    def write(self, content: dict[str, Any]) -> None:
        """Write an object."""
        if self._stream is None:
            return
        self._stream.write(json.dumps(content) + "\n")
        if not isinstance(self._stream, AtomicFile):
            # Readers of a pipe see it before the next run ends.
            self._stream.flush()


class CounterexampleFolder:
    """Writes each counterexample in every registered format; does nothing without a folder.

    `count` is the number of counterexamples that were written. `index` is the page of all results, which the pages of
    counterexamples link to.
    """

    def __init__(self, folder: Path | None, index: Path | None = None):
        self._folder = folder
        self._index = ""
        if folder is not None and index is not None:
            self._index = quote(Path(os.path.relpath(index, folder)).as_posix())
        self._missing: dict[str, None] = {}
        self.count = 0
        if folder is not None:
            make_folder(folder)

    def write(self, run: Run, violations: Iterable[Violation]) -> None:
        """Write the counterexamples of a run; raise OutputError if the folder cannot be written.

        A format is omitted if it needs a program that is missing; `close` reports that.
        """
        if self._folder is None:
            return
        for violation in violations:
            if violation.trace:
                self._write(self._folder / stem_of(run, violation), run, violation)

    def write_as(self, name: str, run: Run, violation: Violation) -> Path | None:
        """Write one counterexample under a given name and return its JSON file, or None without a folder."""
        if self._folder is None:
            return None
        self._write(self._folder / name, run, violation)
        return self._folder / (name + FORMATS["json"].ending)

    def close(self) -> None:
        """Report each missing program or package once."""
        for message in self._missing:
            print(break_text(f"some formats were not written: {message}", sys.stderr), file=sys.stderr)

    def _write(self, stem: Path, run: Run, violation: Violation) -> None:
        self.count += 1
        counterexample = counterexample_of(run, violation, self._index)
        for format in FORMATS.values():
            try:
                content = format.write(counterexample)
            except UserError as error:
                self._missing[error.message] = None
                continue
            write_whole(stem.with_name(stem.name + format.ending), content)


def counterexample_of(run: Run, violation: Violation, index: str = "") -> Counterexample:
    """Return a violation of a run as the counterexample that a page shows; `index` is the address of all results."""
    from traces import trace_file

    origin = trace_file.origin_of(run.spec, run.entry.name, run.scenario, run.entry.target, run.command(violation))
    scenario = run.entry.scenario(run.scenario, run.spec.constants)
    description = scenario.description if scenario is not None else ""
    return Counterexample(run.spec, violation, origin, description, scenario=scenario, index=index)


def stem_of(run: Run, violation: Violation) -> str:
    """Return the name, without its ending, of the files of a counterexample."""
    return f"{_file_name(run)}-{violation.property}"


def _file_name(run: Run) -> str:
    return run.name.replace("/", "-")


def check_stems(runs: Sequence[Run], folder: Path | None, outputs: Mapping[str, Path | str | None]) -> None:
    """Raise InputError if counterexamples of two runs in a folder would have one name, or one is another output."""
    if folder is None:
        return
    others = {
        Path(os.path.realpath(path)): option
        for option, path in outputs.items()
        if path is not None and str(path) not in ("", STANDARD_OUTPUT)
    }
    known: dict[str, Run] = {}
    for run in runs:
        # A file system may not distinguish the case of letters.
        other = known.setdefault(_file_name(run).casefold(), run)
        if other is not run:
            raise InputError(
                f"{other.entry.target} and {run.entry.target} would write the same files, {_file_name(run)}-*: "
                "run them one by one, each with its folder --out"
            )
        for path, option in others.items():
            if path.parent == Path(os.path.realpath(folder)) and path.name.startswith(f"{_file_name(run)}-"):
                raise InputError(f"{option} {path} could be the file of a counterexample in {folder}: name another")


def make_folder(folder: Location) -> None:
    """Create a folder if necessary; raise OutputError if no file can be created in it."""
    import tempfile

    try:
        if isinstance(folder, RemotePath):
            probe = folder / f".tidemark-{os.urandom(4).hex()}"
            probe.write_bytes(b"")
            probe.unlink()
            return
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OutputError(f"the folder {folder} cannot be written: {error.strerror}") from None
