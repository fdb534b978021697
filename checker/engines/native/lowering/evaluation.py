"""The core of lowering: one evaluation under way, where values stand, and reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from llvmlite import ir

from checker.engines.native.lowering.analysis import is_unwrapping, stands_in_state
from checker.engines.native.lowering.branches import Branches
from checker.engines.native.lowering.collections import CollectionEmitter, Fail
from checker.engines.native.lowering.conversion import ConversionLowering
from checker.engines.native.lowering.emitter import Emitter, MemoryPlace, Number, PackedValue, Truth, Value, WideValue
from checker.engines.native.lowering.outlining import Outliner
from checker.engines.native.lowering.state_layout import NUMBER, StateLayout, layout_of
from checker.ir import nodes
from checker.language.types import IntType, MapType, StructType, Type

NOWHERE = nodes.Site("", 0, "")
"""The site of a conversion to a type that has every value of the other one."""


@dataclass
class NativeFrame:
    """One inlined function: what its locals stand for, and where `return` goes."""

    locals: dict[nodes.Local, Value | MemoryPlace] = field(default_factory=dict)
    reassigned: frozenset[nodes.Local] = frozenset()
    result: MemoryPlace | None = None
    result_type: Type | None = None
    end: ir.Block | None = None
    loops: list[tuple[ir.Block, ir.Block]] = field(default_factory=list)


class Evaluation(ConversionLowering):
    """Emits the code of one evaluation: an action instance, a property or a helper.

    `roots`: the memory of the states that `self` and `old` are. `fail(site)` emits the end of an evaluation that left
    a type's bounds; `disabled` is where a false `require` goes.
    """

    def __init__(
        self,
        emitter: Emitter,
        layout: StateLayout,
        roots: dict[str, ir.Value],
        fail: Callable[[nodes.Site], None],
        disabled: ir.Block | None,
    ):
        self.emit = emitter
        self.layout = layout
        self.roots = roots
        self.fail_at = fail
        self.fail_with: Callable[[ir.Value], None] = _no_numbers
        self.disabled = disabled
        self.outliner: Outliner | None = None
        self.branches: Branches | None = None
        self.collections = CollectionEmitter(emitter)
        self.frame = NativeFrame()
        self.unrolled = 1

    def failing(self, site: nodes.Site) -> Fail:
        """Return what emits the end of this evaluation because of `site`."""
        return lambda: self.fail_at(site)

    def took(self, test: nodes.Expr, is_true: bool) -> None:
        """Emit the record of which side of a condition is taken, where that is wanted."""
        if self.branches is not None:
            self.branches.mark(self.emit.builder, test.site, is_true)

    def evaluate(self, node: nodes.Expr) -> Value:
        """Emit an expression and return its value."""
        return getattr(self, f"_{type(node).__name__}")(node)  # type: ignore[no-any-return]

    def number(self, node: nodes.Expr) -> Number:
        """Emit an integer expression."""
        value = self.evaluate(node)
        assert isinstance(value, PackedValue)
        return value.number

    def truth(self, node: nodes.Expr) -> Truth:
        """Emit a bool expression as a value."""
        value = self.evaluate(node)
        assert isinstance(value, PackedValue)
        return value.number

    def branch_on(self, node: nodes.Expr, then: ir.Block, otherwise: ir.Block) -> None:
        """Emit a bool expression as a branch; `Lowering` provides this."""
        raise NotImplementedError

    def place_of(self, node: nodes.Expr) -> MemoryPlace:
        """Return where the value of an expression stands; a value that stands nowhere is put on the stack."""
        if isinstance(node, nodes.StateRead):
            place = self.layout.places[node.variable]
            return MemoryPlace(place.layout, self.roots[node.root], place.word, place.shift)
        if isinstance(node, nodes.FieldRead):
            return self._field_place(self.place_of(node.base), node.name)
        if isinstance(node, nodes.IndexRead):
            return self._index_place(node)
        if is_unwrapping(node):
            assert isinstance(node, nodes.Convert)
            return self._unwrapped_place(node)
        return self.emit.spill(self.evaluate(node))

    def view(self, node: nodes.Expr) -> Value:
        """Emit an expression whose value is used at once, before anything is written: wide values are not copied."""
        if stands_in_state(node):
            return self.emit.load(self.place_of(node), copy=False)
        if isinstance(node, nodes.LocalRead):
            known = self.frame.locals[node.local]
            return self.read_own(known, node.type) if isinstance(known, MemoryPlace) else known
        return self.evaluate(node)

    def _field_place(self, base: MemoryPlace, name: str) -> MemoryPlace:
        kind = base.layout.type
        assert isinstance(kind, StructType)
        index = [field_name for field_name, _ in kind.fields].index(name)
        return self.emit.part(base, base.layout.parts[index])

    def _index_place(self, node: nodes.IndexRead) -> MemoryPlace:
        base = self.place_of(node.base)
        if isinstance(node.base.type, MapType):
            key = self.evaluate(node.index)
            assert isinstance(key, PackedValue)
            return self.emit.item(base, self.emit.bits_of(key))
        index = self.number(node.index)
        count = self.collections.length(base)
        self._check_index(node, index, count)
        if self.collections.capacity(base) == 0:
            return self.emit.temporary(node.type)
        return self.emit.item(base, index)

    def _check_index(self, node: nodes.IndexRead, index: Number, count: Number) -> None:
        inside = self.emit.compare("<", index, count)
        if not (isinstance(node.index.type, IntType) and node.index.type.low is not None and node.index.type.low >= 0):
            inside = self.emit.both(self.emit.compare(">=", index, 0), inside)
        self.collections.check(inside, self.failing(node.site))

    def _unwrapped_place(self, node: nodes.Convert) -> MemoryPlace:
        base = self.place_of(node.base)
        if not base.layout.parts:
            return self.emit.spill(self.convert(self.emit.load(base), node.type, self.failing(node.site)))
        present = self.emit.load_bits(self.emit.part(base, base.layout.parts[0]))
        self.collections.check(self.emit.compare("!=", present, 0), self.failing(node.site))
        return self.emit.part(base, base.layout.parts[1])

    def own_place(self, kind: Type) -> MemoryPlace:
        """Return stack memory for a value of a type, which may be an integer without known bounds."""
        if isinstance(kind, IntType):
            return MemoryPlace(NUMBER, self.emit.slot(), 0, 0)
        return self.emit.temporary(kind)

    def write_own(self, place: MemoryPlace, value: Value, kind: Type) -> None:
        """Write a value, converted to `kind`, to a place made by `own_place(kind)`."""
        value = self.convert(value, kind, self.failing(NOWHERE))
        if isinstance(kind, IntType):
            assert isinstance(value, PackedValue)
            self.emit.builder.store(self.emit.value(value.number), place.pointer)
        else:
            self.emit.store(place, value)

    def read_own(self, place: MemoryPlace, kind: Type, *, copy: bool = False) -> Value:
        """Return the value in a place made by `own_place(kind)`."""
        if isinstance(kind, IntType):
            return PackedValue(kind, self.emit.builder.load(place.pointer))
        return self.emit.load(place, copy=copy)

    def set_local(self, local: nodes.Local, value: Value) -> None:
        """Give a local a value."""
        if local not in self.frame.reassigned:
            self.frame.locals[local] = self.convert(value, local.type, self.failing(NOWHERE))
            return
        place = self.frame.locals.get(local)
        if not isinstance(place, MemoryPlace):
            place = self.frame.locals[local] = self.own_place(local.type)
        self.write_own(place, value, local.type)

    def _Literal(self, node: nodes.Literal) -> Value:
        return self.emit.constant(node.type, node.value)

    def _LocalRead(self, node: nodes.LocalRead) -> Value:
        known = self.frame.locals[node.local]
        value = self.read_own(known, node.type, copy=True) if isinstance(known, MemoryPlace) else known
        # A local's type may be wider than the value bound to it: an int within its range is the same number.
        return PackedValue(node.type, value.number) if isinstance(node.type, IntType) else value  # type: ignore[union-attr]

    def _StateRead(self, node: nodes.StateRead) -> Value:
        return self.emit.load(self.place_of(node))

    _IndexRead = _StateRead

    def _FieldRead(self, node: nodes.FieldRead) -> Value:
        if stands_in_state(node.base):
            return self.emit.load(self.place_of(node))
        base = self.view(node.base)
        if isinstance(base, WideValue):
            return self.emit.load(self._field_place(base.place, node.name))
        layout = layout_of(base.type)
        assert isinstance(base.type, StructType)
        part = layout.parts[[name for name, _ in base.type.fields].index(node.name)]
        bits = self.emit.bit_and(self.emit.shift_right(base.number, part.shift), part.layout.mask)
        return self.emit.from_bits(node.type, bits)

    def _Convert(self, node: nodes.Convert) -> Value:
        if isinstance(node.type, IntType) and isinstance(node.base.type, IntType):
            return self.convert(self.evaluate(node.base), node.type, self.failing(node.site), node.base.type)
        return self.convert(self.evaluate(node.base), node.type, self.failing(node.site))


def _no_numbers(number: ir.Value) -> None:
    raise AssertionError("only a caller of outlined helpers needs to fail with a number that is not known yet")
