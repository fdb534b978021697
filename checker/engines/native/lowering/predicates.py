"""Lowering of properties and constraints to functions that check states and steps.

    check_state(self, mask):                            within_constraint(self):
        result = 0                                          for each constraint:
        for each property of states in mask:                    if it is false or leaves its bounds:
            if it is a finding: set its bit                         return false
            if it leaves its bounds: set FAILED_BIT         return true
        for each constraint, and for the view:
            if it leaves its bounds: set FAILED_BIT
        return result

`check_step(old, self, mask)` is the same for properties of steps, without the constraints and the view.
"""

from __future__ import annotations

from checker.engines.native.llvm import ir
from checker.engines.native.lowering.emitter import I1, I64, WORD_POINTER, Emitter, PackedValue
from checker.engines.native.lowering.module import SpecModule
from checker.engines.native.lowering.views import NativeView
from checker.ir import nodes

FAILED_BIT = 63
"""The bit that `check_state` and `check_step` set if a property left a type's bounds."""

PREMISE_ROLES = ("premise", "step premise")
STEP_ROLES = ("step invariant", "refinement", "step premise")
"""Roles of predicates. A premise predicate is recorded where it is true and cannot be violated: `evidence.premises`."""


class PredicateLowering:
    """Emits `check_state`, `check_step` and `within_constraint`."""

    def __init__(self, module: SpecModule, view: NativeView | None = None):
        self.module = module
        self._view = view

    def define_check(self, name: str, properties: list[nodes.Predicate]) -> ir.IrFunction:
        """Define `check_state` or `check_step`, which checks the properties that are selected by its mask."""
        states = 2 if name == "check_step" else 1
        function, emit = self.module.new_function(name, I64, [WORD_POINTER] * states + [I64])
        mask = function.args[states]
        roots = {"self": function.args[states - 1], "old": function.args[0]}
        result = emit.slot()
        emit.builder.store(ir.ConstantValue(I64, 0), result)

        def report(bit: int, block: ir.Block, then: ir.Block) -> None:
            emit.position(block)
            emit.builder.store(emit.value(emit.bit_or(emit.builder.load(result), bit)), result)
            emit.jump(then)

        for predicate in properties:
            # The position in the whole list, not in `properties`: `check_state` and `check_step` share one mask.
            bit = 1 << self.module.program.properties.index(predicate)
            wanted, hit, failed, skip = (emit.block(name) for name in (predicate.name, "found", "failed", "skip"))
            emit.branch(emit.compare("!=", emit.bit_and(mask, bit), 0), wanted, skip)
            emit.position(wanted)
            # An invariant is reported if it is false, a reachable or a premise if it is true. An evaluation that leaves
            # its bounds in a premise does so in the premise's property too, and is reported there.
            is_premise = predicate.role in PREMISE_ROLES
            targets = (hit, skip) if is_premise or predicate.role == "reachable" else (skip, hit)
            self._predicate(emit, predicate, roots, failed, *targets)
            report(bit, hit, skip)
            report(0 if is_premise else 1 << FAILED_BIT, failed, skip)
            emit.position(skip)
        may_view_fail = self._view is not None and self._view.may_fail
        if states == 1 and (self.module.program.constraints or may_view_fail):
            failed, end = emit.block("failed"), emit.block("checked")
            self._constraints_in_bounds(emit, roots, failed)
            self._view_in_bounds(emit, roots["self"], failed)
            emit.jump(end)
            report(1 << FAILED_BIT, failed, end)
            emit.position(end)
        emit.builder.ret(emit.builder.load(result))
        emit.finish()
        return function

    def _constraints_in_bounds(self, emit: Emitter, roots: dict[str, ir.Value], failed: ir.Block) -> None:
        """Emit a jump to `failed` if a constraint leaves its bounds. LLVM removes a constraint that never does."""
        for predicate in self.module.program.constraints:
            either = emit.block("either")
            self._predicate(emit, predicate, roots, failed, either, either)
            emit.position(either)

    def _view_in_bounds(self, emit: Emitter, state: ir.Value, failed: ir.Block) -> None:
        """Emit a jump to `failed` if the view leaves its bounds."""
        if self._view is not None and self._view.may_fail:
            assert self._view.compute is not None
            status = emit.builder.call(self._view.compute, [state, emit.slot(max(2, self._view.words))])
            emit.check(emit.compare("==", status, 0), lambda: emit.jump(failed))

    def _predicate(
        self,
        emit: Emitter,
        predicate: nodes.Predicate,
        roots: dict[str, ir.Value],
        failed: ir.Block,
        then: ir.Block,
        otherwise: ir.Block,
    ) -> None:
        """Emit a predicate as a three-way branch: it is true, it is false, or its evaluation left its bounds."""
        lowering = self.module.new_lowering(emit, roots, lambda site: emit.jump(failed), None)
        context, expressions = lowering.context, lowering.expressions
        context.fail_with = lambda number: emit.jump(failed)
        assert predicate.function.result is not None
        call = nodes.HelperCall(predicate.function.result, nodes.Site("", 0, ""), predicate.function, ())
        if call.type == nodes.BOOL:
            expressions.branch_on(call, then, otherwise)
        else:
            value = context.convert(expressions.evaluate(call), nodes.BOOL)
            assert isinstance(value, PackedValue)
            emit.branch(value.number, then, otherwise)

    def define_within_constraint(self) -> ir.IrFunction:
        """Define `within_constraint`; it returns false for a constraint that leaves its bounds."""
        function, emit = self.module.new_function("within_constraint", I1, [WORD_POINTER])
        # A constraint that leaves its bounds is reported by `check_state`. Here it only means that the state is not
        # expanded.
        outside = emit.block("outside")
        for predicate in self.module.program.constraints:
            holds = emit.block("holds")
            self._predicate(emit, predicate, {"self": function.args[0]}, outside, holds, outside)
            emit.position(holds)
        emit.builder.ret(ir.ConstantValue(I1, 1))
        emit.position(outside)
        emit.builder.ret(ir.ConstantValue(I1, 0))
        emit.finish()
        return function
