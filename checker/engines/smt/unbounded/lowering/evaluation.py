"""The context of an evaluation with quantifiers: bound variables, and definitions of auxiliary constants."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import z3

from checker.engines.smt.lowering.evaluation import State, SymbolicContext, SymbolicFailure
from checker.engines.smt.lowering.integers import SymbolicInteger
from checker.engines.smt.lowering.logic import Term, Truth, any_of, both, exists, for_all, negate, truth_term
from checker.engines.smt.unbounded.definitions import EXTREMUM
from checker.errors import SpecError
from checker.ir import nodes

_NUMBERS = itertools.count()


class QuantifiedContext(SymbolicContext):
    """The evaluation of one action or property on a symbolic state with unbounded integers and sequences.

    - `definitions`: the meaning of the constants and functions that stand for minima and maxima.
    - `variables`: the bound variables of the quantifiers around the current expression, outermost first.
    - `cases`: the members of domains that locals of the action stand for; the proof may split cases by their values.
    - `is_implied(premises, conclusion)`: a quick test that may return False for an implication that holds.
    """

    def __init__(self, state: State, old: State | None, is_implied: Callable[[list[Truth], Truth], bool]):
        super().__init__(state, old)
        self.definitions: list[Truth] = []
        self.variables: list[Term] = []
        self.cases: list[SymbolicInteger] = []
        self._is_implied = is_implied

    def check(self, test: Truth, site: nodes.Site) -> None:
        """Record that the evaluation leaves the bounds of a type at `site` where `test` is false.

        A test that the path condition implies is discharged here: it would make every later term larger.
        """
        if test is not True and not self._is_implied([*self.guards, self.alive], test):
            super().check(test, site)

    @contextmanager
    def for_each(
        self, index: SymbolicInteger, is_present: Truth, decides: Callable[[], Truth] = lambda: False
    ) -> Iterator[None]:
        """Evaluate the body of a `with` statement for every value of `index` with `is_present`, as a bound variable.

        A failure inside depends on the bound variable. After the body it is closed: the evaluation fails if some value
        fails, and no smaller value decides the quantifier before (`decides`), because Python stops there.
        """
        first, alive = len(self.failures), self.alive
        self.variables.append(index.term)
        with self.under(is_present):
            yield
        self.variables.pop()
        failures = self.failures[first:]
        if not failures:
            self.alive = alive
            return
        # The closed condition no longer mentions the bound variable: it can be a failure of the whole evaluation.
        is_reached = _none_before(index.term, both(is_present, decides()))
        closed = [SymbolicFailure(f.site, exists([index.term], both(f.condition, is_reached))) for f in failures]
        self.failures[first:] = closed
        self.alive = both(alive, negate(any_of(failure.condition for failure in closed)))

    def new_constant(self) -> Term:
        """Return a new Int: a constant, or inside quantifiers a function of their variables (a Skolem function)."""
        sorts = [variable.sort() for variable in self.variables]
        return z3.Function(f"{EXTREMUM}!{next(_NUMBERS)}", *sorts, z3.IntSort())(*self.variables)

    def define(self, truth: Truth) -> None:
        """Add a definition, closed over the bound variables."""
        self.definitions.append(for_all(self.variables, truth) if self.variables else truth)


def _none_before(index: Term, decides: Truth) -> Truth:
    """Return whether no smaller index decides."""
    if decides is False:
        return True
    before = z3.FreshInt("j")
    return for_all([before], negate(both(before < index, z3.substitute(truth_term(decides), (index, before)))))


def refuse_unbounded(message: str, site: nodes.Site) -> SpecError:
    """Return the error for an expression that unbounded types do not support."""
    return SpecError(f"{message} (in {site.text})" if site.text else message, file=site.file, line=site.line)
