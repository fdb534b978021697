"""Memory that the kernels and Python share: zeros, in a part for each shard.

NumPy is imported only by what computes on many words, such as checkpoints: importing it takes longer than many
explorations.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING, Any, Final, Literal

from checker.engines.native.explore.memory_layout import SHARDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

Kind = Literal["B", "H", "I", "Q"]
U8: Final = "B"
U16: Final = "H"
U32: Final = "I"
U64: Final = "Q"
"""Types of items: the names that `memoryview`, `array` and NumPy have for unsigned integers."""

_LINUX_MAP_NORESERVE = 0x4000
"""The flag of `mmap` that reserves no swap space; Python's `mmap` module has no name for it before 3.13."""

_LARGE_PAGE = 2 << 20
_SMALL_PAGES_BYTES = 4 << 20
"""Bytes: a large page, and the start of each shard's part that keeps small pages."""


class Reserved:
    """An array of zeros (SHARDS, ...) of one type. It never moves, and only pages that are written take memory.

    `address`, `part_bytes`: where it begins, and the size of the part of a shard. `items`: a view of all items, one
    after the other. Raises MemoryError if the address space is limited.
    """

    def __init__(self, kind: Kind, *shape: int) -> None:
        assert shape[0] == SHARDS
        self._shape = shape
        size = prod(shape) * memoryview(b"").cast(kind).itemsize
        # Without MAP_NORESERVE the kernel may refuse mappings that add up to more than the machine's memory.
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", _LINUX_MAP_NORESERVE)
        try:
            self._region = mmap.mmap(-1, size, flags=flags)
        except OSError as error:
            problem = f"cannot reserve {size >> 20} MiB of address space: raise its limit (ulimit -v)"
            raise MemoryError(problem) from error
        self.part_bytes = size // SHARDS
        _advise_large_pages(self._region, self.part_bytes)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._region))
        self.items = memoryview(self._region).cast(kind)

    @functools.cached_property
    def array(self) -> NDArray[Any]:
        """The same memory as an array of NumPy."""
        import numpy as np

        return np.frombuffer(self._region, f"u{self.items.itemsize}").reshape(self._shape)

    def addresses(self) -> list[int]:
        """Return the addresses of the parts of all shards."""
        return [self.address + shard * self.part_bytes for shard in range(SHARDS)]


def _advise_large_pages(region: mmap.mmap, part: int) -> None:
    """Request large pages for each shard's part of a region, except its first 4 MiB.

    Large pages save TLB misses. A small state space stays in small pages, where it wastes no memory.
    """
    for shard in range(SHARDS):
        # Both ends are rounded to whole large pages: the start up, the end down. `madvise` needs aligned addresses.
        start = -(-(shard * part + _SMALL_PAGES_BYTES) // _LARGE_PAGE) * _LARGE_PAGE
        length = (shard + 1) * part // _LARGE_PAGE * _LARGE_PAGE - start
        if length > 0:
            # Advice only: a kernel or platform without large pages runs the same search more slowly.
            with suppress(OSError, AttributeError):
                region.madvise(mmap.MADV_HUGEPAGE, start, length)
