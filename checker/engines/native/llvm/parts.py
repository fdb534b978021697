"""The parts of a module, which are compiled independently of each other: their text and their object files.

This module does not import LLVM: text is written also where nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

PART = "\n; next part\n"
"""Separates the text of the parts."""

_LENGTH_BYTES = 8


def packed(objects: Iterable[bytes | BaseException]) -> bytes:
    """Return some object files, each after its length; raise the first exception among them."""
    joined = b""
    for found in objects:
        if isinstance(found, BaseException):
            raise found
        joined += len(found).to_bytes(_LENGTH_BYTES, "little") + found
    return joined


def object_files(joined: bytes) -> Iterator[bytes]:
    """Yield the object files of the parts of a module; each follows its length (8 bytes, little-endian)."""
    position = 0
    while position < len(joined):
        start = position + _LENGTH_BYTES
        position = start + int.from_bytes(joined[position:start], "little")
        yield joined[start:position]
