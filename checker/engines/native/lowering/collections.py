"""Lowering of collections: queries, displays, and changes of one item or span."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, assert_never

from checker.engines.native.llvm import ir
from checker.engines.native.lowering.arrays import is_bit_set
from checker.engines.native.lowering.emitter import MemoryPlace, Number, PackedValue, Value
from checker.engines.native.lowering.evaluation import Evaluator, SubjectLowering
from checker.engines.native.lowering.loops import LoopLowering
from checker.engines.native.lowering.state_layout import layout_of
from checker.ir import nodes
from checker.language.types import BagType, IntType, NeverType, SeqType, Type

CollectionChange: TypeAlias = nodes.SeqInsert | nodes.SeqDelete | nodes.SeqSlice | nodes.SetRemove | nodes.BagAdd
"""A collection that differs from its `base` in one item or span; assigned to its base, it is changed in place."""


class CollectionLowering(SubjectLowering):
    """Emits membership, lengths, counts and positions, and new sequences, sets and bags."""

    def __init__(self, expressions: Evaluator, loops: LoopLowering):
        super().__init__(expressions)
        self._loops = loops

    # Queries.

    def contains(self, node: nodes.Contains) -> Value:
        container, item = self.expressions.view(node.container), self.expressions.view(node.item)
        item_type = node.container.type.item  # type: ignore[attr-defined]
        answer = self.context.new_variable(nodes.BOOL)

        def look_up(converted: Value) -> None:
            if isinstance(container, PackedValue) and is_bit_set(container.type):
                assert isinstance(converted, PackedValue)
                is_contained = self.arrays.has_bit(container.number, self.emit.bits_of(converted))
            else:
                is_contained = self.arrays.contains(self.emit.spill(container), converted)
            self.emit.store(answer, PackedValue(nodes.BOOL, is_contained))

        self._if_item(node.item.type, item, item_type, look_up)
        return self.emit.load(answer)

    def length(self, node: nodes.Length) -> Value:
        container = self.expressions.view(node.container)
        if isinstance(container, PackedValue) and is_bit_set(container.type):
            return PackedValue(node.type, self.emit.count_ones(container.number))
        if isinstance(container, PackedValue):
            part = layout_of(container.type).parts[0]
            length = self.emit.bit_and(self.emit.shift_right(container.number, part.shift), part.layout.mask)
            return PackedValue(node.type, length)
        return PackedValue(node.type, self.arrays.length(container.place))

    def count(self, node: nodes.Count) -> Value:
        place, item = self.emit.spill(self.expressions.view(node.container)), self.expressions.view(node.item)
        assert isinstance(place.layout.type, (SeqType, BagType))
        total = self.emit.slot()
        self.emit.builder.store(self.emit.value(0), total)

        def count_equal(converted: Value) -> None:
            self.emit.builder.store(self.emit.value(self.arrays.count(place, converted)), total)

        self._if_item(node.item.type, item, place.layout.type.item, count_equal)
        return PackedValue(node.type, self.emit.builder.load(total))

    def _if_item(self, source: Type, item: Value, item_type: Type, use: Callable[[Value], None]) -> None:
        """Emit `use(item)` for the case that an item is one of `item_type`: no other can be in the collection."""
        if isinstance(item_type, NeverType):
            return
        if source == item_type:
            use(item)
        else:
            self.context.conversion.if_convertible(item, item_type, use)

    def index_of(self, node: nodes.IndexOf) -> Value:
        place = self.emit.spill(self.expressions.view(node.container))
        position = self.arrays.position_of(place, self.expressions.view(node.item))
        # The position is the length if the item is absent.
        self.context.check(self.emit.compare("<", position, self.arrays.length(place)), node.site)
        return PackedValue(node.type, position)

    # New collections.

    def items_of(self, node: nodes.ItemsOf) -> Value:
        items = [self.expressions.evaluate(item) for item in node.items]
        if is_bit_set(node.type):
            bits: Number = 0
            for item in items:
                assert isinstance(item, PackedValue)
                bits = self.emit.bit_or(bits, self.emit.shift_left(1, self.emit.bits_of(item)))
            return PackedValue(node.type, bits)
        place = self.emit.temporary(node.type)
        for item in items:
            self.arrays.add(place, item, self.context.failure_at(node.site))
        return self.emit.load(place, copy=False)

    def seq_concat(self, node: nodes.SeqConcat) -> Value:
        place, fail = self.emit.temporary(node.type), self.context.failure_at(node.site)
        assert isinstance(node.type, SeqType)
        for part in _operands_of_concatenation(node):
            display = part.base if isinstance(part, nodes.Convert) else part
            if isinstance(display, nodes.ItemsOf):
                # All are evaluated before one is added, as those of any display.
                for item in [self.expressions.evaluate(item) for item in display.items]:
                    self.arrays.append(place, self.context.convert(item, node.type.item, part.site), fail)
                continue
            source = self.emit.spill(self.expressions.view(part))

            def append(position: Number, source: MemoryPlace = source) -> None:
                self.arrays.append(place, self.emit.load(self.emit.item(source, position), copy=False), fail)

            if self.arrays.capacity(source):
                self.arrays.each(self.arrays.length(source), self.arrays.capacity(source), append)
        return self.emit.load(place, copy=False)

    def sorted(self, node: nodes.Sorted) -> Value:
        # A bag keeps its items in ascending order, and has the layout of a sequence of the same items and capacity.
        place = self.emit.temporary(node.type)
        assert isinstance(node.type, SeqType)
        bag = MemoryPlace(layout_of(BagType(node.type.item, node.type.capacity)), place.pointer, 0, 0)

        def add(item: Value, next_item: ir.Block) -> None:
            assert isinstance(item, PackedValue)
            self.arrays.add_sorted(bag, item, self.context.failure_at(node.site))

        if node.type.capacity and not isinstance(node.type.item, NeverType):
            self._loops.over(node.base, add)
        return self.emit.load(place, copy=False)

    # Changes.

    def _changed_copy(self, node: CollectionChange) -> Value:
        """Emit a copy of the base of a change, with the change."""
        place = self.emit.temporary(node.type)
        self.emit.store(place, self.expressions.view(node.base))
        self.change(node, place)
        return self.emit.load(place, copy=False)

    set_remove = bag_add = seq_insert = seq_delete = seq_slice = _changed_copy

    def change(self, node: CollectionChange, place: MemoryPlace) -> None:
        """Emit a change of the collection at a place, which holds the node's base."""
        fail = self.context.failure_at(node.site)
        match node:
            case nodes.SeqInsert():
                index = None if node.index is None else self.expressions.number(node.index)
                item = self.expressions.evaluate(node.item)
                if index is None:
                    self.arrays.append(place, item, fail)
                else:
                    self.arrays.insert(place, index, item, fail)
            case nodes.SeqDelete():
                self.arrays.delete(place, None if node.index is None else self.expressions.number(node.index), fail)
            case nodes.SeqSlice():
                low = 0 if node.low is None else self._slice_bound(node.low)
                # The capacity means "to the end": `cut` reduces it to the length.
                high = self.arrays.capacity(place) if node.high is None else self._slice_bound(node.high)
                self.arrays.cut(place, low, high, inverted=node.inverted)
            case nodes.BagAdd():
                added = self.expressions.evaluate(node.item)
                assert isinstance(added, PackedValue)
                self.arrays.add_sorted(place, added, fail)
            case nodes.SetRemove():
                self._remove(node, place)
            case _:
                assert_never(node)

    def _slice_bound(self, node: nodes.Expr) -> Number:
        """Emit the bound of a slice, which must not be negative."""
        bound = self.expressions.number(node)
        if not (isinstance(node.type, IntType) and node.type.low is not None and node.type.low >= 0):
            self.context.check(self.emit.compare(">=", bound, 0), node.site)
        return bound

    def _remove(self, node: nodes.SetRemove, place: MemoryPlace) -> None:
        item = self.expressions.evaluate(node.item)
        assert isinstance(item, PackedValue)
        if not is_bit_set(node.type):
            # For an absent item the position is the length, for which `delete` emits the failure.
            self.arrays.delete(place, self.arrays.position_of(place, item), self.context.failure_at(node.site))
            return
        bits, index = self.emit.load_bits(place), self.emit.bits_of(item)
        self.context.check(self.arrays.has_bit(bits, index), node.site)
        self.emit.store_bits(place, self.emit.bit_and(bits, self.emit.bit_xor(self.emit.shift_left(1, index), -1)))


def _operands_of_concatenation(node: nodes.SeqConcat) -> list[nodes.Expr]:
    """Return the sequences that a chain of concatenations joins, in their order.

    `a + b + c` is one concatenation with three parts: no intermediate result is copied, and nothing recurs over the
    length of the chain.
    """
    parts = []
    left: nodes.Expr = node
    while isinstance(left, nodes.SeqConcat) and _has_items_of(left, node):
        parts.append(left.right)
        left = left.left
    return [left, *reversed(parts)]


def _has_items_of(node: nodes.Expr, whole: nodes.Expr) -> bool:
    """Return whether a sequence has the item type of another one, so that its items need no conversion."""
    assert isinstance(node.type, SeqType) and isinstance(whole.type, SeqType)
    return node.type.item == whole.type.item
