"""From an LLVM module to machine code in this process."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING

import llvmlite.binding as llvm

from checker.engines.native.llvm.compiler import target_machine
from checker.engines.native.llvm.part_compiler import PartCompiler
from checker.engines.native.llvm.parts import object_files, packed

if TYPE_CHECKING:
    from checker.engines.native.llvm import ir


def object_code(module: ir.Module | str, *, quick: bool = False) -> bytes:
    """Return a module as machine code for this processor, see `parts.object_files`.

    The module may be given as text, which may come from another machine: it names no target, and gets that of this
    process. `PartCompiler` documents `quick`. The code comes from the cache on disk if that has it.
    """
    return packed(part.code for part in PartCompiler(quick=quick).finished(str(module)))


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
