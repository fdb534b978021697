"""Refutation of formulas with quantifiers: Z3 decides ground instances, and models show which instances are missing.

Z3 gets a conjunction without quantifiers. If it has a model, each clause that is false in the model for some terms of
the query gets these instances, and Z3 is asked again. A refutation of the instances is one of the formulas, because
instances follow from their clauses. If no clause is false for any terms, there is no answer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import z3

from checker.engines.smt.instantiation.clauses import Clause, substitute_terms
from checker.engines.smt.instantiation.index_classes import IndexClasses, Node, UseReader
from checker.engines.smt.instantiation.model_values import Assignment, ModelValues
from checker.engines.smt.instantiation.prepared import Preparation, PreparedClause, PreparedExistential, PreparedFormula
from checker.engines.smt.lowering.logic import Term, Truth, any_of, negate, truth_term
from checker.engines.smt.solving import AnsweredQuery, QueryLimits, ask

MOST_INSTANCES = 10
"""The number of instances that one clause gets for one model."""

SATURATED = "every instance over the terms of the query is true in a model"
"""Why there is no answer if no instance is missing."""


class Representatives:
    """For each class of integers one term for each value in a model, those of least depth."""

    def __init__(self, classes: IndexClasses, values: ModelValues):
        self._classes = classes
        self._found: dict[Node, dict[Any, tuple[int, Term]]] = {}
        for node, depth, term in classes.ground_terms():
            self._found.setdefault(node, {}).setdefault(values.of(term), (depth, term))
        self.depths = sorted({depth for terms in self._found.values() for depth, _ in terms.values()} | {0})

    def of(self, variable: Term, depth: int) -> list[tuple[Any, Term, int]]:
        """Return the values of terms up to a depth that a variable may have, each with its term and the term's depth.

        A class without terms has the number 0.
        """
        if z3.is_bool(variable):
            return [(False, z3.BoolVal(False), 0), (True, z3.BoolVal(True), 0)]
        node = self._classes.class_of(variable)
        by_value = self._found.get(node, {}) if node is not None else {}
        chosen = [(value, term, deep) for value, (deep, term) in by_value.items() if deep <= depth]
        return chosen or [(0, z3.IntVal(0), 0)]


@dataclass(eq=False)
class _Universal:
    """A clause with variables that is asserted under a marker; `made` are the instances that it has.

    `depth` is that of the ground terms in it.
    """

    prepared: PreparedClause
    marker: Term | None
    depth: int
    made: set[tuple[int, ...]] = field(default_factory=set)


@dataclass(eq=False)
class _Pending:
    """An existential formula that a literal implies, not yet expanded."""

    literal: Term
    prepared: PreparedExistential
    marker: Term | None
    depth: int


@dataclass(frozen=True)
class _Search:
    """A search for instances in a model, among terms up to a depth."""

    values: ModelValues
    terms: Representatives
    depth: int


class InstanceRefuter:
    """Asks whether formulas are satisfiable together. `asserted` is the conjunction that Z3 has, without quantifiers.

    `rounds` is the number of models, and one for the last query. Every term has a depth: 0 in the formulas, and one
    more than those in the instance that brought it. Instances over terms of less depth come first.
    """

    def __init__(self, preparation: Preparation, limits: QueryLimits):
        self._preparation, self._limits = preparation, limits
        self._solver = z3.SolverFor("QF_UFLIA")
        self._classes = IndexClasses()
        self._reader = UseReader()
        self._universals: list[_Universal] = []
        self._pending: list[_Pending] = []
        self._markers: dict[str, Term] = {}
        self._waiting: dict[str, PreparedFormula] = {}
        self.asserted: list[Term] = []
        self.rounds = 0

    def add(self, truth: Truth) -> None:
        """Add a formula."""
        self._begin(self._read(truth), None)

    def add_hypothesis(self, name: str, truth: Truth) -> None:
        """Add a formula that is used only if a model of the others violates it; the core may have its name.

        Hypotheses are tried in the order in which they are added.
        """
        self._waiting[name] = self._read(truth)

    def _read(self, truth: Truth) -> PreparedFormula:
        formula = self._preparation.formula(truth)
        for uses in formula.uses:
            self._classes.add(uses, 0)
        return formula

    def _begin(self, formula: PreparedFormula, marker: Term | None) -> None:
        for clause in formula.clauses:
            self._register(clause, marker, 0)

    def refute(self) -> AnsweredQuery:
        """Return `no` if the formulas are refuted, otherwise `unknown`."""
        started = time.perf_counter()
        ends = None if self._limits.seconds is None else started + self._limits.seconds
        while True:
            self.rounds += 1
            left = None if ends is None else max(0.001, ends - time.perf_counter())
            query = ask(self._solver, QueryLimits(left, self._limits.cancelled), *self._markers.values())
            seconds = time.perf_counter() - started
            if query.answer != "yes":
                return AnsweredQuery(query.answer, seconds, reason=query.reason)
            if ends is not None and time.perf_counter() > ends:
                return AnsweredQuery("unknown", seconds, reason="timeout")
            if not self._extend(query.model):
                return AnsweredQuery("unknown", seconds, query.model, reason=SATURATED)

    def core(self) -> set[str]:
        """Return the names of formulas that the last refutation used."""
        used = {each.decl().name() for each in self._solver.unsat_core()}
        return {name for name, marker in self._markers.items() if marker.decl().name() in used}

    # Clauses.

    def _register(self, clause: PreparedClause, marker: Term | None, depth: int) -> None:
        """Assert a ground clause, or keep one with variables for its instances."""
        if clause.source.variables:
            self._universals.append(_Universal(clause, marker, depth))
        else:
            self._assert(clause.source, clause.existentials, marker, depth)

    def _assert(self, clause: Clause, existentials: list[PreparedExistential], marker: Term | None, depth: int) -> None:
        """Assert a ground clause; each existential part becomes a literal that implies it."""
        literals = []
        for existential in existentials:
            literal = z3.FreshBool("some")
            literals.append(literal)
            pending = _Pending(literal, existential, marker, depth)
            if marker is None and depth == 0:
                # The negated goal needs its own constants: other terms are unlikely to violate it.
                self._expand(pending)
            else:
                self._pending.append(pending)
        premise = () if marker is None else (negate(marker),)
        term = truth_term(any_of((*premise, *clause.plain, *literals)))
        self._classes.add(self._reader.uses(term), depth)
        self.asserted.append(term)
        self._solver.add(term)

    # Instances.

    def _extend(self, model: Any) -> bool:
        """Add instances that are false in a model; return whether there are any.

        In this order: over the terms of the formulas, of a further hypothesis, over terms of instances.
        """
        values = self._preparation.evaluators.values(model)
        terms = Representatives(self._classes, values)
        first, *deeper = [_Search(values, terms, depth) for depth in terms.depths]
        return (
            self._instantiate_at(first)
            or self._has_begun_another(first)
            or any(self._instantiate_at(search) for search in deeper)
            or self._has_begun_another(deeper[-1] if deeper else first)
        )

    def _instantiate_at(self, search: _Search) -> bool:
        """Add the instances over terms of a depth; return whether there are any."""
        is_new = self._expand_pending(search)
        for universal in self._universals[:]:
            is_new |= self._instantiate(universal, search)
        return is_new

    def _has_begun_another(self, search: _Search) -> bool:
        """Begin to use the first hypothesis that is false in a model; return whether there is one."""
        for name, formula in self._waiting.items():
            if any(next(self._violations(clause, {}, search), None) is not None for clause in formula.clauses):
                marker = self._markers[name] = z3.Bool(f"hypothesis {name}")
                del self._waiting[name]
                self._begin(formula, marker)
                return True
        return False

    def _expand_pending(self, search: _Search) -> bool:
        """Expand the existential formulas that hold in a model and that no term satisfies in it."""
        expanded = [
            each
            for each in self._pending
            if search.values.of(each.literal) and not self._is_witnessed(each.prepared, {}, search)
        ]
        for pending in expanded:
            self._pending.remove(pending)
            self._expand(pending)
        return bool(expanded)

    def _expand(self, pending: _Pending) -> None:
        """Assert an existential formula for new constants, under its literal."""
        source = pending.prepared.source
        pairs = [(variable, z3.FreshConst(variable.sort(), "witness")) for variable in source.variables]
        for clause in source.clauses:
            inner = substitute_terms(clause, pairs)
            guarded = Clause(inner.variables, (negate(pending.literal), *inner.plain), inner.existentials)
            for uses in self._preparation.uses(guarded):
                self._classes.add(uses, pending.depth)
            self._register(self._preparation.clause(guarded), pending.marker, pending.depth)

    def _instantiate(self, universal: _Universal, search: _Search) -> bool:
        """Assert the first instances of a clause that are false in a model; return whether there are any."""
        clause = universal.prepared.source
        count = 0
        for chosen in self._violations(universal.prepared, {}, search):
            key = tuple(term.get_id() for term, _ in chosen)
            if key in universal.made:
                continue
            universal.made.add(key)
            instance = substitute_terms(
                clause, [(v, term) for v, (term, _) in zip(clause.variables, chosen, strict=True)]
            )
            existentials = [self._preparation.existential(part) for part in instance.existentials]
            depth = 1 + max(universal.depth, *(deep for _, deep in chosen))
            self._assert(instance, existentials, universal.marker, depth)
            count += 1
            if count == MOST_INSTANCES:
                break
        return count > 0

    # Evaluation in a model.

    def _violations(
        self, clause: PreparedClause, outer: Assignment, search: _Search
    ) -> Iterator[tuple[tuple[Term, int], ...]]:
        """Iterate over the terms, with their depths, for a clause's variables for which it is false in a model."""
        variables = clause.source.variables
        assigned = dict(outer)
        chosen: list[tuple[Term, int]] = []

        def extended(level: int) -> Iterator[tuple[tuple[Term, int], ...]]:
            if any(part.is_true(search.values, assigned) for part in clause.levels[level]):
                return
            if level == len(variables):
                if not any(self._is_witnessed(part, assigned, search) for part in clause.existentials):
                    yield tuple(chosen)
                return
            key = variables[level].get_id()
            for value, term, depth in search.terms.of(variables[level], search.depth):
                assigned[key] = value
                chosen.append((term, depth))
                yield from extended(level + 1)
                chosen.pop()

        yield from extended(0)

    def _is_witnessed(self, part: PreparedExistential, outer: Assignment, search: _Search) -> bool:
        """Return whether some terms, of any depth, satisfy the clauses of an existential formula in a model."""
        variables, assigned = part.source.variables, dict(outer)

        def extended(position: int) -> bool:
            if position == len(variables):
                return all(next(self._violations(clause, assigned, search), None) is None for clause in part.clauses)
            for value, _, _ in search.terms.of(variables[position], search.terms.depths[-1]):
                assigned[variables[position].get_id()] = value
                if extended(position + 1):
                    return True
            return False

        return extended(0)
