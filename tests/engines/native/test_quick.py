"""Quickly compiled code, and the optimised code with which a long exploration continues, give the same results."""

import pytest

from checker.engines.native.engine import explore
from checker.engines.native.explore import search
from checker.engines.native.explore.store import Store
from checker.run.plan import Plan
from specs.replication.kip101 import Kip101
from specs.replication.kip320 import Kip320

HOLDS = Kip320(replicas=3, log_size=2, max_records=2, max_leader_epoch=1)
VIOLATED = Kip101(replicas=2, log_size=2, max_records=2, max_leader_epoch=2)


def outline(result):
    """Return the result of a run without its times."""
    violations = [(found.property, [str(step) for step in found.trace]) for found in result.violations]
    return result.levels, result.generated_states, result.ended, result.coverage, violations


@pytest.mark.parametrize("spec", [HOLDS, VIOLATED], ids=["holds", "violated"])
@pytest.mark.parametrize("seconds", [0.0, 0.01, 1e9], ids=["better at once", "better soon", "never better"])
def test_the_results_are_the_same(spec, seconds, monkeypatch):
    monkeypatch.setattr(search, "IMPROVE_SECONDS", seconds)
    plan = Plan(tuple(spec.properties), stop="all")
    expected = explore(spec, plan)
    plan.quick = True
    assert outline(explore(spec, plan)) == outline(expected)


@pytest.mark.parametrize(("seconds", "times"), [(0.0, 1), (1e9, 0)])
def test_quick_code_is_replaced_once(seconds, times, monkeypatch):
    improved = []
    improve = Store.improve_kernels
    monkeypatch.setattr(search, "IMPROVE_SECONDS", seconds)
    monkeypatch.setattr(Store, "improve_kernels", lambda store: improved.append(improve(store)))
    explore(HOLDS, Plan(("strong_isr",), quick=True))
    assert len(improved) == times
