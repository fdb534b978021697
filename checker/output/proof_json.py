"""Parts of the JSON objects of proofs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from checker.engines.smt.lemmas.lemma_search import LemmaSearchResult
from checker.engines.smt.proof_cells import ProofCell


def queries_to_json(cells: Iterable[ProofCell], labels: Mapping[tuple[str, str], str]) -> list[dict[str, Any]]:
    """Return the queries of an induction; `labels` give the reachability of the first state by conjunct and action."""
    return [
        {
            "conjunct": cell.conjunct,
            "action": cell.action,
            "outcome": cell.outcome,
            "seconds": round(cell.seconds, 6),
            "reason": cell.reason,
            "first_state": labels.get((cell.conjunct, cell.action)),
        }
        for cell in cells
    ]


def lemma_search_to_json(search: LemmaSearchResult) -> dict[str, Any]:
    """Return the result of a search for lemmas."""
    return {
        "is_enough": search.is_enough,
        "atoms": search.atoms,
        "steps": search.steps,
        "dropped": search.dropped,
        "states": search.states,
        "imports": list(search.imports),
        "lemmas": [dataclasses.asdict(lemma) for lemma in search.lemmas],
    }
