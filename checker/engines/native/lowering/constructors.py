"""Lowering of what makes new structs, maps and collections."""

from __future__ import annotations

from llvmlite import ir

from checker.engines.native.lowering.collections import Fail, is_bit_set
from checker.engines.native.lowering.emitter import MemoryPlace, Number, PackedValue, Value
from checker.engines.native.lowering.queries import QueryLowering
from checker.engines.native.lowering.state_layout import layout_of
from checker.ir import nodes
from checker.language.types import BagType, IntType, MapType, NeverType, SeqType, SetType, Type


class ConstructorLowering(QueryLowering):
    """Emits displays, set operations, structs, and collections with a change."""

    def _SetOperation(self, node: nodes.SetOperation) -> Value:
        assert isinstance(node.type, SetType)
        if isinstance(node.right, nodes.ItemsOf) and len(node.right.items) == 1 and node.operator in "|-":
            return self._with_single(node, node.right.items[0])
        left, right = self.view(node.left), self.view(node.right)
        return self._set_operation(node.operator, node.type, left, right, self.failing(node.site))

    def _with_single(self, node: nodes.SetOperation, item_node: nodes.Expr) -> Value:
        """Emit a set with one item added or taken out."""
        item = self.view(item_node)
        assert isinstance(item, PackedValue)
        if is_bit_set(node.type):
            base = self.view(node.left)
            assert isinstance(base, PackedValue)
            bit = self.emit.shift_left(1, self.emit.bits_of(item))
            if node.operator == "|":
                return PackedValue(node.type, self.emit.bit_or(base.number, bit))
            return PackedValue(node.type, self.emit.bit_and(base.number, self.emit.bit_xor(bit, -1)))
        place = self.emit.temporary(node.type)
        self.emit.store(place, self.view(node.left))
        self.change_set(place, node.operator, item, self.failing(node.site))
        return self.emit.load(place, copy=False)

    def change_set(self, place: MemoryPlace, operator: str, item: PackedValue, fail: Fail) -> None:
        """Add an item to the sorted set at a place, or take it out where it is in."""
        if operator == "|":
            self.collections.add_sorted(place, item, fail)
            return
        position = self.collections.position_of(place, item)
        is_in = self.emit.compare("<", position, self.collections.length(place))
        self.emit.when(is_in, lambda: self.collections.delete(place, position, fail))

    def _set_operation(self, operator: str, kind: SetType, left: Value, right: Value, fail: Fail) -> Value:
        if is_bit_set(kind):
            assert isinstance(left, PackedValue) and isinstance(right, PackedValue)
            if operator == "-":
                return PackedValue(kind, self.emit.bit_and(left.number, self.emit.bit_xor(right.number, -1)))
            operation = {"|": self.emit.bit_or, "&": self.emit.bit_and, "^": self.emit.bit_xor}[operator]
            return PackedValue(kind, operation(left.number, right.number))
        left_place, right_place = self.emit.spill(left), self.emit.spill(right)
        result = self.emit.temporary(kind)
        if operator in "|^":
            self._add_each(left_place, result, None if operator == "|" else (right_place, False), fail)
            self._add_each(right_place, result, None if operator == "|" else (left_place, False), fail)
        else:
            self._add_each(left_place, result, (right_place, operator == "&"), fail)
        return self.emit.load(result, copy=False)

    def _add_each(
        self, source: MemoryPlace, result: MemoryPlace, only: tuple[MemoryPlace, bool] | None, fail: Fail
    ) -> None:
        """Add the items of one sorted set to another; `only`: those that are, or are not, in a third."""

        def add(position: Number) -> None:
            item = self.emit.load(self.emit.item(source, position))
            assert isinstance(item, PackedValue)
            if only is None:
                self.collections.add_sorted(result, item, fail)
                return
            is_in = self.collections.contains(only[0], item)
            wanted = is_in if only[1] else self.emit.negate(is_in)
            self.emit.when(wanted, lambda: self.collections.add_sorted(result, item, fail))

        self.collections.each(self.collections.length(source), self.collections.capacity(source), add)

    def _Subset(self, node: nodes.Subset) -> Value:
        left, right = self.view(node.left), self.view(node.right)
        assert isinstance(node.left.type, SetType)
        if is_bit_set(node.left.type):
            assert isinstance(left, PackedValue) and isinstance(right, PackedValue)
            outside = self.emit.bit_and(left.number, self.emit.bit_xor(right.number, -1))
            inside = self.emit.compare("==", outside, 0)
        else:
            rest = self._set_operation("-", node.left.type, left, right, self.failing(node.site))
            inside = self.emit.compare("==", self.collections.length(self.emit.spill(rest)), 0)
        if node.strict:
            inside = self.emit.both(inside, self.emit.negate(self.emit.equal(left, right)))
        return PackedValue(nodes.BOOL, inside)

    def _ItemsOf(self, node: nodes.ItemsOf) -> Value:
        items = [self.evaluate(item) for item in node.items]
        if is_bit_set(node.type):
            bits: Number = 0
            for item in items:
                assert isinstance(item, PackedValue)
                bits = self.emit.bit_or(bits, self.emit.shift_left(1, self.emit.bits_of(item)))
            return PackedValue(node.type, bits)
        place = self.emit.temporary(node.type)
        for item in items:
            self.add_to(place, item, self.failing(node.site))
        return self.emit.load(place, copy=False)

    def add_to(self, place: MemoryPlace, item: Value, fail: Fail) -> None:
        """Add an item to the collection at a place."""
        kind = place.layout.type
        if isinstance(kind, SeqType):
            self.collections.append(place, item, fail)
        elif is_bit_set(kind):
            assert isinstance(item, PackedValue)
            bit = self.emit.shift_left(1, self.emit.bits_of(item))
            self.emit.store_bits(place, self.emit.bit_or(self.emit.load_bits(place), bit))
        else:
            assert isinstance(item, PackedValue)
            self.collections.add_sorted(place, item, fail)

    def _StructNew(self, node: nodes.StructNew) -> Value:
        return self._composed(node.type, [self.evaluate(value) for value in node.values])

    def _composed(self, kind: Type, values: list[Value]) -> Value:
        """Return a struct or map of its parts' values."""
        layout = layout_of(kind)
        if not layout.is_wide:
            bits: Number = 0
            for index, value in enumerate(values):
                assert isinstance(value, PackedValue)
                part_bits = self.emit.shift_left(self.emit.bits_of(value), self._shift_of(kind, index))
                bits = self.emit.bit_or(bits, part_bits)
            return PackedValue(kind, bits)
        place = self.emit.temporary(kind)
        for index, value in enumerate(values):
            part = self.emit.item(place, index) if layout.items else self.emit.part(place, layout.parts[index])
            self.emit.store(part, value)
        return self.emit.load(place, copy=False)

    def _shift_of(self, kind: Type, index: int) -> int:
        layout = layout_of(kind)
        if layout.items is not None:
            return layout.items.shift + index * layout.items.step
        return layout.parts[index].shift

    def _StructReplace(self, node: nodes.StructReplace) -> Value:
        place = self.emit.temporary(node.type)
        self.emit.store(place, self.view(node.base))
        for name, value in node.values:
            self.emit.store(self._field_place(place, name), self.evaluate(value))
        return self.emit.load(place, copy=False)

    def _MapItems(self, node: nodes.MapItems) -> Value:
        return self._composed(node.type, [self.evaluate(value) for value in node.values])

    def _MapBuild(self, node: nodes.MapBuild) -> Value:
        assert isinstance(node.type, MapType)
        values = []
        for key in node.type.key.values():
            self.frame.locals[node.key] = self.emit.constant(node.type.key, key)
            values.append(self.evaluate(node.value))
        return self._composed(node.type, values)

    def _changed_copy(self, node: nodes.Expr) -> Value:
        """Emit a sequence, set or bag that is another one with a change."""
        place = self.emit.temporary(node.type)
        self.emit.store(place, self.view(node.base))  # type: ignore[attr-defined]
        self.change(node, place)
        return self.emit.load(place, copy=False)

    _SeqInsert = _SeqDelete = _SeqSlice = _SetRemove = _BagAdd = _changed_copy

    def change(self, node: nodes.Expr, place: MemoryPlace) -> None:
        """Emit the change that a node describes on the collection at a place, which holds the node's base."""
        fail = self.failing(node.site)
        if isinstance(node, nodes.SeqInsert):
            index = None if node.index is None else self.number(node.index)
            item = self.evaluate(node.item)
            if index is None:
                self.collections.append(place, item, fail)
            else:
                self.collections.insert(place, index, item, fail)
        elif isinstance(node, nodes.SeqDelete):
            self.collections.delete(place, None if node.index is None else self.number(node.index), fail)
        elif isinstance(node, nodes.SeqSlice):
            low = 0 if node.low is None else self._bound(node.low)
            high = self.collections.capacity(place) if node.high is None else self._bound(node.high)
            self.collections.cut(place, low, high, inverted=node.inverted)
        elif isinstance(node, nodes.BagAdd):
            item = self.evaluate(node.item)
            assert isinstance(item, PackedValue)
            self.collections.add_sorted(place, item, fail)
        else:
            assert isinstance(node, nodes.SetRemove)
            self._remove(node, place)

    def _bound(self, node: nodes.Expr) -> Number:
        """Emit the bound of a slice, which must not be negative."""
        bound = self.number(node)
        if not (isinstance(node.type, IntType) and node.type.low is not None and node.type.low >= 0):
            self.collections.check(self.emit.compare(">=", bound, 0), self.failing(node.site))
        return bound

    def _remove(self, node: nodes.SetRemove, place: MemoryPlace) -> None:
        item = self.evaluate(node.item)
        assert isinstance(item, PackedValue)
        if not is_bit_set(node.type):
            self.collections.delete(place, self.collections.position_of(place, item), self.failing(node.site))
            return
        bits, index = self.emit.load_bits(place), self.emit.bits_of(item)
        self.collections.check(self.collections.has_bit(bits, index), self.failing(node.site))
        self.emit.store_bits(place, self.emit.bit_and(bits, self.emit.bit_xor(self.emit.shift_left(1, index), -1)))

    def _SeqConcat(self, node: nodes.SeqConcat) -> Value:
        place = self.emit.temporary(node.type)
        for side in (node.left, node.right):
            source = self.emit.spill(self.view(side))

            def append(position: Number, source: MemoryPlace = source) -> None:
                item = self.emit.load(self.emit.item(source, position), copy=False)
                self.collections.append(place, item, self.failing(node.site))

            if self.collections.capacity(source):
                self.collections.each(self.collections.length(source), self.collections.capacity(source), append)
        return self.emit.load(place, copy=False)

    def _Sorted(self, node: nodes.Sorted) -> Value:
        place = self.emit.temporary(node.type)
        assert isinstance(node.type, SeqType)
        bag = MemoryPlace(layout_of(BagType(node.type.item, node.type.capacity)), place.pointer, 0, 0)

        def add(item: Value, go_on: ir.Block) -> None:
            assert isinstance(item, PackedValue)
            self.collections.add_sorted(bag, item, self.failing(node.site))

        if node.type.capacity and not isinstance(node.type.item, NeverType):
            self.over(node.base, add)
        return self.emit.load(place, copy=False)
