"""Temporary folders, of which those of killed processes are removed later.

A process holds a lock on each of its folders. The lock ends with the process and the processes that it forked, however
they end. A folder without a lock is therefore removed when any process makes the next folder.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_NEW_SECONDS = 3600.0
"""Age from which an empty folder without a lock is abandoned. A process locks and renames its new folder at once."""


@contextmanager
def scratch_folder(name: str) -> Iterator[Path]:
    """Yield a new folder, which is removed at the end; remove the folders of killed processes before.

    `name` describes the content, such as `states`. Raises OSError if the folder cannot be created.
    """
    remove_abandoned_folders()
    new = _prefix("new")
    created = Path(tempfile.mkdtemp(prefix=new))
    folder = created.with_name(f"{_prefix('scratch')}{name}-{created.name.removeprefix(new)}")
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
    temporary = Path(tempfile.gettempdir())
    for folder in temporary.glob(f"{_prefix('scratch')}*"):
        with suppress(OSError):
            _remove_if_abandoned(folder)
    # A process that was killed between the creation and the renaming of its folder leaves an empty one.
    for folder in temporary.glob(f"{_prefix('new')}*"):
        with suppress(OSError):
            if time.time() - folder.lstat().st_mtime > _NEW_SECONDS:
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


def _prefix(kind: str) -> str:
    # Other machines may share the folder for temporary files, but not the locks.
    return f"tidemark-{kind}-{os.uname().nodename}-{os.getuid()}-"
