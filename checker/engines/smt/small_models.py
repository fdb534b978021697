"""Small models: a satisfiable query is asked again with ever stricter limits on the values of its model.

Z3 chooses any values that satisfy a query, so a counterexample may contain `offset = 1795561677` where 0 would do. The
numbers and truth values of a counterexample are therefore brought, one after the other, as near to their smallest as
the earlier ones allow.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import z3

from checker.engines.smt.lowering.encoding import number_in
from checker.engines.smt.lowering.integers import SymbolicInteger, compare, concrete
from checker.engines.smt.lowering.logic import Truth, both, negate
from checker.engines.smt.lowering.symbolic_values import Value, parts_of
from checker.engines.smt.solving import AnsweredQuery, QueryLimits, ask, guarded

MAX_SECONDS = 5.0
"""Time limit of one minimisation; after it the model is as small as it is then."""

QUERY_SECONDS = 0.5
"""Time limit of a query that asks for a smaller value; without an answer the value stays."""


def smallest_model(
    solver: Any, query: AnsweredQuery, asked: list[Truth], values: Iterable[Value], limits: QueryLimits
) -> AnsweredQuery:
    """Return a satisfiable query with a model of small values, the first values being the smallest.

    `asked` are the assumptions of the query, `values` those that are made small. Lengths of collections come before
    their items.
    """
    return _Minimisation(solver, query, asked, limits).run(values)


class _Minimisation:
    def __init__(self, solver: Any, query: AnsweredQuery, asked: list[Truth], limits: QueryLimits):
        self._solver, self._query, self._asked = solver, query, list(asked)
        self._limits = replace(limits, seconds=min(QUERY_SECONDS, limits.seconds or QUERY_SECONDS))
        self._ends = time.perf_counter() + MAX_SECONDS

    def run(self, values: Iterable[Value]) -> AnsweredQuery:
        """Make each value small in turn."""
        for part in _lengths_first([part for value in values for part in parts_of(value)]):
            if isinstance(part, SymbolicInteger):
                self._shrink_number(part)
            else:
                self._require(negate(part))
        return self._query

    def _shrink_number(self, number: SymbolicInteger) -> None:
        """Bring a number near to its smallest value: 0, or the end of its interval that is next to 0."""
        if number.is_concrete:
            return
        target = int(min(max(0, number.low), number.high))
        distance = abs(number_in(number, self._query.evaluate) - target)
        # Distances up to `near` are refuted; the model has `distance`.
        near = -1
        while near + 1 < distance:
            # Most values can be the smallest.
            middle = 0 if near < 0 else (near + distance) // 2
            if not self._require(_within(number, target, middle)):
                if not self._has_time():
                    return
                near = middle
            distance = abs(number_in(number, self._query.evaluate) - target)
        self._require(_within(number, target, distance))

    def _require(self, truth: Truth) -> bool:
        """Add a condition to the query if it stays satisfiable; return whether it does."""
        if isinstance(truth, bool):
            return truth
        # Z3's solver for finite domains assumes literals only.
        literal = guarded(self._solver, truth)
        if not z3.is_true(self._query.evaluate(truth)):
            query = ask(self._solver, self._limits, *self._asked, literal) if self._has_time() else None
            if query is None or query.answer != "yes":
                return False
            self._query = query
        self._asked.append(literal)
        return True

    def _has_time(self) -> bool:
        return time.perf_counter() < self._ends


def _within(number: SymbolicInteger, target: int, distance: int) -> Truth:
    low, high = concrete(target - distance), concrete(target + distance)
    return both(compare("<=", low, number), compare("<=", number, high))


def _lengths_first(parts: list[Value]) -> Iterator[Value]:
    """Iterate over parts, those that decide how much of a value is used before the others."""
    yield from sorted((part for part in parts if not isinstance(part, bool)), key=_is_content)


def _is_content(part: Value) -> bool:
    term = part.term if isinstance(part, SymbolicInteger) else part
    name = term.decl().name() if isinstance(term, z3.ExprRef) else ""
    # The names that `new_value` gives to lengths, and to the presence of options.
    return not name.endswith(("#", "?"))
