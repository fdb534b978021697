"""Lowering of expressions: reads, integers and bools."""

from __future__ import annotations

from collections.abc import Callable

from checker.engines.smt.lowering import arrays, integers
from checker.engines.smt.lowering.conversion import converted
from checker.engines.smt.lowering.evaluation import SymbolicEvaluation, field_index, merged_states
from checker.engines.smt.lowering.integers import SymbolicInteger, compare, concrete
from checker.engines.smt.lowering.logic import Truth, both, either, negate
from checker.engines.smt.lowering.symbolic_values import (
    SymbolicArray,
    SymbolicTuple,
    Value,
    blank,
    constant,
    equal,
    merged,
)
from checker.ir import nodes
from checker.language.types import MapType


class SymbolicScalars(SymbolicEvaluation):
    """Evaluates what reads the state and what computes with single values."""

    # Reads.

    def _Literal(self, node: nodes.Literal) -> Value:
        return constant(node.type, node.value)

    def _LocalRead(self, node: nodes.LocalRead) -> Value:
        return self.frame.locals[node.local]

    def _StateRead(self, node: nodes.StateRead) -> Value:
        return self.roots[node.root][node.variable]

    def _FieldRead(self, node: nodes.FieldRead) -> Value:
        return self.evaluate(node.base).parts[field_index(node.base.type, node.name)]

    def _IndexRead(self, node: nodes.IndexRead) -> Value:
        base = self.evaluate(node.base)
        if isinstance(node.base.type, MapType):
            key = self.evaluate(node.index)
            return self.at_key(node.base.type, base, key)
        index = self.checked_index(node, base)
        return arrays.item_at(base, index) if base.items else blank(node.type)

    def at_key(self, kind: MapType, base: SymbolicTuple, key: Value) -> Value:
        """Return a map's value at a key."""
        tests = self.key_tests(kind, key)
        result = base.parts[tests[-1][0]]
        for position, test in reversed(tests[:-1]):
            result = merged(test, base.parts[position], result)
        return result

    def key_tests(self, kind: MapType, key: Value) -> list[tuple[int, Truth]]:
        """Return the positions that a key may have in a map, each with whether it is the one."""
        tests = [(i, equal(key, constant(kind.key, found))) for i, found in enumerate(kind.key.values())]
        possible = [(i, test) for i, test in tests if test is not False]
        return possible or tests

    def checked_index(self, node: nodes.IndexRead, base: SymbolicArray) -> SymbolicInteger:
        """Return the index of a sequence's item, which is an error outside it."""
        index = self.number(node.index)
        inside = both(compare("<=", concrete(0), index), compare("<", index, base.length))
        self.check(node, inside)
        return integers.narrowed(index, 0, max(len(base.items) - 1, 0))

    def _Convert(self, node: nodes.Convert) -> Value:
        value, is_one = converted(self.evaluate(node.base), node.base.type, node.type)
        self.check(node, is_one)
        return value

    # Integers and bools.

    def _Arithmetic(self, node: nodes.Arithmetic) -> Value:
        left, right = self.number(node.left), self.number(node.right)
        if node.operator in ("//", "%"):
            self.check(node, compare("!=", right, concrete(0)))
            quotient, remainder = integers.divide(left, right)
            return quotient if node.operator == "//" else remainder
        operation = {"+": integers.add, "-": integers.subtract, "*": integers.multiply}[node.operator]
        return operation(left, right)

    def _Extremum(self, node: nodes.Extremum) -> Value:
        best = self.number(node.operands[0])
        for operand in node.operands[1:]:
            best = integers.extremum(node.operator, best, self.number(operand))
        return best

    def _Comparison(self, node: nodes.Comparison) -> Value:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        if isinstance(left, SymbolicInteger):
            return compare(node.operator, left, right)
        same = equal(left, right)
        return same if node.operator == "==" else negate(same)

    def _Not(self, node: nodes.Not) -> Value:
        return negate(self.truth(node.operand))

    def _Logical(self, node: nodes.Logical) -> Value:
        is_and = node.operator == "and"
        combine: Callable[[Truth, Truth], Truth] = both if is_and else either
        result = self.truth(node.operands[0])
        for operand in node.operands[1:]:
            if node.eager:
                result = combine(result, self.truth(operand))
                continue
            if result is (not is_and):
                return result
            result = combine(result, self._where(result if is_and else negate(result), operand))
        return result

    def _where(self, test: Truth, node: nodes.Expr) -> Value:
        """Return the value of an expression that is evaluated, and may change the state, only where `test` is true."""
        before = self.roots["self"]
        with self.under(test):
            value = self.evaluate(node)
        if self.roots["self"] is not before:
            self.roots["self"] = merged_states(test, self.roots["self"], before)
        return value

    def _Conditional(self, node: nodes.Conditional) -> Value:
        test = self.truth(node.test)
        if isinstance(test, bool):
            return self.evaluate(node.then if test else node.otherwise)
        return merged(test, self._where(test, node.then), self._where(negate(test), node.otherwise))
