"""From an LLVM module to machine code in this process."""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import llvmlite
import llvmlite.binding as llvm

from checker.engines.native.llvm import code_cache

if TYPE_CHECKING:
    from checker.engines.native.llvm import ir

_PASSES = 4
"""The version of `_optimise`, which is part of the digest of cached code: change it with the passes."""

_SECONDS_WORTH_KEEPING = 0.01


@functools.cache
def _initialise() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _target_machine(*, quick: bool) -> Any:
    """Return a new target machine. An execution engine owns the machine that it gets."""
    _initialise()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    features = llvm.get_host_cpu_features().flatten()
    level = 0 if quick else 2
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=level, jit=True)


def target_text() -> str:
    """Return the processor, its features, and the version of LLVM: machine code for another target must not run."""
    _initialise()
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
    machine = _target_machine(quick=quick)
    text = f'target triple = "{machine.triple}"\ntarget datalayout = "{machine.target_data}"\n{module}'
    digest = code_cache.digest_of(text, target_text(), f"{_PASSES} {quick}")
    found = code_cache.load(digest)
    if found is None:
        found = _compiled(text, machine, digest, quick=quick, is_kept=is_indexed)
    return digest, found


def _compiled(text: str, machine: Any, digest: str, *, quick: bool, is_kept: bool) -> bytes:
    """Compile a module's text, and keep the machine code in the cache."""
    started = time.perf_counter()
    parsed = llvm.parse_assembly(text)
    if not quick:
        # Quick code runs for a moment: the passes would take longer than the tenth of its time that they save.
        _optimise(parsed, machine)
    code = bytes(machine.emit_object(parsed))
    # A smaller module is compiled about as fast as it is read.
    if is_kept or time.perf_counter() - started >= _SECONDS_WORTH_KEEPING:
        code_cache.store(digest, code)
    return code


class MachineCode:
    """Machine code in the memory of this process, with its own global variables. Keep the object while it is used.

    `code`: a module, which is compiled (see `object_code`), or the machine code of one.
    """

    def __init__(self, code: ir.Module | str | bytes, *, quick: bool = False):
        if not isinstance(code, bytes):
            code = object_code(code, quick=quick)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine(quick=quick))
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address_of(self, name: str) -> int:
        """Return the address of a function."""
        return int(self._engine.get_function_address(name))

    def write_words(self, name: str, words: Sequence[int]) -> None:
        """Write words to a global array of external linkage, `i64 name[n]`."""
        array = (ctypes.c_int64 * len(words)).from_address(self._engine.get_global_value_address(name))
        array[:] = list(words)


def _optimise(module: Any, machine: Any) -> None:
    """Run the passes that pay off. On KIP-320, combining instructions takes 90 ms, for code that is 4% faster."""
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)
    for function in module.functions:
        if any(b"cold" in attributes.split() for attributes in function.attributes):
            # Functions that rarely run are compiled quickly. Not before the passes, which would skip them.
            function.add_function_attribute("noinline")
            function.add_function_attribute("optnone")
