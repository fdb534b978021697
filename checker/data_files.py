"""The one door for data files, which others may have written: regular files of a limited size.

A pipe without a writer would block for ever, and a device has no end. `tests/architecture/test_data_files.py` finds
modules that open a file otherwise.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path

MOST_BYTES = 256 << 20
"""The bytes of the largest data file that is read as a whole."""


def open_data(path: Path, most_bytes: int | None = None) -> io.FileIO:
    """Open a data file for reading; raise OSError if it is not a regular file, or has more than `most_bytes`."""
    # Without O_NONBLOCK, opening a pipe would block.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is a device or a pipe, not a regular file", str(path))
        if most_bytes is not None and found.st_size > most_bytes:
            raise OSError(errno.EFBIG, f"it has more than {most_bytes:,} bytes", str(path))
        return io.FileIO(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_data(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the content of a data file; raise OSError as `open_data`."""
    with open_data(path, most_bytes) as stream:
        # A file of /proc has no size before it is read, and a log may grow.
        content: bytes | None = io.BufferedReader(stream).read(most_bytes)
    if content is None:
        # A regular file of the kernel, such as /proc/kmsg, may have nothing to read now.
        raise OSError(errno.EAGAIN, "it has no content now", str(path))
    return content


def read_data_text(path: Path) -> str:
    """Return the text of a data file; raise OSError as `open_data`, and ValueError if it is not text in UTF-8."""
    return utf8_text(read_data(path))


def utf8_text(content: bytes) -> str:
    """Return the text of a data file's content; raise ValueError, with a sentence, if it is not text in UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not text in UTF-8, see byte {error.start}") from None


def reason_of(error: Exception) -> str:
    """Return why a data file cannot be read, without the number and the path that Python adds."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def lock_opener(path: str, flags: int) -> int:
    """Open a lock file for `open`; if it is new, only this user can use it. A pipe in its place is an error."""
    # Without O_NONBLOCK, opening a pipe would block.
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
