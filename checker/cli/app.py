"""The command line: its commands, and the exit status of the process.

The module of a command imports at its top only what its options need. The command imports the rest when it runs.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any, TextIO

import typer

from checker.cli.cache import clear as clear_cache
from checker.cli.cache import show as show_cache
from checker.cli.list import list_specs
from checker.cli.mutate import mutate
from checker.cli.plugins import CommandGroup
from checker.cli.prove import prove
from checker.cli.report import report
from checker.cli.run import run
from checker.cli.show import show
from checker.cli.simulate import simulate
from checker.cli.traces_replay import replay
from checker.cli.validate import validate
from checker.errors import UserError
from checker.run.endings import StoppedError, ending, error_lines
from checker.run.interrupts import terminable

_PROGRAM = "python -m checker"

app = typer.Typer(
    cls=CommandGroup,
    help="Check executable specs: explore every reachable state and show the shortest counterexamples.\n\n"
    "`COMMAND --help` describes each command.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("list")(list_specs)
app.command()(run)
app.command()(show)
app.command()(prove)
app.command()(mutate)
app.command()(simulate)
app.command()(report)
app.command()(validate)

traces = typer.Typer(help="Replay a random walk.", rich_markup_mode=None)
traces.command()(replay)
app.add_typer(traces, name="traces")

cache = typer.Typer(help="Show or clear the cache of machine code.", rich_markup_mode=None)
cache.command("show")(show_cache)
cache.command("clear")(clear_cache)
app.add_typer(cache, name="cache")


_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""The error of Typer for an unknown option, a missing argument or a wrong value. Typer exports only this subclass."""


EXIT_WRONG_INPUT, EXIT_STOPPED = UserError.exit_status, StoppedError.exit_status

_NESTED = 8_000
"""The limit of nested calls: a nested expression takes about four for each of its levels."""

_INTERRUPTED = 130
"""The exit status that Typer returns after a KeyboardInterrupt."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Every end of the process gets its status here: the status of the command, or that of the exception that ended it. A
    mistake of the user is one sentence, a mistake of the project a sentence that names a file with the report. Status 1
    is a verdict, and comes from a command only.
    """
    given = sys.argv[1:] if arguments is None else arguments
    # Expressions may be nested as deeply as a sum of a thousand terms.
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _NESTED))
    for name in ("stdout", "stderr"):
        # Python has no stream for a closed one; the exit status still is the answer.
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - open until the process ends
    try:
        with terminable():
            status = _status(given)
            sys.stdout.flush()
            return status
    except BrokenPipeError:
        # The reader of a pipe has ended (`list | head`). Python must not fail again when it flushes at exit.
        _discard(sys.stdout)
        return EXIT_STOPPED
    except OSError as error:
        _discard(sys.stdout)
        _print_error(f"standard output cannot be written: {error.strerror or error}")
        return EXIT_WRONG_INPUT
    except KeyboardInterrupt:
        _print_error("", "interrupted")
        return EXIT_STOPPED


def _status(arguments: list[str]) -> int:
    try:
        status = app(arguments or ["--help"], prog_name=_PROGRAM, standalone_mode=False)
    except _UsageError as error:
        _print_error(_usage_text(error))
        return EXIT_WRONG_INPUT
    except (KeyboardInterrupt, typer.Abort):
        status = _INTERRUPTED
    except BrokenPipeError:
        raise
    except BaseException as error:
        end = ending(error)
        for line in error_lines(end):
            _print_error(line, "")
        return end.exit_status
    if status == _INTERRUPTED:
        _print_error("", "interrupted")
        return EXIT_STOPPED
    return status if isinstance(status, int) else 0


def _print_error(message: str, label: str = "error: ") -> None:
    """Print a message on standard error, if it can be written: the exit status matters more."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(f"{label}{message}", file=sys.stderr, flush=True)


def _discard(stream: TextIO) -> None:
    """Let Python flush a stream that cannot be written to nowhere when the process ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _usage_text(error: Any) -> str:
    command = error.ctx.command_path if error.ctx is not None else _PROGRAM
    return f"{error.format_message().rstrip('.')}; {command} --help lists the options"
