"""Lowering of expressions: what is asked of sets, sequences, bags, structs and maps, and what makes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal as OneOf

from checker.engines.smt.lowering import arrays, integers
from checker.engines.smt.lowering.conversion import converted
from checker.engines.smt.lowering.evaluation import SymbolicEvaluation, field_index
from checker.engines.smt.lowering.integers import SymbolicInteger, compare, concrete
from checker.engines.smt.lowering.logic import Truth, all_of, any_of, both, choose, either, implies, negate
from checker.engines.smt.lowering.symbolic_values import (
    SymbolicArray,
    SymbolicSet,
    SymbolicTuple,
    Value,
    blank,
    constant,
    equal,
    merged,
)
from checker.ir import nodes
from checker.language.types import MapType, NeverType, SetType, Type


class SymbolicCollections(SymbolicEvaluation):
    """Evaluates what asks collections and what makes collections and structs."""

    # Collections asked.

    def _Contains(self, node: nodes.Contains) -> Value:
        container, item = self.evaluate(node.container), self.evaluate(node.item)
        kind = node.container.type
        inner, is_one = self._as_item(node, item)
        if isinstance(container, SymbolicSet):
            assert isinstance(kind, SetType)
            found = any_of(
                both(member, equal(inner, constant(kind.item, value)))
                for value, member in zip(kind.item.values(), container.members, strict=True)
                if member is not False
            )
            return both(is_one, found)
        return both(is_one, arrays.contains(container, inner))

    def _as_item(self, node: nodes.Contains | nodes.Count, item: Value) -> tuple[Value, Truth]:
        """Return an item as one of a container's item type, and whether it is one."""
        kind = node.container.type.item  # type: ignore[attr-defined]
        if isinstance(kind, NeverType):
            return None, False
        return converted(item, node.item.type, kind)

    def _Length(self, node: nodes.Length) -> Value:
        return self._length_of(self.evaluate(node.container))

    def _length_of(self, container: Value) -> SymbolicInteger:
        return arrays.count_true(iter(container.members)) if isinstance(container, SymbolicSet) else container.length

    def _Count(self, node: nodes.Count) -> Value:
        container = self.evaluate(node.container)
        inner, is_one = self._as_item(node, self.evaluate(node.item))
        return concrete(0) if is_one is False else integers.chosen(is_one, arrays.count(container, inner), concrete(0))

    def _IndexOf(self, node: nodes.IndexOf) -> Value:
        container, item = self.evaluate(node.container), self.evaluate(node.item)
        position = arrays.position_of(container, item)
        self.check(node, compare("<", position, container.length))
        return integers.narrowed(position, 0, max(len(container.items) - 1, 0))

    def _Subset(self, node: nodes.Subset) -> Value:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        if isinstance(left, SymbolicSet):
            inside = all_of(implies(a, b) for a, b in zip(left.members, right.members, strict=True))
        else:
            inside = arrays.is_subset(left, right)
        return both(inside, negate(equal(left, right))) if node.strict else inside

    # Collections and structs made.

    def _SetOperation(self, node: nodes.SetOperation) -> Value:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        if isinstance(left, SymbolicSet):
            pairs = zip(left.members, right.members, strict=True)
            return SymbolicSet(tuple(_BITWISE[node.operator](a, b) for a, b in pairs))
        assert isinstance(node.type, SetType)
        if node.operator in "&-":
            tests = [arrays.contains(right, item) for _, item in arrays.used(left)]
            wanted = tests if node.operator == "&" else [negate(test) for test in tests]
            return self._within_capacity(node, arrays.filtered(left, wanted, _roomier(node.type, left)), node.type)
        return self._united(node, left, right)

    def _united(self, node: nodes.SetOperation, left: SymbolicArray, right: SymbolicArray) -> Value:
        """Return a union or symmetric difference, with an error over the capacity."""
        room = SetType(node.type.item, len(left.items) + len(right.items))  # type: ignore[attr-defined]
        result = arrays.resized(left, room.capacity or 0, blank(room.item))
        if node.operator == "^":
            only_left = [negate(arrays.contains(right, item)) for _, item in arrays.used(left)]
            result = arrays.filtered(left, only_left, room)
        for is_used, item in arrays.used(right):
            wanted = is_used if node.operator == "|" else both(is_used, negate(arrays.contains(left, item)))
            result = merged(wanted, arrays.with_item(result, item, is_set=True), result)
        return self._within_capacity(node, result, node.type)

    def _within_capacity(self, node: nodes.Expr, array: SymbolicArray, kind: Type) -> SymbolicArray:
        """Return an array as one of a type that may have less room: an error where it is over its capacity."""
        capacity = arrays.capacity_of(kind)
        self.check(node, compare("<=", array.length, concrete(capacity)))
        length = integers.narrowed(array.length, 0, capacity)
        unused = blank(kind.item)  # type: ignore[attr-defined]
        return SymbolicArray(length, arrays.resized(array, capacity, unused).items)

    def _SetRemove(self, node: nodes.SetRemove) -> Value:
        base, item = self.evaluate(node.base), self.evaluate(node.item)
        if isinstance(base, SymbolicSet):
            single = self._single(node.type, item)
            pairs = list(zip(base.members, single.members, strict=True))
            self.check(node, any_of(both(a, b) for a, b in pairs))
            return SymbolicSet(tuple(both(a, negate(b)) for a, b in pairs))
        position = arrays.position_of(base, item)
        self.check(node, compare("<", position, base.length))
        return arrays.deleted(base, position, blank(node.type.item))  # type: ignore[attr-defined]

    def _single(self, kind: Type, item: Value) -> SymbolicSet:
        """Return the bit set of one item."""
        assert isinstance(kind, SetType)
        return SymbolicSet(tuple(equal(item, constant(kind.item, value)) for value in kind.item.values()))

    def _BagAdd(self, node: nodes.BagAdd) -> Value:
        base, item = self.evaluate(node.base), self.evaluate(node.item)
        self.check(node, compare("<", base.length, concrete(len(base.items))))
        return arrays.with_item(base, item, is_set=False)

    def _ItemsOf(self, node: nodes.ItemsOf) -> Value:
        result = blank(node.type)
        for item in node.items:
            result = self._with(node, result, self.evaluate(item), True)
        return result

    def _with(self, node: nodes.Expr, base: Value, item: Value, test: Truth) -> Value:
        """Return a set or sequence with an item more where `test` is true."""
        if isinstance(base, SymbolicSet):
            single = self._single(node.type, item)
            return SymbolicSet(
                tuple(either(a, both(test, b)) for a, b in zip(base.members, single.members, strict=True))
            )
        has_room = compare("<", base.length, concrete(len(base.items)))
        if isinstance(node.type, SetType):
            self.check(node, any_of((negate(test), has_room, arrays.contains(base, item))))
            return merged(test, arrays.with_item(base, item, is_set=True), base)
        self.check(node, implies(test, has_room))
        return arrays.appended(base, item, test)

    def _StructNew(self, node: nodes.StructNew) -> Value:
        return SymbolicTuple(tuple(self.evaluate(value) for value in node.values))

    def _StructReplace(self, node: nodes.StructReplace) -> Value:
        parts = list(self.evaluate(node.base).parts)
        for name, value in node.values:
            parts[field_index(node.type, name)] = self.evaluate(value)
        return SymbolicTuple(tuple(parts))

    def _MapItems(self, node: nodes.MapItems) -> Value:
        return SymbolicTuple(tuple(self.evaluate(value) for value in node.values))

    def _MapBuild(self, node: nodes.MapBuild) -> Value:
        assert isinstance(node.type, MapType)
        values = []
        for key in node.type.key.values():
            self.frame.locals[node.key] = constant(node.type.key, key)
            values.append(self.evaluate(node.value))
        return SymbolicTuple(tuple(values))

    def _SeqInsert(self, node: nodes.SeqInsert) -> Value:
        base = self.evaluate(node.base)
        index = base.length if node.index is None else self.number(node.index)
        item = self.evaluate(node.item)
        inside = both(compare("<=", concrete(0), index), compare("<=", index, base.length))
        self.check(node, both(inside, compare("<", base.length, concrete(len(base.items)))))
        if not base.items:
            return base
        if node.index is None:
            return arrays.appended(base, item)
        return arrays.inserted(base, integers.narrowed(index, 0, len(base.items)), item)

    def _SeqDelete(self, node: nodes.SeqDelete) -> Value:
        base = self.evaluate(node.base)
        index = integers.subtract(base.length, concrete(1)) if node.index is None else self.number(node.index)
        self.check(node, both(compare("<=", concrete(0), index), compare("<", index, base.length)))
        index = integers.narrowed(index, 0, max(len(base.items) - 1, 0))
        return arrays.deleted(base, index, blank(node.type.item))  # type: ignore[attr-defined]

    def _SeqSlice(self, node: nodes.SeqSlice) -> Value:
        base = self.evaluate(node.base)
        low = concrete(0) if node.low is None else self._bound(node, node.low)
        high = concrete(len(base.items)) if node.high is None else self._bound(node, node.high)
        return arrays.sliced(base, low, high, blank(node.type.item), inverted=node.inverted)  # type: ignore[attr-defined]

    def _bound(self, node: nodes.SeqSlice, bound: nodes.Expr) -> SymbolicInteger:
        """Return the bound of a slice, which must not be negative."""
        number = self.number(bound)
        self.check(node, compare("<=", concrete(0), number))
        return integers.narrowed(number, 0, number.high)

    def _SeqConcat(self, node: nodes.SeqConcat) -> Value:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        capacity = arrays.capacity_of(node.type)
        self.check(node, compare("<=", integers.add(left.length, right.length), concrete(capacity)))
        return arrays.concatenated(left, right, blank(node.type.item), capacity)  # type: ignore[attr-defined]

    def _Sorted(self, node: nodes.Sorted) -> Value:
        base, result = self.evaluate(node.base), arrays.empty(node.type)
        for present, item in self.items_of(node.base.type, base):
            result = merged(present, arrays.with_item(result, item, is_set=False), result)
        return result

    def items_of(self, kind: Type, value: Value) -> list[tuple[Truth, Value]]:
        """Return the items of a collection, in order, each with whether it is there."""
        if isinstance(value, SymbolicSet):
            assert isinstance(kind, SetType)
            items = zip(kind.item.values(), value.members, strict=True)
            return [(member, constant(kind.item, item)) for item, member in items]
        return list(arrays.used(value))


_BITWISE: dict[OneOf["|", "&", "-", "^"], Callable[[Truth, Truth], Truth]] = {
    "|": either,
    "&": both,
    "-": lambda one, other: both(one, negate(other)),
    "^": lambda one, other: choose(one, negate(other), other),
}


def _roomier(kind: SetType, left: SymbolicArray) -> SetType:
    return SetType(kind.item, max(len(left.items), kind.capacity or 0))
