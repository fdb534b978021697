"""Clauses prepared for instantiation: their parts as Python functions, and the uses of their integers.

Preparation takes longer than most queries. The formulas that many queries share are prepared once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checker.engines.smt.instantiation.clauses import Clause, ClauseMaker, Existential
from checker.engines.smt.instantiation.index_classes import IndexUses, UseReader
from checker.engines.smt.instantiation.model_values import Assignment, Compiled, Evaluators, ModelValues
from checker.engines.smt.lowering.logic import Term, Truth, truth_term


class PreparedTerm:
    """A formula without quantifiers over some variables, compiled when it is first evaluated."""

    def __init__(self, term: Term, scope: dict[int, Term], evaluators: Evaluators):
        self._term, self._scope, self._evaluators = term, scope, evaluators
        self._compiled: Compiled | None = None

    def is_true(self, values: ModelValues, assigned: Assignment) -> bool:
        """Return whether the formula is true in a model for some values of the variables."""
        if self._compiled is None:
            self._compiled = self._evaluators.compiled(self._term, self._scope)
        return bool(self._compiled(values, assigned))


@dataclass(frozen=True, eq=False)
class PreparedClause:
    """A clause with its parts prepared.

    `levels[i]` are the parts that mention the i-th variable but no later one; `levels[0]` mention none of them.
    """

    source: Clause
    levels: list[list[PreparedTerm]]
    existentials: list[PreparedExistential]


@dataclass(frozen=True, eq=False)
class PreparedExistential:
    """An existential formula with its clauses prepared."""

    source: Existential
    clauses: list[PreparedClause]


@dataclass(frozen=True)
class PreparedFormula:
    """The clauses of a formula, and the uses of integers in them."""

    clauses: list[PreparedClause]
    uses: list[IndexUses]


class Preparation:
    """Prepares formulas and clauses; remembers the formulas."""

    def __init__(self) -> None:
        self.evaluators = Evaluators()
        self._maker = ClauseMaker()
        self._formulas: dict[int, tuple[Term, PreparedFormula]] = {}

    def formula(self, truth: Truth) -> PreparedFormula:
        """Return a formula prepared."""
        term = truth_term(truth)
        if term.get_id() not in self._formulas:
            clauses = self._maker.clauses(term)
            while self._maker.definitions:
                clauses.append(self._maker.definitions.pop())
            uses = [each for clause in clauses for each in self.uses(clause)]
            self._formulas[term.get_id()] = term, PreparedFormula([self.clause(each) for each in clauses], uses)
        return self._formulas[term.get_id()][1]

    def uses(self, clause: Clause) -> list[IndexUses]:
        """Return the uses of integers in the parts of a clause."""
        reader = UseReader()
        return [reader.uses(part, variables) for part, variables in _parts(clause, ())]

    def clause(self, clause: Clause, outer: tuple[Term, ...] = ()) -> PreparedClause:
        """Return a clause prepared; `outer` are the variables in scope around it."""
        scope = {variable.get_id(): variable for variable in (*outer, *clause.variables)}
        own = [variable.get_id() for variable in clause.variables]
        levels: list[list[PreparedTerm]] = [[] for _ in range(len(own) + 1)]
        for term in clause.plain:
            mentioned = _variables_in(term, scope)
            level = max((own.index(key) + 1 for key in mentioned if key in own), default=0)
            levels[level].append(PreparedTerm(term, scope, self.evaluators))
        inner = (*outer, *clause.variables)
        return PreparedClause(clause, levels, [self.existential(part, inner) for part in clause.existentials])

    def existential(self, part: Existential, outer: tuple[Term, ...] = ()) -> PreparedExistential:
        """Return an existential formula prepared."""
        scope = (*outer, *part.variables)
        return PreparedExistential(part, [self.clause(clause, scope) for clause in part.clauses])


def _parts(clause: Clause, outer: tuple[int, ...]) -> Iterator[tuple[Term, set[int]]]:
    """Iterate over the parts of a clause without quantifiers, each with the ids of the variables in scope."""
    scope = (*outer, *(variable.get_id() for variable in clause.variables))
    for term in clause.plain:
        yield term, set(scope)
    for part in clause.existentials:
        inner = (*scope, *(variable.get_id() for variable in part.variables))
        for inner_clause in part.clauses:
            yield from _parts(inner_clause, inner)


def _variables_in(term: Term, variables: dict[int, Term]) -> set[int]:
    """Return the ids of the variables that a term mentions."""
    mentioned, seen, waiting = set[int](), set[int](), [term]
    while waiting:
        part = waiting.pop()
        key = part.get_id()
        if key in variables:
            mentioned.add(key)
        elif key not in seen:
            seen.add(key)
            waiting.extend(part.children())
    return mentioned
