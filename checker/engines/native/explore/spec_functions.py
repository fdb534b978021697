"""What a compiled spec hands to the explorer."""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from checker.engines.native.explore.memory_layout import MemoryLayout


@dataclass(frozen=True)
class SpecFunctions:
    """The LLVM functions of one compiled spec, of internal linkage, in one module.

    A state is `words` 64-bit words. `instances` is the number of action instances; a state emits each once at most.

    - `emit`: void (i8* sink, i64* successor, i32 instance); declared only, `add_kernels` gives it its body.
    - `fail`: void (i8* sink, i32 instance, i32 site); declared only, likewise.
    - `expand_state`: void (i64* state, i8* sink); calls `emit` for each enabled action instance and `fail` for each
      evaluation that leaves its bounds.
    - `check_state`: i64 (i64* state, i64 mask); of the properties in `mask`, the bits of the invariants that are false
      and of the reachables that are true. Bit 63: evaluating some property left its bounds.
    - `check_step`: i64 (i64* old, i64* new, i64 mask); the bits of the step invariants that are false, bit 63 likewise;
      None where the spec has no step invariants.
    - `within_constraint`: i1 (i64* state); None where the spec has no constraint.
    """

    module: ir.Module
    words: int
    instances: int
    emit: ir.Function
    fail: ir.Function
    expand_state: ir.Function
    check_state: ir.Function
    check_step: ir.Function | None = None
    within_constraint: ir.Function | None = None

    @property
    def layout(self) -> MemoryLayout:
        """The sizes that follow; raises ValueError where there are more action instances than the store can name."""
        return MemoryLayout(self.words, self.instances)
