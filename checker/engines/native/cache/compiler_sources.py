"""The sources of the compiler: they decide how a state is packed and what its successors are.

A version of Tidemark does not identify them, because it may be a checkout that was changed.
"""

from __future__ import annotations

import functools
import hashlib
import os
from pathlib import Path

_ROOT = Path(__file__).parents[3]
"""The package `checker`."""

_FRONT = ("language", "ir", "frontend")

_NATIVE = "engines/native"


@functools.cache
def sources_digest(engine: str = _NATIVE) -> str:
    """Return the digest of the sources of the front end and an engine, as they were at the first call."""
    digest = hashlib.blake2b(digest_size=16)
    for path in _files(engine):
        content = Path(path).read_bytes()
        digest.update(f"{os.path.relpath(path, _ROOT)} {len(content)} ".encode() + content)
    return digest.hexdigest()


def last_change() -> int:
    """Return the time of the last change of a source, in nanoseconds of the clock of files."""
    statuses = map(os.stat, _files(_NATIVE))
    return max(max(status.st_mtime_ns, status.st_ctime_ns) for status in statuses)


@functools.cache
def _files(engine: str) -> tuple[str, ...]:
    """Return the paths of the sources, which are listed once: this process does not import files that are added."""
    packages = (_ROOT / package for package in (*_FRONT, engine))
    return tuple(str(path) for package in packages for path in sorted(package.rglob("*.py")))
