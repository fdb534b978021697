"""GitHub annotations: workflow commands that make a runner mark the lines of what is wrong."""

from __future__ import annotations

import os
from typing import TextIO

from checker.check.places import Place, place_of, place_of_error
from checker.check.result import Result
from checker.check.scenario import Comparison
from checker.cli.problems import BOUNDS, Problem, problems_of
from checker.cli.runs import Run
from checker.language.errors import SpecError


def wanted() -> bool:
    """Return whether this process runs in a GitHub workflow."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


class Annotations:
    """Writes an `::error` for everything that makes a run fail to a stream that the runner reads."""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self._written: list[str] = []

    def add(self, run: Run, result: Result, comparison: Comparison | None) -> None:
        """Keep the annotations of a run; the progress of the next one must not run into them."""
        for problem in problems_of(run, result, comparison):
            if not problem.accepted:
                text = f"{problem.message}\n\n{problem.details}".strip()
                self._keep(place_of(type(run.spec), problem.method), _title(problem), text)

    def add_wrong(self, name: str, error: SpecError) -> None:
        """Keep the annotation of a run that could not be executed, for its spec is wrong."""
        self._keep(place_of_error(error), f"{name} cannot be run", error.message)

    def close(self) -> None:
        """Write the annotations."""
        self._stream.write("".join(self._written))
        self._stream.flush()

    def _keep(self, place: Place | None, title: str, text: str) -> None:
        parts = {"title": title}
        if place is not None:
            parts = {"file": place.relative, "line": str(place.first_line), "endLine": str(place.last_line), **parts}
        shown = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in parts.items())
        command = f"::error {shown}::{_escaped(text)}\n"
        if command not in self._written:
            self._written.append(command)


def _title(problem: Problem) -> str:
    return f"{problem.run.name}: {'out of bounds' if problem.property == BOUNDS else problem.property}"


def _escaped(text: str, more: str = "") -> str:
    """Return a text as a workflow command takes it; https://docs.github.com/actions, workflow commands."""
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text
