"""The families of specs in a folder: files outside packages, outermost packages, and the packages below these.

An outermost package is a family of its own modules only. A package below it is a family with its sub-packages.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from checker.errors import SpecError

MOST_FILES, _MOST_FOLDERS = 1_000, 2_000
"""The Python files and the folders of the largest folder of specs."""

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


def require_specs_folder(folder: Path) -> int:
    """Return the number of Python files in and below a folder of specs.

    Raises SpecError for another folder, of which no code may run: it is outside the working directory without a mark of
    a project (`pyproject.toml` in it or above it, or `__init__.py` in it), or is too large.
    """
    place = folder.resolve()
    has_mark = is_package(place) or any((above / "pyproject.toml").is_file() for above in (place, *place.parents))
    if not place.is_relative_to(Path.cwd()) and not has_mark:
        raise SpecError(
            f"{folder} is outside the working directory and is no project: its Python files would be imported. "
            "Name a file, go into the folder, or add a pyproject.toml to it"
        )
    files = 0
    # Links to folders are followed, as `family_paths` does.
    for folders, (_, inner, names) in enumerate(os.walk(place, followlinks=True), 1):
        inner[:] = [name for name in inner if not name.startswith(_NO_SPECS)]
        files += sum(name.endswith(".py") and not name.startswith(_NO_SPECS) for name in names)
        if files > MOST_FILES or folders > _MOST_FOLDERS:
            raise SpecError(f"{folder} has too many files and folders for specs: name a smaller folder, or a file")
    return files


def package_root(path: Path) -> Path:
    """Return the folder from which a file or a package is imported: the first one above it that is no package."""
    return next(parent for parent in path.resolve().parents if not is_package(parent))


def is_package(folder: Path) -> bool:
    """Return whether a folder is a package."""
    return (folder / "__init__.py").is_file()
