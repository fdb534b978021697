"""Lowering of iteration: loops are unrolled up to the capacity of what they iterate over."""

from __future__ import annotations

from collections.abc import Iterator

from checker.engines.smt.lowering import arithmetic, arrays, integers
from checker.engines.smt.lowering.conversion import converted
from checker.engines.smt.lowering.encoding import constant
from checker.engines.smt.lowering.evaluation import SymbolicSubject
from checker.engines.smt.lowering.integers import compare, concrete
from checker.engines.smt.lowering.logic import Truth, both
from checker.engines.smt.lowering.symbolic_values import SymbolicSet, Value
from checker.frontend.call_typing import item_type
from checker.ir import nodes
from checker.language.types import SetType, Type


class SymbolicLoops(SymbolicSubject):
    """Enumerates the items that a loop may have, each with the condition that it has it."""

    def over(self, iterable: nodes.Iterable) -> list[tuple[Truth, Value]]:
        """Return the items of an iterable, in order, each with whether it is present."""
        if isinstance(iterable, nodes.Universe):
            return [(True, constant(iterable.type, value)) for value in iterable.type.values()]
        if isinstance(iterable, nodes.IntRange):
            low, high = self.expressions.number(iterable.low), self.expressions.number(iterable.high)
            numbers = [concrete(number) for number in range(int(low.low), int(high.high))]
            return [(both(compare("<=", low, n), compare("<", n, high)), n) for n in numbers]
        return items_in(iterable.type, self.expressions.evaluate(iterable))

    def bindings(self, clause: nodes.ForClause) -> Iterator[tuple[Truth, dict[nodes.Local, Value]]]:
        """Iterate over the items of a clause: whether each is present, and the values of the clause's locals."""
        counter, kind = concrete(0), item_type(clause.iterable)
        for present, item in self.over(clause.iterable):
            if present is False:
                continue
            bound = {clause.local: converted(item, kind, clause.local.type)[0]}
            if clause.counter is not None:
                bound[clause.counter] = counter
                counter = integers.choose(present, arithmetic.add(counter, concrete(1)), counter)
            yield present, bound


def items_in(kind: Type, value: Value) -> list[tuple[Truth, Value]]:
    """Return the items that a collection may have, in order, each with whether it is present."""
    if isinstance(value, SymbolicSet):
        assert isinstance(kind, SetType)
        items = zip(kind.item.values(), value.members, strict=True)
        return [(member, constant(kind.item, item)) for item, member in items]
    return list(arrays.used(value))
