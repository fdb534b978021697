"""Definitions of minima and maxima: those that a query needs."""

from __future__ import annotations

from collections.abc import Iterable

import z3

from checker.engines.smt.lowering.logic import Truth, subterms

EXTREMUM = "extremum"
"""Start of the names of the constants and functions that stand for minima and maxima."""


def definitions_for(definitions: Iterable[Truth], query: Iterable[Truth]) -> list[Truth]:
    """Return the definitions of the minima and maxima in a query, and in these definitions.

    A definition adds no contradiction, so the others do not change the answer.
    """
    waiting = [(definition, _extrema(definition)) for definition in definitions]
    known = {name for truth in query for name in _extrema(truth)}
    needed: list[Truth] = []
    while chosen := [(truth, names) for truth, names in waiting if not names or names & known]:
        for truth, names in chosen:
            needed.append(truth)
            known |= names
        waiting = [pair for pair in waiting if not any(pair[0] is truth for truth, _ in chosen)]
    return needed


def _extrema(truth: Truth) -> set[str]:
    names = set()
    for term in subterms(truth):
        if z3.is_app(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            name = term.decl().name()
            if name.startswith(f"{EXTREMUM}!"):
                names.add(name)
    return names
