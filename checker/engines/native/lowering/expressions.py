"""Lowering of expressions: passes every node to the class of its subject."""

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
        self._places = PlaceLowering(self)
        self._scalars = ScalarLowering(self)
        self._structs = StructLowering(self)
        self._comprehensions = ComprehensionLowering(self, self.loops)
        self._calls = CallLowering(self, emit_body)

    def view(self, node: nodes.Expr) -> Value:
        return self._places.view(node)

    def place_of(self, node: nodes.Expr) -> MemoryPlace:
        return self._places.place_of(node)

    def branch_on(self, node: nodes.Expr, then: ir.Block, otherwise: ir.Block) -> None:
        match node:
            case nodes.Not():
                # Negation costs nothing here: the targets are exchanged.
                self.branch_on(node.operand, otherwise, then)
            case nodes.Logical() if not node.eager and not is_cheap(node):
                self._branch_on_operands(node, then, otherwise)
            case nodes.Fold() if node.kind in ("all", "any"):
                self._comprehensions.branch_on_quantifier(node, then, otherwise)
            case nodes.HelperCall() if self._calls.branches_inline(node):
                self._calls.branch_on_call(node, then, otherwise)
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

    # Reads.

    def literal(self, node: nodes.Literal) -> Value:
        return self._places.literal(node)

    def local_read(self, node: nodes.LocalRead) -> Value:
        return self._places.local_read(node)

    def state_read(self, node: nodes.StateRead) -> Value:
        return self._places.state_read(node)

    def constant_read(self, node: nodes.ConstantRead) -> Value:
        return self._places.constant_read(node)

    def field_read(self, node: nodes.FieldRead) -> Value:
        return self._places.field_read(node)

    def index_read(self, node: nodes.IndexRead) -> Value:
        return self._places.index_read(node)

    def convert(self, node: nodes.Convert) -> Value:
        return self._places.convert(node)

    # Integers and bools.

    def arithmetic(self, node: nodes.Arithmetic) -> Value:
        return self._scalars.arithmetic(node)

    def extremum(self, node: nodes.Extremum) -> Value:
        return self._scalars.extremum(node)

    def comparison(self, node: nodes.Comparison) -> Value:
        return self._scalars.comparison(node)

    def logical(self, node: nodes.Logical) -> Value:
        return self._scalars.logical(node)

    def not_(self, node: nodes.Not) -> Value:
        return self._scalars.not_(node)

    def conditional(self, node: nodes.Conditional) -> Value:
        return self._scalars.conditional(node)

    # Queries of collections.

    def contains(self, node: nodes.Contains) -> Value:
        return self.collections.contains(node)

    def is_alternative(self, node: nodes.IsAlternative) -> Value:
        return self._structs.is_alternative(node)

    def length(self, node: nodes.Length) -> Value:
        return self.collections.length(node)

    def count(self, node: nodes.Count) -> Value:
        return self.collections.count(node)

    def index_of(self, node: nodes.IndexOf) -> Value:
        return self.collections.index_of(node)

    def subset(self, node: nodes.Subset) -> Value:
        return self.sets.subset(node)

    # Constructors of structs and collections.

    def struct_new(self, node: nodes.StructNew) -> Value:
        return self._structs.struct_new(node)

    def struct_replace(self, node: nodes.StructReplace) -> Value:
        return self._structs.struct_replace(node)

    def map_build(self, node: nodes.MapBuild) -> Value:
        return self._structs.map_build(node)

    def map_items(self, node: nodes.MapItems) -> Value:
        return self._structs.map_items(node)

    def items_of(self, node: nodes.ItemsOf) -> Value:
        return self.collections.items_of(node)

    def set_operation(self, node: nodes.SetOperation) -> Value:
        return self.sets.set_operation(node)

    def set_remove(self, node: nodes.SetRemove) -> Value:
        return self.collections.changed_copy(node)

    def bag_add(self, node: nodes.BagAdd) -> Value:
        return self.collections.changed_copy(node)

    def seq_insert(self, node: nodes.SeqInsert) -> Value:
        return self.collections.changed_copy(node)

    def seq_delete(self, node: nodes.SeqDelete) -> Value:
        return self.collections.changed_copy(node)

    def seq_slice(self, node: nodes.SeqSlice) -> Value:
        return self.collections.changed_copy(node)

    def seq_concat(self, node: nodes.SeqConcat) -> Value:
        return self.collections.seq_concat(node)

    def sorted(self, node: nodes.Sorted) -> Value:
        return self.collections.sorted(node)

    # Comprehensions and calls.

    def fold(self, node: nodes.Fold) -> Value:
        return self._comprehensions.fold(node)

    def helper_call(self, node: nodes.HelperCall) -> Value:
        return self._calls.helper_call(node)

    def refines(self, node: nodes.Refines) -> Value:
        assert self.context.refinements is not None
        return PackedValue(nodes.BOOL, self.context.refinements.allows(self, node))
