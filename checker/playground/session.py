"""The Python side of the playground, which Pyodide runs in a worker of the browser: JSON in place of objects."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any
from urllib.parse import parse_qsl

from checker.engines.python.explorer import explore
from checker.errors import InputError, UserError, exception_text
from checker.explorer.answers import ExplorerAnswers
from checker.explorer.session import ExplorerSession
from checker.explorer.steps import address_of
from checker.explorer.variant import variant_of_entry
from checker.output import styled_lines
from checker.output.files import counterexample_of
from checker.output.run_summary import run_details, verdict_text
from checker.output.writers import html
from checker.run.endings import CrashError, StoppedError, ending
from checker.run.expectation import compare_with_expectation
from checker.run.finished import FinishedRun
from checker.run.plan import DEADLOCK, Plan
from checker.run.request import Request, Run, runs_for
from checker.run.result import Violation


class Playground:
    """A spec with one of its runs: explored within a bound, and stepped through by hand."""

    def __init__(self) -> None:
        self._file = Path()
        self._run: Run
        self._answers: ExplorerAnswers | None = None

    def call(self, name: str, *arguments: Any) -> str:
        """Return the result of a method as JSON; of a wrong spec, `errors`: sentences, with lines of the spec or 0."""
        try:
            result: dict[str, Any] = getattr(self, name)(*arguments)
        except Exception as error:
            end = ending(error)
            if isinstance(end, (CrashError, StoppedError)):
                result = {"errors": [{"line": 0, "text": _sentence(end, error)}]}
            else:
                result = {"errors": [self._error(part) for part in end.parts]}
        return json.dumps(result)

    def open(self, stem: str, text: str, wanted: str) -> dict[str, Any]:
        """Load a spec as the file STEM.py, select its run with the name `wanted`, else the first, and list the runs."""
        # A folder of its own: Python and the checker remember the source of a file by its path.
        folder = Path(tempfile.mkdtemp())
        os.chdir(folder)
        shutil.rmtree(self._file.parent, ignore_errors=True)
        self._file, self._answers = folder / f"{stem}.py", None
        self._file.write_text(text, encoding="utf-8")
        runs = runs_for(Request((self._file.name,)))
        self._run = next((run for run in runs if run.name == wanted), runs[0])
        return {"run": self._run.name, "runs": [run.name for run in runs]}

    def explore(self, most_states: int, on_progress: Callable[[int, float], None]) -> dict[str, Any]:
        """Explore the run within a bound of states. `on_progress` gets the number of states and seconds."""
        run = self._run
        plan = Plan(
            properties=tuple(name for name in run.properties if name != DEADLOCK),
            stop=run.stop,
            max_states=most_states,
            deadlock=DEADLOCK in run.properties,
            symmetry=run.symmetry,
            on_progress=lambda progress: on_progress(progress.distinct_states, progress.seconds),
        )
        result = explore(run.spec, plan)
        expected = compare_with_expectation(result, run.expected) if run.expected is not None else None
        done = FinishedRun(run, result, expected)
        sentences = [f"{each.property}: {each.explanation.partition(chr(10))[0]}" for each in result.violations]
        return {
            "verdict": "incomplete" if done.is_open else result.verdict,
            "text": verdict_text(done),
            "states": result.distinct_states,
            "seconds": result.seconds,
            "sentences": [*sentences, *(done.comparison.sentences if done.comparison is not None else ())],
            "details": dedent(styled_lines.plain(run_details(result, done.account))),
            "counterexamples": [self._counterexample(each) for each in result.violations if each.trace],
        }

    def answer(self, name: str, query: str) -> dict[str, Any]:
        """Return the explorer's answer to a request, and the query at which a redirection ended."""
        if self._answers is None:
            scenario = self._run.entry.scenario(self._run.scenario, self._run.spec.constants)
            self._answers = ExplorerAnswers(ExplorerSession((variant_of_entry(self._run.entry, scenario),)))
        answer = self._answers.answer(name, _pairs(query))
        if answer.location:
            query = answer.location
            answer = self._answers.answer("", _pairs(query))
        return {"text": answer.text, "query": query, "file": answer.file}

    def _counterexample(self, violation: Violation) -> dict[str, Any]:
        """Return the property, the page, and the query with which the explorer is at the end of the trace."""
        page = html.write(counterexample_of(self._run, violation))
        path = address_of(self._run.spec, violation.trace).query()
        return {"property": violation.property, "page": page, "path": path}

    def _error(self, error: UserError) -> dict[str, Any]:
        is_here = error.file is not None and Path(error.file).resolve() == self._file.resolve()
        line = error.line if is_here and error.line else 0
        return {"line": line, "text": error.message if is_here else f"{error.place}{error.message}"}


def _sentence(end: UserError, error: Exception) -> str:
    """Return the sentence about an end that is no mistake of the spec: without the files and options of a terminal."""
    if isinstance(end, StoppedError):
        return f"{end.message.partition(': ')[0]}: use smaller constants, or fewer states"
    said = exception_text(error).split("\n")[0]
    return (
        f"internal error: {said}. This is a mistake of Tidemark, not a verdict: please report it with the address of "
        "this page, which has the spec (copy link)"
    )


def _pairs(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query.removeprefix("?"), keep_blank_values=True)
    except ValueError as error:
        raise InputError(f"the address cannot be read: {error}") from None
