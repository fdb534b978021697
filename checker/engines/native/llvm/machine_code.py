"""From an LLVM module to machine code in this process. Object files come from the cache on disk if that has them."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import llvmlite.binding as llvm

from checker.engines.native.llvm import code_cache
from checker.engines.native.llvm.compiler import object_file, target_machine, target_text

if TYPE_CHECKING:
    from checker.engines.native.llvm import ir

_VERSION = 10
"""The version of `object_file` and of an entry of the cache, a part of its digest: change it with them.

Code of another version must not be loaded.
"""

_SECONDS_WORTH_KEEPING = 0.01
"""The seconds of compiling below which code is compiled about as fast as it is read."""


class ObjectCode(NamedTuple):
    """The machine code of a module as an object file, and its name in the cache."""

    name: str
    code: bytes


def object_code(
    module: ir.Module | str, *, quick: bool = False, is_shared: bool = False, is_indexed: bool = False
) -> ObjectCode:
    """Return a module as machine code for this processor; raise RuntimeError if its text is not LLVM's language.

    The module may be given as text, which may come from another machine: it names no target, and gets that of this
    process. `quick`: compile in a seventh of the time; the code takes about twice as long to run. `is_shared`:
    many explorations run it. `is_indexed`: the caller keeps the name, so the cache keeps the code even if compiling it
    takes no time.
    """
    text = str(module)
    name = code_cache.digest_of(text, target_text(), f"{_VERSION} {quick} {is_shared}")
    code = code_cache.load(name)
    if code is None:
        started = time.perf_counter()
        code = object_file(text, quick=quick, is_shared=is_shared)
        if is_indexed or time.perf_counter() - started >= _SECONDS_WORTH_KEEPING:
            code_cache.store(name, code)
    return ObjectCode(name, code)


class MachineCode:
    """Machine code in the memory of this process, with its own global variables. Keep the object while it is used.

    `code`: a module, which is compiled (see `object_code`), or the object file of one.
    """

    def __init__(self, code: ir.Module | str | bytes, *, quick: bool = False):
        if not isinstance(code, bytes):
            code = object_code(code, quick=quick).code
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine(quick=quick))
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address_of(self, name: str) -> int:
        """Return the address of a function."""
        return int(self._engine.get_function_address(name))

    def write_words(self, name: str, words: Sequence[int]) -> None:
        """Write words to a global array of external linkage, `i64 name[n]`."""
        array = (ctypes.c_int64 * len(words)).from_address(self._engine.get_global_value_address(name))
        array[:] = list(words)
