"""The native kernel walks as the reference walk does, on every spec below `specs/` and on random specs."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.engines.native.walk.walker import Walker, walk_seeds
from checker.language import BoundsError, Spec
from checker.run import registry
from checker.run.plan import DEADLOCK
from tests.agreement.engines import compact
from tests.agreement.reference_walk import compare_walk, reference_walk
from tests.support.random_specs import THOROUGH, profile, sources
from tests.support.source_modules import load

SAMPLING = 1

SCENARIOS = {
    f"{entry.name}/{scenario.name}": scenario
    for family in registry.families()
    for entry in family.entries
    for scenario in entry.scenarios[: None if THOROUGH else 1]
}
CHOSEN = [
    pytest.param(name, marks=() if THOROUGH or number % 2 == 0 else pytest.mark.slow)
    for number, name in enumerate(list(SCENARIOS)[:: 1 if THOROUGH else 7])
]


def compare_walks(spec: Spec, seed: int, walks: int, depth: int) -> set[int]:
    """Compare some walks, uniform and weighted, and return how they end."""
    properties = [*spec.safety_properties, DEADLOCK]
    walker = Walker(spec, properties)
    weights = {name: 1 + (seed + number) % 4 for number, name in enumerate(spec.actions)}
    endings: set[int] = set()
    for given_weights in ({}, weights):
        found = walker.walk(
            walk_seeds(seed, 0, walks),
            depth,
            weights=walker.weights_of(given_weights),
            sampling=SAMPLING,
            steps=not given_weights,
        )
        endings |= set(found.endings.tolist())
        for number, own in enumerate(found.seeds.tolist()):
            expected = reference_walk(spec, properties, own, depth, given_weights)
            compare_walk(walker, found, number, expected, SAMPLING)
    return endings


@pytest.mark.parametrize("name", CHOSEN)
def test_walks_of_a_scenario(name: str) -> None:
    scenario = SCENARIOS[name]
    spec = scenario.spec(**scenario.constants)
    try:
        spec.initial_states()
    except BoundsError:
        pytest.skip("init leaves its bounds: there is nothing to walk")
    assert compare_walks(spec, seed=1, walks=20 if THOROUGH else 4, depth=25)


@profile(12, thorough=1000)
@given(source=sources(), seed=st.integers(0, 999), is_compact=st.booleans())
def test_walks_of_a_random_spec(folder: Path, source: str, seed: int, is_compact: bool) -> None:
    spec = load(source, folder).Random()
    try:
        if not spec.initial_states():
            return
    except BoundsError:
        return
    with compact() if is_compact else nullcontext():
        compare_walks(spec, seed, walks=10, depth=6)


def test_seeds_are_numbers_of_splitmix64() -> None:
    # The first numbers of splitmix64 from seed 1234567, as the reference implementation in C prints them.
    expected = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert walk_seeds(1234567, 0, 5).tolist() == expected
    assert walk_seeds(1234567, 2, 3).tolist() == expected[2:]
    assert walk_seeds(2**64 + 5, 0, 3).tolist() == walk_seeds(5, 0, 3).tolist()
    assert walk_seeds(1, 0, 4).dtype == np.uint64
