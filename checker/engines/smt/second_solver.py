"""The cells of a proof, asked again with cvc5: two solvers that agree are worth more than one.

Each query is passed as SMT-LIB text. cvc5 shares no code with Z3 after that; both get their queries from the same
lowering. A query with quantifiers that cvc5 does not decide soon is asked as instances, which the checker chooses with
models of Z3 (`instantiation`). Every instance follows from the query, so cvc5 decides whether they are unsatisfiable.
"""

from __future__ import annotations

import time
from typing import Any

import cvc5
import z3

from checker.engines.smt.lowering.logic import Truth, truth_term
from checker.engines.smt.proof_cells import CellPlace, Outcome, ProofCell, RefutableCells
from checker.engines.smt.solving import Answer

NAME = "cvc5"

STRATEGIES: tuple[dict[str, str], ...] = ({}, {"enum-inst": "true"}, {"finite-model-find": "true"})
"""Options of cvc5, tried in turn while there is time: how it instantiates quantifiers."""


QUANTIFIED_SECONDS = 1.0
"""Seconds for a query with quantifiers, before it is asked as instances."""


def version() -> str:
    """Return the name and the version of the solver."""
    return f"{NAME} {cvc5.__version__}"


class SecondSolverCells:
    """The cells of a proof, each asked with the hypotheses that a certificate names."""

    def __init__(
        self, cells: RefutableCells, known: dict[CellPlace, frozenset[str]], seconds: float, *, is_finite: bool
    ):
        self.places = cells.places
        self._cells, self._known, self._seconds, self._is_finite = cells, known, seconds, is_finite

    def cell(self, place: CellPlace) -> ProofCell:
        """Ask one cell. Only a model of a finite query is a counterexample."""
        started, needed = time.perf_counter(), self._known[place]
        outcome: Outcome = "proved"
        reason = ""
        for conditions in self._cells.conditions(place, needed):
            answer, reason = self._answer(conditions)
            if answer != "no":
                outcome = "fails" if answer == "yes" and self._is_finite else "unknown"
                break
        seconds = time.perf_counter() - started
        return ProofCell(*place, outcome, seconds, reason, needed=tuple(needed))

    def _answer(self, conditions: list[Truth]) -> tuple[Answer, str]:
        """Return whether a conjunction is satisfiable, and the reason if there is no answer."""
        if self._is_finite:
            return _answer(conditions, self._seconds)
        ends = time.perf_counter() + self._seconds
        answer, reason = _answer(conditions, min(QUANTIFIED_SECONDS, self._seconds))
        if answer == "no" or (left := ends - time.perf_counter()) <= 0:
            return answer, reason
        # Half of the time remains for the quantifiers: a busy machine may not have decided them in a second.
        instances = self._cells.instances(conditions, left / 2)
        if instances is not None and _answer(instances, max(1.0, ends - time.perf_counter()))[0] == "no":
            return "no", ""
        left = ends - time.perf_counter()
        return (answer, reason) if left <= 0 else _answer(conditions, left)


def _answer(conditions: list[Truth], seconds: float) -> tuple[Answer, str]:
    """Return whether a conjunction is satisfiable, and the reason if there is no answer."""
    if any(condition is False for condition in conditions):
        return "no", ""
    writer = z3.Solver()
    writer.add(*[truth_term(condition) for condition in conditions if condition is not True])
    text = f"(set-logic ALL)\n{writer.to_smt2()}"
    answers: dict[str, Answer] = {"sat": "yes", "unsat": "no"}
    ends = time.perf_counter() + seconds
    for strategy in STRATEGIES:
        left = ends - time.perf_counter()
        if left <= 0:
            return "unknown", f"no answer within {seconds:g} s"
        solver = cvc5.Solver()
        for option, value in {"tlimit-per": str(max(1, int(left * 1000))), **strategy}.items():
            solver.setOption(option, value)
        answer = answers.get(_run(solver, text))
        if answer is not None:
            return answer, ""
    is_late = time.perf_counter() >= ends
    return "unknown", f"no answer within {seconds:g} s" if is_late else "no strategy for its quantifiers succeeds"


def _run(solver: Any, text: str) -> str:
    """Execute the commands of an SMT-LIB text and return what they print."""
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "query")
    symbols, printed = parser.getSymbolManager(), []
    while not (command := parser.nextCommand()).isNull():
        printed.append(command.invoke(solver, symbols))
    return "".join(printed).strip()
