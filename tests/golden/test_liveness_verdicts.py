"""Liveness verdicts of published TLA+ specifications are those of TLC; ranks and lassos are their witnesses."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import witness_check
from checker.engines.native import engine
from checker.engines.native import engine as native
from checker.engines.python import explorer
from checker.explain.lassos import check_lasso
from checker.language.fairness import Fairness
from checker.output.witness import write_witness
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


FILE = """from checker.language import Fairness, Scenario
from tests.golden.liveness_specs import {spec}

scenarios = [Scenario({spec}, "row", {constants}, properties=["{property}"], fair={fair})]
"""
MOST_STATES = 1_500


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_the_witness_of_a_published_spec_is_verified(capsys, tmp_path, row):
    spec = spec_of(row)
    path = tmp_path / "row.py"
    fair = dict.fromkeys(type(spec).declared_fairness) | dict(spec.fairness)
    path.write_text(FILE.format(**{**row, "constants": spec.constants, "fair": fair}))
    run, sizes = SimpleNamespace(spec=spec, properties=(row["property"],)), []

    def write(result, states):
        sizes.append(result.distinct_states)
        if result.distinct_states <= MOST_STATES:
            write_witness(tmp_path / "w", run, result, states)

    engine.explore(spec, Plan(run.properties, stop="all", workers=1), on_states=write)
    if sizes[0] > MOST_STATES:
        pytest.skip("the interpreter takes long")
    status = witness_check.main([str(tmp_path / "w"), str(path), "--scenario", "row", "--memo"])
    out = capsys.readouterr().out
    assert status == 0, out
    assert ("by ranks: " in out) == (row["verdict"] == "holds")
