"""Lowering of the construction of structs and maps."""

from __future__ import annotations

from checker.engines.native.lowering.emitter import Number, PackedValue, Truth, Value
from checker.engines.native.lowering.evaluation import SubjectLowering
from checker.engines.native.lowering.state_layout import layout_of
from checker.ir import nodes
from checker.language.types import MapType, Type


class StructLowering(SubjectLowering):
    """Emits new structs and maps, which have a fixed number of parts, and tests of the alternatives of a union."""

    def struct_new(self, node: nodes.StructNew) -> Value:
        return self._compose(node.type, [self.expressions.evaluate(value) for value in node.values])

    def struct_replace(self, node: nodes.StructReplace) -> Value:
        place = self.emit.temporary(node.type)
        # The base is copied first; a value that reads the base reads the original and not the copy under change.
        self.emit.store(place, self.expressions.view(node.base))
        for name, value in node.values:
            self.emit.store(self.emit.field(place, name), self.expressions.evaluate(value))
        return self.emit.load(place, copy=False)

    def is_alternative(self, node: nodes.IsAlternative) -> Value:
        base = self.emit.spill(self.expressions.view(node.base))
        tag = self.emit.load_bits(self.emit.part(base, base.layout.parts[0]))
        result: Truth = False
        for position in node.positions:
            result = self.emit.either(result, self.emit.compare("==", tag, position))
        return PackedValue(nodes.BOOL, result)

    def map_items(self, node: nodes.MapItems) -> Value:
        return self._compose(node.type, [self.expressions.evaluate(value) for value in node.values])

    def map_build(self, node: nodes.MapBuild) -> Value:
        assert isinstance(node.type, MapType)
        values = []
        for key in node.type.key.values():
            # The key is known in each copy of the expression, so places that depend on it are known too.
            self.context.frame.locals[node.key] = self.emit.constant(node.type.key, key)
            values.append(self.expressions.evaluate(node.value))
        return self._compose(node.type, values)

    def _compose(self, kind: Type, values: list[Value]) -> Value:
        """Return a struct or map made of the values of its parts."""
        layout = layout_of(kind)
        if not layout.is_wide:
            bits: Number = 0
            for index, value in enumerate(values):
                assert isinstance(value, PackedValue)
                part_bits = self.emit.shift_left(self.emit.bits_of(value), _shift_of_part(kind, index))
                bits = self.emit.bit_or(bits, part_bits)
            return PackedValue(kind, bits)
        place = self.emit.temporary(kind)
        for index, value in enumerate(values):
            part = self.emit.item(place, index) if layout.items else self.emit.part(place, layout.parts[index])
            self.emit.store(part, value)
        return self.emit.load(place, copy=False)


def _shift_of_part(kind: Type, index: int) -> int:
    """Return the position of the lowest bit of part `index` of a packed struct or map."""
    layout = layout_of(kind)
    if layout.items is not None:
        return layout.items.shift + index * layout.items.step
    return layout.parts[index].shift
