"""The states of a shard in the order in which they were found, in a file that is mapped into memory.

Only the part that the search works on takes memory of the process: pages that were written or read are released, and
the system writes them to the disk when it likes. The file is private and has no name once it is open, so nothing
remains of it, however the process ends.
"""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from contextlib import suppress

import numpy as np

from checker.engines.native.llvm.word_arrays import Words

_WORD_BYTES = 8

FIRST_BYTES = 1 << 18
MOST_STEP_BYTES = 64 << 20
"""The disk space of a new file, and the most by which it grows at once; in between it doubles."""

RELEASE_BYTES = 2 << 20
"""Bytes of a file that are used before they are released from the memory of the process."""


class StateFile:
    """The states of one shard, an array (capacity, words) of which the first `room` rows have disk space.

    Raises OSError if there is no space, and MemoryError if the address space is limited.
    """

    def __init__(self, folder: str, capacity: int, words: int) -> None:
        size = capacity * words * _WORD_BYTES
        descriptor, path = tempfile.mkstemp(prefix="states-", dir=folder)
        try:
            os.unlink(path)
            # Sparse: the size reserves no space.
            os.ftruncate(descriptor, size)
            try:
                self._region = mmap.mmap(descriptor, size)
            except (OSError, ValueError, OverflowError) as error:
                raise MemoryError(
                    f"cannot reserve {size >> 20} MiB of address space: raise its limit (ulimit -v)"
                ) from error
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        self._row_bytes = words * _WORD_BYTES
        self.states: Words = np.frombuffer(self._region, np.uint64).reshape(capacity, words)
        self._room_bytes = 0

    def __del__(self) -> None:
        with suppress(OSError, AttributeError):
            os.close(self._descriptor)

    def make_room(self, count: int) -> None:
        """Reserve disk space for the first `count` rows. Without it, a write to a full disk would end the process."""
        wanted = count * self._row_bytes
        if wanted <= self._room_bytes:
            return
        if count > len(self.states):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        step = min(max(self._room_bytes, FIRST_BYTES), MOST_STEP_BYTES)
        size = min(max(wanted, self._room_bytes + step), len(self._region))
        os.posix_fallocate(self._descriptor, self._room_bytes, size - self._room_bytes)
        self._room_bytes = size

    def release(self, rows: int, first: int = 0) -> None:
        """Release the rows from `first` to `rows` from the memory of the process; they stay in the file."""
        start = -(-first * self._row_bytes // mmap.PAGESIZE) * mmap.PAGESIZE
        end = rows * self._row_bytes // mmap.PAGESIZE * mmap.PAGESIZE
        if end > start:
            self._region.madvise(mmap.MADV_DONTNEED, start, end - start)
