"""The starting point that `init` writes: a spec with scenarios, a test, a workflow, and the settings of pytest."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from checker.errors import InputError
from checker.output.output_files import open_for_writing

_SETTINGS = "pyproject.toml"

_FILES = {
    "specs/lease.py": "a spec with its scenarios",
    "tests/test_lease.py": "unit tests of the spec",
    ".github/workflows/specs.yml": "a workflow of GitHub Actions",
    _SETTINGS: "the settings of pytest",
}
"""What each file is, by its path in the new project. Its text is in the folder `starting_point`."""


def start_project(folder: Path) -> list[str]:
    """Write the starting point into a folder, and return the lines to print.

    An existing `pyproject.toml` stays as it is, and the lines name the settings to add. If any other file exists,
    InputError is raised and nothing is written.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: name a folder")
    has_settings = _is_there(folder / _SETTINGS)
    paths = {name: folder / name for name in _FILES if not (name == _SETTINGS and has_settings)}
    for path in paths.values():
        if _is_there(path):
            raise InputError(f"{path} exists, and init replaces no file: name a new folder, or move the file")
    # All files are opened before one is written: each of them can be created.
    opened = {name: open_for_writing(path) for name, path in paths.items()}
    width = max(len(str(path)) for path in paths.values())
    lines = []
    for name, file in opened.items():
        with file:
            file.write(_text_of(name))
        lines.append(f"wrote {str(paths[name]).ljust(width)}  {_FILES[name]}")
    if has_settings:
        lines += ["", f"{folder / _SETTINGS} exists and is unchanged. Add these settings to it:", ""]
        lines += [f"    {line}" for line in _text_of(_SETTINGS).splitlines()]
    return [*lines, "", *_next_steps(folder)]


def _is_there(path: Path) -> bool:
    """Return whether a path has an entry, also a link that leads nowhere."""
    return path.exists() or path.is_symlink()


def _text_of(name: str) -> str:
    text = files("checker.execution") / "starting_point" / f"{Path(name).name}.txt"
    return text.read_text(encoding="utf-8")


def _next_steps(folder: Path) -> list[str]:
    enter = [] if folder == Path(".") else [f"cd {folder}"]
    steps = [*enter, "python -m checker run specs/lease.py", "pytest"]
    return ["next:", *(f"  {step}" for step in steps)]
