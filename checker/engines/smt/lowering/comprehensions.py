"""Lowering of comprehensions: `all`, `any`, `sum`, `min`, `max`, sets and lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from checker.engines.smt.lowering import arithmetic, integers
from checker.engines.smt.lowering.collections import SymbolicCollections
from checker.engines.smt.lowering.encoding import blank
from checker.engines.smt.lowering.evaluation import SymbolicEvaluator, SymbolicSubject
from checker.engines.smt.lowering.integers import SymbolicInteger, concrete
from checker.engines.smt.lowering.logic import Truth, any_of, both, either, negate
from checker.engines.smt.lowering.loops import SymbolicLoops
from checker.engines.smt.lowering.symbolic_values import Value
from checker.ir import nodes

StopTest = Callable[[], Truth] | None


class SymbolicComprehensions(SymbolicSubject):
    """Evaluates comprehensions by unrolling their clauses."""

    def __init__(self, expressions: SymbolicEvaluator, loops: SymbolicLoops, collections: SymbolicCollections):
        super().__init__(expressions)
        self.loops = loops
        self._collections = collections

    def fold(self, node: nodes.Fold) -> Value:
        match node.kind:
            case "all" | "any":
                return self.quantified(node, is_all=node.kind == "all")
            case "sum":
                return self._sum(node)
            case "min" | "max":
                return self._extremum(node, node.kind)
            case "set" | "seq":
                return self._collect(node)
            case _:
                assert_never(node.kind)

    def _for_each_element(
        self, clauses: tuple[nodes.Clause, ...], use: Callable[[Truth], None], test: Truth = True, stop: StopTest = None
    ) -> None:
        """Call `use(condition)` for each combination of a comprehension's clauses, with their locals bound.

        `condition`: the comprehension has this element. `stop` returns the condition under which an earlier element has
        decided the result, so that the rest is not evaluated.
        """
        if not clauses:
            use(test)
            return
        first, rest = clauses[0], clauses[1:]
        if isinstance(first, nodes.IfClause):
            wanted = self.expressions.truth(first.test)
            if wanted is not False:
                with self.context.under(wanted):
                    self._for_each_element(rest, use, both(test, wanted), stop)
            return
        for present, bound in self.loops.bindings(first):
            # Python stops at the element that decides, so a failure in a later element does not count.
            is_undecided = True if stop is None else negate(stop())
            if is_undecided is False:
                return
            self.context.frame.locals.update(bound)
            with self.context.under(present, is_undecided):
                self._for_each_element(rest, use, both(test, present), stop)

    def quantified(self, node: nodes.Fold, *, is_all: bool) -> Truth:
        """Return the value of `all` or `any`."""
        deciding: list[Truth] = []
        is_decided: Truth = False

        def decide(test: Truth) -> None:
            nonlocal is_decided
            holds = self.expressions.truth(node.element)
            deciding.append(both(test, negate(holds) if is_all else holds))
            is_decided = either(is_decided, deciding[-1])

        self._for_each_element(node.clauses, decide, stop=lambda: is_decided)
        # One flat disjunction instead of the nested `is_decided`: smaller terms for Z3.
        decided = any_of(deciding)
        return negate(decided) if is_all else decided

    def _sum(self, node: nodes.Fold) -> SymbolicInteger:
        total = concrete(0)

        def add(test: Truth) -> None:
            nonlocal total
            total = arithmetic.add(total, integers.choose(test, self.expressions.number(node.element), concrete(0)))

        self._for_each_element(node.clauses, add)
        return total

    def _extremum(self, node: nodes.Fold, operator: str) -> SymbolicInteger:
        best: SymbolicInteger = concrete(0)
        has_element: Truth = False

        def take(test: Truth) -> None:
            nonlocal best, has_element
            number = self.expressions.number(node.element)
            if has_element is False:
                # `choose` would widen the interval of the result by the initial 0, which is no element.
                best = number
            else:
                better = arithmetic.extremum(operator, best, number)
                best = integers.choose(test, integers.choose(has_element, better, number), best)
            has_element = either(has_element, test)

        self._for_each_element(node.clauses, take)
        if node.default is None:
            self.context.check(has_element, node.site)
            return best
        # Python evaluates a default in any case, before the elements.
        default = self.expressions.number(node.default)
        return default if has_element is False else integers.choose(has_element, best, default)

    def _collect(self, node: nodes.Fold) -> Value:
        result = blank(node.type)

        def take(test: Truth) -> None:
            nonlocal result
            result = self._collections.with_item(node, result, self.expressions.evaluate(node.element), test)

        self._for_each_element(node.clauses, take)
        return result
