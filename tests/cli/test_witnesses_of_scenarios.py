"""The witnesses of this distribution's scenarios with up to 20,000 states, verified without the engines.

Those with up to 2,000 states, seven in ten, are verified as a whole: every state and every step. The larger ones take
half an hour. The usual profile takes every sixth of them, and a sample of its states. `TIDEMARK_PROFILE=thorough` takes
all, and every state of each.
"""

import os
import sys

import pytest

import witness_check
from checker.engines.native import engine
from checker.language import Bug
from checker.language.roles import DEADLOCK, Role
from checker.output.witness import require_witness, write_witness
from checker.run import ledger
from checker.run.plan import Plan
from checker.run.request import Request, runs_for

MOST_STATES, WHOLE_UP_TO, SAMPLE = 20_000, 2_000, 300
IS_THOROUGH = os.environ.get("TIDEMARK_PROFILE") == "thorough"


def small_scenarios():
    """Return the scenarios whose recorded explorations are complete and have up to MOST_STATES states."""
    recorded = ledger.read(ledger.default_path())
    sizes = {name: record.distinct_states for name, record in sorted(recorded.items())}
    whole = [name for name, states in sizes.items() if states is not None and states <= WHOLE_UP_TO]
    larger = [name for name, states in sizes.items() if states is not None and WHOLE_UP_TO < states <= MOST_STATES]
    return whole + (larger if IS_THOROUGH else larger[::6])


def file_of(run):
    """Return the file that lists the scenario of a run."""
    for module in list(sys.modules.values()):
        listed = vars(module).get("scenarios", []) if module.__name__.startswith("specs.") else []
        for found in listed if isinstance(listed, list) else []:
            for scenario in found.scenarios() if isinstance(found, Bug) else [found]:
                if scenario.name == run.scenario and scenario.spec is type(run.spec):
                    return module.__file__
    raise AssertionError(f"no module lists {run.name}")


def test_most_scenarios_are_verified_as_a_whole():
    assert len(small_scenarios()) > 300


@pytest.mark.slow
@pytest.mark.parametrize("target", small_scenarios())
def test_every_small_scenario_has_a_witness(capsys, tmp_path, target):
    (run,) = runs_for(Request((target,)))
    if run.spec.names_of(Role.VIEW):
        pytest.skip("a spec with a view has no witness")

    def write(result, states):
        require_witness(run, result)
        write_witness(tmp_path, run, result, states)

    names = tuple(name for name in run.properties if name != DEADLOCK)
    plan = Plan(names, stop="all", deadlock=DEADLOCK in run.properties, symmetry=run.symmetry, workers=1)
    engine.explore(run.spec, plan, on_states=write)
    limits = ["--complete-up-to", MOST_STATES if IS_THOROUGH else WHOLE_UP_TO, "--sample", SAMPLE, "--seed", 1]
    arguments = [tmp_path, file_of(run), "--scenario", run.scenario, *limits]
    status = witness_check.main(list(map(str, arguments)))
    assert status == 0, capsys.readouterr()
