"""The exceptions of the project.

`UserError` is the base class of errors that the user can correct: the command line prints the message, one sentence,
and exits with `exit_status`. `InternalError` is a bug of the project. `BoundsError` and `Disabled` are outcomes of
running a spec, not errors of the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from checker.printable import printable, printable_lines, shortened

_LONGEST_LINE, _LONGEST_MESSAGE = 200, 500
"""The characters of a line of a file, and of a message that another program wrote, in the message of an error."""

EXIT_INTERNAL = 70
"""As `EX_SOFTWARE` of sysexits.h."""


class UserError(Exception):
    """An error that the user can correct: its location if known, what is wrong, and what to write instead."""

    exit_status: ClassVar[int] = 2

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        text: str | None = None,
        columns: tuple[int, int] | None = None,
    ):
        """Create an error at a place: `text` is the line of the file, `columns` the part of it that is wrong.

        Columns are counted from 1; the second is the one after the part.
        """
        self.message, self.file, self.line, self.text, self.columns = message, file, line, text, columns
        super().__init__(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.message, self.file, self.line, self.text, self.columns)

    def __str__(self) -> str:
        return printable_lines(f"{printable(self.place)}{printable(self.message)}{self._excerpt()}")

    @property
    def place(self) -> str:
        """The location in front of the message: `file:line:column: `, or less if less is known."""
        known = (self.file, self.line if self.file else None, self.columns[0] if self.line and self.columns else None)
        return "".join(f"{part}:" for part in known if part) + " " * bool(self.file)

    @property
    def parts(self) -> tuple[UserError, ...]:
        """The errors that this one consists of: several for `SpecErrors`, else itself."""
        return (self,)

    def _excerpt(self) -> str:
        """Return the wrong line, and carets below the wrong part, each with a line break before it."""
        if not self.text:
            return ""
        shown = printable(self.text.strip())
        if self.columns is None:
            return f"\n    {shortened(shown, _LONGEST_LINE)}"
        indent = len(self.text) - len(self.text.lstrip())
        first = max(self.columns[0] - 1 - indent, 0)
        if len(shown) > _LONGEST_LINE:
            # Only the surroundings of the wrong part.
            start = max(0, min(first - _LONGEST_LINE // 4, len(shown) - _LONGEST_LINE))
            shown, first = shown[start : start + _LONGEST_LINE], first - start
        # A part of several lines is marked to the end of its first line.
        width = max(min(self.columns[1] - self.columns[0], len(shown) - first), 1)
        return f"\n    {shown}\n    {' ' * first}{'^' * width}"


class SpecError(UserError):
    """A spec or the value of a constant is wrong, or a construct is outside the language."""


class SizeError(SpecError):
    """A type has more values, or takes more bits, than the engines allow: a constant may be too large."""

    @classmethod
    def at(cls, place: UserError) -> SizeError:
        """Return an error with the message and the place of another one."""
        return cls(place.message, file=place.file, line=place.line, text=place.text, columns=place.columns)


class SpecErrors(SpecError):  # noqa: N818 - several of them
    """Several errors of one spec. Its message and location are those of the first."""

    def __init__(self, errors: Sequence[UserError]):
        first = errors[0]
        self.errors = tuple(errors)
        super().__init__(first.message, file=first.file, line=first.line, text=first.text, columns=first.columns)

    def __reduce__(self) -> tuple[Any, ...]:
        return SpecErrors, (self.errors,)

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)

    @property
    def parts(self) -> tuple[UserError, ...]:
        """The errors in the order in which they were found."""
        return self.errors


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


def nearest_names(name: str, known: Iterable[str], most: int = 1, likeness: float = 0.6) -> list[str]:
    """Return at most `most` known names that an unknown one is like, the nearest first; 1 is the likeness of itself."""
    # Imported here, as most names are right.
    import difflib

    return difflib.get_close_matches(name, list(known), most, likeness)


def exception_text(error: BaseException) -> str:
    """Return the name and the message of an exception that another program raised."""
    name = type(error).__name__
    try:
        message = str(error)
    # The exception is the user's, and so is the method that returns its message.
    except Exception as failed:
        message = f"its message raises {type(failed).__name__}"
    return f"{name}: {shortened(message, _LONGEST_MESSAGE)}" if message else name


def _rebuilt(
    kind: type[UserError],
    message: str,
    file: str | None,
    line: int | None,
    text: str | None,
    columns: tuple[int, int] | None,
) -> UserError:
    return kind(message, file=file, line=line, text=text, columns=columns)


class CollectedErrors:
    """Collects errors, so that all errors of a spec are reported together."""

    def __init__(self) -> None:
        self._found: list[UserError] = []

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Keep an error of the block, and continue after it."""
        try:
            yield
        except UserError as error:
            self._found.append(error)

    @contextmanager
    def collecting_located(self) -> Iterator[None]:
        """Keep an error of the block that points at a line, and continue after it; raise any other error."""
        try:
            yield
        except UserError as error:
            if error.line is None:
                raise
            self._found.append(error)

    def __bool__(self) -> bool:
        """Return whether there is an error."""
        return bool(self._found)

    def raise_found(self) -> None:
        """Raise the collected errors, if any, as one; the same message at the same place counts once."""
        found = {str(part): part for error in self._found for part in error.parts}
        if len(found) > 1:
            raise SpecErrors(sorted(found.values(), key=lambda error: (error.file or "", error.line or 0)))
        for error in found.values():
            raise error
