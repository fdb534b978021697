"""Lowering of the operations of sets of members of a Domain of open size."""

from __future__ import annotations

from checker.engines.smt.lowering.logic import Truth, both, implies, negate
from checker.engines.smt.lowering.sets import BITWISE, SymbolicSets
from checker.engines.smt.lowering.symbolic_values import UnboundedSet, Value, each_index, equal, is_unbounded_set
from checker.ir import nodes


class QuantifiedSets(SymbolicSets):
    """Evaluates the operations of unbounded sets; passes those of other sets to `SymbolicSets`."""

    def subset(self, node: nodes.Subset) -> Value:
        if not is_unbounded_set(node.left.type):
            return super().subset(node)
        left: UnboundedSet = self.expressions.evaluate(node.left)
        right: UnboundedSet = self.expressions.evaluate(node.right)
        is_subset: Truth = each_index(left.size, lambda member: implies(left.has(member), right.has(member)))
        return both(is_subset, negate(equal(left, right))) if node.strict else is_subset

    def set_operation(self, node: nodes.SetOperation) -> Value:
        if not is_unbounded_set(node.type):
            return super().set_operation(node)
        left: UnboundedSet = self.expressions.evaluate(node.left)
        right: UnboundedSet = self.expressions.evaluate(node.right)
        combine = BITWISE[node.operator]
        return UnboundedSet(left.size, lambda member: combine(left.has(member), right.has(member)))
