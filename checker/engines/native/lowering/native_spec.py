"""Lowering of a typed program to LLVM functions on packed states.

- `expand_state` calls `emit` for each successor of a state, and `fail` for each evaluation that leaves its bounds.
- `check_state` and `check_step` evaluate properties. `within_constraint` evaluates the constraints.

Each kernel (`explore`, `walk`, `batch`) defines `emit` and `fail` for its own purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from checker.engines.native.llvm import ir
from checker.engines.native.lowering.actions import define_expand_state
from checker.engines.native.lowering.branches import Branches
from checker.engines.native.lowering.lane_functions import LaneFunctions, define_candidates, define_suspects
from checker.engines.native.lowering.module import SpecModule
from checker.engines.native.lowering.predicates import STEP_ROLES, PredicateLowering
from checker.engines.native.lowering.refinements import RefinementLowering
from checker.engines.native.lowering.state_layout import StateLayout
from checker.engines.native.lowering.step_labels import StepLabels
from checker.engines.native.lowering.views import NativeView, define_view
from checker.ir import nodes


@dataclass
class NativeSpec:
    """The LLVM functions of a spec, in one module.

    - `properties`: bit i of every mask is properties[i].
    - `sites`: the argument `site` of `fail` is a position in this list.
    - `lanes`: the functions that look at several states at once; None if they are not defined.
    - `branches`: the branches that led to a successor, which `emit` may read; None if they are not recorded.
    - `labels`: the labels of steps, which `emit` may read; None if they are not computed.
    """

    module: ir.Module
    layout: StateLayout
    properties: list[nodes.Predicate]
    instances: int
    emit: ir.IrFunction
    fail: ir.IrFunction
    expand_state: ir.IrFunction
    check_state: ir.IrFunction
    check_step: ir.IrFunction | None
    within_constraint: ir.IrFunction | None
    sites: list[nodes.Site] = field(default_factory=list)
    branches: Branches | None = None
    labels: StepLabels | None = None
    view: NativeView | None = None
    lanes: LaneFunctions | None = None


def lower(
    program: nodes.Program,
    *,
    branches: bool = False,
    labels: bool = False,
    runtime_constants: tuple[str, ...] = (),
    with_view: bool = False,
    with_lanes: bool = False,
    unordered_folds: Collection[nodes.Fold] = (),
    define_sink: Callable[[ir.IrFunction, ir.IrFunction], None] | None = None,
) -> NativeSpec:
    """Return the LLVM functions of a program; raise SpecError if its state cannot be packed.

    `branches`: record the branches that actions take. `labels`: compute the label of each step. `runtime_constants`:
    the constants that the program reads at run time, in the order of their words in the module's `ConstantBlock`.
    `with_view`: define the view, and let `check_state` report a state in which it leaves a type's bounds. `with_lanes`:
    define functions that look at several states at once, see `LaneFunctions`; if there are `candidates`, `expand_state`
    has a third argument. `unordered_folds`: the `all` and `any` of which all items are evaluated
    (`checker.frontend.symmetry`). `define_sink`: gives `emit` and `fail` their bodies; None: the caller does that.
    """
    module = SpecModule(
        program,
        record_branches=branches,
        with_labels=labels,
        runtime_constants=runtime_constants,
        unordered_folds=unordered_folds,
    )
    module.compare_steps = RefinementLowering(module).allows
    view = define_view(module, program.view) if with_view and program.view is not None else None
    candidates = define_candidates(module) if with_lanes else None
    if define_sink is not None:
        define_sink(module.emit, module.fail)
    expand_state = define_expand_state(module, {} if candidates is None else candidates.guarded)
    suspects = define_suspects(module) if with_lanes else None
    predicates = PredicateLowering(module, view)
    of_steps = [predicate for predicate in program.properties if predicate.role in STEP_ROLES]
    of_states = [predicate for predicate in program.properties if predicate.role not in STEP_ROLES]
    check_state = predicates.define_check("check_state", of_states)
    if suspects is not None and suspects.has_all and not (view is not None and view.may_fail):
        # It is called only for states that may violate a property.
        check_state.attributes.add("cold")
    check_step = predicates.define_check("check_step", of_steps) if of_steps else None
    within_constraint = predicates.define_within_constraint() if program.constraints else None
    native = NativeSpec(
        module.module,
        module.layout,
        program.properties,
        program.instances,
        module.emit,
        module.fail,
        expand_state,
        check_state,
        check_step,
        within_constraint,
        module.sites,
        module.branches,
        module.labels,
        view,
        None if candidates is None or suspects is None else LaneFunctions(candidates, suspects),
    )
    module.release()
    return native
