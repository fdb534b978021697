"""The interpreter and the native engine decide liveness properties alike, on random specs with random fairness.

A decision is a triple of a spec, a fairness and a property. `TIDEMARK_TRIPLES` sets the number of the slow test.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.agreement.liveness_specs import compare_liveness, liveness_source
from tests.support.source_modules import load

SLOW_TRIPLES = int(os.environ.get("TIDEMARK_TRIPLES", "10000"))
"""Decisions of the slow test; about a hundred a second on one core."""


def decisions(seed: int, folder: Path, rounds: int) -> list[bool]:
    """Return the decisions on the random spec of a seed; every fifth spec is not explored completely."""
    chooser = random.Random(seed)
    spec = load(liveness_source(chooser.randrange), folder).Random()
    return compare_liveness(spec, seed, rounds, max_depth=None if seed % 5 else 2 + seed % 3)


def test_engines_agree_on_liveness(tmp_path: Path) -> None:
    found = [violated for seed in range(1, 6) for violated in decisions(seed, tmp_path, rounds=8)]
    # Both answers occur often, so the comparison is not of one answer only.
    assert len(found) == 200
    assert 50 < sum(found) < 150


@pytest.mark.slow
def test_engines_agree_on_many_specs(tmp_path: Path) -> None:
    count, seed = 0, 100
    while count < SLOW_TRIPLES:
        count += len(decisions(seed, tmp_path, rounds=60))
        seed += 1
