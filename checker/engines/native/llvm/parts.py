"""The parts of a module, which are compiled independently of each other: their text and their object files.

This module does not import LLVM: text is written also where nothing is compiled.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

PART = "\n; next part\n"
"""Separates the text of the parts."""

OnPart = Callable[[str], None]
"""Is called with the text of a part of a module as soon as it is known."""

_LENGTH_BYTES = 8


def packed(contents: Iterable[bytes]) -> bytes:
    """Return some contents, such as object files, each after its length (8 bytes, little-endian)."""
    return b"".join(len(content).to_bytes(_LENGTH_BYTES, "little") + content for content in contents)


def contents_of(file: BinaryIO) -> Iterator[bytes]:
    """Yield the contents that `packed` has put into a file, each as soon as it can be read whole."""
    while len(header := file.read(_LENGTH_BYTES)) == _LENGTH_BYTES:
        length = int.from_bytes(header, "little")
        content = file.read(length)
        if len(content) < length:
            return
        yield content


def object_files(joined: bytes) -> Iterator[bytes]:
    """Yield the object files of the parts of a module, which are packed."""
    return contents_of(io.BytesIO(joined))
