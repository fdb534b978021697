"""Checkpoints of a search: a folder to which the growth of a store is appended, and a manifest that is replaced.

    DIR/checkpoint.lock    held by the run that works in the folder
    DIR/manifest.json      the last complete checkpoint: identity, progress, and the size and digest of each part
    DIR/part-00001.bin     the items by which the growing arrays had grown at checkpoint 1, then the changing arrays
    DIR/part-00002.bin     the same for checkpoint 2: only the items since checkpoint 1

A checkpoint is complete when its manifest replaces the previous one; its part is on the disk before. A process that is
killed at any moment therefore leaves the previous checkpoint as it was. Parts that the manifest does not list are
removed. The files hold numbers and JSON, never code.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from checker.data_files import lock_opener, open_data, read_data_text, reason_of
from checker.errors import InputError, OutputError

FORMAT = "tidemark-checkpoint"
FORMAT_VERSION = 1

_LOCK, _MANIFEST, _PARTIAL = "checkpoint.lock", "manifest.json", "manifest.partial"

_BLOCK_BYTES = 8 << 20
"""Bytes that are hashed and written or read in one call."""

Arrays = Mapping[str, NDArray[Any]]

Release = Callable[[str, int, int], None]


class CheckpointedStore(Protocol):
    """A store of states of which checkpoints are written, between two rounds of a search.

    It divides its content into arrays by name. Growing arrays make up the bulk: a checkpoint writes only their new
    items. Changing arrays are small, and every checkpoint writes all of them. An array that can be computed from
    others, such as a hash table, belongs to neither: the search computes it.

    The first axis of a growing array counts its items. Their type and shape never change. The names may change from one
    checkpoint to the next: an array that a store no longer has keeps the items that were written.
    """

    def growing_arrays(self) -> Arrays:
        """Return the growing arrays up to their present end.

        The items are written by another thread while the search continues, so they must never change or move.
        """

    def changing_arrays(self) -> Arrays:
        """Return copies of the changing arrays."""

    def release_items(self, name: str, first: int, end: int) -> None:
        """Release the memory of some items of a growing array that were written, if the store also has them in a file.

        Called by the thread that writes, while the search continues.
        """

    def room_for(self, name: str, items: int) -> NDArray[Any] | None:
        """Return memory for the first `items` items of a growing array; None if the store does not need the array.

        The store is new. Called once for each growing array of the checkpoint, before `restore`. Raises StoppedError if
        the items do not fit.
        """

    def restore(self, changing: Arrays) -> None:
        """Take over the changing arrays of a checkpoint; the growing ones are complete.

        Raises ValueError if the arrays contradict each other.
        """

    def release(self) -> None:
        """Release memory of items that are not used soon. Called while growing arrays are filled."""


@dataclass(frozen=True)
class SearchIdentity:
    """Everything on which the result of a search depends: a checkpoint is resumed only by an equal search.

    - `version`: the version of Tidemark and the digest of its sources. `program`: the digest of the typed program.
    - `stop`: when the search stops at violations. `premises`: the number of predicates that `--coverage` adds.
    - `store`: the choice of the store.
    - `initial`: the digest of the packed initial states.
    """

    version: str
    spec: str
    constants: dict[str, int | bool | str]
    properties: list[str]
    stop: str
    premises: int
    symmetry: str
    store: str
    program: str
    initial: str

    def difference(self, other: dict[str, Any]) -> str:
        """Return how another identity, from JSON, differs, as a noun phrase; "" if it is equal."""
        ours: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        different = next((name for name in ours if other.get(name) != ours[name]), None)
        if different is None:
            return ""
        if different == "constants":
            return _constants_difference(other["constants"], ours["constants"])
        theirs = other.get(different)
        return {
            "version": f"Tidemark {theirs} (this is {self.version})",
            "spec": f"the spec {theirs}",
            "properties": f"other properties: {', '.join(theirs or []) or 'none'}",
            "stop": "another choice of when to stop (--keep-going, or the expected verdict)",
            "premises": f"a run {'with' if theirs else 'without'} --coverage or --strict",
            "symmetry": f"a run with {theirs or 'no symmetry'}",
            "store": f"a run with --store {theirs}",
        }.get(different, f"another version of {self.spec}")


def _constants_difference(theirs: dict[str, Any], ours: dict[str, Any]) -> str:
    changed = [f"{name}={theirs.get(name)}" for name in {**theirs, **ours} if theirs.get(name) != ours.get(name)]
    return f"other constants: {', '.join(changed)}"


class CheckpointFolder:
    """The folder of one run, locked by `opened_folder`. `saved_progress` is that of the last complete checkpoint."""

    def __init__(self, folder: Path, identity: SearchIdentity):
        self.folder, self._identity = folder, identity
        # The content of the manifest, see `_manifest_of`.
        self._growing: dict[str, list[Any]] = {}
        self._parts: list[dict[str, Any]] = []
        self._changing: dict[str, list[Any]] = {}
        self.saved_progress: dict[str, Any] | None = None
        self._is_abandoned = threading.Event()
        self._read_manifest()
        self._remove_unlisted()

    # Writing.

    def save(self, growing: Arrays, changing: Arrays, progress: dict[str, Any], release: Release) -> None:
        """Write a checkpoint: the new items of growing arrays, and all of the changing ones; `progress` is JSON.

        `release` is `CheckpointedStore.release_items` of the store. Raises OSError if the checkpoint cannot be written;
        the previous one then remains.
        """
        before = self._count_saved_items()
        new = {name: array[before.get(name, 0) :] for name, array in growing.items()}
        path = self._part_path(len(self._parts) + 1)
        try:
            blocks = chain(_release_blocks(new, before, release), _blocks([*changing.values()]))
            size, digest = _write_part(path, blocks, self._is_abandoned)
            part = {"bytes": size, "digest": digest, "items": {name: len(array) for name, array in new.items()}}
            content = {
                "identity": asdict(self._identity),
                "growing": self._growing
                | {name: [array.dtype.str, list(array.shape[1:])] for name, array in growing.items()},
                "parts": [*self._parts, part],
                "changing": {name: [array.dtype.str, list(array.shape)] for name, array in changing.items()},
                "progress": progress,
            }
            self._write_manifest(content)
        except BaseException:
            # The space matters on a full disk. Files that stay are overwritten or removed by the next run.
            with suppress(OSError):
                path.unlink(missing_ok=True)
                (self.folder / _PARTIAL).unlink(missing_ok=True)
            raise
        self._take_over(content)

    def abandon(self) -> None:
        """Make the `save` in progress in another thread, if any, end soon with an OSError."""
        self._is_abandoned.set()

    def _write_manifest(self, content: dict[str, Any]) -> None:
        text = json.dumps(
            {"format": FORMAT, "version": FORMAT_VERSION, "digest": _digest_of(content), "content": content}
        )
        partial = self.folder / _PARTIAL
        with open(partial, "w", opener=_private) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, self.folder / _MANIFEST)
        _sync_folder(self.folder)

    # Reading.

    def load(self, store: CheckpointedStore) -> None:
        """Fill a new store from the last checkpoint; raise InputError if it is damaged."""
        rooms = {name: store.room_for(name, items) for name, items in self._count_saved_items().items()}
        filled = dict.fromkeys(rooms, 0)
        changing: dict[str, NDArray[Any]] = {}
        for number, part in enumerate(self._parts, 1):
            targets = []
            for name, items in part["items"].items():
                room, (kind, shape) = rooms[name], self._growing[name]
                targets.append(
                    np.empty((items, *shape), kind) if room is None else room[filled[name] : filled[name] + items]
                )
                filled[name] += items
            if number == len(self._parts):
                changing = {name: np.empty(shape, kind) for name, (kind, shape) in self._changing.items()}
            self._read_part(number, part, [*targets, *changing.values()], store)
        try:
            store.restore(changing)
        except (ValueError, KeyError) as error:
            raise self._damage(str(error)) from None

    def _read_part(
        self, number: int, part: dict[str, Any], targets: list[NDArray[Any]], store: CheckpointedStore
    ) -> None:
        path = self._part_path(number)
        digest = _new_digest()
        try:
            with open_data(path) as file:
                if os.fstat(file.fileno()).st_size != part["bytes"]:
                    raise self._damage(f"{path.name} is truncated or was changed")
                for block in _blocks(targets):
                    if file.readinto(block) != len(block):
                        raise self._damage(f"{path.name} is truncated or was changed")
                    digest.update(block)
                    store.release()
                # An earlier part also has the changing arrays of its time, which nothing but the digest needs.
                while rest := file.read(_BLOCK_BYTES):
                    digest.update(rest)
        except OSError as error:
            raise self._damage(f"{path.name} cannot be read: {error.strerror}") from None
        if digest.hexdigest() != part["digest"]:
            raise self._damage(f"{path.name} was changed")

    def _read_manifest(self) -> None:
        try:
            text = read_data_text(self.folder / _MANIFEST)
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            raise self._damage(f"{_MANIFEST} cannot be read: {reason_of(error)}") from None
        try:
            outer = json.loads(text, parse_constant=_refuse)
            header, content, digest = (outer["format"], outer["version"]), outer["content"], outer["digest"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._damage(f"{_MANIFEST} is truncated or no manifest") from None
        if header != (FORMAT, FORMAT_VERSION):
            raise InputError(
                f"{self.folder / _MANIFEST} has format {header[0]}, version {header[1]}; this program reads {FORMAT}, "
                f"version {FORMAT_VERSION}: name another folder"
            )
        if _digest_of(content) != digest:
            raise self._damage(f"{_MANIFEST} was changed")
        if difference := self._identity.difference(content["identity"]):
            raise InputError(
                f"{self.folder} holds a checkpoint of {difference}: resume it with the spec and options of that run, "
                "or name another folder"
            )
        self._take_over(content)

    def _take_over(self, content: dict[str, Any]) -> None:
        self._growing, self._parts = content["growing"], content["parts"]
        self._changing, self.saved_progress = content["changing"], content["progress"]

    def _count_saved_items(self) -> dict[str, int]:
        """Return the number of items of each growing array that the parts hold together."""
        items = dict.fromkeys(self._growing, 0)
        for part in self._parts:
            for name, count in part["items"].items():
                items[name] += count
        return items

    def _remove_unlisted(self) -> None:
        listed = {self._part_path(number + 1) for number in range(len(self._parts))}
        for path in self.folder.glob(f"part-{'[0-9]' * 5}.bin"):
            if path not in listed:
                path.unlink(missing_ok=True)

    def _part_path(self, number: int) -> Path:
        return self.folder / f"part-{number:05}.bin"

    def _damage(self, what: str) -> InputError:
        return InputError(f"the checkpoint {self.folder} is damaged, {what}: remove the folder and explore again")


def has_checkpoint(folder: Path) -> bool:
    """Return whether a folder holds a checkpoint."""
    return (folder / _MANIFEST).is_file()


@contextmanager
def opened_folder(folder: Path, identity: SearchIdentity, *, must_exist: bool) -> Iterator[CheckpointFolder]:
    """Yield the checkpoints in a new or existing folder, locked against other runs.

    `must_exist`: the folder must hold a checkpoint. Raises InputError if it does not, if it is in use or holds other
    files or a checkpoint of another search, and OutputError if it cannot be written.
    """
    if must_exist and not has_checkpoint(folder):
        raise InputError(f"{folder} holds no checkpoint: start the run with --checkpoint {folder}")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_ours = (folder / _LOCK).exists() or has_checkpoint(folder)
        if not is_ours and any(folder.iterdir()):
            raise InputError(f"{folder} holds other files: name a new folder for --checkpoint")
        file = open(folder / _LOCK, "a", opener=lock_opener)  # noqa: SIM115 - closed by the next block
    except OSError as error:
        raise OutputError(f"the checkpoint {folder} cannot be written: {error.strerror}") from None
    with file:
        try:
            # The operating system releases the lock when the process ends, so a crash leaves no stale lock.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"another run keeps its checkpoints in {folder}: wait for it, or name another") from None
        except OSError as error:
            raise OutputError(f"the checkpoint {folder} cannot be locked: {error.strerror}") from None
        yield CheckpointFolder(folder, identity)


def _write_part(path: Path, blocks: Iterator[memoryview], is_abandoned: threading.Event) -> tuple[int, str]:
    """Write blocks one after the other; return the size of the file, which is then on the disk, and its digest."""
    digest, size = _new_digest(), 0
    with open(path, "wb", buffering=0, opener=_private) as file:
        for block in blocks:
            if is_abandoned.is_set():
                raise InterruptedError(errno.EINTR, os.strerror(errno.EINTR))
            digest.update(block)
            size += len(block)
            while block:
                block = block[file.write(block) :]
        os.fsync(file.fileno())
    return size, digest.hexdigest()


def _release_blocks(new: Arrays, before: Mapping[str, int], release: Release) -> Iterator[memoryview]:
    """Iterate over the bytes of the new items of growing arrays; release those of a block when the next is wanted.

    `before`: the number of items of each array that earlier checkpoints have.
    """
    for name, array in new.items():
        first, taken = before.get(name, 0), 0
        for block in _blocks([array]):
            yield block
            taken += len(block)
            release(name, first, first + taken // array.strides[0])


def _blocks(arrays: list[NDArray[Any]]) -> Iterator[memoryview]:
    """Iterate over the bytes of some arrays."""
    for array in arrays:
        if not array.size:
            continue
        content = array.data.cast("B")
        for start in range(0, len(content), _BLOCK_BYTES):
            yield content[start : start + _BLOCK_BYTES]


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _new_digest() -> Any:
    return hashlib.blake2b(digest_size=16)


def _digest_of(content: dict[str, Any]) -> str:
    digest = _new_digest()
    # As it is read: numbers that are keys become text, which sorts in another order.
    as_read = json.loads(json.dumps(content))
    digest.update(json.dumps(as_read, sort_keys=True).encode())
    return str(digest.hexdigest())


def _private(path: str, flags: int) -> int:
    """Open a file; if it is new, only this user can read or write it."""
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _sync_folder(folder: Path) -> None:
    """Make the names in a folder permanent."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
