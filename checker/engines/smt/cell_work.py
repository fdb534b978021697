"""The work of one cell: the size of its queries, and what the solver did to refute them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from checker.engines.smt.lowering.logic import Truth, is_quantifier, subterms, truth_term
from checker.engines.smt.proof_cells import CellPlace, RefutableCells
from checker.engines.smt.solving import QueryLimits, ask

_STATISTICS = {
    "conflicts": "conflicts",
    "sat conflicts": "conflicts",
    "decisions": "decisions",
    "sat decisions": "decisions",
    "quant instantiations": "quantifier instantiations",
}
"""Z3's names of the statistics that are reported, with their names in a report."""

QUANTIFIED_SECONDS = 5.0
"""Seconds for the solver to instantiate the quantifiers of a query itself, before the checker chooses the instances."""


@dataclass
class CellWork:
    """The work of a cell with some hypotheses.

    `terms` is the number of distinct terms in all queries, `hypothesis_terms` the part of it that only hypotheses
    have. `seconds` has the time of each query. `statistics` are sums over the queries.

    The solver leaves some queries with quantifiers without an answer. `by_instances` of them are refuted by
    `instances`, formulas without quantifiers that the checker chooses; `unanswered` are not.
    """

    terms: int = 0
    hypothesis_terms: int = 0
    seconds: list[float] = field(default_factory=list)
    statistics: Counter[str] = field(default_factory=Counter)
    by_instances: int = 0
    instances: int = 0
    unanswered: int = 0


def work_of(
    cells: RefutableCells,
    place: CellPlace,
    needed: Collection[str],
    make_solver: Callable[[], Any],
    limits: QueryLimits,
) -> CellWork:
    """Ask a cell with some hypotheses, and return the work."""
    work = CellWork()
    with_hypotheses = cells.conditions(place, frozenset(needed))
    for conditions in with_hypotheses:
        solver = make_solver()
        solver.add(*[truth_term(condition) for condition in conditions])
        started = time.perf_counter()
        if ask(solver, _first_limits(conditions, limits)).answer == "unknown":
            _ask_instances(cells, conditions, limits, work)
        work.seconds.append(time.perf_counter() - started)
        statistics = solver.statistics()
        for name in statistics.keys():  # noqa: SIM118 - it is no dict
            if name in _STATISTICS:
                work.statistics[_STATISTICS[name]] += int(statistics.get_key_value(name))
    work.terms = _terms(with_hypotheses)
    work.hypothesis_terms = work.terms - _terms(cells.conditions(place, frozenset()))
    return work


def _first_limits(conditions: list[Truth], limits: QueryLimits) -> QueryLimits:
    """Return the limits of a query before its instances are chosen."""
    if limits.seconds is None or not any(is_quantifier(term) for truth in conditions for term in subterms(truth)):
        return limits
    return QueryLimits(min(QUANTIFIED_SECONDS, limits.seconds), limits.cancelled)


def _ask_instances(cells: RefutableCells, conditions: list[Truth], limits: QueryLimits, work: CellWork) -> None:
    """Refute conditions by instances, and count both."""
    instances = cells.instances(conditions, limits.seconds or QUANTIFIED_SECONDS)
    if instances is None:
        work.unanswered += 1
    else:
        work.by_instances += 1
        work.instances += len(instances)


def _terms(conjunctions: list[list[Truth]]) -> int:
    """Return the number of distinct terms."""
    return len({term.get_id() for conditions in conjunctions for truth in conditions for term in subterms(truth)})
