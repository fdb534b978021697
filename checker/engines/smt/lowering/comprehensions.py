"""Lowering of expressions: what loops bind, and comprehensions. Loops are unrolled, as long as they can get."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from checker.engines.smt.lowering import integers
from checker.engines.smt.lowering.collections import SymbolicCollections
from checker.engines.smt.lowering.conversion import converted
from checker.engines.smt.lowering.integers import SymbolicInteger, compare, concrete
from checker.engines.smt.lowering.logic import Truth, any_of, both, either, negate
from checker.engines.smt.lowering.symbolic_values import Value, blank, constant
from checker.ir import nodes
from checker.language.types import Type

StopTest = Callable[[], Truth] | None


class SymbolicComprehensions(SymbolicCollections):
    """Evaluates comprehensions, and lists what a loop goes over."""

    def over(self, iterable: nodes.Iterable) -> list[tuple[Truth, Value]]:
        """Return the items of an iterable, in order, each with whether it is there."""
        if isinstance(iterable, nodes.Universe):
            return [(True, constant(iterable.type, value)) for value in iterable.type.values()]
        if isinstance(iterable, nodes.IntRange):
            low, high = self.number(iterable.low), self.number(iterable.high)
            numbers = [concrete(number) for number in range(int(low.low), int(high.high))]
            return [(both(compare("<=", low, n), compare("<", n, high)), n) for n in numbers]
        return self.items_of(iterable.type, self.evaluate(iterable))

    def bindings(self, clause: nodes.ForClause) -> Iterator[tuple[Truth, dict[nodes.Local, Value]]]:
        """Iterate over the items of a clause: whether each is there, and the clause's locals with it."""
        counter, kind = concrete(0), item_type(clause.iterable)
        for present, item in self.over(clause.iterable):
            if present is False:
                continue
            bound = {clause.local: converted(item, kind, clause.local.type)[0]}
            if clause.counter is not None:
                bound[clause.counter] = counter
                counter = integers.chosen(present, integers.add(counter, concrete(1)), counter)
            yield present, bound

    def _elements(
        self, clauses: tuple[nodes.Clause, ...], use: Callable[[Truth], None], test: Truth = True, stop: StopTest = None
    ) -> None:
        """Call `use(condition)` for each combination of a comprehension's clauses, with their locals bound.

        `stop`: gives the condition under which nothing more is evaluated.
        """
        if not clauses:
            use(test)
            return
        first, rest = clauses[0], clauses[1:]
        if isinstance(first, nodes.IfClause):
            wanted = self.truth(first.test)
            if wanted is not False:
                with self.under(wanted):
                    self._elements(rest, use, both(test, wanted), stop)
            return
        for present, bound in self.bindings(first):
            go_on = True if stop is None else negate(stop())
            if go_on is False:
                return
            self.frame.locals.update(bound)
            with self.under(present, go_on):
                self._elements(rest, use, both(test, present), stop)

    def _Fold(self, node: nodes.Fold) -> Value:
        if node.kind in ("all", "any"):
            return self._quantified(node, node.kind)
        if node.kind in ("set", "seq"):
            return self._collected(node)
        if node.kind == "sum":
            return self._sum(node)
        return self._extreme(node)

    def _quantified(self, node: nodes.Fold, kind: str) -> Truth:
        deciding: list[Truth] = []
        so_far: Truth = False

        def decide(test: Truth) -> None:
            nonlocal so_far
            found = self.truth(node.element)
            deciding.append(both(test, negate(found) if kind == "all" else found))
            so_far = either(so_far, deciding[-1])

        self._elements(node.clauses, decide, stop=lambda: so_far)
        decided = any_of(deciding)
        return negate(decided) if kind == "all" else decided

    def _sum(self, node: nodes.Fold) -> SymbolicInteger:
        total = concrete(0)

        def add(test: Truth) -> None:
            nonlocal total
            total = integers.add(total, integers.chosen(test, self.number(node.element), concrete(0)))

        self._elements(node.clauses, add)
        return total

    def _extreme(self, node: nodes.Fold) -> SymbolicInteger:
        best, some = concrete(0), False

        def take(test: Truth) -> None:
            nonlocal best, some
            found = self.number(node.element)
            better = found if some is False else integers.extremum(node.kind, best, found)
            best = integers.chosen(test, integers.chosen(some, better, found), best if some is not False else found)
            some = either(some, test)

        self._elements(node.clauses, take)
        if node.default is None:
            self.check(node, some)
            return best
        # Python evaluates a default in any case, before the elements.
        default = self.number(node.default)
        return default if some is False else integers.chosen(some, best, default)

    def _collected(self, node: nodes.Fold) -> Value:
        result = blank(node.type)

        def take(test: Truth) -> None:
            nonlocal result
            result = self._with(node, result, self.evaluate(node.element), test)

        self._elements(node.clauses, take)
        return result


def item_type(over: nodes.Iterable) -> Type:
    """Return the type of what a loop over this binds."""
    if isinstance(over, (nodes.Universe, nodes.IntRange)):
        return over.type
    return over.type.item  # type: ignore[attr-defined, no-any-return]
