"""Lowering of collections: queries of sets, sequences and bags, and changed copies of them."""

from __future__ import annotations

from checker.engines.smt.lowering import arithmetic, arrays, integers
from checker.engines.smt.lowering.conversion import converted
from checker.engines.smt.lowering.encoding import blank, constant
from checker.engines.smt.lowering.evaluation import SymbolicEvaluator, SymbolicSubject
from checker.engines.smt.lowering.integers import SymbolicInteger, compare, concrete, is_index, is_insertion_index
from checker.engines.smt.lowering.logic import Truth, any_of, both, implies, negate
from checker.engines.smt.lowering.loops import items_in
from checker.engines.smt.lowering.sets import SymbolicSets, added
from checker.engines.smt.lowering.symbolic_values import SymbolicSet, Value, equal, merged
from checker.ir import nodes
from checker.language.types import NeverType, SetType


class SymbolicCollections(SymbolicSubject):
    """Evaluates queries of collections and changed copies of them."""

    def __init__(self, expressions: SymbolicEvaluator, sets: SymbolicSets):
        super().__init__(expressions)
        self._sets = sets

    # Queries.

    def contains(self, node: nodes.Contains) -> Value:
        container = self.expressions.evaluate(node.container)
        kind = node.container.type
        item, has_counterpart = self.as_item(node, self.expressions.evaluate(node.item))
        if isinstance(container, SymbolicSet):
            assert isinstance(kind, SetType)
            is_member = any_of(
                both(member, equal(item, constant(kind.item, value)))
                for value, member in zip(kind.item.values(), container.members, strict=True)
                if member is not False
            )
            return both(has_counterpart, is_member)
        return both(has_counterpart, arrays.contains(container, item))

    def as_item(self, node: nodes.Contains | nodes.Count, item: Value) -> tuple[Value, Truth]:
        """Return an item converted to a container's item type, and whether that type has it."""
        kind = node.container.type.item  # type: ignore[attr-defined]
        if isinstance(kind, NeverType):
            return None, False
        return converted(item, node.item.type, kind)

    def length(self, node: nodes.Length) -> Value:
        container = self.expressions.evaluate(node.container)
        return arrays.count_true(iter(container.members)) if isinstance(container, SymbolicSet) else container.length

    def count(self, node: nodes.Count) -> Value:
        container = self.expressions.evaluate(node.container)
        item, has_counterpart = self.as_item(node, self.expressions.evaluate(node.item))
        if has_counterpart is False:
            return concrete(0)
        return integers.choose(has_counterpart, arrays.count(container, item), concrete(0))

    def index_of(self, node: nodes.IndexOf) -> Value:
        container, item = self.expressions.evaluate(node.container), self.expressions.evaluate(node.item)
        position = arrays.position_of(container, item)
        self.context.check(compare("<", position, container.length), node.site)
        return integers.narrowed(position, 0, max(len(container.items) - 1, 0))

    # Changed copies.

    def set_remove(self, node: nodes.SetRemove) -> Value:
        base, item = self.expressions.evaluate(node.base), self.expressions.evaluate(node.item)
        if isinstance(base, SymbolicSet):
            return self._sets.removed(node, base, item)
        position = arrays.position_of(base, item)
        self.context.check(compare("<", position, base.length), node.site)
        return arrays.deleted(base, position, blank(node.type.item))  # type: ignore[attr-defined]

    def bag_add(self, node: nodes.BagAdd) -> Value:
        base, item = self.expressions.evaluate(node.base), self.expressions.evaluate(node.item)
        self.context.check(compare("<", base.length, concrete(len(base.items))), node.site)
        return arrays.with_item(base, item, is_set=False)

    def items_of(self, node: nodes.ItemsOf) -> Value:
        result = blank(node.type)
        for item in node.items:
            result = self.with_item(node, result, self.expressions.evaluate(item), True)
        return result

    def with_item(self, node: nodes.Expr, base: Value, item: Value, test: Truth) -> Value:
        """Return a set or sequence with an item added where `test` is true; record a failure over the capacity."""
        if isinstance(base, SymbolicSet):
            return added(node.type, base, item, test)
        has_room = compare("<", base.length, concrete(len(base.items)))
        if isinstance(node.type, SetType):
            self.context.check(any_of((negate(test), has_room, arrays.contains(base, item))), node.site)
            return merged(test, arrays.with_item(base, item, is_set=True), base)
        self.context.check(implies(test, has_room), node.site)
        return arrays.appended(base, item, test)

    def seq_insert(self, node: nodes.SeqInsert) -> Value:
        base = self.expressions.evaluate(node.base)
        index = base.length if node.index is None else self.expressions.number(node.index)
        item = self.expressions.evaluate(node.item)
        has_room = compare("<", base.length, concrete(len(base.items)))
        self.context.check(both(is_insertion_index(index, base.length), has_room), node.site)
        if not base.items:
            return base
        if node.index is None:
            return arrays.appended(base, item)
        return arrays.inserted(base, integers.narrowed(index, 0, len(base.items)), item)

    def seq_delete(self, node: nodes.SeqDelete) -> Value:
        base = self.expressions.evaluate(node.base)
        index = self.deletion_index(node, base.length)
        self.context.check(is_index(index, base.length), node.site)
        index = integers.narrowed(index, 0, max(len(base.items) - 1, 0))
        return arrays.deleted(base, index, blank(node.type.item))  # type: ignore[attr-defined]

    def deletion_index(self, node: nodes.SeqDelete, length: SymbolicInteger) -> SymbolicInteger:
        """Return the index of the item to delete (default: the last one)."""
        return arithmetic.subtract(length, concrete(1)) if node.index is None else self.expressions.number(node.index)

    def seq_slice(self, node: nodes.SeqSlice) -> Value:
        base = self.expressions.evaluate(node.base)
        low, high = self.slice_bounds(node, concrete(len(base.items)))
        return arrays.sliced(base, low, high, blank(node.type.item), inverted=node.inverted)  # type: ignore[attr-defined]

    def slice_bounds(self, node: nodes.SeqSlice, end: SymbolicInteger) -> tuple[SymbolicInteger, SymbolicInteger]:
        """Return the bounds of a slice (defaults: 0 and `end`); record a failure where one is negative."""
        low = concrete(0) if node.low is None else self._slice_bound(node, node.low)
        high = end if node.high is None else self._slice_bound(node, node.high)
        return low, high

    def _slice_bound(self, node: nodes.SeqSlice, bound: nodes.Expr) -> SymbolicInteger:
        number = self.expressions.number(bound)
        self.context.check(compare("<=", concrete(0), number), node.site)
        return integers.narrowed(number, 0, number.high)

    def seq_concat(self, node: nodes.SeqConcat) -> Value:
        left, right = self.expressions.evaluate(node.left), self.expressions.evaluate(node.right)
        capacity = arrays.capacity_of(node.type)
        fits = compare("<=", arithmetic.add(left.length, right.length), concrete(capacity))
        self.context.check(fits, node.site)
        return arrays.concatenated(left, right, blank(node.type.item), capacity)  # type: ignore[attr-defined]

    def sorted(self, node: nodes.Sorted) -> Value:
        base, result = self.expressions.evaluate(node.base), arrays.empty(node.type)
        for present, item in items_in(node.base.type, base):
            result = merged(present, arrays.with_item(result, item, is_set=False), result)
        return result
