"""Lowering of statements."""

from __future__ import annotations

from llvmlite import ir

from checker.engines.native.lowering.collections import is_bit_set
from checker.engines.native.lowering.emitter import PackedValue
from checker.engines.native.lowering.expressions import ExpressionLowering
from checker.ir import nodes
from checker.language.types import SetType

CHANGES = (nodes.SeqInsert, nodes.SeqDelete, nodes.SeqSlice, nodes.SetRemove, nodes.BagAdd)


class StatementLowering(ExpressionLowering):
    """Emits the code of statements."""

    def statements(self, body: tuple[nodes.Stmt, ...]) -> None:
        """Emit statements in order."""
        for statement in body:
            getattr(self, f"_do_{type(statement).__name__}")(statement)

    def _do_AssignLocal(self, node: nodes.AssignLocal) -> None:
        self.set_local(node.local, self.evaluate(node.value))

    def _do_AssignPlace(self, node: nodes.AssignPlace) -> None:
        value = node.value
        if isinstance(value, CHANGES) and value.base is node.place:
            self.change(value, self.place_of(node.place))
            return
        if self._adds_or_takes_one(node):
            assert isinstance(value, nodes.SetOperation) and isinstance(value.right, nodes.ItemsOf)
            item = self.evaluate(value.right.items[0])
            assert isinstance(item, PackedValue)
            self.change_set(self.place_of(node.place), value.operator, item, self.failing(node.site))
            return
        evaluated = self.evaluate(value)
        self.emit.store(self.place_of(node.place), evaluated)

    def _adds_or_takes_one(self, node: nodes.AssignPlace) -> bool:
        """Say whether this is `add` or `discard` on a sorted set, which is done in place."""
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

    def _do_If(self, node: nodes.If) -> None:
        then, otherwise, end = (self.emit.block(name) for name in ("then", "else", "end"))
        self.branch_on(node.test, then, otherwise)
        for block, body, is_true in ((then, node.then, True), (otherwise, node.otherwise, False)):
            self.emit.position(block)
            self.took(node.test, is_true)
            self.statements(body)
            self.emit.jump(end)
        self.emit.position(end)

    def _do_For(self, node: nodes.For) -> None:
        left = self.emit.block("left")

        def body(go_on: ir.Block) -> None:
            self.frame.loops.append((go_on, left))
            self.statements(node.body)
            self.frame.loops.pop()

        self.bind(node.clause, body, copy=True)
        self.emit.jump(left)
        self.emit.position(left)

    def _do_Break(self, node: nodes.Break) -> None:
        self.emit.jump(self.frame.loops[-1][1])

    def _do_Continue(self, node: nodes.Continue) -> None:
        self.emit.jump(self.frame.loops[-1][0])

    def _do_Require(self, node: nodes.Require) -> None:
        assert self.disabled is not None
        go_on = self.emit.block("required")
        self.branch_on(node.test, go_on, self.disabled)
        self.emit.position(go_on)

    def _do_Return(self, node: nodes.Return) -> None:
        if node.value is not None:
            assert self.frame.result is not None and self.frame.result_type is not None
            self.write_own(self.frame.result, self.evaluate(node.value), self.frame.result_type)
        assert self.frame.end is not None
        self.emit.jump(self.frame.end)

    def _do_Do(self, node: nodes.Do) -> None:
        self.evaluate(node.call)
