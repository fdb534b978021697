"""Lowering of calls of helpers: inlined, or as calls of an LLVM function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from checker.engines.native.llvm import ir
from checker.engines.native.lowering.analysis import reassigned_locals, returns_only_at_end
from checker.engines.native.lowering.emitter import Value
from checker.engines.native.lowering.evaluation import Evaluator, NativeFrame, SubjectLowering
from checker.ir import nodes


class CallLowering(SubjectLowering):
    """Emits calls of helpers. `emit_body` emits the statements of an inlined one."""

    def __init__(self, expressions: Evaluator, emit_body: Callable[[tuple[nodes.Stmt, ...]], None]):
        super().__init__(expressions)
        self._emit_body = emit_body

    def helper_call(self, node: nodes.HelperCall) -> Value:
        outliner = self.context.outliner
        if outliner is not None and outliner.is_outlined(node.function):
            return outliner.call(self.expressions, node)
        if returns_only_at_end(node.function):
            return self._return_at_end(node)
        return self._return_anywhere(node)

    def _return_at_end(self, node: nodes.HelperCall) -> Value:
        results: list[Value] = []

        def keep(returned: nodes.Expr) -> None:
            results.append(self.context.convert(self.expressions.evaluate(returned), node.type))

        # The value needs no memory and no jump. A constant result remains known to the code that uses it.
        self._inline(node, keep)
        return results[0]

    def _return_anywhere(self, node: nodes.HelperCall) -> Value:
        """Emit a body with several `return`: each stores its value and jumps to the end."""
        place = self.context.new_variable(node.type)
        frame = self._frame_of(node)
        end = self.emit.block("returned")
        frame.result, frame.result_type, frame.end = place, node.type, end
        with self._in_frame(frame):
            self._emit_body(node.function.body)
            self.emit.jump(end)
            self.emit.position(end)
        return self.context.read_variable(place, node.type)

    def branches_inline(self, node: nodes.Expr) -> bool:
        """Return whether `branch_on_call` can emit an expression."""
        if not isinstance(node, nodes.HelperCall) or not returns_only_at_end(node.function):
            return False
        return self.context.outliner is None or not self.context.outliner.is_outlined(node.function)

    def branch_on_call(self, node: nodes.HelperCall, then: ir.Block, otherwise: ir.Block) -> None:
        """Emit a bool helper inline as a branch."""
        self._inline(node, lambda returned: self.expressions.branch_on(returned, then, otherwise))

    def _inline(self, node: nodes.HelperCall, use: Callable[[nodes.Expr], None]) -> None:
        """Emit a helper that returns only at its end, and `use` the returned expression in its frame."""
        with self._in_frame(self._frame_of(node)):
            self._emit_body(node.function.body[:-1])
            last = node.function.body[-1]
            assert isinstance(last, nodes.Return) and last.value is not None
            use(last.value)

    def _frame_of(self, node: nodes.HelperCall) -> NativeFrame:
        """Emit the arguments of a call and return the frame of the helper, with its parameters bound."""
        # The arguments read locals of the caller's frame; the parameters are bound in the helper's frame.
        arguments = [self.expressions.evaluate(argument) for argument in node.arguments]
        frame = NativeFrame(reassigned=reassigned_locals(node.function.body, node.function.parameters))
        with self._in_frame(frame):
            for parameter, argument in zip(node.function.parameters, arguments, strict=True):
                self.context.set_local(parameter, argument)
        return frame

    @contextmanager
    def _in_frame(self, frame: NativeFrame) -> Iterator[None]:
        """Emit code inside the frame of a helper."""
        caller, self.context.frame = self.context.frame, frame
        yield
        self.context.frame = caller
