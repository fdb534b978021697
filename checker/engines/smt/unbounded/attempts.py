"""Strategy of an unbounded query: few hypotheses first, then instances, then other solver options, case by case.

A goal that follows from some hypotheses follows from all of them, so leaving hypotheses out is sound. Each hypothesis
with quantifiers makes the search longer, and most goals need few.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import z3

from checker.engines.smt.instantiation.prepared import Preparation
from checker.engines.smt.instantiation.refuter import InstanceRefuter
from checker.engines.smt.lowering.integers import SymbolicInteger, compare, concrete
from checker.engines.smt.lowering.logic import Term, Truth, is_quantifier, negate, subterms, truth_term
from checker.engines.smt.solving import AnsweredQuery, QueryLimits, ask
from checker.engines.smt.vacuity import TYPES

SHORT = 0.5
"""Seconds of an attempt with few hypotheses."""

LONGER = 2.0
"""Seconds of an attempt with many hypotheses, before it is made in another way."""

LONGER_INSTANCES = 5.0
"""Seconds of an attempt with instances of few hypotheses."""

STRATEGIES: tuple[dict[str, Any], ...] = ({}, {"smt.mbqi": True}, {"smt.arith.solver": 2}, {"smt.case_split": 3})
"""Options of Z3, tried in turn: a query that is hard under one set is often easy under another."""


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A named condition on the state before a step."""

    name: str
    truth: Truth

    @cached_property
    def is_quantifier_free(self) -> bool:
        """Whether it is free of quantifiers."""
        return not any(map(is_quantifier, subterms(self.truth)))

    @cached_property
    def weight(self) -> int:
        """Its size: the number of distinct subterms."""
        return sum(1 for _ in subterms(self.truth))


