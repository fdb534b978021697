"""Lowering of statements."""

from __future__ import annotations

from checker.engines.native.llvm import ir
from checker.engines.native.lowering.arrays import is_bit_set
from checker.engines.native.lowering.collections import CollectionChange
from checker.engines.native.lowering.emitter import PackedValue
from checker.engines.native.lowering.evaluation import EvaluationContext
from checker.engines.native.lowering.expressions import ExpressionLowering
from checker.ir import nodes
from checker.ir.visitor import StatementVisitor
from checker.language.types import SetType


class StatementLowering(StatementVisitor):
    """Emits the statements of actions and helpers."""

    def __init__(self, context: EvaluationContext):
        self.context = context
        self.emit = context.emit
        self.expressions = ExpressionLowering(context, self.visit_all)

    def assign_local(self, node: nodes.AssignLocal) -> None:
        self.context.set_local(node.local, self.expressions.evaluate(node.value))

    def assign_place(self, node: nodes.AssignPlace) -> None:
        value, expressions = node.value, self.expressions
        if isinstance(value, CollectionChange) and value.base is node.place:
            # `self.log.append(x)` changes the sequence where it is, without a copy.
            # The operands may read the same collection: `change` evaluates them before it writes.
            expressions.collections.change(value, expressions.place_of(node.place))
            return
        if _adds_or_discards_one(node):
            assert isinstance(value, nodes.SetOperation) and isinstance(value.right, nodes.ItemsOf)
            item = expressions.evaluate(value.right.items[0])
            assert isinstance(item, PackedValue)
            place, fail = expressions.place_of(node.place), self.context.failure_at(node.site)
            expressions.sets.add_or_discard(place, value.operator, item, fail)
            return
        # The value first: it may contain a helper call that writes, and the place may depend on what it writes.
        evaluated = expressions.evaluate(value)
        self.emit.store(expressions.place_of(node.place), evaluated)

    def if_(self, node: nodes.If) -> None:
        then, otherwise, end = (self.emit.block(name) for name in ("then", "else", "end"))
        self.expressions.branch_on(node.test, then, otherwise)
        for block, body, is_true in ((then, node.then, True), (otherwise, node.otherwise, False)):
            self.emit.position(block)
            self.context.record_branch(node.test, is_true)
            self.visit_all(body)
            self.emit.jump(end)
        self.emit.position(end)

    def for_(self, node: nodes.For) -> None:
        end = self.emit.block("left")

        def body(next_item: ir.Block) -> None:
            loops = self.context.frame.loops
            loops.append((next_item, end))
            self.visit_all(node.body)
            loops.pop()

        # A copy, because the body may assign to the collection. The loop goes over the items that it had at the start.
        self.expressions.loops.bind(node.clause, body, copy=True)
        self.emit.jump(end)
        self.emit.position(end)

    def break_(self, node: nodes.Break) -> None:
        _, end = self.context.frame.loops[-1]
        self.emit.jump(end)

    def continue_(self, node: nodes.Continue) -> None:
        next_item, _ = self.context.frame.loops[-1]
        self.emit.jump(next_item)

    def require(self, node: nodes.Require) -> None:
        assert self.context.disabled is not None
        met = self.emit.block("required")
        self.expressions.branch_on(node.test, met, self.context.disabled)
        self.emit.position(met)

    def return_(self, node: nodes.Return) -> None:
        frame = self.context.frame
        if node.value is not None:
            assert frame.result is not None and frame.result_type is not None
            self.context.write_variable(frame.result, self.expressions.evaluate(node.value), frame.result_type)
        assert frame.end is not None
        self.emit.jump(frame.end)

    def do(self, node: nodes.Do) -> None:
        self.expressions.evaluate(node.call)


def _adds_or_discards_one(node: nodes.AssignPlace) -> bool:
    """Return whether this is `add` or `discard` on a sorted set, which is changed in place."""
    value = node.value
    return (
        isinstance(value, nodes.SetOperation)
        and value.left is node.place
        and isinstance(value.type, SetType)
        and not is_bit_set(value.type)
        and isinstance(value.right, nodes.ItemsOf)
        and len(value.right.items) == 1
        and value.operator in "|-"
    )
