"""Options of `run` that have become commands. They still work until the next release, with a line on standard error."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class _Successor:
    """The command that an option of `run` has become.

    `option`: the option that takes its value; None: the option has no value. `others`: new names of other options.
    """

    command: str
    option: str | None = None
    others: Mapping[str, str] = field(default_factory=dict)


_SUCCESSORS = {
    "--simulate": _Successor("simulate", "--traces", {"--out": "--counterexamples"}),
}


def current_words(words: Sequence[str]) -> list[str]:
    """Return the words of a command line as they are written today, after a hint on standard error if they differ."""
    names = [word.partition("=")[0] for word in words]
    successor = next((_SUCCESSORS[name] for name in names if name in _SUCCESSORS), None)
    if names[:1] != ["run"] or successor is None:
        return list(words)
    today = [successor.command, *(part for word in words[1:] for part in _renamed(word, successor))]
    print(f"hint: this is now: python -m checker {shlex.join(today)}", file=sys.stderr)
    return today


def _renamed(word: str, successor: _Successor) -> list[str]:
    """Return an option of `run` as an option of its successor; an option that the command replaces is no word."""
    name, has_value, value = word.partition("=")
    option = successor.option if name in _SUCCESSORS else successor.others.get(name, name)
    return [] if option is None else [f"{option}{has_value}{value}"]
