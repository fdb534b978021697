"""Lowering of the operations of sets: as bit sets, and as sorted arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal as OneOf

from checker.engines.smt.lowering import arrays, integers
from checker.engines.smt.lowering.encoding import blank, constant
from checker.engines.smt.lowering.evaluation import SymbolicSubject
from checker.engines.smt.lowering.integers import compare, concrete
from checker.engines.smt.lowering.logic import Truth, all_of, any_of, both, choose, either, implies, negate
from checker.engines.smt.lowering.symbolic_values import SymbolicArray, SymbolicSet, Value, equal, merged
from checker.ir import nodes
from checker.language.types import SetType, Type


class SymbolicSets(SymbolicSubject):
    """Evaluates the operations of sets."""

    def subset(self, node: nodes.Subset) -> Value:
        left, right = self.expressions.evaluate(node.left), self.expressions.evaluate(node.right)
        if isinstance(left, SymbolicSet):
            is_subset = all_of(implies(a, b) for a, b in zip(left.members, right.members, strict=True))
        else:
            is_subset = arrays.is_subset(left, right)
        return both(is_subset, negate(equal(left, right))) if node.strict else is_subset

    def set_operation(self, node: nodes.SetOperation) -> Value:
        left, right = self.expressions.evaluate(node.left), self.expressions.evaluate(node.right)
        if isinstance(left, SymbolicSet):
            pairs = zip(left.members, right.members, strict=True)
            return SymbolicSet(tuple(BITWISE[node.operator](a, b) for a, b in pairs))
        assert isinstance(node.type, SetType)
        if node.operator in "&-":
            tests = [arrays.contains(right, item) for _, item in arrays.used(left)]
            wanted = tests if node.operator == "&" else [negate(test) for test in tests]
            room = SetType(node.type.item, max(len(left.items), node.type.capacity or 0))
            return self._within_capacity(node, arrays.filtered(left, wanted, room))
        return self._unite(node, left, right)

    def _unite(self, node: nodes.SetOperation, left: SymbolicArray, right: SymbolicArray) -> Value:
        """Return the union or symmetric difference; record a failure where it exceeds the capacity."""
        assert isinstance(node.type, SetType)
        # Room for every item of both: `_within_capacity` drops items only after it has checked the length.
        room = SetType(node.type.item, len(left.items) + len(right.items))
        result = arrays.resized(left, room.capacity or 0, blank(room.item))
        if node.operator == "^":
            only_left = [negate(arrays.contains(right, item)) for _, item in arrays.used(left)]
            result = arrays.filtered(left, only_left, room)
        for is_used, item in arrays.used(right):
            wanted = is_used if node.operator == "|" else both(is_used, negate(arrays.contains(left, item)))
            result = merged(wanted, arrays.with_item(result, item, is_set=True), result)
        return self._within_capacity(node, result)

    def _within_capacity(self, node: nodes.SetOperation, array: SymbolicArray) -> SymbolicArray:
        """Return an array with the capacity of the node's type; record a failure where it has more items."""
        capacity = arrays.capacity_of(node.type)
        self.context.check(compare("<=", array.length, concrete(capacity)), node.site)
        length = integers.narrowed(array.length, 0, capacity)
        unused = blank(node.type.item)  # type: ignore[attr-defined]
        return SymbolicArray(length, arrays.resized(array, capacity, unused).items)

    def removed(self, node: nodes.SetRemove, base: SymbolicSet, item: Value) -> SymbolicSet:
        """Return a bit set without an item; record a failure where the item is absent."""
        pairs = list(zip(base.members, single(node.type, item).members, strict=True))
        self.context.check(any_of(both(a, b) for a, b in pairs), node.site)
        return SymbolicSet(tuple(both(a, negate(b)) for a, b in pairs))


def single(kind: Type, item: Value) -> SymbolicSet:
    """Return the bit set of one item."""
    assert isinstance(kind, SetType)
    return SymbolicSet(tuple(equal(item, constant(kind.item, value)) for value in kind.item.values()))


def added(kind: Type, base: SymbolicSet, item: Value, test: Truth) -> SymbolicSet:
    """Return a bit set with an item where `test` is true, else unchanged."""
    pairs = zip(base.members, single(kind, item).members, strict=True)
    return SymbolicSet(tuple(either(a, both(test, b)) for a, b in pairs))


BITWISE: dict[OneOf["|", "&", "-", "^"], Callable[[Truth, Truth], Truth]] = {
    "|": either,
    "&": both,
    "-": lambda one, other: both(one, negate(other)),
    "^": lambda one, other: choose(one, negate(other), other),
}
