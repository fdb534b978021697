"""The witnesses of this distribution's scenarios with up to 20,000 states, verified without the engines.

Each is verified as a whole: every state and every step. The results of methods are kept; for a sample of the scenarios
the answer is the same without this. Every scenario is accounted for: it has a verified witness, or there is a reason
for none. CI verifies those up to 5,000 states and each second larger one; `-m "slow or exhaustive"` verifies all.
"""

import sys
from collections import Counter

import pytest

import witness_check
from checker.engines.native import engine
from checker.language import Bug
from checker.language.roles import DEADLOCK
from checker.output.witness import require_witness, write_witness
from checker.run import ledger
from checker.run.endings import StoppedError
from checker.run.plan import Plan
from checker.run.request import Request, runs_for

MOST_STATES = 20_000
LARGE = 5_000
WITHOUT_MEMO = slice(150, None, 25)
"""The sample, of sets that are not large: the plain run takes up to 25 times as long."""
WITH_A_VIEW = "replication/kip320_history/two_replicas"


def states_of_scenarios():
    """Return the recorded number of states of each scenario, None if its exploration is not complete."""
    return {name: record.distinct_states for name, record in ledger.read(ledger.default_path()).items()}


def small_scenarios():
    """Return the scenarios with a witness to verify, the largest first: the processes then end together."""
    small = {name: states for name, states in states_of_scenarios().items() if states is not None}
    return sorted((name for name in small if small[name] <= MOST_STATES), key=lambda name: (-small[name], name))


def witnesses_to_verify():
    """Return the small scenarios as parameters of a test."""
    states = states_of_scenarios()
    marks = {True: pytest.mark.sampled(2), False: pytest.mark.slow}
    return [pytest.param(name, marks=marks[states[name] > LARGE]) for name in small_scenarios()]


def file_of(run):
    """Return the file that lists the scenario of a run."""
    for module in list(sys.modules.values()):
        listed = vars(module).get("scenarios", []) if module.__name__.startswith("specs.") else []
        for found in listed if isinstance(listed, list) else []:
            for scenario in found.scenarios() if isinstance(found, Bug) else [found]:
                if scenario.name == run.scenario and scenario.spec is type(run.spec):
                    return module.__file__
    raise AssertionError(f"no module lists {run.name}")


def test_no_scenario_is_left_out(record_property):
    """The scenarios are those of the specs themselves; the tests below are one for each small one."""
    declared, states = [run.name for run in runs_for(Request(())) if run.scenario], states_of_scenarios()
    assert len(declared) == len(set(declared)) > 800
    tested = {given.values[0] for given in test_every_small_scenario_has_a_witness.pytestmark[0].args[1]}

    def account(name):
        if name in tested:
            return "witness to verify"
        if states[name] is None:
            return "no complete exploration"
        assert states[name] > MOST_STATES, name
        return "more than 20,000 states"

    counts = Counter(map(account, declared))
    record_property("witnesses", ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items())))
    assert counts["witness to verify"] == len(tested) > 400
    assert counts.total() == len(declared)


@pytest.mark.parametrize("target", witnesses_to_verify())
def test_every_small_scenario_has_a_witness(capsys, tmp_path, record_property, target):
    (run,) = runs_for(Request((target,)))
    written = []

    def write(result, states):
        require_witness(run, result)
        write_witness(tmp_path, run, result, states)
        written.append(result.distinct_states)

    names = tuple(name for name in run.properties if name != DEADLOCK)
    plan = Plan(names, stop="all", deadlock=DEADLOCK in run.properties, symmetry=run.symmetry, workers=1)
    if target == WITH_A_VIEW:
        with pytest.raises(StoppedError, match="the same value of the view"):
            engine.explore(run.spec, plan, on_states=write)
        record_property("witnesses", "1 refused: states with the same value of the view count as one")
        return
    engine.explore(run.spec, plan, on_states=write)
    assert written == [states_of_scenarios()[target]]
    arguments = [tmp_path, file_of(run), "--scenario", run.scenario, "--complete-up-to", MOST_STATES, "--memo"]
    status = witness_check.main(list(map(str, arguments)))
    assert status == 0, capsys.readouterr()
    shown = capsys.readouterr().out
    if target in small_scenarios()[WITHOUT_MEMO]:
        assert witness_check.main(list(map(str, arguments[:-1]))) == 0 and capsys.readouterr().out == shown
    assert f"{written[0]:,} states, sorted" in shown and "\ncomplete: " in shown, shown
    record_property("witnesses", "1 verified")
