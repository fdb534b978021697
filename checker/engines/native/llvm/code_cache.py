"""The cache of machine code on disk: object files by the digest of everything that they depend on.

    FOLDER/DIGEST.o     32 bytes, the digest of what follows, then an object file

The digest of a name covers the text of the module, its target (processor and features), the version of this format and
of the passes, and the version of LLVM. An entry is therefore never outdated, only unused. Entries are written to a
temporary name and renamed, so several processes can share the folder.

Loading an object file runs its code. The cache is used only if the folder belongs to this user and nobody else can
write to it; the same holds for each file. `TIDEMARK_CODE_CACHE` names another folder, or is `off`.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import hashlib

VARIABLE = "TIDEMARK_CODE_CACHE"
OFF = "off"

MOST_BYTES = 512 * 2**20
"""The size of the cache, above which the entries that were unused for the longest time are removed."""

_WRITES_BETWEEN_CHECKS = 64
_DIGEST_BYTES = 32
_SUFFIX = ".o"

_writes = 0


@dataclass(frozen=True)
class CacheSize:
    """The number of entries and their size in bytes."""

    entries: int
    bytes: int


def folder() -> Path | None:
    """Return the folder of the cache, which need not exist; None if the cache is off."""
    named = os.environ.get(VARIABLE, "")
    if named == OFF:
        return None
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "tidemark" / "code"
    except RuntimeError:
        # There is no home folder.
        return None


def turn_off() -> None:
    """Turn the cache off in this process and in those that it starts."""
    os.environ[VARIABLE] = OFF


def digest_of(*parts: str) -> str:
    """Return the name of the object file that depends on these texts."""
    digest = _new_digest()
    for part in parts:
        content = part.encode()
        digest.update(len(content).to_bytes(8, "big") + content)
    return digest.hexdigest()


def _new_digest(content: bytes = b"") -> hashlib.blake2b:
    import hashlib

    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES)


def load(digest: str) -> bytes | None:
    """Return an object file, or None if the cache does not have it whole, or is not private to this user."""
    place = _private_folder(create=False)
    if place is None:
        return None
    path = place / f"{digest}{_SUFFIX}"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            if not _is_private(os.fstat(descriptor)):
                return None
            header, content = file.read(_DIGEST_BYTES), file.read()
        if _new_digest(content).digest() != header:
            # Damaged: it is written again.
            path.unlink(missing_ok=True)
            return None
        # The time of the last use, by which `_remove_old` chooses.
        os.utime(path)
    except OSError:
        return None
    return content


def store(digest: str, content: bytes) -> None:
    """Write an object file to the cache. A cache that cannot be written, for example on a full disk, is no error."""
    place = _private_folder(create=True)
    if place is None:
        return
    # Here and in `_new_digest`: modules that a run needs late, or never, make its start longer.
    import tempfile

    header = _new_digest(content).digest()
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(dir=place, suffix=".part")
        with open(descriptor, "wb") as file:
            file.write(header + content)
        os.replace(temporary, place / f"{digest}{_SUFFIX}")
    except OSError:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        return
    global _writes
    _writes += 1
    if _writes % _WRITES_BETWEEN_CHECKS == 1:
        _remove_old(place)


def size() -> CacheSize:
    """Return the size of the cache."""
    place = folder()
    entries = [] if place is None else _entries(place)
    return CacheSize(len(entries), sum(entry.st_size for _, entry in entries))


def clear() -> CacheSize:
    """Remove every entry; return the number of entries that were removed, and their size."""
    place = folder()
    removed = [] if place is None else _entries(place, parts=True)
    for path, _ in removed:
        path.unlink(missing_ok=True)
    return CacheSize(len(removed), sum(entry.st_size for _, entry in removed))


def problem() -> str:
    """Return why the cache is not used, as a sentence; "" if it is used."""
    place = folder()
    if place is None:
        return f"the cache is off ({VARIABLE})" if os.environ.get(VARIABLE) else "there is no home folder"
    if _private_folder(create=True) is None:
        return f"{place} is not a folder that belongs to this user alone"
    return ""


def _private_folder(*, create: bool) -> Path | None:
    """Return the folder if it belongs to this user and no other user can write to it; `create`: make it first."""
    place = folder()
    if place is None:
        return None
    try:
        if create:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = os.lstat(place)
    except OSError:
        return None
    return place if stat.S_ISDIR(status.st_mode) and _is_private(status) else None


def _is_private(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _entries(place: Path, *, parts: bool = False) -> list[tuple[Path, os.stat_result]]:
    """Return the entries with their status; `parts`: and the files of writes that did not end."""
    entries: list[tuple[Path, os.stat_result]] = []
    try:
        with os.scandir(place) as scanned:
            wanted = (_SUFFIX, ".part") if parts else (_SUFFIX,)
            entries.extend((Path(entry.path), entry.stat()) for entry in scanned if entry.name.endswith(wanted))
    except OSError:
        # Another process removes entries at the same time, or the folder does not exist.
        return entries
    return entries


def _remove_old(place: Path) -> None:
    """Remove the entries that were unused for the longest time, until three quarters of the limit are left."""
    entries = sorted(_entries(place), key=lambda entry: entry[1].st_mtime)
    total = sum(status.st_size for _, status in entries)
    if total <= MOST_BYTES:
        return
    for path, status in entries:
        if total <= MOST_BYTES * 3 // 4:
            return
        path.unlink(missing_ok=True)
        total -= status.st_size
