"""The compact store agrees with the usual one on random specs over the whole language, and on specs of the project."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.language import Scenario
from checker.run.plan import Plan
from checker.run.registry import SpecEntry, select
from tests.agreement.store_comparison import compare_stores
from tests.support.random_specs import profile, sources
from tests.support.source_modules import load

MOST_STATES = 30_000


def compare_random(folder: Path, source: str, depth: int, workers: int, *, stops: bool) -> None:
    spec = load(source, folder).Random()
    stop = "first" if stops else "all"
    compare_stores(spec, Plan(tuple(spec.properties), stop, workers, max_depth=depth, deadlock=True, quick=True))


_SPECS = {"source": sources(), "depth": st.integers(1, 4), "workers": st.integers(1, 2), "stops": st.booleans()}


@profile(4, thorough=1000)
@given(**_SPECS)
def test_stores_agree_on_random_specs(folder: Path, source: str, depth: int, workers: int, stops: bool) -> None:
    compare_random(folder, source, depth, workers, stops=stops)


@pytest.mark.slow
@profile(100, thorough=1000)
@given(**_SPECS)
def test_stores_agree_on_many_random_specs(folder: Path, source: str, depth: int, workers: int, stops: bool) -> None:
    compare_random(folder, source, depth, workers, stops=stops)


def compare_scenario(entry: SpecEntry, scenario: Scenario) -> None:
    spec = entry.spec(**scenario.constants)
    names = tuple(scenario.properties or spec.properties)
    for stop in ("first", "all"):
        # Both stores stop at the end of the same round.
        compare_stores(spec, Plan(names, stop, 2, MOST_STATES, deadlock=scenario.deadlock, quick=True))


@pytest.mark.parametrize("target", ["examples/two_phase_hasty", "examples/echo"])
def test_stores_agree_on_the_scenarios_of_a_spec(target: str) -> None:
    (selection,) = select(target)
    for scenario in selection.entry.scenarios:
        if scenario.spec is selection.entry.spec:
            compare_scenario(selection.entry, scenario)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["replication", "broker"])
def test_stores_agree_on_scenarios_of_a_family(family: str) -> None:
    of_family = [
        (selection.entry, scenario)
        for selection in select(family)
        for scenario in selection.entry.scenarios
        if scenario.spec is selection.entry.spec
    ]
    # Some of them: each is compiled for both stores.
    for entry, scenario in of_family[::8]:
        compare_scenario(entry, scenario)
