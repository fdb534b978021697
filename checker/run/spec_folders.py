"""The families of specs in a folder: files outside packages, outermost packages, and the packages below these.

An outermost package is a family of its own modules only. A package below it is a family with its sub-packages.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_NO_SPECS = ("test_", "conftest.", "_", ".")
"""Prefixes of the names of files and folders without specs."""


def family_paths(path: Path) -> Iterator[Path]:
    """Iterate over the families at and below a path, as paths of files and package folders; nothing is imported."""
    if not path.is_dir():
        yield path
        return
    entries = [entry for entry in sorted(path.iterdir()) if not entry.name.startswith(_NO_SPECS)]
    files = [entry for entry in entries if entry.suffix == ".py"]
    if not is_package(path):
        yield from files
    elif files:
        yield path
        if is_package(path.parent):
            return
    for entry in entries:
        if entry.is_dir():
            yield from family_paths(entry)


def package_root(path: Path) -> Path:
    """Return the folder from which a file or a package is imported: the first one above it that is no package."""
    return next(parent for parent in path.resolve().parents if not is_package(parent))


def is_package(folder: Path) -> bool:
    """Return whether a folder is a package."""
    return (folder / "__init__.py").is_file()
