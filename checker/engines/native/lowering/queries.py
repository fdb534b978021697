"""Lowering of questions to collections."""

from __future__ import annotations

from collections.abc import Callable

from checker.engines.native.lowering.collections import is_bit_set
from checker.engines.native.lowering.emitter import PackedValue, Value
from checker.engines.native.lowering.loops import LoopLowering
from checker.engines.native.lowering.state_layout import layout_of
from checker.ir import nodes
from checker.language.types import BagType, NeverType, SeqType, Type


class QueryLowering(LoopLowering):
    """Emits membership, lengths, counts and positions."""

    def _Contains(self, node: nodes.Contains) -> Value:
        container, item = self.view(node.container), self.view(node.item)
        kind = node.container.type.item  # type: ignore[attr-defined]
        answer = self.own_place(nodes.BOOL)

        def ask(converted: Value) -> None:
            if isinstance(container, PackedValue) and is_bit_set(container.type):
                assert isinstance(converted, PackedValue)
                found = self.collections.has_bit(container.number, self.emit.bits_of(converted))
            else:
                found = self.collections.contains(self.emit.spill(container), converted)
            self.emit.store(answer, PackedValue(nodes.BOOL, found))

        self._if_item(node.item.type, item, kind, ask)
        return self.emit.load(answer)

    def _Length(self, node: nodes.Length) -> Value:
        container = self.view(node.container)
        if isinstance(container, PackedValue) and is_bit_set(container.type):
            return PackedValue(node.type, self.emit.count_ones(container.number))
        if isinstance(container, PackedValue):
            part = layout_of(container.type).parts[0]
            length = self.emit.bit_and(self.emit.shift_right(container.number, part.shift), part.layout.mask)
            return PackedValue(node.type, length)
        return PackedValue(node.type, self.collections.length(container.place))

    def _Count(self, node: nodes.Count) -> Value:
        place, item = self.emit.spill(self.view(node.container)), self.view(node.item)
        assert isinstance(place.layout.type, (SeqType, BagType))
        total = self.emit.slot()
        self.emit.builder.store(self.emit.value(0), total)

        def count(converted: Value) -> None:
            self.emit.builder.store(self.emit.value(self.collections.count(place, converted)), total)

        self._if_item(node.item.type, item, place.layout.type.item, count)
        return PackedValue(node.type, self.emit.builder.load(total))

    def _if_item(self, found: Type, item: Value, kind: Type, use: Callable[[Value], None]) -> None:
        """Emit `use(item)` for where an item is one of `kind`: no other can be in a collection of those."""
        if isinstance(kind, NeverType):
            return
        if found == kind:
            use(item)
        else:
            self.if_convertible(item, kind, use)

    def _IndexOf(self, node: nodes.IndexOf) -> Value:
        place = self.emit.spill(self.view(node.container))
        position = self.collections.position_of(place, self.view(node.item))
        self.collections.check(
            self.emit.compare("<", position, self.collections.length(place)), self.failing(node.site)
        )
        return PackedValue(node.type, position)
