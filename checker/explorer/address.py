"""The address of a state: the constants, the initial state and the steps, as the query of a URL.

    ?c.replicas=2&i=1&s=become_leader:b1&s=fetch:b2:b1

- `c.NAME=VALUE`: a constant that differs from the base, written as for `--set`.
- `i=N`: the number of the initial state, from 1 on. Default: 1.
- `s=CODE`: a step, once for each step. A code is the action and the texts of its arguments, separated by `:`. A
  backslash quotes a `:` or a backslash in a text. `action:b1:2` with one parameter is the second of the enabled
  instances of which the arguments have equal texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import quote, urlencode

from checker.errors import InputError

MOST_STEPS = 1_000
"""The most steps of an address. Browsers and the server accept lines of 64 kB."""

_CONSTANT = "c."
_PART = re.compile(r"(?:[^:\\]|\\.)*", re.DOTALL)


@dataclass(frozen=True)
class Address:
    """The constants that differ from the base, the number of the initial state, and the codes of the steps."""

    settings: tuple[tuple[str, str], ...] = ()
    initial: int = 1
    codes: tuple[str, ...] = ()

    @classmethod
    def of(cls, query: Iterable[tuple[str, str]]) -> Address:
        """Return the address that the pairs of a query describe; other keys are ignored.

        Raises InputError for a wrong number, and for too many steps.
        """
        settings, initial, codes = {}, 1, []
        for key, value in query:
            if key == "s":
                codes.append(value)
            elif key == "i":
                initial = number_in(value, "i", 1, 1_000_000)
            elif key.startswith(_CONSTANT):
                settings[key.removeprefix(_CONSTANT)] = value
        if len(codes) > MOST_STEPS:
            raise InputError(f"the address has {len(codes):,} steps, over {MOST_STEPS:,}")
        return cls(tuple(settings.items()), initial, tuple(codes))

    def query(self, **more: str | int) -> str:
        """Return the query, with `?`, and with more pairs at its end; "." if there is none, which is the page."""
        pairs: list[tuple[str, str | int]] = [(f"{_CONSTANT}{name}", value) for name, value in self.settings]
        if self.initial != 1:
            pairs.append(("i", self.initial))
        pairs += [("s", code) for code in self.codes]
        text = urlencode([*pairs, *more.items()], safe=":(),", quote_via=quote)
        return f"?{text}" if text else "."

    def then(self, *codes: str) -> Address:
        """Return the address after more steps."""
        return replace(self, codes=(*self.codes, *codes))

    def until(self, steps: int) -> Address:
        """Return the address of the state after the first steps."""
        return replace(self, codes=self.codes[:steps])


def number_in(text: str, name: str, least: int, most: int) -> int:
    """Return the number that a text of a query denotes; raise InputError if it is none between two bounds."""
    if re.fullmatch(r"[0-9]{1,9}", text) and least <= int(text) <= most:
        return int(text)
    raise InputError(f"{name} must be a number from {least:,} to {most:,}, not {text[:40]!r}")


def code_of_texts(action: str, texts: Iterable[str], ordinal: int = 1) -> str:
    """Return the code of a step; `ordinal` is its number among those with equal texts."""
    quoted = [re.sub(r"([:\\])", r"\\\1", text) for text in texts]
    return ":".join([action, *quoted, *([str(ordinal)] if ordinal > 1 else [])])


def parts_of_code(code: str) -> list[str]:
    """Return the action of a code and the texts after it."""
    parts, position = [], 0
    while True:
        match = _PART.match(code, position)
        assert match is not None
        parts.append(re.sub(r"\\(.)", r"\1", match.group(), flags=re.DOTALL))
        position = match.end()
        if position >= len(code) or code[position] != ":":
            return parts
        position += 1
