"""Lowering of comprehensions without a bound: `all` and `any` as quantifiers, `min` and `max` by definitions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import z3

from checker.engines.smt.lowering import integers
from checker.engines.smt.lowering.collections import SymbolicCollections
from checker.engines.smt.lowering.comprehensions import SymbolicComprehensions
from checker.engines.smt.lowering.encoding import size_of
from checker.engines.smt.lowering.evaluation import SymbolicEvaluator
from checker.engines.smt.lowering.integers import SymbolicInteger, compare
from checker.engines.smt.lowering.logic import (
    Term,
    Truth,
    all_of,
    any_of,
    both,
    either,
    exists,
    for_all,
    implies,
    negate,
)
from checker.engines.smt.lowering.open_bounds import bounds_of
from checker.engines.smt.lowering.symbolic_values import UnboundedSet, Value, is_unbounded_set
from checker.engines.smt.unbounded.lowering.evaluation import QuantifiedContext, refuse_unbounded
from checker.engines.smt.unbounded.lowering.loops import QuantifiedLoops, without_interval
from checker.ir import nodes
from checker.language.types import IntType, SetType


@dataclass(frozen=True)
class ExtremumCandidate:
    """The elements of `min` or `max`: `number`, for all values of `variables` for which `condition` is true."""

    variables: list[Term]
    condition: Truth
    number: SymbolicInteger


class QuantifiedComprehensions(SymbolicComprehensions):
    """Evaluates comprehensions; a clause without a bound becomes a quantifier, other clauses are unrolled."""

    context: QuantifiedContext
    loops: QuantifiedLoops

    def __init__(self, expressions: SymbolicEvaluator, loops: QuantifiedLoops, collections: SymbolicCollections):
        super().__init__(expressions, loops, collections)

    def fold(self, node: nodes.Fold) -> Value:
        if node.kind in ("all", "any") or not any(self.loops.is_endless(clause) for clause in node.clauses):
            return super().fold(node)
        if node.kind in ("min", "max"):
            return self._endless_extremum(node)
        if is_unbounded_set(node.type) and _is_restriction(node):
            return self._restrict(node)
        result = {"sum": "a sum", "set": "a set", "seq": "a list"}[node.kind]
        message = f"{result} over something unbounded is not supported: use `all`, `any`, `min`, `max` or a slice"
        raise refuse_unbounded(message, node.site)

    def _restrict(self, node: nodes.Fold) -> UnboundedSet:
        """Return the set of those members, or items of a set, that satisfy the conditions of a comprehension."""
        clause, *tests = node.clauses
        assert isinstance(clause, nodes.ForClause)
        item = self.loops.bind_item(clause)
        self.context.frame.locals.update(item.locals)
        condition = item.is_present
        with self.context.for_each(item.index, item.is_present):
            for test in tests:
                assert isinstance(test, nodes.IfClause)
                with self.context.under(condition):
                    condition = both(condition, self.expressions.truth(test.test))

        def has(member: SymbolicInteger) -> Truth:
            # Evaluated once, above: the state and the locals may have changed when a member is asked for.
            pair = (item.index.term, integers.as_integer(member))
            return condition if isinstance(condition, bool) else z3.substitute(condition, pair)

        assert isinstance(node.type, SetType)
        return UnboundedSet(size_of(node.type.item), has)

    # Quantifiers.

    def quantified(self, node: nodes.Fold, *, is_all: bool) -> Truth:
        """Return the value of `all` or `any`."""

        def decided(clauses: tuple[nodes.Clause, ...]) -> Truth:
            """Return whether an element of the remaining clauses decides: a false one of `all`, a true one of `any`."""
            if not clauses:
                holds = self.expressions.truth(node.element)
                return negate(holds) if is_all else holds
            first, rest = clauses[0], clauses[1:]
            if isinstance(first, nodes.IfClause):
                wanted = self.expressions.truth(first.test)
                if wanted is False:
                    return False
                with self.context.under(wanted):
                    return both(wanted, decided(rest))
            if self.loops.is_endless(first):
                return self._is_decided_by_some(first, lambda: decided(rest))
            result: Truth = False
            for present, bound in self.loops.bindings(first):
                is_undecided = negate(result)
                if is_undecided is False:
                    break
                self.context.frame.locals.update(bound)
                with self.context.under(present, is_undecided):
                    result = either(result, both(present, decided(rest)))
            return result

        holds = decided(node.clauses)
        return negate(holds) if is_all else holds

    def _is_decided_by_some(self, clause: nodes.ForClause, decided: Callable[[], Truth]) -> Truth:
        """Return whether some item of an endless clause decides."""
        item = self.loops.bind_item(clause)
        if item.is_present is False:
            return False
        self.context.frame.locals.update(item.locals)
        # A cell, because `for_each` asks for the deciding condition after the body.
        decision: list[Truth] = [False]
        with self.context.for_each(item.index, item.is_present, lambda: decision[0]):
            decision[0] = decided()
        return exists([item.index.term], both(item.is_present, decision[0]))

    # Minima and maxima.

    def _endless_extremum(self, node: nodes.Fold) -> SymbolicInteger:
        """Return a new number, defined as the least or greatest element, or as the default if there is no element.

        The definition has two parts: some element is equal to the number, and no element is beyond it. Such a number
        always exists, because in every state the elements are finitely many: the definition adds no contradiction.
        """
        candidates: list[ExtremumCandidate] = []
        self._gather(node, node.clauses, [], True, candidates)
        assert isinstance(node.type, IntType)
        low, high = bounds_of(node.type)
        result = SymbolicInteger(self.context.new_constant(), low, high)
        has_element = any_of(exists(candidate.variables, candidate.condition) for candidate in candidates)
        operator = "<=" if node.kind == "min" else ">="
        # The definition gives the constant its value: the interval must not decide a comparison in it.
        number = without_interval(result)
        attained = any_of(
            exists(candidate.variables, both(candidate.condition, compare("==", number, candidate.number)))
            for candidate in candidates
        )
        best = all_of(
            for_all(candidate.variables, implies(candidate.condition, compare(operator, number, candidate.number)))
            for candidate in candidates
        )
        self.context.define(implies(has_element, both(attained, best)))
        if node.default is None:
            self.context.check(has_element, node.site)
        else:
            self.context.define(either(has_element, compare("==", number, self.expressions.number(node.default))))
        return result

    def _gather(
        self,
        node: nodes.Fold,
        clauses: tuple[nodes.Clause, ...],
        variables: list[Term],
        test: Truth,
        candidates: list[ExtremumCandidate],
    ) -> None:
        """Append the elements of `min` or `max` to `candidates`."""
        if not clauses:
            candidates.append(ExtremumCandidate(variables, test, self.expressions.number(node.element)))
            return
        first, rest = clauses[0], clauses[1:]
        if isinstance(first, nodes.IfClause):
            wanted = self.expressions.truth(first.test)
            if wanted is not False:
                with self.context.under(wanted):
                    self._gather(node, rest, variables, both(test, wanted), candidates)
        elif self.loops.is_endless(first):
            item = self.loops.bind_item(first)
            if item.is_present is False:
                return
            self.context.frame.locals.update(item.locals)
            # No deciding element: Python evaluates every element of `min` and `max`.
            with self.context.for_each(item.index, item.is_present):
                self._gather(node, rest, [*variables, item.index.term], both(test, item.is_present), candidates)
        else:
            for present, bound in self.loops.bindings(first):
                self.context.frame.locals.update(bound)
                with self.context.under(present):
                    self._gather(node, rest, variables, both(test, present), candidates)


def _is_restriction(node: nodes.Fold) -> bool:
    """Return whether a comprehension has the form `{x for x in ... if ...}`."""
    first, *rest = node.clauses
    if not isinstance(first, nodes.ForClause) or not isinstance(node.element, nodes.LocalRead):
        return False
    is_item = first.counter is None and node.element.local is first.local
    return is_item and all(isinstance(part, nodes.IfClause) for part in rest)
