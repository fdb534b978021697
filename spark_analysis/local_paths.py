"""Paths for Spark's readers, which take `*`, `?`, brackets, braces and backslashes for patterns."""

from __future__ import annotations

import re
from pathlib import Path

_SPECIAL = re.compile(r"[][{}*?\\]")


def literal_path(path: Path | str) -> str:
    """Return the text with which a reader of Spark reads this path and no other one."""
    return _SPECIAL.sub(r"\\\g<0>", str(path))
