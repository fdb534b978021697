"""Queries: what Z3 answers within its time limit, and why it did not answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import z3

from checker.engines.smt.lowering.logic import Term, Truth, truth_term

Answer = Literal["yes", "no", "unknown"]
"""Whether there is a model: `yes`, `no`, or Z3 does not know."""

_ANSWERS: dict[int, Answer] = {z3.Z3_L_TRUE: "yes", z3.Z3_L_FALSE: "no", z3.Z3_L_UNDEF: "unknown"}


@dataclass(frozen=True)
class QueryLimits:
    """The seconds that one query may take (None: as many as it needs), and the signal to give up."""

    seconds: float | None = None
    cancelled: threading.Event | None = None


@dataclass(frozen=True)
class AnsweredQuery:
    """An answered query: the model for `yes`, the reason for `unknown`, the seconds that it took."""

    answer: Answer
    seconds: float
    model: Any = None
    reason: str = ""

    def evaluate(self, term: Term) -> Term:
        """Return the value of a term in the model."""
        return self.model.eval(term, model_completion=True)


class Solver:
    """One of Z3's solvers, begun anew after each question that it did not answer.

    Where Z3 is stopped while it takes a condition in, it answers later questions as if that condition were not there.
    """

    def __init__(self, make: Callable[[], Any]):
        self._make, self._added = make, list[Term]()
        self._inner = make()

    def add(self, *terms: Term) -> None:
        """Add conditions."""
        self._added += terms
        self._inner.add(*terms)

    def begin_anew(self) -> None:
        """Take all conditions in again."""
        self._inner = self._make()
        self._inner.add(*self._added)

    def set(self, name: str, value: Any) -> None:
        """Set an option for the next question."""
        self._inner.set(name, value)

    def check(self, *assumptions: Term) -> Any:
        """Return Z3's answer."""
        return self._inner.check(*assumptions)

    def model(self) -> Any:
        """Return the model of the last answer."""
        return self._inner.model()

    def unsat_core(self) -> Any:
        """Return the assumptions of which the last answer made use."""
        return self._inner.unsat_core()

    def reason_unknown(self) -> str:
        """Return why the last question was not answered."""
        return str(self._inner.reason_unknown())


def new_solver(*, is_finite: bool) -> Any:
    """Return a solver: Z3's for finite domains, which is a SAT solver, or its general one."""
    return Solver((lambda: z3.SolverFor("QF_FD")) if is_finite else z3.Solver)


def ask(solver: Any, limits: QueryLimits, *assumptions: Truth) -> AnsweredQuery:
    """Return whether what a solver holds can be true together with some assumptions."""
    if limits.cancelled is not None and limits.cancelled.is_set():
        return AnsweredQuery("unknown", 0.0, reason="interrupted")
    if any(assumption is False for assumption in assumptions):
        return AnsweredQuery("no", 0.0)
    if limits.seconds is not None:
        solver.set("timeout", max(1, int(limits.seconds * 1000)))
    started = time.perf_counter()
    try:
        answer = _ANSWERS[solver.check(*[found for found in assumptions if found is not True]).r]
    except z3.Z3Exception as error:
        if was_interrupted(str(error), time.perf_counter() - started, limits):
            raise KeyboardInterrupt from None
        if isinstance(solver, Solver):
            solver.begin_anew()
        return AnsweredQuery("unknown", time.perf_counter() - started, reason=str(error))
    seconds = time.perf_counter() - started
    if answer == "yes":
        return AnsweredQuery(answer, seconds, solver.model())
    if answer == "unknown" and was_interrupted(str(solver.reason_unknown()), seconds, limits):
        raise KeyboardInterrupt
    reason = _reason(solver, limits) if answer == "unknown" else ""
    if answer == "unknown" and isinstance(solver, Solver):
        solver.begin_anew()
    return AnsweredQuery(answer, seconds, reason=reason)


def was_interrupted(reason: str, seconds: float, limits: QueryLimits) -> bool:
    """Return whether Ctrl-C ended a question: Z3 takes it for itself, and says what it says after its time, too."""
    is_early = limits.seconds is None or seconds < 0.8 * limits.seconds
    return "interrupted" in reason or ("canceled" in reason and is_early)


def _reason(solver: Any, limits: QueryLimits) -> str:
    reason = str(solver.reason_unknown())
    if reason in ("timeout", "canceled") and limits.seconds is not None:
        return f"timeout: no answer within {limits.seconds:g} s"
    return reason


def satisfiable(truths: Iterable[Truth], limits: QueryLimits, *, is_finite: bool) -> AnsweredQuery:
    """Return whether some conditions can be true together."""
    solver = new_solver(is_finite=is_finite)
    for truth in truths:
        if truth is False:
            return AnsweredQuery("no", 0.0)
        if truth is not True:
            solver.add(truth_term(truth))
    return ask(solver, limits)
