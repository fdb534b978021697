"""Source locations of a spec's properties and actions, and of errors in specs."""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from checker.errors import UserError
from checker.language.source import source_of
from checker.language.spec import Spec
from checker.run.result import Violation


@dataclass(frozen=True)
class SourceLocation:
    """A range of lines of a file; the first line of a file is line 1."""

    file: str
    first_line: int
    last_line: int

    @property
    def relative(self) -> str:
        """The path relative to the root of the sources, with `/`; the absolute path for a file outside of it."""
        path = Path(self.file).resolve()
        root = _root()
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()

    @property
    def uri(self) -> str:
        """The file as a URI: a relative reference below the root of the sources, `file://` outside of it."""
        return quote(self.relative) if not self.relative.startswith("/") else Path(self.relative).as_uri()


def _root() -> Path:
    """Return the root of paths in reports: the checkout on GitHub's runners, otherwise the working directory."""
    return Path(os.environ.get("GITHUB_WORKSPACE") or ".").resolve()


def location_of(spec: type[Spec], name: str) -> SourceLocation | None:
    """Return the location of a spec's method, starting at its `def`.

    If the spec has no method of this name, return the location of the class; None if the source is not available.
    """
    function = inspect.getattr_static(spec, name, None)
    if inspect.isfunction(function):
        try:
            source = source_of(function)
        except UserError:
            return None
        return SourceLocation(source.file, source.tree.lineno, source.tree.end_lineno or source.tree.lineno)
    try:
        _, line = inspect.getsourcelines(spec)
        return SourceLocation(inspect.getfile(spec), line, line)
    except (OSError, TypeError):
        return None


def location_of_error(error: UserError) -> SourceLocation | None:
    """Return the line that an error is about; None if the error has no location."""
    return SourceLocation(error.file, error.line or 1, error.line or 1) if error.file else None


def last_action(violation: Violation) -> str | None:
    """Return the action that led to a violation, or that could not be executed; None in the initial state."""
    if violation.failed_action is not None:
        return violation.failed_action.action
    return violation.trace[-1].action if violation.trace else None
