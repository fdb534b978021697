"""Lowering of calls of helpers: their bodies are evaluated inline."""

from __future__ import annotations

from collections.abc import Callable

from checker.engines.smt.lowering.conversion import converted
from checker.engines.smt.lowering.evaluation import SymbolicEvaluator, SymbolicFrame, SymbolicSubject, merge_states
from checker.engines.smt.lowering.symbolic_values import Value
from checker.ir import nodes


class SymbolicCalls(SymbolicSubject):
    """Evaluates calls of helpers. `run_body` runs the statements of one."""

    def __init__(self, expressions: SymbolicEvaluator, run_body: Callable[[tuple[nodes.Stmt, ...]], None]):
        super().__init__(expressions)
        self._run_body = run_body

    def helper_call(self, node: nodes.HelperCall) -> Value:
        context = self.context
        arguments = {
            parameter: converted(self.expressions.evaluate(argument), argument.type, parameter.type)[0]
            for parameter, argument in zip(node.function.parameters, node.arguments, strict=True)
        }
        caller, running = context.frame, context.frame.running()
        state = context.roots["self"]
        # Writes change the dict in place: `state` keeps the values from before the call.
        context.roots["self"] = dict(state)
        context.frame = SymbolicFrame(arguments, result_type=node.function.result)
        with context.under(running):
            self._run_body(node.function.body)
        result, context.frame = context.frame.result, caller
        # The helper's statements ran as if its caller was running on every path: discard its writes where not.
        if node.function.writes:
            context.roots["self"] = merge_states(running, context.roots["self"], state)
        else:
            context.roots["self"] = state
        return result
