"""Wrong command lines, derived from the declared options of every command: no value, a wrong value, a wrong place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from checker.cli.app import app
from checker.cli.plugins import PluginGroup
from tests.cli.conftest import TOY

assert isinstance(app, PluginGroup)


@dataclass(frozen=True)
class CommandLine:
    """A command line, the exit status that it must have, and a text that its error must contain."""

    words: tuple[str, ...]
    status: int
    says: str = ""

    def __str__(self) -> str:
        return " ".join(word if len(word) < 30 else f"{word[:12]}..{len(word)}" for word in self.words).strip()


BASES = {
    ("list",): (TOY,),
    ("init",): ("{folder}/started",),
    ("run",): (f"{TOY}/counter/reaches_limit", "--engine", "python"),
    ("table",): (TOY.replace("toy.py", "cli/table_toy.py"), "--engine", "python", "--workers", "1"),
    ("graph",): (f"{TOY}/counter/reaches_limit", "{folder}/graph.dot", "--engine", "python"),
    ("show",): ("{trace}",),
    ("explore",): (f"{TOY}/counter/reaches_limit",),
    ("prove",): (f"{TOY}/counter/reaches_limit",),
    ("mutate",): (f"{TOY}/counter/reaches_limit",),
    ("simulate",): (f"{TOY}/counter/reaches_limit", "--out", "{folder}/walks"),
    ("report",): ("{folder}",),
    ("validate",): (f"{TOY}/counter/reaches_limit", "{log}", "--mapping", "{mapping}"),
    ("traces", "replay"): ("{folder}", "--walk", "1"),
    ("cache", "show"): (),
    ("cache", "clear"): (),
    ("advise",): ("{properties}",),
    ("audit",): ("{partition}",),
    ("cluster",): ("status", "{folder}/none"),
    ("demo",): ("P7", "--no-browser", "--out", "{folder}/demo"),
    ("conform",): ("--list",),
    ("experiment",): ("p3-lost-response",),
    ("record",): ("{folder}/log.jsonl",),
    ("pages",): ("{folder}",),
}
"""The arguments of each command that are right. Names in braces are files that the test writes."""

WRONG_NUMBERS = ("x", "1.5.2", "-1000000000000", "0x10", "1e", "--", "1 2", "\x1b[31m", "∞", "[1]", "nan,")
WRONG_CHOICES = ("nothing", "\x1b[2J", "all ", "-", "a\nb", "\ud800", "x" * 5000)
WRONG_TEXTS = {
    "NAME=VALUE": ("=", "nothing=1", "\x1b[2J=1", "\ud800=1", "limit"),
    "NAME=weak|strong|none": ("=", "nothing=weak", "increment=", "increment=\x1b", "increment=weak=weak"),
    "NAME": ("nothing", "\x1b[2J", "\ud800"),
    "NAME=V,V,...": ("=", "nothing=1,2", "limit=", "limit=,", "limit=1,x", "limit"),
    "ACTION=N": ("=", "nothing=1", "increment=", "increment=-1", "increment=x", "increment"),
    "SPEC[/SCENARIO]": ("nothing", "nothing.py", "\x1b[2J"),
    "TIME": ("x", "-1s", "5 parsecs", "\x1b[2J"),
    "SIZE": ("x", "-1G", "0", "5 parsecs", "\x1b[2J"),
    "VERSION": ("x", "-1", "99.9", "\x1b[2J"),
    "NAME,...": ("nothing", ",", "\x1b[2J"),
    "no-loss,...": ("nothing", ",", "no-loss,nothing", "\x1b[2J"),
    "FAULT@N": ("nothing@1", "@", "\x1b[2J"),
    "TOPIC-N": ("nothing", "-", "\x1b[2J"),
    "HOST:PORT": ("nothing", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:99999", ":9092", "\x1b[2J:1"),
}
"""Wrong values of options whose values have a form, by its name."""

UNWRITABLE = ("/dev/null/x.json", "/proc/no/x.json", "{folder}", "{folder}/" + "n" * 300)
UNWRITABLE_FOLDERS = ("/dev/null/x", "/proc/no/x", "{log}", "{folder}/" + "n" * 300)


def commands() -> dict[tuple[str, ...], click.Command]:
    """Return all commands by the words that call them."""
    context = click.Context(app)
    found: dict[tuple[str, ...], click.Command] = {}
    for name in app.list_commands(context):
        command = app.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            inner = click.Context(command)
            found |= {(name, word): command.get_command(inner, word) for word in command.list_commands(inner)}  # type: ignore[misc]
        else:
            found[(name,)] = command
    return found


def wrong_command_lines() -> Iterator[CommandLine]:
    """Yield the wrong command lines of all commands."""
    yield from _without_a_command()
    for words, command in commands().items():
        base = (*words, *BASES[words])
        options = [option for option in command.params if isinstance(option, click.Option)]
        for option in options:
            yield from _wrong_uses(base, option)
        yield from _unknown_options(base, options)
        if any(isinstance(parameter, click.Argument) and parameter.required for parameter in command.params):
            yield CommandLine(words, 2, "Missing argument")
        if all(parameter.nargs != -1 for parameter in command.params):
            yield CommandLine((*base, "one", "more"), 2, "unexpected extra argument")


def _without_a_command() -> Iterator[CommandLine]:
    for word in ("rnu", "RUN", "", "-", "--", "--nonsense", "-x", "run.py", "\x1b[31m", "r" * 10_000, "\ud800"):
        yield CommandLine((word,), 2)
    for group in ("traces", "cache"):
        yield CommandLine((group, "nonsense"), 2, "No such command")


def _unknown_options(base: tuple[str, ...], options: list[click.Option]) -> Iterator[CommandLine]:
    names = {name for option in options for name in option.opts} | {"--help"}
    for name in sorted(names):
        # A letter less, and a letter more.
        for wrong in (name[:-1], f"{name}x", name.upper()):
            if wrong not in names and wrong != "--":
                yield CommandLine((*base, wrong), 2)
    for wrong in ("---", "--=", "--\x1b[31m", "--\n::error::", "-Z"):
        yield CommandLine((*base, wrong), 2)


def _wrong_uses(base: tuple[str, ...], option: click.Option) -> Iterator[CommandLine]:
    name = option.opts[0]
    if option.is_flag:
        yield CommandLine((*base, f"{name}=1"), 2)
        return
    if not getattr(option, "alone", ""):
        yield CommandLine((*base, name), 2, "requires an argument")
    yield CommandLine((*base, f"{name}="), 2, name)
    if isinstance(option.type, click.Choice):
        yield from (CommandLine((*base, f"{name}={value}"), 2, name) for value in WRONG_CHOICES)
    elif isinstance(option.type, (click.IntRange, click.FloatRange)) or option.type in (click.INT, click.FLOAT):
        yield from (CommandLine((*base, f"{name}={value}"), 2, name) for value in WRONG_NUMBERS)
        least = getattr(option.type, "min", None)
        if least is not None:
            yield CommandLine((*base, name, str(least - 1)), 2, name)
        most = getattr(option.type, "max", None)
        if most is not None:
            yield CommandLine((*base, name, str(most + 1)), 2, name)
    elif isinstance(option.type, click.Path) or option.metavar == "FILE|-":
        yield from _wrong_places(base, option)
    elif option.metavar in WRONG_TEXTS and name != "--ignore":
        yield from (CommandLine((*base, f"{name}={value}"), 2) for value in WRONG_TEXTS[option.metavar])


INPUTS = {"--spec", "--from", "--ledger", "--update-docs", "--checkpoint"}
"""Options with the path of something that is read."""


def _wrong_places(base: tuple[str, ...], option: click.Option) -> Iterator[CommandLine]:
    name, metavar = option.opts[0], option.metavar or ""
    if name in INPUTS:
        return
    # `simulate` needs --out, and has one.
    given = tuple(word for word in base if word not in ("--out", "{folder}/walks")) if name == "--out" else base
    places = UNWRITABLE_FOLDERS if metavar == "DIR" else UNWRITABLE if "DIR" not in metavar else UNWRITABLE[:2]
    for place in places:
        yield CommandLine((*given, name, place), 2)


def place_names(words: tuple[str, ...], places: dict[str, Path]) -> list[str]:
    """Return words with the names in braces replaced by paths."""
    found = []
    for word in words:
        for name, path in places.items():
            word = word.replace(f"{{{name}}}", str(path))
        found.append(word)
    return found
