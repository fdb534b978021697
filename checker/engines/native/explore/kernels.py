"""The explorer's kernels as Python callables: machine code that is called through addresses.

`kernel_definitions` defines the kernels. A process that finds the machine code in the cache does not import it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from checker.engines.native.explore.memory_layout import MemoryLayout

EXPAND, INSERT, CHECK_NEW, FIND, REBUILD, COUNT = KERNEL_NAMES = (
    "explore_expand",
    "explore_insert",
    "explore_check_new",
    "explore_find",
    "explore_rebuild",
    "explore_count",
)

VIEW = "explore_view"
"""The name of the kernel that computes a view."""

REPRESENTATIVE = "representative"
"""The name of the function that replaces a state by its representative."""

# CFUNCTYPE, not PYFUNCTYPE: only the former releases the global interpreter lock during the call.
_ROUND_HALF = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64)
_WITHOUT_RESULT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
_REPRESENT = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_FIND_STATE = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p)


class Kernels:
    """The kernels of a compiled spec as Python callables, with the arguments that `kernel_definitions` documents.

    A call releases the global interpreter lock, so threads run kernels in parallel.

    - `address_of`: maps a name of KERNEL_NAMES, or the name of the function of representatives, to its address.
    - `owner`: an object that keeps the machine code alive.
    - `better`: compiles the same kernels with more optimisation, for an exploration that takes long; None if these
      are already optimised.
    """

    def __init__(
        self,
        words: int,
        instances: int,
        address_of: Callable[[str], int],
        owner: object = None,
        better: Callable[[], Kernels] | None = None,
    ) -> None:
        self.layout = MemoryLayout(words, instances)
        self.expand: Callable[[int, int, int], None] = _ROUND_HALF(address_of(EXPAND))
        self.insert: Callable[[int, int, int], None] = _ROUND_HALF(address_of(INSERT))
        self.check_new_address = address_of(CHECK_NEW)
        self.find: Callable[[int, int], int] = _FIND_STATE(address_of(FIND))
        self.rebuild: Callable[[int, int], None] = _WITHOUT_RESULT(address_of(REBUILD))
        self.count: Callable[[int, int], None] = _WITHOUT_RESULT(address_of(COUNT))
        self.better = better
        self._address_of, self._owner = address_of, owner

    @property
    def view_address(self) -> int:
        """The address of `explore_view`, in code that computes a view."""
        return self._address_of(VIEW)

    def represent(self, state: int) -> None:
        """Replace the state at an address by its representative, in code that stores representatives."""
        _REPRESENT(self._address_of(REPRESENTATIVE))(state)
