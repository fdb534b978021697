"""The end of a run or a process by an exception: the sentence, the exit status, and the report of an internal error.

Exit status 1 is a verdict. No exception ends a process with it.

Modules that only a failure needs are imported when it happens: every command imports this module.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from checker.errors import EXIT_INTERNAL, UserError, exception_text


class StoppedError(UserError):
    """A run that ended before the answer: the machine was too small for it, or it was interrupted."""

    exit_status: ClassVar[int] = 3


class CrashError(UserError):
    """A run that a mistake of the project ended; the message names a file with the report."""

    exit_status: ClassVar[int] = EXIT_INTERNAL


_SMALLER = "use smaller constants, --max-states N, or --workers 1"

_KNOWN = "_tidemark_ending"
"""The attribute of an exception that keeps its end, so that it has one report."""


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Note on an exception that leaves the block what the program was doing: `exploring replication/kip320`."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, UserError):
            error.add_note(what)
        raise


def ending(error: BaseException) -> UserError:
    """Return the end of a run or a process that an exception caused; its `exit_status` is never that of a verdict."""
    if isinstance(error, UserError):
        return error
    known = vars(error).get(_KNOWN)
    if known is None:
        known = _ending(error)
        # The command's reports and the terminal show the same end.
        vars(error)[_KNOWN] = known
    return known


def error_lines(error: UserError) -> list[str]:
    """Return the lines of the terminal about an error, one for each of its parts."""
    return [f"{'' if isinstance(part, CrashError) else 'error: '}{part}" for part in error.parts]


def worker_died(what: str) -> StoppedError:
    """Return the end of a run of which the worker process ended without a result."""
    return StoppedError(f"{what}: a worker process ended, probably for lack of memory: {_SMALLER}")


def _ending(error: BaseException) -> UserError:
    from concurrent.futures.process import BrokenProcessPool

    where = "".join(f" while {what}" for what in getattr(error, "__notes__", ())[:1])
    if isinstance(error, BrokenProcessPool):
        return worker_died("the command")
    if isinstance(error, MemoryError):
        return StoppedError(f"out of memory{where}: {_SMALLER}")
    if isinstance(error, RecursionError):
        return UserError(f"an expression or a value is nested too deeply{where}: split it into smaller parts")
    if isinstance(error, (SystemExit, GeneratorExit)):
        return UserError(f"a spec or mapping ended the program with {type(error).__name__}{where}: remove the call")
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return StoppedError(f"too many files are open{where}: raise the limit (ulimit -n), or use --workers 1")
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else "an output cannot be written: "
        return UserError(f"{place}{error.strerror or error}{where}")
    return CrashError(_crash_sentence(error, where))


def _crash_sentence(error: BaseException, where: str) -> str:
    said = exception_text(error).split("\n")[0]
    file = _write_report(error)
    how = f"report it with the file {file}" if file else "report it with the command and this sentence"
    return f"internal error: {said}{where}. This is a mistake of Tidemark, not a verdict: please {how}"


def _write_report(error: BaseException) -> str | None:
    """Write the report of an internal error to a temporary file and return its name; None if it cannot be written."""
    import platform
    import tempfile
    import traceback

    from checker.run.version import tidemark_version

    text = "\n".join(
        [
            f"tidemark {tidemark_version()}, Python {platform.python_version()}, {platform.platform()}",
            f"command: {' '.join(sys.argv)}",
            "",
            "".join(traceback.format_exception(error)),
        ]
    )
    try:
        descriptor, name = tempfile.mkstemp(prefix="tidemark-error-", suffix=".txt")
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as stream:
            stream.write(text)
    except OSError:
        # Without a file, the terminal is the report.
        print(text, file=sys.stderr)
        return None
    return name
