"""Lowering of expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir

from checker.ir import nodes
from checker.ir.types import (
    BagType,
    BoolType,
    IntType,
    MapType,
    NeverType,
    OptionType,
    SeqType,
    SetType,
    StructType,
    Type,
)
from checker.native.collections import UNROLLED, Collections, Fail, is_bit_set
from checker.native.conversion import Conversion
from checker.native.emitter import Emitter, Number, Packed, Place, Truth, Value, Wide
from checker.native.layout import StateLayout, bit_items, layout_of
from checker.native.outline import Outliner

NUMBER = IntType(0, 2**64 - 1)
"""The type of a whole word, in which locals and results that are integers are kept as they are."""

MOST_UNROLLED = 4
"""Nested loops are written out while the product of their sizes stays within this; more gains little."""


@dataclass
class Frame:
    """One inlined function: what its locals stand for, and where `return` goes."""

    locals: dict[nodes.Local, Value | Place] = field(default_factory=dict)
    reassigned: frozenset[nodes.Local] = frozenset()
    result: Place | None = None
    result_type: Type | None = None
    end: ir.Block | None = None
    loops: list[tuple[ir.Block, ir.Block]] = field(default_factory=list)


class Lowering(Conversion):
    """Emits the code of expressions and statements of one evaluation: an action instance or a property.

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
        self.collections = Collections(emitter)
        self.frame = Frame()
        self.unrolled = 1

    def failing(self, site: nodes.Site) -> Fail:
        """Return what emits the end of this evaluation because of `site`."""
        return lambda: self.fail_at(site)

    # Entry points.

    def evaluate(self, node: nodes.Expr) -> Value:
        """Emit an expression and return its value."""
        return getattr(self, f"_{type(node).__name__}")(node)  # type: ignore[no-any-return]

    def number(self, node: nodes.Expr) -> Number:
        """Emit an integer expression."""
        value = self.evaluate(node)
        assert isinstance(value, Packed)
        return value.number  # type: ignore[no-any-return]

    def truth(self, node: nodes.Expr) -> Truth:
        """Emit a bool expression as a value."""
        value = self.evaluate(node)
        assert isinstance(value, Packed)
        return value.number  # type: ignore[no-any-return]

    def branch_on(self, node: nodes.Expr, then: ir.Block, otherwise: ir.Block) -> None:
        """Emit a bool expression as a branch, evaluating no more of it than decides."""
        if isinstance(node, nodes.Not):
            self.branch_on(node.operand, otherwise, then)
        elif isinstance(node, nodes.Logical) and not node.eager and not _is_cheap(node):
            for operand in node.operands[:-1]:
                rest = self.emit.block(node.operator)
                targets = (rest, otherwise) if node.operator == "and" else (then, rest)
                self.branch_on(operand, *targets)
                self.emit.position(rest)
            self.branch_on(node.operands[-1], then, otherwise)
        elif isinstance(node, nodes.Fold) and node.kind in ("all", "any"):
            self._branch_on_quantifier(node, then, otherwise)
        elif isinstance(node, nodes.Call) and _is_direct(node.function) and not self._is_outlined(node):
            self._inline(node, lambda returned: self.branch_on(returned, then, otherwise))
        else:
            self.emit.branch(self.truth(node), then, otherwise)

    def place_of(self, node: nodes.Expr) -> Place:
        """Return where the value of an expression stands; a value that stands nowhere is put on the stack."""
        if isinstance(node, nodes.StateRead):
            place = self.layout.places[node.variable]
            return Place(place.layout, self.roots[node.root], place.word, place.shift)
        if isinstance(node, nodes.FieldRead):
            return self._field_place(self.place_of(node.base), node.name)
        if isinstance(node, nodes.IndexRead):
            return self._index_place(node)
        if _is_unwrapping(node):
            assert isinstance(node, nodes.Convert)
            return self._unwrapped_place(node)
        return self.emit.spill(self.evaluate(node))

    def view(self, node: nodes.Expr) -> Value:
        """Emit an expression whose value is used at once, before anything is written: wide values are not copied."""
        if _stands_in_state(node):
            return self.emit.load(self.place_of(node), copy=False)
        if isinstance(node, nodes.LocalRead):
            known = self.frame.locals[node.local]
            return self.read_own(known, node.type) if isinstance(known, Place) else known
        return self.evaluate(node)

    def _field_place(self, base: Place, name: str) -> Place:
        kind = base.layout.type
        assert isinstance(kind, StructType)
        index = [field_name for field_name, _ in kind.fields].index(name)
        return self.emit.part(base, base.layout.parts[index])

    def _index_place(self, node: nodes.IndexRead) -> Place:
        base = self.place_of(node.base)
        if isinstance(node.base.type, MapType):
            key = self.evaluate(node.index)
            assert isinstance(key, Packed)
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

    def _unwrapped_place(self, node: nodes.Convert) -> Place:
        base = self.place_of(node.base)
        if not base.layout.parts:
            return self.emit.spill(self.convert(self.emit.load(base), node.type, self.failing(node.site)))
        present = self.emit.load_bits(self.emit.part(base, base.layout.parts[0]))
        self.collections.check(self.emit.compare("!=", present, 0), self.failing(node.site))
        return self.emit.part(base, base.layout.parts[1])

    # Reads.

    def _Literal(self, node: nodes.Literal) -> Value:
        return self.emit.constant(node.type, node.value)

    def _LocalRead(self, node: nodes.LocalRead) -> Value:
        known = self.frame.locals[node.local]
        value = self.read_own(known, node.type, copy=True) if isinstance(known, Place) else known
        # A local's type may be wider than the value bound to it: an int within its range is the same number.
        return Packed(node.type, value.number) if isinstance(node.type, IntType) else value  # type: ignore[union-attr]

    def _StateRead(self, node: nodes.StateRead) -> Value:
        return self.emit.load(self.place_of(node))

    _IndexRead = _StateRead

    def _FieldRead(self, node: nodes.FieldRead) -> Value:
        if _stands_in_state(node.base):
            return self.emit.load(self.place_of(node))
        base = self.view(node.base)
        if isinstance(base, Wide):
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

    # Integers and bools.

    def _Arithmetic(self, node: nodes.Arithmetic) -> Value:
        left, right = self.number(node.left), self.number(node.right)
        if node.operator in ("//", "%"):
            return Packed(node.type, self._division(node, left, right))
        operation = {"+": self.emit.add, "-": self.emit.subtract, "*": self.emit.multiply}[node.operator]
        return Packed(node.type, operation(left, right))

    def _division(self, node: nodes.Arithmetic, left: Number, right: Number) -> Number:
        divisor = node.right.type
        assert isinstance(divisor, IntType)
        if divisor.low is None or divisor.low <= 0:
            self.collections.check(self.emit.compare("!=", right, 0), self.failing(node.site))
        if isinstance(left, int) and isinstance(right, int) and right != 0:
            return left // right if node.operator == "//" else left % right
        builder, top, bottom = self.emit.builder, self.emit.value(left), self.emit.value(right)
        quotient, remainder = builder.sdiv(top, bottom), builder.srem(top, bottom)
        # LLVM rounds towards zero, Python downwards: they differ where the remainder and the divisor differ in sign.
        differs = self.emit.both(
            self.emit.compare("!=", remainder, 0), self.emit.compare("<", builder.xor(remainder, bottom), 0)
        )
        if node.operator == "//":
            return self.emit.subtract(quotient, self.emit.widened(differs))
        return self.emit.add(remainder, self.emit.select(differs, bottom, 0))

    def _Extremum(self, node: nodes.Extremum) -> Value:
        best = self.number(node.operands[0])
        for operand in node.operands[1:]:
            other = self.number(operand)
            closer = self.emit.compare("<" if node.operator == "min" else ">", other, best)
            best = self.emit.select(closer, other, best)
        return Packed(node.type, best)

    def _Comparison(self, node: nodes.Comparison) -> Value:
        left, right = self.view(node.left), self.view(node.right)
        if isinstance(node.left.type, IntType) and isinstance(node.right.type, IntType):
            assert isinstance(left, Packed) and isinstance(right, Packed)
            return Packed(nodes.BOOL, self.emit.compare(node.operator, left.number, right.number))
        equal = self.emit.equal(left, right)
        return Packed(nodes.BOOL, equal if node.operator == "==" else self.emit.negate(equal))

    def _Not(self, node: nodes.Not) -> Value:
        return Packed(nodes.BOOL, self.emit.negate(self.truth(node.operand)))

    def _Logical(self, node: nodes.Logical) -> Value:
        if not node.eager and not _is_cheap(node):
            return self._branched(node)
        combine = self.emit.both if node.operator == "and" else self.emit.either
        result = self.truth(node.operands[0])
        for operand in node.operands[1:]:
            result = combine(result, self.truth(operand))
        return Packed(nodes.BOOL, result)

    def _branched(self, node: nodes.Expr) -> Value:
        """Emit a bool that is decided by branches."""
        result = self.emit.slot()
        then, otherwise, end = (self.emit.block(name) for name in ("true", "false", "decided"))
        self.branch_on(node, then, otherwise)
        for block, truth in ((then, 1), (otherwise, 0)):
            self.emit.position(block)
            self.emit.builder.store(self.emit.value(truth), result)
            self.emit.jump(end)
        self.emit.position(end)
        return Packed(nodes.BOOL, self.emit.compare("!=", self.emit.builder.load(result), 0))

    def _Conditional(self, node: nodes.Conditional) -> Value:
        test = self.truth(node.test)
        if isinstance(test, bool):
            return self.evaluate(node.then if test else node.otherwise)
        result = self.own_place(node.type)
        self.emit.when(
            test,
            lambda: self.write_own(result, self.evaluate(node.then), node.type),
            lambda: self.write_own(result, self.evaluate(node.otherwise), node.type),
        )
        return self.read_own(result, node.type)

    def own_place(self, kind: Type) -> Place:
        """Return stack memory for a value of a type, which may be an integer without known bounds."""
        if isinstance(kind, IntType):
            return Place(layout_of(NUMBER), self.emit.slot(), 0, 0)
        return self.emit.temporary(kind)

    def write_own(self, place: Place, value: Value, kind: Type) -> None:
        """Write a value, converted to `kind`, to a place made by `own_place(kind)`."""
        value = self.convert(value, kind, lambda: None)
        if isinstance(kind, IntType):
            assert isinstance(value, Packed)
            self.emit.builder.store(self.emit.value(value.number), place.pointer)
        else:
            self.emit.store(place, value)

    def read_own(self, place: Place, kind: Type, *, copy: bool = False) -> Value:
        """Return the value in a place made by `own_place(kind)`."""
        if isinstance(kind, IntType):
            return Packed(kind, self.emit.builder.load(place.pointer))
        return self.emit.load(place, copy=copy)

    # Collections asked.

    def _Contains(self, node: nodes.Contains) -> Value:
        container, item = self.view(node.container), self.view(node.item)
        kind = node.container.type.item  # type: ignore[attr-defined]
        answer = self.own_place(nodes.BOOL)

        def ask(converted: Value) -> None:
            if isinstance(container, Packed) and is_bit_set(container.type):
                assert isinstance(converted, Packed)
                found = self.collections.has_bit(container.number, self.emit.bits_of(converted))
            else:
                found = self.collections.contains(self.emit.spill(container), converted)
            self.emit.store(answer, Packed(nodes.BOOL, found))

        self._if_item(node.item.type, item, kind, ask)
        return self.emit.load(answer)

    def _Length(self, node: nodes.Length) -> Value:
        container = self.view(node.container)
        if isinstance(container, Packed) and is_bit_set(container.type):
            return Packed(node.type, self.emit.count_ones(container.number))
        if isinstance(container, Packed):
            part = layout_of(container.type).parts[0]
            length = self.emit.bit_and(self.emit.shift_right(container.number, part.shift), part.layout.mask)
            return Packed(node.type, length)
        return Packed(node.type, self.collections.length(container.place))

    def _Count(self, node: nodes.Count) -> Value:
        place, item = self.emit.spill(self.view(node.container)), self.view(node.item)
        assert isinstance(place.layout.type, (SeqType, BagType))
        total = self.emit.slot()
        self.emit.builder.store(self.emit.value(0), total)

        def count(converted: Value) -> None:
            self.emit.builder.store(self.emit.value(self.collections.count(place, converted)), total)

        self._if_item(node.item.type, item, place.layout.type.item, count)
        return Packed(node.type, self.emit.builder.load(total))

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
        return Packed(node.type, position)

    def _Subset(self, node: nodes.Subset) -> Value:
        left, right = self.view(node.left), self.view(node.right)
        assert isinstance(node.left.type, SetType)
        if is_bit_set(node.left.type):
            assert isinstance(left, Packed) and isinstance(right, Packed)
            outside = self.emit.bit_and(left.number, self.emit.bit_xor(right.number, -1))
            inside = self.emit.compare("==", outside, 0)
        else:
            rest = self._set_operation("-", node.left.type, left, right, self.failing(node.site))
            inside = self.emit.compare("==", self.collections.length(self.emit.spill(rest)), 0)
        if node.strict:
            inside = self.emit.both(inside, self.emit.negate(self.emit.equal(left, right)))
        return Packed(nodes.BOOL, inside)

    # Collections and structs made.

    def _SetOperation(self, node: nodes.SetOperation) -> Value:
        assert isinstance(node.type, SetType)
        if isinstance(node.right, nodes.Items) and len(node.right.items) == 1 and node.operator in "|-":
            return self._with_single(node, node.right.items[0])
        left, right = self.view(node.left), self.view(node.right)
        return self._set_operation(node.operator, node.type, left, right, self.failing(node.site))

    def _with_single(self, node: nodes.SetOperation, item_node: nodes.Expr) -> Value:
        """Emit a set with one item added or taken out."""
        item = self.view(item_node)
        assert isinstance(item, Packed)
        if is_bit_set(node.type):
            base = self.view(node.left)
            assert isinstance(base, Packed)
            bit = self.emit.shift_left(1, self.emit.bits_of(item))
            if node.operator == "|":
                return Packed(node.type, self.emit.bit_or(base.number, bit))
            return Packed(node.type, self.emit.bit_and(base.number, self.emit.bit_xor(bit, -1)))
        place = self.emit.temporary(node.type)
        self.emit.store(place, self.view(node.left))
        self.change_set(place, node.operator, item, self.failing(node.site))
        return self.emit.load(place, copy=False)

    def change_set(self, place: Place, operator: str, item: Packed, fail: Fail) -> None:
        """Add an item to the sorted set at a place, or take it out where it is in."""
        if operator == "|":
            self.collections.add_sorted(place, item, fail)
            return
        position = self.collections.position_of(place, item)
        is_in = self.emit.compare("<", position, self.collections.length(place))
        self.emit.when(is_in, lambda: self.collections.delete(place, position, fail))

    def _set_operation(self, operator: str, kind: SetType, left: Value, right: Value, fail: Fail) -> Value:
        if is_bit_set(kind):
            assert isinstance(left, Packed) and isinstance(right, Packed)
            if operator == "-":
                return Packed(kind, self.emit.bit_and(left.number, self.emit.bit_xor(right.number, -1)))
            operation = {"|": self.emit.bit_or, "&": self.emit.bit_and, "^": self.emit.bit_xor}[operator]
            return Packed(kind, operation(left.number, right.number))
        left_place, right_place = self.emit.spill(left), self.emit.spill(right)
        result = self.emit.temporary(kind)
        if operator in "|^":
            self._add_each(left_place, result, None if operator == "|" else (right_place, False), fail)
            self._add_each(right_place, result, None if operator == "|" else (left_place, False), fail)
        else:
            self._add_each(left_place, result, (right_place, operator == "&"), fail)
        return self.emit.load(result, copy=False)

    def _add_each(self, source: Place, result: Place, only: tuple[Place, bool] | None, fail: Fail) -> None:
        """Add the items of one sorted set to another; `only`: those that are, or are not, in a third."""

        def add(position: Number) -> None:
            item = self.emit.load(self.emit.item(source, position))
            assert isinstance(item, Packed)
            if only is None:
                self.collections.add_sorted(result, item, fail)
                return
            is_in = self.collections.contains(only[0], item)
            wanted = is_in if only[1] else self.emit.negate(is_in)
            self.emit.when(wanted, lambda: self.collections.add_sorted(result, item, fail))

        self.collections.each(self.collections.length(source), self.collections.capacity(source), add)

    def _Items(self, node: nodes.Items) -> Value:
        items = [self.evaluate(item) for item in node.items]
        if is_bit_set(node.type):
            bits: Number = 0
            for item in items:
                assert isinstance(item, Packed)
                bits = self.emit.bit_or(bits, self.emit.shift_left(1, self.emit.bits_of(item)))
            return Packed(node.type, bits)
        place = self.emit.temporary(node.type)
        for item in items:
            self.add_to(place, item, self.failing(node.site))
        return self.emit.load(place, copy=False)

    def add_to(self, place: Place, item: Value, fail: Fail) -> None:
        """Add an item to the collection at a place."""
        kind = place.layout.type
        if isinstance(kind, SeqType):
            self.collections.append(place, item, fail)
        elif is_bit_set(kind):
            assert isinstance(item, Packed)
            bit = self.emit.shift_left(1, self.emit.bits_of(item))
            self.emit.store_bits(place, self.emit.bit_or(self.emit.load_bits(place), bit))
        else:
            assert isinstance(item, Packed)
            self.collections.add_sorted(place, item, fail)

    def _StructNew(self, node: nodes.StructNew) -> Value:
        return self._composed(node.type, [self.evaluate(value) for value in node.values])

    def _composed(self, kind: Type, values: list[Value]) -> Value:
        """Return a struct or map of its parts' values."""
        layout = layout_of(kind)
        if not layout.is_wide:
            bits: Number = 0
            for index, value in enumerate(values):
                assert isinstance(value, Packed)
                part_bits = self.emit.shift_left(self.emit.bits_of(value), self._shift_of(kind, index))
                bits = self.emit.bit_or(bits, part_bits)
            return Packed(kind, bits)
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

    def change(self, node: nodes.Expr, place: Place) -> None:
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
            assert isinstance(item, Packed)
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

    def _remove(self, node: nodes.SetRemove, place: Place) -> None:
        item = self.evaluate(node.item)
        assert isinstance(item, Packed)
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

            def append(position: Number, source: Place = source) -> None:
                item = self.emit.load(self.emit.item(source, position), copy=False)
                self.collections.append(place, item, self.failing(node.site))

            if self.collections.capacity(source):
                self.collections.each(self.collections.length(source), self.collections.capacity(source), append)
        return self.emit.load(place, copy=False)

    def _Sorted(self, node: nodes.Sorted) -> Value:
        place = self.emit.temporary(node.type)
        assert isinstance(node.type, SeqType)
        bag = Place(layout_of(BagType(node.type.item, node.type.capacity)), place.pointer, 0, 0)

        def add(item: Value, go_on: ir.Block) -> None:
            assert isinstance(item, Packed)
            self.collections.add_sorted(bag, item, self.failing(node.site))

        if node.type.capacity and not isinstance(node.type.item, NeverType):
            self.over(node.base, add)
        return self.emit.load(place, copy=False)

    # Loops and comprehensions.

    def over(
        self,
        iterable: nodes.Iterable,
        body: Callable[[Value, ir.Block], None],
        leave: ir.Block | None = None,
        copy: bool = False,
    ) -> None:
        """Emit `body(item, where-to-go-on)` for each item, in order. `leave`: unused blocks are the caller's."""
        if isinstance(iterable, nodes.Universe):
            self._over_universe(iterable.type, body)
        elif isinstance(iterable, nodes.IntRange):
            self._over_range(iterable, body)
        elif is_bit_set(iterable.type):
            self._over_bits(iterable, body)
        else:
            self._over_array(iterable, body, copy)

    def _step(self, body: Callable[[Value, ir.Block], None], item: Value) -> None:
        """Emit one round of a loop that is written out."""
        go_on = self.emit.block("next")
        body(item, go_on)
        self.emit.jump(go_on)
        self.emit.position(go_on)

    def _writes_out(self, count: int) -> bool:
        return count <= UNROLLED or self.unrolled * count <= MOST_UNROLLED

    def _over_universe(self, kind: Type, body: Callable[[Value, ir.Block], None]) -> None:
        count = kind.cardinality()
        if self._writes_out(count):
            self.unrolled *= max(count, 1)
            for value in kind.values():
                self._step(body, self.emit.constant(kind, value))
            self.unrolled //= max(count, 1)
            return
        with self.emit.loop(0, count) as (position, step, _):
            body(self.emit.from_bits(kind, position), step)

    def _over_range(self, iterable: nodes.IntRange, body: Callable[[Value, ir.Block], None]) -> None:
        low, high = self.number(iterable.low), self.number(iterable.high)
        first, last = iterable.type.low, iterable.type.high
        assert first is not None and last is not None
        if isinstance(low, int) and isinstance(high, int):
            first, last = low, high - 1
        count = max(last - first + 1, 0)
        if not self._writes_out(count):
            with self.emit.loop(low, high) as (position, step, _):
                body(Packed(iterable.type, position), step)
            return
        self.unrolled *= max(count, 1)
        for number in range(first, last + 1):
            inside = self.emit.both(self.emit.compare("<=", low, number), self.emit.compare("<", number, high))
            item = Packed(iterable.type, number)
            self.emit.when(inside, lambda item=item: self._step(body, item))  # type: ignore[misc]
        self.unrolled //= max(count, 1)

    def _over_bits(self, iterable: nodes.Expr, body: Callable[[Value, ir.Block], None]) -> None:
        container = self.view(iterable)
        assert isinstance(container, Packed) and isinstance(container.type, SetType)
        kind, items = container.type.item, bit_items(container.type)
        if not self._writes_out(len(items)):
            with self.emit.loop(0, items[-1][0] + 1) as (position, step, _):
                present = self.emit.block("present")
                self.emit.branch(self.collections.has_bit(container.number, position), present, step)
                self.emit.position(present)
                body(self.emit.from_bits(kind, position), step)
            return
        self.unrolled *= max(len(items), 1)
        for index, value in items:
            item = self.emit.constant(kind, value)
            is_in = self.collections.has_bit(container.number, index)
            self.emit.when(is_in, lambda item=item: self._step(body, item))  # type: ignore[misc]
        self.unrolled //= max(len(items), 1)

    def _over_array(self, iterable: nodes.Expr, body: Callable[[Value, ir.Block], None], copy: bool) -> None:
        place = self.emit.spill(self.evaluate(iterable) if copy else self.view(iterable))
        capacity = self.collections.capacity(place)
        if capacity == 0:
            return
        count = self.collections.length(place)
        if not self._writes_out(capacity):
            with self.emit.loop(0, count) as (position, step, _):
                body(self.emit.load(self.emit.item(place, position)), step)
            return
        self.unrolled *= capacity
        for position in range(capacity):
            self.emit.when(
                self.emit.compare("<", position, count),
                lambda at=position: self._step(body, self.emit.load(self.emit.item(place, at))),  # type: ignore[misc]
            )
        self.unrolled //= capacity

    def bind(self, clause: nodes.ForClause, body: Callable[[ir.Block], None], copy: bool = False) -> None:
        """Emit `body(where-to-go-on)` for each item of a clause, with its locals bound."""
        counter = self.emit.slot() if clause.counter is not None else None
        if counter is not None:
            self.emit.builder.store(self.emit.value(0), counter)

        def with_item(item: Value, go_on: ir.Block) -> None:
            if clause.counter is not None and counter is not None:
                position = self.emit.builder.load(counter)
                self.emit.builder.store(self.emit.value(self.emit.add(position, 1)), counter)
                self.set_local(clause.counter, Packed(clause.counter.type, position))
            self.set_local(clause.local, item)
            body(go_on)

        self.over(clause.iterable, with_item, copy=copy)

    def set_local(self, local: nodes.Local, value: Value) -> None:
        """Give a local a value."""
        if local not in self.frame.reassigned:
            self.frame.locals[local] = self.convert(value, local.type, lambda: None)
            return
        place = self.frame.locals.get(local)
        if not isinstance(place, Place):
            place = self.frame.locals[local] = self.own_place(local.type)
        self.write_own(place, value, local.type)

    def _clauses(self, clauses: tuple[nodes.Clause, ...], innermost: Callable[[ir.Block | None], None]) -> None:
        """Emit the loops and tests of a comprehension around `innermost(where-to-go-on)`."""

        def descend(index: int, go_on: ir.Block | None) -> None:
            if index == len(clauses):
                innermost(go_on)
                return
            clause = clauses[index]
            if isinstance(clause, nodes.ForClause):
                self.bind(clause, lambda step: descend(index + 1, step))
                return
            inside, skipped = self.emit.block("if"), self.emit.block("skipped")
            self.branch_on(clause.test, inside, skipped)
            self.emit.position(inside)
            descend(index + 1, skipped)
            self.emit.jump(skipped)
            self.emit.position(skipped)

        descend(0, None)

    def _branch_on_quantifier(self, node: nodes.Fold, then: ir.Block, otherwise: ir.Block) -> None:
        decided, undecided = (otherwise, then) if node.kind == "all" else (then, otherwise)

        def decide(_: ir.Block | None) -> None:
            rest = self.emit.block("undecided")
            targets = (rest, decided) if node.kind == "all" else (decided, rest)
            self.branch_on(node.element, *targets)
            self.emit.position(rest)

        self._clauses(node.clauses, decide)
        self.emit.jump(undecided)

    def _Fold(self, node: nodes.Fold) -> Value:
        if node.kind in ("all", "any"):
            return self._branched(node)
        if node.kind in ("set", "seq"):
            return self._collected(node)
        total = self.emit.slot()
        self.emit.builder.store(self.emit.value(0), total)
        if node.kind == "sum":

            def add(_: ir.Block | None) -> None:
                number = self.number(node.element)
                summed = self.emit.add(self.emit.builder.load(total), number)
                self.emit.builder.store(self.emit.value(summed), total)

            self._clauses(node.clauses, add)
            return Packed(node.type, self.emit.builder.load(total))
        return self._fold_extremum(node, total)

    def _fold_extremum(self, node: nodes.Fold, best: Any) -> Value:
        some = self.emit.slot()
        self.emit.builder.store(self.emit.value(0), some)

        def take(_: ir.Block | None) -> None:
            number = self.number(node.element)
            known = self.emit.builder.load(best)
            is_first = self.emit.compare("==", self.emit.builder.load(some), 0)
            closer = self.emit.compare("<" if node.kind == "min" else ">", number, known)
            chosen = self.emit.select(self.emit.either(is_first, closer), number, known)
            self.emit.builder.store(self.emit.value(chosen), best)
            self.emit.builder.store(self.emit.value(1), some)

        self._clauses(node.clauses, take)
        found = self.emit.compare("!=", self.emit.builder.load(some), 0)
        if node.default is None:
            self.collections.check(found, self.failing(node.site))
            return Packed(node.type, self.emit.builder.load(best))
        default = self.number(node.default)
        return Packed(node.type, self.emit.select(found, self.emit.builder.load(best), default))

    def _collected(self, node: nodes.Fold) -> Value:
        place = self.emit.temporary(node.type)
        self._clauses(node.clauses, lambda _: self.add_to(place, self.evaluate(node.element), self.failing(node.site)))
        return self.emit.load(place, copy=False)

    # Calls.

    def _is_outlined(self, node: nodes.Call) -> bool:
        return self.outliner is not None and self.outliner.wants(node.function)

    def begin(self, function: nodes.Function, result: Place, kind: Type, end: ir.Block) -> None:
        """Begin the body of a helper: its result goes to a place, and `return` to a block."""
        self.frame = Frame(
            reassigned=reassigned_locals(function.body, function.parameters), result=result, result_type=kind, end=end
        )

    def _Call(self, node: nodes.Call) -> Value:
        if self.outliner is not None and self.outliner.wants(node.function):
            return self.outliner.call(self, node)
        if _is_direct(node.function):
            results: list[Value] = []
            self._inline(node, lambda returned: results.append(self._as_result(returned, node.type)))
            return results[0]
        place = self.own_place(node.type)
        frame = self._frame_of(node)
        frame.result, frame.result_type, frame.end = place, node.type, self.emit.block("returned")
        before, self.frame = self.frame, frame
        self.statements(node.function.body)
        self.emit.jump(frame.end)
        self.emit.position(frame.end)
        self.frame = before
        return self.read_own(place, node.type)

    def _as_result(self, returned: nodes.Expr, kind: Type) -> Value:
        return self.convert(self.evaluate(returned), kind, lambda: None)

    def _frame_of(self, node: nodes.Call) -> Frame:
        arguments = [self.evaluate(argument) for argument in node.arguments]
        frame = Frame(reassigned=reassigned_locals(node.function.body, node.function.parameters))
        before, self.frame = self.frame, frame
        for parameter, argument in zip(node.function.parameters, arguments, strict=True):
            self.set_local(parameter, argument)
        self.frame = before
        return frame

    def _inline(self, node: nodes.Call, use: Callable[[nodes.Expr], None]) -> None:
        """Emit a function whose only `return` is its last statement, and use what it returns inside its frame."""
        frame = self._frame_of(node)
        before, self.frame = self.frame, frame
        self.statements(node.function.body[:-1])
        last = node.function.body[-1]
        assert isinstance(last, nodes.Return) and last.value is not None
        use(last.value)
        self.frame = before

    def statements(self, body: tuple[nodes.Stmt, ...]) -> None:
        """Emit statements; `Statements` provides this."""
        raise NotImplementedError


