"""The choice of the store of an exploration."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from checker.engines.native.explore.kernels import Kernels
from checker.engines.native.explore.search_store import SearchStore
from checker.engines.native.explore.store import Store
from checker.errors import SpecError
from checker.language.liveness import liveness_names
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.run.plan import Plan

if TYPE_CHECKING:
    from checker.engines.native.engine import CompiledSpec
    from checker.engines.native.explore.compact.compact_store import CompactStore


def store_for(compiled: CompiledSpec, plan: Plan) -> Callable[[Kernels], SearchStore]:
    """Return the constructor of the store with which an exploration begins.

    Raises SpecError if the plan chooses the compact store, and it is unsuitable for the spec.
    """
    if plan.store != "compact":
        return Store
    if why := why_not_compact(compiled.spec, plan):
        raise SpecError(f"{compiled.spec.name}: {why}: use --store usual")
    return _constructor(compiled)


def compact_store_for(compiled: CompiledSpec, plan: Plan) -> Callable[[Kernels], CompactStore] | None:
    """Return the constructor of the store to which the states move when memory is short; None if they stay."""
    if plan.store != "auto" or why_not_compact(compiled.spec, plan):
        return None
    return _constructor(compiled)


def _constructor(compiled: CompiledSpec) -> Callable[[Kernels], CompactStore]:
    def compact_store(kernels: Kernels) -> CompactStore:
        # Most explorations never need the store: it is imported, and its kernels are compiled, when it is made.
        from checker.engines.native.explore.compact.compact_store import CompactStore
        from checker.engines.native.explore.compact.state_code import StateCode
        from checker.engines.native.explore.compact.table_kernels import CompactKernels

        return CompactStore(kernels, CompactKernels(StateCode.of_layout(compiled.layout), kernels.layout))

    return compact_store


def why_not_compact(spec: Spec, plan: Plan) -> str:
    """Return why the compact store is unsuitable for a spec and a plan; "" if it is suitable."""
    if names := liveness_names(spec, plan.properties):
        return f"the compact store has no steps between states, which the liveness property {names[0]} needs"
    if spec.names_of(Role.VIEW):
        return "the compact store has no views"
    return ""
