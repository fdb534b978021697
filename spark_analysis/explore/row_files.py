"""Files of sorted rows (`native.kernels.row_kernels`): stored states, and candidates for the next level.

    runs/NAME         the rows of distinct states of one or several levels, in one range of hashes; then their filter
    candidates/NAME   for each partition an entry of four words: the position of its first row, the number of its rows,
                      their digest, and the digest of the entry; then the rows: sorted, so that those of a partition
                      are adjacent

All words are little-endian. Files appear as a whole and are never changed. Whoever names a run also keeps its digest. A
candidate file has its own, so that a task reads nothing but its own part. In an object store, a task maps a copy of a
run in the cache of its machine into memory, and reads its range of a candidate file.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from checker.engines.native.kernels.row_kernels import HASH_RANGE, RowFilter, SortedRows, filter_words
from checker.engines.native.llvm.word_arrays import Words
from checker.errors import InputError
from traces.storage import Location, RemotePath, local_copy, new_file

RUNS, CANDIDATES = "runs", "candidates"

_ENTRY_WORDS = 4
_READ_BYTES = 1 << 20


class DamagedFileError(InputError):
    """A file is missing, or its content is not the one that was written."""

    def __init__(self, path: Location | str, **place: Any) -> None:
        super().__init__(str(path), **place)

    def __str__(self) -> str:
        return f"{self.message} is missing, truncated or changed: remove the checkpoint and explore again"


@dataclass(frozen=True)
class StoredRun:
    """A run: its file in the folder, its newest level, the number of its rows, and the digest of the file.

    `low`, `high`: the range of its states' hashes, by their high halves.
    """

    name: str
    level: int
    count: int
    digest: str
    low: int
    high: int


@dataclass(frozen=True)
class CandidateFile:
    """A file of candidates: its name in the folder, and the number of its rows."""

    name: str
    count: int


def range_of(partition: int, partitions: int) -> tuple[int, int]:
    """Return the bounds of the high halves of the hashes that belong to a partition: low <= half < high."""
    low, high = (-(-HASH_RANGE * bound // partitions) for bound in (partition, partition + 1))
    return low, high


def partition_of(half: int, partitions: int) -> int:
    """Return the partition of a hash, given its high half."""
    return half * partitions // HASH_RANGE


def write_run(path: Location, parts: Iterable[Words], filtered: Words, *, durable: bool) -> str:
    """Write the rows of all parts and the words of their filter, and return the digest of the file.

    `filtered` is read after the last part. `durable`: wait until the content is on the disk.
    """
    digest = hashlib.sha256()

    def digested() -> Iterable[Words]:
        for part in chain(parts, [filtered]):
            digest.update(part.data)
            yield part

    _write(path, digested(), durable=durable, is_mapped=True)
    return digest.hexdigest()


def map_run(path: Location, run: StoredRun, row_words: int) -> tuple[Words, RowFilter]:
    """Return the rows (n, row_words) of a run and their filter, mapped into memory.

    Raises DamagedFileError if the file is missing, or its size is wrong.
    """
    words = row_words * run.count
    try:
        with local_copy(path, is_immutable=True).open("rb") as file:
            if os.fstat(file.fileno()).st_size != 8 * (words + filter_words(run.count)):
                raise DamagedFileError(path)
            content = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint64)
    except FileNotFoundError:
        raise DamagedFileError(path) from None
    return content[:words].reshape(-1, row_words), RowFilter(content[words:], run.low, run.high)


def is_whole_run(path: Location, run: StoredRun) -> bool:
    """Return whether a file has the content of a run."""
    digest = hashlib.sha256()
    try:
        for part in _content(path):
            digest.update(part)
    except FileNotFoundError:
        return False
    return digest.hexdigest() == run.digest


def _content(path: Location) -> Iterator[bytes]:
    if isinstance(path, RemotePath):
        # Not the copy in the cache: the file in the store is verified.
        yield from path.chunks(_READ_BYTES)
        return
    with path.open("rb") as file:
        while part := file.read(_READ_BYTES):
            yield part


def write_candidates(path: Location, rows: SortedRows, partitions: int, *, durable: bool) -> CandidateFile:
    """Write sorted candidates for a number of partitions, and return the description of the file."""
    lows = np.array([range_of(partition, partitions)[0] for partition in range(partitions)], np.uint64)
    starts = np.searchsorted(rows.hashes >> np.uint64(32), lows).tolist()
    index = np.zeros((partitions, _ENTRY_WORDS), np.uint64)
    for partition, (start, end) in enumerate(zip(starts, [*starts[1:], len(rows)], strict=True)):
        index[partition] = _entry(partition, start, end - start, _short_digest(rows.rows[start:end].data))
    _write(path, [index, rows.rows], durable=durable)
    return CandidateFile(path.name, len(rows))


def read_candidates(path: Location, partition: int, partitions: int, row_words: int) -> Words:
    """Return the rows (n, row_words) for a partition in a file; raise DamagedFileError if they are damaged."""
    try:
        entry = np.frombuffer(_range(path, 8 * _ENTRY_WORDS * partition, 8 * _ENTRY_WORDS), np.uint8)
        if entry.size != 8 * _ENTRY_WORDS:
            raise DamagedFileError(path)
        start, count, digest, _ = header = entry.view(np.uint64).tolist()
        if header != _entry(partition, start, count, digest):
            raise DamagedFileError(path)
        content = _range(path, 8 * _ENTRY_WORDS * partitions + 8 * row_words * start, 8 * row_words * count)
    except FileNotFoundError:
        raise DamagedFileError(path) from None
    if len(content) != 8 * row_words * count or _short_digest(content) != digest:
        raise DamagedFileError(path)
    return np.frombuffer(content, np.uint64).reshape(count, row_words)


def _range(path: Location, position: int, size: int) -> bytes:
    if isinstance(path, RemotePath):
        return path.read_range(position, size) if size else b""
    with path.open("rb") as file:
        return os.pread(file.fileno(), size, position)


def _entry(partition: int, start: int, count: int, digest: int) -> list[int]:
    """Return the entry of a partition in the index of a candidate file."""
    words = np.array([partition, start, count, digest], np.uint64)
    return [start, count, digest, _short_digest(words.data)]


def _short_digest(content: bytes | memoryview) -> int:
    """Return 64 bits of the digest of some rows."""
    return int.from_bytes(hashlib.sha256(content).digest()[:8], "little")


def _write(path: Location, parts: Iterable[Words], *, durable: bool, is_mapped: bool = False) -> None:
    """Write arrays to a file. All attempts of a task write the same content, so any of them may be last.

    `is_mapped`: this machine will probably map the file into memory.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with new_file(path, is_immutable=is_mapped) as partial, partial.open("wb") as file:
        for part in parts:
            file.write(part.data)
        file.flush()
        if durable and isinstance(path, Path):
            os.fsync(file.fileno())


def sync(paths: Iterable[Location]) -> None:
    """Wait until the content of files is on the disk. A store has it when the file appears."""
    for path in paths:
        if isinstance(path, Path):
            with path.open("rb") as file:
                os.fsync(file.fileno())
