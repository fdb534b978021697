"""Temporary folders, of which those of killed processes are removed later.

A process holds a lock on each of its folders. The lock ends with the process and the processes that it forked, however
they end. A folder without a lock is therefore removed when any process makes the next folder.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_NEW = "tidemark-new-"
"""The prefix of a folder that has no lock yet."""


@contextmanager
def scratch_folder(name: str) -> Iterator[Path]:
    """Yield a new folder, which is removed at the end; remove the folders of killed processes before.

    `name` describes the content, such as `states`. Raises OSError if the folder cannot be created.
    """
    remove_abandoned_folders()
    created = Path(tempfile.mkdtemp(prefix=_NEW))
    folder = created.with_name(f"{_prefix()}{name}-{created.name.removeprefix(_NEW)}")
    process, lock = os.getpid(), os.open(created, os.O_RDONLY)
    try:
        # A file system without locks: the folder is then removed by this process alone.
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        created.rename(folder)
        yield folder
    finally:
        # A forked process may run this code too. The folder belongs to the process that created it.
        if os.getpid() == process:
            shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def remove_abandoned_folders() -> None:
    """Remove the folders of this user without a process that holds a lock on them."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_prefix()}*"):
        with suppress(OSError):
            _remove_if_abandoned(folder)


def _remove_if_abandoned(folder: Path) -> None:
    # The folder for temporary files is shared: another user may have made a folder or a link of this name.
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(lock).st_uid == os.getuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def _prefix() -> str:
    # Other machines may share the folder for temporary files, but not the locks.
    return f"tidemark-scratch-{os.uname().nodename}-{os.getuid()}-"
