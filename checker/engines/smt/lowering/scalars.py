"""Lowering of integers and bools."""

from __future__ import annotations

from collections.abc import Callable

from checker.engines.smt.lowering import arithmetic
from checker.engines.smt.lowering.evaluation import SymbolicSubject
from checker.engines.smt.lowering.integers import SymbolicInteger, compare, concrete
from checker.engines.smt.lowering.logic import Truth, both, either, negate
from checker.engines.smt.lowering.symbolic_values import Value, equal, merged
from checker.ir import nodes


class SymbolicScalars(SymbolicSubject):
    """Evaluates arithmetic, comparisons, logic and conditional expressions."""

    def arithmetic(self, node: nodes.Arithmetic) -> Value:
        left, right = self.expressions.number(node.left), self.expressions.number(node.right)
        if node.operator in ("//", "%"):
            self.context.check(compare("!=", right, concrete(0)), node.site)
            quotient, remainder = arithmetic.divide(left, right)
            return quotient if node.operator == "//" else remainder
        operation = {"+": arithmetic.add, "-": arithmetic.subtract, "*": arithmetic.multiply}[node.operator]
        return operation(left, right)

    def extremum(self, node: nodes.Extremum) -> Value:
        best = self.expressions.number(node.operands[0])
        for operand in node.operands[1:]:
            best = arithmetic.extremum(node.operator, best, self.expressions.number(operand))
        return best

    def comparison(self, node: nodes.Comparison) -> Value:
        left, right = self.expressions.evaluate(node.left), self.expressions.evaluate(node.right)
        if isinstance(left, SymbolicInteger):
            return compare(node.operator, left, right)
        are_equal = equal(left, right)
        return are_equal if node.operator == "==" else negate(are_equal)

    def not_(self, node: nodes.Not) -> Value:
        return negate(self.expressions.truth(node.operand))

    def logical(self, node: nodes.Logical) -> Value:
        is_and = node.operator == "and"
        combine: Callable[[Truth, Truth], Truth] = both if is_and else either
        result = self.expressions.truth(node.operands[0])
        for operand in node.operands[1:]:
            if node.eager:
                result = combine(result, self.expressions.truth(operand))
                continue
            if result is (not is_and):
                return result
            # Short-circuit evaluation: the operand is evaluated only where the ones before do not decide.
            is_undecided = result if is_and else negate(result)
            result = combine(result, self.expressions.evaluate_where(is_undecided, operand))
        return result

    def conditional(self, node: nodes.Conditional) -> Value:
        test = self.expressions.truth(node.test)
        if isinstance(test, bool):
            return self.expressions.evaluate(node.then if test else node.otherwise)
        then = self.expressions.evaluate_where(test, node.then)
        return merged(test, then, self.expressions.evaluate_where(negate(test), node.otherwise))
