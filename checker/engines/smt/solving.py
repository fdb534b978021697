"""Z3 queries with a time limit: the answer, or the reason why there is none."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import z3

from checker.engines.smt.lowering.logic import Term, Truth, truth_term


def solver_version() -> str:
    """Return the name and the version of the solver."""
    return f"Z3 {z3.get_version_string()}"


_SEEDS = ("smt.random_seed", "sat.random_seed", "fp.spacer.random_seed")
"""Z3's parameters for the random seeds of its solvers. The default of each is 0."""


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Give every solver a random seed for the queries in this context, solvers that are older than it included."""
    before = int(z3.get_param(_SEEDS[0]))
    _set_seed(seed)
    try:
        yield
    finally:
        _set_seed(before)


def _set_seed(seed: int) -> None:
    for name in _SEEDS:
        z3.set_param(name, seed)


Answer = Literal["yes", "no", "unknown"]
"""Whether a model exists; `unknown` if Z3 does not decide it."""

_ANSWERS: dict[int, Answer] = {z3.Z3_L_TRUE: "yes", z3.Z3_L_FALSE: "no", z3.Z3_L_UNDEF: "unknown"}


@dataclass(frozen=True)
class QueryLimits:
    """The time limit of one query in seconds (None: no limit), and an event that cancels it."""

    seconds: float | None = None
    cancelled: threading.Event | None = None


@dataclass(frozen=True)
class AnsweredQuery:
    """The answer to a query, its duration in seconds, the model for `yes`, the reason for `unknown`."""

    answer: Answer
    seconds: float
    model: Any = None
    reason: str = ""

    def evaluate(self, term: Term) -> Term:
        """Return the value of a term in the model."""
        return self.model.eval(term, model_completion=True)


class Solver:
    """A Z3 solver that can be rebuilt from its assertions after a query without an answer.

    If Z3 is stopped by the time limit while it processes an assertion, it silently ignores that assertion in later
    queries, which would be unsound. `ask` therefore rebuilds the solver after every `unknown`.
    """

    def __init__(self, make: Callable[[], Any]):
        self._make, self._added = make, list[Term]()
        self._inner = make()

    def add(self, *terms: Term) -> None:
        """Assert conditions."""
        self._added += terms
        self._inner.add(*terms)

    def restart(self) -> None:
        """Replace the inner solver by a new one with the same assertions."""
        self._inner = self._make()
        self._inner.add(*self._added)

    def set(self, name: str, value: Any) -> None:
        """Set an option for the next query."""
        self._inner.set(name, value)

    def check(self, *assumptions: Term) -> Any:
        """Return Z3's answer under some assumptions."""
        return self._inner.check(*assumptions)

    def model(self) -> Any:
        """Return the model of the last answer."""
        return self._inner.model()

    def unsat_core(self) -> Any:
        """Return the assumptions that the last refutation used."""
        return self._inner.unsat_core()

    def statistics(self) -> Any:
        """Return Z3's statistics of the last query."""
        return self._inner.statistics()

    def reason_unknown(self) -> str:
        """Return why the last query has no answer."""
        return str(self._inner.reason_unknown())


def new_solver(*, is_finite: bool) -> Solver:
    """Return a solver: Z3's SAT-based solver for finite domains (QF_FD), or the general SMT solver."""
    return Solver((lambda: z3.SolverFor("QF_FD")) if is_finite else z3.Solver)


def ask(solver: Any, limits: QueryLimits, *assumptions: Truth) -> AnsweredQuery:
    """Return whether a solver's assertions are satisfiable together with some assumptions.

    Raises KeyboardInterrupt if Ctrl-C ended the query.
    """
    if limits.cancelled is not None and limits.cancelled.is_set():
        return AnsweredQuery("unknown", 0.0, reason="interrupted")
    if any(assumption is False for assumption in assumptions):
        return AnsweredQuery("no", 0.0)
    if limits.seconds is not None:
        solver.set("timeout", max(1, int(limits.seconds * 1000)))
    started = time.perf_counter()
    try:
        answer = _ANSWERS[solver.check(*[term for term in assumptions if term is not True]).r]
    except z3.Z3Exception as error:
        if was_interrupted(str(error), time.perf_counter() - started, limits):
            raise KeyboardInterrupt from None
        if isinstance(solver, Solver):
            solver.restart()
        return AnsweredQuery("unknown", time.perf_counter() - started, reason=str(error))
    seconds = time.perf_counter() - started
    if answer == "yes":
        return AnsweredQuery(answer, seconds, solver.model())
    if answer == "unknown" and was_interrupted(str(solver.reason_unknown()), seconds, limits):
        raise KeyboardInterrupt
    reason = _reason(solver, limits) if answer == "unknown" else ""
    if answer == "unknown" and isinstance(solver, Solver):
        solver.restart()
    return AnsweredQuery(answer, seconds, reason=reason)


def ask_condition(solver: Any, limits: QueryLimits, condition: Truth) -> AnsweredQuery:
    """Return whether a solver's assertions are satisfiable together with a condition, which is not asserted for later.

    The condition is guarded by a fresh literal that only this query assumes. The solver is not reset between queries,
    so it keeps what it has learned.
    """
    return ask(solver, limits, guarded(solver, condition))


def guarded(solver: Any, condition: Truth) -> Truth:
    """Return a fresh literal that implies a condition in a solver, or the condition if it is a constant."""
    if isinstance(condition, bool):
        return condition
    asked = z3.FreshBool("asked")
    solver.add(z3.Implies(asked, condition))
    return asked


def was_interrupted(reason: str, seconds: float, limits: QueryLimits) -> bool:
    """Return whether Ctrl-C ended a query.

    Z3 handles the signal itself and reports `canceled`, as after a timeout; the duration distinguishes the two.
    """
    is_early = limits.seconds is None or seconds < 0.8 * limits.seconds
    return "interrupted" in reason or ("canceled" in reason and is_early)


def _reason(solver: Any, limits: QueryLimits) -> str:
    reason = str(solver.reason_unknown())
    if reason in ("timeout", "canceled") and limits.seconds is not None:
        return f"timeout: no answer within {limits.seconds:g} s"
    return reason


def satisfiable(truths: Iterable[Truth], limits: QueryLimits, *, is_finite: bool) -> AnsweredQuery:
    """Return whether the conjunction of some conditions is satisfiable."""
    solver = new_solver(is_finite=is_finite)
    for truth in truths:
        if truth is False:
            return AnsweredQuery("no", 0.0)
        if truth is not True:
            solver.add(truth_term(truth))
    return ask(solver, limits)
