"""Lowering of expressions: the classes of the subjects, and conditions as branches."""

from __future__ import annotations

from collections.abc import Callable

from checker.engines.native.llvm import ir
from checker.engines.native.lowering.analysis import is_cheap
from checker.engines.native.lowering.calls import CallLowering
from checker.engines.native.lowering.collections import CollectionLowering
from checker.engines.native.lowering.comprehensions import ComprehensionLowering
from checker.engines.native.lowering.emitter import MemoryPlace, PackedValue, Value
from checker.engines.native.lowering.evaluation import EvaluationContext, Evaluator
from checker.engines.native.lowering.loops import LoopLowering
from checker.engines.native.lowering.places import PlaceLowering
from checker.engines.native.lowering.scalars import ScalarLowering
from checker.engines.native.lowering.sets import SetLowering
from checker.engines.native.lowering.structs import StructLowering
from checker.ir import nodes


class ExpressionLowering(Evaluator):
    """Emits expressions. `emit_body` emits the statements of inlined helpers."""

    def __init__(self, context: EvaluationContext, emit_body: Callable[[tuple[nodes.Stmt, ...]], None]):
        super().__init__(context)
        self.loops = LoopLowering(self)
        self.sets = SetLowering(self)
        self.collections = CollectionLowering(self, self.loops)
        self.places = PlaceLowering(self)
        self.scalars = ScalarLowering(self)
        self.structs = StructLowering(self)
        self.comprehensions = ComprehensionLowering(self, self.loops)
        self.calls = CallLowering(self, emit_body)

    def view(self, node: nodes.Expr) -> Value:
        return self.places.view(node)

    def place_of(self, node: nodes.Expr) -> MemoryPlace:
        return self.places.place_of(node)

    def branch_on(self, node: nodes.Expr, then: ir.Block, otherwise: ir.Block) -> None:
        match node:
            case nodes.Not():
                # Negation costs nothing here: the targets are exchanged.
                self.branch_on(node.operand, otherwise, then)
            case nodes.Logical() if not node.eager and not is_cheap(node):
                self._branch_on_operands(node, then, otherwise)
            case nodes.Fold() if node.kind in ("all", "any"):
                self.comprehensions.branch_on_quantifier(node, then, otherwise)
            case nodes.HelperCall() if self.calls.branches_inline(node):
                self.calls.branch_on_call(node, then, otherwise)
            case _:
                self.context.emit.branch(self.truth(node), then, otherwise)

    def _branch_on_operands(self, node: nodes.Logical, then: ir.Block, otherwise: ir.Block) -> None:
        """Emit `and` or `or`: each operand but the last branches to the end or to the next operand."""
        emit = self.context.emit
        for operand in node.operands[:-1]:
            rest = emit.block(node.operator)
            targets = (rest, otherwise) if node.operator == "and" else (then, rest)
            self.branch_on(operand, *targets)
            emit.position(rest)
        self.branch_on(node.operands[-1], then, otherwise)

    def truth_by_branches(self, node: nodes.Expr) -> Value:
        emit = self.context.emit
        # A slot in place of a phi node: any number of blocks may jump to `then` and `otherwise`.
        result = emit.slot()
        then, otherwise, end = (emit.block(name) for name in ("true", "false", "decided"))
        self.branch_on(node, then, otherwise)
        for block, truth in ((then, 1), (otherwise, 0)):
            emit.position(block)
            emit.builder.store(emit.value(truth), result)
            emit.jump(end)
        emit.position(end)
        return PackedValue(nodes.BOOL, emit.compare("!=", emit.builder.load(result), 0))

    def refines(self, node: nodes.Refines) -> Value:
        assert self.context.compare_steps is not None
        return PackedValue(nodes.BOOL, self.context.compare_steps(self, node))
