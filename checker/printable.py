"""Text that is safe to print, whatever file, name or docstring it comes from.

A control character could move the cursor or hide a line, and a line break could forge a line of the output. A runner of
GitHub executes a line that begins with `::`, and a line with `##[` anywhere (`ActionCommand.cs` of actions/runner).
"""

from __future__ import annotations

import re

# The control characters except the tab, separators of lines, changes of the direction of writing, and surrogates.
_UNSAFE = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_UNSAFE_IN_LINES = re.compile(f"(?!\n){_UNSAFE.pattern}")


def printable(text: str) -> str:
    r"""Return a text as part of one line: an escape such as `\x1b` replaces each character that is unsafe to print."""
    return text if text.isprintable() else _UNSAFE.sub(_escape, text)


def printable_lines(text: str) -> str:
    """Return a text of several lines with the same escapes, and without commands for a runner of GitHub."""
    safe = text if text.isprintable() else _UNSAFE_IN_LINES.sub(_escape, text)
    if "::" not in safe and "##[" not in safe:
        return safe
    return "\n".join(map(_without_command, safe.split("\n")))


def shortened(text: str, most: int) -> str:
    """Return a text of at most `most` characters; dots stand for what is left out in the middle."""
    if len(text) <= most:
        return text
    half = (most - 3) // 2
    return f"{text[:half]}...{text[-half:]}"


def quantity(count: int, thing: str) -> str:
    """Return a count of things with its noun: `1 state`, `2,000 states`, `3 copies`."""
    if count == 1:
        return f"1 {thing}"
    return f"{count:,} {thing[:-1]}ies" if re.search("[^aeiou]y$", thing) else f"{count:,} {thing}s"


def _without_command(line: str) -> str:
    if line.lstrip().startswith("::"):
        line = line.replace("::", ": :", 1)
    return line.replace("##[", "## [")


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
