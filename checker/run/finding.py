"""What a finding is, and which findings several runs of one spec have in common."""

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
    """Something that a complete exploration shows to be idle, so that what holds of it holds of nothing.

    `subject` is the action, property or variable; `message` one sentence about it; `file` and `line` where it is
    written. `key` is what stays the same when only constants differ: two runs have a finding in common where the keys
    are equal.
    """

    kind: FindingKind
    subject: str
    message: str
    file: str
    line: int
    key: str = ""

    @property
    def is_note(self) -> bool:
        """Whether it is no more than room to spare: a value that a type has and its variable never takes."""
        return self.kind == "never_taken"

    @property
    def place(self) -> str:
        """The file, below the working directory where it is there, and the line: `specs/toy.py:12`."""
        return f"{short_path(self.file)}:{self.line}"

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What a run with other constants has in common with this one."""
        return self.kind, self.subject, self.file, self.key or self.message

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


def short_path(file: str) -> str:
    """Return a path below the working directory where the file is there, as it is where it is not."""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file


def common(runs: Iterable[Iterable[Finding]]) -> list[Finding]:
    """Return the findings that every one of several runs has, in the words of the first.

    A scenario may switch a part of a spec off on purpose; what no scenario uses is another matter.
    """
    first, *others = [list(findings) for findings in runs] or [[]]
    known = [{finding.identity for finding in findings} for findings in others]
    return [finding for finding in first if all(finding.identity in found for found in known)]
