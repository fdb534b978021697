"""Lowering of expressions to symbolic values."""

from __future__ import annotations

from checker.ir import nodes
from checker.prove.comprehensions import Comprehensions
from checker.prove.conversion import converted
from checker.prove.evaluation import Frame, merged_states
from checker.prove.scalars import Scalars
from checker.prove.values import Value


class Expressions(Scalars, Comprehensions):
    """Evaluates the expressions of one action or property on a symbolic state, calls of helpers among them."""

    def _Call(self, node: nodes.Call) -> Value:
        arguments = {
            parameter: converted(self.evaluate(argument), argument.type, parameter.type)[0]
            for parameter, argument in zip(node.function.parameters, node.arguments, strict=True)
        }
        before, running = self.frame, self.frame.running()
        state = self.roots["self"]
        self.roots["self"] = dict(state)
        self.frame = Frame(arguments, result_type=node.function.result)
        with self.under(running):
            self.statements(node.function.body)
        result, self.frame = self.frame.result, before
        self.roots["self"] = merged_states(running, self.roots["self"], state) if node.function.writes else state
        return result

    def statements(self, body: tuple[nodes.Stmt, ...]) -> None:
        """Run statements; `Statements` provides this."""
        raise NotImplementedError
