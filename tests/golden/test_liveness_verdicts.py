"""Liveness verdicts of published TLA+ specifications, compared with those of TLC."""

import json
from pathlib import Path

import pytest

from checker.engines.native import engine as native
from checker.engines.python import explorer
from checker.explain.lassos import check_lasso
from checker.language.fairness import Fairness
from checker.run.plan import Plan
from tests.golden import liveness_specs

ROWS = json.loads((Path(__file__).parent / "liveness.json").read_text())["rows"]
INTERPRETED = 310
"""Specs with at most this many states are explored by the interpreter too."""


def fairness_of(value):
    return value if isinstance(value, str) else Fairness(value["strength"], for_each=tuple(value["for_each"]))


def spec_of(row):
    spec = getattr(liveness_specs, row["spec"])(**row.get("constants", {}))
    # A row has all promises, so those that the spec declares count only if the row names them.
    declared = dict.fromkeys(spec.fairness)
    return spec.with_fairness(declared | {name: fairness_of(value) for name, value in row["fair"].items()})


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_the_verdict_is_that_of_tlc(row):
    spec = spec_of(row)
    plan = Plan(properties=(row["property"],), stop="all")
    result = native.explore(spec, plan)
    results = [result, explorer.explore(spec, plan)] if result.distinct_states <= INTERPRETED else [result]
    for found in results:
        assert found.ended == "complete" and found.undecided == {}
        assert ("violated" if found.violations else "holds") == row["verdict"]
        assert found.distinct_states == row.get("distinct_states", result.distinct_states)
        for violation in found.violations:
            check_lasso(spec, violation)
    assert len({violation.length for found in results for violation in found.violations}) <= 1
