"""The exceptions of the project.

`UserError` is the base class of errors that the user can correct: the command line prints the message, one sentence,
and exits with `exit_status`. `InternalError` is a bug of the project. `BoundsError` and `Disabled` are outcomes of
running a spec, not errors of the program.
"""

from __future__ import annotations

from typing import Any, ClassVar

EXIT_INTERNAL = 70
"""As `EX_SOFTWARE` of sysexits.h."""


class UserError(Exception):
    """An error that the user can correct: its location if known, what is wrong, and what to write instead."""

    exit_status: ClassVar[int] = 2

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None, text: str | None = None):
        self.message, self.file, self.line, self.text = message, file, line, text
        super().__init__(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.message, self.file, self.line, self.text)

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: " if self.file and self.line else f"{self.file}: " if self.file else ""
        shown = f"\n    {self.text.strip()}" if self.text else ""
        return f"{where}{self.message}{shown}"


class SpecError(UserError):
    """A spec or the value of a constant is wrong, or a construct is outside the language."""


class InputError(UserError):
    """The command line or an input file (a trace, a log, a configuration, a folder of walks) is wrong."""


class OutputError(UserError):
    """A file or folder cannot be written."""


class MissingExtraError(UserError):
    """A package of an optional extra is not installed."""


class InternalError(Exception):
    """A bug of the project: two engines disagree, or a result contradicts itself."""

    exit_status: ClassVar[int] = EXIT_INTERNAL


class BoundsError(Exception):
    """A value left the bounds of its type while a method ran: the verdict of the run is `error`, with a trace."""


class Disabled(Exception):  # noqa: N818 - an outcome, not an error
    """A `require` is false: the action instance is not enabled in this state."""


def _rebuilt(kind: type[UserError], message: str, file: str | None, line: int | None, text: str | None) -> UserError:
    return kind(message, file=file, line=line, text=text)
