"""The choice of the store of an exploration."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from checker.engines.native.explore.kernels import Kernels
from checker.engines.native.explore.search_store import SearchStore
from checker.engines.native.explore.store import Store
from checker.engines.native.lowering.state_layout import StateLayout
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.run.plan import Plan

if TYPE_CHECKING:
    from checker.engines.native.explore.compact.compact_store import CompactStore


def store_for(spec: Spec, layout: StateLayout, plan: Plan) -> Callable[[Kernels], SearchStore]:
    """Return the constructor of the store with which an exploration begins."""
    return _constructor(spec, layout) if plan.store == "compact" else Store


def compact_store_for(spec: Spec, layout: StateLayout, plan: Plan) -> Callable[[Kernels], CompactStore] | None:
    """Return the constructor of the store to which the states move when memory is short; None if they stay."""
    return _constructor(spec, layout) if plan.store == "auto" else None


def _constructor(spec: Spec, layout: StateLayout) -> Callable[[Kernels], CompactStore]:
    def compact_store(kernels: Kernels) -> CompactStore:
        # Most explorations never need the store: it is imported, and its kernels are compiled, when it is made.
        from checker.engines.native.explore.compact.compact_store import CompactStore
        from checker.engines.native.explore.compact.state_code import StateCode
        from checker.engines.native.explore.compact.table_kernels import CompactKernels

        code, view_words = StateCode.of_layout(layout), 0
        if spec.names_of(Role.VIEW):
            from checker.frontend import compile_view

            view = compile_view(spec)
            assert view is not None
            code, view_words = StateCode.of_view(layout, view)
        # Optimised once those of the spec are.
        quick = kernels.better is not None
        return CompactStore(kernels, CompactKernels(code, kernels.layout, view_words=view_words, quick=quick))

    return compact_store
