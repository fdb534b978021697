"""Lowering of places: reads of locals, of the state and of parts of values, and writes to the state."""

from __future__ import annotations

from checker.engines.smt.lowering import arrays, integers
from checker.engines.smt.lowering.conversion import converted
from checker.engines.smt.lowering.encoding import blank, constant
from checker.engines.smt.lowering.evaluation import SymbolicSubject
from checker.engines.smt.lowering.integers import SymbolicInteger, compare, concrete, is_index
from checker.engines.smt.lowering.logic import Truth
from checker.engines.smt.lowering.structs import field_index
from checker.engines.smt.lowering.symbolic_values import (
    SymbolicArray,
    SymbolicOption,
    SymbolicTuple,
    Value,
    equal,
    merged,
)
from checker.ir import nodes
from checker.language.types import MapType, OptionType


class SymbolicPlaces(SymbolicSubject):
    """Evaluates reads, and writes to places in the state."""

    # Reads.

    def literal(self, node: nodes.Literal) -> Value:
        return constant(node.type, node.value)

    def local_read(self, node: nodes.LocalRead) -> Value:
        return self.context.frame.locals[node.local]

    def state_read(self, node: nodes.StateRead) -> Value:
        return self.context.roots[node.root][node.variable]

    def field_read(self, node: nodes.FieldRead) -> Value:
        return self.expressions.evaluate(node.base).parts[field_index(node.base.type, node.name)]

    def index_read(self, node: nodes.IndexRead) -> Value:
        base = self.expressions.evaluate(node.base)
        if isinstance(node.base.type, MapType):
            return _value_at(node.base.type, base, self.expressions.evaluate(node.index))
        index = self._check_index(node, base)
        # With capacity 0 the check has recorded a failure on every path: any value is correct.
        return arrays.item_at(base, index) if base.items else blank(node.type)

    def _check_index(self, node: nodes.IndexRead, base: SymbolicArray) -> SymbolicInteger:
        """Return the index of a sequence's item; record a failure where it is outside the sequence."""
        index = self.expressions.number(node.index)
        self.context.check(is_index(index, base.length), node.site)
        return integers.narrowed(index, 0, max(len(base.items) - 1, 0))

    def convert(self, node: nodes.Convert) -> Value:
        value, has_counterpart = converted(self.expressions.evaluate(node.base), node.base.type, node.type)
        self.context.check(has_counterpart, node.site)
        return value

    # Writes. A value is immutable: a write to a part rebuilds the values around it, up to the state variable.

    def write(self, place: nodes.Expr, value: Value) -> None:
        """Give a place in the state a value."""
        match place:
            case nodes.StateRead():
                state = self.context.roots["self"]
                # Only returns, `break` and `continue` are tested here. The conditions of branches apply where the
                # branches are merged.
                state[place.variable] = merged(self.context.frame.running(), value, state[place.variable])
            case nodes.FieldRead():
                parts = list(self.expressions.evaluate(place.base).parts)
                parts[field_index(place.base.type, place.name)] = value
                self.write(place.base, SymbolicTuple(tuple(parts)))
            case nodes.IndexRead():
                self.write_item(place, value)
            case nodes.Convert():
                # A write into an option: it must have a value.
                assert isinstance(place.base.type, OptionType)
                self.context.check(self.expressions.evaluate(place.base).present, place.site)
                self.write(place.base, SymbolicOption(True, value))
            case _:
                raise AssertionError(f"{type(place).__name__} is no place")

    def write_item(self, place: nodes.IndexRead, value: Value) -> None:
        """Give an entry of a map or an item of a sequence a value."""
        base = self.expressions.evaluate(place.base)
        if isinstance(place.base.type, MapType):
            tests = dict(_key_tests(place.base.type, self.expressions.evaluate(place.index)))
            parts = (merged(tests.get(i, False), value, part) for i, part in enumerate(base.parts))
            self.write(place.base, SymbolicTuple(tuple(parts)))
            return
        index = self._check_index(place, base)
        items = tuple(merged(compare("==", index, concrete(i)), value, item) for i, item in enumerate(base.items))
        self.write(place.base, SymbolicArray(base.length, items))


def _value_at(kind: MapType, base: SymbolicTuple, key: Value) -> Value:
    """Return a map's value at a key."""
    tests = _key_tests(kind, key)
    # The key has one of the possible values, so the last one needs no test.
    result = base.parts[tests[-1][0]]
    for position, test in reversed(tests[:-1]):
        result = merged(test, base.parts[position], result)
    return result


def _key_tests(kind: MapType, key: Value) -> list[tuple[int, Truth]]:
    """Return the positions that a key may have in a map, each with the condition that the key has it."""
    tests = [(i, equal(key, constant(kind.key, value))) for i, value in enumerate(kind.key.values())]
    possible = [(i, test) for i, test in tests if test is not False]
    # If the interval of the key excludes every position, the evaluation is not alive; `_value_at` still needs one.
    return possible or tests
