"""Lowering of places with unbounded types: open constants, and items of unbounded sequences."""

from __future__ import annotations

from checker.engines.smt.lowering import integers
from checker.engines.smt.lowering.integers import SymbolicInteger, compare, is_index
from checker.engines.smt.lowering.open_bounds import open_number
from checker.engines.smt.lowering.places import SymbolicPlaces
from checker.engines.smt.lowering.symbolic_values import (
    UnboundedMap,
    UnboundedSequence,
    Value,
    is_unbounded_map,
    is_unbounded_sequence,
    merged,
)
from checker.engines.smt.unbounded.lowering import sequences
from checker.engines.smt.unbounded.lowering.evaluation import refuse_unbounded
from checker.ir import nodes
from checker.language.symbols import is_open
from checker.language.types import BagType, SetType


class QuantifiedPlaces(SymbolicPlaces):
    """Evaluates reads of unbounded values, and writes to them."""

    def literal(self, node: nodes.Literal) -> Value:
        if not is_open(node.value):
            return super().literal(node)
        number = open_number(node.value)
        assert number is not None
        return number

    def convert(self, node: nodes.Convert) -> Value:
        if isinstance(node.type, (SetType, BagType)) and is_open(node.type.capacity):
            raise refuse_unbounded("a set or bag of unbounded size is not supported: use `all` or `any`", node.site)
        return super().convert(node)

    def index_read(self, node: nodes.IndexRead) -> Value:
        if is_unbounded_map(node.base.type):
            return self.expressions.evaluate(node.base).at(self.expressions.number(node.index))
        if not is_unbounded_sequence(node.base.type):
            return super().index_read(node)
        base = self.expressions.evaluate(node.base)
        return base.at(self._index(node, base))

    def _index(self, node: nodes.IndexRead, base: UnboundedSequence) -> SymbolicInteger:
        index = self.expressions.number(node.index)
        self.context.check(is_index(index, base.length), node.site)
        # The check ensures a lower bound of 0 on the paths that are alive. The length is symbolic, so the upper bound
        # stays.
        return integers.narrowed(index, 0, index.high)

    def write_item(self, place: nodes.IndexRead, value: Value) -> None:
        if is_unbounded_map(place.base.type):
            old_map: UnboundedMap = self.expressions.evaluate(place.base)
            key = self.expressions.number(place.index)
            changed = UnboundedMap(
                old_map.size, lambda other: merged(compare("==", other, key), value, old_map.at(other))
            )
            self.write(place.base, changed)
            return
        if not is_unbounded_sequence(place.base.type):
            super().write_item(place, value)
            return
        base = self.expressions.evaluate(place.base)
        self.write(place.base, sequences.with_replaced(base, self._index(place, base), value))
