"""A spec in LLVM's representation, with the kernels that explore it."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from checker.engines.native.explore.expansion import define_sink
from checker.engines.native.explore.kernel_definitions import add_kernels
from checker.engines.native.explore.memory_layout import MemoryLayout
from checker.engines.native.explore.spec_functions import SpecFunctions
from checker.engines.native.lowering.native_spec import NativeSpec, lower
from checker.engines.native.lowering.state_layout import state_layout
from checker.errors import SpecError
from checker.ir import nodes
from checker.language.instance_limit import require_few_instances
from checker.language.spec import Spec

if TYPE_CHECKING:
    from checker.frontend.symmetry import ProgramSymmetry

MOST_PROPERTIES = 63
"""Limit of the packed formats: 63 of 64 mask bits."""


@dataclass(frozen=True)
class LoweredSpec:
    """The text of a spec's LLVM module, for states of `words` words and a number of action instances.

    Bit i of a mask is properties[i]. `runtime`: the constants that the code reads at run time, in the order of their
    words (`lowering.constant_block`).
    """

    words: int
    instances: int
    text: str
    properties: tuple[str, ...] = ()
    runtime: tuple[str, ...] = ()

    @classmethod
    def of(cls, native: NativeSpec, properties: Sequence[str] = (), runtime: tuple[str, ...] = ()) -> LoweredSpec:
        """Return the text of a module, with what the machine code does not contain."""
        return cls(native.layout.words, native.instances, str(native.module), tuple(properties), runtime)


def require_sizes(program: nodes.Program, properties: list[str]) -> None:
    """Raise SpecError for more action instances or properties than the packed formats can number."""
    require_few_instances(program)
    if len(properties) > MOST_PROPERTIES:
        raise SpecError(f"{len(properties)} properties at once, over {MOST_PROPERTIES}: choose some with --property")


def lower_with_kernels(
    spec: Spec,
    program: nodes.Program,
    properties: list[str],
    runtime_constants: tuple[str, ...] = (),
    *,
    symmetry: ProgramSymmetry | None = None,
    with_lanes: bool = False,
) -> NativeSpec:
    """Return a typed program in LLVM's representation, together with the explorer's kernels."""
    require_sizes(program, properties)
    layout = MemoryLayout(state_layout(program.variables).words, program.instances)
    native = lower(
        program,
        runtime_constants=runtime_constants,
        with_view=True,
        with_lanes=with_lanes,
        define_sink=functools.partial(define_sink, layout=layout),
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
    add_kernels(functions)
    return native
