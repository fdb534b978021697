"""Output files: each is written as a whole, and none of them is an input or another output."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from checker.data_files import open_data
from checker.errors import InputError, OutputError
from traces.storage import Location, RemotePath

STANDARD_OUTPUT = "-"

_PAGE_MARK = b'<meta name="generator" content="Tidemark">'
"""What the head of every page has; it is within the first bytes."""

_HEAD_BYTES = 1_000


class AtomicFile:
    """A text file that appears as a whole when it is closed.

    If the program ends before, an older file of this name keeps its content. Two commands that write one file never mix
    their texts. A device or a pipe is written directly.
    """

    def __init__(self, path: Location):
        self._path, self._parts = path, list[str]()
        self._is_open = True

    def write(self, text: str) -> None:
        """Add a text."""
        self._parts.append(text)

    def close(self) -> None:
        """Write the file; raise OutputError if that fails."""
        if self._is_open:
            self._is_open = False
            write_whole(self._path, "".join(self._parts))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # Half of a file would look like a whole one.
        if kind is None:
            self.close()


def open_for_writing(path: Location) -> AtomicFile:
    """Return a new text file, and create its folder if necessary; raise OutputError if it cannot be written."""
    if isinstance(path, RemotePath):
        return AtomicFile(path)
    # Imported here and below: most runs write no file, and start in less time without it.
    import tempfile

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        with suppress(FileNotFoundError):
            # Links that name each other are an error of the system.
            path.stat()
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(0, "permission denied")
        if _is_replaceable(path):
            # Shows that a file can be created there. A link keeps its place, and the file that it names is written.
            tempfile.TemporaryFile(dir=path.resolve().parent).close()
    except OSError as error:
        raise OutputError(f"the file {path} cannot be written: {error.strerror}") from None
    return AtomicFile(path)


def require_own_page(path: Path) -> None:
    """Raise InputError if a page that a command names by itself, such as `index.html`, would replace another's file.

    A file that the user names on the command line is replaced without a question.
    """
    if not path.is_file():
        return
    with open_data(path) as stream:
        if _PAGE_MARK not in stream.read(_HEAD_BYTES):
            raise InputError(f"{path} was not written by Tidemark: name another folder, or move the file")


def write_whole(path: Location, text: str) -> None:
    """Write a text file, or leave the old one unchanged and raise OutputError."""
    import tempfile

    try:
        if isinstance(path, RemotePath) or not _is_replaceable(path):
            path.write_text(text, encoding="utf-8", errors="replace")
            return
        # A link keeps its place, and the file that it names is replaced.
        target = path.resolve()
        descriptor, name = tempfile.mkstemp(prefix=".tidemark-", dir=target.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as stream:
                stream.write(text)
            os.chmod(name, _mode_of(target))
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise OutputError(f"the file {path} cannot be written: {error.strerror}") from None


def _is_replaceable(path: Path) -> bool:
    return not path.exists() or path.is_file()


def _mode_of(path: Path) -> int:
    """Return the permissions of a file, or those of a new one."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def check_outputs(outputs: Mapping[str, Location | str | None], inputs: Iterable[Location]) -> None:
    """Raise InputError if an output is an input of the command or another output; `outputs` are named by options."""
    read = {_place(path) for path in inputs if not isinstance(path, Path) or path.exists()}
    written: dict[object, str] = {}
    for option, name in outputs.items():
        if name is None or str(name) in ("", STANDARD_OUTPUT):
            continue
        path = Path(name) if isinstance(name, str) else name
        place = _place(path)
        if place in read and (isinstance(path, RemotePath) or path.is_file()):
            raise InputError(f"{option} {path} is an input of this command: name another file")
        if place in written and (isinstance(path, RemotePath) or not _is_device(path)):
            raise InputError(f"{written[place]} and {option} name the same file, {path}: name two files")
        written[place] = option


def _place(path: Location) -> object:
    """Return what is equal for equal files: links to one file are one place, also hard links."""
    if isinstance(path, RemotePath):
        # Options of the store, such as its region, do not make another file.
        return path.root, path.path
    return (path.stat().st_dev, path.stat().st_ino) if path.exists() else os.path.realpath(path)


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()
