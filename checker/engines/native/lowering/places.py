"""Lowering of reads: of locals, of places in the state, and of parts of values."""

from __future__ import annotations

from checker.engines.native.lowering.analysis import is_state_place, is_unwrapping
from checker.engines.native.lowering.emitter import MemoryPlace, Number, PackedValue, Value, WideValue
from checker.engines.native.lowering.evaluation import SubjectLowering
from checker.engines.native.lowering.state_layout import layout_of
from checker.ir import nodes
from checker.language.types import IntType, MapType, StructType


class PlaceLowering(SubjectLowering):
    """Emits reads, and the addresses of what is read."""

    def place_of(self, node: nodes.Expr) -> MemoryPlace:
        """Return the memory that holds the value of an expression; a computed value is written to the stack."""
        if isinstance(node, nodes.StateRead):
            place = self.context.layout.places[node.variable]
            return MemoryPlace(place.layout, self.context.roots[node.root], place.word, place.shift)
        if isinstance(node, nodes.FieldRead):
            return self.emit.field(self.place_of(node.base), node.name)
        if isinstance(node, nodes.IndexRead):
            return self._index_place(node)
        if is_unwrapping(node):
            assert isinstance(node, nodes.Convert)
            return self._unwrap_place(node)
        return self.emit.spill(self.expressions.evaluate(node))

    def view(self, node: nodes.Expr) -> Value:
        """Emit an expression that is used at once, before anything is written: a wide value is not copied."""
        if is_state_place(node):
            return self.emit.load(self.place_of(node), copy=False)
        if isinstance(node, nodes.LocalRead):
            known = self.context.frame.locals[node.local]
            return self.context.read_variable(known, node.type) if isinstance(known, MemoryPlace) else known
        return self.expressions.evaluate(node)

    def _index_place(self, node: nodes.IndexRead) -> MemoryPlace:
        base = self.place_of(node.base)
        if isinstance(node.base.type, MapType):
            key = self.expressions.evaluate(node.index)
            assert isinstance(key, PackedValue)
            # No check: a map has an item for every key of its type, and a key's bits are the position of its item.
            return self.emit.item(base, self.emit.bits_of(key))
        index = self.expressions.number(node.index)
        self._check_index(node, index, self.arrays.length(base))
        if self.arrays.capacity(base) == 0:
            # The check above always fails; this place is never read.
            return self.emit.temporary(node.type)
        return self.emit.item(base, index)

    def _check_index(self, node: nodes.IndexRead, index: Number, count: Number) -> None:
        # A negative index is an error in the language; it does not count from the end as in Python.
        inside = self.emit.compare("<", index, count)
        kind = node.index.type
        is_negative_possible = not (isinstance(kind, IntType) and kind.low is not None and kind.low >= 0)
        if is_negative_possible:
            inside = self.emit.both(self.emit.compare(">=", index, 0), inside)
        self.context.check(inside, node.site)

    def _unwrap_place(self, node: nodes.Convert) -> MemoryPlace:
        """Return the place of the item of an option, which must not be None."""
        base = self.place_of(node.base)
        if not base.layout.parts:
            # An option of a scalar is one number (0: None), in which the item has no place.
            return self.emit.spill(self.context.convert(self.emit.load(base), node.type, node.site))
        presence, item = base.layout.parts
        present = self.emit.load_bits(self.emit.part(base, presence))
        self.context.check(self.emit.compare("!=", present, 0), node.site)
        return self.emit.part(base, item)

    # Handlers of nodes.

    def literal(self, node: nodes.Literal) -> Value:
        return self.emit.constant(node.type, node.value)

    def local_read(self, node: nodes.LocalRead) -> Value:
        known = self.context.frame.locals[node.local]
        if isinstance(known, MemoryPlace):
            # The variable may be assigned again while the value that is read here is still used.
            known = self.context.read_variable(known, node.type, copy=True)
        if isinstance(node.type, IntType):
            # The local's type may be wider than that of the value bound to it; the number is the same.
            assert isinstance(known, PackedValue)
            return PackedValue(node.type, known.number)
        return known

    def constant_read(self, node: nodes.ConstantRead) -> Value:
        number = self.emit.builder.load(self.context.constants.address(node.name))
        return PackedValue(node.type, self.emit.compare("!=", number, 0) if node.type == nodes.BOOL else number)

    def state_read(self, node: nodes.StateRead) -> Value:
        return self.emit.load(self.place_of(node))

    def index_read(self, node: nodes.IndexRead) -> Value:
        return self.emit.load(self.place_of(node))

    def field_read(self, node: nodes.FieldRead) -> Value:
        if is_state_place(node.base):
            return self.emit.load(self.place_of(node))
        base = self.expressions.view(node.base)
        if isinstance(base, WideValue):
            return self.emit.load(self.emit.field(base.place, node.name))
        assert isinstance(base.type, StructType)
        field_names = [name for name, _ in base.type.fields]
        part = layout_of(base.type).parts[field_names.index(node.name)]
        bits = self.emit.bit_and(self.emit.shift_right(base.number, part.shift), part.layout.mask)
        return self.emit.from_bits(node.type, bits)

    def convert(self, node: nodes.Convert) -> Value:
        value, fail = self.expressions.evaluate(node.base), self.context.failure_at(node.site)
        # The node's own range of an integer may be narrower than that of the emitted value: it saves checks.
        is_integer = isinstance(node.type, IntType) and isinstance(node.base.type, IntType)
        return self.context.conversion.convert(value, node.type, fail, node.base.type if is_integer else None)
