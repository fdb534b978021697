"""Lowering of iteration without a bound: a loop becomes a bound variable instead of a list of items."""

from __future__ import annotations

import math
from dataclasses import dataclass

from checker.engines.smt.lowering import integers
from checker.engines.smt.lowering.conversion import converted
from checker.engines.smt.lowering.encoding import size_of
from checker.engines.smt.lowering.integers import SymbolicInteger, compare, concrete, is_index
from checker.engines.smt.lowering.logic import Truth, both
from checker.engines.smt.lowering.loops import SymbolicLoops
from checker.engines.smt.lowering.open_bounds import within_open_bound
from checker.engines.smt.lowering.symbolic_values import (
    UnboundedSet,
    Value,
    is_unbounded_sequence,
    is_unbounded_set,
    new_index,
)
from checker.frontend.call_typing import item_type
from checker.ir import nodes
from checker.language.symbols import is_open
from checker.language.types import IntType, OpenDomainType


@dataclass(frozen=True)
class BoundItem:
    """The item of an endless clause as a bound variable.

    - `index`: the variable. `is_present`: the condition that it denotes an item.
    - `locals`: the values of the clause's locals, over the variable.
    """

    index: SymbolicInteger
    is_present: Truth
    locals: dict[nodes.Local, Value]


class QuantifiedLoops(SymbolicLoops):
    """Enumerates items as `SymbolicLoops` does, and binds a variable for clauses without a bound."""

    def is_endless(self, clause: nodes.Clause) -> bool:
        """Return whether a clause iterates over a number of items that has no bound."""
        if not isinstance(clause, nodes.ForClause):
            return False
        over = clause.iterable
        if isinstance(over, nodes.IntRange):
            assert isinstance(over.low.type, IntType) and isinstance(over.high.type, IntType)
            return over.low.type.low is None or is_open(over.low.type.low) or is_open(over.high.type.high)
        if isinstance(over, nodes.Universe):
            return is_open(over.type.cardinality())
        return is_unbounded_sequence(over.type) or is_unbounded_set(over.type)

    def bind_item(self, clause: nodes.ForClause) -> BoundItem:
        """Return the item of an endless clause."""
        over, index = clause.iterable, new_index()
        if isinstance(over, nodes.IntRange):
            low, high = self.expressions.number(over.low), self.expressions.number(over.high)
            # The index has an infinite interval, so the comparisons alone would not fold for an empty range.
            is_empty = high.high <= low.low
            is_present: Truth = False if is_empty else both(compare("<=", low, index), compare("<", index, high))
            item: Value = integers.narrowed(index, low.low, high.high - 1)
        elif isinstance(over, nodes.Universe) and isinstance(over.type, OpenDomainType):
            index = integers.narrowed(index, 0, index.high)
            is_present = is_index(without_interval(index), size_of(over.type))
            item = index
        elif isinstance(over, nodes.Universe):
            assert isinstance(over.type, IntType)
            low = concrete(over.type.low or 0)
            is_present = both(compare("<=", low, index), within_open_bound(index, over.type))
            item = integers.narrowed(index, low.low, index.high)
        elif is_unbounded_set(over.type):
            index = integers.narrowed(index, 0, index.high)
            chosen: UnboundedSet = self.expressions.evaluate(over)
            is_present = chosen.has_member(without_interval(index))
            item = index
        else:
            base = self.expressions.evaluate(over)
            index = integers.narrowed(index, 0, index.high)
            # The first test follows from the second, but folds to False for a sequence that is known to be empty.
            is_present = both(compare("<", concrete(0), base.length), is_index(without_interval(index), base.length))
            item = base.at(index)
        bound = {clause.local: converted(item, item_type(over), clause.local.type)[0]}
        if clause.counter is not None:
            bound[clause.counter] = index
        return BoundItem(index, is_present, bound)


def without_interval(number: SymbolicInteger) -> SymbolicInteger:
    """Return a number with an infinite interval, so that comparisons of it are not decided by its interval.

    A bound variable is inside its interval only by the very comparison that states it.
    """
    return number if number.is_concrete else SymbolicInteger(number.term, -math.inf, math.inf)
