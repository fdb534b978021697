"""The native engine agrees with the interpreter on every spec below `specs/`.

The default profile leaves out specs that only add liveness properties to another spec: their states and steps are
those of the other. It takes only the specs that extend no other: the slow tests take the rest.
`TIDEMARK_PROFILE=thorough` takes all specs, all their scenarios, and more time for each.
"""

from __future__ import annotations

import inspect
import os
import time

import pytest

from checker.engines.native.kernels.single_state import SingleStateEngine
from checker.language import BoundsError, Scenario, Spec, State
from checker.language.roles import LIVENESS_ROLES
from checker.run import registry
from checker.run.plan import Plan
from tests.agreement.engines import compare_runs, compare_state

_THOROUGH = os.environ.get("TIDEMARK_PROFILE") == "thorough"
SECONDS = 10.0 if _THOROUGH else 0.15
"""Seconds for which states of a scenario are compared; enough for all states of a small scenario."""

ENTRIES = [entry for family in registry.families() for entry in family.entries if entry.scenarios]


def adds_liveness_only(spec: type[Spec], others: set[type[Spec]]) -> bool:
    """Return whether a spec has the variables, actions and safety properties of one of its bases among `others`."""
    return any(
        spec.declared_constants == base.declared_constants
        and spec.declared_variables == base.declared_variables
        and all(getattr(spec, name) is member for name, member in inspect.getmembers(base, inspect.isfunction))
        and all(role in LIVENESS_ROLES for name, role in spec.roles.items() if name not in base.roles)
        for base in spec.__mro__[1:]
        if base in others
    )


SPECS = {entry.spec for entry in ENTRIES}
SCENARIOS = {
    f"{entry.name}/{scenario.name}": scenario
    for entry in ENTRIES
    if _THOROUGH or not adds_liveness_only(entry.spec, SPECS)
    for scenario in entry.scenarios[: None if _THOROUGH else 1]
}


def compared() -> list[object]:
    """Return the scenarios as parameters of a test; those of specs that extend another one are slow."""
    return [
        pytest.param(name, marks=pytest.mark.slow if SPECS & set(scenario.spec.__mro__[1:]) and not _THOROUGH else ())
        for name, scenario in SCENARIOS.items()
    ]


def compare_reachable(spec: Spec, probe: SingleStateEngine, seconds: float) -> int:
    """Compare the engines on the reachable states, breadth-first, for some seconds; return how many were compared."""
    try:
        frontier: list[State] = spec.initial_states()
    except BoundsError:
        return 0
    known, end = set(frontier), time.perf_counter() + seconds
    for number, state in enumerate(frontier):
        if time.perf_counter() > end:
            return number
        if spec.within_constraints(state):
            for successor in compare_state(spec, probe, state):
                if successor not in known:
                    known.add(successor)
                    frontier.append(successor)
    return len(frontier)


@pytest.mark.parametrize("name", compared())
def test_engines_agree_on_a_scenario(name: str) -> None:
    scenario: Scenario = SCENARIOS[name]
    spec = scenario.spec(**scenario.constants)
    states = compare_reachable(spec, SingleStateEngine(spec, with_lanes=True), SECONDS)
    assert states or scenario.expect == "error"


@pytest.mark.parametrize("name", compared())
def test_engines_agree_on_explorations_of_a_scenario(name: str) -> None:
    scenario: Scenario = SCENARIOS[name]
    spec = scenario.spec(**scenario.constants)
    compare_runs(spec, [Plan(tuple(spec.properties), "all", workers, max_depth=2, quick=True) for workers in (1, 2)])


def test_only_specs_that_add_liveness_alone_are_left_out() -> None:
    left_out = {spec.__name__ for spec in SPECS if adds_liveness_only(spec, SPECS)}
    assert {"PlainLiveness", "AppendLiveness", "Kip320Liveness"} <= left_out
    assert not left_out & {"FairProducer", "ExpiringAppend", "Kip320KeepsLastReplica", "PlainProducer"}