def _no_numbers(number: ir.Value) -> None:
    raise AssertionError("only a caller of outlined helpers needs to fail with a number that is not known yet")


def _stands_in_state(node: nodes.Expr) -> bool:
    """Say whether an expression names a part of the state, rather than a value that is computed."""
    while isinstance(node, (nodes.FieldRead, nodes.IndexRead)) or _is_unwrapping(node):
        node = node.base  # type: ignore[attr-defined]
    return isinstance(node, nodes.StateRead)


def _is_unwrapping(node: nodes.Expr) -> bool:
    return (
        isinstance(node, nodes.Convert) and isinstance(node.base.type, OptionType) and node.base.type.item == node.type
    )


def _is_direct(function: nodes.Function) -> bool:
    """Say whether a function's only `return` is its last statement."""
    if not function.body or not isinstance(function.body[-1], nodes.Return) or function.body[-1].value is None:
        return False
    return not any(_returns(statement) for statement in function.body[:-1])


def _returns(statement: nodes.Stmt) -> bool:
    if isinstance(statement, nodes.Return):
        return True
    if isinstance(statement, nodes.If):
        return any(_returns(inner) for inner in (*statement.then, *statement.otherwise))
    return isinstance(statement, nodes.For) and any(_returns(inner) for inner in statement.body)


