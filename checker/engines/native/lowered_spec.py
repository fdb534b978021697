"""A spec in LLVM's representation, with the kernels that explore it.

Neither this module nor what it imports needs NumPy or LLVM: a process that lowers a spec does not load them.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from checker.engines.native.explore.expansion import define_sink
from checker.engines.native.explore.kernel_definitions import add_kernels
from checker.engines.native.explore.memory_layout import MemoryLayout
from checker.engines.native.explore.spec_functions import SpecFunctions
from checker.engines.native.llvm.parts import OnPart
from checker.engines.native.lowering.native_spec import NativeSpec, lower
from checker.engines.native.lowering.state_layout import state_layout
from checker.errors import SpecError
from checker.ir import nodes
from checker.language.spec import Spec

if TYPE_CHECKING:
    from checker.frontend.symmetry import ProgramSymmetry

MOST_INSTANCES = 65535
MOST_PROPERTIES = 63
"""Limits of the packed formats: uint16 instances, of which one value is reserved, and 63 of 64 mask bits."""


def require_sizes(spec: Spec, program: nodes.Program, properties: list[str]) -> None:
    """Raise SpecError if a spec has more action instances or properties than the packed formats can number."""
    if program.instances > MOST_INSTANCES:
        raise SpecError(
            f"{spec.name} has {program.instances} action instances, over {MOST_INSTANCES}: "
            "bind a parameter with require(parameter in self.collection)"
        )
    if len(properties) > MOST_PROPERTIES:
        raise SpecError(f"{len(properties)} properties at once, over {MOST_PROPERTIES}: choose some with --property")


def lowered_with_kernels(
    spec: Spec,
    program: nodes.Program,
    properties: list[str],
    runtime_constants: tuple[str, ...] = (),
    *,
    symmetry: ProgramSymmetry | None = None,
    with_lanes: bool = False,
    on_part: OnPart | None = None,
) -> NativeSpec:
    """Return a typed program in LLVM's representation, together with the explorer's kernels.

    The module has several parts; `on_part` is called with the text of each as soon as it is known.
    """
    require_sizes(spec, program, properties)
    layout = MemoryLayout(state_layout(program.variables).words, program.instances)
    native = lower(
        program,
        runtime_constants=runtime_constants,
        with_view=True,
        with_lanes=with_lanes,
        define_sink=functools.partial(define_sink, layout=layout),
        on_part=on_part,
        unordered_folds=() if symmetry is None else symmetry.unordered_folds,
    )
    representative = None
    if symmetry is not None:
        # Imported here: few runs use symmetry.
        from checker.engines.native.lowering.permuted_states import define_representative

        representative = define_representative(native.module, native.layout, symmetry.domains)
    functions = SpecFunctions(
        native.module,
        layout.words,
        layout.instances,
        native.expand_state,
        native.check_state,
        native.check_step,
        native.within_constraint,
        representative,
        native.view,
        native.lanes,
    )
    # The kernels of most specs are the same: the cache has them once.
    native.module.end_part()
    add_kernels(functions)
    native.module.end_part()
    return native
