"""The command line: its commands, and the exit status of the process.

The module of a command is imported when the command is called, and imports at its top only what its options need. The
command imports the rest when it runs.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TextIO

import click

from checker.cli.declaration import CommandEntry, CommandGroup
from checker.cli.old_spellings import current_words
from checker.cli.plugins import PluginGroup
from checker.errors import EXIT_INTERNAL, UserError
from checker.nesting import allow_nested_calls
from checker.output import styled_lines
from checker.printable import printable_lines, shortened
from checker.run.endings import StoppedError, ending, error_lines
from checker.run.interrupts import terminable

_PROGRAM = "python -m checker"


def _print_version(context: click.Context, _: click.Parameter, is_given: bool) -> None:
    if is_given and not context.resilient_parsing:
        from checker.run.version import tidemark_version

        print(f"tidemark {tidemark_version()}")
        context.exit()


app = PluginGroup(
    "Check executable specs: explore every reachable state and show the shortest counterexamples.\n\n"
    "`COMMAND --help` describes each command.",
    [
        CommandEntry(
            "list",
            "List specs, or one with its scenarios.",
            "checker.cli.list:list_specs",
        ),
        CommandEntry("init", "Write a first spec with its tests and a workflow.", "checker.cli.init:init"),
        CommandEntry("run", "Explore every reachable state and check the properties.", "checker.cli.run:run"),
        CommandEntry("table", "Compute the families' tables of guarantees, by settings.", "checker.cli.table:table"),
        CommandEntry("graph", "Draw every state of a small scenario.", "checker.cli.graph:graph"),
        CommandEntry("show", "Show a saved counterexample, or a known bug.", "checker.cli.show:show"),
        CommandEntry("explore", "Step through a spec in the browser.", "checker.cli.explore:explore"),
        CommandEntry("prove", "Prove invariants with Z3, or search for short violations.", "checker.cli.prove:prove"),
        CommandEntry("mutate", "Make small changes to a spec; report which are detected.", "checker.cli.mutate:mutate"),
        CommandEntry("validate", "Check whether a spec allows recorded logs.", "checker.cli.validate:validate"),
        CommandGroup(
            "Show or clear the cache of machine code.",
            [
                CommandEntry(
                    "show", "Show the folder and the size of the cache of machine code.", "checker.cli.cache:show"
                ),
                CommandEntry("clear", "Remove all machine code from the cache.", "checker.cli.cache:clear"),
            ],
            name="cache",
        ),
    ],
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Show the version and exit.",
        )
    ],
    # The commands of a group inherit the names of this option.
    context_settings={"help_option_names": ["-h", "--help"]},
)


EXIT_WRONG_INPUT, EXIT_STOPPED = UserError.exit_status, StoppedError.exit_status

_LONGEST_USAGE = 1_000
"""The characters of the longest message about a wrong command line."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Every end of the process gets its status here: the status of the command, or that of the exception that ended it. A
    mistake of the user is one sentence, a mistake of the project a sentence that names a file with the report. Status 1
    is a verdict, and comes from a command only.
    """
    try:
        return _main(sys.argv[1:] if arguments is None else arguments)
    except BaseException as error:
        # Code of a spec can close the standard streams, or take away what the reports of errors need: no module can be
        # imported, and no stream written. Python would end with status 1.
        with contextlib.suppress(OSError):
            os.write(2, _LAST_WORDS.format(type(error).__name__).encode())
        return EXIT_INTERNAL


_LAST_WORDS = (
    "internal error: {} while the command ended, not a verdict. Code of a spec or mapping may have changed the "
    "interpreter: its streams, sys.path or the limit of recursion\n"
)


def _main(given: list[str]) -> int:
    allow_nested_calls()
    for name in ("stdout", "stderr"):
        # Python has no stream for a closed one; the exit status still is the answer.
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - open until the process ends
        elif isinstance(getattr(sys, name), io.TextIOWrapper):
            # A terminal or pipe of another encoding gets escapes instead of an error.
            getattr(sys, name).reconfigure(errors="backslashreplace")
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
        with app.make_context(_PROGRAM, current_words(arguments) or ["--help"]) as context:
            return int(app.invoke(context))
    except click.exceptions.Exit as done:
        # A help text was printed.
        return done.exit_code
    except click.UsageError as error:
        _print_error(_usage_text(error))
        return EXIT_WRONG_INPUT
    except KeyboardInterrupt:
        _print_error("", "interrupted")
        return EXIT_STOPPED
    except BrokenPipeError:
        raise
    except BaseException as error:
        end = ending(error)
        for line in error_lines(end):
            _print_error(line, "")
        return end.exit_status


def _print_error(message: str, label: str = "error: ") -> None:
    """Print a message on standard error, if it can be written: the exit status matters more."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(styled_lines.break_text(printable_lines(f"{label}{message}"), sys.stderr), file=sys.stderr, flush=True)


def _discard(stream: TextIO) -> None:
    """Let Python flush a stream that cannot be written to nowhere when the process ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _usage_text(error: click.UsageError) -> str:
    command = error.ctx.command_path if error.ctx is not None else _PROGRAM
    # The message repeats a word of the command line, of any length.
    message = shortened(" ".join(error.format_message().split()).rstrip("."), _LONGEST_USAGE)
    return f"{message}; {command} --help lists the options"
