"""Options of `run` that have become commands. They still work until the next release, with a line on standard error."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

_LAST = "FILE"
"""Instead of an option: its value becomes the last argument."""

_SUCCESSORS = {
    "--simulate": ("simulate", {"--simulate": "--traces", "--out": "--counterexamples"}),
    "--table": ("table", {"--table": ""}),
    "--graph": ("graph", {"--graph": _LAST}),
}
"""By the option of `run`: the command that it has become, and the new names of options; "" for one without a value."""


def current_words(words: Sequence[str]) -> list[str]:
    """Return the words of a command line as they are written today, after a hint on standard error if they differ."""
    names = [word.partition("=")[0] for word in words]
    old = next((name for name in names if name in _SUCCESSORS), None)
    if names[:1] != ["run"] or old is None:
        return list(words)
    command, renamed = _SUCCESSORS[old]
    today, last, rest = [command], [], iter(words[1:])
    for word in rest:
        name, has_value, value = word.partition("=")
        option = renamed.get(name, name)
        if option == _LAST:
            last = [value] if has_value else [value for value in [next(rest, "")] if value]
        elif option:
            today.append(f"{option}{has_value}{value}")
    print(f"hint: this is now: python -m checker {shlex.join([*today, *last])}", file=sys.stderr)
    return [*today, *last]
