"""What can be wrong with a spec, its constants or its use: one sentence each, never a traceback."""

from __future__ import annotations

from typing import Any


class SpecError(Exception):
    """The input is wrong: says where, what was found and what to write instead. The command line exits with 2."""

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None, text: str | None = None):
        self.message, self.file, self.line, self.text = message, file, line, text
        super().__init__(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.message, self.file, self.line, self.text)

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: " if self.file and self.line else f"{self.file}: " if self.file else ""
        shown = f"\n    {self.text.strip()}" if self.text else ""
        return f"{where}{self.message}{shown}"


def _rebuilt(message: str, file: str | None, line: int | None, text: str | None) -> SpecError:
    return SpecError(message, file=file, line=line, text=text)


class Disabled(Exception):  # noqa: N818 - not an error: the instance is just not enabled
    """A `require` is false: the action instance is not enabled in this state."""
