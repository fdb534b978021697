"""From an LLVM module to machine code in this process."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import llvmlite
import llvmlite.binding as llvm

from checker.engines.native.llvm import code_cache
from checker.engines.native.llvm.compiler import compiled, initialise, target_machine
from checker.engines.native.llvm.parts import object_files

if TYPE_CHECKING:
    from checker.engines.native.llvm import ir

_PASSES = 7
"""The version of `compiled`, which is part of the digest of cached code: change it with the passes."""

_SECONDS_WORTH_KEEPING = 0.01


def target_text() -> str:
    """Return the processor, its features, and the version of LLVM: machine code for another target must not run."""
    initialise()
    processor = f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"
    return f"{processor} LLVM {'.'.join(map(str, llvm.llvm_version_info))} llvmlite {llvmlite.__version__}"


def object_code(module: ir.Module | str, *, quick: bool = False) -> bytes:
    """Return a module as machine code for this processor.

    The module may be given as text, which may come from another machine: it names no target, and gets that of this
    process. `quick`: compile in a seventh of the time; the code takes about twice as long to run. The code comes
    from the cache on disk if that has it.
    """
    return named_object_code(module, quick=quick)[1]


def named_object_code(module: ir.Module | str, *, quick: bool = False, is_indexed: bool = False) -> tuple[str, bytes]:
    """Return the name of a module's machine code in the cache, and the code; see `object_code`.

    `is_indexed`: the name will be kept, so the cache keeps the code even if it is compiled in a moment.
    """
    text = str(module)
    digest = code_cache.digest_of(text, target_text(), f"{_PASSES} {quick}")
    found = code_cache.load(digest)
    if found is None:
        started = time.perf_counter()
        found = compiled(text, quick=quick)
        # A smaller module is compiled about as fast as it is read.
        if is_indexed or time.perf_counter() - started >= _SECONDS_WORTH_KEEPING:
            code_cache.store(digest, found)
    return digest, found


class MachineCode:
    """Machine code in the memory of this process, with its own global variables. Keep the object while it is used.

    `code`: a module, which is compiled (see `object_code`), or the machine code of one.
    """

    def __init__(self, code: ir.Module | str | bytes, *, quick: bool = False):
        if not isinstance(code, bytes):
            code = object_code(code, quick=quick)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine(quick=quick))
        for part in object_files(code):
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(part))
        self._engine.finalize_object()

    def address_of(self, name: str) -> int:
        """Return the address of a function."""
        return int(self._engine.get_function_address(name))

    def write_words(self, name: str, words: Sequence[int]) -> None:
        """Write words to a global array of external linkage, `i64 name[n]`."""
        array = (ctypes.c_int64 * len(words)).from_address(self._engine.get_global_value_address(name))
        array[:] = list(words)
