"""Clauses: disjunctions of quantifier-free formulas and existential formulas, for all values of some variables."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import z3

from checker.engines.smt.lowering.logic import (
    CONTEXT,
    Term,
    Truth,
    has_quantifier,
    is_quantifier,
    negate,
    truth_term,
)

MOST_PRODUCTS = 16
"""The most clauses to which a disjunction of conjunctions is distributed; otherwise its parts get names."""


@dataclass(frozen=True, eq=False)
class Existential:
    """A formula that is true if its clauses are true for some values of its variables.

    The clauses are over the variables of the enclosing clause, too.
    """

    variables: tuple[Term, ...]
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, eq=False)
class Clause:
    """A disjunction that holds for all values of its variables, which are constants that occur nowhere else.

    `plain` are the parts without quantifiers.
    """

    variables: tuple[Term, ...]
    plain: tuple[Term, ...]
    existentials: tuple[Existential, ...] = ()


class ClauseMaker:
    """Turns formulas into clauses that are satisfiable together if and only if the formulas are.

    A quantifier inside a term, in a condition of an if-then-else, gets a name: a predicate over the variables in
    scope. `definitions` has the clauses that define the names.
    """

    def __init__(self) -> None:
        self.definitions: list[Clause] = []
        self._has_quantifier: dict[int, bool] = {}
        self._kept: list[Term] = []

    def clauses(self, truth: Truth, scope: tuple[Term, ...] = ()) -> list[Clause]:
        """Return the clauses of a formula over the variables of a scope."""
        return self._clauses_of(truth_term(truth), True, scope)

    def _is_plain(self, term: Term) -> bool:
        key = term.get_id()
        if key not in self._has_quantifier:
            self._kept.append(term)  # An id is unique only while its term is alive.
            self._has_quantifier[key] = has_quantifier(term)
        return not self._has_quantifier[key]

    def _clauses_of(self, term: Term, positive: bool, scope: tuple[Term, ...]) -> list[Clause]:
        """Return the clauses of a formula, or of its negation."""
        if self._is_plain(term):
            return [Clause((), (term if positive else negate(term),))]
        if is_quantifier(term):
            return self._of_quantifier(term, positive, scope)
        if z3.is_not(term):
            return self._clauses_of(term.arg(0), not positive, scope)
        if z3.is_and(term) or z3.is_or(term):
            parts = [self._clauses_of(part, positive, scope) for part in term.children()]
            if z3.is_and(term) == positive:
                return [clause for part in parts for clause in part]
            return self._either(parts, scope)
        if z3.is_implies(term):
            parts = [self._clauses_of(term.arg(0), not positive, scope), self._clauses_of(term.arg(1), positive, scope)]
            if positive:
                return self._either(parts, scope)
            return [clause for part in parts for clause in part]
        if z3.is_eq(term) and z3.is_bool(term.arg(0)):
            return self._equivalent(term.arg(0), term.arg(1), positive, scope)
        if z3.is_app_of(term, z3.Z3_OP_ITE):
            return self._choice(term, positive, scope)
        named = self._with_names(term, scope)
        return [Clause((), (named if positive else negate(named),))]

    def _of_quantifier(self, term: Term, positive: bool, scope: tuple[Term, ...]) -> list[Clause]:
        quantifier = z3.QuantifierRef(term.as_ast(), CONTEXT)
        count = quantifier.num_vars()
        variables = tuple(z3.FreshConst(quantifier.var_sort(i), "v") for i in range(count))
        # De Bruijn: index 0 is the variable that is bound last.
        body = z3.substitute_vars(quantifier.body(), *reversed(variables))
        inner = self._clauses_of(body, positive, (*scope, *variables))
        if quantifier.is_forall() == positive:
            return [Clause((*variables, *clause.variables), clause.plain, clause.existentials) for clause in inner]
        return [Clause((), (), (Existential(variables, tuple(inner)),))]

    def _either(self, parts: list[list[Clause]], scope: tuple[Term, ...]) -> list[Clause]:
        """Return the clauses of a disjunction of conjunctions of clauses."""
        product = 1
        named = []
        for part in sorted(parts, key=len):
            product *= len(part)
            named.append(part if product <= MOST_PRODUCTS or len(part) == 1 else [self._name(part, scope)])
        clauses = []
        for combination in itertools.product(*named):
            plain = tuple(term for clause in combination for term in clause.plain)
            existentials = tuple(part for clause in combination for part in clause.existentials)
            clauses.append(Clause(tuple(v for clause in combination for v in clause.variables), plain, existentials))
        return clauses

    def _name(self, clauses: list[Clause], scope: tuple[Term, ...]) -> Clause:
        """Return a clause of one predicate that implies some clauses."""
        name = predicate(scope)
        for clause in clauses:
            plain = (negate(name), *clause.plain)
            self.definitions.append(Clause((*scope, *clause.variables), plain, clause.existentials))
        return Clause((), (name,))

    def _equivalent(self, one: Term, other: Term, positive: bool, scope: tuple[Term, ...]) -> list[Clause]:
        first = [self._clauses_of(one, False, scope), self._clauses_of(other, positive, scope)]
        second = [self._clauses_of(one, True, scope), self._clauses_of(other, not positive, scope)]
        return [*self._either(first, scope), *self._either(second, scope)]

    def _choice(self, term: Term, positive: bool, scope: tuple[Term, ...]) -> list[Clause]:
        test, then, otherwise = term.children()
        first = [self._clauses_of(test, False, scope), self._clauses_of(then, positive, scope)]
        second = [self._clauses_of(test, True, scope), self._clauses_of(otherwise, positive, scope)]
        return [*self._either(first, scope), *self._either(second, scope)]

    def _with_names(self, term: Term, scope: tuple[Term, ...]) -> Term:
        """Return a term with a name for each formula with quantifiers in it."""
        pairs = []
        for formula in self._inner_formulas(term):
            name = predicate(scope)
            pairs.append((formula, name))
            for positive in (True, False):
                for clause in self._clauses_of(formula, positive, scope):
                    plain = (negate(name) if positive else name, *clause.plain)
                    self.definitions.append(Clause((*scope, *clause.variables), plain, clause.existentials))
        return z3.substitute(term, *pairs)

    def _inner_formulas(self, term: Term) -> Iterator[Term]:
        """Iterate over the largest proper subterms of sort Bool with quantifiers, each once."""
        seen: set[int] = set()
        waiting = list(term.children())
        while waiting:
            part = waiting.pop()
            if part.get_id() in seen or self._is_plain(part):
                continue
            seen.add(part.get_id())
            if z3.is_bool(part):
                yield part
            else:
                waiting.extend(part.children())


def predicate(scope: tuple[Term, ...]) -> Term:
    """Return a new predicate over the variables of a scope."""
    if not scope:
        return z3.FreshBool("name")
    return z3.FreshFunction(*[variable.sort() for variable in scope], z3.BoolSort())(*scope)


def substitute_terms(clause: Clause, pairs: list[tuple[Term, Term]]) -> Clause:
    """Return a clause with terms in place of variables; its own variables stay."""
    return Clause(
        clause.variables,
        tuple(z3.substitute(term, *pairs) for term in clause.plain),
        tuple(
            Existential(part.variables, tuple(substitute_terms(inner, pairs) for inner in part.clauses))
            for part in clause.existentials
        ),
    )
