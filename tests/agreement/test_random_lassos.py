"""Z3's bounded search and the interpreter decide liveness properties alike, on random specs with random fairness."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.agreement.liveness_specs import liveness_source, random_fairness
from tests.support.lasso_comparison import compare_lassos
from tests.support.source_modules import load


def decisions(seed: int, folder: Path, rounds: int, least_depth: int, most_depth: int) -> list[bool]:
    """Return the answers about the random spec of a seed, under some assignments of fairness."""
    chooser = random.Random(seed)
    spec = load(liveness_source(chooser.randrange), folder).Random()
    return [
        is_violated
        for _ in range(rounds)
        for is_violated in compare_lassos(spec.with_fairness(random_fairness(spec, chooser)), least_depth, most_depth)
    ]


def test_z3_agrees_on_lassos(tmp_path: Path) -> None:
    found = [
        each for seed in (3, 5, 7, 11) for each in decisions(seed, tmp_path, rounds=2, least_depth=6, most_depth=8)
    ]
    # Both answers occur often, so the comparison is not of one answer only.
    assert len(found) == 40
    assert 10 < sum(found) < 30


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(100, 120), range(120, 140)])
def test_z3_agrees_on_many_specs(tmp_path: Path, seeds: range) -> None:
    found = [each for seed in seeds for each in decisions(seed, tmp_path, rounds=2, least_depth=8, most_depth=10)]
    assert len(found) == 200
