"""Queries: what Z3 answers within its time limit, and why it did not answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import z3

from checker.prove.logic import Term, Truth, truth_term

Answer = Literal["yes", "no", "unknown"]
"""Whether there is a model: `yes`, `no`, or Z3 does not know."""

_ANSWERS: dict[int, Answer] = {z3.Z3_L_TRUE: "yes", z3.Z3_L_FALSE: "no", z3.Z3_L_UNDEF: "unknown"}


@dataclass(frozen=True)
class Limits:
    """The seconds that one query may take (None: as many as it needs), and the signal to give up."""

    seconds: float | None = None
    cancelled: threading.Event | None = None


@dataclass(frozen=True)
class Query:
    """An answered query: the model for `yes`, the reason for `unknown`, the seconds that it took."""

    answer: Answer
    seconds: float
    model: Any = None
    reason: str = ""

    def evaluate(self, term: Term) -> Term:
        """Return the value of a term in the model."""
        return self.model.eval(term, model_completion=True)


def new_solver(*, is_finite: bool) -> Any:
    """Return a solver: Z3's for finite domains, which is a SAT solver, or its general one."""
    return z3.SolverFor("QF_FD") if is_finite else z3.Solver()


def ask(solver: Any, limits: Limits, *assumptions: Truth) -> Query:
    """Return whether what a solver holds can be true together with some assumptions."""
    if limits.cancelled is not None and limits.cancelled.is_set():
        return Query("unknown", 0.0, reason="interrupted")
    if any(assumption is False for assumption in assumptions):
        return Query("no", 0.0)
    if limits.seconds is not None:
        solver.set("timeout", max(1, int(limits.seconds * 1000)))
    started = time.perf_counter()
    try:
        answer = _ANSWERS[solver.check(*[found for found in assumptions if found is not True]).r]
    except z3.Z3Exception as error:
        return Query("unknown", time.perf_counter() - started, reason=str(error))
    seconds = time.perf_counter() - started
    if answer == "yes":
        return Query(answer, seconds, solver.model())
    return Query(answer, seconds, reason=_reason(solver, limits) if answer == "unknown" else "")


def _reason(solver: Any, limits: Limits) -> str:
    reason = str(solver.reason_unknown())
    if reason in ("timeout", "canceled") and limits.seconds is not None:
        return f"timeout: no answer within {limits.seconds:g} s"
    return reason


def satisfiable(truths: Iterable[Truth], limits: Limits, *, is_finite: bool) -> Query:
    """Return whether some conditions can be true together."""
    solver = new_solver(is_finite=is_finite)
    for truth in truths:
        if truth is False:
            return Query("no", 0.0)
        if truth is not True:
            solver.add(truth_term(truth))
    return ask(solver, limits)
