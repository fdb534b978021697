"""Findings: parts of a spec that a complete exploration never used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

FindingKind = Literal[
    "never_enabled", "never_changes_anything", "never_reached", "premise_never_true", "never_changes", "never_taken"
]


@dataclass(frozen=True)
class Finding:
    """A part of a spec that a complete exploration never used, so that a property may hold vacuously.

    `subject` is the action, property or variable, `message` one sentence about it, `file` and `line` its location.
    `key` identifies the finding among runs that differ in constants; the default is the message.
    """

    kind: FindingKind
    subject: str
    message: str
    file: str
    line: int
    key: str = ""

    @property
    def is_note(self) -> bool:
        """Whether the finding is only a note: a value of a variable's type that the variable never takes."""
        return self.kind == "never_taken"

    @property
    def place(self) -> str:
        """The file, relative to the working directory if it is inside, and the line: `specs/toy.py:12`."""
        return f"{short_path(self.file)}:{self.line}"

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """The key under which runs with other constants have the same finding."""
        return self.kind, self.subject, self.file, self.key or self.message

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


def short_path(file: str) -> str:
    """Return a path relative to the working directory if the file is inside, else unchanged."""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file


def common_findings(runs: Iterable[Iterable[Finding]]) -> list[Finding]:
    """Return the findings that all runs have, as the first run reports them.

    A scenario may disable a part of a spec on purpose, so a finding matters only if all scenarios have it.
    """
    first, *others = [list(findings) for findings in runs] or [[]]
    known = [{finding.identity for finding in findings} for findings in others]
    return [finding for finding in first if all(finding.identity in identities for identities in known)]
