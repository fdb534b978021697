"""How a query is asked: with few hypotheses first, then with more, then case by case.

Each hypothesis with quantifiers makes the search longer, and few are needed: what follows from some follows from all.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import z3

from checker.engines.smt.lowering.integers import SymbolicInteger, compare, known
from checker.engines.smt.lowering.logic import Term, Truth, is_quantifier, negate, subterms, truth_term
from checker.engines.smt.solving import AnsweredQuery, QueryLimits, ask

SHORT = 0.5
"""Seconds of an attempt with few hypotheses."""

LONGER = 2.0
"""Seconds of an attempt with many hypotheses, before it is made in another way."""

WAYS: tuple[dict[str, Any], ...] = ({}, {"smt.mbqi": True}, {"smt.arith.solver": 2}, {"smt.case_split": 3})
"""Settings of Z3: what one searches for long another may find at once."""


@dataclass(frozen=True)
class Hypothesis:
    """A condition on the state that a step is taken from: its name, and what it says."""

    name: str
    truth: Truth

    @cached_property
    def is_plain(self) -> bool:
        """Whether it has no quantifier."""
        return not any(map(is_quantifier, subterms(self.truth)))

    @cached_property
    def weight(self) -> int:
        """How much it says: the number of its different terms."""
        return sum(1 for _ in subterms(self.truth))


class Attempts:
    """Asks whether parts of one goal follow: from what is always true (`facts`), and from hypotheses.

    `own` names the hypothesis that the goal is about. `cases` are numbers of few values, by which a query that is too
    hard is divided.
    """

    def __init__(
        self,
        facts: list[Truth],
        hypotheses: list[Hypothesis],
        own: str,
        cases: list[SymbolicInteger],
        limits: QueryLimits,
    ):
        self._facts, self._hypotheses, self._limits = facts, hypotheses, limits
        self._cases = cases
        self._own = [found for found in hypotheses if found.name == own]
        self._plain = [found for found in hypotheses if found.name == own or found.is_plain]
        heaviest = max(hypotheses, key=lambda found: found.weight, default=None)
        self._light = [found for found in hypotheses if found is not heaviest or found.name == own]
        self._ends = None if limits.seconds is None else time.perf_counter() + limits.seconds

    def refute(self, violated: Truth) -> AnsweredQuery:
        """Return the last answer to whether something can be true: `no` where it cannot."""
        query = self._ask(self._own, [violated], SHORT)
        if query.answer == "no":
            return query
        for case in self._divided(self._cases):
            query = self._by_more([violated, *case])
            if query.answer != "no":
                break
        return query

    def _divided(self, cases: list[SymbolicInteger]) -> Iterator[list[Truth]]:
        if not cases:
            yield []
            return
        first, *rest = cases
        for value in range(int(first.low), int(first.high) + 1):
            for others in self._divided(rest):
                yield [compare("==", first, known(value)), *others]

    def _by_more(self, assumed: list[Truth]) -> AnsweredQuery:
        """Ask with the plain hypotheses, with all but the heaviest, and with all, each way for longer and longer."""
        query = AnsweredQuery("unknown", 0.0)
        for attempt, seconds in ((self._plain, SHORT), (self._light, LONGER)):
            is_new = len(attempt) < len(self._hypotheses)
            query = self._ask(attempt, assumed, seconds) if is_new else query
            if query.answer == "no":
                return query
        seconds, is_over = 2 * LONGER, False
        while not is_over:
            is_over = True
            for way in WAYS:
                query = self._ask(self._hypotheses, assumed, seconds, way)
                if query.answer == "no":
                    return query
                # More time may help where the time was too short; what ended by itself would end so again.
                is_over &= not (query.reason.startswith("timeout") and self._has_time())
            seconds *= 4
        return query

    def _has_time(self) -> bool:
        return self._ends is None or time.perf_counter() < self._ends

    def _ask(
        self, hypotheses: list[Hypothesis], assumed: list[Truth], seconds: float | None, way: dict[str, Any] = WAYS[0]
    ) -> AnsweredQuery:
        limits = self._within(seconds)
        if limits.seconds is not None and limits.seconds <= 0:
            return AnsweredQuery("unknown", 0.0, reason="timeout")
        # A solver of its own: what is asked then takes part in all simplification, which saves most of the search.
        solver = solver_for([*self._facts, *[found.truth for found in hypotheses], *assumed])
        for option, value in way.items():
            solver.set(option, value)
        return ask(solver, limits)

    def _within(self, seconds: float | None) -> QueryLimits:
        if self._ends is None:
            return QueryLimits(seconds, self._limits.cancelled)
        left = self._ends - time.perf_counter()
        return QueryLimits(left if seconds is None else min(left, seconds), self._limits.cancelled)


def solver_for(truths: list[Truth]) -> Any:
    """Return a solver that holds some conditions, and instantiates quantifiers by the terms that there are."""
    solver = z3.SimpleSolver()
    # Looking for models of the quantifiers (mbqi) besides would take most of the time.
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
    """Return the parts of a goal, each to be proved by itself."""
    parts: list[Truth] = []
    for part in conjuncts(goal):
        if isinstance(part, bool):
            parts += [] if part else [False]
        elif z3.is_not(part) and z3.is_or(part.arg(0)):
            parts += [found for inner in _arguments(part.arg(0)) for found in split(negate(inner))]
        else:
            parts.append(part)
    return parts


def _arguments(term: Term) -> list[Term]:
    return [term.arg(index) for index in range(term.num_args())]