class Attempts:
    """Asks whether the parts of one goal follow from `facts`, which are always true, and hypotheses.

    `own` is the name of the hypothesis that the goal preserves. A query that is too hard is split by the values of
    `cases`, numbers of few values. `known` are the hypotheses that an earlier proof needed: they are tried first.

    `preparation` is shared by the queries of a proof.

    `needed` collects the hypotheses of the attempts that succeeded; if `is_minimal`, those of unsatisfiable cores.
    """

    def __init__(
        self,
        facts: list[Truth],
        hypotheses: list[Hypothesis],
        own: str,
        cases: list[SymbolicInteger],
        limits: QueryLimits,
        preparation: Preparation,
        known: frozenset[str] | None = None,
        *,
        is_minimal: bool = False,
    ):
        self.needed: set[str] = set()
        self._known = None if known is None else [hypothesis for hypothesis in hypotheses if hypothesis.name in known]
        self._is_minimal = is_minimal
        self.facts, self._hypotheses, self._limits = facts, hypotheses, limits
        self._cases, self._preparation = cases, preparation
        self._own = [hypothesis for hypothesis in hypotheses if hypothesis.name == own]
        self._plain = [
            hypothesis for hypothesis in hypotheses if hypothesis.name == own or hypothesis.is_quantifier_free
        ]
        heaviest = max(hypotheses, key=lambda hypothesis: hypothesis.weight, default=None)
        self._light = [hypothesis for hypothesis in hypotheses if hypothesis is not heaviest or hypothesis.name == own]
        self._ends = None if limits.seconds is None else time.perf_counter() + limits.seconds

    def refute(self, violated: Truth) -> AnsweredQuery:
        """Ask whether a condition is satisfiable; return the last answer, which is `no` if it is refuted."""
        # Only `no` is final here: with few hypotheses the other answers mean nothing.
        if self._known is None:
            query = self._ask(self._own, [violated], SHORT)
        else:
            query = self._ask(self._known, [violated], LONGER)
        if query.answer != "no":
            query = self._by_instances(violated)
        if query.answer == "no":
            return query
        for case in self._divide(self._cases):
            query = self._by_more([violated, *case])
            if query.answer != "no":
                break
        return query

    def _by_instances(self, violated: Truth) -> AnsweredQuery:
        """Ask with instances that the checker chooses: with few hypotheses, then with all.

        The second attempt has two thirds of the time that is left.
        """
        names = {hypothesis.name for hypothesis in (self._own if self._known is None else self._known)}
        # Without the types of the members, many terms are of no use.
        first = [hypothesis for hypothesis in self._hypotheses if hypothesis.name in names or hypothesis.name == TYPES]
        query = self._refute_instances(first, violated, self._within(LONGER_INSTANCES))
        if query.answer == "no" or len(first) == len(self._hypotheses):
            return query
        left = self._within(None).seconds
        # A hypothesis is used only if those before it are not sufficient.
        others = [hypothesis for hypothesis in self._hypotheses if hypothesis not in first]
        ordered = [*first, *sorted(others, key=lambda hypothesis: hypothesis.weight)]
        return self._refute_instances(ordered, violated, self._within(left and left * 2 / 3))

    def _refute_instances(self, hypotheses: list[Hypothesis], violated: Truth, limits: QueryLimits) -> AnsweredQuery:
        refuter = InstanceRefuter(self._preparation, limits)
        for truth in (*self.facts, violated):
            refuter.add(truth)
        for hypothesis in hypotheses:
            refuter.add_hypothesis(hypothesis.name, hypothesis.truth)
        query = refuter.refute()
        if query.answer == "no":
            self.needed |= refuter.core()
        return query

    def _divide(self, cases: list[SymbolicInteger]) -> Iterator[list[Truth]]:
        if not cases:
            yield []
            return
        first, *rest = cases
        # The cases cover the whole interval, so refuting each of them refutes the condition.
        for value in range(int(first.low), int(first.high) + 1):
            for others in self._divide(rest):
                yield [compare("==", first, concrete(value)), *others]

    def _by_more(self, assumed: list[Truth]) -> AnsweredQuery:
        """Ask with the quantifier-free hypotheses, then all but the largest, then all with increasing time limits."""
        query = AnsweredQuery("unknown", 0.0)
        first = [(self._known, LONGER)] if self._known is not None else []
        for attempt, seconds in (*first, (self._plain, SHORT), (self._light, LONGER)):
            is_new = len(attempt) < len(self._hypotheses)
            query = self._ask(attempt, assumed, seconds) if is_new else query
            if query.answer == "no":
                return query
        seconds, is_over = 2 * LONGER, False
        while not is_over:
            is_over = True
            for way in STRATEGIES:
                query = self._ask(self._hypotheses, assumed, seconds, way)
                if query.answer == "no":
                    return query
                # More time helps only after a timeout: otherwise Z3 gave up and would do so again.
                is_over &= not (query.reason.startswith("timeout") and self._has_time())
            seconds *= 4
        return query

    def _has_time(self) -> bool:
        return self._ends is None or time.perf_counter() < self._ends

    def _ask(
        self,
        hypotheses: list[Hypothesis],
        assumed: list[Truth],
        seconds: float | None,
        way: dict[str, Any] = STRATEGIES[0],
    ) -> AnsweredQuery:
        limits = self._within(seconds)
        if limits.seconds is not None and limits.seconds <= 0:
            return AnsweredQuery("unknown", 0.0, reason="timeout")
        # A new solver per query: Z3 then simplifies the assertions together with the goal, which saves most of the
        # search. An incremental solver would not.
        solver = solver_for([*self.facts, *[hypothesis.truth for hypothesis in hypotheses], *assumed])
        for option, value in way.items():
            solver.set(option, value)
        query = ask(solver, limits)
        if query.answer == "no":
            self.needed |= self._core(hypotheses, assumed, query.seconds)
        return query

    def _core(self, hypotheses: list[Hypothesis], assumed: list[Truth], seconds: float) -> set[str]:
        """Return the names of hypotheses that imply the refutation: all, or those of an unsatisfiable core."""
        names = {each.name for each in hypotheses}
        if not self._is_minimal or len(names) < 2:
            return names
        solver = solver_for([*self.facts, *assumed])
        markers = {name: z3.Bool(f"hypothesis {name}") for name in names}
        for hypothesis in hypotheses:
            solver.add(z3.Implies(markers[hypothesis.name], truth_term(hypothesis.truth)))
        # Behind markers Z3 simplifies less, so the same query may take longer.
        query = ask(solver, QueryLimits(max(SHORT, 4 * seconds), self._limits.cancelled), *markers.values())
        if query.answer != "no":
            return names
        used = {each.decl().name() for each in solver.unsat_core()}
        return {name for name, marker in markers.items() if marker.decl().name() in used}

    def _within(self, seconds: float | None) -> QueryLimits:
        if self._ends is None:
            return QueryLimits(seconds, self._limits.cancelled)
        left = self._ends - time.perf_counter()
        return QueryLimits(left if seconds is None else min(left, seconds), self._limits.cancelled)


def solver_for(truths: list[Truth]) -> Any:
    """Return a solver with some assertions that instantiates quantifiers by E-matching only."""
    solver = z3.SimpleSolver()
    # Model-based quantifier instantiation would take most of the time. Without it `unsat` is still sound; satisfiable
    # queries end as `unknown`.
    solver.set("smt.mbqi", False)
    solver.set("smt.auto_config", False)
    for truth in truths:
        solver.add(truth_term(truth))
    return solver


def conjuncts(truth: Truth) -> list[Truth]:
    """Return the parts of a conjunction."""
    if isinstance(truth, bool) or not z3.is_and(truth):
        return [truth]
    return [part for index in range(truth.num_args()) for part in conjuncts(truth.arg(index))]


def split(goal: Truth) -> list[Truth]:
    """Return the conjuncts of a goal, to be proved separately.

    A negated disjunction is a conjunction and is split too. Each part can then be refuted with few hypotheses.
    """
    parts: list[Truth] = []
    for part in conjuncts(goal):
        if isinstance(part, bool):
            parts += [] if part else [False]
        # not (a or b) is (not a) and (not b).
        elif z3.is_not(part) and z3.is_or(part.arg(0)):
            parts += [split_part for inner in _arguments(part.arg(0)) for split_part in split(negate(inner))]
        else:
            parts.append(part)
    return parts


def _arguments(term: Term) -> list[Term]:
    return [term.arg(index) for index in range(term.num_args())]
