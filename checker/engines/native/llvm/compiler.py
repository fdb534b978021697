"""The compiler of LLVM's text: the passes, and machine code for this processor."""

from __future__ import annotations

import functools
from typing import Any

import llvmlite
import llvmlite.binding as llvm

_LARGE_FUNCTION = 1_500_000
"""The characters of a function above which it is compiled without optimisation.

LLVM's time grows with the square of the size of a function: 2 s for this size, and 50 s for 7 million characters, which
take 3 s without optimisation. The largest function of the specs of this project has 0.7 million.
"""


_OPTIONS = ("-disable-lsr", "-enable-misched=false", "-post-RA-scheduler=0")
"""Options of LLVM: without loop strength reduction, and without the two schedulers of machine instructions.

On KIP-320, they take a seventh of the time of compiling, for code that is not measurably faster.
"""


@functools.cache
def initialise() -> None:
    """Initialise LLVM's code generator for this processor, for this process."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for option in _OPTIONS:
        llvm.set_option("tidemark", option)


def target_text() -> str:
    """Return the processor, its features, and the version of LLVM: machine code for another target must not run."""
    target, processor, features = _host()
    version = ".".join(map(str, llvm.llvm_version_info))
    return f"{target.triple} {processor} {features} LLVM {version} llvmlite {llvmlite.__version__}"


def target_machine(*, quick: bool) -> Any:
    """Return a new target machine. An execution engine owns the machine that it gets."""
    target, processor, features = _host()
    level = 0 if quick else 2
    return target.create_target_machine(cpu=processor, features=features, opt=level, jit=True)


@functools.cache
def _host() -> tuple[Any, str, str]:
    """Return LLVM's target for this process, the name of the processor, and its features."""
    initialise()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def object_file(text: str, *, quick: bool, is_shared: bool = False) -> bytes:
    """Return the object file of a module; raise RuntimeError if the text is not LLVM's language.

    `is_shared`: many explorations run the code.
    """
    machine = target_machine(quick=quick)
    header = f'target triple = "{machine.triple}"\ntarget datalayout = "{machine.target_data}"\n'
    # A context of its own, since threads may compile at the same time.
    module = llvm.parse_assembly(header + text, llvm.create_context())
    if not quick:
        _optimise(module, machine, len(text))
    elif is_shared:
        # Other quick code runs for a moment: these passes would take longer than the quarter of its time that they
        # save.
        _run(module, machine, "always_inliner", "sroa")
    code: bytes = machine.emit_object(module)
    return code


def _optimise(module: Any, machine: Any, length: int) -> None:
    """Run the passes that pay off on a module whose text has `length` characters.

    On KIP-320, combining instructions takes 90 ms, for code that is 4% faster.
    """
    if length > _LARGE_FUNCTION:
        for function in module.functions:
            if len(str(function)) > _LARGE_FUNCTION:
                _compile_quickly(function)
    _run(module, machine, "always_inliner", "sroa", "simplify_cfg")
    for function in module.functions:
        if any(b"cold" in attributes.split() for attributes in function.attributes):
            # Functions that rarely run. Not before the passes, which would skip them.
            _compile_quickly(function)


def _run(module: Any, machine: Any, *names: str) -> None:
    """Run the passes of some names on a module."""
    passes = llvm.create_new_module_pass_manager()
    for name in names:
        getattr(passes, f"add_{name}_pass")()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2)))


def _compile_quickly(function: Any) -> None:
    """Let LLVM compile a function without optimisation."""
    function.add_function_attribute("noinline")
    function.add_function_attribute("optnone")
