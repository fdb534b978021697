"""The families of specs in a folder: files outside packages, outermost packages, and the packages below these.

An outermost package is a family of its own modules only. A package below it is a family with its sub-packages.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from checker.errors import InputError
from checker.run import registry

_NO_SPECS = ("test_", "conftest.", "_", ".")
"""Prefixes of the names of files and folders without specs."""


def family_paths(path: Path) -> Iterator[Path]:
    """Iterate over the families at and below a path, as paths of files and package folders; nothing is imported."""
    if not path.is_dir():
        yield path
        return
    entries = [entry for entry in sorted(path.iterdir()) if not entry.name.startswith(_NO_SPECS)]
    files = [entry for entry in entries if entry.suffix == ".py"]
    if not _is_package(path):
        yield from files
    elif files:
        yield path
        if _is_package(path.parent):
            return
    for entry in entries:
        if entry.is_dir():
            yield from family_paths(entry)


def load(path: Path) -> registry.Family:
    """Return the family at a path of `family_paths`, which may have no specs; raise UserError if the import fails."""
    if not path.is_dir():
        return registry.load_any_file(path)
    root = next(parent for parent in path.resolve().parents if not _is_package(parent))
    dotted = ".".join(path.resolve().relative_to(root).parts)
    # The package is imported under its full name, since its modules import each other by that name.
    sys.path.insert(0, str(root))
    try:
        family = registry.load_package(dotted)
    finally:
        sys.path.remove(str(root))
    found = sys.modules[dotted].__file__
    if found is None or Path(found).resolve().parent != path.resolve():
        raise InputError(f"{path} cannot be imported: another package has the name {dotted}: {found}")
    return family


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").is_file()
