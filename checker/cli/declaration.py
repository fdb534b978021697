"""Commands that are declared as functions: the annotations of the parameters are the options and arguments.

    def prove(target: Annotated[str, argument("SPEC", help="A spec.")],
              depth: Annotated[int | None, option(min=1, metavar="N", help="Maximum k.")] = None) -> int:
        \"""Prove invariants with Z3.\"""

`declare_command` turns the function into a command of Click. Its types are str, int, float, bool (a flag), Path,
Location (a path or a URL) and Literal (choices), each of them also with `| None`, and lists of them: a repeatable
option, or all further arguments.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
import math
import operator
import types
import typing
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click
from click.core import ParameterSource

from checker.errors import InputError, nearest_names
from traces.storage import Location, location_of


@dataclass(frozen=True)
class DeclaredOption:
    """An option: its name if it is not that of the parameter, its metavariable, help text, limits, value if alone."""

    name: str
    metavar: str | None
    help: str
    min: Any
    max: Any
    alone: str


@dataclass(frozen=True)
class DeclaredArgument:
    """A positional argument: its metavariable and help text."""

    metavar: str
    help: str


def option(
    name: str = "",
    *,
    help: str,
    metavar: str | None = None,
    min: float | None = None,
    max: float | None = None,
    alone: str = "",
) -> DeclaredOption:
    """Declare an option; default of the name: `--` and the name of the parameter.

    `alone`: the value of the option if it has none. Another value then follows a `=`, as in `--trace=full`.
    """
    return DeclaredOption(name, metavar, help, min, max, alone)


def argument(metavar: str, *, help: str) -> DeclaredArgument:
    """Declare a positional argument."""
    return DeclaredArgument(metavar, help)


@dataclass(frozen=True)
class CommandEntry:
    """A command of which the module is imported when it is chosen.

    `summary`: the first line of the function's docstring. `place`: the function, as `package.module:function`.
    """

    name: str
    summary: str
    place: str

    @functools.cached_property
    def command(self) -> click.Command:
        """The command; its module is imported at the first use."""
        module, _, function = self.place.partition(":")
        return declare_command(getattr(importlib.import_module(module), function), self.name)


class CommandGroup(click.Group):
    """A group of commands and groups. Its help text imports no command that is a `CommandEntry`."""

    def __init__(
        self,
        help: str,
        commands: Iterable[CommandEntry | Callable[..., int | None] | click.Command],
        *,
        name: str | None = None,
        **more: Any,
    ):
        super().__init__(name, help=help, no_args_is_help=False, **more)
        self._entries: dict[str, CommandEntry] = {}
        for command in commands:
            if isinstance(command, CommandEntry):
                self._entries[command.name] = command
            else:
                self.add_command(command if isinstance(command, click.Command) else declare_command(command))

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of their declaration."""
        return [*self._entries, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, or None if no command has the name."""
        entry = self._entries.get(cmd_name)
        return super().get_command(ctx, cmd_name) if entry is None else entry.command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name; raise UsageError, with the most similar name, if none has it."""
        if self.get_command(ctx, args[0]) is None:
            close = nearest_names(args[0], self.list_commands(ctx))
            hint = f" Did you mean {close[0]!r}?" if close else self.hint_on_unknown_commands()
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def hint_on_unknown_commands(self) -> str:
        """Return a sentence to end the message about a name that is like no command."""
        return ""

    def summaries(self) -> dict[str, str]:
        """Return the summary of each command by its name."""
        return {name: entry.summary for name, entry in self._entries.items()} | {
            name: summary_of(command) for name, command in self.commands.items()
        }

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names and summaries of the commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries().items()))


def summary_of(command: click.Command) -> str:
    """Return the first line of a command's help text."""
    return (command.help or "").partition("\n")[0]


