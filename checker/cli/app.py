"""The command line: its commands, and the exit status of the process.

The module of a command imports at its top only what its options need. The command imports the rest when it runs.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

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
from checker.errors import EXIT_INTERNAL, UserError

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


_INTERRUPTED = 130
"""The exit status that Typer returns after a KeyboardInterrupt."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Every end of the process gets its status here: the status of the command, or that of the error that ended it. A
    mistake of the user is printed as one sentence, a mistake of the project with its traceback.
    """
    from checker.run.request import EXIT_STOPPED, EXIT_WRONG_INPUT

    given = sys.argv[1:] if arguments is None else arguments
    try:
        status = app(given or ["--help"], prog_name=_PROGRAM, standalone_mode=False)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    except _UsageError as error:
        print(f"error: {_usage_text(error)}", file=sys.stderr)
        return EXIT_WRONG_INPUT
    except (KeyboardInterrupt, typer.Abort):
        status = _INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe has ended (`list | head`). Python must not fail again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"error: {place}{error.strerror or error}", file=sys.stderr)
        return EXIT_WRONG_INPUT
    except Exception as error:
        # Exit status 1 is a verdict: a crash must never look like one.
        traceback.print_exc()
        print(
            f"internal error: {type(error).__name__}: this is a mistake of Tidemark, please report it", file=sys.stderr
        )
        return EXIT_INTERNAL
    if status == _INTERRUPTED:
        print("interrupted", file=sys.stderr)
        return EXIT_STOPPED
    return status if isinstance(status, int) else 0


def _usage_text(error: Any) -> str:
    command = error.ctx.command_path if error.ctx is not None else _PROGRAM
    return f"{error.format_message().rstrip('.')}; {command} --help lists the options"
