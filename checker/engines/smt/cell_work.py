"""The work of one cell: the size of its queries, and what the solver did to refute them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import field
from typing import Any

from checker.engines.smt.lowering.logic import Truth, subterms, truth_term
from checker.engines.smt.proof_cells import CellPlace, RefutableCells
from checker.engines.smt.solving import QueryLimits, ask
from checker.records import dataclass

_STATISTICS = {
    "conflicts": "conflicts",
    "sat conflicts": "conflicts",
    "decisions": "decisions",
    "sat decisions": "decisions",
    "quant instantiations": "quantifier instantiations",
}
"""Z3's names of the statistics that are reported, with their names in a report."""


@dataclass
class CellWork:
    """The work of a cell with some hypotheses.

    `terms` is the number of distinct terms in all queries, `hypothesis_terms` the part of it that only hypotheses
    have. `seconds` has the time of each query. `statistics` are sums over the queries.
    """

    terms: int = 0
    hypothesis_terms: int = 0
    seconds: list[float] = field(default_factory=list)
    statistics: Counter[str] = field(default_factory=Counter)


def work_of(
    cells: RefutableCells,
    place: CellPlace,
    needed: Collection[str],
    make_solver: Callable[[], Any],
    limits: QueryLimits,
) -> CellWork:
    """Ask a cell with some hypotheses, and return the work."""
    found = CellWork()
    with_hypotheses = cells.conditions(place, frozenset(needed))
    for conditions in with_hypotheses:
        solver = make_solver()
        solver.add(*[truth_term(condition) for condition in conditions])
        started = time.perf_counter()
        ask(solver, limits)
        found.seconds.append(time.perf_counter() - started)
        statistics = solver.statistics()
        for name in statistics.keys():  # noqa: SIM118 - it is no dict
            if name in _STATISTICS:
                found.statistics[_STATISTICS[name]] += int(statistics.get_key_value(name))
    found.terms = _terms(with_hypotheses)
    found.hypothesis_terms = found.terms - _terms(cells.conditions(place, frozenset()))
    return found


def _terms(conjunctions: list[list[Truth]]) -> int:
    """Return the number of distinct terms."""
    return len({term.get_id() for conditions in conjunctions for truth in conditions for term in subterms(truth)})
