"""The scenarios of this project with symmetry: the verdicts and lengths of the ledger, and the published orbits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checker.engines.native.engine import explore, initial_states
from checker.errors import BoundsError, SpecError
from checker.frontend import compile_spec
from checker.language.liveness import liveness_names
from checker.run import ledger, registry
from checker.run.expectation import properties_to_check, stop_for
from checker.run.plan import DEADLOCK, Plan, properties_to_search
from checker.run.symmetry import symmetry_of_run
from specs.replication.kip320 import Kip320
from traces.replay import replay

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "kafka-replication.json").read_text())["symmetry"]
RECORDED = ledger.read(ledger.default_path())


def scenarios(families, most_states):
    """Return the scenarios of some families with at most so many states, as parameters of a test."""
    return [
        pytest.param(scenario, id=f"{entry.name}/{scenario.name}")
        for family in map(registry.load_family, families)
        for entry in family.entries
        for scenario in entry.scenarios
        if (RECORDED[f"{entry.name}/{scenario.name}"].distinct_states or 0) <= most_states
    ]


def compare(scenario):
    """Explore a scenario with and without symmetry, and compare the results; skip it if no domain is symmetric."""
    spec = scenario.configured_spec()
    checked = [name for name in properties_to_check(scenario) if name not in liveness_names(spec, spec.properties)]
    names = tuple(name for name in checked if name != DEADLOCK)
    plan = Plan(names, stop_for(scenario.expect), deadlock=DEADLOCK in checked, quick=True)
    if isinstance(plan.stop, frozenset):
        plan.stop &= frozenset(checked)
    try:
        symmetry_of_run(spec, compile_spec(spec, properties_to_search(spec, plan.properties)), initial_states(spec))
    except (BoundsError, SpecError) as error:
        pytest.skip(str(error))
    whole = explore(spec, plan)
    plan.symmetry = True
    reduced = explore(spec, plan)
    assert reduced.verdict == whole.verdict
    assert _lengths(reduced) == _lengths(whole)
    if whole.ended == "complete":
        assert reduced.reached == whole.reached and reduced.depth == whole.depth
        assert reduced.distinct_states < whole.distinct_states
    for violation in reduced.violations:
        replay(spec, violation)
    return reduced


def _lengths(result):
    return {violation.property: (violation.kind, violation.length) for violation in result.violations}


@pytest.mark.parametrize(
    "name",
    [
        "replication/kip101/fast_elections",
        "replication/kip320/two_replicas",
        "examples/paxos/two_ballots",
        "examples/two_phase_hasty/a_vote_is_missing",
    ],
)
def test_symmetry_keeps_verdicts_and_lengths(name):
    (selection,) = registry.select(name)
    assert compare(selection.scenario).symmetry


@pytest.mark.slow
@pytest.mark.parametrize("scenario", scenarios(["examples", "replication"], 50_000))
def test_symmetry_keeps_verdicts_and_lengths_of_scenarios(scenario):
    compare(scenario)


def test_kip_320_has_the_published_number_of_orbits():
    names = tuple(Kip320().safety_properties)
    found = explore(Kip320(), Plan(names, symmetry=True, quick=True))
    assert (found.verdict, found.symmetry) == ("holds", ("Replica",))
    assert found.distinct_states == GOLDEN["(3,2,2,2)"] == 123_311
    assert found.depth == 26
