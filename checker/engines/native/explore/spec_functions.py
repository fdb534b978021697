"""The LLVM functions of a compiled spec that the explorer's kernels call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from checker.engines.native.explore.memory_layout import MemoryLayout
from checker.engines.native.llvm import ir

if TYPE_CHECKING:
    from checker.engines.native.lowering.lane_functions import LaneFunctions
    from checker.engines.native.lowering.views import NativeView


@dataclass(frozen=True)
class SpecFunctions:
    """The LLVM functions of one compiled spec, in one module.

    A state has `words` 64-bit words. `instances` is the number of action instances. A state emits each at most once.

    - `void expand_state(i64* state, i8* sink)`: calls `emit` for each enabled action instance, and `fail` for each
      evaluation that leaves its bounds; `expansion.define_sink` has defined both.
    - `i64 check_state(i64* state, i64 mask)`: returns the bits of the invariants in `mask` that are false and of the
      reachables in `mask` that are true. Bit 63: the evaluation of some property left its bounds.
    - `i64 check_step(i64* old, i64* new, i64 mask)`: returns the bits of the step invariants in `mask` that are false,
      and bit 63 as above. None if the spec has no step invariants.
    - `i1 within_constraint(i64* state)`: returns whether every constraint is true. None if the spec has no constraint.
    - `view`: computes what distinguishes states. None: all words do.
    - `lanes`: the functions that look at several states at once; None: none. If it has `candidates`, `expand_state` has
      a third argument: the address of the candidates of the state.
    - `void representative(i64* state)`: replaces a successor by the state that is stored in its place. None if states
      are stored as they are.
    """

    module: ir.Module
    words: int
    instances: int
    expand_state: ir.IrFunction
    check_state: ir.IrFunction
    check_step: ir.IrFunction | None = None
    within_constraint: ir.IrFunction | None = None
    representative: ir.IrFunction | None = None
    view: NativeView | None = None
    lanes: LaneFunctions | None = None

    def key_of(self, builder: ir.IRBuilder, state: list[ir.Value]) -> list[ir.Value]:
        """Return the words that distinguish a state from others."""
        return state if self.view is None else self.view.key_of(builder, state)

    @property
    def checks_every_state(self) -> bool:
        """Whether `check_state` must be called without properties: a constraint or the view may leave its bounds."""
        return self.within_constraint is not None or (self.view is not None and self.view.may_fail)

    @property
    def layout(self) -> MemoryLayout:
        """The sizes of the explorer's memory; raises ValueError if there are too many action instances."""
        return MemoryLayout(self.words, self.instances)
