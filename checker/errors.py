"""The errors of the project: each is one sentence and an exit status, never a traceback.

`UserError` is the base of everything that a user can put right. The command line prints its sentence and exits with its
`exit_status`. `InternalError` is a mistake of the project itself.
"""

from __future__ import annotations

from typing import Any, ClassVar

EXIT_WRONG_INPUT = 2
EXIT_INTERNAL = 70
"""As `EX_SOFTWARE` of sysexits.h."""


class UserError(Exception):
    """An error that the user can correct: where it is, what was found, and what to write instead."""

    exit_status: ClassVar[int] = EXIT_WRONG_INPUT

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
    """A spec is wrong, or its constants are, or it is outside the language."""


class InputError(UserError):
    """The command line is wrong, or a file that it names: a trace, a log, a configuration, a folder of walks."""


class OutputError(UserError):
    """A file or folder cannot be written."""


class MissingExtraError(UserError):
    """A package that an extra installs is missing."""


class InternalError(Exception):
    """A mistake of the project itself: two engines disagree, or a result contradicts itself."""

    exit_status: ClassVar[int] = EXIT_INTERNAL


class BoundsError(Exception):
    """A value left its type's bounds while a method ran: the verdict of the run is `error`, with a trace."""


class Disabled(Exception):  # noqa: N818 - not an error: the instance is just not enabled
    """A `require` is false: the action instance is not enabled in this state."""


def _rebuilt(kind: type[UserError], message: str, file: str | None, line: int | None, text: str | None) -> UserError:
    return kind(message, file=file, line=line, text=text)
