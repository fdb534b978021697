"""PTX, NVIDIA's assembly language, from the text of an LLVM module; the driver of the card compiles it further.

The cache of machine code keeps it, by the digest of the text and the target. The driver has a cache of its own.
"""

from __future__ import annotations

from typing import Any

from checker.engines.native.llvm import code_cache

KERNELS = ("expand", "steps", "insert", "compact", "rebuild")
"""The names of the kernels; a spec without step invariants and symmetry has no `steps`."""

OLDEST = (7, 5)
"""The oldest compute capability that is supported (2018): the driver of CUDA 13 takes no older one."""

_TARGETS = ((9, 0), (8, 0), OLDEST)
_FEATURES = "+ptx80"
_VERSION = "gpu 1"
"""The version of `_machine_code`: change it with the function."""


def target_of(capability: tuple[int, int]) -> str:
    """Return LLVM's name of the best target that a card of a compute capability runs."""
    major, minor = next(target for target in _TARGETS if target <= capability)
    return f"sm_{major}{minor}"


def ptx_of(text: str, target: str) -> bytes:
    """Return the PTX of a module with the kernels; raise RuntimeError if the text is not LLVM's language."""
    import llvmlite

    name = code_cache.digest_of(text, f"{_VERSION} {target} {_FEATURES} llvmlite {llvmlite.__version__}")
    known = code_cache.load(name)
    if known is not None:
        return known
    compiled = _machine_code(text, target)
    code_cache.store(name, compiled)
    return compiled


def _machine_code(text: str, target: str) -> bytes:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple = "nvptx64-nvidia-cuda"
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=target, features=_FEATURES, opt=3)
    header = f'target triple = "{triple}"\ntarget datalayout = "{machine.target_data}"\n'
    module: Any = llvm.parse_assembly(header + text, llvm.create_context())
    for function in module.functions:
        if not function.is_declaration and function.name not in KERNELS:
            function.linkage = "internal"
    module.verify()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    builder.getModulePassManager().run(module, builder)
    assembly: str = machine.emit_assembly(module)
    return assembly.encode()
