"""Lowering of operations on sets."""

from __future__ import annotations

from checker.engines.native.lowering.arrays import is_bit_set
from checker.engines.native.lowering.emitter import Fail, MemoryPlace, Number, PackedValue, Value
from checker.engines.native.lowering.evaluation import SubjectLowering
from checker.ir import nodes
from checker.language.types import SetType


class SetLowering(SubjectLowering):
    """Emits union, intersection, difference, symmetric difference and inclusion, of bit sets and sorted sets."""

    def set_operation(self, node: nodes.SetOperation) -> Value:
        assert isinstance(node.type, SetType)
        # `s | {x}` and `s - {x}`: no set of one item is built.
        if isinstance(node.right, nodes.ItemsOf) and len(node.right.items) == 1 and node.operator in "|-":
            return self._with_one_changed(node, node.right.items[0])
        left, right = self.expressions.view(node.left), self.expressions.view(node.right)
        return self._combine(node.operator, node.type, left, right, self.context.failure_at(node.site))

    def _with_one_changed(self, node: nodes.SetOperation, item_node: nodes.Expr) -> Value:
        """Emit a set with one item added or removed."""
        item = self.expressions.view(item_node)
        assert isinstance(item, PackedValue)
        if is_bit_set(node.type):
            base = self.expressions.view(node.left)
            assert isinstance(base, PackedValue)
            bit = self.emit.shift_left(1, self.emit.bits_of(item))
            if node.operator == "|":
                return PackedValue(node.type, self.emit.bit_or(base.number, bit))
            return PackedValue(node.type, self.emit.bit_and(base.number, self.emit.bit_xor(bit, -1)))
        place = self.emit.temporary(node.type)
        self.emit.store(place, self.expressions.view(node.left))
        self.add_or_discard(place, node.operator, item, self.context.failure_at(node.site))
        return self.emit.load(place, copy=False)

    def add_or_discard(self, place: MemoryPlace, operator: str, item: PackedValue, fail: Fail) -> None:
        """Add an item to the sorted set at a place (`|`), or remove it if it is present (`-`)."""
        if operator == "|":
            self.arrays.add_sorted(place, item, fail)
            return
        position = self.arrays.position_of(place, item)
        is_in = self.emit.compare("<", position, self.arrays.length(place))
        self.emit.when(is_in, lambda: self.arrays.delete(place, position, fail))

    def _combine(self, operator: str, kind: SetType, left: Value, right: Value, fail: Fail) -> Value:
        if is_bit_set(kind):
            assert isinstance(left, PackedValue) and isinstance(right, PackedValue)
            # The complement also sets bits beyond the universe; the `and` with the left side clears them.
            if operator == "-":
                return PackedValue(kind, self.emit.bit_and(left.number, self.emit.bit_xor(right.number, -1)))
            operation = {"|": self.emit.bit_or, "&": self.emit.bit_and, "^": self.emit.bit_xor}[operator]
            return PackedValue(kind, operation(left.number, right.number))
        left_place, right_place = self.emit.spill(left), self.emit.spill(right)
        result = self.emit.temporary(kind)
        if operator == "|":
            self._add_all(left_place, result, fail)
            self._add_all(right_place, result, fail)
        elif operator == "^":
            # The two halves are disjoint, so their order does not matter.
            self._add_filtered(left_place, result, right_place, fail, wanted=False)
            self._add_filtered(right_place, result, left_place, fail, wanted=False)
        else:
            self._add_filtered(left_place, result, right_place, fail, wanted=operator == "&")
        return self.emit.load(result, copy=False)

    def _add_all(self, source: MemoryPlace, result: MemoryPlace, fail: Fail) -> None:
        """Add the items of one sorted set to another."""

        def add(position: Number) -> None:
            item = self.emit.load(self.emit.item(source, position))
            assert isinstance(item, PackedValue)
            self.arrays.add_sorted(result, item, fail)

        self.arrays.each(self.arrays.length(source), self.arrays.capacity(source), add)

    def _add_filtered(
        self, source: MemoryPlace, result: MemoryPlace, other: MemoryPlace, fail: Fail, *, wanted: bool
    ) -> None:
        """Add to `result` the items of `source` that are in `other` (`wanted`), or those that are not."""

        def add(position: Number) -> None:
            item = self.emit.load(self.emit.item(source, position))
            assert isinstance(item, PackedValue)
            is_in = self.arrays.contains(other, item)
            test = is_in if wanted else self.emit.negate(is_in)
            self.emit.when(test, lambda: self.arrays.add_sorted(result, item, fail))

        self.arrays.each(self.arrays.length(source), self.arrays.capacity(source), add)

    def subset(self, node: nodes.Subset) -> Value:
        left, right = self.expressions.view(node.left), self.expressions.view(node.right)
        assert isinstance(node.left.type, SetType)
        if is_bit_set(node.left.type):
            assert isinstance(left, PackedValue) and isinstance(right, PackedValue)
            outside = self.emit.bit_and(left.number, self.emit.bit_xor(right.number, -1))
            inside = self.emit.compare("==", outside, 0)
        else:
            outside_items = self._combine("-", node.left.type, left, right, self.context.failure_at(node.site))
            inside = self.emit.compare("==", self.arrays.length(self.emit.spill(outside_items)), 0)
        if node.strict:
            inside = self.emit.both(inside, self.emit.negate(self.emit.equal(left, right)))
        return PackedValue(nodes.BOOL, inside)
