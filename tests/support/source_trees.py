"""The syntax trees of the project's modules, each parsed once in a process."""

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).parents[2]


@functools.cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def modules(*packages):
    """Return the modules of packages, by their names."""
    return [path for package in packages for path in sorted((ROOT / package).rglob("*.py"))]
