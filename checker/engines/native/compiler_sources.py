"""The sources of the compiler: they decide how a state is packed and what its successors are.

A version of Tidemark does not identify them, because it may be a checkout that was changed.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path

_PACKAGES = ("language", "ir", "frontend", "engines/native")


@dataclass(frozen=True)
class CompilerSources:
    """The digest of the sources, and the time of the last change of one, in nanoseconds of the clock of files."""

    digest: str
    changed: int


@functools.cache
def compiler_sources() -> CompilerSources:
    """Return the sources as they were at the first call."""
    digest = hashlib.blake2b(digest_size=16)
    # The package `checker`.
    root, changed = Path(__file__).parents[2], 0
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            status, content = path.stat(), path.read_bytes()
            changed = max(changed, status.st_mtime_ns, status.st_ctime_ns)
            digest.update(f"{path.relative_to(root)} {len(content)} ".encode() + content)
    return CompilerSources(digest.hexdigest(), changed)