def declare_command(function: Callable[..., int | None], name: str | None = None) -> click.Command:
    """Return the command of a function; its name is that of the function, unless another is given.

    The command returns the exit status; a function that returns None ends with status 0.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    parameters = [
        _parameter(parameter, hints[parameter.name]) for parameter in inspect.signature(function).parameters.values()
    ]

    def call(**values: Any) -> int:
        # Click collects repeated values in tuples.
        given = {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
        return function(**given) or 0

    return _DeclaredCommand(name or function.__name__, callback=call, params=parameters, help=inspect.getdoc(function))


def refuse_options(reason: str, *, but: Collection[str] = ()) -> None:
    """Raise InputError for an option of the command line that is not among the names `but`.

    A function calls it where it would ignore options. `reason` completes the sentence "--depth: ".
    """
    context = click.get_current_context()
    for parameter in context.command.params:
        name = parameter.opts[0]
        given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if given and isinstance(parameter, click.Option) and name not in but:
            raise InputError(f"{name}: {reason}")


class _DeclaredCommand(click.Command):
    """A command with a help text that describes the arguments as well as the options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give an option that stands alone its value: Click would take the next argument for it.

        Raises UsageError for a value that follows such an option without a `=`.
        """
        alone = {
            name: option
            for option in self.params
            if isinstance(option, _DeclaredOption) and option.alone
            for name in option.opts
        }
        for name, following in itertools.pairwise(args):
            if name in alone and following in getattr(alone[name].type, "choices", ()):
                raise click.UsageError(f"{name} {following}: the value of {name} follows a =: {name}={following}", ctx)
        return super().parse_args(ctx, [f"{arg}={alone[arg].alone}" if arg in alone else arg for arg in args])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        arguments = [parameter.help_record for parameter in self.params if isinstance(parameter, _DescribedArgument)]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        super().format_options(ctx, formatter)


class _DescribedArgument(click.Argument):
    """An argument with a help text, whose value is not empty."""

    def __init__(self, name: str, declared: DeclaredArgument, **more: Any):
        super().__init__([name], **more)
        self.help_record = (declared.metavar, f"{declared.help}{'  [required]' if self.required else ''}")

    def consume_value(self, ctx: click.Context, opts: Any) -> tuple[Any, ParameterSource]:
        """Return the value and its source; raise BadParameter for an empty value of the command line."""
        return _with_text(self, *super().consume_value(ctx, opts), ctx)


class _DeclaredOption(click.Option):
    """An option whose value is not empty. `alone`: its value if it has none on the command line, or ""."""

    def __init__(self, names: list[str], *, alone: str, **more: Any):
        super().__init__(names, **more)
        self.alone = alone

    def consume_value(self, ctx: click.Context, opts: Any) -> tuple[Any, ParameterSource]:
        """Return the value and its source; raise BadParameter for an empty value of the command line."""
        return _with_text(self, *super().consume_value(ctx, opts), ctx)


def _with_text(
    parameter: click.Parameter, value: Any, source: ParameterSource, context: click.Context
) -> tuple[Any, ParameterSource]:
    """Return a value and its source; raise BadParameter for an empty value of the command line.

    An empty value is most often a variable of a shell that is not set. Were `--require "$GUARANTEES"` accepted without
    a value, a build would pass without a check.
    """
    if source is ParameterSource.COMMANDLINE and "" in (value if isinstance(value, (list, tuple)) else (value,)):
        raise click.BadParameter("The value is empty.", context, parameter)
    return value, source


def _parameter(parameter: inspect.Parameter, hint: Any) -> click.Parameter:
    """Return the option or argument of a parameter with the hint `Annotated[type, option(...) or argument(...)]`."""
    kind, declared = typing.get_args(hint)[:2]
    kind = _without_none(kind)
    is_repeated = typing.get_origin(kind) is list
    if is_repeated:
        (kind,) = typing.get_args(kind)
    is_required = parameter.default is inspect.Parameter.empty
    more: dict[str, Any] = {"required": True} if is_required else {"default": parameter.default}
    if isinstance(declared, DeclaredArgument):
        metavar = f"{declared.metavar if is_required else f'[{declared.metavar}]'}{'...' if is_repeated else ''}"
        more |= {"metavar": metavar, "nargs": -1 if is_repeated else 1}
        return _DescribedArgument(parameter.name, declared, type=_click_type(kind), **more)
    metavar = declared.metavar
    if typing.get_origin(kind) is Literal:
        metavar = f"{'=' if declared.alone else ''}<{'|'.join(typing.get_args(kind))}>"
    name = declared.name or f"--{parameter.name.replace('_', '-')}"
    return _DeclaredOption(
        [parameter.name, name],
        type=_click_type(kind, declared.min, declared.max),
        # Not False: Click would then let the last required option of a command line have no value.
        is_flag=True if kind is bool else None,
        multiple=is_repeated,
        help=declared.help,
        metavar=metavar,
        show_default=parameter.default not in ("", None) and kind is not bool,
        alone=declared.alone,
        **more,
    )


def _without_none(kind: Any) -> Any:
    """Return a type without `| None`."""
    if typing.get_origin(kind) not in (types.UnionType, typing.Union):
        return kind
    inner = tuple(part for part in typing.get_args(kind) if part is not types.NoneType)
    return functools.reduce(operator.or_, inner)


class _LocationType(click.ParamType):  # type: ignore[type-arg]
    """A path or a URL."""

    name = "location"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Location:
        return location_of(value) if isinstance(value, str) else value


class _NumberRange(click.FloatRange):
    """A number in a range. `nan` is none: no comparison excludes it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


def _click_type(kind: Any, least: Any = None, most: Any = None) -> Any:
    """Return the type with which Click reads a value."""
    if typing.get_origin(kind) is Literal:
        return click.Choice(typing.get_args(kind))
    if kind is Path:
        return click.Path(path_type=Path)
    if kind == Location:
        return _LocationType()
    if kind is float:
        return _NumberRange(least, most)
    return kind if least is None and most is None else click.IntRange(least, most)
