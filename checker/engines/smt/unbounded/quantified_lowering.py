"""Lowering to terms about every value of a constant: where a loop has no end, it becomes a quantifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import z3

from checker.engines.smt.lowering import integers
from checker.engines.smt.lowering.comprehensions import item_type
from checker.engines.smt.lowering.conversion import converted
from checker.engines.smt.lowering.evaluation import State, SymbolicFailure
from checker.engines.smt.lowering.integers import SymbolicInteger, compare, concrete
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
    truth_term,
)
from checker.engines.smt.lowering.statements import SymbolicStatements
from checker.engines.smt.lowering.symbolic_values import (
    SymbolicOption,
    UnboundedSequence,
    Value,
    is_unbounded_sequence,
    new_index,
)
from checker.engines.smt.unbounded import sequences
from checker.errors import SpecError
from checker.ir import nodes
from checker.language.symbols import is_open
from checker.language.types import DomainType, IntType, MapType, OptionType, SeqType, Type


@dataclass(frozen=True)
class ExtremumCandidate:
    """A number that a `min` or `max` goes over: for all values of the variables under which the condition is true."""

    variables: list[Term]
    condition: Truth
    number: SymbolicInteger


class QuantifiedLowering(SymbolicStatements):
    """Runs actions and properties on a symbolic state whose numbers and sequences have no bounds.

    - `definitions`: what is true of the constants and functions that were made for minima and maxima.
    - `variables`: the bound variables of the quantifiers around what is evaluated now.
    - `cases`: the members of domains that locals of the action stand for: what happens differs by them.
    - `is_certain`: a quick test whether some conditions imply another one, so that obligations need not be kept.
    """

    def __init__(self, state: State, old: State | None, is_certain: Callable[[list[Truth], Truth], bool]):
        super().__init__(state, old)
        self.definitions: list[Truth] = []
        self.variables: list[Term] = []
        self.cases: list[SymbolicInteger] = []
        self.is_certain = is_certain

    def check(self, node: nodes.Expr | nodes.Stmt, test: Truth) -> None:
        """Note that the evaluation leaves its bounds here where `test` is false, unless that is never so."""
        if test is not True and not self.is_certain([*self.guards, self.alive], test):
            super().check(node, test)

    # Numbers.

    def _Literal(self, node: nodes.Literal) -> Value:
        if is_open(node.value):
            number = integers.open_number(node.value)
            assert number is not None
            return number
        return super()._Literal(node)

    # Sequences.

    def _IndexRead(self, node: nodes.IndexRead) -> Value:
        if not is_unbounded_sequence(node.base.type):
            return super()._IndexRead(node)
        base = self.evaluate(node.base)
        return base.at(self._index(node, base))

    def _index(self, node: nodes.IndexRead, base: UnboundedSequence) -> SymbolicInteger:
        index = self.number(node.index)
        self.check(node, sequences.is_inside(base, index))
        return integers.narrowed(index, 0, index.high)

    def _write_item(self, place: nodes.IndexRead, value: Value) -> None:
        if not is_unbounded_sequence(place.base.type):
            super()._write_item(place, value)
            return
        base = self.evaluate(place.base)
        self._write(place.base, sequences.replaced(base, self._index(place, base), value))

    def _Contains(self, node: nodes.Contains) -> Value:
        if not is_unbounded_sequence(node.container.type):
            return super()._Contains(node)
        container, item = self.evaluate(node.container), self.evaluate(node.item)
        inner, is_one = self._as_item(node, item)
        return False if is_one is False else both(is_one, sequences.contains(container, inner))

    def _SeqInsert(self, node: nodes.SeqInsert) -> Value:
        if not is_unbounded_sequence(node.type):
            return super()._SeqInsert(node)
        base = self.evaluate(node.base)
        index = base.length if node.index is None else self.number(node.index)
        item = self.evaluate(node.item)
        inside = both(compare("<=", concrete(0), index), compare("<=", index, base.length))
        self.check(node, both(inside, self._fits(node.type, integers.add(base.length, concrete(1)))))
        return sequences.appended(base, item) if node.index is None else sequences.inserted(base, index, item)

    def _fits(self, kind: Type, length: SymbolicInteger) -> Truth:
        """Return whether a length is within a sequence type's capacity."""
        assert isinstance(kind, SeqType)
        most = integers.open_number(kind.capacity)
        return True if most is None else compare("<=", length, most)

    def _SeqDelete(self, node: nodes.SeqDelete) -> Value:
        if not is_unbounded_sequence(node.type):
            return super()._SeqDelete(node)
        base = self.evaluate(node.base)
        index = integers.subtract(base.length, concrete(1)) if node.index is None else self.number(node.index)
        self.check(node, sequences.is_inside(base, index))
        if node.index is None:
            return UnboundedSequence(integers.narrowed(index, 0, index.high), base.at)
        return sequences.without_span(base, index, concrete(1))

    def _SeqSlice(self, node: nodes.SeqSlice) -> Value:
        if not is_unbounded_sequence(node.type):
            return super()._SeqSlice(node)
        base = self.evaluate(node.base)
        low = concrete(0) if node.low is None else self._bound(node, node.low)
        high = base.length if node.high is None else self._bound(node, node.high)
        return sequences.sliced(base, low, high, inverted=node.inverted)

    def _SeqConcat(self, node: nodes.SeqConcat) -> Value:
        if not is_unbounded_sequence(node.type):
            return super()._SeqConcat(node)
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        # The type's capacity is that of both together: no two sequences are too long for it.
        return sequences.concatenated(sequences.as_unbounded(left), sequences.as_unbounded(right))

    # What has no counterpart without bounds.

    def _Count(self, node: nodes.Count) -> Value:
        if is_unbounded_sequence(node.container.type):
            raise _refused(node, "count goes over a sequence of unbounded length: say it with `all` or `any`")
        return super()._Count(node)

    def _IndexOf(self, node: nodes.IndexOf) -> Value:
        if is_unbounded_sequence(node.container.type):
            words = "index goes over a sequence of unbounded length: write min(i for i in range(len(...)) if ...)"
            raise _refused(node, words)
        return super()._IndexOf(node)

    def _Sorted(self, node: nodes.Sorted) -> Value:
        if is_unbounded_sequence(node.base.type) or is_open(getattr(node.type, "capacity", None)):
            raise _refused(node, "a sequence of unbounded length cannot be sorted")
        return super()._Sorted(node)

    def _ItemsOf(self, node: nodes.ItemsOf) -> Value:
        assert not is_unbounded_sequence(node.type)
        return super()._ItemsOf(node)

    def _MapBuild(self, node: nodes.MapBuild) -> Value:
        assert isinstance(node.type, MapType)
        return super()._MapBuild(node)

    def _do_AssignLocal(self, node: nodes.AssignLocal) -> None:
        super()._do_AssignLocal(node)
        value = self.frame.locals[node.local]
        member = value.item if isinstance(value, SymbolicOption) else value
        kind = node.local.type.item if isinstance(node.local.type, OptionType) else node.local.type
        if isinstance(kind, DomainType) and not member.is_concrete and not self.variables:
            is_new = all(not member.term.eq(found.term) for found in self.cases)
            self.cases += [member] if is_new else []

    def _do_For(self, node: nodes.For) -> None:
        if self.is_endless(node.clause):
            raise SpecError(
                "a loop over something unbounded cannot change the state or a local: say what it does with `all`, "
                "`any`, `min`, `max` or a slice",
                file=node.site.file,
                line=node.site.line,
            )
        super()._do_For(node)

    def _do_Require(self, node: nodes.Require) -> None:
        if self.variables:
            words = "a helper with `require` is called for each item of something unbounded: require `all(...)` of it"
            raise SpecError(words, file=node.site.file, line=node.site.line)
        super()._do_Require(node)

    # Quantifiers.

    def is_endless(self, clause: nodes.Clause) -> bool:
        """Say whether a clause goes over a number of items that has no bound."""
        if not isinstance(clause, nodes.ForClause):
            return False
        over = clause.iterable
        if isinstance(over, nodes.IntRange):
            assert isinstance(over.low.type, IntType) and isinstance(over.high.type, IntType)
            return over.low.type.low is None or is_open(over.low.type.low) or is_open(over.high.type.high)
        if isinstance(over, nodes.Universe):
            return is_open(over.type.cardinality())
        return is_unbounded_sequence(over.type)

    def _item(self, clause: nodes.ForClause) -> tuple[SymbolicInteger, Truth, dict[nodes.Local, Value]]:
        """Return a variable for an item of an endless clause, when it is there, and the clause's locals with it."""
        over, index = clause.iterable, new_index()
        bound: dict[nodes.Local, Value] = {}
        if isinstance(over, nodes.IntRange):
            low, high = self.number(over.low), self.number(over.high)
            is_empty = high.high <= low.low
            inside: Truth = False if is_empty else both(compare("<=", low, index), compare("<", index, high))
            item: Value = integers.narrowed(index, low.low, high.high - 1)
        elif isinstance(over, nodes.Universe):
            assert isinstance(over.type, IntType)
            low, high = concrete(over.type.low or 0), concrete(0)
            inside = both(compare("<=", low, index), integers.within_open_bound(index, over.type))
            item = integers.narrowed(index, low.low, index.high)
        else:
            base = self.evaluate(over)
            index = integers.narrowed(index, 0, index.high)
            inside = both(compare("<", concrete(0), base.length), sequences.is_inside(base, _plain(index)))
            item = base.at(index)
        bound[clause.local] = converted(item, item_type(over), clause.local.type)[0]
        if clause.counter is not None:
            bound[clause.counter] = index
        return index, inside, bound

    @contextmanager
    def _each(
        self, index: SymbolicInteger, inside: Truth, decides: Callable[[], Truth] = lambda: False
    ) -> Iterator[None]:
        """While this holds, what is evaluated is evaluated for each value of an index.

        What leaves its bounds there does so for some value, before which none decides the quantifier.
        """
        first, alive = len(self.failures), self.alive
        self.variables.append(index.term)
        with self.under(inside):
            yield
        self.variables.pop()
        found = self.failures[first:]
        if not found:
            self.alive = alive
            return
        reached = _none_before(index.term, both(inside, decides()))
        closed = [SymbolicFailure(f.site, exists([index.term], both(f.condition, reached))) for f in found]
        self.failures[first:] = closed
        self.alive = both(alive, negate(any_of(failure.condition for failure in closed)))

    def _quantified(self, node: nodes.Fold, kind: str) -> Truth:
        def decided(clauses: tuple[nodes.Clause, ...]) -> Truth:
            """Return whether an element of what is left decides: a false one of `all`, a true one of `any`."""
            if not clauses:
                found = self.truth(node.element)
                return negate(found) if kind == "all" else found
            first, rest = clauses[0], clauses[1:]
            if isinstance(first, nodes.IfClause):
                wanted = self.truth(first.test)
                if wanted is False:
                    return False
                with self.under(wanted):
                    return both(wanted, decided(rest))
            if self.is_endless(first):
                return self._decided_by_some(first, lambda: decided(rest))
            result: Truth = False
            for present, bound in self.bindings(first):
                go_on = negate(result)
                if go_on is False:
                    break
                self.frame.locals.update(bound)
                with self.under(present, go_on):
                    result = either(result, both(present, decided(rest)))
            return result

        found = decided(node.clauses)
        return negate(found) if kind == "all" else found

    def _decided_by_some(self, clause: nodes.ForClause, decided: Callable[[], Truth]) -> Truth:
        index, inside, bound = self._item(clause)
        if inside is False:
            return False
        self.frame.locals.update(bound)
        found: list[Truth] = [False]
        with self._each(index, inside, lambda: found[0]):
            found[0] = decided()
        return exists([index.term], both(inside, found[0]))

    # Minima and maxima.

    def _Fold(self, node: nodes.Fold) -> Value:
        if any(self.is_endless(clause) for clause in node.clauses) and node.kind not in ("all", "any"):
            if node.kind in ("min", "max"):
                return self._open_extreme(node)
            made = {"sum": "a sum", "set": "a set", "seq": "a list"}[node.kind]
            words = f"{made} is made of something unbounded: it can be said with `all`, `any`, `min`, `max` or a slice"
            raise _refused(node, words)
        return super()._Fold(node)

    def _open_extreme(self, node: nodes.Fold) -> SymbolicInteger:
        """Return a new number that is the least or greatest of the elements, or the default where there is none."""
        candidates: list[ExtremumCandidate] = []
        self._gather(node, node.clauses, [], True, candidates)
        assert isinstance(node.type, IntType)
        low, high = integers.bounds_of(node.type)
        result = SymbolicInteger(self._new_constant(), low, high)
        some = any_of(exists(found.variables, found.condition) for found in candidates)
        operator = "<=" if node.kind == "min" else ">="
        attained = any_of(
            exists(found.variables, both(found.condition, compare("==", _plain(result), found.number)))
            for found in candidates
        )
        best = all_of(
            for_all(found.variables, implies(found.condition, compare(operator, _plain(result), found.number)))
            for found in candidates
        )
        self._define(implies(some, both(attained, best)))
        if node.default is None:
            self.check(node, some)
        else:
            self._define(either(some, compare("==", _plain(result), self.number(node.default))))
        return result

    def _gather(
        self,
        node: nodes.Fold,
        clauses: tuple[nodes.Clause, ...],
        variables: list[Term],
        test: Truth,
        candidates: list[ExtremumCandidate],
    ) -> None:
        if not clauses:
            candidates.append(ExtremumCandidate(variables, test, self.number(node.element)))
            return
        first, rest = clauses[0], clauses[1:]
        if isinstance(first, nodes.IfClause):
            wanted = self.truth(first.test)
            if wanted is not False:
                with self.under(wanted):
                    self._gather(node, rest, variables, both(test, wanted), candidates)
        elif self.is_endless(first):
            index, inside, bound = self._item(first)
            if inside is False:
                return
            self.frame.locals.update(bound)
            with self._each(index, inside):
                self._gather(node, rest, [*variables, index.term], both(test, inside), candidates)
        else:
            for present, bound in self.bindings(first):
                self.frame.locals.update(bound)
                with self.under(present):
                    self._gather(node, rest, variables, both(test, present), candidates)

    def _new_constant(self) -> Term:
        if not self.variables:
            return z3.FreshInt("extreme")
        sorts = [variable.sort() for variable in self.variables]
        return z3.FreshFunction(*sorts, z3.IntSort())(*self.variables)

    def _define(self, truth: Truth) -> None:
        self.definitions.append(for_all(self.variables, truth) if self.variables else truth)


def _plain(number: SymbolicInteger) -> SymbolicInteger:
    """Return a number of which no interval is known: what its term alone says is compared."""
    return SymbolicInteger(number.term, -float("inf"), float("inf")) if not number.is_concrete else number


def _none_before(index: Term, decides: Truth) -> Truth:
    """Return whether no smaller index decides."""
    if decides is False:
        return True
    before = z3.FreshInt("j")
    return for_all([before], negate(both(before < index, z3.substitute(truth_term(decides), (index, before)))))


def _refused(node: nodes.Expr, words: str) -> SpecError:
    text = node.site.text
    return SpecError(f"{words} (in {text})" if text else words, file=node.site.file, line=node.site.line)
