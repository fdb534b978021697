"""Lowering of expressions to symbolic values."""

from __future__ import annotations

from checker.engines.smt.lowering.comprehensions import SymbolicComprehensions
from checker.engines.smt.lowering.conversion import converted
from checker.engines.smt.lowering.evaluation import SymbolicFrame, merged_states
from checker.engines.smt.lowering.scalars import SymbolicScalars
from checker.engines.smt.lowering.symbolic_values import Value
from checker.ir import nodes


class SymbolicExpressions(SymbolicScalars, SymbolicComprehensions):
    """Evaluates the expressions of one action or property on a symbolic state, calls of helpers among them."""

    def _HelperCall(self, node: nodes.HelperCall) -> Value:
        arguments = {
            parameter: converted(self.evaluate(argument), argument.type, parameter.type)[0]
            for parameter, argument in zip(node.function.parameters, node.arguments, strict=True)
        }
        before, running = self.frame, self.frame.running()
        state = self.roots["self"]
        self.roots["self"] = dict(state)
        self.frame = SymbolicFrame(arguments, result_type=node.function.result)
        with self.under(running):
            self.statements(node.function.body)
        result, self.frame = self.frame.result, before
        self.roots["self"] = merged_states(running, self.roots["self"], state) if node.function.writes else state
        return result

    def statements(self, body: tuple[nodes.Stmt, ...]) -> None:
        """Run statements; `Statements` provides this."""
        raise NotImplementedError
