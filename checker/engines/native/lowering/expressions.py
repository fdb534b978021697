"""Lowering of expressions: bools as branches, and calls of helpers."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from checker.engines.native.lowering.analysis import is_cheap, is_direct, reassigned_locals
from checker.engines.native.lowering.constructors import ConstructorLowering
from checker.engines.native.lowering.emitter import MemoryPlace, Value
from checker.engines.native.lowering.evaluation import NOWHERE, NativeFrame
from checker.ir import nodes
from checker.language.types import Type


class ExpressionLowering(ConstructorLowering):
    """Emits every expression."""

    def branch_on(self, node: nodes.Expr, then: ir.Block, otherwise: ir.Block) -> None:
        """Emit a bool expression as a branch, evaluating no more of it than decides."""
        if isinstance(node, nodes.Not):
            self.branch_on(node.operand, otherwise, then)
        elif isinstance(node, nodes.Logical) and not node.eager and not is_cheap(node):
            for operand in node.operands[:-1]:
                rest = self.emit.block(node.operator)
                targets = (rest, otherwise) if node.operator == "and" else (then, rest)
                self.branch_on(operand, *targets)
                self.emit.position(rest)
            self.branch_on(node.operands[-1], then, otherwise)
        elif isinstance(node, nodes.Fold) and node.kind in ("all", "any"):
            self._branch_on_quantifier(node, then, otherwise)
        elif isinstance(node, nodes.HelperCall) and is_direct(node.function) and not self._is_outlined(node):
            self._inline(node, lambda returned: self.branch_on(returned, then, otherwise))
        else:
            self.emit.branch(self.truth(node), then, otherwise)

    def _is_outlined(self, node: nodes.HelperCall) -> bool:
        return self.outliner is not None and self.outliner.wants(node.function)

    def begin(self, function: nodes.Function, result: MemoryPlace, kind: Type, end: ir.Block) -> None:
        """Begin the body of a helper: its result goes to a place, and `return` to a block."""
        self.frame = NativeFrame(
            reassigned=reassigned_locals(function.body, function.parameters), result=result, result_type=kind, end=end
        )

    def _HelperCall(self, node: nodes.HelperCall) -> Value:
        if self.outliner is not None and self.outliner.wants(node.function):
            return self.outliner.call(self, node)
        if is_direct(node.function):
            results: list[Value] = []
            self._inline(node, lambda returned: results.append(self._as_result(returned, node.type)))
            return results[0]
        place = self.own_place(node.type)
        frame = self._frame_of(node)
        frame.result, frame.result_type, frame.end = place, node.type, self.emit.block("returned")
        before, self.frame = self.frame, frame
        self.statements(node.function.body)
        self.emit.jump(frame.end)
        self.emit.position(frame.end)
        self.frame = before
        return self.read_own(place, node.type)

    def _as_result(self, returned: nodes.Expr, kind: Type) -> Value:
        return self.convert(self.evaluate(returned), kind, self.failing(NOWHERE))

    def _frame_of(self, node: nodes.HelperCall) -> NativeFrame:
        arguments = [self.evaluate(argument) for argument in node.arguments]
        frame = NativeFrame(reassigned=reassigned_locals(node.function.body, node.function.parameters))
        before, self.frame = self.frame, frame
        for parameter, argument in zip(node.function.parameters, arguments, strict=True):
            self.set_local(parameter, argument)
        self.frame = before
        return frame

    def _inline(self, node: nodes.HelperCall, use: Callable[[nodes.Expr], None]) -> None:
        """Emit a function whose only `return` is its last statement, and use what it returns inside its frame."""
        frame = self._frame_of(node)
        before, self.frame = self.frame, frame
        self.statements(node.function.body[:-1])
        last = node.function.body[-1]
        assert isinstance(last, nodes.Return) and last.value is not None
        use(last.value)
        self.frame = before

    def statements(self, body: tuple[nodes.Stmt, ...]) -> None:
        """Emit statements; `Statements` provides this."""
        raise NotImplementedError