def reassigned_locals(body: tuple[nodes.Stmt, ...], parameters: tuple[nodes.Local, ...]) -> frozenset[nodes.Local]:
    """Return the locals that more than one statement gives a value, and so need memory."""
    counts: dict[nodes.Local, int] = dict.fromkeys(parameters, 1)

    def visit(statements: tuple[nodes.Stmt, ...]) -> None:
        for statement in statements:
            if isinstance(statement, nodes.AssignLocal):
                counts[statement.local] = counts.get(statement.local, 0) + 1
            elif isinstance(statement, nodes.If):
                visit(statement.then)
                visit(statement.otherwise)
            elif isinstance(statement, nodes.For):
                for local in (statement.clause.local, statement.clause.counter):
                    if local is not None:
                        counts[local] = counts.get(local, 0) + 1
                visit(statement.body)

    visit(body)
    return frozenset(local for local, count in counts.items() if count > 1)


def _is_cheap(node: nodes.Expr) -> bool:
    """Say whether evaluating all of an expression costs less than branching, and cannot leave any type's bounds."""
    return _cost(node) <= 8


def _cost(node: nodes.Expr) -> int:
    if isinstance(node, nodes.Literal):
        return 0
    if isinstance(node, (nodes.LocalRead, nodes.StateRead)):
        return 100 if layout_is_wide(node.type) else 1
    if isinstance(node, nodes.FieldRead):
        return 1 + _cost(node.base) if isinstance(node.base, (nodes.StateRead, nodes.IndexRead)) else 100
    if isinstance(node, nodes.IndexRead) and isinstance(node.base.type, MapType):
        if isinstance(node.index, (nodes.LocalRead, nodes.Literal)):
            return 2 if isinstance(node.base, nodes.StateRead) else 2 + _cost(node.base)
        return 100
    if isinstance(node, nodes.Comparison):
        return 1 + _cost(node.left) + _cost(node.right)
    if isinstance(node, nodes.Not):
        return 1 + _cost(node.operand)
    if isinstance(node, nodes.Logical):
        return 1 + sum(_cost(operand) for operand in node.operands)
    if isinstance(node, nodes.Convert):
        can_fail = not isinstance(node.type, OptionType) or isinstance(node.base.type, OptionType)
        return 100 if can_fail and not isinstance(node.base, nodes.Literal) else 1 + _cost(node.base)
    return 100


def layout_is_wide(kind: Type) -> bool:
    """Say whether values of a type take whole words."""
    return not isinstance(kind, (IntType, BoolType)) and layout_of(kind).is_wide
